"""Training on each target, and the values of the measures on the test queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pt_multiaspect as ma

from .worlds import World

#: The parameters of LightGBM's lambdarank that are not defaults.
PARAMS: dict[str, Any] = {
    "n_estimators": 60,
    "learning_rate": 0.1,
    "num_leaves": 7,
    "min_child_samples": 10,
    "n_jobs": 1,
    "random_state": 0,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}


def _lightgbm(grades: bool) -> Any:
    # LightGBM's default gains are 2^grade - 1; those of the measures are linear. Targets that are no grades are
    # learnt as they are.
    return LGBMRanker(**PARAMS, label_gain=list(range(256)) if grades else None)


def _linear(grades: bool) -> Any:
    return make_pipeline(StandardScaler(), Ridge(alpha=100))


#: Name of a learner -> the estimator, given whether the target is a grade.
LEARNERS: dict[str, Callable[[bool], Any]] = {"LightGBM": _lightgbm, "linear": _linear}

#: Name of a target -> the target, given the scales, and whether it is a grade.
TARGETS: dict[str, tuple[Callable[[ma.Aspects], Any], bool]] = {
    "relevance": (lambda aspects: ma.On(aspect="relevance", aspects=aspects), True),
    "raw sum": (lambda aspects: ma.CAM(base="DCG", aspects=aspects), False),
    "linear form": (lambda aspects: ma.CAM(aspects=aspects) @ 10, False),
    "TOMA classes": (lambda aspects: ma.TOMA(aspects=aspects), True),
}

#: What is compared: targets of one ranker, and a ranker per aspect.
COMPARED = (*TARGETS, "fusion")

#: Name of a measure -> the measure, given the scales.
MEASURES: dict[str, Callable[[ma.Aspects], Any]] = {
    "CAM@10": lambda aspects: ma.CAM(aspects=aspects) @ 10,
    "MM@10": lambda aspects: ma.MM(aspects=aspects) @ 10,
    "TOMA@10": lambda aspects: ma.TOMA(aspects=aspects) @ 10,
}


class RandomOrder(BaseEstimator):  # type: ignore[misc]
    """Random predictions, as a floor."""

    def fit(self, X: Any, y: Any) -> RandomOrder:
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> Any:
        """Return random numbers."""
        return np.random.default_rng(len(X)).random(len(X))


def estimator(name: str, learner: str, aspects: ma.Aspects) -> Any:
    """Return the estimator that learns the named target, fuses rankers, or orders at random."""
    if name == "random order":
        return RandomOrder()
    if name == "fusion":
        return ma.AspectFusion(LEARNERS[learner](True), aspects=aspects)
    make, grades = TARGETS.get(name, (lambda scales: ma.On(aspect=name, aspects=scales), True))
    return ma.AspectRanker(LEARNERS[learner](grades), target=make(aspects))


def evaluate(
    world: World, cv: Any, names: Iterable[str] = COMPARED, learner: str = "LightGBM"
) -> dict[str, dict[str, list[float]]]:
    """Train on each target and evaluate on the test queries.

    Parameters
    ----------
    world : World
        The data.
    cv : splitter or list of (train, test)
        Splits of the rows, the same for all targets.
    names : iterable of str
        What `estimator` knows: names of targets or aspects, ``'fusion'`` or ``'random order'``.
    learner : str
        A name in `LEARNERS`.

    Returns
    -------
    dict
        For each name and measure, the values of the splits.
    """
    measures = {name: make(world.aspects) for name, make in MEASURES.items()}
    measures |= {
        f"nDCG@10 of {aspect}": ma.On(aspect=aspect, aspects=world.aspects) @ 10 for aspect in world.aspects
    }
    results = {}
    for name in names:
        scores = cross_validate(
            estimator(name, learner, world.aspects),
            world.X,
            world.labels,
            cv=cv,
            scoring=ma.ranking_scorer(measures, aspects=world.aspects),
            error_score="raise",
        )
        results[name] = {measure: scores[f"test_{measure}"].tolist() for measure in measures}
    return results
