"""``svmreduce tune``: choose C and gamma by cross-validation."""

from __future__ import annotations

import signal
import sys
import warnings
from contextlib import contextmanager
from threading import Event, Lock, Thread, current_thread, main_thread
from time import perf_counter

import click

from svmreduce.cli.common import (
    NumberRange,
    check_numbers,
    check_writable,
    compile_off_the_clock,
    json_option,
    kernel_by_number,
    print_json,
    print_pairs,
    quiet_option,
    threads_option,
    timed_rows,
)
from svmreduce.cli.patience import EVERY, FIRST
from svmreduce.cli.table_options import data_warnings, take_choices, training_options, warn
from svmreduce.errors import InputError
from svmreduce.printable import count_of

_EPILOG = """\b
Examples:
  svmreduce tune train.txt
  svmreduce tune --scale standard --label class train.csv model.txt
  svmreduce tune --log2c -5,15,2 --log2g -15,3,2 --folds 5 ijcnn1:train model.txt
  svmreduce tune --C 0.1,1,10 --gamma 0.01,0.1 --metric balanced_accuracy train.txt
  svmreduce tune --budget 60 --state search.jsonl train.txt model.txt
  svmreduce tune --screen aesvm --json ijcnn1:train
  svmreduce tune --epsilon 0.01,0.1 house.txt model.txt
"""


@click.command(epilog=_EPILOG)
@click.argument("train", metavar="TRAIN")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--C", "-C", "C", metavar="LIST", help="Values of C, such as 0.1,1,10.")
@click.option("--gamma", "-g", metavar="LIST", help="Values of gamma, such as 0.01,0.1.")
@click.option("--log2c", metavar="BEGIN,END,STEP", help="Powers of 2 for C, as in grid.py: -5,15,2.")
@click.option("--log2g", metavar="BEGIN,END,STEP", help="Powers of 2 for gamma: -15,3,2.")
@click.option("--epsilon", "-p", metavar="LIST", help="Regression (ε-SVR): errors up to here cost nothing.")
@click.option("-t", "--kernel", default="rbf", show_default=True, callback=kernel_by_number,
              help="linear, poly, rbf, sigmoid or kmod; LIBSVM's numbers work, too.")  # fmt: skip
@click.option("-d", "--degree", type=int, default=3, show_default=True, help="Degree of the poly kernel.")
@click.option("-r", "--coef0", type=float, default=0.0, show_default=True, help="Constant of poly, sigmoid and kmod.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Weigh classes by the inverse of their shares.")
@click.option("--metric", metavar="NAME", help="accuracy, balanced_accuracy, f1, auc; mse, r2.  [accuracy, or mse]")
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True)
@click.option(
    "--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Of all folds, shuffled anew."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the folds.")
@click.option("-e", "--tol", type=float, default=1e-3, show_default=True, help="Largest violation of optimality.")
@click.option("-m", "--cache-mb", type=float, default=2048, show_default=True, help="Memory for kernel values, in MB.")
@click.option("--budget", type=NumberRange(min=0, min_open=True), metavar="SECONDS", help="Begin no fit after this.")
@click.option("--screen", type=click.Choice(["aesvm", "random", "none"]), default="none", show_default=True,
              help="Look at the grid on fewer rows; then the best cells on all.")  # fmt: skip
@click.option("--state", metavar="FILE", help="Keep what is done here and resume.  [MODEL.tune, until it is done]")
@threads_option
@training_options
@json_option
@quiet_option
def tune(train, model, n_features, as_json, quiet, state, seed, folds, **options):
    """Choose C and gamma for TRAIN by cross-validation; with MODEL, train on all rows with the best.

    The problem is LIBSVM's and every fit is exact to --tol. Ctrl-C keeps what is done: the same command goes on from
    there if it has a MODEL or --state. The score of the winner is a little too good, because it was chosen by it:
    for an honest one use rows that the search has not seen. --scale learns from all rows of TRAIN, as svm-scale does.
    """
    from sklearn.exceptions import ConvergenceWarning

    from svmreduce.sanity import unequal_columns
    from svmreduce.search.surface import Surface

    choices = take_choices(options)
    if model:
        check_writable(model, train)
    state_file = state or (f"{model}.tune" if model else None)
    if state_file:
        check_writable(state_file, train, model)
    search = _search_from(options, seed, folds)
    with data_warnings(quiet) as warned:
        data, preparation, load = timed_rows(train, "train", n_features, choices, quiet)
        _check_labels(train, data, search)
    warn(None if choices.scale else unequal_columns(data.X, preparation.titles), warned)
    compile_off_the_clock(search.warm_up, *_more_warm_ups(search, model), quiet=quiet)
    journal = _journal(state_file, search, data, folds, seed) if state_file else None
    known = journal.known if journal else 0
    if known and not quiet:
        click.echo(f"resuming: {state_file} has {count_of(known, 'path')} along C; this grid's are used", err=True)
    warn(_learned_from_all(choices, preparation), warned)
    with _interruptible() as interrupted, _progress(quiet, interrupted) as report, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # not converging is in the record
        try:
            search.fit(data.X, data.y, journal=journal, report=report, stop=interrupted.is_set)
        except InputError:
            if journal and journal.known > known:  # before the first cell was finished, but not before the first path
                click.echo(f"Warning: the same command goes on from {state_file}", err=True)
            if interrupted.is_set():
                raise click.Abort() from None
            raise
    search.refit_time_ = 0.0
    surface = Surface(search)
    missing = [cell for cell in _cells(surface) if cell["status"] == "not finished"]
    model = None if interrupted.is_set() else model
    if model:
        search.refit_time_ = _refit(search, data, preparation, model)
    if journal:
        journal.close(remove=not (state or missing or interrupted.is_set()))
    record = _record(search, surface, data, load) | ({"warnings": warned} if warned else {})
    print_json(record) if as_json else None if quiet else _print(
        record, search, surface, None if interrupted.is_set() else model
    )
    if missing:
        again = f"; the same command goes on from {state_file}" if state_file else "; --state FILE would keep them"
        of = f"{len(missing)} of {count_of(len(record['grid']), 'cell')}"
        click.echo(f"Warning: {of} {'is' if len(missing) == 1 else 'are'} not finished{again}", err=True)
    if not search.converged_:
        gap = record["largest_gap"]
        click.echo(f"Warning: some fits stopped before they reached --tol (largest gap {gap:.3g}): scale the data or "
                   "leave out the largest C", err=True)  # fmt: skip
    if interrupted.is_set():
        raise click.Abort()


@contextmanager
def _interruptible():
    """The first Ctrl-C asks the search to end, which keeps what is done; a second one ends the command at once.

    An exception would not do: one that arrives while compiled code calls back may be lost.
    """
    asked = Event()

    def ask(number, frame):
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    if current_thread() is not main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _search_from(options: dict, seed: int, folds: int):
    from svmreduce.search import SVMSearchCV
    from svmreduce.search.grid import parsed_list, parsed_powers

    axes = {}
    for name, powers in (("C", "log2c"), ("gamma", "log2g")):
        listed, exponents = options.pop(name), options.pop(powers)
        if listed is not None and exponents is not None:
            raise InputError(f"--{name} and --{powers} both give values of {name}; leave one out")
        if listed is not None:
            axes[name] = parsed_list(f"--{name}", listed)
        elif exponents is not None:
            axes[name] = parsed_powers(f"--{powers}", exponents)
    if "gamma" in axes and options["kernel"] == "linear":
        click.echo("Note: the linear kernel has no gamma; the values that are given have no effect", err=True)
    epsilon = options.pop("epsilon")
    if epsilon is not None:
        axes["epsilon"] = parsed_list("--epsilon", epsilon, zero=True)
    screen, metric = options.pop("screen"), options.pop("metric")
    return SVMSearchCV(
        **axes,
        **options,
        scoring=metric,
        cv=folds,
        random_state=seed,
        refit=False,
        screen=None if screen == "none" else screen,
    )


def _check_labels(train: str, data, search) -> None:
    """Folds must be possible, and labels suit the task."""
    from svmreduce.search.measures import score_named

    score_named(search.scoring, search.task())
    if data.task == "regression" and search.epsilon is None:
        raise InputError(f"{train}: the labels are not classes but numbers; give --epsilon for a regression")
    if search.epsilon is not None:
        check_numbers(train, data, "a regression (--epsilon)")
    if search.epsilon is None:
        from sklearn.model_selection import RepeatedStratifiedKFold

        from svmreduce.data.labels import check_classes, check_several
        from svmreduce.label_keys import count_labels

        counts = count_labels(data.y)
        check_several(train, data.y)
        check_classes(train, data.y, "; give --epsilon for a regression")
        smallest = min(counts, key=counts.__getitem__)
        if (rows := counts[smallest]) < search.cv:
            raise InputError(
                f"{train}: class {smallest} has {rows} of the rows, too few for {search.cv} "
                f"folds: " + (f"use --folds {rows}" if rows > 1 else "leave the class out")
            )
        splitter = RepeatedStratifiedKFold
    else:
        from sklearn.model_selection import RepeatedKFold as splitter

        if data.n_rows < search.cv:
            raise InputError(f"{train}: {data.n_rows} rows are too few for {search.cv} folds")
        if search.scoring == "r2" and data.n_rows < 2 * search.cv:
            raise InputError(f"{train}: r2 needs two rows in every fold: use at most --folds {data.n_rows // 2}")
    search.set_params(cv=splitter(n_splits=search.cv, n_repeats=search.repeats, random_state=search.random_state),
                      repeats=1)  # fmt: skip


def _more_warm_ups(search, model: str | None) -> list:
    """Of what the search itself does not need."""
    from svmreduce.reducers.derive_rs import DeriveRS
    from svmreduce.solvers.smo import SMO

    refit = [SMO.warm_up] if model and search.epsilon is None else []
    return refit + ([DeriveRS.warm_up] if search.screen == "aesvm" else [])


def _journal(path: str, search, data, folds: int, seed: int):
    from svmreduce.search.journal import Journal, fingerprint

    splitter = search.cv
    settings = ("kernel", "coef0", "degree", "class_weight", "scoring", "tol", "screen")
    identity = {name: getattr(search, name) for name in settings}
    identity |= {"folds": folds, "repeats": splitter.n_repeats, "seed": seed, "data": fingerprint(data.X, data.y)}
    return Journal(path, identity)


@contextmanager
def _progress(quiet: bool, interrupted: Event):
    """On a terminal one line that is written over; elsewhere a plain line every ten seconds, after two the first.

    A path along C of many rows takes minutes, so lines do not wait for the end of one.
    """
    if quiet:
        yield None
        return
    terminal, start, is_done, lock = sys.stderr.isatty(), perf_counter(), Event(), Lock()
    text, found, ended, due = "searching", "", False, FIRST

    def show():
        nonlocal due
        due = perf_counter() - start + EVERY[terminal]
        line = f"{text}, {perf_counter() - start:.0f} s{found}"
        click.echo(f"\r\x1b[2K{line}" if terminal else line, nl=ended or not terminal, err=True)

    def report(done, paths, best, stage=""):
        nonlocal text, found, ended
        found = ", best so far " + ", ".join(f"{name} {value:.4g}" for name, value in best.items()) if best else ""
        with lock:
            text, ended = f"{stage}{done} of {count_of(paths, 'path')} along C", done == paths
            if terminal or perf_counter() - start > (1 if ended else due):
                show()

    def tick():
        told = False
        while not is_done.wait(0.1):
            with lock:
                if interrupted.is_set() and not told:
                    told = True
                    click.echo("ending after the fits that are being made; Ctrl-C again ends at once", err=True)
                if not ended and perf_counter() - start > due:
                    show()

    ticker = Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield report
    finally:
        is_done.set()
        ticker.join()
        if terminal and not ended and due > FIRST:
            click.echo("", err=True)  # the line stays, and what comes next begins below it


def _refit(search, data, preparation, model: str) -> float:
    from svmreduce.model import PreparedModel

    start = perf_counter()
    fitted = search.estimator_for(search.best_params_).fit(data.X, data.y).model_
    (fitted if preparation.is_trivial else PreparedModel(fitted, preparation)).save(model)
    return perf_counter() - start


def _learned_from_all(choices, preparation) -> str | None:
    """What the shared kernel values of all folds cost; train -v, which computes them in each fold, does not pay it."""
    scale = [] if preparation.scaler is None or preparation.scaler.scales_rows else ["--scale"]
    learned = " and ".join(scale + (["--impute"] if choices.impute else []))
    return learned and (f"{learned} learned from all rows, because the folds share their kernel values: the scores may "
                        "be a little too good; train -v learns in every fold")  # fmt: skip


def _cells(surface) -> list[dict]:
    import numpy as np

    return [surface.cell(place) for place in np.ndindex(surface.mean.shape)]


def _record(search, surface, data, load) -> dict:
    grid = _cells(surface)
    best = surface.cell(surface.best)
    return {
        "rows": data.n_rows,
        "features": data.n_features,
        "folds": search.n_splits_,
        "fits": sum(cell["status"] == "finished" for cell in grid) * search.n_splits_,
        "metric": search.scorer_,
        "grid": grid,
        "best": {key: value for key, value in best.items() if key != "status"} | {"standard_error": surface.error},
        "within_one_standard_error": len(surface.as_good()),
        "simplest": surface.cell(surface.simplest()),
        "screen": search.screened_,
        "seconds": {"load": load, "search": getattr(search, "search_time_", None), "refit": search.refit_time_},
        "kernel_evals": search.kernel_evals_,
        "iterations": int(search.cells_.steps.sum()),
        "largest_gap": float(search.cells_.gaps.max()),
    }


def _saved(screened: dict) -> str:
    """What screening cost, and what the fits that it spared would have cost at the pace of the others."""
    told = (f"by {screened['by']} on {screened['rows_kept']:.1%} of the rows in {screened['seconds']:.1f} s; "
            f"{screened['exact_fits_saved']} exact fits saved")  # fmt: skip
    saved = screened.get("seconds_saved")
    if saved is None:
        return told
    return f"{told}, " + (f"about {saved:.1f} s" if saved > 0 else f"but about {-saved:.1f} s lost: leave out --screen")


def _print(record, search, surface, model) -> None:
    if search.epsilon_.size > 1:
        click.echo(f"epsilon {record['best']['epsilon']:g}, the best of {search.epsilon_.size}:")
    for line in [*surface.table(), "", *surface.picture(), ""]:
        click.echo(line)

    def words(cell):
        numbers = ", ".join(f"{name} {cell[name]:.6g}" for name in search.best_params_)
        return f"{numbers}: {record['metric']} {cell[record['metric']]:.4f}, {cell['vectors']:.0f} support vectors"

    screened = record["screen"]
    print_pairs(
        [
            ("best", f"{words(record['best'])}; standard error {surface.error:.4f}"),
            ("as good", f"{count_of(record['within_one_standard_error'], 'cell')} within one standard error"),
            ("simplest", words(record["simplest"])),
            ("fits", f"{record['fits']} on {record['folds']} folds, {record['iterations']} steps"),
            ("screened", screened and _saved(screened)),
            ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in record["seconds"].items() if v is not None)),
            ("model", model),
        ]
    )  # fmt: skip
    for line in surface.advice():
        click.echo(f"note: {line}", err=True)
