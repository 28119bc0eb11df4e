"""A short drill; ``python -m tests.drill --minutes 60`` is the long one."""

import math

from tests.drill.__main__ import FILES, drill, table
from tests.drill.outcomes import BAD

CASES = 25  # of every kind: some fifteen seconds


def test_a_short_drill_finds_nothing(tmp_path):
    failures = []
    counts = drill(math.inf, "short", list(FILES), tmp_path / "failures", cases=CASES, tell=failures.append)
    assert not failures, "\n".join(failures)
    assert all(count.total() == CASES and not any(count[bad] for bad in BAD) for count in counts.values())
    assert "| libsvm |" in table(counts)
