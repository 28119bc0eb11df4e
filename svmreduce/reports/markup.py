"""HTML from Python values: everything that is not already markup is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from svmreduce.printable import printable
from svmreduce.reports.render import Column, Table, is_empty

_ALONE = {"meta", "input"}  # elements without an end


class Markup(str):
    """Text that is HTML already."""


def tag(name: str, /, *children, **attributes) -> Markup:
    """An element; ``class_`` and ``data_value`` are the attributes class and data-value, None leaves one out."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{words}>" if name in _ALONE else f"<{name}{words}>{joined(children)}</{name}>")


def joined(children: Iterable) -> Markup:
    return Markup("".join(child if isinstance(child, Markup) else escape(printable(str(child))) for child in children))


def plain_cell(column: Column, value) -> Markup:
    """A cell with what its column makes of the value."""
    if is_empty(value):
        return tag("td", class_="text" if column.is_text else None)
    text = column.write(value)
    if column.is_text:
        return tag("td", text, class_="text long" if len(text) > 40 else "text")
    return tag("td", text, data_value=value if isinstance(value, (int, float)) else None)


def table(
    made: Table,
    row_class: Callable[[dict], str | None] = lambda row: None,
    *,
    cell: Callable[[Column, object], Markup] = plain_cell,
    is_tall: bool = False,
) -> Markup:
    """A table that scrolls inside its own frame; the first two columns of names are the head of the row."""
    columns = made.used()
    if not columns:
        return Markup("")
    names = [column for column in columns if column.is_key][:2]
    others = [column for column in columns if column not in names]
    heads = [tag("th", " · ".join(column.title for column in names), scope="col")]
    heads += [tag("th", column.title, scope="col", class_="text" if column.is_text else None) for column in others]
    rows = [
        tag("tr", _head(names, row), *(cell(column, row.get(column.key)) for column in others), class_=row_class(row))
        for row in made.rows
    ]
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sorts")
    return tag("div", body, class_="scroll tall" if is_tall else "scroll", tabindex="0", role="region",
               aria_label=made.title)  # fmt: skip


def _head(names: list[Column], row: dict) -> Markup:
    *small, last = ["" if is_empty(row.get(name.key)) else name.write(row[name.key]) for name in names]
    parts = [tag("span", text, class_="ds") for text in small if text]
    return tag("th", *parts, last, scope="row", data_value=" ".join(filter(None, (*small, last))))


def slug(text: str) -> str:
    return text.replace(" ", "-")
