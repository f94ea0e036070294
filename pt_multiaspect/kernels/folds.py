"""Folds of repeated cross-validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Ints


def repeated_folds(
    n: int, n_splits: int, n_repeats: int, rng: np.random.Generator
) -> Iterator[Ints]:
    """Yield the test items of each fold, of the numbers below n.

    Each repeat assigns them to folds anew at random.
    """
    for _ in range(n_repeats):
        shuffled = rng.permutation(n)
        yield from np.array_split(shuffled, n_splits)
