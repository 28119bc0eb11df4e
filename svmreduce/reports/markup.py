"""HTML from Python values: everything that is not already markup is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from svmreduce.printable import printable
from svmreduce.reports.render import Column, Table, is_empty, two_lines

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


def plain_cell(column: Column, value, mark: str = "", class_: str = "") -> Markup:
    """A cell with what its column makes of the value."""
    names = [class_, "text" if column.is_text else ""]
    if is_empty(value):
        return tag("td", class_=" ".join(filter(None, names)) or None)
    text = column.write(value)
    names.append("long" if column.is_text and len(text) > 40 else "")
    return tag("td", text, tag("sup", mark) if mark else "", class_=" ".join(filter(None, names)) or None)


def table(
    made: Table,
    row_class: Callable[[dict], str | None] = lambda row: None,
    *,
    cell: Callable[..., Markup] = plain_cell,
    cell_class: Callable[[dict, str], str] = lambda row, key: "",
    is_tall: bool = False,
) -> Markup:
    """A table that scrolls inside its own frame; the first two columns of names are the head of the row."""
    columns = made.used()
    if not columns:
        return Markup("")
    names = [column for column in columns if column.is_key][:2]
    others = [column for column in columns if column not in names]
    heads = [tag("th", " · ".join(column.title for column in names), scope="col")]
    heads += [_title(column) for column in others]
    rows = [
        tag(
            "tr",
            _head(names, row),
            *(
                cell(column, row.get(column.key), made.mark(row, column.key), cell_class(row, column.key))
                for column in others
            ),
            class_=row_class(row),
        )
        for row in made.rows
    ]
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sorts")
    return tag("div", body, class_="scroll tall" if is_tall else "scroll", tabindex="0", role="region",
               aria_label=made.title)  # fmt: skip


def _title(column: Column) -> Markup:
    """On two lines at most."""
    first, *second = two_lines(column.title)
    lines = [first, *(part for line in second for part in (Markup("<br>"), line))]
    return tag("th", *lines, scope="col", class_="text" if column.is_text else None)


def _head(names: list[Column], row: dict) -> Markup:
    *small, last = ["" if is_empty(row.get(name.key)) else name.write(row[name.key]) for name in names]
    parts = [part for text in small if text for part in (tag("span", text, class_="ds"), " ")]
    return tag("th", *parts, tag("span", last, class_="who"), scope="row")


def slug(text: str) -> str:
    return text.replace(" ", "-")
