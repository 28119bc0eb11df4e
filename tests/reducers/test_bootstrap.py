"""Bootstrap cleaning: what the weak SVMs say is what is counted, and none of them goes missing."""

import json

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import SVC

from svmreduce.errors import InputError
from svmreduce.kernels import resolve_gamma
from svmreduce.norms import learn_norm
from svmreduce.reducers.bootstrap import BootstrapCleaning, weak_svms
from svmreduce.reducers.bootstrap.informative import mefs, msfe
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.smo import SMO


def _blobs(n=600, classes=2, apart=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 3)) + apart * np.eye(classes, 3)[y], np.array(["a", "b", "c"])[y]


def _reduced(X, y, **options):
    reducer = BootstrapCleaning(**options)
    return reducer, reducer.fit_reduce(X, y)


@pytest.mark.parametrize("weak", ["smo", "libsvm"])
@pytest.mark.parametrize("classes", [2, 3])
def test_errors_and_entropy_by_sign_are_those_of_the_predicted_classes(weak, classes):
    X, y = _blobs(classes=classes)
    reducer, kept = _reduced(X, y, weak=weak, share=0.5, votes="sign", drop="right_and_wrong")
    codes = np.unique(y, return_inverse=True)[1]
    predicted = np.array([svm.predict(X) for svm in reducer.weak_svms_])
    assert predicted.shape == (10, 600)
    assert np.array_equal(reducer.errors_, (predicted != codes).sum(axis=0))
    assert_allclose(reducer.entropy_, scipy.stats.entropy([reducer.errors_, 10 - reducer.errors_], base=2), atol=1e-12)
    candidates = (reducer.errors_ > 0) & (reducer.errors_ < 10)
    assert np.array_equal(kept.indices, msfe(reducer.entropy_, candidates, 0.5, np.random.default_rng([0, 10])))
    assert candidates[kept.indices].all() and (kept.sample_weight == 1).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_by_margin_votes_a_row_right_by_all_is_inside_no_margin(classes):
    X, y = _blobs(classes=classes)
    reducer, kept = _reduced(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    if classes == 2:
        margins = [np.where(codes == svm.classes_[1], 1, -1) * svm.decision_function(X) for svm in reducer.weak_svms_]
        assert np.array_equal(np.sum(np.array(margins) < 1 - 1e-3, axis=0), reducer.errors_)
    for svm in reducer.weak_svms_:
        at_bound = (np.abs(svm.dual_coef_) > svm.C * (1 - 1e-9)).any(axis=0)  # so inside a margin
        assert not np.isin(svm.support_vectors_[at_bound], X[reducer.errors_ == 0]).all(axis=1).any()
    assert (reducer.errors_[kept.indices] > 0).all()


def test_counters_agree_with_the_arrays_and_can_be_recorded():
    X, y = _blobs()
    reducer, kept = _reduced(X, y, select="mefs", share=0.25, drop="right_and_wrong")
    candidates = (reducer.errors_ > 0) & (reducer.errors_ < 10)
    assert np.array_equal(kept.indices, mefs(reducer.entropy_, candidates, 0.25, np.random.default_rng([0, 10])))
    facts = json.loads(json.dumps(kept.info))
    assert facts["kept"] == len(kept.indices) == -(-facts["candidates"] // 4)
    assert facts["wrong_per_svm"] == pytest.approx(reducer.errors_.mean() * 60)
    assert facts["rows_by_errors"] == np.bincount(reducer.errors_, minlength=11).tolist()
    assert facts["right_by_all"] + facts["candidates"] + facts["wrong_by_all"] == 600
    assert facts["entropy_kept"] == pytest.approx(reducer.entropy_[kept.indices].sum())
    assert facts["entropy"] == pytest.approx(reducer.entropy_[candidates].sum())
    assert facts["sample_rows"] == 30 and facts["redrawn"] == 0 and facts["lost_classes"] == []
    assert set(facts["seconds"]) == {"sample", "train", "classify", "select"}
    assert 0 < sum(facts["seconds"].values()) <= reducer.seconds_


def test_the_result_depends_on_the_seed_and_on_nothing_else(monkeypatch):
    X, y = _blobs()
    _, first = _reduced(X, y, threads=1)
    assert np.array_equal(first.indices, _reduced(X, y, threads=3)[1].indices)
    assert not np.array_equal(first.indices, _reduced(X, y, random_state=1)[1].indices)
    random = np.random.RandomState(5)
    again = [_reduced(X, y, random_state=random)[1].indices for _ in range(2)]
    assert not np.array_equal(*again)  # a generator goes on
    monkeypatch.setattr(weak_svms, "BLOCK", 64)
    assert np.array_equal(first.indices, _reduced(X, y, threads=2)[1].indices)


def test_samples_are_drawn_with_replacement_and_grow_from_each_other():
    X, y = _blobs(200)
    svms = weak_svms.WeakSVMs(X, np.unique(y, return_inverse=True)[1], weak="smo", n_weak=3, seed=4, threads=1,
                              settings={"kernel": "rbf", "gamma": 1.0})  # fmt: skip
    small, large = svms.draw(0.1), svms.draw(1.0)
    assert [len(sample.rows) for sample in small] == [20] * 3
    for few, many in zip(small, large, strict=True):
        assert np.array_equal(few.rows, many.rows[:20])
        assert 0.5 < len(np.unique(many.rows)) / 200 < 0.75  # 1 - 1/e of the rows, about
    assert not np.array_equal(small[0].rows, small[1].rows)
    assert len(svms.draw(0.001)[0].rows) == weak_svms.LEAST_SAMPLE


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_mixture_gives_every_weak_svm_its_own_kernel(form):
    X, y = _blobs()
    kernel = "gaussian_mahalanobis:2+kmod(coef0=1):1+poly(degree=2,gamma=1):1+linear:1"  # twice that for ten SVMs
    reducer, _ = _reduced(form(X), y, kernel=kernel, coef0=0.5, votes="sign")
    found = {svm.kernel: (svm.gamma, svm.coef0, svm.degree) for svm in reducer.weak_svms_}
    scale = pytest.approx(resolve_gamma("scale", X))
    assert found == {"rbf": (scale, 0.5, 3), "kmod": (scale, 1, 3), "poly": (1, 0.5, 2), "linear": (scale, 0.5, 3)}
    by_turns = [svm.kernel for svm in reducer.weak_svms_]
    assert sorted(by_turns[:5]) == sorted(by_turns[5:]) == ["kmod", "linear", "poly", "rbf", "rbf"]
    # the norm is that of all rows, and the SVM sees them through it
    mapped, codes = learn_norm("mahalanobis", X).mapped(X), np.unique(y, return_inverse=True)[1]
    wrong = [svm.predict(mapped if svm.kernel == "rbf" else X) != codes for svm in reducer.weak_svms_]
    assert np.array_equal(np.sum(wrong, axis=0), reducer.errors_)


@pytest.mark.parametrize(
    "options",
    [
        {"weak": "liblinear", "kernel": "linear", "weak_params": {"loss": "hinge"}},
        {"weak": "libsvm", "kernel": "gaussian_diagonal+sigmoid(coef0=1)", "weak_params": {"tol": 0.01}},
        {"kernel": "sigmoid", "gamma": 1.0, "coef0": 1.0},
        {"weak": "aesvm", "weak_params": {"V": 100}},
    ],
)
def test_any_solver_can_be_the_weak_one(options):
    _, kept = _reduced(*_blobs(), **options)
    assert 0 < len(kept.indices) < 300


def test_the_final_classifier_may_use_the_average_kernel():
    X, y = _blobs(1000)
    mixture = "gaussian_mahalanobis:5+poly(degree=2,coef0=1):5"
    _, kept = _reduced(X, y, kernel=mixture, share=1.0, proportion=0.03)
    solver = SMO(kernel=mixture, gamma=0.2).fit(kept.X, kept.y)
    assert solver.converged_ and solver.model_.kernel.weights == (0.5, 0.5)


# ---------------------------------------------------------------- weak learners that fail


def test_samples_of_one_class_are_redrawn_and_counted():
    X, y = _blobs(1000)
    y = np.where(np.arange(1000) < 30, "b", "a")  # three in a hundred: most samples of ten rows have none
    reducer, kept = _reduced(X + 2.0 * (y == "b")[:, None], y, proportion=0.01, C=100.0, share=1.0)
    assert kept.info["redrawn"] > 5
    assert len(reducer.weak_svms_) == 10 and all(len(svm.classes_) == 2 for svm in reducer.weak_svms_)


def test_samples_that_are_always_of_one_class_are_reported():
    X, y = _blobs(20_000)
    y[:] = "a"
    y[0] = "b"
    with pytest.raises(InputError) as error:
        _reduced(X, y, proportion=0.001)
    assert str(error.value) == (
        "weak SVM 1 could be trained on none of 100 samples of 20 rows, lastly because all rows were of one class; "
        "raise proportion"
    )


class Fragile(SMO):
    """Refuses every other sample."""

    refuses_all = False

    def _solve(self, X, y, weights):
        if self.refuses_all or X[0].sum() > 1.5:
            raise InputError("these rows are not to my taste")
        return super()._solve(X, y, weights)


def test_a_weak_learner_that_fails_is_trained_on_another_sample(monkeypatch):
    X, y = _blobs()
    name = f"{__name__}:Fragile"
    reducer, kept = _reduced(X, y, weak=name, proportion=0.1)
    assert kept.info["redrawn"] > 0 and len(reducer.weak_svms_) == 10
    monkeypatch.setattr(Fragile, "refuses_all", True)
    with pytest.raises(
        InputError, match="none of 100 samples of 60 rows, lastly because these rows are not to my taste"
    ):
        _reduced(X, y, weak=name, proportion=0.1)


def test_weak_learners_that_stop_early_are_counted():
    X, y = _blobs()
    _, kept = _reduced(X, y, C=100.0, proportion=0.3, weak_params={"max_iter": 1})
    assert kept.info["not_converged"] == 10


# ---------------------------------------------------------------- classes, gelling point, audit


def test_a_class_that_gets_lost_is_told():
    X, y = _blobs(600, classes=2)
    y = np.append(y, ["c"] * 3)
    X = np.vstack([X, np.full((3, 3), 0.5)])  # in the midst of the others: all weak SVMs get them wrong
    with pytest.warns(UserWarning, match="no row of class c is kept"):
        _, kept = _reduced(X, y)
    assert kept.info["lost_classes"] == ["c"] and set(kept.y) == {"a", "b"}


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.repeat([[0.0], [9.0]], 100, 0), [0] * 100 + [1] * 100, "the 10 weak SVMs agree about every row"),
        (np.arange(50.0)[:, None], [1] * 50, "cleaning needs rows of at least two classes, got 1 class"),
        (np.arange(50.0)[:, None], np.arange(50) / 3, "Unknown label type: continuous"),
    ],
)
def test_rows_that_cannot_be_cleaned(X, y, message):
    with pytest.raises(ValueError, match=message):
        _reduced(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": "mef"}, "select must be one of mefs, msfe, got 'mef'"),
        ({"weak": "libsvm_svr"}, "weak must be a classifier, and libsvm_svr is not"),
        ({"weak": "libsvm", "kernel": "kmod"}, "unknown kernel of libsvm 'kmod'"),
        ({"weak": "liblinear"}, "unknown kernel of liblinear 'rbf'"),
        ({"weak_params": {"tool": 1}}, "unknown parameter of smo 'tool': did you mean 'tol'"),
        ({"weak_params": {"tol": 0}}, "tol must be a positive number, got 0"),
        ({"kernel": "rbf:3+poly:4"}, "n_weak must be such that kernel 'rbf:3+poly:4' can share it out, got 10"),
        ({"kernel": "rbf+poly+linear", "n_weak": 2}, "n_weak must be such that"),
        ({"weak": "liblinear", "kernel": "linear", "audit": True}, "audit counts support vectors, and libl"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit(options, message):
    with pytest.raises(InputError) as error:
        _reduced(*_blobs(100, apart=0.5), **options)
    assert message in str(error.value)


def test_the_gelling_point_is_found_on_rows_that_were_not_trained_on(capsys):
    X, y = _blobs(4000, apart=2.0)
    reducer, kept = _reduced(X, y, proportion="auto", verbose=True, gelling_slope=0.0, gelling_step=0.02)
    proportions, accuracies = np.array(reducer.curve_).T
    gains = np.diff(accuracies)
    assert (gains[:-1] >= 0).all() and (gains[-1] < 0 or proportions[-1] == 0.1)
    assert reducer.proportion_ == kept.info["proportion"] == proportions[-2 if gains[-1] < 0 else -1]
    assert kept.info["sample_rows"] == round(4000 * reducer.proportion_)
    assert kept.info["curve"] == reducer.curve_ and "gelling" in kept.info["seconds"]
    assert f"gelling point {100 * reducer.proportion_:g} % (2 %: {accuracies[0]:.4f}" in capsys.readouterr().err
    # the first point of the curve, by hand: the mean of five SVMs on the rows that each has not seen
    svms = weak_svms.WeakSVMs(X, np.unique(y, return_inverse=True)[1], weak="smo", n_weak=5, seed=0, threads=1,
                              settings={"kernel": "rbf", "gamma": "scale"})  # fmt: skip
    found = []
    for number, sample in enumerate(svms.draw(0.02)):
        unseen = np.setdiff1d(np.arange(4000), sample.rows)
        svm = SMO(gamma=resolve_gamma("scale", X), random_state=number).fit(X[sample.rows], y[sample.rows])
        found.append(np.mean(svm.predict(X[unseen]) == y[unseen]))
    assert accuracies[0] == pytest.approx(np.mean(found), abs=1e-12)


def test_audit_counts_the_support_vectors_of_the_whole_problem():
    X, y = _blobs()
    reducer, kept = _reduced(X, y, weak="libsvm", audit=True, gamma=0.3, C=2.0)
    support = SVC(gamma=0.3, C=2.0).fit(X, y).support_
    expected = np.bincount(reducer.errors_[support], minlength=11)
    assert kept.info["support"]["by_errors"] == expected.tolist()
    assert kept.info["support"]["right_by_all_share"] == pytest.approx(expected[0] / len(support))
    assert kept.info["support"]["wrong_by_all_share"] == pytest.approx(expected[10] / len(support))
    assert "audit" in kept.info["seconds"]


def test_official_libsvm_and_smo_clean_alike():
    X, y = _blobs(2000)
    errors = [_reduced(X, y, weak=weak, weak_params={"tol": 1e-6})[0].errors_ for weak in ("smo", "libsvm")]
    assert np.mean(errors[0] == errors[1]) > 0.999


def test_libsvm_in_threads_trains_the_same_svms():
    X, y = _blobs(2000)
    one, two = (_reduced(X, y, weak="libsvm", threads=threads)[0].weak_svms_ for threads in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert isinstance(a, Libsvm) and a.n_iter_ == b.n_iter_  # the log of each fit is its own
        assert_allclose(a.dual_coef_, b.dual_coef_)


def test_class_weights_of_weak_svms_are_by_label():
    X, y = _blobs()
    labels = np.where(y == "b", 7, 3)
    shares = []
    for heavy in (3, 7):
        reducer, _ = _reduced(X, labels, weak_params={"class_weight": {heavy: 50.0}})
        shares.append(np.mean([svm.predict(X) for svm in reducer.weak_svms_]))  # of class number 1, label 7
    assert shares[0] < 0.5 < shares[1]
    with pytest.raises(InputError, match="class_weight names 5, and the labels are 3, 7"):
        _reduced(X, labels, weak_params={"class_weight": {5: 2.0}})
    with pytest.raises(InputError, match="weak_params must not hold threads"):
        _reduced(X, labels, weak_params={"threads": 2})


def test_the_gelling_point_of_few_rows_is_searched_among_samples_that_differ():
    X, y = _blobs()
    reducer, kept = _reduced(X[:200], y[:200], proportion="auto", share=1.0)
    assert reducer.curve_[0][0] == 0.05  # ten rows of 200
    assert kept.info["sample_rows"] == round(200 * reducer.proportion_)


def test_an_audit_that_cannot_be_is_told_before_the_work():
    X, y = _blobs()
    reducer = BootstrapCleaning(weak="libsvm", kernel="gaussian_mahalanobis", audit=True)
    with pytest.raises(InputError, match="unknown kernel of libsvm, which is to audit, 'gaussian_mahalanobis'"):
        reducer.fit_reduce(X, y)
    assert not hasattr(reducer, "weak_svms_")


def test_auto_distance_is_that_of_the_kernel():
    X, y = _blobs()
    reducer, _ = _reduced(X, y, kernel="sigmoid", gamma="auto-distance")
    assert reducer.weak_svms_[0].gamma == pytest.approx(resolve_gamma("auto-distance", X, "sigmoid"))
    assert resolve_gamma("auto-distance", X, "sigmoid") == pytest.approx(2 * resolve_gamma("auto-distance", X))
