"""One HTML file for a run: the verdict, then tables, figures, failures, environment, config and commands.

It opens without a network: style, script and figures are inside, and its content security policy forbids anything
else. Without JavaScript it reads the same, only the tables do not sort and there are no filters. It is small: figures
and long tables that would not fit are named with the command that makes them.
"""

from __future__ import annotations

import shlex
from importlib.resources import files

from svmreduce.experiments.recorded_run import Run
from svmreduce.reports.inline_svg import inline
from svmreduce.reports.markup import Markup, joined, slug, table, tag
from svmreduce.reports.render import counts as in_words
from svmreduce.reports.reproduction import cell_markup
from svmreduce.reports.reproduction.paper_comparison import PaperComparison, wide_table
from svmreduce.reports.reproduction.verdicts import MARKS, NOT_MEASURED, NOT_PRINTED
from svmreduce.reports.run import plots, run_tables, summary_text
from svmreduce.reports.run.measured_on import environment_facts, environment_lines
from svmreduce.reports.run.plots import Drawing
from svmreduce.reports.run.verdict import verdicts
from svmreduce.reports.run.verdict_panels import best_cells, verdict_section
from svmreduce.reports.run.verdict_text import kept_lines

MOST_FITS = 60  # rows; a page with more of them would be too long
MOST_KEPT = 300  # reductions
MOST_LETTERS = 180_000  # of a page; figures that have no room are left to --plots
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def html(run: Run, paper: PaperComparison | None, command: str) -> str:
    """The page as text.

    Parameters
    ----------
    paper : the printed table to show next to the run, if any
    command : what made this page, to be shown on it
    """
    found = verdicts(run)
    drawn = {one: _figure(one, f"f{number}") for number, one in enumerate(plots.drawings(run, paper))}
    fronts = {one.dataset: figure for one, figure in drawn.items() if one.kind == "front"}
    about = summary_text.sentences(run, paper)
    in_panels, verdict = verdict_section(found, kept_lines(run), fronts, about)
    sections = {
        "Verdict": verdict,
        "Results": _results(run),
        "Paper": _paper(paper, drawn) if paper else [],
        "Figures": [],
        "Failures": _failures(run),
        "Every fit": _fits(run),
        "How it was made": _how(run, command),
    }
    others = {one: figure for one, figure in drawn.items() if not (in_panels and one.kind == "front")}
    taken = sum(len(part) for content in sections.values() for part in content)
    sections["Figures"] = _figures(run, others, MOST_LETTERS - taken)
    sections = {title: content for title, content in sections.items() if content}
    links = [tag("li", tag("a", title, href=f"#{_anchor(title)}")) for title in sections]
    title, line = _title(run), _line(run)
    return document(
        title,
        tag("header", tag("h1", title), tag("p", line, class_="meta")),
        tag("main", *(tag("section", *content, id=_anchor(name)) for name, content in sections.items())),
        tag("footer", tag("nav", tag("ul", *links), aria_label="On this page"),
            tag("p", "Made by ", tag("code", command), ". This file is self-contained.")),
    )  # fmt: skip


def document(title: str, *body: Markup) -> str:
    """A whole page with style and script inside."""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title),
        tag("style", _asset("page.css")),
    ]
    shown = tag("body", *body, tag("script", _asset("page.js")))
    return f"<!DOCTYPE html>\n{tag('html', tag('head', *head), shown, lang='en')}\n"


def _results(run: Run) -> list[Markup]:
    """The figures that answer the question, the best ones marked; all others by a command."""
    whole = run_tables.summary_table(run)
    if not whole.rows:  # an experiment of reductions only
        kept = run_tables.reductions_table(run).fitted(None)
        return (
            [tag("h2", "Results"), table(kept, is_tall=len(kept.rows) > 30)] if 0 < len(kept.rows) <= MOST_KEPT else []
        )
    short = whole.chosen(whole.first)
    if len({row["dataset"] for row in whole.rows}) == 1:
        short.columns = [column for column in short.columns if column.key != "dataset"]
    best = best_cells(short)

    def row_class(row: dict) -> str | None:
        names = ["control" * (row["method"] in run.controls), "poor" * bool(row.get("is_poor"))]
        names.append("choice" * (row.get("front") == "use"))
        return " ".join(filter(None, names)) or None

    def cell_class(row: dict, key: str) -> str:
        return "best" if (row["dataset"], row["method"], key) in best else ""

    command = shlex.join(["svmreduce", "report", str(run.path.parent), "--columns", "all"])
    marked = "Bold: the best of a data set. Grey, and never the best: random controls, and methods that lose much."
    return [
        tag("h2", "Results"),
        table(short, row_class, cell_class=cell_class, is_tall=len(short.rows) > 30),
        *_notes([marked, *short.remarks]),
        tag("p", "All columns: ", tag("code", command), class_="note"),
    ]


def _paper(paper: PaperComparison, drawn: dict[Drawing, Markup]) -> list[Markup]:
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
    printed = [figure for one, figure in drawn.items() if one.kind.startswith("printed ")]
    figures = tag("div", *printed, class_="figures") if printed else ""
    return [
        tag("h2", "Compared with the paper"),
        tag("p", f"{paper.printed.title}. {paper.printed.caption}. Each cell: printed → measured."),
        tag("div", *parts, class_="tally", role="img", aria_label=f"Verdicts: {in_words(counts)}"),
        tag("ul", *legend, class_="legend"),
        tag("div", only, label, table(wide, _row_class, cell=cell_markup.cell, is_tall=len(wide.rows) > 60)),
        *_notes(wide.notes[1:]),
        figures,
    ]


def _row_class(row: dict) -> str | None:
    return "unmeasured" if row["verdict"] in (NOT_MEASURED, NOT_PRINTED) else None


def _figures(run: Run, drawn: dict[Drawing, Markup], room: int) -> list[Markup]:
    """By data set, the first one open, as many as a small page has room for."""
    groups: dict[str, list[Markup]] = {}
    left_out = 0
    wanted = {one: figure for one, figure in drawn.items() if not one.kind.startswith("printed ")}
    for one, figure in sorted(wanted.items(), key=lambda pair: _IMPORTANCE.get(pair[0].kind, 0)):
        if len(figure) > room:
            left_out += 1
        else:
            room -= len(figure)
            groups.setdefault(one.dataset or plots.ALL_DATA, []).append(figure)
    if not groups:
        return []
    names = sorted(groups, key=list(dict.fromkeys(one.dataset or plots.ALL_DATA for one in wanted)).index)
    parts = [
        tag("details", tag("summary", name), tag("div", *groups[name], class_="figures"), data_dataset=name,
            open="" if not place else None)
        for place, name in enumerate(names)
    ]  # fmt: skip
    command = shlex.join(["svmreduce", "report", str(run.path.parent), "--plots", "figures"])
    more = [tag("p", f"{left_out} more: ", tag("code", command), class_="note")] if left_out else []
    return [tag("h2", "Figures"), *parts, *more]


_IMPORTANCE = {"front": 1, "speed-up": 2, "accuracy and time": 3, "best accuracy": 4, "accuracy and vectors": 5}
# curves, which only some experiments have, come first


def _figure(one: Drawing, name: str) -> Markup:
    description = ": ".join(filter(None, (one.kind, one.dataset)))
    drawn = Markup(inline(one.figure, name, str(joined([description]))))
    caption = tag("figcaption", tag("b", f"{one.kind[0].upper()}{one.kind[1:]}. "), one.caption)
    return tag("figure", drawn, caption)


def _failures(run: Run) -> list[Markup]:
    failures = run_tables.failures_table(run)
    if not failures.rows:
        return [tag("h2", "Failures"), tag("p", "Every reduction and every fit succeeded.")]
    text = f"{len(failures.rows)} of {len(run.records)} records did not succeed."
    return [tag("h2", "Failures"), tag("p", text), table(failures, is_tall=len(failures.rows) > 20)]


def _fits(run: Run) -> list[Markup]:
    fits = run_tables.fits_table(run).fitted(None)
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
    """What a reader of figures needs to know at once."""
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
