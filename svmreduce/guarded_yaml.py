"""YAML from files of others: every mistake is one line that names the line and the key, and nothing is believed
that was not meant.

YAML allows much that a config never means: the last of two equal keys wins, ``1:30`` is ninety, a few lines of
aliases stand for gigabytes. Here these are errors, found before anything is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from svmreduce.errors import InputError
from svmreduce.printable import one_line

MOST_BYTES = 4 << 20
MOST_DEPTH = 40
MOST_VALUES = 200_000  # after aliases are written out

# The C parser is eight times faster and not everywhere
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT, _FLOAT, _MERGE = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "merge"))
_BUILDING = (ValueError, TypeError, LookupError, AttributeError, OverflowError)  # what PyYAML lets out for odd values


def load_file(path: Path) -> Any:
    """The value of a YAML file."""
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if b"\0" in content:
        raise InputError(f"{path}: not text; give a YAML file")
    return load(content, path)


def load(content: str | bytes, where: object) -> Any:
    """The value of one YAML document.

    Parameters
    ----------
    content : str or bytes
    where : what errors call it, such as a path
    """
    if len(content) > MOST_BYTES:
        raise InputError(f"{where}: more than {MOST_BYTES >> 20} MB of YAML; give a smaller file")
    try:
        _check_depth(content, where)
        loader = _Loader(content)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _Check(loader, where).visit(node, ())
            return _built(loader, node, where)
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeError) as error:
        raise InputError(f"{where}: not YAML: {one_line(error)}") from None


def _check_depth(content: str | bytes, where: object) -> None:
    """By the stream of events: building nested nodes needs the stack, and too many would break it."""
    depth = 0
    for event in yaml.parse(content, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                line = event.start_mark.line + 1
                raise InputError(f"{where}: line {line}: nested more than {MOST_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Check:
    """Looks at every node once; an alias counts as often as it is used."""

    def __init__(self, loader, where: object):
        self.loader, self.where = loader, where
        self.sizes: dict[int, int] = {}  # of finished nodes, by identity
        self.open: set[int] = set()

    def fail(self, node: yaml.Node, path: tuple[str, ...], what: str) -> InputError:
        return _fault(self.where, node, path, what)

    def visit(self, node: yaml.Node, path: tuple[str, ...]) -> int:
        """How many values the node stands for."""
        known = self.sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in self.open:
            raise self.fail(node, path, "contains itself by an alias; write it out")
        self.open.add(id(node))
        size = 1
        for part, key in self._parts(node, path):
            size += self.visit(part, (*path, key))
            if size > MOST_VALUES:
                raise self.fail(node, path, f"stands for more than {MOST_VALUES} values; give fewer")
        self.open.discard(id(node))
        self.sizes[id(node)] = size
        return size

    def _parts(self, node: yaml.Node, path: tuple[str, ...]):
        if isinstance(node, yaml.SequenceNode):
            return [(entry, str(number)) for number, entry in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            self._check_keys(node, path)
            return [(value, key.value) for key, value in node.value]
        if node.tag in (_INT, _FLOAT) and ":" in node.value:
            raise self.fail(node, path, f"YAML reads {node.value!r} as a number to the base 60; quote it")
        return []

    def _check_keys(self, node: yaml.MappingNode, path: tuple[str, ...]) -> None:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.fail(key, path, "a key must be a plain word or number")
            if key.tag in (_INT, _FLOAT) and ":" in key.value:
                raise self.fail(key, path, f"YAML reads the key {key.value!r} as a number to the base 60; quote it")
            made = key.value if key.tag == _MERGE else _built(self.loader, key, self.where)
            if made in seen:
                raise self.fail(key, path, f"the key {key.value!r} is given twice")
            seen.add(made)


def _built(loader, node: yaml.Node, where: object) -> Any:
    try:
        return loader.construct_document(node)
    except _BUILDING:
        worst, path = _first_bad(loader, node, ())
        kind = worst.tag.rpartition(":")[2]
        raise _fault(where, worst, path, f"{str(worst.value)[:40]!r} cannot be read as {kind}") from None


def _first_bad(loader, node: yaml.Node, path: tuple[str, ...]) -> tuple[yaml.Node, tuple[str, ...]]:
    """The innermost node that cannot be built."""
    parts = []
    if isinstance(node, yaml.MappingNode):
        parts = [(part, (*path, str(key.value))) for key, value in node.value for part in (key, value)]
    elif isinstance(node, yaml.SequenceNode):
        parts = [(part, (*path, str(number))) for number, part in enumerate(node.value)]
    for part, its_path in parts:
        try:
            loader.construct_document(part)
        except (*_BUILDING, yaml.YAMLError):
            return _first_bad(loader, part, its_path)
    return node, path


def _fault(where: object, node: yaml.Node, path: tuple[str, ...], what: str) -> InputError:
    key = f"{'.'.join(path)}: " if path else ""
    return InputError(f"{where}: line {node.start_mark.line + 1}: {key}{what}")
