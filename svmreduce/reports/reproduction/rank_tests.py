"""The rank tests of the Frank-Wolfe paper, over the data sets that a run has.

A statistic of nine data sets is not that of twenty-six. So the direction is compared with the printed tables cut down
to the same data sets: who is ahead in both.
"""

from __future__ import annotations

import numpy as np

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.stats import friedman, wilcoxon
from svmreduce.papers import PrintedTable
from svmreduce.papers.layouts import LAYOUTS
from svmreduce.reports.reproduction.measured import NOT_FOUND, Measured, MeasuredRow

ALGORITHMS = ("FW", "MFW", "CVM")
_MEASURES = {"time": ("table3", "seconds_mean", "seconds"), "accuracy": ("table2", "accuracy_mean_percent", "accuracy")}
# Table 4 of the paper: what speaks against chance. Less time, and less accuracy than the method named second.
_ALTERNATIVES = {("time", "FW vs MFW"): "two-sided"}


class RankTests:
    """Scores of the three algorithms on the data sets that have all three."""

    def __init__(self, run: Run, printed: PrintedTable):
        tables = {name: printed.other(name) for name in ("table2", "table3")}
        measured = Measured(run, tables["table2"], LAYOUTS[printed.paper]["table2"])
        self.names = list(dict.fromkeys(row["dataset"] for row in tables["table2"].rows))
        found = {
            name: [measured.found({"dataset": name, "algorithm": algorithm}) for algorithm in ALGORITHMS]
            for name in self.names
        }
        self.complete = [name for name, rows in found.items() if all(row.values for row in rows)]
        self.caveats = tuple(
            dict.fromkeys(text for name in self.complete for row in found[name] for text in row.caveats)
        )
        self._scores = {
            kind: np.array([[row.values[fact] for row in found[name]] for name in self.complete], dtype=float)
            for kind, (_, _, fact) in _MEASURES.items()
        }
        self._printed = {
            kind: np.array([_printed_row(tables[table], name, value) for name in self.complete])
            for kind, (table, value, _) in _MEASURES.items()
        }

    def found(self, row: dict) -> MeasuredRow:
        if len(self.complete) < 2:
            return NOT_FOUND
        scores, printed = self._scores[row["measure"]], self._printed[row["measure"]]
        test = self._friedman if row["test"] == "friedman_F" else self._signed_ranks
        statistic, p_value, side = test(scores, row)
        _, _, printed_side = test(printed, row)
        caveats = list(self.caveats)
        if len(self.complete) < len(self.names):
            caveats.insert(0, f"{len(self.complete)} of {len(self.names)} data sets")
        values = {"statistic": statistic, "p_value": p_value}
        return MeasuredRow("", "", values, caveats=tuple(caveats), sides={"statistic": (printed_side, side)})

    @staticmethod
    def _signed_ranks(scores: np.ndarray, row: dict) -> tuple[float, float, int]:
        first, _, second = row["comparison"].split()
        alternative = _ALTERNATIVES.get((row["measure"], row["comparison"]), "less")
        result = wilcoxon(scores[:, ALGORITHMS.index(first)], scores[:, ALGORITHMS.index(second)], alternative)
        return result.statistic, result.p_value, int(np.sign(result.plus - result.minus))

    @staticmethod
    def _friedman(scores: np.ndarray, row: dict) -> tuple[float, float, int]:
        result = friedman(scores, higher_is_better=row["measure"] == "accuracy")
        return result.statistic, result.p_value, int(np.argmin(result.ranks))


def _printed_row(table, name: str, value: str) -> list[float]:
    values = {row["algorithm"]: row[value] for row in table.rows if row["dataset"] == name}
    return [values[algorithm] for algorithm in ALGORITHMS]
