"""Reduce, then solve: the one place where a reducer and a solver meet.

Both must mean the same kernel. ``share_parameters`` hands out what they have in common, ``resolve_kernel_space``
fixes on all rows what is learned from rows, ``fit_on`` trains a solver on a reduction, and ``ReducedSolver`` is all of
it as one estimator. The train command, the experiments' worker and AESVM go through here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from svmreduce.checks import checked_weights
from svmreduce.errors import InputError
from svmreduce.kernels import GAMMAS, kernel_for, parse_kernel, resolve_gamma
from svmreduce.reducers.base import BaseReducer
from svmreduce.registry import parameters_of
from svmreduce.rows import canonical_rows
from svmreduce.solvers._any_estimator import facts_of
from svmreduce.solvers.base import ROWS, BaseSolver, learns_probabilities, seed_of
from svmreduce.solvers.cross_validation import with_probabilities
from svmreduce.types import FitFacts, Matrix, Reduction, RowsLike

if TYPE_CHECKING:
    from svmreduce.data.blocks import Blocks
    from svmreduce.data.scaling import Scaler

KERNEL_SPACE = ("kernel", "gamma", "coef0", "degree")
SHARED = (*KERNEL_SPACE, "threads", "random_state")


def share_parameters(
    solver: type, reducer: type | None, common: dict, solver_own: dict, reducer_own: dict
) -> tuple[dict, dict]:
    """What solver and reducer get: the common parameters they know, and their own, which win.

    The reducer works in the solver's kernel space and with its C, also where only the solver was given them. An
    estimator that calls its threads ``n_jobs``, as scikit-learn does, gets their number under that name.
    """
    named = common | {"n_jobs": common["threads"]} if "threads" in common else common
    for_solver = {key: value for key, value in named.items() if key in parameters_of(solver)} | solver_own
    if reducer is None:
        return for_solver, {}
    passed_on = {key: for_solver[key] for key in (*KERNEL_SPACE, "C") if key in for_solver}
    known = parameters_of(reducer)
    return for_solver, {key: value for key, value in (common | passed_on).items() if key in known} | reducer_own


def resolve_kernel_space(X: Matrix, method: BaseEstimator, *, norms: bool = True) -> None:
    """Fix on these rows what a solver or reducer would learn from rows: a word for gamma, and a norm.

    A solver that sees kept rows only would learn something else from them. The method is changed in place.
    """
    kernel, gamma = getattr(method, "kernel", "rbf"), getattr(method, "gamma", None)
    if not isinstance(kernel, str) or kernel == "linear":
        return
    if gamma in GAMMAS:
        method.set_params(gamma=resolve_gamma(gamma, X, kernel))
    try:
        parts = parse_kernel(kernel)
    except InputError:  # a kernel of another library, such as "precomputed"; a wrong name is reported by ``fit``
        return
    if norms and any(part.is_learned for part in parts):
        method.set_params(kernel=kernel_for(X, kernel, method.gamma, method.coef0, method.degree))


def fit_on(solver: BaseEstimator, reduction: Reduction) -> BaseEstimator:
    """Train on the rows of a reduction; weights that are all 1 need no solver that takes weights."""
    weights = reduction.weights_if_any
    if weights is None:
        return solver.fit(reduction.X, reduction.y)
    return solver.fit(reduction.X, reduction.y, sample_weight=weights)


def _solver_has(name: str) -> Callable:
    return available_if(lambda self: hasattr(self._given()[1], name))


class ReducedSolver(BaseEstimator):
    """A solver that trains on what a reducer keeps.

    Kernel, threads and seed need to be given once: what is left at its default on one side is taken from the other,
    and a reducer that trains SVMs takes the solver's C. So ``ReducedSolver(DeriveRS(epsilon=0.1), SMO(C=10,
    gamma=0.5))`` reduces in the kernel space it trains in. A reducer that gives weights must work in the solver's
    kernel space; one that has another is refused.

    After ``fit`` it has all fitted attributes of the solver; ``support_`` counts the given rows.

    Parameters
    ----------
    reducer : BaseReducer
    solver : estimator
        Any solver, or any classifier or regressor with scikit-learn's conventions.

    Attributes
    ----------
    reducer_, solver_ : the fitted two
    reduction_ : Reduction
    scaler_ : Scaler or None
        What ``fit_blocks`` was told to learn.
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification", "regression")
    accepts_weights: ClassVar[bool] = True

    def __init__(self, reducer: BaseReducer, solver: BaseEstimator):
        self.reducer = reducer
        self.solver = solver

    def _given(self) -> tuple[BaseReducer, BaseEstimator]:
        """Reducer and solver as they were given; a preset makes them from its own parameters."""
        return self.reducer, self.solver

    def _parts(self) -> tuple[BaseReducer, BaseEstimator]:
        """Unfitted copies of both, with what they share."""
        reducer, solver = map(clone, self._given())
        _take_over(solver, reducer, (*SHARED, "C"))
        _take_over(reducer, solver, SHARED if reducer.gives_weights else ("threads", "random_state"))
        if reducer.gives_weights:
            _check_one_space(reducer, solver)
        return reducer, solver

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ReducedSolver:
        """Reduce and train. ``seconds_`` has the solver's stages and ``reduce``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            How many rows a row stands for.
        """
        reducer, solver = self._parts()
        X, y = validate_data(self, X, y, **ROWS)
        X, weights = canonical_rows(X), checked_weights(sample_weight, X)
        if getattr(solver, "class_weight", None) is not None:  # means the classes of all rows, not of the kept ones
            if getattr(solver, "accepts_weights", True):
                weights = weights * compute_sample_weight(solver.class_weight, y)
                solver.set_params(class_weight=None)
            else:
                factors = compute_class_weight(solver.class_weight, classes=np.unique(y), y=y)
                solver.set_params(class_weight=dict(zip(np.unique(y).tolist(), factors, strict=True)))
        for part in (reducer, solver):
            resolve_kernel_space(X if weights.all() else X[np.flatnonzero(weights)], part, norms=reducer.gives_weights)
        with_sigmoids = isinstance(solver, BaseSolver) and learns_probabilities(solver)
        if with_sigmoids:  # learned from all rows, not from the kept ones
            solver.set_params(probability=solver._no_probability)
        trial = ReducedSolver(clone(reducer), clone(solver))
        reduction = reducer.fit_reduce(X, y, weights)
        fit_on(solver, reduction)
        if with_sigmoids:
            given = None if (weights == 1).all() else weights
            seed = seed_of(getattr(solver, "random_state", 0))
            solver.model_ = with_probabilities(solver.model_, trial, X, y, given, seed)
            solver.set_params(probability=True)
        return self._fitted(reducer, solver, reduction)

    def fit_blocks(self, blocks: Blocks, *, scale: str | None = None, **means: Any) -> ReducedSolver:
        """Reduce rows that need not fit into memory, and train on what is kept.

        Parameters
        ----------
        blocks : Blocks
            From ``open_blocks``, ``Blocks.of_arrays`` or ``Blocks.of_iterator``.
        scale : str, optional
            A name in ``SCALERS``: learned from all rows, and applied to rows that are predicted, too.
        **means
            Work folder, memory, engine: see :class:`svmreduce.outofcore.Means`.
        """
        from svmreduce.outofcore import reduce_blocks

        reducer, solver = self._parts()
        kernel, gamma = getattr(solver, "kernel", "linear"), getattr(solver, "gamma", None)
        if isinstance(kernel, str) and any(part.is_learned for part in parse_kernel(kernel)):
            raise InputError(
                f"kernel {kernel!r} is learned from rows in memory: give its numbers, or scale the columns"
            )
        if learns_probabilities(solver):
            raise InputError("probabilities are learned from rows in memory: leave them out for rows in blocks")
        gamma = gamma if gamma in GAMMAS and kernel != "linear" else None
        start = perf_counter()
        made = reduce_blocks(reducer, blocks, scale=scale, gamma=gamma, **means)
        reducer.seconds_ = perf_counter() - start
        if gamma is not None:
            solver.set_params(gamma=made.gamma(gamma, kernel))
        if means.get("memory") and hasattr(solver, "cache_mb"):
            solver.set_params(cache_mb=min(solver.cache_mb, max(1.0, means["memory"] / 2**21)))
        reduction = made.reduction
        if getattr(solver, "class_weight", None) is not None:
            factors = made.class_factors(solver.class_weight)
            weighted = getattr(solver, "accepts_weights", True)
            if weighted:
                weights = reduction.sample_weight * [factors[label] for label in reduction.y.tolist()]
                reduction = replace(reduction, sample_weight=weights)
            solver.set_params(class_weight=None if weighted else factors)
        fit_on(solver, reduction)
        self.n_features_in_ = blocks.n_features
        return self._fitted(reducer, solver, reduction, made.scaler)

    def _fitted(self, reducer, solver, reduction: Reduction, scaler: Scaler | None = None) -> ReducedSolver:
        self._adopt(solver)
        self.reducer_, self.solver_, self.reduction_, self.scaler_ = reducer, solver, reduction, scaler
        if hasattr(solver, "support_"):
            self.support_ = None if reduction.indices is None else reduction.indices[solver.support_]
        stages = getattr(solver, "seconds_", {})
        self.seconds_ = stages | {"reduce": stages.get("reduce", 0.0) + reducer.seconds_}
        return self

    def _adopt(self, solver: BaseEstimator) -> None:
        """The solver's fitted attributes are this estimator's; those of a solver before it are not."""
        for name in getattr(self, "_adopted", ()):
            vars(self).pop(name, None)
        own = ("n_features_in_", "feature_names_in_")
        fitted = (name for name in vars(solver) if name.endswith("_") and not name.startswith("_"))
        self._adopted = [name for name in fitted if name not in own]
        for name in self._adopted:
            setattr(self, name, vars(solver)[name])

    def fit_facts(self) -> FitFacts:
        """What happened in ``fit``, the reduction included."""
        check_is_fitted(self)
        facts = self.solver_.fit_facts() if hasattr(self.solver_, "fit_facts") else facts_of(self.solver_)
        return replace(facts, kept=self.reduction_.n_rows, seconds=self.seconds_)

    def _ask(self, method: str, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ROWS)
        return getattr(self.solver_, method)(X if self.scaler_ is None else self.scaler_.transform(X))

    def predict(self, X: RowsLike) -> np.ndarray:
        return self._ask("predict", X)

    @_solver_has("decision_function")
    def decision_function(self, X: RowsLike) -> np.ndarray:
        return self._ask("decision_function", X)

    @_solver_has("predict_proba")
    def predict_proba(self, X: RowsLike) -> np.ndarray:
        return self._ask("predict_proba", X)

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy, or R² of a regression."""
        from sklearn.metrics import accuracy_score, r2_score  # slow to import, and seldom needed

        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_solver = get_tags(self._given()[1])
        tags.estimator_type = of_solver.estimator_type
        tags.classifier_tags, tags.regressor_tags = of_solver.classifier_tags, of_solver.regressor_tags
        tags.target_tags.required = True
        tags.input_tags.sparse = of_solver.input_tags.sparse
        return tags


def _is_given(method: BaseEstimator, name: str) -> bool:
    """Whether a parameter differs from its default."""
    value, default = getattr(method, name), parameters_of(type(method))[name]
    return value is not default and value != default


def _take_over(source: BaseEstimator, target: BaseEstimator, names: tuple[str, ...]) -> None:
    """What is at its default in ``target`` and not in ``source`` becomes the source's."""
    known = parameters_of(type(source)).keys() & parameters_of(type(target)).keys()
    taken = [name for name in names if name in known and _is_given(source, name) and not _is_given(target, name)]
    target.set_params(**{name: getattr(source, name) for name in taken})


def _check_one_space(reducer: BaseReducer, solver: BaseEstimator) -> None:
    for name in KERNEL_SPACE:
        own, others = getattr(reducer, name, None), getattr(solver, name, None)
        if own is not None and others is not None and own != others:
            raise InputError(f"{type(reducer).__name__} has {name}={own!r} and {type(solver).__name__} {others!r}: "
                             "weights hold in one kernel space only; give both the same")  # fmt: skip
