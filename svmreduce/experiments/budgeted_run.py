"""Runs the candidates of an experiment under a budget: cheap ones first, and nothing that cannot end in time.

Every method runs on growing parts of the rows first. How its time grows decides whether it is started on all rows.
Then comes one round on all rows, the exact solution first, and further rounds with other seeds for those methods that
no other beats clearly. These rounds count only as a whole, so that all methods in them are compared on the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from svmreduce.experiments.config import Config
from svmreduce.experiments.growth import LINEAR, Growth, cost_of
from svmreduce.experiments.planned_methods import methods_of
from svmreduce.experiments.planning import Task, expand
from svmreduce.experiments.records import RANDOM, Record, controlled_label
from svmreduce.experiments.runner import Agenda, execute, make_agenda
from svmreduce.experiments.store import Store
from svmreduce.experiments.time_budget import Budget, NotRun, beats, chance, goodness_of, ladder, round_down
from svmreduce.memory import free_bytes
from svmreduce.printable import count_of, roughly

PART_TEST_ROWS = 2000
PART, METHOD, EXACT = 0.05, 0.25, 0.45  # of the budget: a method on a part, on all rows, and the exact solution
ALL_ROWS = 0.5  # of the budget: kept for them
CHEAP = 0.2  # of what is left
MEMORY = 0.7  # of what is free
_WRONG_BY = 4  # times that a prediction may be wrong before a task is ended
_LEAST = 2.0  # seconds that every task gets
_CLEAR = 0.1  # seconds below which a time on a part decides nothing


class BudgetedRun:
    """One data set, many methods.

    Parameters
    ----------
    config : the experiment in full; its first seed makes the first round
    engine : label of the exact solution on all rows
    store, workers, earlier : where records go, who makes them, and those of an earlier run in the same folder
    say : called with a line of text for the user whenever something is done
    """

    def __init__(self, config: Config, engine: str, budget: Budget, store: Store, workers, earlier, say: Callable):
        self.config, self.engine, self.baseline = config, engine, config.baseline
        self.budget, self.store, self.workers, self.earlier, self.say = budget, store, workers, earlier, say
        self.known: dict[str, Record] = {}
        self.growth: dict[str, Growth] = {}
        self.scores: dict[str, float] = {}  # on the last part; greater is better
        self.not_run: dict[str, NotRun] = {}
        self.planned: list[Task] = []  # of the rounds that count
        self.on_parts: dict[int, list[Task]] = {}  # rows -> tasks that finished
        self.load = 0.0
        self.rows = self.test_rows = self.judged_rows = self.judged_test_rows = 0
        methods = methods_of(config)
        self.controlled = {method.control_of for method in methods}
        self.shares = {method.label: method.reducer_params.get("share") for method in methods
                       if method.reducer == RANDOM and method.control_of is None}  # fmt: skip
        self.memory_mb = MEMORY * free_bytes() / 2**20

    def run(self, rows: int, test_rows: int, load: float = 0.0) -> None:
        """All of it; ``rows`` and ``test_rows`` are those of one split, which takes ``load`` seconds to read."""
        self.load = load
        self.rows, self.test_rows = self.judged_rows, self.judged_test_rows = rows, test_rows
        for number, size in enumerate(ladder(rows)):
            needed = ALL_ROWS if number > 1 else ALL_ROWS / 2  # growth needs two sizes
            if self.budget.left > needed * self.budget.seconds:
                self._on_part(size)
                self._drop_beaten(size)
        by_seed = self._units(self.config)
        first, *others = self.config.seeds
        self._first_round(by_seed[first])
        self._other_rounds({seed: by_seed[seed] for seed in others})
        self._run_baseline(by_seed[first])
        if self.on_parts and not self._is_worth_a_verdict():
            self.judged_rows = self._largest_part()
            self.planned = self.on_parts[self.judged_rows]
            self.judged_test_rows = min(PART_TEST_ROWS, test_rows)

    @property
    def has_result(self) -> bool:
        """Whether anything finished that a verdict can be about."""
        return bool(self._finished_labels())

    @property
    def judged_config(self) -> Config:
        """The experiment that the verdict is about: that of all rows, or of the part that was judged."""
        return self.config if self.judged_rows == self.rows else self._part(self.judged_rows)

    def _is_worth_a_verdict(self) -> bool:
        """Whether the exact solution ran on all rows, or something that is no worse there than the best on a part."""
        found = {label: result for label in self._finished_labels() if (result := self._first_result(label))}
        if not found or self.engine in found:
            return bool(found)
        best, on_part = max(score for score, *_ in found.values()), max(self.scores.values())
        return best >= on_part - chance(on_part, best, min(PART_TEST_ROWS, self.test_rows))

    def _largest_part(self) -> int:
        """With the exact solution on it if there is one: without, there is nothing to lose against."""
        with_exact = [rows for rows, tasks in self.on_parts.items() if any(t.method == self.engine for t in tasks)]
        return max(with_exact or self.on_parts)

    # ------------------------------------------------------------ parts of the rows

    def _on_part(self, rows: int, labels: set[str] | None = None, share: float = PART) -> None:
        """Methods that have a chance, on a random part of the rows."""
        part = self._part(rows)
        units = self._units(part)[part.seeds[0]]
        allowed = share * self.budget.seconds
        done = 0
        # The exact solution first: without it, nothing that runs before the budget ends has a reference
        order = sorted(units, key=lambda label: (label != self.engine, self._predicted(label, rows, PART_TEST_ROWS)))
        for label in order:
            if labels is not None and label not in labels:
                continue
            expected = self._predicted(label, rows, PART_TEST_ROWS)
            if label in self.not_run or not self._may_go_on(label, expected, allowed):
                continue
            records = self._execute(units[label], min(allowed, self._limit(expected)))
            cost = cost_of(records)
            if cost is None:
                self.not_run[label] = NotRun.failed(records, f"on {rows:,} rows: ")
            else:
                done += 1
                self.growth.setdefault(label, Growth(units[label][-1].solver in LINEAR)).add(cost)
                self.scores[label] = goodness_of(records[-1])
                if labels is None:
                    self.on_parts.setdefault(rows, []).extend(units[label])
        self.say(f"{rows:,} of {self.rows:,} rows: {count_of(done, 'method')} measured")

    def _drop_beaten(self, rows: int) -> None:
        """A method that takes twice as long as a better one, and does not grow more slowly, need not go on."""
        here = {label: growth for label, growth in self.growth.items() if growth.last.rows == rows and growth.is_known}
        for label, own in here.items():
            if label in (self.engine, self.baseline) or own.last.train < _CLEAR:
                continue
            for name, other in here.items():
                is_slower = 2 * other.last.train <= own.last.train and other.exponent <= own.exponent + 0.1
                if is_slower and self.scores[name] >= self.scores[label] and label not in self.not_run:
                    times = f"{roughly(own.last.train)} against {roughly(other.last.train)}"
                    words = f"on {rows:,} rows slower than {name} ({times}) and no better"
                    self.not_run[label] = NotRun("beaten", words, self._predicted(label))

    def _may_go_on(self, label: str, expected: float, allowed: float) -> bool:
        """Whether a larger part can be run; what is far too slow on all rows goes on only where that is cheap."""
        growth, on_all = self.growth.get(label), self._predicted(label)
        is_of_use = label in (self.engine, self.baseline)  # on fewer rows, too
        is_far = growth is not None and growth.is_known and not growth.is_linear and on_all > self.budget.seconds
        if expected <= min(allowed / 10 if is_far and not is_of_use else allowed, self.budget.left):
            return True
        if on_all > EXACT * self.budget.seconds and not is_of_use:
            self.not_run[label] = self._too_slow(label)
        return False

    def _part(self, rows: int) -> Config:
        whole = self.config.datasets[0]
        title = f"{whole.title} ({rows:,} of {self.rows:,} rows)"
        dataset = whole.model_copy(update={"rows": rows, "test_rows": PART_TEST_ROWS, "as_": title})
        seeds = self.config.seeds[:1]
        return self.config.model_copy(update={"datasets": [dataset], "seeds": seeds, "control": False})

    # ------------------------------------------------------------ all rows

    def _first_round(self, units: dict[str, list[Task]]) -> None:
        """The leader, then the others from cheap to dear; LIBSVM last, and later if it is dear."""
        lead = self._leader(units)
        order = sorted(units, key=lambda label: (label != lead, label == self.baseline, self._predicted(label)))
        for label in order:
            if label in self.not_run:
                continue
            if label == self.baseline and self._predicted(label) > CHEAP * self.budget.left:
                continue
            self._run_unit(label, units[label], EXACT if label in (lead, self.engine) else METHOD)

    def _leader(self, units: dict[str, list[Task]]) -> str:
        """What all others are measured by: the exact solution, or the best on parts of the rows that has the time."""
        time = min(EXACT * self.budget.seconds, self.budget.left - 1)
        able = [label for label in self.scores if label in units and self._predicted(label) <= time]
        able = [label for label in able if label not in self.not_run]
        is_exact_able = self._predicted(self.engine) <= time or not able
        return self.engine if is_exact_able else max(able, key=self.scores.get)

    def _run_unit(self, label: str, tasks: list[Task], share: float) -> None:
        expected, allowed = self._predicted(label), share * self.budget.seconds
        if expected > allowed:
            self.not_run[label] = self._too_slow(label)
        elif expected > self.budget.left - 1:
            self.not_run[label] = NotRun.out_of_budget(expected)
        else:
            records = self._execute(tasks, min(allowed, self._limit(expected)))
            self.not_run.pop(label, None)
            self.planned += [task for task in tasks if task.id in self.known]
            self._report(label, records)

    def _other_rounds(self, units: dict[int, dict[str, list[Task]]]) -> None:
        """The methods that matter, with all other seeds or none: an interval from two would say nothing."""
        chosen, done = self._worth_repeating(len(units)), []
        for seed in units if chosen else ():
            for label in list(chosen):
                records = self._execute(units[seed][label], self._limit(self._cost(label)))
                if cost_of([record for record in records if record.method == label]) is not None:
                    done += units[seed][label]
                elif label != self.engine and self.budget.left > 0:  # its failure is its own
                    chosen.remove(label)
                    self.not_run[label] = NotRun.failed(records, f"with seed {seed}: ")
                    self.say(f"{label}: not repeated, {self.not_run[label].words}")
                else:
                    self.say(f"seed {seed}: {label} did not finish, so that only the first seed counts")
                    return
            self.say(f"seed {seed}: {count_of(len(chosen), 'method')} repeated")
        self.planned += [task for task in done if (controlled_label(task.method) or task.method) in chosen]

    def _worth_repeating(self, rounds: int) -> list[str]:
        """All methods if they are quick; else those that no other beats clearly; if that takes too long, the front."""
        loads = (record.seconds.get("load") or 0.0 for record in map(self.known.get, (t.id for t in self.planned)))
        left = self.budget.left - 1 - rounds * max(loads, default=0.0)
        ends = {label: self._first_result(label) for label in self._finished_labels()}
        ends = {label: result for label, result in ends.items() if result}
        if rounds * math.fsum(map(self._cost, ends)) < CHEAP * left:
            return sorted(ends, key=self._cost)
        ends.pop(self.baseline, None)
        for clearly in (True, False):
            chosen = [label for label in ends if label == self.engine or not self._is_beaten(label, ends, clearly)]
            if rounds * math.fsum(map(self._cost, chosen)) < left:
                return sorted(chosen, key=self._cost)
        return []

    @staticmethod
    def _is_beaten(label: str, ends: dict[str, tuple], clearly: bool) -> bool:
        return any(beats(other, ends[label], clearly) for name, other in ends.items() if name != label)

    def _run_baseline(self, units: dict[str, list[Task]]) -> None:
        """LIBSVM on all rows if that fits; else on as many rows as fit, and our engine on as many."""
        label = self.baseline
        if label not in units or label in self._finished_labels():
            return
        if self._predicted(label) <= min(EXACT * self.budget.seconds, self.budget.left - 1):
            self._run_unit(label, units[label], EXACT)
            return
        growth, expected = self.growth.get(label), self._predicted(label)
        is_slow = growth is None or expected > EXACT * self.budget.seconds
        self.not_run[label] = self._too_slow(label) if is_slow else NotRun.out_of_budget(expected)
        seconds = min(0.1 * self.budget.seconds, 0.4 * self.budget.left)
        rows = round_down(min(self.rows // 2, growth.rows_within(seconds))) if growth else 0
        if growth and rows >= 1.5 * growth.last.rows:
            del self.not_run[label]
            self._on_part(rows, {label, self.engine}, share=0.2)
            self._run_unit(label, units[label], EXACT)  # if it grew less than expected

    # ------------------------------------------------------------ predictions and results

    def _predicted(self, label: str, rows: int | None = None, test_rows: int | None = None) -> float:
        """Seconds on all rows or on these; 0 where nothing is known. A random sample costs what its rows cost."""
        rows, test_rows = rows or self.rows, min(test_rows or self.test_rows, self.test_rows)
        growth, whole = self.growth.get(label), self.growth.get(self.engine)
        expected = growth.seconds(rows, test_rows) if growth else 0.0
        share = self.shares.get(label)
        return min(expected, whole.seconds(max(1, int(share * rows)), test_rows)) if share and whole else expected

    def _limit(self, expected: float) -> float:
        least = max(_LEAST, PART * self.budget.seconds)
        return max(_LEAST, min(self.budget.left, max(least, _WRONG_BY * expected)))

    def _too_slow(self, label: str) -> NotRun:
        growth = self.growth.get(label)
        if growth is None:
            return NotRun.out_of_budget()
        expected = growth.train_seconds(self.rows)
        how = "as it grows with" if growth.is_known else "if it grows with"
        words = (
            f"about {roughly(expected)} on all rows, {how} the power {growth.exponent:.1f} of the rows "
            f"({roughly(growth.last.train)} on {growth.last.rows:,})"
        )
        return NotRun("slow", words, expected)

    def _finished_labels(self) -> list[str]:
        fits = (task for task in self.planned if task.kind == "fit" and controlled_label(task.method) is None)
        return list(dict.fromkeys(task.method for task in fits if self._ended(task)))

    def _ended(self, task: Task) -> bool:
        record = self.known.get(task.id)
        return record is not None and record.is_finished

    def _of(self, label: str) -> list[Record]:
        """Records of the first round."""
        ids = dict.fromkeys(
            task.id for task in self.planned
            if task.seed == self.config.seeds[0] and label in (task.method, controlled_label(task.method))
        )  # fmt: skip
        return [self.known[id_] for id_ in ids if id_ in self.known]

    def _cost(self, label: str) -> float:
        """Seconds of the first round without loading, its control included."""
        times = (record.seconds for record in self._of(label))
        return math.fsum((took.get("total") or 0.0) - (took.get("load") or 0.0) for took in times)

    def _first_result(self, label: str) -> tuple[float, float, int] | None:
        """Score (greater is better), training seconds, test rows."""
        records = [record for record in self._of(label) if record.method == label]
        cost = cost_of(records)
        if cost is None:
            return None
        fit = next(record for record in records if record.is_fit)
        return goodness_of(fit), cost.train, fit.sizes["test_rows"]

    def _report(self, label: str, records: list[Record]) -> None:
        own = [record for record in records if record.method == label]
        cost = cost_of(own)
        if cost is None:
            self.not_run[label] = NotRun.failed(own)
            self.say(f"{label}: {self.not_run[label].words}")
            return
        scores = next(record for record in own if record.is_fit).scores
        found = f"accuracy {100 * scores['accuracy']:.2f} %" if "accuracy" in scores else f"MSE {scores['mse']:.4g}"
        self.say(f"{label}: {roughly(cost.train)}, {found}")

    # ------------------------------------------------------------ tasks

    def _units(self, config: Config) -> dict[int, dict[str, list[Task]]]:
        """Seed -> label -> the tasks of a method and of its random control, in the order in which they run."""
        tasks = expand(config)
        agenda = make_agenda(config, tasks, self.earlier, self.store.folder, rerun="failed")
        self.known |= agenda.known
        found: dict[int, dict[str, list[Task]]] = {seed: {} for seed in config.seeds}
        for task in tasks:
            label = controlled_label(task.method) or task.method
            found[task.seed].setdefault(label, []).append(task)
        return found

    def _execute(self, tasks: list[Task], limit: float) -> list[Record]:
        """The records of these tasks, as far as the budget allows."""
        records = []
        for task in tasks:
            seconds = max(0.1, min(limit + _WRONG_BY * self.load, self.budget.left))  # a new worker reads the rows
            limits = self.config.limits.model_copy(update={"seconds": round(seconds, 1), "memory_mb": self.memory_mb})
            if task.id not in self.known and self.budget.left <= 0:
                break
            agenda = Agenda(self.config.model_copy(update={"limits": limits}), [task], self.known)
            made = execute(agenda, self.store, self.workers)
            self.known |= {record.id: record for record in made}
            records += [record.renamed({"method": task.method}) for record in made]
        return records
