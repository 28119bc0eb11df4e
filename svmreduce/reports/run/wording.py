"""How a sentence names methods, times and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from svmreduce.experiments.paired import Difference
from svmreduce.experiments.records import RANDOM
from svmreduce.experiments.standing import AgainstControl, Standing

OUTCOMES = ("better", "no better", "worse")
_ENGINES = {"smo": "our SMO engine", "libsvm": "LIBSVM", "libsvm_svr": "LIBSVM", "liblinear": "LIBLINEAR",
            "svr": "our SMO engine", "decomposition": "our SMO engine",
            "decomposition_svr": "our SMO engine"}  # fmt: skip


def words(one: Standing) -> str:
    """A method as a sentence names it: *our SMO engine on all rows*, *a random 20 % of the rows with LIBSVM*."""
    method = one.method
    solver = method.solver or method.label  # a damaged record may lack it
    engine = _ENGINES.get(solver, solver)
    if method.reducer is None:
        name = engine + method.label.removeprefix(solver) if method.label.startswith(solver) else method.label
        return f"{name} on all rows" if one.is_exact else name
    share = "" if one.kept_share is None else f"{100 * one.kept_share:.3g} %"
    if method.reducer == RANDOM:
        return f"a random {share} of the rows with {engine}" if share else f"a random sample with {engine}"
    return f"{method.label} ({share} of the rows)" if share else method.label


def brief(one: Standing) -> str:
    """A method where there is little room: a random control by its size."""
    if one.is_control and one.kept_share is not None:
        return f"random {100 * one.kept_share:.2g} %"
    return one.label.replace("epsilon=", "ε=").replace("gamma=", "γ=")


def times(ratio: float, is_bound: bool = False) -> str:
    digits = f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"
    return f"{'at least ' if is_bound else ''}{digits} times"


def amount(loss: Difference, is_regression: bool) -> str:
    """``0.10 ± 0.05 points``, without a sign."""
    unit = "% of the RMSE" if is_regression else "points"
    spread = "" if loss.half is None else f" ± {100 * loss.half:.2f}"
    return f"{abs(100 * loss.middle):.2f}{spread} {unit}"


def signed(found: Difference, is_regression: bool = False, *, with_unit: bool = True) -> str:
    text = ("+" if found.middle >= 0 else "−") + amount(found, is_regression)
    return text if with_unit else " ".join(text.split(" ")[: 1 if found.half is None else 3])


def compared(loss: Difference, is_regression: bool, other: str) -> str:
    """``0.10 ± 0.05 points worse than LIBSVM``; a tie is neither."""
    if f"{abs(100 * loss.middle):.2f}" == "0.00":
        return f"level with {other}" if loss.half is None else f"{amount(loss, is_regression)} from {other}"
    return f"{amount(loss, is_regression)} {'better' if loss.middle < 0 else 'worse'} than {other}"


def series(names: Iterable[str], most: int = 4) -> str:
    """``a, b and c`` in the middle of a sentence; of many, how many more."""
    names = list(names)
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def outcomes(rivals: list[AgainstControl]) -> str:
    """``better 7 times, worse 2 times``."""
    counts = Counter(one.outcome for one in rivals)
    return ", ".join(f"{outcome} {_times(counts[outcome])}" for outcome in OUTCOMES if counts[outcome]) or "not known"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
