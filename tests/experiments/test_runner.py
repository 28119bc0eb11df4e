"""The fault drill: whatever a method does, every other record survives and the rerun makes only what is missing."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future
from operator import attrgetter
from types import SimpleNamespace

import pytest
import yaml

from svmreduce.cluster import await_workers
from svmreduce.errors import InputError
from svmreduce.experiments import runner, store
from svmreduce.experiments.config import load
from svmreduce.experiments.engines import open_engine
from svmreduce.experiments.planning import expand

BOARD = {"generator": "checkerboard", "rows": 120, "test_rows": 100, "as": "board"}


def write(tmp_path, **content):
    base = {"name": "drill", "datasets": [BOARD], "grid": {"C": [1, 2, 4]}, "control": False,
            "solvers": ["smo"], "limits": {"seconds": 60}}  # fmt: skip
    path = tmp_path / "drill.yaml"
    path.write_text(yaml.safe_dump(base | content))
    return path


def run(config, folder, *, jobs=1, rerun="", engine="local"):
    """The records of the whole agenda, and how many of them were made now."""
    earlier = store.read(folder) if (folder / store.RECORDS).exists() else None
    agenda = runner.make_agenda(config, expand(config), earlier, folder, engine=engine, rerun=rerun)
    with store.Store(folder) as writer, open_engine(engine, jobs=jobs, threads=1) as workers:
        return runner.execute(agenda, writer, workers), len(agenda.todo)


@pytest.fixture(scope="module")
def three_records(tmp_path_factory):
    """The folder of a whole run of ``write``'s three fits; to be copied."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(load(write(folder)), folder / "run")[1] == 3
    return folder / "run"


def faulty(name):
    return {"name": f"tests.experiments.faulty:{name}", "as": name}


FAULTS = {
    "Raises": ("error", "ZeroDivisionError: a fault of its own"),
    "Allocates": ("memory", "ended when it took more than 900 MB"),
    "Exits": ("crash", "the worker process ended by itself (exit code 7)"),
    "Sleeps": ("timeout", "ended after its limit of 4 s"),
}


@pytest.mark.parametrize(("methods", "seconds"), [(["Raises", "Allocates", "Exits"], 100), (["Sleeps"], 4)])
def test_each_fault_is_a_row_with_its_reason_and_the_others_survive(tmp_path, methods, seconds, monkeypatch):
    monkeypatch.setattr("svmreduce.experiments.worker_process.LOG_TAIL", 30_000)  # however long the paths here are
    limits = {"seconds": seconds, "memory_mb": 900}
    config = load(write(tmp_path, solvers=["smo", *map(faulty, methods)], limits=limits))
    folder = tmp_path / "run"
    records, made = run(config, folder, jobs=2)
    assert made == len(records) == 3 + 3 * len(methods)
    for record in records:
        if record.method in FAULTS and record.point["C"] == 2:
            assert (record.status, record.reason) == FAULTS[record.method]
        else:
            assert record.status == "ok" and record.scores["accuracy"] > 0.5, record
        if record.status == "error":
            assert "about to divide" in record.log and "ZeroDivisionError" in record.log
    assert {record.id for record in store.read(folder).records} == {record.id for record in records}
    # failed rows are kept as they are, unless asked for; then only they are made again
    assert run(config, folder)[1] == 0
    again = runner.make_agenda(config, expand(config), store.read(folder), folder, rerun="failed")
    assert Counter(task.method for task in again.todo) == dict.fromkeys(methods, 1)


def test_a_failed_reduction_skips_its_fits_with_the_reason(tmp_path):
    bad = {"name": "smo", "as": "bad", "reducer": {"name": "derive_rs", "P": 10, "V": 20, "gamma": 1.0}}
    records, _ = run(load(write(tmp_path, solvers=["smo", bad], control=True)), tmp_path / "run")
    by_kind = {kind: [r for r in records if r.kind == kind and r.method.startswith("bad")]
               for kind in ("reduction", "fit")}  # fmt: skip
    assert [r.status for r in by_kind["reduction"]] == ["error", "skipped"]  # and its control, of unknown size
    assert all(r.status == "skipped" and "P must be at least V" in r.reason for r in by_kind["fit"])
    assert all(r.status == "ok" for r in records if r.method == "smo")


def test_a_reduction_is_shared_by_all_C_and_its_control_has_its_size(tmp_path):
    aesvm = {"name": "smo", "as": "AESVM", "reducer": {"name": "derive_rs", "epsilon": 0.1}}
    config = load(write(tmp_path, solvers=[aesvm], control=True, grid={"C": [1, 4], "gamma": [0.5, 2.0]}))
    records, _ = run(config, tmp_path / "run")
    reductions = {r.id: r for r in records if r.kind == "reduction"}
    assert Counter(r.reducer for r in reductions.values()) == {"derive_rs": 2, "random": 2}
    for record in (r for r in records if r.kind == "fit"):
        assert record.sizes["kept_rows"] == reductions[record.reduction].sizes["kept_rows"] < 120
        assert record.reducer == "random" or record.point["gamma"] == reductions[record.reduction].point["gamma"]
    kept = {r.point["gamma"]: r.sizes["kept_rows"] for r in reductions.values() if r.reducer == "derive_rs"}
    controls = sorted(r.sizes["kept_rows"] for r in reductions.values() if r.reducer == "random")
    assert controls == sorted(kept.values())
    # a lost file of kept rows is made again, and nothing else
    (tmp_path / "run" / "reductions" / f"{next(iter(reductions))}.npz").unlink()
    assert run(config, tmp_path / "run")[1] == 1


def test_a_full_disk_stops_the_run_with_all_earlier_records_safe(tmp_path, monkeypatch):
    config = load(write(tmp_path))
    real, calls = os.write, []

    def full_disk(file, data):
        calls.append(file)
        if len(calls) == 2:
            return real(file, data[: len(data) // 2])
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(store.os, "write", full_disk)
    with pytest.raises(store.StoreError, match="all earlier records are safe"):
        run(config, tmp_path / "run")
    monkeypatch.undo()
    found = store.read(tmp_path / "run")
    assert (len(found.records), found.unreadable) == (1, 0)
    assert run(config, tmp_path / "run")[1] == 2


def test_a_truncated_last_line_costs_only_that_record(tmp_path, three_records):
    config = load(write(tmp_path))
    shutil.copytree(three_records, tmp_path / "run")
    path = tmp_path / "run" / store.RECORDS
    path.write_bytes(path.read_bytes()[:-40])
    assert (len(store.read(path).records), store.read(path).unreadable) == (2, 1)
    records, made = run(config, tmp_path / "run")
    assert made == 1 and len(store.read(path).records) == len(records) == 3


def _heed_ctrl_c():
    """A shell that starts the tests in the background has them, and all they start, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def stuck_run(tmp_path, monkeypatch):
    """A run of four fits in a process of its own that has made two records and waits in the third fit."""
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    config = write(tmp_path, solvers=[faulty("WaitsForGate")], grid={"C": [1, 4, 2, 8]})
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "svmreduce", "run", str(config), "-o", str(folder)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=_heed_ctrl_c
    )
    wait_for(lambda: (folder / store.RECORDS).exists() and (folder / store.RECORDS).read_bytes().count(b"\n") == 2)
    yield process, command, folder
    (tmp_path / "gate").touch()
    process.kill()


def test_a_killed_run_loses_only_the_fits_in_flight_and_leaves_no_worker(stuck_run, tmp_path):
    process, command, folder = stuck_run
    locked = subprocess.run(command, capture_output=True, text=True)
    assert locked.returncode == 2 and f"process {process.pid}" in locked.stderr
    workers = children_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not any(alive(pid) for pid in workers))
    assert len(store.read(folder).records) == 2
    (tmp_path / "gate").touch()
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "reused 2 of 4 records" in finished.stderr
    assert len(store.read(folder).records) == 4


def test_ctrl_c_says_how_to_go_on(stuck_run):
    process, _, folder = stuck_run
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "The same command resumes the run" in errors
    assert "Traceback" not in errors
    assert len(store.read(folder).records) == 2


def test_other_code_or_another_machine_means_run_again(tmp_path, monkeypatch, three_records):
    config = load(write(tmp_path))
    there = runner.environment.describe()
    assert not runner.make_agenda(config, expand(config), store.read(three_records), three_records).todo
    for change in ({"code": "other"}, {"host": "elsewhere"}, {"versions": {}}):
        monkeypatch.setattr(runner.environment, "describe", lambda change=change: there | change)
        agenda = runner.make_agenda(config, expand(config), store.read(three_records), three_records)
        assert len(agenda.todo) == 3, change


def test_dask_gives_the_same_figures_and_survives_a_lost_worker(tmp_path):
    pytest.importorskip("distributed")
    aesvm = {"name": "smo", "as": "AESVM", "reducer": {"name": "derive_rs", "epsilon": 0.1}}
    config = load(write(tmp_path, solvers=["smo", "libsvm", aesvm], control=True, grid={"C": [1, 4, 16, 64]}))
    here, _ = run(config, tmp_path / "local", jobs=2)
    agenda = runner.make_agenda(config, expand(config), None, tmp_path / "dask", engine="dask")
    killed = []

    def kill_one_worker(record):
        if not killed:
            pids = list(workers._client.run(os.getpid).values())
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    with store.Store(tmp_path / "dask") as writer, open_engine("dask", jobs=2, threads=1) as workers:
        there = runner.execute(agenda, writer, workers, kill_one_worker)
    assert killed
    figures = attrgetter("id", "status", "sizes", "counters", "scores")
    assert list(map(figures, here)) == list(map(figures, there))
    assert {r.engine for r in there} == {"dask"} and all(r.environment["load"] is not None for r in there)


def test_a_worker_takes_its_children_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GATE", str(tmp_path / "pid"))
    config = load(write(tmp_path, solvers=[faulty("LeavesChild")], grid={"C": [2]}, limits={"seconds": 4}))
    (record,), _ = run(config, tmp_path / "run")
    assert record.status == "timeout"
    wait_for(lambda: not alive(int((tmp_path / "pid").read_text())), 10)


def test_a_method_that_changes_the_folder_does_not_lose_the_files_of_others(tmp_path, monkeypatch):
    rows = "".join(f"{1 - 2 * (k % 2)} 1:{k} 2:{k * k % 7}\n" for k in range(40))
    (tmp_path / "own.txt").write_text(rows)
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.chdir(tmp_path)
    config = load(write(tmp_path, solvers=[faulty("GoesElsewhere")], datasets=[{"file": "own.txt"}], seeds=[0, 1]))
    records, _ = run(config, tmp_path / "run")
    assert {record.status for record in records} == {"ok"}


def test_a_report_has_the_records_of_the_plan_under_its_names(tmp_path):
    """Records of other settings in the same folder are counted, not mixed in; names are those of the last run."""
    folder = tmp_path / "run"
    for changes in ({"threads": 2}, {}, {"solvers": [{"name": "smo", "as": "mine"}], "baseline": "mine"}):
        config = load(write(tmp_path, **changes))
        earlier = store.read(folder, planned_only=False) if folder.exists() else None
        agenda = runner.make_agenda(config, expand(config), earlier, folder)
        with store.Store(folder) as writer, open_engine("local", jobs=1, threads=1) as workers:
            writer.write_plan(agenda.as_dict())
            runner.execute(agenda, writer, workers)
    assert not agenda.todo  # a new name is no new task
    found = store.read(folder)
    assert (len(found.records), found.other, found.missing) == (3, 3, 0)
    assert {(record.method, record.baseline) for record in found.records} == {("mine", "mine")}
    assert {record.environment["threads"] for record in found.records} == {1}


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def children_of(pid):
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def alive(pid):
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


class _Lost:
    """An engine whose scheduler goes away with the second task."""

    name, slots = "dask", 1

    def __init__(self):
        self.submitted = 0

    def submit(self, message, seconds, memory_mb):
        future = Future()
        self.submitted += 1
        if self.submitted == 1:
            future.set_result({"status": "ok", "reason": ""})
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_a_scheduler_that_is_lost_while_its_workers_are_awaited_is_one_line():
    def lost(*_, **__):
        raise ConnectionResetError("by peer")

    with pytest.raises(InputError, match="scheduler was lost"):
        await_workers(SimpleNamespace(wait_for_workers=lost), "tcp://nowhere")


def test_what_was_cancelled_is_not_recorded(tmp_path):
    config = load(write(tmp_path))
    agenda = runner.make_agenda(config, expand(config), None, tmp_path / "run", engine="dask")
    with store.Store(tmp_path / "run") as writer, pytest.raises(InputError, match="start the same run again"):
        runner.execute(agenda, writer, _Lost())
    assert [record.status for record in store.read(tmp_path / "run").records] == ["ok"]


def test_a_full_disk_names_the_file_of_a_reduction(tmp_path, monkeypatch):
    def full(self, *_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("svmreduce.data.files.open", full, raising=False)
    path = tmp_path / "reductions" / "abc.npz"
    with pytest.raises(InputError, match=r"abc\.npz: cannot be written \(No space left on device\)"):
        runner._keep(path, b"rows")


def test_a_point_is_selected_on_the_training_rows_once_for_all_methods_of_a_kernel(tmp_path):
    grid = {"C": [0.01, 10, 100], "gamma": ["scale", 4], "kernel": ["rbf"]}
    solvers = ["smo", "libsvm", "liblinear", {"name": "smo", "kernel": "linear", "as": "line"}]
    config = load(write(tmp_path, solvers=solvers, grid=grid, select={"folds": 3}, split={"folds": 2}))
    folder = tmp_path / "run"
    agenda = runner.make_agenda(config, expand(config), None, folder)
    with store.Store(folder) as writer, open_engine("local", jobs=1, threads=1) as workers:
        writer.write_plan(agenda.as_dict())
        runner.execute(agenda, writer, workers)
    read = store.read(folder)
    selections = [record for record in read.records if record.kind == "selection"]
    assert Counter(record.method for record in selections) == {"smo": 2, "libsvm": 2, "line": 2}
    assert len({record.id for record in selections}) == 4 and all(record.is_ok for record in selections)
    assert run(config, folder)[1] == 0  # nothing is made again
    figures = {row["method"]: row for row in read.summary}
    for label in ("smo", "libsvm"):
        cells = read.methods["board"][label]
        points = {record.fold: record.counters["chosen"] for record in selections if record.method == label}
        expected = [cell.accuracy for place, cell in cells.done.items()
                    if dict(place.point) == points[place.split[0]] | {"kernel": "rbf"}]  # fmt: skip
        assert len(expected) == 2 and figures[label]["chosen_accuracy"] == pytest.approx(sum(expected) / 2)

    assert figures["line"]["chosen_accuracy"] is not None and figures["liblinear"]["chosen_accuracy"] is None
