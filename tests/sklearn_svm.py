"""scikit-learn's own tests of its SVMs, with the classes of ``svmreduce.svm`` in the place of its own.

``python -m tests.sklearn_svm`` prints what fails, and how many were counted. Counted are the tests that make at least
one of our classes and none of the classes that we do not have (``LinearSVC``, ``LinearSVR``).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn import svm

import svmreduce.svm

FILE = Path(svm.__file__).parent / "tests" / "test_svm.py"
OURS = sorted(svmreduce.svm.__all__)
NAMES = [name for name in svm.__all__ if name[0].isupper()]


class Record:
    """A plug-in of pytest: the classes that a test makes, and how it ends."""

    def __init__(self):
        self.made: set[str] = set()
        self.outcomes: dict[str, tuple[bool, str]] = {}

    def watch(self, name: str, kind: type) -> type:
        """The same class, which notes under this name that an object of it was made."""
        made = self.made
        build = kind.__new__

        def noted(cls, *args, **given):
            made.add(name)
            return build(cls)

        kind.__new__ = noted
        return kind

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        self.made.clear()
        try:
            answer = yield
        except BaseException as error:
            self._note(item, f"{type(error).__name__}: {error}".splitlines()[0])
            raise
        self._note(item, "")
        return answer

    def _note(self, item, error):
        if self.made and self.made <= set(OURS):
            self.outcomes[item.name] = not error, error


def run() -> dict[str, tuple[bool, str]]:
    """Whether each test that counts passed, and with what words it failed."""
    record = Record()
    for name in NAMES:
        setattr(svm, name, record.watch(name, getattr(svmreduce.svm if name in OURS else svm, name)))
    pytest.main([str(FILE), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-o", "addopts=",
                 "-W", "ignore::pytest.PytestUnknownMarkWarning"], plugins=[record])  # fmt: skip
    return record.outcomes


def main():
    outcomes = run()
    failed = {name: error for name, (passed, error) in outcomes.items() if not passed}
    print(json.dumps({"counted": len(outcomes), "failed": failed}))


if __name__ == "__main__":
    main()
