"""The reference of experiment files is what the models say."""

from pathlib import Path

from svmreduce.experiments.config import Config, DatasetConfig, LimitsConfig, SplitConfig
from svmreduce.experiments.config_reference import reference

WRITTEN = Path(__file__).resolve().parents[2] / "docs" / "yaml.md"


def test_the_file_in_docs_is_up_to_date():
    again = "python -m svmreduce.experiments.config_reference > docs/yaml.md"
    assert WRITTEN.read_text() == reference(), f"write it again: {again}"


def test_every_key_has_a_meaning():
    for part in (Config, DatasetConfig, LimitsConfig, SplitConfig):
        assert [name for name, field in part.model_fields.items() if not field.description] == []
