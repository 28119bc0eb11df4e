"""Imports point one way: rooms use what is above them and the experiments, never the other way round."""

import ast
from pathlib import Path

import pytest

import svmreduce

PACKAGE = Path(svmreduce.__file__).parent
FORBIDDEN = {
    "experiments": ["svmreduce.reports", "svmreduce.cli"],
    "papers": ["svmreduce.reports", "svmreduce.experiments", "svmreduce.cli"],
    "reports": ["svmreduce.cli", "svmreduce.experiments.runner", "svmreduce.experiments.engines"],  # runs nothing
    "reports/reproduction": ["svmreduce.reports.run", "svmreduce.reports.gate"],
    "reports/gate": ["svmreduce.reports.run", "svmreduce.reports.reproduction"],
    "reports/run": ["svmreduce.reports.gate"],
}


def imported(file: Path) -> set[str]:
    """The modules that a file imports anywhere, functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def offences(files, forbidden) -> list[str]:
    pairs = [(file, name) for file in files for name in imported(file)]
    return [
        f"{file.name}: {name}" for file, name in pairs if any(f"{name}.".startswith(f"{bad}.") for bad in forbidden)
    ]


@pytest.mark.parametrize("room", FORBIDDEN)
def test_no_import_points_upwards(room):
    assert offences((PACKAGE / room).rglob("*.py"), FORBIDDEN[room]) == []


def test_what_the_rooms_share_knows_none_of_them():
    rooms = ["svmreduce.reports.run", "svmreduce.reports.reproduction", "svmreduce.reports.gate"]
    assert offences((PACKAGE / "reports").glob("*.py"), rooms) == []
    assert offences((PACKAGE / "reports").rglob("*.py"), rooms)  # the rooms themselves do use each other
