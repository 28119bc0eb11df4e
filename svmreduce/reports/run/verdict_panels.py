"""The verdict at the top of a page: one panel per data set, what to use in large type, and what it costs."""

from __future__ import annotations

from svmreduce.experiments.metrics import METRICS
from svmreduce.printable import duration
from svmreduce.reports.drawing import cut
from svmreduce.reports.markup import Markup, tag
from svmreduce.reports.render import Table
from svmreduce.reports.run.verdict import FEW, DatasetVerdict
from svmreduce.reports.run.verdict_text import overall
from svmreduce.reports.run.wording import OUTCOMES, amount, brief, outcomes, signed, times, words

_LOWER = ("fit_seconds",)  # better, among the columns that are not metrics
_OF_OTHERS = ("rmse", "primal_excess")  # the baseline has nothing to differ from
_NOT_BEST = ("kept_percent", "vectors", "random_sample_accuracy", "random_sample_mse")  # facts, not merits


def verdict_section(
    found: list[DatasetVerdict], kept: list[str], fronts: dict[str, Markup], about: list[str]
) -> tuple[bool, list[Markup]]:
    """Whether the figures of the fronts are in it, and the section; ``kept`` is what there is to say without fits."""
    with_figures = len(found) <= FEW
    lines = overall(found) if found else kept
    parts = [tag("h2", "Verdict", class_="quiet")]
    parts += [tag("p", lines[0], class_="big"), *(tag("p", line) for line in lines[1:])] if lines else []
    panels = [_panel(verdict, fronts.get(verdict.dataset) if with_figures else None) for verdict in found]
    parts.append(tag("div", *panels, class_="panels" if with_figures else "panels many"))
    parts.append(tag("ul", *(tag("li", sentence) for sentence in about), class_="about"))
    return with_figures, parts


def _panel(verdict: DatasetVerdict, figure: Markup | None) -> Markup:
    one = verdict.recommended
    said = [tag("h3", verdict.dataset)]
    if one is None:
        said.append(tag("p", *verdict.sentences(), class_="or"))
    else:
        doubt = "" if verdict.is_sure(one) else ", it seems"
        use = ("Only ", " has a result.") if verdict.is_alone else ("Use ", f"{doubt}.")
        said.append(tag("p", use[0], tag("b", words(one)), use[1], class_="big"))
        said.append(tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in _tiles(verdict))))
        said += [
            tag("p", sentence, class_="or") for sentence in verdict.sentences()[1:] if sentence not in verdict.controls
        ]
    if figure and len(verdict.front) > 1:
        said.append(_few(verdict))
    rivals = [rival for outcome in OUTCOMES for rival in verdict.against_controls if rival.outcome == outcome]
    chips = [
        tag("li", tag("b", rival.method), f" {rival.outcome} ", tag("span", signed(rival.gain, verdict.is_regression)),
            class_=rival.outcome.replace(" ", "-"))
        for rival in rivals
    ]  # fmt: skip
    told = "Against a random sample of the same size"
    if len(chips) > FEW:
        said.append(tag("details", tag("summary", f"{told}: {outcomes(rivals)}"), tag("ul", *chips, class_="chips")))
    elif chips:
        said += [tag("p", f"{told}:", class_="note"), tag("ul", *chips, class_="chips")]
    parts = [tag("div", *said), *([figure] if figure else [])]
    return tag("article", *parts, class_="panel", data_dataset=verdict.dataset)


def _few(verdict: DatasetVerdict) -> Markup:
    """The methods that matter: the front and the exact solution, the quickest first."""
    front = verdict.front if len(verdict.front) <= FEW else [*verdict.front[-FEW:]]
    shown = [one for one in verdict.all if one in front or one in (verdict.reference, verdict.recommended)]
    rows = []
    for one in shown:
        base = "exact" if one.is_exact else "best"
        loss = base if one is verdict.reference else signed(verdict.loss(one), with_unit=False)
        score = f"{one.score:.4g}" if verdict.is_regression else f"{100 * one.score:.2f} %"
        class_ = "choice" if one is verdict.recommended else "control" if one.is_control else None
        gain = verdict.standings.speedup(one, verdict.reference)
        speed = "1×" if one is verdict.reference else times(gain).replace(" times", "×")
        cells = (tag("td", text) for text in (speed, duration(one.seconds), score, loss))
        rows.append(tag("tr", tag("th", cut(brief(one), 34), scope="row"), *cells, class_=class_))
    names = ("on the front", "speed", "one fit", "RMSE" if verdict.is_regression else "accuracy", "loss ±")
    heads = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("table", heads, tag("tbody", *rows), class_="few")


def _tiles(verdict: DatasetVerdict) -> list[tuple[str, str]]:
    """What the choice takes, gains and loses."""
    one = verdict.recommended
    found = [("one fit", duration(one.seconds))]
    rival = verdict.rival(one)
    if rival:
        exact = words(rival).removesuffix(" on all rows")
        found.append((f"as fast as {exact}", times(verdict.standings.speedup(one, rival)).replace(" times", "×")))
    found.append(("RMSE", f"{one.score:.4g}") if verdict.is_regression else ("accuracy", f"{100 * one.score:.2f} %"))
    if one is not verdict.reference and not one.is_exact:
        loss = verdict.loss(one)
        found.append(("lost" if loss.middle >= 0 else "won", amount(loss, verdict.is_regression)))
    shares = verdict.shares(one)
    if shares:
        found.append(("engine × reduction", f"{shares['engine']:.2g} × {shares['reduction']:.2g}"))
    return found


def best_cells(table: Table) -> set[tuple[str, str, str]]:
    """(data set, method, column) of the best values, among rows that are not poor and not controls.

    Where half of the rows or more share the best value, nobody is best.
    """
    found = set()
    groups: dict[str, list[dict]] = {}
    for row in table.rows:
        if not row.get("is_poor") and row.get("reducer") != "random":
            groups.setdefault(row["dataset"], []).append(row)
    for column in table.used():
        key = column.key
        if key in _NOT_BEST or (key not in METRICS and key not in _LOWER):
            continue
        is_lower = key in _LOWER or METRICS[key].better == "lower"
        for dataset, all_rows in groups.items():
            rows = [row for row in all_rows if key not in _OF_OTHERS or row["method"] != row["baseline"]]
            shown = [
                (column.write(row[key]), row) for row in rows if row.get(key) is not None and not table.mark(row, key)
            ]
            if len(shown) < 2:
                continue
            best = (min if is_lower else max)(row[key] for _, row in shown)
            text = column.write(best)
            winners = [row for value, row in shown if value == text]
            if 2 * len(winners) <= len(shown):
                found |= {(dataset, row["method"], key) for row in winners}
    return found
