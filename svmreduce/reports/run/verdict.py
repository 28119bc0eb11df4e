"""The answer before the tables: what to use on each data set, what it gains, what it loses, and how sure that is.

The recommendation is the quickest method on the front whose loss against the exact solution is surely no more than
`standing.LEVEL`. Nothing that ran is both quicker and better, beyond what times on a shared machine differ by (`TIE`):
for so little, nobody gives up the exact solution. A second, quicker one is named with what it loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from svmreduce.experiments.paired import Difference
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import FINISHED, RANDOM
from svmreduce.experiments.standing import LEVEL, TOO_SHORT, AgainstControl, Standing, Standings
from svmreduce.printable import duration
from svmreduce.reports.run.wording import (
    OUTCOMES,
    amount,
    compared,
    outcomes,
    series,
    signed,
    times,
    words,
)

TIE = 1.3
"""Times whose ratio is below this are equal where the choice is between an exact solver and another method."""
ALIKE = 1.1
"""A ratio of times below this is no speed-up."""
WORTH = 1.5
"""A method that loses something is worth a word if it is at least this many times as fast."""
ACCEPTABLE = {"classification": 0.01, "regression": 0.05}
"""The most that the second, quicker proposal may lose: a point of accuracy, a twentieth of the RMSE."""
FEW = 5  # data sets; of more, a text has one sentence each
NOTHING_TO_SAVE = 0.2
"""Seconds of the exact solution below which no time can be saved, and times decide nothing."""
NO_TIME = "There is no time to be saved on this data, and times this short decide nothing."


def verdicts(run: Run) -> list[DatasetVerdict]:
    """One verdict per data set with a result, in natural order."""
    return [DatasetVerdict(name, standings, run) for name, standings in run.standings.items()]


@dataclass(frozen=True, eq=False)
class DatasetVerdict:
    """What the records of one data set say to somebody who has to choose."""

    dataset: str
    standings: Standings
    run: Run

    @property
    def is_regression(self) -> bool:
        return self.standings.task == "regression"

    @property
    def all(self) -> list[Standing]:
        """Every method with a result, the quickest first."""
        return self.standings.all

    @property
    def front(self) -> list[Standing]:
        """Accuracy (or RMSE) against seconds of reduction and training: nothing beats these in both."""
        return self.standings.front

    @property
    def reference(self) -> Standing | None:
        """The exact solution that losses and speed-ups refer to."""
        return self.standings.reference

    @cached_property
    def recommended(self) -> Standing | None:
        """The quickest on the front that is surely as good as the exact solution; if none is sure, the quickest whose
        interval, or at least whose score, says so. Where there is no time to be saved, the exact solution."""
        if self.is_tiny:
            exact = [one for one in self.standings.all if one.counts and one.is_exact and self.is_sure(one)]
            return next(iter(exact), self.reference)
        level = [one for one in self.front if self.loss(one).middle <= LEVEL[self.standings.task]]
        found = next((one for test in (self.is_sure, self._is_level, bool) for one in level if test(one)), None)
        exact = next((one for one in self.all if one.counts and one.is_exact and self.is_sure(one)), None)
        if found is None or exact is None or self.loss(found).high < 0:
            return found
        return exact if self.standings.speedup(found, exact) < TIE else found

    @cached_property
    def quicker(self) -> Standing | None:
        """The quickest on the front that loses an acceptable part and is worth it."""
        if self.recommended is None or self.is_tiny:
            return None
        limit = ACCEPTABLE[self.standings.task]
        for one in self.front:
            gain = self.standings.speedup(one, self.recommended)
            if self.loss(one).middle <= limit and gain >= WORTH:
                return one
        return None

    @cached_property
    def better(self) -> Standing | None:
        """The best of all, if it takes longer than the recommendation and is better beyond chance."""
        best = self.front[-1] if self.front else None
        if best in (None, self.recommended) or not self.standings.difference(best, self.recommended).high < 0:
            return None
        return best

    def rival(self, one: Standing) -> Standing | None:
        """What its speed is told against: the exact solution, or for that one a slower exact solver or the baseline."""
        others = [self.reference, *(other for other in self.all if other.is_exact), self.standings.baseline]
        return next((other for other in others if other and other.counts and other.timed > ALIKE * one.timed), None)

    @cached_property
    def against_controls(self) -> list[AgainstControl]:
        """Every reduction against its random control, paired over the cells that both have."""
        return self.standings.against_controls

    def loss(self, one: Standing) -> Difference | None:
        return self.standings.loss(one)

    def is_sure(self, one: Standing) -> bool:
        """Whether its loss is none beyond chance; an exact solver on all rows has the same solution by construction.

        A random sample that was drawn once is never sure: another one would do better or worse.
        """
        was_drawn_once = one.method.reducer == RANDOM and len(self.standings.splits) == 1
        is_same = one.is_exact and abs(self.loss(one).middle) <= LEVEL[self.standings.task]
        return one is self.reference or is_same or (self._is_level(one) and not was_drawn_once)

    def _is_level(self, one: Standing) -> bool:
        """Whether the interval of its loss has no more than counts as none."""
        return self.loss(one).high <= LEVEL[self.standings.task]

    def is_poor(self, one: Standing) -> bool:
        """Whether it loses so much that its speed is no merit."""
        loss = self.loss(one)
        return loss is not None and loss.middle > 2 * ACCEPTABLE[self.standings.task]

    def shares(self, one: Standing) -> dict[str, float] | None:
        """The engine's and the reduction's part of the speed-up over the reference; their product is the speed-up."""
        engine = self.standings.same_engine(one)
        if engine is None or self.reference is None or not engine.counts:
            return None
        return {
            "engine": self.standings.speedup(engine, self.reference),
            "reduction": self.standings.speedup(one, engine),
        }

    @property
    def is_tiny(self) -> bool:
        """Whether an exact solution takes so little time that there is nothing to decide."""
        exact = [one.seconds for one in self.standings.all if one.counts and one.is_exact]
        return min(exact, default=NOTHING_TO_SAVE) < NOTHING_TO_SAVE

    @property
    def is_alone(self) -> bool:
        """Whether only one method has a result that counts, so that there is no choice."""
        return sum(not one.is_control for one in self.all) == 1

    def marks(self, one: Standing) -> tuple[str, ...]:
        """What limits its figures: why it does not decide, or that its time is too short to be measured."""
        return one.marks + (("too short to time",) if one.seconds < TOO_SHORT else ())

    def sentences(self) -> list[str]:
        """A few plain sentences, the recommendation first."""
        one = self.recommended
        if one is None:
            return [f"No verdict: {self._why_none()}."]
        if self.is_alone:
            only = f"Only {words(one)} has a result: {duration(one.seconds)}; {self._score(one)}."
            return [f"{only} There is nothing to compare it with."]
        found = [self._use(one)]
        if self.is_tiny:
            found.append(NO_TIME)
        elif self.quicker:
            found.append(self._or(self.quicker))
        elif len(self.all) > 1:
            is_quickest = all(one.timed <= other.timed for other in self.all if other.counts)
            found.append("Nothing that ran is quicker." if is_quickest else "Nothing quicker is worth its loss.")
        if self.better:
            gain = self.standings.difference(self.better, one)
            more = f"{amount(gain, self.is_regression)} better and takes {duration(self.better.seconds)}"
            rivals = sum(other.counts for other in self.all)
            best = f" (the best of {rivals} looks better than it is)" if rivals > 2 else ""
            found.append(f"If more time may be spent: {words(self.better)} is {more}{best}.")
        if not self.reference.is_exact:
            found.append(f"No exact solver has a result here: losses are against {words(self.reference)}, the best.")
        found += self.controls
        if any("±" in sentence for sentence in found) and len(self.standings.splits) == 1:
            found.append("All this is from one training set: ± is the chance of the test rows alone.")
        return found

    def to_json(self) -> dict:
        """For programs: the recommendation, the front, every method with its marks, and the controls."""
        one = self.recommended
        return {
            "dataset": self.dataset,
            "task": self.standings.task,
            "sentences": self.sentences(),
            "reference": self.reference and self.reference.label,
            "reference_is_exact": bool(self.reference and self.reference.is_exact),
            "is_decided": one is not None and not self.is_tiny,
            "recommendation": one and self.facts(one),
            "quicker": self.quicker and self.facts(self.quicker),
            "front": [self.facts(other) for other in self.front],
            "methods": [self.facts(other) for other in self.standings.all],
            "failed": {label: _failures(self.standings.methods[label]) for label in self.failed},
            "controls": [
                {"method": found.method, "control": found.control, "outcome": found.outcome, "seconds": found.seconds,
                 "control_seconds": found.control_seconds} | _difference_json(found.gain, self.is_regression, "gain")
                for found in self.against_controls
            ],
        }  # fmt: skip

    @property
    def failed(self) -> list[str]:
        """Methods without any result."""
        return [label for label in self.standings.methods if label not in self.standings.by_label]

    def facts(self, one: Standing) -> dict:
        """A method at its best point, as raw numbers."""
        first = self.run.fits_of[self.dataset][one.label][0]
        parameters = first.solver_params | {f"reducer.{key}": value for key, value in first.reducer_params.items()}
        loss = self.loss(one)
        return {
            "method": one.label,
            "solver": one.method.solver,
            "reducer": one.method.reducer,
            "parameters": parameters | dict(one.point),
            "words": words(one),
            "accuracy": None if self.is_regression else one.score,
            "rmse": one.score if self.is_regression else None,
            **_difference_json(loss, self.is_regression, "loss"),
            "seconds": one.seconds,
            "reduce_seconds": one.reduce_seconds,
            "predict_seconds": one.predict_seconds,
            "speedup": self.standings.speedup(one, self.reference),
            "shares": self.shares(one),
            "kept_share": one.kept_share,
            "vectors": one.vectors,
            "on_front": one in self.front,
            "is_sure": bool(loss) and one.counts and self.is_sure(one),
            "is_control": one.is_control,
            "marks": list(self.marks(one)),
        }

    def _why_none(self) -> str:
        marked = [f"{one.label} {', '.join(one.marks)}" for one in self.standings.all if one.marks]
        return "; ".join(marked) or "nothing has a result"

    def _use(self, one: Standing) -> str:
        text = f"Use {words(one)}: {duration(one.seconds)}"
        rival = self.rival(one)
        if rival:
            gain = self.standings.speedup(one, rival)
            text += f", {times(gain, self._is_bound(one))} as fast as {words(rival).removesuffix(' on all rows')}"
        text += f"; {self._score(one)}"
        loss = self.loss(one)
        if one is self.reference or (one.is_exact and self.is_sure(one)):
            return text + "."
        surely = "" if self.is_sure(one) else ", which is not certain"
        return f"{text}, {compared(loss, self.is_regression, self._exact())}{surely}."

    def _or(self, one: Standing) -> str:
        loss = self.loss(one)
        lost = amount(loss, self.is_regression)
        gain = times(self.standings.speedup(one, self.reference), self._is_bound(one))
        base = "" if self.reference is self.recommended else f" as {self._exact()}"
        took = f"{words(one)} takes {duration(one.seconds)} ({gain} as fast{base})"
        if loss.middle <= 0:
            side = "better" if loss.middle else "apart"
            return f"Here {took} and was no worse ({lost} {side}), but that is not certain."
        return f"If {lost} may be lost, {took}."

    @cached_property
    def controls(self) -> list[str]:
        """One sentence, if any: which reductions are better than a random sample of their size, and which are not."""
        rivals = self.against_controls
        if len(rivals) > FEW:
            best = max(rivals, key=lambda rival: rival.gain.middle)
            said = f"{len(rivals)} reductions against random samples of their size: {outcomes(rivals)}"
            return [f"{said}; the best is {best.method} ({signed(best.gain, self.is_regression)})."]
        groups: dict[str, list[str]] = {}
        for found in rivals:
            groups.setdefault(found.outcome, []).append(f"{found.method} ({signed(found.gain, self.is_regression)})")
        parts = [
            f"{series(groups[outcome])} {'are' if len(groups[outcome]) > 1 else 'is'} {outcome} than a random sample "
            "of the same size"
            for outcome in OUTCOMES
            if outcome in groups
        ]
        return ["; ".join(parts) + "."] if parts else []

    def _exact(self) -> str:
        return words(self.reference).removesuffix(" on all rows")

    def _score(self, one: Standing) -> str:
        return f"RMSE {one.score:.4g}" if self.is_regression else f"accuracy {100 * one.score:.2f} %"

    def _is_bound(self, one: Standing) -> bool:
        return one.seconds < TOO_SHORT


def _difference_json(found: Difference | None, is_regression: bool, name: str) -> dict:
    """In points of accuracy, or in percent of the RMSE."""
    key = f"{name}_percent" if is_regression else f"{name}_points"
    if found is None:
        return {key: None, "interval": None, "over": None}
    interval = None if found.half is None else [100 * found.low, 100 * found.high]
    return {key: 100 * found.middle, "interval": interval, "over": found.over}


def _failures(method) -> dict[str, int]:
    found: dict[str, int] = {}
    for cell in method.cells.values():
        if cell.status not in FINISHED:
            found[cell.status] = found.get(cell.status, 0) + 1
    return found
