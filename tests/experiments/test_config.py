"""Experiment files: what may stand in them, and what is said of what may not."""

import pytest
import yaml

from svmreduce.errors import InputError
from svmreduce.experiments.config import Config, configs_folder, load
from svmreduce.experiments.planned_methods import methods_of
from svmreduce.experiments.planning import expand

PLAIN = {"name": "try", "datasets": [{"generator": "checkerboard", "rows": 50}], "solvers": ["smo"]}


def write(folder, file="try.yaml", /, **changes):
    path = folder / file
    path.write_text(yaml.safe_dump({key: value for key, value in (PLAIN | changes).items() if value is not None}))
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"datasetz": []}, "unknown key 'datasetz': did you mean 'datasets'?"),
        ({"datasets": None}, "datasets: Field required"),
        ({"seeds": ["one"]}, "seeds.0: Input should be a valid integer"),
        ({"repeats": 0}, "repeats: Input should be greater than or equal to 1, got 0"),
        ({"name": "a/b"}, "name: String should match pattern"),
        ({"limits": {"second": 3}}, "limits: unknown key 'second': did you mean 'seconds'?"),
        ({"split": {"shuffle": False}}, "split: 'shuffle: false' belongs to 'folds'"),
        ({"split": {"folds": 5, "holdout": 0.2}}, "split: 'folds' and 'holdout' exclude each other"),
        ({"datasets": [{"rows": 5}]}, "datasets.0: give one of 'name', 'generator' and 'file', got none"),
        ({"datasets": [{"generator": "checkerboard"}]}, "datasets.0: a generator needs 'rows'"),
        ({"datasets": [{"name": "iris", "test": "x"}]}, "datasets.0: 'test' belongs to 'file'"),
        ({"datasets": [{"name": "iris", "drop": "id"}]}, "datasets.0: 'drop' belongs to 'file'"),
        ({"datasets": [{"file": "x", "scale": "standart"}]}, "datasets.0.scale: Input should be 'none', 'standard'"),
        ({"scales": {"smok": {}}}, "scales: unknown scale 'smok': did you mean 'smoke'?"),
        ({"scales": {"smoke": {"sed": 1}}}, "scales.smoke: unknown key 'sed': did you mean 'seeds'?"),
        ({"compare": {"accurasy": {"absolute": 1}}}, "unknown metric in compare 'accurasy': did you mean 'accuracy'?"),
        ({"extends": "nowhere.yaml"}, "extends: no file"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_and_key(tmp_path, changes, said):
    path = write(tmp_path, **changes)
    with pytest.raises(InputError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ") and said in str(error.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"solvers": ["smoo"]}, "unknown solver 'smoo': did you mean 'smo'?"),
        ({"solvers": ["nowhere.module:Solver"]}, "No module named 'nowhere'"),
        ({"solvers": [{"name": "smo", "epsilonn": 1}]}, "unknown parameter of smo 'epsilonn'"),
        ({"solvers": [{"name": "smo", "C": -1}]}, "C must be a positive number, got -1"),
        ({"solvers": [{"name": "smo", "kernel": "rbff"}]}, "unknown kernel of smo 'rbff': did you mean 'rbf'?"),
        ({"reducers": ["derive"]}, "unknown reducer 'derive': did you mean 'derive_rs'?"),
        ({"reducers": [{"name": "derive_rs", "epsilon": -1}]}, "epsilon must be a number >= 0, got -1"),
        ({"solvers": ["libsvm"], "reducers": ["derive_rs"]}, "libsvm after derive_rs: its rows carry weights"),
        ({"solvers": ["libsvm"], "reducers": ["random"]}, "or set weighted: false"),
        ({"solvers": ["smo", "smo"]}, "two methods are called 'smo': give one another name with 'as'"),
        ({"datasets": ["iris", "iris"]}, "two data sets are called 'iris': give one another name with 'as'"),
        ({"baseline": "libsvm"}, "unknown baseline 'libsvm': known are smo"),
        ({"grid": {"gama": [1]}}, "unknown parameter in grid 'gama': did you mean 'gamma'?"),
        ({"grid": {"C": []}}, "grid.C: an empty list leaves nothing to run"),
        ({"grid": {"threads": [1, 2]}}, "grid.threads: set threads of the experiment instead"),
        ({"solvers": [{"name": "smo", "tol": []}]}, "tol: an empty list leaves nothing to run"),
        ({"solvers": ["sklearn.cluster:KMeans"]}, "KMeans': is neither a classifier nor a regressor"),
        ({"scaling": "zero_on"}, "unknown scaler 'zero_on'"),
        ({"grid": {"C": [1, 0]}}, "C must be a positive number, got 0"),
        ({"datasets": ["ijcnn"]}, "unknown data set 'ijcnn': did you mean 'ijcnn1'?"),
        ({"datasets": [{"generator": "chequerboard", "rows": 9}]}, "did you mean 'checkerboard'?"),
        ({"datasets": [{"generator": "sinc", "rows": 9}]}, "sinc:9 is for regression, which smo cannot do"),
        ({"datasets": [{"file": "nowhere.txt"}]}, "nowhere.txt: no such file"),
    ],
)  # fmt: skip
def test_impossible_experiments_fail_before_anything_runs(tmp_path, changes, said):
    with pytest.raises(InputError) as error:
        expand(load(write(tmp_path, **changes)))
    assert said in str(error.value)


def test_scales_and_extends_lay_over_each_other(tmp_path):
    write(tmp_path, "base.yaml", grid={"C": [1, 2]}, limits={"seconds": 5, "memory_mb": 100}, seeds=[1, 2])
    path = tmp_path / "top.yaml"
    path.write_text(yaml.safe_dump({"extends": "base.yaml", "name": "top", "limits": {"seconds": 9},
                                    "scales": {"smoke": {"grid": {"C": ["2^-3"]}}, "full": None}}))  # fmt: skip
    small, smoke = load(path), load(path, scale="smoke", settings={"limits.seconds": 3, "repeats": 2})
    assert (small.name, small.seeds, small.grid) == ("top", [1, 2], {"C": [1, 2]})
    assert (small.limits.seconds, small.limits.memory_mb, small.scale) == (9, 100, "small")
    assert (smoke.grid, smoke.limits.seconds, smoke.repeats, smoke.scale) == ({"C": [0.125]}, 3, 2, "smoke")


def test_powers_are_read_wherever_a_parameter_is(tmp_path):
    reducer = {"name": "bootstrap", "C": "2^4", "weak_params": {"tol": "2^-3"}, "share": ["2^-1", 1]}
    methods = methods_of(
        load(write(tmp_path, solvers=[{"name": "smo", "C": "1e-2", "reducer": reducer}], control=False))
    )
    assert [method.reducer_params["share"] for method in methods] == [0.5, 1]
    for method in methods:
        assert method.solver_params == {"C": 0.01}
        assert (method.reducer_params["C"], method.reducer_params["weak_params"]) == (16, {"tol": 0.125})


def test_files_that_extend_each_other_are_told(tmp_path):
    write(tmp_path, "a.yaml", extends="b.yaml")
    write(tmp_path, "b.yaml", extends="a.yaml")
    with pytest.raises(InputError, match="circle"):
        load(tmp_path / "a.yaml")


@pytest.mark.parametrize("content", ["[1, 2", "- 1", "\x00", ""])
def test_what_is_no_mapping_is_told_in_one_line(tmp_path, content):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        load(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)


@pytest.mark.parametrize("path", sorted(configs_folder().rglob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", ["smoke", "small", "full"])
def test_every_experiment_that_comes_with_the_package_can_be_planned(path, scale):
    config = load(path, scale=scale)
    assert isinstance(config, Config) and expand(config)


def test_a_key_that_appears_twice_is_reported_with_its_line(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text() + "name: again\n")
    with pytest.raises(InputError, match=r"line [0-9]+: the key 'name' is given twice"):
        load(path)


@pytest.mark.parametrize(
    ("key", "said"),
    [("datasets.0.rows", "datasets is not a mapping; set it as a whole"), ("scale", "use --scale")],
)
def test_settings_that_cannot_be_laid_over_are_told(tmp_path, key, said):
    with pytest.raises(InputError, match=said):
        load(write(tmp_path), settings={key: 1})
