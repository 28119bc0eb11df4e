"""A run goes into one file and is checked elsewhere: what was changed is named, and what comes out differently, too."""

import io
import json
import tarfile

from svmreduce.experiments import config, store
from svmreduce.experiments.archive import MANIFEST, Archive, _hash_of
from svmreduce.experiments.planning import expand
from svmreduce.experiments.rerun import share_of
from svmreduce.reports.render import significant
from tests.cli.commands import call, fails

CONFIG = """
name: tiny
paper: aesvm:table4
datasets: [{generator: blobs, rows: 80, test_rows: 40, as: blobs}]
grid: {C: [1, 8], gamma: [0.5]}
solvers: [smo, {name: smo, as: half, reducer: {name: random, share: 0.5}}]
baseline: smo
seeds: [0, 1]
compare: {auc: {absolute: 0.5}, vectors: {absolute: 0}}
scale: smoke
"""


def with_a_change(packed, target, *, new_hashes=0):
    """The same archive with a worse accuracy in one fit, and its line; two new hashes hide it, of file and record."""
    files = dict(Archive.read(packed).files)
    lines = files["records.jsonl"].splitlines(keepends=True)
    place = next(k for k, line in enumerate(lines) if json.loads(line)["kind"] == "fit")
    record = json.loads(lines[place])
    record["scores"]["accuracy"] -= 0.1
    lines[place] = json.dumps(record).encode() + b"\n"
    files["records.jsonl"] = b"".join(lines)
    if new_hashes:
        manifest = json.loads(files[MANIFEST])
        manifest["files"]["records.jsonl"] = _hash_of(files["records.jsonl"])
        if new_hashes > 1:
            manifest["records"][record["id"]] = _hash_of(lines[place])
        files[MANIFEST] = json.dumps(manifest).encode()
    with tarfile.open(target, "w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return target, record, place + 1


def test_from_a_run_to_what_another_finds(tmp_path):
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    folder, packed = tmp_path / "run", tmp_path / "run.tar.gz"
    assert call("run", tmp_path / "tiny.yaml", "-o", folder, "-q").exit_code == 0
    made = json.loads(call("bundle", folder, "-o", packed, "--json").stdout)
    assert (made["records"], made["missing"], made["sha256"]) == (10, 0, _hash_of(packed.read_bytes()))
    assert json.loads(call("verify", packed, "--json").stdout) == {
        "file": str(packed), "sha256": made["sha256"], "records": 10, "faults": []
    }  # fmt: skip

    checklist = Archive.read(packed).files["CHECKLIST.md"].decode()
    for words in ("10 ok", "0, 1", "C: 1, 8", "standard deviation", "processor seconds", "--paper aesvm:table4"):
        assert words in checklist, words

    seconds = sum(entry.seconds["total"] for entry in store.read(folder).records)
    (line,) = (line for line in checklist.splitlines() if "seconds of all stages" in line)
    assert line.split()[-2] == significant(seconds) and ": None" not in checklist

    for new_hashes in (0, 1):
        changed, record, line = with_a_change(packed, tmp_path / "changed.tar.gz", new_hashes=new_hashes)
        said = call("verify", changed)
        assert said.exit_code == 1 and "some of it was changed" in said.stdout
        name = f"blobs, {record['method']}, {record['point']}, fold 0, seed {record['seed']}"
        assert f"records.jsonl:{line}: was changed: {name}" in said.stderr and said.stderr.count("\n") == 1

    hidden, record, _ = with_a_change(packed, tmp_path / "hidden.tar.gz", new_hashes=2)
    said = call("verify", hidden, "--rerun", 1, "--json")
    assert "limits of auc are set by the archive" in said.stderr
    found = json.loads(said.stdout)
    (wrong,) = (cell for cell in found["cells"] if cell["verdict"] != "agrees")
    assert said.exit_code == 1 and found["faults"] == [] and len(found["cells"]) == 10
    assert wrong["method"] == record["method"] and wrong["difference"].startswith("accuracy ")
    assert sum(cell["judged"] for cell in found["cells"]) > 30

    experiment = config.load(tmp_path / "tiny.yaml")
    again, old = share_of(store.read(folder), expand(experiment), 0.5, seed=0)
    assert sum(task.kind == "fit" for task in again) == 4 and len(old.records) == len(again)
    assert {task.reduction for task in again} - {None} == {task.id for task in again if task.kind == "reduction"}

    with tarfile.open(tmp_path / "later.tar", "w") as tar:
        content = b'{"format": 2}'
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    assert "is of format 2" in fails("verify", tmp_path / "later.tar")

    records = tmp_path / "records.jsonl"
    records.write_bytes((folder / "records.jsonl").read_bytes())
    assert "a bundle needs a run folder with" in fails("bundle", records, "-o", tmp_path / "b.tar")
    assert "is not a bundle, or damaged" in fails("verify", records)
    (tmp_path / "half.tar.gz").write_bytes(packed.read_bytes()[:500])
    assert "damaged or truncated" in fails("verify", tmp_path / "half.tar.gz")
