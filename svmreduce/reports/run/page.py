"""One HTML file for a run: words, tables, figures, failures, environment, config and commands.

It opens without a network: style, script and figures are inside, and its content security policy forbids anything
else. Without JavaScript it reads the same, only the tables do not sort.
"""

from __future__ import annotations

import shlex
from importlib.resources import files

from svmreduce.experiments.recorded_run import Run
from svmreduce.reports import drawing
from svmreduce.reports.markup import Markup, joined, slug, table, tag
from svmreduce.reports.render import Table
from svmreduce.reports.reproduction import cell_markup
from svmreduce.reports.reproduction.paper_comparison import PaperComparison, wide_table
from svmreduce.reports.reproduction.verdicts import MARKS, NOT_MEASURED, NOT_PRINTED
from svmreduce.reports.run import plots, run_tables, summary_text
from svmreduce.reports.run.measured_on import environment_facts, environment_lines
from svmreduce.reports.run.plots import Drawing

MOST_FITS = 600  # rows; a page with more of them would be too long
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_FIRST = (
    "dataset", "method", "kept_percent", "max_accuracy", "mean_accuracy", "rmse", "best_mse", "ots", "ots_same_engine",
    "ets", "ets_same_engine", "random_sample_accuracy", "vectors", "train_seconds", "reduce_seconds", "done", "cells",
)  # fmt: skip


def html(run: Run, paper: PaperComparison | None, command: str) -> str:
    """The page as text.

    Parameters
    ----------
    paper : the printed table to show next to the run, if any
    command : what made this page, to be shown on it
    """
    made = plots.drawings(run, paper)
    summary = run_tables.summary_table(run)
    sections = {
        "Summary": _summary(run, paper, made),
        "Results": _results(summary),
        "Paper": _paper(paper, made) if paper else "",
        "Figures": _figures([one for one in made if one.dataset]),
        "Failures": _failures(run),
        "Every fit": _fits(run),
        "How it was made": _how(run, command),
    }
    sections = {title: content for title, content in sections.items() if content}
    links = [tag("li", tag("a", title, href=f"#{_anchor(title)}")) for title in sections]
    title, line = _title(run), _line(run)
    body = [
        tag("header", tag("h1", title), tag("p", line, class_="meta")),
        tag("nav", tag("ul", *links), aria_label="On this page"),
        tag("main", *(tag("section", *content, id=_anchor(name)) for name, content in sections.items())),
        tag("footer", tag("p", "Made by ", tag("code", command), ". This file is self-contained.")),
        tag("script", _asset("page.js")),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title),
        tag("style", _asset("page.css")),
    ]
    return f"<!DOCTYPE html>\n{tag('html', tag('head', *head), tag('body', *body), lang='en')}\n"


def _summary(run: Run, paper: PaperComparison | None, made: list[Drawing]) -> list[Markup]:
    found = summary_text.sentences(run, paper)
    listed = tag("ul", *(tag("li", sentence) for sentence in found), class_="summary")
    overview = [_figure(one) for one in made if one.kind == "speed-up"]
    lead = tag("div", tag("div", listed), *overview, class_="lead two" if overview else "lead")
    return [tag("h2", "Summary"), lead]


def _results(summary: Table) -> list[Markup]:
    """The figures that answer the question first, all of them below."""
    by_key = {column.key: column for column in summary.columns}
    short = Table("Results", [by_key[key] for key in _FIRST if key in by_key], summary.rows)
    extra = [by_key[key] for key in ("failed", "not_converged") if key in by_key]
    short.columns += [column for column in extra if any(row[column.key] for row in summary.rows)]
    whole = tag("details", tag("summary", "All figures"), table(summary))
    return [tag("h2", "Results"), table(short), *_notes(summary.notes), whole]


def _paper(paper: PaperComparison, made: list[Drawing]) -> list[Markup]:
    counts = paper.counts
    total = sum(counts.values())
    parts = [tag("span", class_=slug(name), style=f"width:{100 * n / total:.3f}%") for name, n in counts.items()]
    legend = [
        tag("li", tag("span", f"{MARKS[name]} {name}".strip(), class_=f"verdict {slug(name)}"), f" {number}")
        for name, number in counts.items()
    ]
    wide = wide_table(paper)
    only = tag("input", type="checkbox", class_="only", id="only-measured")
    label = tag("label", "Only rows with a measurement", for_="only-measured")
    drawn = [_figure(one) for one in made if one.kind.startswith("printed ")]
    figures = tag("div", *drawn, class_="figures") if drawn else ""
    return [
        tag("h2", "Compared with the paper"),
        tag("p", f"{paper.printed.title}. {paper.printed.caption}. Each cell: printed → measured."),
        tag("div", *parts, class_="tally", role="img", aria_label="Verdicts: " + _counted(counts)),
        tag("ul", *legend, class_="legend"),
        tag("div", only, label, table(wide, _row_class, cell=cell_markup.cell, is_tall=len(wide.rows) > 60)),
        *_notes(wide.notes[1:]),
        figures,
    ]


def _row_class(row: dict) -> str | None:
    return "unmeasured" if row["verdict"] in (NOT_MEASURED, NOT_PRINTED) else None


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def _figures(made: list[Drawing]) -> list[Markup]:
    """By data set, the first one open."""
    if not made:
        return []
    groups: dict[str, list[Markup]] = {}
    for one in made:
        groups.setdefault(one.dataset, []).append(_figure(one))
    parts = [
        tag("details", tag("summary", dataset), tag("div", *drawn, class_="figures"), open="" if place == 0 else None)
        for place, (dataset, drawn) in enumerate(groups.items())
    ]
    return [tag("h2", "Figures"), *parts]


def _figure(one: Drawing) -> Markup:
    description = ": ".join(filter(None, (one.kind, one.dataset)))
    drawn = Markup(drawing.inline(one.figure, one.name, str(joined([description]))))
    caption = tag("figcaption", tag("b", f"{one.kind[0].upper()}{one.kind[1:]}. "), one.caption, " ", _MADE)
    return tag("figure", drawn, caption, id=f"figure-{one.name}")


_MADE = tag("a", "How it was made", href="#how-it-was-made")


def _failures(run: Run) -> list[Markup]:
    failures = run_tables.failures_table(run)
    if not failures.rows:
        return [tag("h2", "Failures"), tag("p", "Every reduction and every fit succeeded.")]
    text = f"{len(failures.rows)} of {len(run.records)} records did not succeed."
    return [tag("h2", "Failures"), tag("p", text), table(failures, is_tall=len(failures.rows) > 20)]


def _fits(run: Run) -> list[Markup]:
    fits = run_tables.fits_table(run)
    if len(fits.rows) > MOST_FITS:
        command = shlex.join(["svmreduce", "report", str(run.path.parent), "--by", "fits", "--format", "csv"])
        return [
            tag("h2", "Every fit"),
            tag("p", f"{len(fits.rows):,} rows, too many for a page: ", tag("code", command)),
        ]
    shown = tag("details", tag("summary", f"{len(fits.rows):,} fits"), table(fits, is_tall=True))
    return [tag("h2", "Every fit"), shown]


def _how(run: Run, command: str) -> list[Markup]:
    folder = str(run.path.parent)
    config = run.config_text
    first = config.splitlines()[0] if config else ""
    made_by = (
        first.removeprefix("# ")
        if first.startswith("# svmreduce ")
        else f"svmreduce run {folder}/config.yaml -o {folder}"
    )
    parts = [tag("h2", "How it was made")]
    if config:
        parts += [tag("h3", "Run"), tag("pre", tag("code", made_by))]
    lines = f"{command}\nsvmreduce report {shlex.quote(folder)} --plots figures --plot-format pdf"
    parts += [tag("h3", "Page and figures"), tag("pre", tag("code", lines))]
    if config:
        parts += [tag("h3", "Experiment"), tag("pre", tag("code", config))]
    lines = [tag("li", line) for line in environment_lines(run)]
    return [*parts, tag("h3", "Environment"), tag("ul", *lines)]


def _notes(notes: list[str]) -> list[Markup]:
    return [tag("p", note, class_="note") for note in notes]


def _title(run: Run) -> str:
    given = run.config.get("title")
    return given or str(run.records[0].experiment or run.path.parent.name)


def _line(run: Run) -> str:
    facts, first = environment_facts(run), run.records[0]
    hosts = ", ".join(dict.fromkeys(str(host["cpu"] or "unknown CPU") for host in facts["hosts"].values()))
    threads = ", ".join(facts["threads"])
    words_ = [
        f"experiment {first.experiment}" if first.experiment else "",
        f"scale {first.scale}" if first.scale else "",
        f"{facts['records']:,} records",
        (facts["first_started"] or "")[:10],
        hosts,
        f"{threads} {'thread' if threads == '1' else 'threads'}" if threads else "",
    ]
    return " · ".join(filter(None, words_))


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _asset(name: str) -> Markup:
    return Markup(files("svmreduce.reports.run").joinpath(name).read_text(encoding="utf-8"))
