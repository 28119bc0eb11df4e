"""Runs that are killed and resumed, methods that misbehave, clusters that are lost: every other record must survive."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import yaml
from distributed import Client

from svmreduce.experiments import store
from tests.drill import plug_ins
from tests.drill.outcomes import FAULT, HANG, RIGHT, WRONG, Outcome, judged

PATIENCE = 240  # seconds without a new record, in a run of a few seconds on a busy machine
_ROOT = Path(__file__).resolve().parents[2]
_MARK = "DRILL_CASE"
TALLY: Counter = Counter()  # kills and lost clusters: a case has several
BASE = {
    "name": "drill", "datasets": [{"generator": "checkerboard", "rows": 150, "test_rows": 100, "as": "board"}],
    "grid": {"C": [1, 2, 4]}, "baseline": "smo", "limits": {"seconds": 60},
    "solvers": ["smo", {"name": "smo", "as": "reduced", "reducer": {"name": "derive_rs", "epsilon": 0.1}}],
}  # fmt: skip


def kill(rng, folder):
    """Killed at random moments, then finished: the figures of an undisturbed run, and no process left."""
    expected, seconds = _reference()
    command = _command(folder, BASE, "--jobs", str(rng.choice((1, 1, 2))))
    return _killed(rng, command, folder, seconds) or _finished(command, folder, expected)


def tune_kill(rng, folder):
    """The same of a search, which goes on from its journal."""
    expected, seconds = _tune_reference()
    command = _tune_command(folder)
    if outcome := _killed(rng, command, folder, seconds) or _ended(command, folder):
        return outcome
    same = _tuned(folder) == expected
    return Outcome(RIGHT) if same else Outcome(WRONG, "scores or model differ from those of an undisturbed search")


def _killed(rng, command, folder, seconds) -> Outcome | None:
    """Start and kill a few times; an Outcome if something is left of it."""
    for _ in range(rng.choice((4, 6, 8))):
        with _started(command, folder) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, 0.9 * seconds))
            if process.poll() is not None:
                break  # it was faster
            process.send_signal(
                rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            )
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                return Outcome(HANG, "it does not end at a signal")
            TALLY["kills"] += 1
            if left := _left(folder, 5):
                return Outcome(FAULT, f"processes outlive the run: {left}")
    return None


def plug_in(rng, folder):
    """A few misbehaving methods between good ones: their own rows fail, all others are as ever."""
    expected, _ = _reference()
    names = rng.sample([name for name in plug_ins.EXPECTED if name != "Sleeps"], 3)
    if rng.random() < 0.2:
        names[0] = "Sleeps"
    bad = [{"name": f"tests.drill.plug_ins:{name}", "as": name} for name in names]
    content = BASE | {"solvers": [*BASE["solvers"], *bad], "limits": {"seconds": 5 if "Sleeps" in names else 60}}
    outcome = _finished(_command(folder, content), folder, expected, set(names), fine=(0, 3))
    if outcome.kind != RIGHT:
        return outcome
    for record in store.read(folder / "run").records:
        if record.method in names and record.status not in plug_ins.EXPECTED[record.method]:
            return Outcome(WRONG, f"{record.method} has the status {record.status}: {record.reason}")
        if record.method == "Forges" and record.scores.get("accuracy") == 1.0 and record.is_finished:
            return Outcome(WRONG, "a forged answer was believed")
    return outcome


def dask(rng, folder):
    """The scheduler is lost in the middle; with a new one, the same command goes on."""
    expected, seconds = _reference()
    content = BASE | {"grid": {"C": [1, 2, 4]}}
    with _cluster(folder) as (address, scheduler):
        command = _command(folder, content, "--engine", "dask", "--scheduler", address)
        with _started(command, folder) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.3, 1.5) * seconds)
            was_running = process.poll() is None
            scheduler.kill()
            TALLY["lost clusters"] += was_running
            try:
                _, errors = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                return Outcome(HANG, "the run goes on without a scheduler")
    if was_running and process.returncode not in (0, 2):
        return Outcome(FAULT, f"exit code {process.returncode}: {errors[-400:]}")
    if (folder / "run" / "records.jsonl").exists() and b"CancelledError" in (folder / "run/records.jsonl").read_bytes():
        return Outcome(WRONG, "what was cancelled is recorded")
    with _cluster(folder) as (address, _):
        command = _command(folder, content, "--engine", "dask", "--scheduler", address)
        return _finished(command, folder, expected)


def _command(folder, content, *options):
    (folder / "c.yaml").write_text(yaml.safe_dump(content))
    return [sys.executable, "-m", "svmreduce", "run", str(folder / "c.yaml"), "-o", str(folder / "run"), *options]


@contextmanager
def _started(command, folder):
    """A process that can be told, with all its descendants, by its environment."""
    environment = os.environ | {_MARK: str(folder), "PYTHONPATH": str(_ROOT)}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, cwd=_ROOT
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def _what_runs(folder) -> str:
    found = [process for process in psutil.process_iter() if _is_of(process, folder)]
    return ", ".join(f"{' '.join(process.cmdline()[1:6])} ({process.status()})" for process in found)


def _left(folder, seconds) -> list[str]:
    """What still runs of this case after so many seconds."""
    end = time.monotonic() + seconds
    while found := [process for process in psutil.process_iter() if _is_of(process, folder)]:
        if time.monotonic() > end:
            return [str(process) for process in found]
        time.sleep(0.1)
    return []


def _is_of(process, folder) -> bool:
    with suppress(psutil.Error, OSError):
        return process.environ().get(_MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE
    return False


def _ended(command, folder, fine=(0,)) -> Outcome | None:
    """The Outcome of a command that does not end well; it hangs if nothing in its folder grows any more."""
    with _started(command, folder) as process:
        size, since = -1, time.monotonic()
        while True:
            try:
                _, errors = process.communicate(timeout=5)
                break
            except subprocess.TimeoutExpired:
                before, size = size, sum(file.stat().st_size for file in folder.rglob("*.jsonl"))
                since = time.monotonic() if size != before else since
                if time.monotonic() - since > PATIENCE:
                    return Outcome(HANG, f"nothing new in {PATIENCE} s: {_what_runs(folder)}")
    if outcome := judged(process.returncode, errors, fine):
        return Outcome(FAULT, outcome.why)
    left = _left(folder, 5)
    return Outcome(FAULT, f"processes outlive the run: {left}") if left else None


def _finished(command, folder, expected, but: set = frozenset(), fine=(0,)) -> Outcome:
    """Run to the end, and compare what is recorded with what should be."""
    if outcome := _ended(command, folder, fine):
        return outcome
    found = _figures(folder / "run", but)
    if found != expected:
        differ = [key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key)]
        return Outcome(
            WRONG, f"{len(differ)} records differ, such as {found.get(differ[0])}, not {expected.get(differ[0])}"
        )
    return Outcome(RIGHT)


def _figures(run, but: set = frozenset()) -> dict:
    return {
        record.id: (record.method, record.status, record.sizes, record.counters, record.scores)
        for record in store.read(run).records
        if record.method not in but
    }


@cache
def _reference() -> tuple[dict, float]:
    return _undisturbed(lambda folder: _command(folder, BASE), lambda folder: _figures(folder / "run"))


@cache
def _tune_reference() -> tuple[tuple, float]:
    return _undisturbed(_tune_command, _tuned)


def _undisturbed(command, read):
    """What a command leaves that nothing disturbs, and how long the second of two takes."""
    for _ in range(2):
        with TemporaryDirectory() as folder:
            folder, start = Path(folder), time.monotonic()
            if outcome := _ended(command(folder), folder):
                raise RuntimeError(f"the undisturbed run failed: {outcome}")
            found, seconds = read(folder), time.monotonic() - start
    return found, seconds


def _tune_command(folder):
    """A search that takes about as long as its start."""
    rng = random.Random(0)
    rows = [(rng.choice((1, -1)), rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(300)]
    (folder / "rows").write_text("".join(f"{y} 1:{y * 0.5 + a:.4f} 2:{b:.4f}\n" for y, a, b in rows))
    grid = ["--log2c", "-3,7,1", "--log2g", "-6,4,0.5", "--folds", "3", "--threads", "1", "-q"]
    state = ["--state", str(folder / "state.jsonl")]
    return [sys.executable, "-m", "svmreduce", "tune", *grid, *state, str(folder / "rows"), str(folder / "model")]


def _tuned(folder) -> tuple:
    """The scores by gamma and fold, each once, and the model."""
    entries = [json.loads(line[9:]) for line in (folder / "state.jsonl").read_text().splitlines()[1:]]
    return sorted((entry["key"], entry["result"]["scores"]) for entry in entries), (folder / "model").read_bytes()


@contextmanager
def _cluster(folder):
    """A dask scheduler and one worker as processes; the address, and the scheduler."""
    place = folder / "scheduler.json"
    place.unlink(missing_ok=True)
    common = ["--scheduler-file", str(place)]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *common]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", "1", "--nthreads", "1",
              "--death-timeout", str(PATIENCE), "--no-dashboard", "--local-directory", str(folder),
              *common]  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": _ROOT}
    processes = [subprocess.Popen(scheduler, **quiet)]
    try:
        end = time.monotonic() + PATIENCE
        while not (place.exists() and place.read_text().strip().endswith("}")):
            if time.monotonic() > end:
                raise RuntimeError("no scheduler")
            time.sleep(0.1)
        processes.append(subprocess.Popen(worker, **quiet))
        address = yaml.safe_load(place.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
        yield address, processes[0]
    finally:
        for process in processes:
            with suppress(psutil.Error):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()
            process.wait()
