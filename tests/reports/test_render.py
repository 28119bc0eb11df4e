"""What others wrote (reasons, names) shows in every form and steers none."""

import csv
import io

from svmreduce.cli import run as run_command
from svmreduce.experiments.records import Record
from svmreduce.reports import render
from tests.reports import made_up

HOSTILE = "\x1b]0;title\x07\x1b[31mred\u202e"
TABLE = render.Table(
    f"title {HOSTILE}",
    [render.Column("name", "name", is_text=True, is_key=True), render.Column("value", "value")],
    [{"name": f"=cmd|' /C calc'!A0 {HOSTILE}", "value": -1.5}, {"name": "-2.5e3", "value": 2}],
    [f"a note {HOSTILE}"],
)


def test_no_form_has_characters_that_steer():
    for text in (render.terminal([TABLE]), render.markdown([TABLE]), render.latex([TABLE]),
                 render.comma_separated(TABLE)):  # fmt: skip
        assert not set(text) & set("\x1b\x07\u202e") and "red" in text


def test_a_spreadsheet_computes_nothing_of_a_csv_file():
    rows = list(csv.reader(io.StringIO(render.comma_separated(TABLE))))
    assert rows[1][0].startswith("'=cmd") and rows[1][1] == "-1.5"
    assert rows[2][0] == "-2.5e3"  # a number is a number


def test_progress_lines_do_not_steer_the_terminal(capsys):
    class Agenda:
        todo = (1,)

    record = Record.from_json(made_up.failed(reason=HOSTILE + "\nsecond line", method=HOSTILE))
    run_command._Progress(Agenda, silent=False).tell(record)
    printed = capsys.readouterr().err
    assert not set(printed) & set("\x1b\x07\u202e") and printed.count("\n") == 1
