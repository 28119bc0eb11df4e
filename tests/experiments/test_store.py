"""Records on disk: what is written can be read, whatever happened in between."""

import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from svmreduce.errors import InputError
from svmreduce.experiments.records import Record
from svmreduce.experiments.store import NothingRecorded, Store, StoreError, read
from tests.reports import made_up
from tests.reports.made_up import write


def record(**given) -> Record:
    return Record.from_json(made_up.record(**given))


def test_what_is_appended_is_read(tmp_path):
    made = [record(fold=fold) for fold in range(3)]
    with Store(tmp_path / "new" / "run") as store:
        for entry in made:
            store.append(entry)
            assert read(tmp_path / "new" / "run").records[-1] == entry  # on disk before the next one
    found = read(tmp_path / "new" / "run")
    assert (found.records, found.unreadable, found.config) == (made, 0, {})
    assert read(found.path).records == made  # the file by its own name


def test_of_two_records_of_one_id_the_later_one_counts(tmp_path):
    first, other, again = record(fold=0, accuracy=0.5), record(fold=1), record(fold=0, accuracy=0.7)
    found = read(write(tmp_path, [entry.to_json() for entry in (first, other, again)])).records
    assert found == [other, again]


def test_records_are_strict_json(tmp_path):
    odd = record(accuracy=float("nan"), solve=np.inf, n_iter=np.int64(7), gap=np.float32(0.5), reason="ä\n\udcff",
                 residual_max=np.array([1.0, np.nan]))  # fmt: skip
    with Store(tmp_path) as store:
        store.append(odd)

    def refuse(name):
        raise AssertionError(name)

    lines = (tmp_path / "records.jsonl").read_bytes().splitlines()
    assert len(lines) == 1
    back = json.loads(lines[0], parse_constant=refuse)
    assert (back["scores"]["accuracy"], back["seconds"]["solve"], back["counters"]["residual_max"]) == (
        None,
        None,
        [1.0, None],
    )
    assert (back["counters"]["n_iter"], back["counters"]["gap"], back["reason"]) == (7, 0.5, "ä\n\udcff")


@pytest.mark.parametrize("cut", [1, 30, -3])
def test_a_cut_off_last_line_is_counted_and_stays_alone(tmp_path, cut):
    made = [record(fold=fold) for fold in range(3)]
    file = write(tmp_path, [entry.to_json() for entry in made]) / "records.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
    before = file.read_bytes()
    found = read(tmp_path)
    assert (found.records, found.unreadable) == (made[:2], 1)
    with Store(tmp_path) as store:
        assert file.read_bytes() == before  # opening alone changes nothing
        store.append(made[2])
    assert file.read_bytes() == before + b"\n" + lines[2]
    found = read(tmp_path)
    assert (found.records, found.unreadable) == (made, 1)


def test_a_last_line_that_only_lacks_its_end_is_a_record(tmp_path):
    file = write(tmp_path, [made_up.record()]) / "records.jsonl"
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    with Store(tmp_path) as store:
        store.append(record(fold=1))
    assert [entry.fold for entry in read(tmp_path).records] == [0, 1]


def without(key) -> bytes:
    return json.dumps({name: value for name, value in made_up.record(fold=9).items() if name != key}).encode()


@pytest.mark.parametrize(
    "line",
    [
        without("method"),
        without("seconds"),
        b"{}",
        b"[1]",
        b"12",
        b"\xff\xfe",
        b"\x00" * 40,
        b'{"id": "x"',
        b"[" * 100000,
    ],
)
def test_a_line_that_is_no_record_is_counted(tmp_path, line):
    file = write(tmp_path, [made_up.record()]) / "records.jsonl"
    file.write_bytes(line + b"\n\n" + file.read_bytes())
    found = read(tmp_path)
    assert (len(found.records), found.unreadable) == (1, 1)


@pytest.mark.parametrize("damage", [{"seed": [0]}, {"fold": "a"}, {"scores": {"accuracy": "x"}}, {"seconds": 3}])
def test_a_record_with_words_for_numbers_is_counted_as_unreadable(tmp_path, damage):
    write(tmp_path, [made_up.record(), made_up.record(method="other") | damage])
    found = read(tmp_path)
    assert (len(found.records), found.unreadable) == (1, 1)


def test_reading_writes_nothing(tmp_path):
    write(tmp_path, [made_up.record()])
    read(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_the_config_beside_the_records(tmp_path):
    write(tmp_path, [made_up.record()])
    (tmp_path / "config.yaml").write_text("name: smoke\ncompare: {accuracy: {absolute: 0.01}}\n")
    assert read(tmp_path).config["compare"] == {"accuracy": {"absolute": 0.01}}
    (tmp_path / "config.yaml").write_text("name: [")
    assert len(read(tmp_path).records) == 1  # nobody asked for the config
    with pytest.raises(InputError, match=r"config\.yaml: not YAML: .*restore or remove it"):
        assert read(tmp_path).config


def test_nothing_recorded(tmp_path):
    todo = r"run the experiment .*\(svmreduce run CONFIG\)"
    with pytest.raises(NothingRecorded, match=rf"nowhere: no such run folder or record file; .*{todo}"):
        read(tmp_path / "nowhere")
    with pytest.raises(NothingRecorded, match=rf"has no records\.jsonl; .*{todo}"):
        read(tmp_path)
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(NothingRecorded, match=rf"records\.jsonl: is empty; {todo}"):
        read(tmp_path)
    (tmp_path / "records.jsonl").write_text("no\nrecord\n")
    with pytest.raises(NothingRecorded, match=rf"no record among its 2 lines; {todo}"):
        read(tmp_path)


def test_two_writers_exclude_each_other(tmp_path):
    with Store(tmp_path), pytest.raises(InputError) as refused:
        Store(tmp_path)
    text = str(refused.value)
    assert text.startswith(f"{tmp_path}: process {os.getpid()} on {platform.node()}, since 20")
    assert text.endswith("is writing to this run; wait until it ends, or stop it, then start again")
    with Store(tmp_path) as store:  # free again
        store.append(record())
    assert len(read(tmp_path).records) == 1


def test_the_lock_ends_with_its_process_however_that_ends(tmp_path):
    code = "import sys, os, signal; from svmreduce.experiments.store import Store; s = Store(sys.argv[1]);"
    code += "print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=f"process {other.pid} on "):
            Store(tmp_path)
        other.kill()
        other.wait()
        assert json.loads((tmp_path / "lock").read_text())["pid"] == other.pid  # left behind, and in nobody's way
        Store(tmp_path).close()


def test_spawned_workers_do_not_hold_the_lock(tmp_path):
    """A worker that outlives a killed run must not keep the next one out."""
    store = Store(tmp_path)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=_wait_for_word, args=(there,))
    worker.start()
    try:
        store.close()
        Store(tmp_path).close()
    finally:
        here.send("go")
        worker.join()


def _wait_for_word(connection):
    connection.recv()


@contextmanager
def file_size_limit(size):
    """The kernel refuses to let any file grow beyond this, as a full disk does: a part first, then an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_failing_write_leaves_every_earlier_record(tmp_path):
    with Store(tmp_path) as store:
        store.append(record(fold=0))
        before = store.path.read_bytes()
        with file_size_limit(len(before) + 100), pytest.raises(StoreError) as failure:
            store.append(record(fold=1))
        assert store.path.read_bytes() == before
        error = failure.value
        assert isinstance(error, OSError) and error.filename == str(store.path)
        assert error.strerror.startswith("File too large; all earlier records are safe")
        store.append(record(fold=1))  # there is room again
    found = read(tmp_path)
    assert ([entry.fold for entry in found.records], found.unreadable) == ([0, 1], 0)


def test_half_a_line_that_cannot_be_taken_back_stays_alone(tmp_path, monkeypatch):
    def refuse(file, size):
        raise OSError(5, "Input/output error")

    with Store(tmp_path) as store:
        store.append(record(fold=0))
        size = store.path.stat().st_size
        with monkeypatch.context() as patch, file_size_limit(size + 100), pytest.raises(StoreError):
            patch.setattr(os, "ftruncate", refuse)
            store.append(record(fold=1))
        assert store.path.stat().st_size == size + 100
        store.append(record(fold=1))
    found = read(tmp_path)
    assert ([entry.fold for entry in found.records], found.unreadable) == ([0, 1], 1)


def test_a_failing_sync_is_a_failing_write(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError(28, "No space left on device")

    with Store(tmp_path) as store:
        store.append(record(fold=0))
        with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left on device"):
            patch.setattr(os, "fsync", refuse)
            store.append(record(fold=1))
    assert [entry.fold for entry in read(tmp_path).records] == [0]


@pytest.mark.parametrize(
    "damage",
    [
        {"environment": 3}, {"environment": {"versions": [1]}}, {"environment": {"load": "high"}}, {"counters": [1]},
        {"point": "C"}, {"solver_params": [1]}, {"reason": 5}, {"experiment": {}}, {"started": 3}, {"cpu_seconds": 1},
        {"kind": "guess"}, {"status": "great"}, {"sizes": {"kept_rows": 10**400}}, {"log": ["x"]}, {"engine": 1},
    ],
)  # fmt: skip
def test_a_record_of_odd_types_is_counted_as_unreadable(tmp_path, damage):
    write(tmp_path, [made_up.record(), made_up.record(method="other") | damage])
    found = read(tmp_path)
    assert (len(found.records), found.unreadable) == (1, 1)


def test_a_record_without_an_environment_is_read(tmp_path):
    bare = {name: value for name, value in made_up.record().items() if name != "environment"}
    assert read(write(tmp_path, [bare])).records[0].environment == {}


@pytest.mark.parametrize(
    "plan", ["{}", "3", "[]", "null", '{"tasks": 3}', "[" * 100_000, "{", '{"tasks": [{"id": []}]}']
)
def test_a_damaged_plan_is_one_line_that_says_so(tmp_path, plan):
    write(tmp_path, [made_up.record()])
    (tmp_path / "plan.json").write_text(plan)
    with pytest.raises(InputError, match=r"plan.json: is damaged; run the experiment again"):
        read(tmp_path)
    assert len(read(tmp_path, planned_only=False).records) == 1  # which is what resuming reads


def test_a_plan_without_any_of_its_records_says_so(tmp_path):
    write(tmp_path, [made_up.record()])
    plan = {"experiment": "x", "scale": "small", "baseline": None, "tasks": [{"id": "other"}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(NothingRecorded, match="none of its 1 planned records is there yet, only 1 of other settings"):
        read(tmp_path)


def test_a_full_disk_names_the_file(tmp_path):
    """Of the plan and of the config as of the records."""
    code = (
        "import resource, signal, sys; from svmreduce.experiments.store import Store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with Store(sys.argv[1]) as store:\n"
        "    getattr(store, sys.argv[2])('x' * 5000)\n"
    )
    for method, name in (("write_plan", "plan.json"), ("write_config", "config.yaml")):
        done = subprocess.run([sys.executable, "-c", code, tmp_path, method], capture_output=True, text=True)
        assert f"InputError: {tmp_path / name}: cannot be written (File too large)" in done.stderr
