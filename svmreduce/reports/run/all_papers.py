"""One page over all papers: what of their printed tables was measured, and what became of each claim.

``python -m svmreduce.reports.run.all_papers results configs > results/index.html``. Everything on it is read: printed
cells from ``papers/``, verdicts of cells from the texts of runs (``results/SCALE/*.md``, as ``svmreduce report`` writes
them), verdicts of claims from ``results/README.md``. A text may be older than the rule that a reproduced cell needs the
paper's grid, so its config is asked again.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from svmreduce import papers
from svmreduce.errors import InputError
from svmreduce.experiments import config as experiment
from svmreduce.experiments.planning import points_of
from svmreduce.papers.layouts import LAYOUTS
from svmreduce.reports.markup import Markup, slug, table, tag
from svmreduce.reports.render import Column, Table
from svmreduce.reports.reproduction.matching import plain
from svmreduce.reports.reproduction.measured import grid_caveats
from svmreduce.reports.reproduction.verdicts import (
    CONTRADICTED,
    JUDGED,
    MARKS,
    NOT_COMPARABLE,
    NOT_MEASURED,
    OTHER_DIRECTION,
    REPRODUCED,
    SAME_DIRECTION,
    printed_value,
)
from svmreduce.reports.run.page import document

_HEADING = re.compile(r"^## (.*), Table (\w+): printed → measured$")
_CLAIMS = re.compile(r"^\| claim \| verdict \|$")
_FILE = re.compile(r"`([\w/.-]+\.(?:md|html|svg))`")
_WITHOUT_GRID = {REPRODUCED: SAME_DIRECTION, CONTRADICTED: OTHER_DIRECTION}  # on other grid points
NO_FIGURE = "tried, no figure"
_SHOWN = (*JUDGED, NOT_COMPARABLE, NO_FIGURE)
_WEIGHT = (
    CONTRADICTED,
    REPRODUCED,
    OTHER_DIRECTION,
    SAME_DIRECTION,
    NOT_COMPARABLE,
    NO_FIGURE,
)  # of several texts the first


@dataclass
class TableFacts:
    """A printed table: its cells, the verdict of each that was measured, and the texts that say so."""

    printed: int
    cells: dict[tuple, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


def collect(results: Path, configs: Path) -> dict[str, dict[str, TableFacts]]:
    """The printed tables of each paper with what the texts of the runs say about their cells."""
    found = {
        paper: {name: TableFacts(_printed_cells(paper, name)) for name in LAYOUTS[paper]} for paper in papers.names()
    }
    by_title = {papers.load(paper)["paper"]["title"]: paper for paper in papers.names()}
    for file in sorted(results.glob("*/*.md")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for place, line in enumerate(lines):
            if (heading := _HEADING.match(line)) and heading[1] in by_title:
                paper, name = by_title[heading[1]], f"table{heading[2]}"
                cells = _cells(lines[place + 2 :])
                if not _has_grid(paper, name, file, configs):
                    cells = {key: _WITHOUT_GRID.get(verdict, verdict) for key, verdict in cells.items()}
                facts = found[paper][name]
                for key, verdict in cells.items():
                    facts.cells[key] = min(verdict, facts.cells.get(key, NO_FIGURE), key=_WEIGHT.index)
                page = file.with_suffix(".html")
                facts.texts.append((page if page.exists() else file).relative_to(results).as_posix())
    return found


def _printed_cells(paper: str, name: str) -> int:
    printed, layout = papers.find(f"{paper}:{name}"), LAYOUTS[paper][name]
    return sum(
        printed_value(printed, layout, column, row) is not None for row in printed.rows for column in layout.columns
    )


def _cells(lines: list[str]) -> dict[tuple, str]:
    """The verdicts of a Markdown table by the names of row and column; cells that were not tried are left out."""
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    if len(rows) < 3 or "verdict" not in rows[0]:
        raise InputError("a table of printed and measured figures has no column 'verdict'")
    titles, names = rows[0], rows[0].index("verdict")
    verdict_of = {mark: verdict for verdict, mark in MARKS.items() if mark}
    return {
        (*row[:names], title): NO_FIGURE if " → – " in row[place] else verdict_of[row[place][-1]]
        for row in rows[2:]
        for place, title in enumerate(titles)
        if " → " in row[place] and row[place][-1] in verdict_of
    }


def _has_grid(paper: str, name: str, text: Path, configs: Path) -> bool:
    """Whether the experiment behind a text has the grid of the paper; one without a config counts as it is."""
    scale, stem = text.parent.name, text.stem
    for file in configs.glob("*/*.yaml"):
        if f"{file.parent.name}-{file.stem}".replace("_", "-") == stem:
            points = points_of(experiment.load(file, scale=scale))
            return not grid_caveats(papers.find(f"{paper}:{name}"), LAYOUTS[paper][name], points)
    return True


def claims(text: str) -> dict[str, list[tuple[str, str]]]:
    """The claims of each paper and their verdicts, from the tables below the headings of results/README.md."""
    found: dict[str, list] = {}
    paper, is_table = None, False
    for line in text.splitlines():
        if line.startswith("#"):
            heading = plain(line)
            paper = next((key for key in papers.names() if heading.startswith(plain(key))), None)
        is_table = (is_table or bool(_CLAIMS.match(line))) and line.startswith("|")
        if is_table and paper and not _CLAIMS.match(line) and not line.startswith("| ---"):
            claim, verdict = re.split(r"(?<!\\) \| ", line.strip("| "), maxsplit=1)
            found.setdefault(paper, []).append((claim, verdict))
    return found


# The page

_COLUMNS = [
    Column("table", "table", is_text=True, is_key=True),
    Column("printed", "printed cells"),
    Column("measured", "measured"),
    *(Column(verdict, verdict) for verdict in _SHOWN),
]


def html(results: Path, configs: Path, command: str) -> str:
    found, told = collect(results, configs), claims((results / "README.md").read_text(encoding="utf-8"))
    lost = [paper for paper in papers.names() if paper not in told]
    if lost:
        raise InputError(f"{results / 'README.md'}: no table of claims below a heading for {', '.join(lost)}")
    total = [_row(papers.load(paper)["paper"]["title"], tables.values()) for paper, tables in found.items()]
    total.append(_row("all", [facts for tables in found.values() for facts in tables.values()]))
    body = [tag("section", *_section(paper, found[paper], told[paper], results), id=paper) for paper in found]
    title = "Five papers at a glance"
    return document(
        title,
        tag("header", tag("h1", title)),
        tag("main", table(Table("Cells of all papers", [_COLUMNS[0], *_COLUMNS[1:]], total)), *_notes(), *body),
        tag("footer", tag("p", "Made by ", tag("code", command), ". This file is self-contained.")),
    )


def _row(name: str, facts) -> dict:
    counts = Counter(verdict for one in facts for verdict in one.cells.values())
    row = {
        "table": name,
        "printed": sum(one.printed for one in facts),
        "measured": sum(counts.values()) - counts[NO_FIGURE],
    }
    return row | {verdict: counts[verdict] for verdict in _SHOWN}


def _notes() -> list[Markup]:
    text = (
        "Reproduced: within the tolerance of the column, on the paper's data, rows and grid points, all fits "
        "converged. Contradicted: under the same conditions it says something else. Same or other direction: on fewer "
        "rows, other data, other grid points or with fits that stopped early, in the same sense or not; or as in the "
        "paper, but outside of the tolerance. Not comparable: another machine's seconds, or other data where a figure "
        "has no direction. Tried, no figure: the run did not finish, or does not define it. Where several runs have "
        "a cell, the strictest counts."
    )
    return [tag("p", text, class_="note")]


def _section(paper: str, tables: dict[str, TableFacts], told: list[tuple[str, str]], results: Path) -> list[Markup]:
    whole = _row("all", tables.values())
    shares = {verdict: whole[verdict] for verdict in _SHOWN}
    shares[NOT_MEASURED] = whole["printed"] - sum(shares.values())
    parts = [
        tag("span", class_=slug(name), style=f"width:{100 * n / whole['printed']:.3f}%") for name, n in shares.items()
    ]
    words = ", ".join(f"{count} {name}" for name, count in shares.items() if count)
    rows = [_row(name.replace("table", "Table "), [facts]) for name, facts in tables.items()]
    links = [
        tag(
            "li",
            f"{name.replace('table', 'Table ')}: ",
            *_with_links(" ".join(f"`{text}`" for text in facts.texts), results),
        )
        for name, facts in tables.items()
        if facts.texts
    ]
    claimed = [
        tag("tr", tag("td", claim, class_="text long"), tag("td", *_with_links(verdict, results), class_="text long"))
        for claim, verdict in told
    ]
    heads = tag("tr", tag("th", "claim", scope="col", class_="text"), tag("th", "verdict", scope="col", class_="text"))
    return [
        tag("h2", papers.load(paper)["paper"]["title"]),
        tag("div", *parts, class_="tally", role="img", aria_label=f"Verdicts: {words}"),
        tag("p", f"{whole['printed']:,} printed cells: {words}."),
        table(Table(f"Tables of {paper}", _COLUMNS, rows)),
        tag("ul", *links),
        tag("div", tag("table", tag("thead", heads), tag("tbody", *claimed)), class_="scroll", tabindex="0",
            role="region", aria_label=f"Claims of {paper}"),
    ]  # fmt: skip


def _with_links(text: str, results: Path) -> list:
    """Names of files in backticks as links, where there is such a file."""
    parts, end = [], 0
    for match in _FILE.finditer(text):
        if (results / match[1]).exists():
            parts += [text[end : match.start()], tag("a", match[1], href=match[1])]
            end = match.end()
    return [*parts, text[end:]]


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) != 2:
        sys.exit("usage: python -m svmreduce.reports.run.all_papers RESULTS CONFIGS > PAGE")
    try:
        page = html(Path(given[0]), Path(given[1]), f"python -m svmreduce.reports.run.all_papers {given[0]} {given[1]}")
        sys.stdout.write(page)
    except (InputError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
