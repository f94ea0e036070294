"""Expected values of runs whose missing labels are drawn or a model's."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from ..collection.judgments import Judgments
from ..collection.label_draws import ObservedLabels, labels_of_model
from ._label_intervals import LabelIntervals

#: The number of labels per aspect that are drawn at a time.
_BATCH = 1 << 20


def expected_values(
    search: LabelIntervals, model: Judgments | None, n_samples: int, seed: int
) -> tuple[Floats, dict[str, int]]:
    """Return the mean values over draws, runs × topics, and the number of labels that remain missing by aspect.

    Parameters
    ----------
    search : LabelIntervals
        The measure, the universe and the runs.
    model : Judgments, optional
        Labels of a model. By default, observed labels are drawn.
    n_samples : int
        The number of draws; without one, values are NaN.
    seed : int
        Random seed of the draws.
    """
    if not n_samples:
        return np.full(search.at_lowest.shape, np.nan), search.n_missing()
    universe, topics = search.universe, search.open_topics
    values = search.at_lowest.copy()
    if not len(topics):
        return values, search.n_missing()
    in_topics = np.flatnonzero(np.isin(universe.pool_query, topics))
    lowest = search.lowest_labels(in_topics)
    if model is not None:
        complete = labels_of_model(model, universe, search.views, search.missing)
        labels = {
            name: np.where(missing[in_topics], complete[name][in_topics], lowest[name])[None]
            for name, missing in zip(search.names, search.missing, strict=True)
        }
        values[:, topics] = search.values_of_copies(topics, labels)[:, 0]
        return values, {name: int(np.isnan(label).sum()) for name, label in labels.items()}
    donors = ObservedLabels(universe, search.views, search.missing)
    column = np.searchsorted(in_topics, donors.rows)
    size = max(1, _BATCH // max(len(in_topics), 1))
    total = np.zeros((len(values), len(topics)))
    for first in range(0, n_samples, size):
        draws = np.arange(first, min(first + size, n_samples))
        labels = {name: np.tile(label, (len(draws), 1)) for name, label in lowest.items()}
        for name, drawn in donors.draw(seed, draws).items():
            labels[name][:, column] = drawn
        total += search.values_of_copies(topics, labels).sum(axis=1)
    values[:, topics] = total / n_samples
    return values, dict.fromkeys(search.names, 0)
