"""A short drill; ``python -m tests.drill --minutes 60`` is the long one."""

from tests.drill.__main__ import FILES, drill, table
from tests.drill.outcomes import BAD

SECONDS = 12


def test_a_short_drill_finds_nothing(tmp_path):
    failures = []
    counts = drill(SECONDS, "short", list(FILES), tmp_path / "failures", tell=failures.append)
    assert not failures, "\n".join(failures)
    assert all(count.total() for count in counts.values()) and not any(
        count[bad] for count in counts.values() for bad in BAD
    )
    assert "| libsvm |" in table(counts)
