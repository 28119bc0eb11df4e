"""The pages of docs/ without building them: `make docs` runs their examples, which takes minutes."""

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest

from svmreduce.cli.main import COMMANDS, cli

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in DOCS.rglob("*.md")}


def generated():
    spec = importlib.util.spec_from_file_location("generated", DOCS / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r"^[\w/]+$", PAGES["index"].read_text("utf-8"), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted(PAGES)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_what_a_page_points_to_is_there(name):
    page = PAGES[name]
    text = page.read_text("utf-8")
    for target in re.findall(r"\{doc\}`([^`]+)`", text):
        assert (page.parent / f"{target}.md").is_file(), target
    for file, options in re.findall(r"```\{include\} (\S+)\n(.*?)```\n", text + "\n", re.DOTALL):
        for _, quoted in re.findall(r"^:(start-after|end-before): \"(.*)\"$", options, re.MULTILINE):
            assert (page.parent / file).read_text("utf-8").count(quoted.replace(r"\n", "\n")) == 1, quoted


def commands_of(text: str) -> list[list[str]]:
    blocks = re.findall(r"```\{run\}\n(.*?)```", text, re.DOTALL)
    found = re.findall(r"(?:^|; do )svmreduce ([^|;\n]*)", "\n".join(blocks).replace("\\\n", ""), re.MULTILINE)
    return [shlex.split(line) for line in found]


def test_examples_name_commands_and_options_that_exist():
    examples = [words for page in PAGES.values() for words in commands_of(page.read_text("utf-8"))]
    assert len(examples) > 30
    assert not {"bench", "train", "predict", "tune", "reduce", "run", "report", "compare"} - {e[0] for e in examples}
    for words in examples:
        command = cli.get_command(None, words[0])
        while isinstance(command, click.Group):
            words = words[1:]
            command = command.commands[words[0]]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in words if re.match(r"--?[a-zA-Z]", word)} <= known, words


def test_reference_says_something_about_everything():
    pages = generated()
    assert "| |" not in pages.record().replace("  ", " ")
    assert all(f"## `svmreduce {name}" in pages.commands() for name in (*COMMANDS, "data make"))
