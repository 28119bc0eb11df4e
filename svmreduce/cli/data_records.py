"""What ``svmreduce data`` says of a set of rows that was read or made."""

from __future__ import annotations


def count_text(counts: dict[str, int]) -> str:
    shown = [f"{label}: {count}" for label, count in counts.items()]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:12], f"… ({len(shown)} classes)"])


def record_of(rows, name: str, split: str) -> dict:
    from svmreduce.label_keys import count_labels

    is_classes = rows.task == "classification"
    return {
        "name": name,
        "split": split,
        "rows": rows.n_rows,
        "features": rows.n_features,
        "task": rows.task,
        "label_counts": count_labels(rows.y) if is_classes else None,
        "sha256": rows.sha256,
    }


def record_text(record: dict) -> str:
    start = f"{record['name']} {record['split']}: "
    if "error" in record:
        return start + record["error"]
    counts = f", labels {count_text(record['label_counts'])}" if record["label_counts"] else ""
    return start + f"{record['rows']} rows, {record['features']} features{counts}"
