"""``python -m tests.bench [PART …]``: all parts, or one with its own options."""

import importlib
import sys

PARTS = (
    "reduction", "outofcore", "aesvm", "frank_wolfe", "lp_svr", "bootstrap", "solvers", "dcsvm", "engine", "family",
    "tune", "limit", "verdicts", "gate",
)  # fmt: skip


def main():
    part, *arguments = sys.argv[1:] or [None]
    if part is not None and part not in PARTS:
        sys.exit(f"unknown part {part!r}: known are {', '.join(PARTS)}")
    for name in PARTS if part is None else [part]:
        importlib.import_module(f"tests.bench.{name}").main(arguments)


if __name__ == "__main__":
    main()
