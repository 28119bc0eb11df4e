"""What can become of one input, and how a command's end is judged."""

import re
import signal
from contextlib import contextmanager
from dataclasses import dataclass

from tests.cli.commands import call

RIGHT, REFUSED, UNCONFIRMED = "right", "refused in one line", "taken, and no other reader to ask"
FAULT, HANG, WRONG, STRICT = "program fault", "hang", "silent wrong", "good input refused"
OUTCOMES = (RIGHT, REFUSED, UNCONFIRMED, STRICT, FAULT, HANG, WRONG)
BAD = (STRICT, FAULT, HANG, WRONG)
SECONDS = 30  # for one input of a few lines
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Outcome:
    kind: str
    why: str = ""


class Hang(BaseException):
    """Not an Exception: no handler of the program may take it for one of its own."""


@contextmanager
def time_limit(seconds: int = SECONDS):
    def stop(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def command(*arguments, fine: tuple[int, ...] = (0,)):
    """The result of a command that ended with one of these codes, or the Outcome of any other end."""
    try:
        with time_limit():
            result = call(*arguments)
    except Hang:
        return Outcome(HANG, f"more than {SECONDS} s")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return Outcome(FAULT, f"{type(result.exception).__name__}: {result.exception}")
    return judged(result.exit_code, result.stderr, fine) or result


def judged(code: int, errors: str, fine: tuple[int, ...] = (0,)) -> Outcome | None:
    """The Outcome of a command that did not end as it should; None if it did."""
    if "Traceback" in errors or code not in (*fine, 2):
        return Outcome(FAULT, f"exit code {code}: {errors[-300:]}")
    if _STEERING.search(errors):
        return Outcome(FAULT, f"control characters in its message: {errors[-300:]!r}")
    if code in fine:
        return None
    lines = [line for line in errors.splitlines() if line.startswith("Error: ")]
    if len(lines) != 1 or not errors.endswith(lines[0] + "\n"):
        return Outcome(FAULT, f"exit code 2 without one line that says why: {errors[-300:]!r}")
    return Outcome(REFUSED, lines[0])
