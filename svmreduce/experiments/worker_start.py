"""``python -P -m svmreduce.experiments.worker_start PARENT``: the first lines of a worker process.

The parent is watched before anything slow is imported, and the pipe to it is moved out of the reach of methods: what
they read from standard input is empty, and what they print goes to the log.
"""

from __future__ import annotations

import os
import sys

from svmreduce.deferred import put_off_seldom_needed
from svmreduce.experiments.process_tree import end_with
from svmreduce.paths import import_from_here_last


def main() -> None:
    end_with(int(sys.argv[1]))
    messages, answers = os.dup(0), os.dup(1)  # no child process inherits these
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    import_from_here_last()
    put_off_seldom_needed()
    from svmreduce.experiments.worker import serve

    with os.fdopen(messages, "rb") as source, os.fdopen(answers, "wb") as target:
        serve(source, target)


if __name__ == "__main__":
    main()
