"""What ``svmreduce bench`` answers: the verdict, the front as a picture and a table, and what was not run and why."""

from __future__ import annotations

import math
from textwrap import fill, wrap

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.standing import TOO_SHORT
from svmreduce.printable import duration
from svmreduce.reports.run.verdict import NO_TIME, DatasetVerdict, verdicts
from svmreduce.reports.run.wording import times

_HEIGHT, _WIDTH = 9, 64
RARE = 0.9  # share of the largest class: accuracy then says little
NEAR = 0.1  # of the errors: fewer by no more than this is not learned
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def answer(run: Run, measured, point: dict, config, guess: dict) -> dict:
    """For programs: the verdict, and what the budget did to it. ``measured`` is the `BudgetedRun`."""
    verdict = verdicts(run)[0]
    labels = [label for label in measured.growth if label not in verdict.standings.by_label]
    found = verdict.to_json() | {
        "point": point,
        "rows": measured.judged_rows,
        "all_rows": measured.rows,
        "test_rows": measured.judged_test_rows,
        "seeds": len(verdict.standings.splits),
        "not_run": {label: why._asdict() for label, why in measured.not_run.items()},
        "baseline": _baseline(verdict, measured),
        "full_seconds": _full_seconds(verdict, measured, config),
        "guess": guess | _against_guess(verdict, guess["score"], measured.judged_test_rows),
    }
    sentences = [*verdict.sentences(), *_about_exact(verdict, measured), *_about_baseline(verdict, found)]
    if measured.judged_rows < measured.rows:
        where = f"on {measured.judged_rows:,} of {measured.rows:,} rows"
        said = (text.replace(" on all rows", "") for text in verdict.sentences() if text != NO_TIME)  # not all here
        sentences = [f"The budget does not suffice for all rows; {where}:", *said]
    if verdict.recommended is not None:
        about = _about_guess(found["guess"], verdict)
        if found["guess"]["is_beaten"]:
            sentences.append(about)
        else:
            sentences = [about, *(text.replace("Use ", "If anything, use ", 1) for text in sentences)]
    usual = "mse" if verdict.is_regression else "accuracy"
    if point["metric"] != usual:
        chosen = f"C and gamma were chosen by {point['metric']}, {point['score']:.4g} in cross-validation"
        sentences.append(f"{chosen}; this verdict is about {'RMSE' if verdict.is_regression else usual}.")
    elif not verdict.is_regression and guess["score"] > RARE and _is_unlearned(found):
        sentences.append("With classes so unequal, --metric auc or balanced_accuracy chooses C and gamma better.")
    found["sentences"] = sentences
    found["on_parts"] = {label: [cost._asdict() for cost in measured.growth[label].costs] for label in labels}
    return found


def _baseline(verdict: DatasetVerdict, measured) -> dict | None:
    """LIBSVM against our engine and the recommended method: measured, on equal rows, or extrapolated."""
    own, best = verdict.standings.by_label.get(measured.baseline), verdict.recommended
    if own is not None:
        speedup = verdict.standings.speedup(best, own) if best else None
        return {"method": own.label, "how": "measured", "rows": measured.judged_rows, "seconds": own.seconds,
                "speedup": speedup}  # fmt: skip
    growth, engine = (measured.growth.get(label) for label in (measured.baseline, measured.engine))
    if growth is None:
        return None
    last = growth.last
    equal = next((cost for cost in engine.costs if cost.rows == last.rows), None) if engine else None
    expected = growth.train_seconds(measured.rows)
    return {
        "method": measured.baseline,
        "how": "extrapolated",
        "was_started": measured.baseline in verdict.failed,
        "rows": last.rows,
        "seconds": last.train,
        "engine_seconds": equal and equal.train,
        "speedup_of_engine_on_equal_rows": equal and last.train / equal.train,
        "exponent": growth.exponent,
        "expected_seconds": expected,
        "speedup": best and expected / best.timed,
    }


def _against_guess(verdict: DatasetVerdict, score: float, rows: int) -> dict[str, bool]:
    """Whether what is recommended is better than the same answer for every row, beyond chance; and if not, near it."""
    best = verdict.recommended
    if best is None or verdict.is_regression:
        return {"is_beaten": best is not None and best.score < score, "is_near": True}
    chance = math.sqrt((best.score * (1 - best.score) + score * (1 - score)) / max(rows, 1))
    return {
        "is_beaten": best.score - score > 1.96 * chance,
        "is_near": best.score - score < max(chance, NEAR * (1 - score)),
    }


def _is_unlearned(found: dict) -> bool:
    return found["guess"]["is_near"] and not found["guess"]["is_beaten"]


def _about_guess(guess: dict, verdict: DatasetVerdict) -> str:
    score = f"RMSE {guess['score']:.4g}" if verdict.is_regression else f"{100 * guess['score']:.2f} %"
    if guess["is_beaten"]:
        return f"The same answer for every row, {guess['answer']}, would have {score}."
    same = f"the same answer for every row, {guess['answer']}, has {score}"
    if guess["is_near"]:
        return f"Nothing is learned here: {same} already."
    return f"The test rows are too few to tell whether anything is learned: {same}."


def _about_baseline(verdict: DatasetVerdict, found: dict) -> list[str]:
    facts, best = found["baseline"], verdict.recommended
    if facts is None or best is None or verdict.is_tiny:
        return []
    if facts["how"] == "measured":
        own = verdict.standings.by_label[facts["method"]]
        if best is own or own is verdict.reference or facts["speedup"] < 1.1:
            return []
        return [f"LIBSVM takes {duration(own.seconds)} on all rows, {times(facts['speedup'])} as long."]
    ratio = facts["speedup_of_engine_on_equal_rows"]
    what = "did not finish" if facts["was_started"] else "was not run"
    equal = f"{times(ratio)} as long as our engine on equal rows; " if ratio else ""
    return [
        f"LIBSVM {what} on all rows: it takes {duration(facts['seconds'])} on {facts['rows']:,}, {equal}"
        f"on all rows about {duration(facts['expected_seconds'])} by its growth, {times(facts['speedup'])} the time of "
        "the recommended method (extrapolated)."
    ]


def _about_exact(verdict: DatasetVerdict, measured) -> list[str]:
    """The verdict says that no exact solution ran; this says why."""
    growth = measured.growth.get(measured.engine)
    if verdict.reference is None or verdict.reference.is_exact or growth is None:
        return []
    about = f"On all rows our engine takes about {duration(growth.train_seconds(measured.rows))} by its growth"
    why = measured.not_run.get(measured.engine)
    return [
        f"{about}; it did not finish." if why and why.kind == "failed" else f"{about}, more than the budget allows."
    ]


def _full_seconds(verdict: DatasetVerdict, measured, config) -> float:
    """About how long the experiment takes that has every method on all rows with every seed."""
    reads = len(config.seeds) * measured.load
    total, on_all = reads, verdict.standings.by_label if measured.judged_rows == measured.rows else {}
    for label in {*measured.growth, *on_all}:
        own, growth = on_all.get(label), measured.growth.get(label)
        known = len(own.cells) if own else 0
        once = own.seconds + (own.predict_seconds or 0.0) if own else growth.seconds(measured.rows, measured.test_rows)
        sides = 2 if label in measured.controlled else 1  # a random sample of the same size
        total += sides * min(config.limits.seconds, once) * (len(config.seeds) - known)
    return total if total > reads else 0.0


# ------------------------------------------------------------ as text


def answer_lines(run: Run, facts: dict, width: int) -> list[str]:
    """The same for people, in plain text."""
    verdict, width = verdicts(run)[0], min(width, 110)
    shown = _that_matter(verdict, facts)
    lines = ["", *wrap(" ".join(facts["sentences"]), width), ""]
    if len(shown) > 1:
        lines += [*picture(verdict, shown), ""]
    lines += [*_table(verdict, shown), ""]
    names = {one.label for one in shown}
    told = names | {label for label, why in facts["not_run"].items() if why["kind"] == "failed"}
    rest = [one for one in verdict.standings.all if not one.is_control and one.label not in told]
    remarks = {
        "Slower and no better": [one.label for one in rest if one.counts],
        "Beaten at the first seed, not repeated": [
            one.label for one in rest if one.marks and _is_partial(verdict, one)
        ],
        "Did not converge": [one.label for one in rest if one.marks and not _is_partial(verdict, one)],
        "Slower and no better on fewer rows": _not_run(facts, "beaten"),
        "Too slow for the budget on all rows": _not_run(facts, "slow"),
        "Not reached within the budget": _not_run(facts, "budget"),
        "Failed": [f"{label} {why['words']}" for label, why in facts["not_run"].items() if why["kind"] == "failed"],
    }
    for title, entries in remarks.items():
        if entries:
            between = "; " if title == "Failed" else ", "
            lines.append(fill(f"{title}: {between.join(entries)}.", width, subsequent_indent="  "))
    repeats = f"{facts['seeds']} seed{'s' * (facts['seeds'] > 1)}"
    point = ", ".join(f"{name} {value:.4g}" for name, value in facts["point"]["params"].items())
    used = f"{facts['used_seconds']:.0f} of {facts['budget']:.0f} s used"
    sizes = f"{facts['rows']:,} training rows, {facts['test_rows']:,} test rows"
    lines.append(fill(f"{sizes}, {repeats}; {point}; {used}.", width, subsequent_indent="  "))
    return lines


def _not_run(facts: dict, kind: str) -> list[str]:
    """Methods that were not run on all rows for this reason, with the time that they would have taken."""
    found = {label: why["seconds"] for label, why in facts["not_run"].items() if why["kind"] == kind}
    return [f"{label} (about {duration(took)})" if took else label for label, took in found.items()]


def _that_matter(verdict: DatasetVerdict, facts: dict) -> list:
    """The front, the exact solution, LIBSVM, and the recommended ones; the quickest first."""
    wanted = {one.label for one in (*verdict.front, verdict.reference, verdict.standings.baseline,
                                    verdict.recommended, verdict.quicker) if one}  # fmt: skip
    return [one for one in verdict.standings.all if one.label in wanted]


def _is_partial(verdict: DatasetVerdict, one) -> bool:
    """Whether only the first seed was run."""
    return len(one.cells) < len(verdict.standings.splits)


def _table(verdict: DatasetVerdict, shown: list) -> list[str]:
    from tabulate import tabulate

    score = "RMSE" if verdict.is_regression else "accuracy"
    unit = "% of RMSE" if verdict.is_regression else "points"
    rows = []
    for letter, one in zip(_LETTERS, shown, strict=False):
        loss, gain = verdict.loss(one), verdict.standings.speedup(one, verdict.reference)
        spread = "" if loss is None or loss.half is None else f" ± {100 * loss.half:.2f}"
        rows.append([
            letter,
            f"random {100 * one.kept_share:.3g} %" if one.is_control else one.label,
            duration(one.seconds),
            f"{one.score:.4g}" if verdict.is_regression else f"{100 * one.score:.2f} %",
            "" if loss is None else "reference" if one is verdict.reference else f"{100 * loss.middle:.2f}{spread}",
            ("≥ " * (one.seconds < TOO_SHORT) + times(gain).removesuffix(" times")) if gain else "",
            "all" if one.kept_share in (None, 1.0) else f"{100 * one.kept_share:.3g} %",
            "recommended" if one is verdict.recommended else "quicker" if one is verdict.quicker else
            "front" if one in verdict.front else "1 seed" if _is_partial(verdict, one) else ", ".join(one.marks),
        ])  # fmt: skip
    heads = ["", "method", "training", score, f"loss, {unit}", "times as fast", "rows", ""]
    align = ("left", "left", "right", "right", "right", "right", "right", "left")
    return tabulate(rows, heads, colalign=align, disable_numparse=True).splitlines()


def picture(verdict: DatasetVerdict, shown: list) -> list[str]:
    """Score against training time on a logarithmic axis; letters are lines of the table, dots are other methods."""
    others = [one for one in verdict.standings.all if one not in shown and not one.is_control]
    times_of = [math.log10(one.timed) for one in (*others, *shown)]
    low, high = min(times_of), max(times_of)
    best = max(one.goodness for one in shown)
    worst = min(one.goodness for one in shown)
    span = (best - worst) or abs(best) * 0.01 or 1.0
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]

    def place(one, mark: str) -> None:
        if one.goodness < worst - 0.5 * span:  # far below: left out, not squeezed to the edge
            return
        column = round((math.log10(one.timed) - low) / ((high - low) or 1.0) * (_WIDTH - 1))
        row = min(_HEIGHT - 1, max(0, round((best - one.goodness) / span * (_HEIGHT - 2))))
        grid[row][column] = mark

    for one in others:
        place(one, "·")
    for letter, one in reversed(list(zip(_LETTERS, shown, strict=False))):
        place(one, letter)
    name = "RMSE" if verdict.is_regression else "accuracy"
    text = (lambda value: f"{-value:.4g}") if verdict.is_regression else (lambda value: f"{100 * value:.2f} %")
    margins = {0: text(best), _HEIGHT - 2: text(worst)}
    lines = [f"{margins.get(number, ''):>9} |{''.join(cells)}".rstrip() for number, cells in enumerate(grid)]
    left, right = duration(10**low), duration(10**high)
    axis = " " * 10 + "+" + "-" * _WIDTH
    return [
        f"{name:>9}",
        *lines,
        axis,
        " " * 11 + left + "training time".center(_WIDTH - len(left) - len(right)) + right,
    ]
