"""What a finished search says: the surface as a table and a picture, the winner, and what is as good."""

from __future__ import annotations

import numpy as np

SHADES = " ░▒▓█"
BLANK = "·"


class Surface:
    """Scores over C and gamma, of the best epsilon where there are several.

    Parameters
    ----------
    search : a fitted SVMSearchCV
    """

    def __init__(self, search):
        self.search = search
        self.sign = -1 if search.scorer_ == "mse" else 1
        self.mean, self.std = search.cells_.mean, search.cells_.scores.std(axis=3)
        self.best = np.unravel_index(search.best_index_, self.mean.shape)
        self.error = self.standard_error(self.best)
        self.has_gamma = search.kernel != "linear"

    def standard_error(self, cell) -> float:
        """Of the mean over the folds."""
        scores = self.search.cells_.scores[cell]
        return float(scores.std(ddof=1) / np.sqrt(scores.size)) if scores.size > 1 else 0.0

    def as_good(self) -> list[tuple]:
        """Cells within one standard error of the best."""
        limit = self.mean[self.best] - self.error
        return [cell for cell in np.ndindex(self.mean.shape) if self.mean[cell] >= limit]

    def simplest(self) -> tuple:
        """Of the cells that are as good the one with the fewest support vectors, then the smallest C."""
        vectors = self.search.cells_.vectors.mean(axis=3)
        return min(self.as_good(), key=lambda cell: (vectors[cell], cell))

    def cell(self, place: tuple) -> dict:
        """One cell as JSON has it."""
        finished = bool(np.isfinite(self.mean[place]))
        return {
            **self.search.params_of(*place),
            self.search.scorer_: self.sign * float(self.mean[place]) if finished else None,
            "std": float(self.std[place]) if finished else None,
            "vectors": float(self.search.cells_.vectors[place].mean()) if finished else None,
            "status": "finished" if finished else self.why_not(place),
        }

    def why_not(self, place: tuple) -> str:
        return "not finished" if self.search.cells_.wanted[place] else "screened out"

    def table(self) -> list[str]:
        """One line per gamma, one column per C; the best cell has an asterisk, those as good a plus sign."""
        search, e = self.search, self.best[2]
        scale = 100 if search.scorer_ in ("accuracy", "balanced_accuracy", "f1", "auc") else 1
        good = set(self.as_good())
        head = ["gamma \\ C" if self.has_gamma else "C", *(f"{C:.3g}" for C in search.C_)]
        lines = [head]
        for g, gamma in enumerate(search.gamma_):
            line = [f"{gamma:.3g}" if self.has_gamma else search.scorer_]
            for c in range(len(search.C_)):
                mark = "*" if (c, g, e) == self.best else "+" if (c, g, e) in good else " "
                value = self.mean[c, g, e]
                line.append(f"{self.sign * scale * value:.4g}{mark}" if np.isfinite(value) else "- ")
            lines.append(line)
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        return ["  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines]

    def picture(self) -> list[str]:
        """The surface in shades: darker is better, in fifths of the range from the median to the best."""
        e = self.best[2]
        plane = self.mean[:, :, e]
        low, high = np.nanmedian(plane), np.nanmax(plane)
        span = high - low or 1.0
        lines = []
        for g in reversed(range(plane.shape[1])):
            cells = []
            for c in range(plane.shape[0]):
                value = plane[c, g]
                level = int(np.clip((value - low) / span * 4 + 0.5, 0, 4)) if np.isfinite(value) else None
                shade = BLANK if level is None else SHADES[level]
                cells.append(f"[{shade}]" if (c, g, e) == self.best else shade * 3)
            gamma = f"{self.search.gamma_[g]:.3g}" if self.has_gamma else ""
            lines.append(f"{gamma:>9} |{''.join(cells)}|")
        left, right = f"{self.search.C_[0]:.3g}", f"{self.search.C_[-1]:.3g}"
        room = 3 * plane.shape[0] - len(left) - len(right)
        return [*["    gamma"] * self.has_gamma, *lines, " " * 11 + left + " " * max(1, room - 2) + "C " + right]

    def advice(self) -> list[str]:
        """Where the best cells lie at an edge of the grid, the grid may be too small."""
        scores = self.mean[np.isfinite(self.mean)]
        if scores.size > 1 and scores.min() == scores.max():
            return [f"all cells have the same {self.search.scorer_}: nothing speaks for the one that was chosen"]
        best = np.argwhere(self.mean == scores.max()).T
        return [
            f"the best {name} is the {'smallest' if place == 0 else 'largest'} of the grid: try "
            f"{'smaller' if place == 0 else 'larger'} ones, too"
            for name, axis, places in zip(("C", "gamma"), (self.search.C_, self.search.gamma_), best, strict=False)
            for place in (0, axis.size - 1)
            if axis.size > 2 and (places == place).all()
        ]
