"""Shared fixtures: where the real data files are, if they are here at all."""

import os
from pathlib import Path

import pytest


def mirror_folder() -> Path | None:
    given = os.environ.get("SVMREDUCE_MIRROR")
    return Path(given) if given and Path(given).is_dir() else None


@pytest.fixture
def real_file():
    """``real_file("ijcnn1")`` gives the path of that file in the mirror, or skips with the reason."""

    def find(name: str) -> Path:
        folder = mirror_folder()
        if folder is None:
            pytest.skip("SVMREDUCE_MIRROR names no folder with the real data files")
        for suffix in ("", ".xz", ".gz", ".bz2"):
            path = folder / (name + suffix)
            if path.exists():
                return path
        pytest.skip(f"the mirror has no file {name}")

    return find
