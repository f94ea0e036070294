"""Training on each target, and the values of the measures on the test queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pt_multiaspect as ma

from .worlds import World, gains, ideals

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


def _linear() -> Any:
    return make_pipeline(StandardScaler(), Ridge(alpha=100))


#: Name of a learner -> how to make the estimator. Everything else is what `AspectRanker` does by
#: default.
LEARNERS: dict[str, Callable[[], Any]] = {
    "LightGBM": lambda: LGBMRanker(**PARAMS),
    "linear": _linear,
}


def _twice(aspects: ma.Aspects) -> Any:
    weights = {name: 2 if name == "relevance" else 1 for name in aspects}
    return ma.CAM(aspects=aspects, weights=weights) @ 10


#: Name of a target -> the target, given the scales.
TARGETS: dict[str, Callable[[ma.Aspects], Any]] = {
    "relevance": lambda aspects: ma.On(aspect="relevance", aspects=aspects),
    "raw sum": lambda aspects: ma.CAM(base="DCG", aspects=aspects),
    "scaled sum": lambda aspects: "scaled sum",
    "linear form": lambda aspects: ma.CAM(aspects=aspects) @ 10,
    "TOMA classes": lambda aspects: ma.TOMA(aspects=aspects),
}

#: The sum with one weight per aspect: 1 / its mean ideal DCG@10 in the training queries.
BY_MEAN = "sum over mean ideals"

#: What is compared: targets of one ranker, and a ranker per aspect.
COMPARED = (*TARGETS, BY_MEAN, "fusion")

#: Trained by LightGBM only: the linear form with other weights, and with early stopping of at most
#: `LONGEST` trees.
WEIGHTED, BY_MEASURE, BY_LABEL = (
    "relevance counts twice",
    "stopped by CAM@10",
    "stopped by nDCG@10 of the label",
)
LONGEST, PATIENCE, HELD_OUT = 200, 50, 0.25

#: Name of a measure -> the measure, given the scales.
MEASURES: dict[str, Callable[[ma.Aspects], Any]] = {
    "CAM@10": lambda aspects: ma.CAM(aspects=aspects) @ 10,
    "MM@10": lambda aspects: ma.MM(aspects=aspects) @ 10,
    "TOMA@10": lambda aspects: ma.TOMA(aspects=aspects) @ 10,
}


class DividedByMean(BaseEstimator):  # type: ignore[misc]
    """A ranker of the sum of gains, each divided by the mean ideal DCG@10 of its aspect in the training queries."""

    def __init__(self, estimator: Any, aspects: ma.Aspects) -> None:
        self.estimator = estimator
        self.aspects = aspects

    def fit(self, X: Any, y: pd.DataFrame) -> DividedByMean:
        """Compute the weights from the queries with a gain, and fit."""
        best = {aspect: ideals(gain) for aspect, gain in gains(y, self.aspects).items()}
        weights = {aspect: 1 / values[values > 0].mean() for aspect, values in best.items()}
        target = ma.CAM(base="DCG", aspects=self.aspects, weights=weights)
        self.ranker_ = ma.AspectRanker(self.estimator, target=target).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the scores."""
        return self.ranker_.predict(X)


class StoppedByLabel(BaseEstimator):  # type: ignore[misc]
    """LightGBM on the linear form, stopped by its own nDCG@10 of the label on held-out queries."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def fit(self, X: Any, y: pd.DataFrame, eval_fraction: float = HELD_OUT) -> StoppedByLabel:
        """Hold out the queries that `AspectRanker` holds out, and fit."""
        labels, params = ma.aggregate_labels(y, self.target, "lightgbm")
        query, queries = pd.factorize(y.index, sort=True)
        held = np.random.default_rng(0).permutation(np.arange(len(queries)))[
            : round(eval_fraction * len(queries))
        ]
        parts = []
        for chosen in (~np.isin(query, held), np.isin(query, held)):
            rows = np.flatnonzero(chosen)
            rows = rows[np.argsort(query[rows], kind="stable")]
            parts.append((X[rows], labels[rows], np.unique(query[rows], return_counts=True)[1]))
        (train, label, sizes), (valid, valid_label, valid_sizes) = parts
        self.ranker_ = LGBMRanker(**{**PARAMS, "n_estimators": LONGEST}, **params)
        self.ranker_.fit(
            train, label, group=sizes, eval_X=(valid,), eval_y=(valid_label,), eval_group=[valid_sizes],
            eval_at=[10], callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )  # fmt: skip
        return self

    def predict(self, X: Any) -> Any:
        """Return the scores."""
        return self.ranker_.predict(X)


class OneRankerPerAspect(BaseEstimator):  # type: ignore[misc]
    """A ranker of each aspect, whose predictions are standardised within queries and summed."""

    def __init__(self, estimator: Any, aspects: ma.Aspects) -> None:
        self.estimator = estimator
        self.aspects = aspects

    def fit(self, X: Any, y: pd.DataFrame) -> OneRankerPerAspect:
        """Fit one ranker per aspect."""
        self.rankers_ = {}
        for name in self.aspects:
            ranker = ma.AspectRanker(self.estimator, target=name, aspects=self.aspects)
            self.rankers_[name] = ranker.fit(X, y)
        return self

    def predict(self, X: Any, qid: Any) -> Any:
        """Return the sum of the standardised predictions."""
        predictions = pd.DataFrame(
            {name: ranker.predict(X) for name, ranker in self.rankers_.items()}
        )
        standardised = predictions.groupby(qid).transform(_standardise)
        return standardised.sum(axis=1).to_numpy()


def _standardise(scores: pd.Series) -> pd.Series:
    """Subtract the mean of a query, and divide by its standard deviation."""
    deviation = scores.std(ddof=0)
    if deviation < 1e-9:  # equal predictions rank nothing
        return scores * 0
    return (scores - scores.mean()) / deviation


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
    measure = MEASURES["CAM@10"](aspects)
    if name == BY_LABEL:
        return StoppedByLabel(measure)
    if name == BY_MEASURE:
        booster = LGBMRanker(**{**PARAMS, "n_estimators": LONGEST}, early_stopping_round=PATIENCE)
        return ma.AspectRanker(booster, target=measure)
    if name == BY_MEAN:
        return DividedByMean(LEARNERS[learner](), aspects)
    if name == "fusion":
        return OneRankerPerAspect(LEARNERS[learner](), aspects)
    make = {**TARGETS, WEIGHTED: _twice}.get(
        name, lambda scales: ma.On(aspect=name, aspects=scales)
    )
    return ma.AspectRanker(LEARNERS[learner](), target=make(aspects), measure=measure)


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
        f"nDCG@10 of {aspect}": ma.On(aspect=aspect, aspects=world.aspects) @ 10
        for aspect in world.aspects
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
            params={"eval_fraction": HELD_OUT} if name in (BY_MEASURE, BY_LABEL) else None,
        )
        results[name] = {measure: scores[f"test_{measure}"].tolist() for measure in measures}
    return results
