"""``svmreduce bench``: which method for these rows, what it gains, what it loses, and how sure that is."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
import warnings
from pathlib import Path
from time import monotonic

import click

from svmreduce.cli.common import (
    NumberRange,
    check_writable,
    compile_off_the_clock,
    json_option,
    print_json,
    quiet_option,
    reader_of,
    terminal_width,
    typed_command,
)
from svmreduce.cli.experiment import as_yaml, open_records
from svmreduce.cli.patience import EXIT_INTERRUPT, patiently
from svmreduce.cli.table_options import data_warnings, label_of_table, take_choices, training_options
from svmreduce.errors import DataWarning, InputError

_EPILOG = """\b
Examples:
  svmreduce bench train.txt
  svmreduce bench train.csv --label income --drop id --test test.csv --budget 60
  svmreduce bench ijcnn1 --html ijcnn1.html --yaml ijcnn1.yaml
  svmreduce bench train.txt rsvm,share=0.05 my_methods:Centroids     # these as well
  svmreduce bench train.txt --only sklearn.svm:SVC                   # these, LIBSVM and our engine
"""
TEST_ROWS = 20_000
TUNING, LEAST_TUNING = 0.15, 3.0  # of the budget; seconds
REPORT_SECONDS = 2.0  # kept for it
CHOSEN, FULL = "chosen.json", "full.yaml"


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="FILE")
@click.argument("methods", metavar="[METHOD]...", nargs=-1)
@click.option("--test", metavar="FILE", help="Test rows; a fifth of FILE, another one for each seed, if not given.")
@click.option("--budget", type=NumberRange(min=5), default=300, show_default=True, metavar="SECONDS",
              help="How long you want to wait in all.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1, max=100), default=3, show_default=True, help="Repeats, at most.")
@click.option("--seed", type=click.IntRange(min=0, max=2**32 - 101), default=0, show_default=True, help="The first.")
@click.option("--C", "-C", "C", type=NumberRange(min=0, min_open=True), help="Of all methods; chosen if not given.")
@click.option("--gamma", "-g", type=NumberRange(min=0, min_open=True), help="Of the rbf kernel.  [chosen]")
@click.option("--task", type=click.Choice(["classification", "regression"]),
              help="What the labels of FILE are.  [whole numbers and words are classes]")  # fmt: skip
@click.option("--metric", metavar="NAME", help="What C and gamma are chosen by: accuracy, balanced_accuracy, f1, auc; "
              "mse, r2.  [accuracy, or mse]")  # fmt: skip
@click.option("--only", is_flag=True, help="Of the usual methods only LIBSVM and our engine; and the METHODs.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Of every method.")
@click.option("-o", "--out", metavar="FOLDER", help="Where records are kept.  [results/runs/bench-NAME]")
@click.option("--html", metavar="PAGE", help="Write the verdict with all figures as one page.")
@click.option("--yaml", "yaml_file", metavar="FILE", help="Write the experiment in full, for svmreduce run.")
@training_options
@json_option
@quiet_option
def bench(source, methods, test, out, html, yaml_file, as_json, quiet, n_features, **options):
    """Find out which method suits the rows of FILE: LIBSVM, our engine, reductions and fast solvers, under a budget.

    Tables are scaled (standard) unless --scale says otherwise, other files only if their columns differ much (max_abs).
    C and gamma are chosen on a sample. Every method first runs on parts of the rows: one whose time grows too fast for
    the budget is not started on all of them, and the output says so. Differences are paired and have 95 % intervals.
    The verdict is about accuracy (RMSE for numbers) and training time with the rbf kernel on one thread.
    FILE may be a name of the catalogue. METHOD is any solver or reducer with parameters: NAME,key=value.
    The same command again goes on where the last one stopped.
    """
    budget_start, choices = monotonic(), take_choices(options)
    if n_features is not None:
        raise InputError("--n-features: bench reads training and test rows together and needs none; leave it out")
    for file in filter(None, (html, yaml_file)):
        check_writable(file, source, test)
    say = _speaker(budget_start, quiet or as_json)
    from svmreduce.data.libsvm_text import warm_up
    from svmreduce.experiments.candidates import check_names
    from svmreduce.experiments.time_budget import Budget
    from svmreduce.paths import import_from_here_last
    from svmreduce.sanity import copied_rows

    import_from_here_last()
    check_names(methods)
    budget = Budget(options["budget"] - REPORT_SECONDS, budget_start)
    _compile([warm_up], budget, quiet)
    with data_warnings(quiet) as warned:
        found = _read(source, test, choices, options["task"], quiet)
    with data_warnings(quiet, warned):
        config, split = _experiment(source, found, methods, options, {}, quiet)
        if copies := copied_rows(split.train.X, split.test.X):
            warnings.warn(copies, DataWarning, stacklevel=1)
    folder = Path(out) if out else _folder_of(found["dataset"], config.name)
    say(f"{found['label']}" if found["label"] else None)
    say(f"{split.train.n_rows:,} training rows, {split.test.n_rows:,} test rows, {split.train.n_features} features"
        + (f", scaled ({found['scale']})" if found["scale"] not in (None, "none") else ""))  # fmt: skip
    try:
        outcome = _measure(config, split, source, found, methods, options, folder, budget, say, quiet)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; the records are safe in {folder}. The same command goes on from there.", err=True)
        sys.exit(EXIT_INTERRUPT)
    _conclude(outcome, folder, html, yaml_file, as_json, quiet, warned)


def _folder_of(dataset: dict, name: str) -> Path:
    """Under results/runs; another one if that holds the run of another file of this name."""
    folder, file = Path("results", "runs", name), os.path.realpath(dataset.get("file", ""))
    earlier = open_records(folder)
    datasets = (earlier.config if earlier else {}).get("datasets", ())
    others = [entry.get("file", "") for entry in datasets if isinstance(entry, dict)]
    if others and file not in map(os.path.realpath, others):
        return folder.with_name(f"{name}-{hashlib.sha256(file.encode()).hexdigest()[:6]}")
    return folder


def _speaker(start: float, silent: bool):
    def say(text: str | None) -> None:
        if text and not silent:
            click.echo(f"[{monotonic() - start:4.0f} s] {text}", err=True)

    return say


def _read(source: str, test: str | None, choices, task: str | None, quiet: bool) -> dict:
    """What the rows of the source are like, and how a config names them."""
    from svmreduce.data.labels import check_classes
    from svmreduce.data.preparation import Preparation
    from svmreduce.sanity import unequal_columns

    if not Path(source).exists():
        return _of_catalogue(source, test, choices, task)
    if test is not None and not Path(test).is_file():
        raise InputError(f"{test}: no such file; check the name after --test")
    read = reader_of(source, "train", choices)
    (data, preparation), _ = patiently(lambda: Preparation.learn(read(), choices, task), "reading", quiet=quiet)
    if data.n_rows < 20:
        raise InputError(f"{source}: {data.n_rows} rows are too few to compare anything; give at least 20")
    scale = choices.scale
    if scale is None:
        unequal = unequal_columns(data.X, preparation.titles)
        scale = "standard" if data.is_table else "max_abs" if unequal else None
    if data.task == "classification":
        check_classes(source, data.y, "; if they are numbers to estimate, give --task regression")
    keys = ("label", "drop", "columns", "categories", "positive", "impute", "header")
    given = {key: list(value) if isinstance(value, tuple) else value for key in keys
             if (value := getattr(choices, key)) not in (None, ())}  # fmt: skip
    dataset = {"file": source, "test_rows": TEST_ROWS, **given}
    dataset |= {key: value for key, value in (("test", test), ("scale", scale), ("task", task)) if value}
    label = label_of_table(preparation, data, choices.label is not None)[1] if preparation.schema else None
    return {"dataset": dataset, "scale": scale, "scaling": None, "label": label and f"labels: {label}"}


def _of_catalogue(source: str, test: str | None, choices, task: str | None) -> dict:
    from svmreduce.data import catalog

    reader_of(source, "train", choices)  # explains a name that is neither a file nor a data set
    name, part = catalog.parse_name(source)
    if test is not None or part not in (None, "train"):
        raise InputError(f"{source}: a data set of the catalogue brings its own test rows, or is split; give its name "
                         "alone, and no --test")  # fmt: skip
    if task is not None:
        raise InputError(f"{source}: the catalogue knows what its labels are; leave out --task")
    return {"dataset": {"name": name, "test_rows": TEST_ROWS}, "scale": choices.scale, "scaling": choices.scale,
            "label": None}  # fmt: skip


def _experiment(source: str, found: dict, methods, options: dict, point: dict, quiet: bool):
    """The experiment in full, and the rows of its first split."""
    from svmreduce.experiments.candidates import bench_config
    from svmreduce.experiments.load_split import training_and_test
    from svmreduce.experiments.planning import expand

    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in Path(source).name.split(".")[0])
    chosen = {key: options[key] for key in ("seeds", "threads")} | {"first_seed": options["seed"]}
    common = {"more": methods, "only": options["only"], "scaling": found["scaling"], **chosen}

    def first_split(task: str):
        config = bench_config(f"bench-{name}", found["dataset"], task, point, **common)
        first = expand(config)[0]
        return config, training_and_test(first.dataset, first.split, first.scaling, first.fold, first.seed)

    if point:
        return bench_config(f"bench-{name}", found["dataset"], found["task"], point, **common), None
    start = monotonic()
    (config, split), _ = patiently(lambda: first_split("classification"), "reading", quiet=quiet)
    found["load"] = monotonic() - start
    found["task"] = split.train.task
    if split.train.task == "regression":
        config, split = first_split("regression")
    elif len(split.train.classes) < 2:
        raise InputError(f"{source}: all rows are of one class; there is nothing to learn")
    return config, split


def _measure(config, split, source, found, methods, options, folder, budget, say, quiet) -> dict:
    """Choose C and gamma, run what fits into the budget, and read back what was recorded."""
    from svmreduce.experiments.budgeted_run import BudgetedRun
    from svmreduce.experiments.candidates import engine_label
    from svmreduce.experiments.chosen_point import guess
    from svmreduce.experiments.engines import open_engine
    from svmreduce.experiments.runner import Agenda
    from svmreduce.experiments.store import Store, read

    with Store(folder) as store:
        earlier = open_records(folder)
        _compile(_warm_ups(config), budget, quiet)
        point = _point(config, split, options, folder, budget, say, quiet)
        config, _ = _experiment(source, found, methods, options, point["params"], quiet)
        store.write_config(as_yaml(config, typed_command()))
        with open_engine("local", jobs=1, threads=config.threads) as workers:
            run = BudgetedRun(config, engine_label(found["task"]), budget, store, workers, earlier, say)
            try:
                run.run(split.train.n_rows, split.test.n_rows, found["load"])
            finally:
                if run.planned:
                    store.write_plan(Agenda(config, run.planned).as_dict())
        if run.judged_rows < run.rows:  # config and plan are of the same rows, so that verify can run them again
            store.write_config(as_yaml(run.judged_config, typed_command()))
            (folder / FULL).write_text(as_yaml(config, typed_command()), encoding="utf-8")
    if not run.has_result:
        why = next((f" ({label}: {reason.words})" for label, reason in run.not_run.items()), "")
        raise InputError(f"nothing finished within {options['budget']:g} s{why}; give a larger --budget")
    return {"run": read(folder), "measured": run, "config": config, "point": point, "budget": options["budget"],
            "guess": guess(split),
            "yaml": as_yaml(config, typed_command())}  # fmt: skip


def _compile(warm_ups: list, budget, quiet: bool) -> None:
    """Once on a machine, and not at the cost of the budget."""
    start = monotonic()
    compile_off_the_clock(*warm_ups, quiet=quiet)
    budget.put_off(monotonic() - start)


def _warm_ups(config) -> list:
    """Of the search and of every method but those of one's own."""
    from svmreduce.experiments.planned_methods import methods_of
    from svmreduce.reducers import REDUCERS
    from svmreduce.search import SVMSearchCV
    from svmreduce.solvers import SOLVERS

    parts = {}
    for method in methods_of(config):
        for registry, name in ((SOLVERS, method.solver), (REDUCERS, method.reducer)):
            if name and ":" not in name:
                parts[name] = registry.get(name).warm_up
    return [SVMSearchCV.warm_up, *parts.values()]


def _point(config, split, options, folder: Path, budget, say, quiet: bool) -> dict:
    """C and gamma as given, as an earlier command on the same rows chose them, or chosen now."""
    from svmreduce.experiments.chosen_point import choose_point
    from svmreduce.experiments.planning import expand

    given = {key: options[key] for key in ("C", "gamma") if options[key] is not None}
    task = expand(config)[0]
    key = [task.dataset, task.split, task.scaling, options["seed"], options["metric"], given]
    file = folder / CHOSEN
    try:
        kept = json.loads(file.read_text())
        if kept["for"] == json.loads(json.dumps(key)):
            say(f"C and gamma as chosen before: {_words(kept['point']['params'])}")
            return kept["point"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    seconds = max(LEAST_TUNING, TUNING * min(budget.seconds, budget.left))

    def choose():
        return choose_point(split.train, seconds, given=given, metric=options["metric"], seed=options["seed"])

    found, _ = patiently(choose, "choosing C and gamma", quiet=quiet, reports=False)
    point = found.to_json()
    file.write_text(json.dumps({"for": key, "point": point}))
    edge = f"; {' and '.join(point['at_edge'])} at the edge of the grid" if point["at_edge"] else ""
    quality = f"{point['metric']} {point['score']:.4g} on {point['rows']:,} rows by cross-validation"
    say(f"{_words(point['params'])}: {quality}{edge}")
    return point


def _words(params: dict) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in params.items())


def _conclude(outcome: dict, folder: Path, html, yaml_file, as_json: bool, quiet: bool, warned: list) -> None:
    from svmreduce.data.files import write_whole
    from svmreduce.experiments.recorded_run import CONFIG
    from svmreduce.printable import duration
    from svmreduce.reports.run import page
    from svmreduce.reports.run.bench_answer import answer, answer_lines

    facts = answer(outcome["run"], outcome["measured"], outcome["point"], outcome["config"], outcome["guess"])
    measured = outcome["measured"]
    own = CONFIG if measured.judged_rows == measured.rows else FULL
    files = {"folder": str(folder), "yaml": yaml_file or str(folder / own), "page": html}
    if yaml_file:
        with write_whole(yaml_file) as stream:
            stream.write(outcome["yaml"].encode())
    if html:
        with write_whole(html) as stream:
            stream.write(page.html(outcome["run"], None, typed_command()).encode())
    facts |= {"budget": outcome["budget"], "used_seconds": measured.budget.used, **files, "warnings": warned}
    if as_json:
        print_json(facts)
    elif not quiet:
        for line in answer_lines(outcome["run"], facts, terminal_width() or 100):
            click.echo(line)
        click.echo()
        rest = facts["full_seconds"]
        about = f" (about {duration(rest)} of training more)" if rest >= 1 else ""
        where = shlex.quote(str(folder))
        click.echo(f"In full{about}: svmreduce run {shlex.quote(files['yaml'])} -o {where}")
        click.echo(f"Tables:  svmreduce report {where}" + (f"\nPage:    {html}" if html else " --html page.html"))
