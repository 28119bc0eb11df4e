"""Data files (LIBSVM, CSV, IDX), weights and model files, each against another reader.

A linear model with known weights predicts the file; what it says of every row follows from what the other reader has
read, so that a row, a column or a label that was misread shows.
"""

import csv
import gzip
import io
import json
import math
import re
import struct

import numpy as np

from svmreduce.solvers.smo import SMO
from tests.data.test_fuzz_libsvm import reference_parse
from tests.drill import mutate
from tests.drill.outcomes import REFUSED, RIGHT, STRICT, UNCONFIRMED, WRONG, Outcome, command

WIDTH = 6


def libsvm(rng, folder):
    rows = [_libsvm_row(rng) for _ in range(rng.randint(1, 12))]
    data = mutate.text(rng, "".join(rows).encode(), times := rng.choice((0, 1, 1, 1, 2, 4)))
    if packed := rng.random() < 0.1:
        data = gzip.compress(data)
        data = mutate.binary(rng, data, more := rng.choice((0, 1)))
        times += more
    (folder / "data.txt").write_bytes(data)
    answer = _predicted(folder, "data.txt")
    if isinstance(answer, Outcome):
        return _unless_good(answer, times)
    if packed:
        data = gzip.decompress(data)
    parsed, wrong = reference_parse(data)
    if wrong:
        return Outcome(WRONG, f"taken, though line {wrong[0]} is wrong")
    return _same(answer, [(label, dict(row)) for label, row in parsed])


def _libsvm_row(rng):
    columns = sorted(rng.sample(range(1, WIDTH + 1), rng.randint(0, WIDTH)))
    pairs = " ".join(f"{column}:{rng.uniform(-2, 2):.4g}" for column in columns)
    return f"{rng.choice((1, -1))} {pairs}{rng.choice(('', '', ' # note'))}\n"


def table(rng, folder):
    rows = [[f"{rng.uniform(-2, 2):.4g}" for _ in range(WIDTH)] + [rng.choice(("1", "-1"))]
            for _ in range(rng.randint(2, 12))]  # fmt: skip
    if rng.random() < 0.5:
        rows.insert(0, [*(f"x{k}" for k in range(WIDTH)), "y"])
    text = "\n".join(",".join(row) for row in rows)
    data = mutate.text(rng, (text + "\n").encode(), times := rng.choice((0, 1, 1, 1, 2, 4)))
    (folder / "data.csv").write_bytes(data)
    answer = _predicted(folder, "data.csv")
    if isinstance(answer, Outcome):
        return _unless_good(answer, times)
    try:
        read = [[field.strip() for field in row] for row in csv.reader(io.StringIO(data.decode()))]
        read = [row for row in read if any(row) and (len(row) == WIDTH + 1 or not row[0].startswith("#"))]
        if not any(map(_is_number, read[0])):
            read = read[1:]
        numbers = [[float(field) for field in row] for row in read]
        if not all(len(row) == WIDTH + 1 and all(map(math.isfinite, row)) for row in numbers):
            return Outcome(UNCONFIRMED)
    except (ValueError, csv.Error, IndexError):
        return Outcome(UNCONFIRMED)
    return _same(answer, [(row[-1], dict(enumerate(row[:-1], 1))) for row in numbers])


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def idx(rng, folder):
    n = rng.randint(1, 9)
    images, labels = bytes(rng.randrange(256) for _ in range(n * WIDTH)), bytes(rng.choice((1, 2)) for _ in range(n))
    files = {
        "images-idx3": struct.pack(">BBBBIII", 0, 0, 8, 3, n, 2, WIDTH // 2) + images,
        "labels-idx1": struct.pack(">BBBBI", 0, 0, 8, 1, n) + labels,
    }
    times = rng.choice((0, 1, 1, 2))
    which = rng.choice(list(files))
    files[which] = mutate.binary(rng, files[which], times)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    answer = _predicted(folder, "images-idx3", "1 2")
    if isinstance(answer, Outcome):
        return _unless_good(answer, times)
    X, y = (_idx(data) for data in files.values())
    if X is None or y is None or len(X) != len(y):
        return Outcome(UNCONFIRMED)
    X = X.reshape(len(X), -1)
    rows = [(label, dict(enumerate(row, 1))) for label, row in zip(y.tolist(), X.tolist(), strict=True)]
    return _same(answer, rows, negative=2)


def _idx(data):
    kinds = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    if data[:2] != b"\0\0" or data[2] not in kinds:
        return None
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    values = np.frombuffer(data[4 + 4 * data[3] :], kinds[data[2]])
    return values.reshape(shape).astype(float) if values.size == math.prod(shape) else None


WEIGHTS = [0.5, -1.25, 2.0, 0.75, -0.5, 1.5]
MODEL = ("solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 -1\nnr_feature 6\nbias 1\nw\n"
         + "".join(f"{weight}\n" for weight in WEIGHTS) + "0.125\n")  # fmt: skip


def _predicted(folder, name, labels="1 -1"):
    """Decision values and accuracy as the command has them, whether it took 0 for -1; or its Outcome."""
    (folder / "model").write_text(MODEL.replace("label 1 -1", f"label {labels}"))
    out = folder / "out"
    result = command("predict", folder / name, folder / "model", out, "--decision-values", "--json")
    if isinstance(result, Outcome):
        return result
    values = [float(line.split()[-1]) for line in out.read_text().splitlines()]
    return values, json.loads(result.stdout).get("accuracy"), "label 0 is taken for the model's -1" in result.stderr


def _same(answer, rows, negative=-1):
    values, accuracy, is_zero_minus = answer
    expected = [sum(WEIGHTS[c - 1] * v for c, v in row.items() if c <= WIDTH) + 0.125 for _, row in rows]
    if len(values) != len(expected):
        return Outcome(WRONG, f"{len(values)} rows, another reader has {len(expected)}")
    if not np.allclose(values, expected, rtol=1e-9, atol=1e-9, equal_nan=True):
        return Outcome(WRONG, f"decision values {values}, by another reader {expected}")
    if accuracy is None:  # it found no labels, and prints none of the scores
        return Outcome(UNCONFIRMED)
    labels = [-1 if is_zero_minus and label == 0 else label for label, _ in rows]
    hits = np.mean([label == (1 if value > 0 else negative) for label, value in zip(labels, values, strict=True)])
    same = abs(hits - accuracy) < 1e-9
    return Outcome(RIGHT) if same else Outcome(WRONG, f"accuracy {accuracy}, by another reader {hits}")


def _unless_good(outcome, times):
    return outcome if times or outcome.kind != REFUSED else Outcome(STRICT, outcome.why)


_X = np.random.default_rng(0).normal(size=(14, 2))
_Y = np.where(_X[:, 0] > 0, 1, -1)


def weights(rng, folder):
    lines = "".join(f"{rng.choice((1, 2.5, 0.25, 10))}\n" for _ in _Y)
    data = mutate.text(rng, lines.encode(), times := rng.choice((0, 1, 1, 2)))
    (folder / "w").write_bytes(data)
    rows = zip(_Y, _X.tolist(), strict=True)
    (folder / "train").write_text("".join(f"{y} 1:{a!r} 2:{b!r}\n" for y, (a, b) in rows))
    model = folder / "model"
    result = command("train", "--weights", folder / "w", "-g", "0.5", folder / "train", model, "--json")
    if isinstance(result, Outcome):
        return _unless_good(result, times)
    try:
        read = [float(line) for line in data.decode().split()]
        expected = SMO(gamma=0.5).fit(_X, _Y, sample_weight=read).objective_
    except ValueError as error:
        return Outcome(WRONG, f"taken, though by another reader {error}")
    found = json.loads(result.stdout)["objective"]
    if math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-300):
        return Outcome(RIGHT)
    return Outcome(WRONG, f"objective {found}, with weights as another reader has them {expected}")


_SVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 4
rho 0.25
label 1 -1
nr_sv 2 2
SV
1 1:0.5 2:-1
0.75 2:0.25 4:1
-1 1:-1.5
-0.75 3:2 4:0.5
"""


def kernel_model(rng, folder):
    data = mutate.text(rng, _SVM.encode(), times := rng.choice((0, 1, 1, 1, 2, 3)))
    (folder / "model").write_bytes(data)
    (folder / "data").write_text("1 1:1 2:0.5\n-1 2:1 3:-1\n1 4:2\n")
    rows = [{1: 1.0, 2: 0.5}, {2: 1.0, 3: -1.0}, {4: 2.0}]
    result = command("predict", folder / "data", folder / "model", folder / "out", "--decision-values")
    if isinstance(result, Outcome):
        return _unless_good(result, times)
    expected = _svm_decisions(data.decode(), rows)
    if expected is None:
        return Outcome(UNCONFIRMED)
    values = [float(line.split()[-1]) for line in (folder / "out").read_text().splitlines()]
    same = np.allclose(values, expected, rtol=1e-9, atol=1e-12)
    return Outcome(RIGHT) if same else Outcome(WRONG, f"decision values {values}, by another reader {expected}")


def _svm_decisions(text, rows):
    """By the book: Σ coef·exp(-γ‖x−v‖²) − rho, of a two-class rbf model; None for any other."""
    head, body = re.split(r"^SV[ \t\r]*\n", text, maxsplit=1, flags=re.MULTILINE)
    header = {words[0]: words[1:] for line in head.splitlines() if (words := line.split())}
    if header.get("kernel_type") != ["rbf"] or header.get("nr_class") != ["2"]:
        return None
    gamma, rho = float(header["gamma"][0]), float(header["rho"][0])
    vectors = []
    for line in body.splitlines()[: int(header["total_sv"][0])]:
        coef, *pairs = line.split()
        vectors.append((float(coef), {int(pair.split(":")[0]): float(pair.split(":")[1]) for pair in pairs}))
    return [
        sum(c * math.exp(-gamma * sum((x.get(k, 0) - v.get(k, 0)) ** 2 for k in {*x, *v})) for c, v in vectors) - rho
        for x in rows
    ]


def linear_model(rng, folder):
    data = mutate.text(rng, MODEL.encode(), times := rng.choice((0, 1, 1, 2)))
    (folder / "model").write_bytes(data)
    (folder / "data").write_text("1 1:1 2:0.5\n-1 2:1 3:-1\n1 6:2\n")
    result = command("predict", folder / "data", folder / "model", folder / "out", "--decision-values")
    if isinstance(result, Outcome):
        return _unless_good(result, times)
    head, _, body = data.decode().partition("w\n")
    header = {words[0]: words[1:] for line in head.splitlines() if (words := line.split())}
    if "SVR" in header["solver_type"][0] or header["nr_class"] != ["2"] or header["solver_type"] == ["MCSVM_CS"]:
        return Outcome(UNCONFIRMED)
    n, bias = int(header["nr_feature"][0]), float(header["bias"][0])
    read = [float(line) for line in body.splitlines()[: n + (bias >= 0)]]
    w, b = read[:n], bias * read[n] if bias >= 0 else 0.0
    rows = [{1: 1.0, 2: 0.5}, {2: 1.0, 3: -1.0}, {6: 2.0}]
    expected = [sum(w[k - 1] * v for k, v in row.items() if k <= n) + b for row in rows]
    values = [float(line.split()[-1]) for line in (folder / "out").read_text().splitlines()]
    same = np.allclose(values, expected, rtol=1e-9, atol=1e-12)
    return Outcome(RIGHT) if same else Outcome(WRONG, f"decision values {values}, by another reader {expected}")
