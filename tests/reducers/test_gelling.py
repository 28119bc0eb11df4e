"""The gelling point on curves that are known, where it must stop and what it must not look at."""

from svmreduce.reducers.bootstrap.gelling import curve_text, gelling_point


def _follow(curve, **options):
    """The search on a curve given at whole percents, and the proportions it asked for."""
    asked = []

    def accuracy_at(proportion):
        asked.append(proportion)
        return curve[round(100 * proportion) - 1]

    return *gelling_point(accuracy_at, step=0.01, **options), asked


def test_it_stops_one_step_after_the_point():
    accuracies = [0.80, 0.90, 0.95, 0.951, 0.99]
    proportion, curve, asked = _follow(accuracies, slope=0.2)
    assert proportion == 0.03
    assert asked == [0.01, 0.02, 0.03, 0.04]
    assert curve == list(zip(asked, accuracies, strict=False))


def test_a_falling_curve_has_its_point_at_the_start():
    assert _follow([0.9, 0.8, 0.99], slope=0.0)[0] == 0.01


def test_a_slope_that_is_just_met_goes_on():
    assert _follow([0.5, 0.75, 0.75], slope=25.0)[0] == 0.02


def test_a_rising_curve_ends_at_the_cap():
    rising = [0.05 * step for step in range(1, 11)]
    proportion, curve, asked = _follow(rising, slope=0.1)
    assert proportion == asked[-1] == 0.1 and len(curve) == 10
    assert asked == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1]


def test_the_last_step_is_cut_at_the_cap():
    _, curve = gelling_point(lambda proportion: proportion, slope=0.5, step=0.04)
    assert [proportion for proportion, _ in curve] == [0.04, 0.08, 0.1]
    assert gelling_point(lambda proportion: 0.9, slope=0.5, step=0.3)[0] == 0.1


def test_the_curve_as_text():
    assert curve_text([(0.005, 0.9), (0.01, 0.91234)]) == "0.5 %: 0.9000, 1 %: 0.9123"
