"""Folds of repeated cross-validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Ints


def repeated_folds(
    n: int, n_splits: int, n_repeats: int, rng: np.random.Generator
) -> Iterator[Ints]:
    """Yield the test items of each fold; items are the numbers 0 to n - 1.

    Each repeat assigns all items to `n_splits` folds anew at random.
    """
    for _ in range(n_repeats):
        shuffled_items = rng.permutation(n)
        yield from np.array_split(shuffled_items, n_splits)
