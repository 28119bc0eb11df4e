"""DeriveRS over blocks.

DeriveRS takes two passes. The first one learns labels, scaling and where to cut, the second scatters the rows into
partitions on the disk; then every partition is derived by itself. With ``fls1``, which cuts in file order, and
nothing to learn, one pass is enough. ``fls2`` halves a class again and again in memory, each time by the distance from
another row; out of core it cuts a class once, by quantiles of the distance from its first row.
"""

from __future__ import annotations

import numpy as np

from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.block_work import BlockWork
from svmreduce.outofcore.means import BlockReduction
from svmreduce.outofcore.partition_tasks import Table
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.scanning import cut_points, row_bytes
from svmreduce.outofcore.scattering import DistanceParts
from svmreduce.reducers._partition import distinct
from svmreduce.rows import stacked
from svmreduce.types import Reduction

SAMPLE_ROWS, SAMPLE_BYTES, LEAST_SAMPLE = 1 << 17, 64 << 20, 4096  # of the rows that say where to cut


class Derivation(BlockWork):
    """DeriveRS: sections of one class, each of which keeps some rows."""

    decisive = ("epsilon", "P", "V", "first_level")
    doing, stage = "deriving", "derive"

    def run(self) -> BlockReduction:
        self.method.check_levels()
        return super().run()

    def _first_pass(self) -> dict:
        """Scaling, gamma, and for FLS2 where to cut."""
        fls2 = self.method.first_level == "fls2" and self.method.epsilon > 0
        rows = min(SAMPLE_ROWS, max(LEAST_SAMPLE, SAMPLE_BYTES // self._row_bytes()))
        found, kernel, plan = self._learned(BlockSample(rows=rows) if fls2 else None)
        return plan | {"edges": cut_points(found, kernel, self.method.P) if fls2 else None}

    def _scatter(self, plan: dict, files: RowFiles) -> dict:
        found = self._cut(plan, files, DistanceParts(plan, files.is_sparse))
        sections = [section for written in found.pop("written") for section in self._sections(*written)]
        return {"task": "derive", "V": self.method.V, "epsilon": self.method.epsilon, **found, "sections": sections}

    def _sections(self, code: int, name: str, rows: int) -> list[tuple]:
        """FLS1 cuts after every P rows; a part of FLS2 that has become too large is cut into equal ones."""
        step = self.method.P
        if self.method.first_level == "fls2" and rows > step:
            step = -(-rows // -(-rows // step))
        return [(code, name, start, min(rows, start + step)) for start in range(0, rows, step)]

    def _together(self, table: Table, plan: dict) -> BlockReduction:
        """What all partitions keep, in the order of the source."""
        content, held = table.content, 0
        parts, codes, worst, cells = [], [], 0.0, 0
        for section, X, arrays in table.results():
            held += row_bytes(X) * X.shape[0]
            if held > self.means.memory_bytes:
                raise InputError(f"{self.blocks.name}: the kept rows alone need more than --memory allows: give a "
                                 f"larger epsilon than {self.method.epsilon:g}, or more by --memory")  # fmt: skip
            parts.append((X, arrays["beta"], arrays["numbers"]))
            codes.append(np.full(X.shape[0], section.code))
            worst, cells = max(worst, float(arrays["facts"][0])), cells + int(arrays["facts"][1])
        numbers = np.concatenate([part[2] for part in parts])
        order = np.argsort(numbers)
        X, weights = stacked([part[0] for part in parts])[order], np.concatenate([part[1] for part in parts])[order]
        codes, numbers = np.concatenate(codes)[order], numbers[order]
        if self.method.epsilon == 0:  # equal rows of different partitions
            kept = distinct(X, weights, codes)
            X, codes, numbers, weights = X[kept.kept], codes[kept.kept], numbers[kept.kept], kept.beta
        kernel = self.method.kernel_ = table.kernel
        info = {"kept": len(codes), "rows": sum(content["counts"]), "cells": cells, "partitions": len(table.sections)}
        info |= {"residual_max": worst, "seconds": self.seconds}
        reduction = Reduction(X, np.array(content["labels"])[codes], weights, numbers, info)
        counts = dict(zip(content["labels"], content["counts"], strict=True))
        scaler = plan["scaler"] and Scaler.from_json(plan["scaler"])
        return BlockReduction(reduction, scaler, counts, kernel)
