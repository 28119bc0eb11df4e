"""YAML that a config or a card never means is refused with the line and the key, before anything is built."""

import pytest

from svmreduce import guarded_yaml
from svmreduce.errors import InputError

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("C: [1:30]", "f: line 1: C.0: YAML reads '1:30' as a number to the base 60"),
        ("a: 1\nb: 2:30.5", "f: line 2: b: YAML reads '2:30.5'"),
        ("1:30: x", "f: line 1: YAML reads the key '1:30'"),
        ("a: 1\na: 2", "f: line 2: the key 'a' is given twice"),
        ("a: {yes: 1, true: 2}", "f: line 1: a: the key 'true' is given twice"),
        ("? [a]\n: 1", "f: line 1: a key must be a plain word or number"),
        ("a: {? {b: 1} : 1}", "f: line 1: a: a key must be a plain word or number"),
        ("a: !!bool zz", "f: line 1: a: 'zz' cannot be read as bool"),
        ("a: [1, !!int '']", "f: line 1: a.1: '' cannot be read as int"),
        ("a: 2001-99-99", "f: line 1: a: '2001-99-99' cannot be read as timestamp"),
        ("a: " + "9" * 5000, "cannot be read as int"),
        ("a: &a [*a]", "f: line 1: a.0: contains itself by an alias"),
        (BOMB, "stands for more than 200000 values"),
        ("a: " + "[" * 100_000, "f: line 1: nested more than 40 deep"),
        ("- " * 5000, "f: line 1: nested more than 40 deep"),
        ("x" * (5 << 20), "f: more than 4 MB of YAML"),
        ("a: !!python/object/apply:os.getcwd []", "f: not YAML: could not determine a constructor"),
        ("a: \x1b", "f: not YAML:"),
        (b"\xff\xfe\xfa", "f: not YAML:"),
    ],
)
def test_what_was_not_meant_is_refused_with_line_and_key(text, said):
    with pytest.raises(InputError) as error:
        guarded_yaml.load(text, "f")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_plain_yaml_is_read():
    text = "base: &b {a: 1}\nall: [*b, 0.5, 2^3, '1:30', yes]\nmore: {<<: *b, c: null}\n"
    assert guarded_yaml.load(text, "f") == {
        "base": {"a": 1},
        "all": [{"a": 1}, 0.5, "2^3", "1:30", True],
        "more": {"a": 1, "c": None},
    }
    assert guarded_yaml.load("", "f") is None
