"""Imports point one way, also those inside functions: a layer uses itself and the layers below it."""

import ast
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import svmreduce

PACKAGE = Path(svmreduce.__file__).parent
# From the bottom up. A module at the top of the package belongs to the highest layer that it uses.
LAYERS = (
    ("core",),
    ("data",),
    ("model",),
    ("solvers",),
    ("reducers",),
    ("outofcore",),
    ("search", "testing"),
    ("papers", "experiments"),
    ("reports",),
    ("cli",),
)
RANK = {room: rank for rank, rooms in enumerate(LAYERS, start=1) for room in rooms}
FORBIDDEN = {  # between neighbours
    "papers": ["experiments"],
    "reports": ["experiments.runner", "experiments.engines"],  # a report runs nothing
    "reports/reproduction": ["reports.run", "reports.gate"],
    "reports/gate": ["reports.run", "reports.reproduction"],
    "reports/run": ["reports.gate"],
}


@cache
def imported(file: Path) -> set[str]:
    """The modules of the package that a file imports anywhere, functions included, without the package's name."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: relative imports are not used here"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("svmreduce.") for name in names if name.startswith("svmreduce.")}


def offences(files, is_offence) -> list[str]:
    return [f"{file.relative_to(PACKAGE)}: {name}" for file in files for name in imported(file) if is_offence(name)]


@cache
def rank(name: str) -> int:
    room = name.partition(".")[0]
    file = PACKAGE / f"{room}.py"
    if room in RANK or not file.exists():
        return RANK.get(room, 0)
    return max(map(rank, imported(file)), default=0)


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=module_of)
def test_no_import_points_upwards(file):
    assert offences([file], lambda name: rank(name) > rank(module_of(file))) == []


def test_no_modules_import_each_other():
    files = {module_of(file): file for file in PACKAGE.rglob("*.py")}
    graph = {
        module: {name if name in files else name.rpartition(".")[0] for name in imported(file)}
        for module, file in files.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises a CycleError that names the modules


@pytest.mark.parametrize("room", FORBIDDEN)
def test_neighbours_that_do_not_know_each_other(room):
    forbidden = tuple(f"{name}." for name in FORBIDDEN[room])
    assert offences((PACKAGE / room).rglob("*.py"), lambda name: f"{name}.".startswith(forbidden)) == []


def test_what_all_reports_share_knows_none_of_their_rooms():
    rooms = ("reports.run.", "reports.reproduction.", "reports.gate.")
    assert offences((PACKAGE / "reports").glob("*.py"), lambda name: f"{name}.".startswith(rooms)) == []


def test_no_file_name_is_used_twice():
    names = Counter(file.name for file in PACKAGE.rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} <= {"__init__.py", "base.py"}


def test_an_import_inside_a_function_is_found(tmp_path):
    file = tmp_path / "low.py"
    file.write_text("def f():\n    from svmreduce.cli import main\n    import svmreduce.reports.render\n")
    assert imported(file) == {"cli.main", "reports.render"}
