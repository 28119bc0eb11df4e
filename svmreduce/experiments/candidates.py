"""The methods that ``svmreduce bench`` tries on one data set, as an experiment like any other."""

from __future__ import annotations

from pydantic import ValidationError

from svmreduce import guarded_yaml
from svmreduce.errors import InputError
from svmreduce.experiments.config import Config, explained
from svmreduce.reducers import REDUCERS
from svmreduce.registry import nearest_name_error
from svmreduce.solvers import SOLVERS

_SHARES = [0.02, 0.1, 0.3]
# task -> the official solver, our engine on all rows, and everything else; a name that is not installed is left out
_LINE_UPS = {
    "classification": (
        {"name": "libsvm"},
        {"name": "smo"},
        [
            {"name": "smo", "as": "random sample", "reducer": {"name": "random", "share": _SHARES}},
            {"name": "smo", "as": "AESVM", "reducer": {"name": "derive_rs", "epsilon": [0.1, 0.01, 0.001]}},
            {"name": "smo", "as": "bootstrap cleaning", "reducer": {"name": "bootstrap", "share": 0.2}},
            {"name": "smo", "as": "Mahalanobis", "reducer": {"name": "mahalanobis", "share": 0.1}},
            {"name": "dcsvm", "as": "divide and conquer"},
            {"name": "randsvm", "as": "RandSVM"},
            {"name": "lasvm", "as": "LASVM"},
            {"name": "mfw", "as": "MFW"},
            {"name": "cvm", "as": "CVM"},
            {"name": "bvm", "as": "BVM"},
            {"name": "nystroem", "as": "Nyström", "rows": [200, 800]},
            {"name": "rfeatsvm2", "as": "random features", "E": 800},
            {"name": "liblinear", "as": "LIBLINEAR", "C": 1},
        ],
    ),
    "regression": (
        {"name": "libsvm_svr"},
        {"name": "svr"},
        [
            {"name": "svr", "as": "random sample", "reducer": {"name": "random", "share": _SHARES}},
            {"name": "svr", "as": "Mahalanobis", "reducer": {"name": "mahalanobis", "share": 0.1}},
            {"name": "lp_svr", "as": "LP-SVR"},
        ],
    ),
}


def engine_label(task: str) -> str:
    """What our engine on all rows is called, which solves the same problem as LIBSVM."""
    return _LINE_UPS[task][1]["name"]


def check_names(more: tuple[str, ...]) -> None:
    """Unknown names are reported before anything is read."""
    for word in more:
        _entry(word, _LINE_UPS["classification"][1], set())


def bench_config(
    name: str,
    dataset: dict,
    task: str,
    point: dict,
    *,
    more: tuple[str, ...] = (),
    only: bool = False,
    seeds: int = 3,
    first_seed: int = 0,
    threads: int = 1,
    scaling: str | None = None,
) -> Config:
    """The experiment in full: every candidate at the chosen point on all rows, with every seed.

    Parameters
    ----------
    more : names of solvers and reducers that are tried as well, each with parameters as in ``rsvm,share=0.05``
    only : leave out all others but LIBSVM and our engine
    """
    baseline, engine, others = _LINE_UPS[task]
    taken = {entry.get("as", entry["name"]) for entry in (baseline, engine, *others)}
    named = [_entry(word, engine, taken) for word in more]
    known = [] if only else [entry for entry in others if entry["name"] in SOLVERS.where]
    content = {
        "name": name,
        "title": f"Which method for {name.removeprefix('bench-')}?",
        "datasets": [dataset],
        "grid": {key: [value] for key, value in point.items()},
        "solvers": [baseline, engine, *known, *named],
        "baseline": baseline["name"],
        "seeds": list(range(first_seed, first_seed + seeds)),
        "threads": threads,
        "limits": {"seconds": 3600},
    }
    try:
        return Config.model_validate(content | ({"scaling": scaling} if scaling else {}))
    except ValidationError as error:
        raise explained("bench", error) from None


def _entry(word: str, engine: dict, taken: set[str]) -> dict:
    """A method by its name: a solver, or a reducer before our engine. Its parameters are checked with the plan."""
    name, *settings = word.split(",")
    params = dict(_setting(word, text) for text in settings)
    label = word if word not in taken else f"{word} (named)"
    if name not in SOLVERS and ":" not in name and name not in REDUCERS:
        raise nearest_name_error("method", name, {*SOLVERS.names(), *REDUCERS.names()})
    if name not in SOLVERS and _is_reducer(name):
        return {"name": engine["name"], "as": label, "reducer": {"name": name, **params}}
    SOLVERS.get(name)
    return {"name": name, "as": label, **params}


def _is_reducer(name: str) -> bool:
    try:
        REDUCERS.get(name)
    except InputError:
        return False
    return True


def _setting(word: str, text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not (equals and key):
        raise InputError(f"{word}: parameters are written as NAME,key=value,key=value")
    return key, guarded_yaml.load(value, word)
