"""scikit-learn's callbacks, which it has since version 1.9: ``solver.set_callbacks(ProgressBar())``.

A fit is a task, and every round of it a subtask, whose facts (seconds, rounds, steps, rows, gap) are its metadata. A
callback that returns True at the end of a round ends the fit with what it has. Only the task of the whole fit has a
fitted estimator. Nothing is imported unless callbacks were set.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from svmreduce.core.watch import watched


class TakesCallbacks:
    """Parent of the solvers; ``set_callbacks`` is there where scikit-learn has callbacks."""

    @available_if(lambda self: find_spec("sklearn.callback") is not None)
    def set_callbacks(self, *callbacks):
        """Callbacks of ``fit``, as ``sklearn.callback.FitCallback`` describes them; none takes them away."""
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)


def with_callbacks(solver: BaseEstimator, train: Callable[[], object], X, y) -> None:
    """Call ``train``, and tell the solver's callbacks what happens."""
    if not hasattr(solver, "_skl_callbacks"):
        train()
        return
    from sklearn import callback

    def tell(solver):
        task = callback.CallbackSupportMixin._init_callback_context(solver, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=solver, X=X, y=y)

        def end_of_round(facts: dict) -> bool:
            part = task.subcontext(task_name="round")
            part.call_on_fit_task_begin(estimator=solver, X=X, y=y)
            return part.call_on_fit_task_end(estimator=solver, X=X, y=y, metadata=facts)

        with watched(callback=end_of_round):
            train()
        task.call_on_fit_task_end(estimator=solver, X=X, y=y, reconstruction_attributes={})

    callback.with_callbacks(tell)(solver)


def without_callbacks(solver: BaseEstimator) -> BaseEstimator:
    """The same solver; scikit-learn's ``clone`` copies callbacks, which are not to hear of fits beside the main one."""
    vars(solver).pop("_skl_callbacks", None)
    return solver
