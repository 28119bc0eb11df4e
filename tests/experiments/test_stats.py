"""Rank tests against enumeration, scipy, printed critical values, and the tables of the Frank-Wolfe paper."""

import itertools
import math
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from svmreduce.errors import InputError
from svmreduce.experiments import stats
from svmreduce.experiments.stats import friedman, wilcoxon

PAPER = yaml.safe_load(files("svmreduce.papers").joinpath("frank_wolfe.yaml").read_text(encoding="utf-8"))
TABLES = PAPER["tables"]
ALTERNATIVES = ("two-sided", "less", "greater")


def column(table: str, value: str) -> dict[str, np.ndarray]:
    """The values of each algorithm over the 26 data sets, in the table's order."""
    algorithms: dict[str, list[float]] = {}
    for row in TABLES[table]["rows"]:
        algorithms.setdefault(row["algorithm"], []).append(row[value])
    return {name: np.array(values) for name, values in algorithms.items()}


SECONDS = column("table3", "seconds_mean")
ACCURACY = column("table2", "accuracy_mean_percent")
DATASETS = [row["dataset"] for row in TABLES["table2"]["rows"] if row["algorithm"] == "CVM"]
MEASURES = {"time": SECONDS, "accuracy": ACCURACY}
# Table 4 of the paper: what speaks against chance in each test.
HYPOTHESES = {
    ("time", "FW vs CVM"): "less",
    ("time", "MFW vs CVM"): "less",
    ("time", "FW vs MFW"): "two-sided",
    ("accuracy", "FW vs CVM"): "less",
    ("accuracy", "MFW vs CVM"): "less",
    ("accuracy", "FW vs MFW"): "less",
}


def printed(measure: str, comparison: str) -> tuple[float, float]:
    """Statistic of Table 5 and p-value of Table 6."""
    found = []
    for table, value in (("table5", "statistic"), ("table6", "p_value")):
        rows = [r for r in TABLES[table]["rows"] if (r["measure"], r["comparison"]) == (measure, comparison)]
        found.append(rows[0][value])
    return tuple(found)


def recomputed(measure: str, comparison: str):
    first, _, second = comparison.split()
    return wilcoxon(MEASURES[measure][first], MEASURES[measure][second], HYPOTHESES[measure, comparison])


def friedman_of(algorithms: dict[str, np.ndarray], higher_is_better: bool):
    return friedman(np.column_stack([algorithms[name] for name in ("FW", "MFW", "CVM")]), higher_is_better)


def same_digits(value: float, as_printed: float, digits: int = 3) -> bool:
    return f"{value:.{digits - 1}e}" == f"{as_printed:.{digits - 1}e}"


class TestFrankWolfePaper:
    @pytest.mark.parametrize("comparison", ["FW vs CVM", "MFW vs CVM", "FW vs MFW"])
    def test_signed_ranks_of_time(self, comparison):
        statistic, p_value = printed("time", comparison)
        result = recomputed("time", comparison)
        assert result.statistic == statistic  # 17, 20, 159
        assert same_digits(result.p_value, p_value, 4)

    def test_signed_ranks_of_accuracy_that_the_table_gives_as_printed(self):
        assert recomputed("accuracy", "FW vs CVM").statistic == printed("accuracy", "FW vs CVM")[0] == 19
        assert same_digits(recomputed("accuracy", "FW vs CVM").p_value, printed("accuracy", "FW vs CVM")[1], 4)
        assert recomputed("accuracy", "MFW vs CVM").statistic == printed("accuracy", "MFW vs CVM")[0] == 48.5

    def test_friedman_of_time(self):
        statistic, p_value = printed("time", "FW, MFW, CVM")
        result = friedman_of(SECONDS, higher_is_better=False)
        assert round(result.statistic, 3) == statistic == 14.858
        np.testing.assert_allclose(result.ranks, np.array([46, 40, 70]) / 26)  # MFW is fastest
        # The paper doubled the tail of F, for accuracy as well; an F test has only one.
        assert same_digits(2 * result.p_value, p_value)
        statistic, p_value = printed("accuracy", "FW, MFW, CVM")
        assert same_digits(2 * scipy_stats.f.sf(statistic, 2, 50), p_value)

    def test_friedman_of_accuracy_differs_because_the_table_is_rounded(self):
        """Rounding made ties (all three on a1a, FW and MFW on a2a), and with tied ranks F is 10.75 instead of 11.879.

        One digit more would break them. With CVM ahead on a1a and FW ahead on a2a, by less than the table can show,
        F is the printed one to its last digit.
        """
        assert round(friedman_of(ACCURACY, True).statistic, 2) == 10.75
        tied = [name for name, *row in zip(DATASETS, *ACCURACY.values(), strict=True) if len(set(row)) < 3]
        assert tied == ["Adult a1a", "Adult a2a"]

        finer = {name: values.copy() for name, values in ACCURACY.items()}
        finer["CVM"][DATASETS.index("Adult a1a")] += 0.004
        finer["FW"][DATASETS.index("Adult a2a")] += 0.004
        assert all((finer[name].round(2) == ACCURACY[name]).all() for name in finer)
        assert round(friedman_of(finer, True).statistic, 3) == printed("accuracy", "FW, MFW, CVM")[0] == 11.879

    def test_signed_ranks_of_accuracy_of_fw_and_mfw_differ_because_the_table_is_rounded(self):
        """W is 59 from the table and 63.5 in print; the printed p-value is that of 59.

        The ranks from the bottom decide: two pairs are tied, and seven more are 0.01 to 0.06 apart, which is as much
        as rounding can move. Accuracies that round to the very same table give 63.5.
        """
        result = recomputed("accuracy", "FW vs MFW")
        statistic, p_value = printed("accuracy", "FW vs MFW")
        assert (result.statistic, statistic) == (59, 63.5)
        assert same_digits(result.p_value, p_value)

        finer = {name: values.copy() for name, values in ACCURACY.items()}
        thousandths = {"a1a": (1, 0), "a2a": (2, 0), "a3a": (4, -4), "a5a": (3, -2), "a6a": (3, -2)}
        for name, (fw, mfw) in thousandths.items():
            finer["FW"][DATASETS.index(f"Adult {name}")] += fw / 1000
            finer["MFW"][DATASETS.index(f"Adult {name}")] += mfw / 1000
        assert all((finer[name].round(2) == ACCURACY[name]).all() for name in finer)
        assert wilcoxon(finer["FW"], finer["MFW"], "less").statistic == statistic

    def test_the_printed_p_of_mfw_and_cvm_misses_ties(self):
        """The exact p of W = 48.5 is 3.58e-4; 3.21e-4 in print is what ranks of floating-point differences give.

        There 84.07 − 84.06 and 83.56 − 83.55 are different numbers.
        """
        assert same_digits(recomputed("accuracy", "MFW vs CVM").p_value, 3.58e-4)
        difference = ACCURACY["MFW"] - ACCURACY["CVM"]
        ranks = scipy_stats.rankdata(np.abs(difference))
        untied = stats._exact_tail(ranks[difference != 0], ranks[difference > 0].sum())
        assert same_digits(untied, printed("accuracy", "MFW vs CVM")[1])


def enumerated_p(differences, alternative):
    """The definition: all choices of signs for the nonzero differences, each as likely as the other."""
    differences = np.asarray(differences)
    ranks = scipy_stats.rankdata(np.abs(differences))
    ranks, signs = ranks[differences != 0], np.sign(differences[differences != 0])
    observed = ranks[signs > 0].sum()
    sums = np.array([ranks @ chosen for chosen in itertools.product((0, 1), repeat=ranks.size)])
    below, above = (sums <= observed).mean(), (sums >= observed).mean()
    return {"less": below, "greater": above, "two-sided": min(1, 2 * min(below, above))}[alternative]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=10), st.sampled_from(ALTERNATIVES))
def test_signed_ranks_against_enumeration_with_ties_and_zeros(differences, alternative):
    second = np.linspace(3, 5, len(differences)).round(1)
    result = wilcoxon(second + np.array(differences) / 10, second, alternative)  # tenths: ties only up to rounding
    assert result.p_value == pytest.approx(enumerated_p(differences, alternative), rel=1e-12)
    zeros = differences.count(0)
    ranks = len(differences) * (len(differences) + 1) / 2 - zeros * (zeros + 1) / 2
    assert result.plus + result.minus == pytest.approx(ranks)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("pairs", [2, 9, 40])
def test_signed_ranks_against_scipy_without_ties(pairs, alternative):
    rng = np.random.default_rng(pairs)
    first, second = rng.normal(0.2, 1, pairs), rng.normal(size=pairs)
    result, expected = (
        wilcoxon(first, second, alternative),
        scipy_stats.wilcoxon(first, second, zero_method="pratt", alternative=alternative, method="exact"),
    )
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.statistic == min(result.plus, result.minus)
    if alternative != "two-sided":
        assert result.plus == expected.statistic


def test_methods_that_never_differ():
    result = wilcoxon([1.0, 2.0], [1.0, 2.0])
    assert (result.statistic, result.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], [1], r"two lists of the same length, got shapes \(2,\) and \(1,\)"),
        ([], [], "two lists of the same length"),
        ([1, math.nan], [1, 2], "complete and finite: leave out those where a method failed"),
    ],
)
def test_pairs_that_are_none(first, second, message):
    with pytest.raises(InputError, match=message):
        wilcoxon(first, second)


def test_an_unknown_alternative():
    with pytest.raises(InputError, match="must be 'two-sided', 'less' or 'greater', got 'smaller'"):
        wilcoxon([1.0], [2.0], "smaller")


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 6), st.integers(3, 12), st.integers(0, 2**16))
def test_friedman_against_scipy_without_ties(methods, datasets, seed):
    scores = np.random.default_rng(seed).random((datasets, methods))
    result = friedman(scores)
    expected = scipy_stats.friedmanchisquare(*scores.T)
    assert result.chi_square == pytest.approx(expected.statistic, abs=1e-9)
    # F is the F test of an analysis of variance of the ranks, with data sets as blocks.
    ranks = scipy_stats.rankdata(-scores, axis=1)
    between = datasets * ((result.ranks - ranks.mean()) ** 2).sum() / (methods - 1)
    within = ((ranks - result.ranks) ** 2).sum() / ((methods - 1) * (datasets - 1))
    if within > 0:
        assert result.statistic == pytest.approx(between / within, abs=1e-9)


def test_friedman_does_not_depend_on_the_direction_but_the_ranks_do():
    scores = np.random.default_rng(1).integers(0, 4, (7, 3))
    high, low = friedman(scores, True), friedman(scores, False)
    assert high.statistic == pytest.approx(low.statistic)
    np.testing.assert_allclose(high.ranks, 4 - low.ranks)


def test_average_ranks_by_hand():
    scores = [[0.9, 0.8, 0.7], [0.9, 0.9, 0.5], [0.1, 0.2, 0.2]]
    np.testing.assert_allclose(friedman(scores, higher_is_better=True).ranks, [5.5 / 3, 5 / 3, 7.5 / 3])


def test_friedman_at_both_ends():
    alike = friedman([[1, 1, 1], [2, 2, 2]])
    assert (alike.statistic, alike.p_value) == (0, 1)
    same_order = friedman([[1, 2, 3]] * 4)
    assert same_order.statistic == math.inf
    assert same_order.p_value == pytest.approx(6 / 6**4)  # one of six orders, four times the same


def test_incomplete_tables_are_refused():
    with pytest.raises(InputError, match="1 of 3 data sets lack a score: rank tests need every method on every"):
        friedman([[1, 2], [1, math.nan], [2, 1]])
    with pytest.raises(InputError, match=r"at least 2 data sets \(rows\) and 2 methods, got shape \(1, 3\)"):
        friedman([[1, 2, 3]])
