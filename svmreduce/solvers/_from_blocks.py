"""What a solver that can train on blocks remembers of them."""

from __future__ import annotations


class FromBlocks:
    """The scaling that was learned from blocks is applied to new rows; a fit in memory forgets it.

    Attributes
    ----------
    scaler_, rows_ : after ``fit_blocks``: what it was told to learn, and the number of all rows
    """

    def _remember_blocks(self, blocks, classes, scaler, rows: int) -> None:
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_, self.classes_ = blocks.n_features, classes
        self.scaler_, self.rows_ = scaler, rows

    def _forget_blocks(self) -> None:
        for name in ("scaler_", "rows_"):
            vars(self).pop(name, None)

    def _new_rows(self, X):
        X, options = super()._new_rows(X)
        scaler = getattr(self, "scaler_", None)
        return X if scaler is None else scaler.transform(X), options
