"""Experiment files: what a YAML file in ``configs/`` says, over the file it extends, at one scale.

Everything that can be wrong is found here or in ``planning``, before anything runs, and reported with the file, the
key and the nearest valid name. A method's constructor is the schema of its parameters.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from svmreduce import guarded_yaml
from svmreduce.errors import InputError
from svmreduce.experiments import tolerances
from svmreduce.experiments.config_keys import Config, DatasetConfig, LimitsConfig, SelectConfig, SplitConfig
from svmreduce.registry import nearest_name_error

SCALES = ("smoke", "small", "full")


def configs_folder() -> Path:
    """The experiments inside the installed package, else the repository's."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_configs"
    return installed if installed.is_dir() else package.parent / "configs"


def load(path: str | os.PathLike, *, scale: str | None = None, settings: dict[str, Any] | None = None) -> Config:
    """The experiment of a file at one scale, with ``settings`` (dotted keys) in place of its values.

    A path that does not exist is looked for among the experiments of the package.
    """
    path = _find(Path(path))
    content = _read(path, ())
    scales = content.pop("scales", {})
    _check_scales(path, scales)
    scale = scale or content.get("scale", "small")
    if scale not in SCALES:
        raise nearest_name_error("scale", str(scale), SCALES)
    content = _merged(content, scales.get(scale) or {}) | {"scale": scale}
    for key, value in (settings or {}).items():
        if key == "scale":
            raise InputError("--set scale=… would only rename the run; use --scale")
        _set(content, key, value)
    try:
        config = Config.model_validate(content)
        tolerances.from_config(config.compare)
    except ValidationError as error:
        raise explained(path, error) from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return config


def is_shipped(name: str) -> bool:
    """Whether the package has an experiment of this name, such as ``aesvm/table4``."""
    return (configs_folder() / f"{name}.yaml").is_file()


def _find(path: Path) -> Path:
    for place in (path, configs_folder() / path, configs_folder() / f"{path}.yaml"):
        if place.is_file():
            return place
    raise InputError(f"{path}: no such experiment file; those of the package are in {configs_folder()}")


def _read(path: Path, seen: tuple[Path, ...]) -> dict:
    """A file's content over that of the file it extends."""
    if path.resolve() in seen:
        raise InputError(f"{path}: extends: the files extend each other in a circle")
    content = guarded_yaml.load_file(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: an experiment is a mapping of keys to values")
    base = content.pop("extends", None)
    if base is None:
        return content
    base_path = path.parent / str(base)
    if not base_path.is_file():
        raise InputError(f"{path}: extends: no file {base_path}")
    return _merged(_read(base_path, (*seen, path.resolve())), content)


def _merged(base: dict, over: dict) -> dict:
    """Mappings are merged, everything else is replaced; a grid and parameters are replaced as a whole."""
    result = dict(base)
    for key, value in over.items():
        mixes = key not in ("grid", "params") and isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = _merged(base[key], value) if mixes else value
    return result


def _check_scales(path: Path, scales: Any) -> None:
    if not isinstance(scales, dict) or not all(isinstance(part, dict | None) for part in scales.values()):
        raise InputError(f"{path}: scales: a mapping of {', '.join(SCALES)} to the keys they change")
    for name, part in scales.items():
        if name not in SCALES:
            raise InputError(f"{path}: scales: {nearest_name_error('scale', str(name), SCALES)}")
        for key in part or {}:
            if key not in Config.model_fields:
                raise InputError(f"{path}: scales.{name}: {nearest_name_error('key', str(key), Config.model_fields)}")


def _set(content: dict, dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        below = content.get(parent) or {}
        if not isinstance(below, dict):
            raise InputError(f"--set {dotted}: {parent} is not a mapping; set it as a whole: {parent}=[…]")
        content[parent] = content = dict(below)
    content[last] = value


def explained(path: str | os.PathLike, error: ValidationError) -> InputError:
    """The first thing that is wrong, with its place and the nearest valid name."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        parents = first["loc"][:-1]
        place = "".join(f"{part}: " for part in (".".join(map(str, parents)),) if part)
        return InputError(f"{path}: {place}{nearest_name_error('key', str(first['loc'][-1]), _keys(parents))}")
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] == "missing" or isinstance(first["input"], dict | list) else f", got {first['input']!r}"
    return InputError(f"{path}: {where + ': ' if where else ''}{message}{given}")


def _keys(parents: tuple) -> list[str]:
    """The keys that are allowed at this place."""
    owners = {"datasets": DatasetConfig, "split": SplitConfig, "select": SelectConfig, "limits": LimitsConfig}
    owner = owners.get(parents[0], Config) if parents else Config
    return [field.alias or name for name, field in owner.model_fields.items()]
