"""The data of the study: synthetic aspects, which conflict or agree, and two CLEF eHealth collections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

import pt_multiaspect as ma

FILES_2015 = {"relevance": "qrels.graded.txt.gz", "understandability": "qread.graded.txt.gz"}
SCALES_2015 = ma.Aspects({"relevance": 2, "understandability": 3})

FILES_2018 = {
    "relevance": "qrel.txt.gz",
    "understandability": "qread.txt.gz",
    "trust": "qtrust.txt.gz",
}
SCALES_2018 = ma.Aspects({"relevance": 2, "understandability": 10, "trust": 10})

#: Correlation of the two latent aspects of a document.
CORRELATIONS = {"conflicting": -0.7, "independent": 0.0, "correlated": 0.7}

#: Top grades of the two aspects.
SCALES = {"equal scales": (2, 2), "unequal scales": (2, 10)}

N_TRAIN, N_TEST, N_DOCUMENTS = 60, 100, 30

#: Fractions of relevant and of credible documents.
RARE = (0.05, 0.6)

#: Name of a setting -> arguments of `synthetic`.
SETTINGS: dict[str, dict[str, Any]] = {
    f"{relation}, {scales}": {"correlation": correlation, "tops": tops}
    for scales, tops in SCALES.items()
    for relation, correlation in CORRELATIONS.items()
} | {
    f"{relation}, {name}": {"correlation": CORRELATIONS[relation], "tops": (2, 2), **arguments}
    for name, arguments in {
        "features of relevance": {"informative": ["relevance"]},
        "5 % and 60 %": {"prevalence": RARE},
        "5 % and 60 %, features of relevance": {"prevalence": RARE, "informative": ["relevance"]},
        "5 % and 60 %, features of credibility": {
            "prevalence": RARE,
            "informative": ["credibility"],
        },
        "5 % and 60 %, not in every query": {"prevalence": RARE, "everywhere": False},
    }.items()
    for relation in ("conflicting", "independent")
}

#: Seeds of the worlds start here; no target was chosen by looking at them.
FIRST_SEED = 7000

#: Standard deviation of the noise of the features. Each world has its own, between these.
NOISE = (0.25, 1.0)

#: Mean and standard deviation of the thresholds of queries.
THRESHOLD, SPREAD = 0.5, 0.7

#: Width of the grades above the threshold, in standard deviations of a latent aspect.
WIDTH = 1.5

NAMES = ("relevance", "credibility")


@dataclass(frozen=True, eq=False)
class World:
    """Features, labels and queries of (query, document) pairs."""

    X: Any
    Y: pd.DataFrame
    qid: Any
    aspects: ma.Aspects

    @property
    def labels(self) -> pd.DataFrame:
        """The labels, with the queries in the index, where scorers and rankers find them."""
        return self.Y.set_axis(pd.Index(self.qid, name="qid"), axis="index")

    @property
    def size(self) -> dict[str, int]:
        """The numbers of rows, queries and features."""
        return {
            "n_rows": len(self.Y),
            "n_queries": len(np.unique(self.qid)),
            "n_features": self.X.shape[1],
        }

    @property
    def prevalence(self) -> dict[str, dict[str, float]]:
        """Fractions of documents and of queries with a gain, and the mean ideal DCG@10 in top gains, by aspect."""
        fractions = {}
        for aspect, gain in gains(self.labels, self.aspects).items():
            best = ideals(gain)
            fractions[str(aspect)] = {
                "documents": float((gain > 0).mean()),
                "queries": float((best > 0).mean()),
                "ideal DCG@10": float(
                    best[best > 0].mean() / max(self.aspects[aspect].scale.gains)
                ),
            }
        return fractions


def gains(labels: pd.DataFrame, aspects: ma.Aspects) -> pd.DataFrame:
    """Return the gains of labels, with the queries in the index."""
    columns = {
        name: np.asarray(ma.aggregate_labels(labels, ma.On(aspect=name, aspects=aspects)).values)
        for name in aspects
    }
    return pd.DataFrame(columns, index=labels.index)


def ideals(gain: pd.Series[float]) -> pd.Series[float]:
    """Return the DCG@10 of the best ranking of each query."""
    ordered = gain.sort_values(ascending=False, kind="stable")
    rank = ordered.groupby(level=0).cumcount() + 1
    return (ordered / np.log2(rank + 1))[rank <= 10].groupby(level=0).sum()


def synthetic(
    correlation: float,
    tops: tuple[int, int],
    seed: int,
    n_queries: int = N_TRAIN + N_TEST,
    *,
    prevalence: tuple[float, float] | None = None,
    everywhere: bool = True,
    informative: Collection[str] = NAMES,
) -> World:
    """Draw a world of two aspects.

    Features are noisy observations of the latent aspects. Grades cut the latent aspects at
    thresholds that differ between queries, so in one query few documents are credible and in
    another most are, as in real collections.

    Parameters
    ----------
    correlation : float
        Correlation of the latent aspects.
    tops : (int, int)
        Top grades of relevance and credibility.
    seed : int
        Seed of the random numbers.
    n_queries : int
        Number of queries.
    prevalence : (float, float), optional
        Fractions of the documents with a grade above the lowest. By default, thresholds have the
        same mean for both aspects, which makes the fractions about .58 for the top grade 2 and .39
        for 10.
    everywhere : bool
        Whether, given a prevalence, each query has such a document of each aspect.
    informative : collection of str
        The aspects that features tell of. Features of the others are replaced with noise.
    """
    rng = np.random.default_rng(seed)
    n = n_queries * N_DOCUMENTS
    latent = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n)
    noise = rng.normal(scale=rng.uniform(*NOISE), size=(n, 4))
    unrelated = rng.normal(size=n)
    shift = THRESHOLD + SPREAD * rng.normal(size=(n_queries, 2))
    if prevalence is not None:
        lowest = latent.reshape(n_queries, N_DOCUMENTS, 2) + WIDTH / np.array(tops)
        shift = np.column_stack(
            [
                _calibrate(shift[:, aspect], lowest[..., aspect], prevalence[aspect], everywhere)
                for aspect in (0, 1)
            ]
        )
    shift = np.repeat(shift, N_DOCUMENTS, axis=0)
    # Grades rise by steps of equal width.
    steps = np.ceil((latent - shift) / WIDTH * np.array(tops)) + 1
    labels = np.clip(steps, 0, tops).astype(int)
    seen = np.where(np.isin(NAMES, list(informative)), latent, 0)
    X = np.column_stack([seen, seen.sum(axis=1), unrelated]) + noise
    qid = np.repeat(np.arange(n_queries), N_DOCUMENTS)
    aspects = ma.Aspects(dict(zip(NAMES, tops, strict=True)))
    return World(X, pd.DataFrame(labels, columns=list(NAMES)), qid, aspects)


def _calibrate(thresholds: Any, values: Any, fraction: float, everywhere: bool) -> Any:
    """Move the thresholds of all queries alike, such that a fraction of the values is above.

    Parameters
    ----------
    thresholds : ndarray of float, shape (n_queries,)
        The thresholds.
    values : ndarray of float, shape (n_queries, n_documents)
        The values that are compared with the threshold of their query.
    fraction : float
        Fraction of all values.
    everywhere : bool
        Whether to lower thresholds that no value of their query exceeds, to just below its highest.
    """
    limit = values.max(axis=1) - 1e-9 if everywhere else np.inf

    def excess(step: float) -> float:
        return float(
            (values > np.minimum(thresholds + step, limit)[:, np.newaxis]).mean() - fraction
        )

    return np.minimum(thresholds + optimize.brentq(excess, -10, 10), limit)


def first_and_rest(world: World) -> list[tuple[Any, Any]]:
    """Return one split, by which the first queries of a synthetic world train and the others test."""
    train = world.qid < N_TRAIN
    return [(np.flatnonzero(train), np.flatnonzero(~train))]


def row_orders(
    world: World, n_orders: int, n_splits: int, seed: int
) -> Iterator[list[tuple[Any, Any]]]:
    """Generate the same folds several times, each with another random order of the training rows."""
    folds = ma.RepeatedQueryKFold(n_splits, 1, shuffle_rows=False, random_state=seed)
    codes = pd.factorize(world.qid)[0]
    rng = np.random.default_rng(seed)
    for _ in range(n_orders):
        splits = []
        for train, test in folds.split(world.X, groups=world.qid):
            shuffled = rng.permutation(train)
            of_query = rng.permutation(codes.max() + 1)
            splits.append((shuffled[np.argsort(of_query[codes[shuffled]], kind="stable")], test))
        yield splits


def judged_runs(folder: Path, files: dict[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the runs of a collection, one row per document with its reciprocal rank, and the labels by aspect."""
    qrels = ma.read_qrels({name: folder / file for name, file in files.items()}).rename(
        columns={"label": "relevance"}
    )
    table = pd.read_csv(
        folder / "runs.top100.tsv.gz",
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype={"qid": str, "docno": str},
    )
    return table.assign(score=1 / table["rank"]), qrels


def _of_runs(folder: Path, files: dict[str, str], aspects: ma.Aspects) -> World:
    """Judged documents that a run retrieves, described by the reciprocal rank in each run (0 if not retrieved)."""
    table, qrels = judged_runs(folder, files)
    features = (
        table.pivot(index=["qid", "docno"], columns="name", values="score")
        .fillna(0.0)
        .reset_index()
    )
    rows = features.merge(qrels, on=["qid", "docno"]).dropna(subset=list(aspects))
    X = rows[features.columns.drop(["qid", "docno"])].to_numpy()
    return World(X, rows[list(aspects)].reset_index(drop=True), rows["qid"].to_numpy(), aspects)


def clef2015(data: Path) -> World:
    """CLEF eHealth 2015, task 2: relevance and understandability of 66 queries, 68 runs as features."""
    return _of_runs(data / "clef2015", FILES_2015, SCALES_2015)


def clef2018(data: Path, *, turned: bool = False) -> World:
    """CLEF eHealth 2018, task 1: relevance, understandability and trust of 50 queries, 36 runs as features.

    The files do not say whether scales ascend. Trust rises with relevance; nothing tells about
    understandability, so the study is repeated with its scale `turned`. Gains of relevance span the
    same range as the others.
    """
    aspects = ma.Aspects(
        {
            "relevance": ma.Aspect(grades=[0, 1, 2], gains=[0, 5, 10]),
            "understandability": ma.Aspect(10, greater_is_better=not turned),
            "trust": 10,
        }
    )
    return _of_runs(data / "clef2018", FILES_2018, aspects)


def directions(data: Path) -> dict[str, dict[str, int]]:
    """Count the queries of CLEF eHealth 2018 in which an aspect rises or falls with relevance (Kendall's τ-b)."""
    qrels = ma.read_qrels({name: data / "clef2018" / file for name, file in FILES_2018.items()})
    found = {}
    for aspect in ("understandability", "trust"):
        taus = [
            stats.kendalltau(part["label"], part[aspect]).statistic
            for _, part in qrels.groupby("qid")
        ]
        found[aspect] = {
            "rises": int(np.greater(taus, 0).sum()),
            "falls": int(np.less(taus, 0).sum()),
        }
    return found


#: Name of a collection -> how to read it from the folder with the data.
COLLECTIONS: dict[str, Callable[[Path], World]] = {
    "CLEF eHealth 2015": clef2015,
    "CLEF eHealth 2018": clef2018,
    "CLEF eHealth 2018, understandability turned": partial(clef2018, turned=True),
}
