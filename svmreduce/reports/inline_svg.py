"""A figure inside a page: SVG in a third of the letters that matplotlib writes, in the colours of the page."""

from __future__ import annotations

import io
import re
from collections import Counter

import matplotlib
from matplotlib.figure import Figure

from svmreduce.reports.drawing import GRID, INK, MUTED, PALETTE, STYLE, any_script


def inline(figure: Figure, name: str, description: str) -> str:
    """The figure as an SVG element for a page: self-contained, with unique names and the colours of the page."""
    stream = io.StringIO()
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}), any_script():
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", _short_tag, text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # nothing refers to groups
    for number, known in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))):
        text = re.sub(rf'(?<=id="){known}(?=")|(?<=#){known}(?=[")])', f"{name}-{number}", text)
    variables = {INK: "ink", MUTED: "muted", GRID: "grid"} | {colour: f"s{n}" for n, colour in enumerate(PALETTE)}
    for colour, variable in variables.items():
        text = text.replace(colour, f"var(--{variable})")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    style, text = _with_classes(_without_bare_groups(text[text.index(">") + 1 :].strip()), name)
    return f'<svg role="img" aria-label="{description}" viewBox="0 0 {size[1]} {size[2]}">{style}{text}'


def _short_tag(tag: re.Match) -> str:
    """A tag of a figure in fewer letters: a tenth of a point is fine enough, the page has the font, and a rotation by
    nothing is none. What people read is not in tags and stays as it is."""
    text = " ".join(tag.group().split())
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
    text = re.sub(r"font-family: [^;\"]*;? ?", "", text)
    text = re.sub(r"(\d\.\d)\d+", r"\1", text)
    return text.replace("; ", ";").replace(": ", ":").replace(" L ", "L").replace(' "', '"')


def _without_bare_groups(text: str) -> str:
    """Without groups that say nothing, and without the white space between elements."""
    kept, parts = [], []  # of every open group, whether it stays
    text = re.sub(r"<g( [^>]*)?/>", "", re.sub(r">\s+<", "><", text))
    for part in re.split(r"(<g>|<g [^>]*>|</g>)", text):
        if part.startswith("<g"):
            kept.append(part != "<g>")
        if part not in ("<g>", "</g>") or (part == "</g>" and kept.pop()):
            parts.append(part)
    return "".join(parts)


def _with_classes(text: str, name: str) -> tuple[str, str]:
    """Styles that are used often, once in a style sheet, and the drawing that refers to them."""
    rules = []
    for style, count in Counter(re.findall(r' style="([^"]+)"', text)).items():
        if count > 2:
            rules.append(f".{name}c{len(rules)}{{{style}}}")
            text = text.replace(f' style="{style}"', f' class="{name}c{len(rules) - 1}"')
    return (f"<style>{''.join(rules)}</style>" if rules else ""), text
