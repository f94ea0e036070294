"""Plausible uses that say nothing: no warning, no message, and the same numbers as the plain use."""

from __future__ import annotations

import io
import os
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict

import pt_multiaspect as ma
from pt_multiaspect import CAM, analysis

SCALES = ma.Aspects({"relevance": 2, "trust": 1}, name="silent")
MEASURES = {"CAM@3": CAM(aspects=SCALES) @ 3, "AP": "AP"}
DOCS = [f"d{number}" for number in range(6)]
QRELS = pd.DataFrame(
    [
        (f"q{topic}", doc, (at + topic) % 3, (at * 2 + topic) % 2)
        for topic in range(4)
        for at, doc in enumerate(DOCS)
    ],
    columns=["qid", "docno", "relevance", "trust"],
)
RUNS = {
    name: QRELS[["qid", "docno"]].assign(score=np.random.default_rng(seed).permutation(len(QRELS)).astype(float))
    for seed, name in enumerate(("old", "new"))
}
VALUES = ma.evaluate(RUNS, QRELS, MEASURES, progress=False)
MEANS = ma.aggregate(VALUES)

rng = np.random.default_rng(3)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["one", "two", "three"])
Y = pd.DataFrame({"relevance": rng.integers(0, 3, 60), "trust": rng.integers(0, 2, 60)})
QID = np.repeat(np.arange(12), 5)
RANKER = ma.AspectRanker(Ridge(), target=CAM(aspects=SCALES), measure=CAM(aspects=SCALES) @ 3)
SCORE = RANKER.fit(X, Y, qid=QID).score(X, Y, qid=QID)


def means(runs: Any = RUNS, qrels: Any = QRELS) -> pd.DataFrame:
    return ma.aggregate(ma.evaluate(runs, qrels, MEASURES, progress=False))


def table(folder: Path, name: str = "values.csv") -> Path:
    """A table of values with its record."""
    VALUES.to_csv(folder / name, index=False)
    return folder / name


def from_pipe(folder: Path) -> pd.DataFrame:
    path = folder / "pipe"
    os.mkfifo(path)
    lines = "".join(f"{row.qid} 0 {row.docno} {row.relevance}\n" for row in QRELS.itertuples())
    writer = threading.Thread(target=lambda: path.write_text(lines))
    writer.start()
    found = ma.read_qrels(str(path))
    writer.join()
    return found


#: Uses that give the means of `VALUES`.
SAME_MEANS: dict[str, Callable[[Path], Any]] = {
    "qrels shuffled, with their own index": lambda folder: means(qrels=QRELS.sample(frac=1, random_state=1)),
    "qrels filtered": lambda folder: means(qrels=QRELS[QRELS["docno"] != "none"].sort_values("docno")),
    "columns in another order": lambda folder: means(qrels=QRELS[["trust", "docno", "relevance", "qid"]]),
    "qrels as dicts": lambda folder: means(
        qrels={
            qid: {
                row["docno"]: {"relevance": row["relevance"], "trust": row["trust"]} for _, row in rows.iterrows()
            }
            for qid, rows in QRELS.groupby("qid")
        }
    ),
    "labels as floats": lambda folder: means(qrels=QRELS.astype({"relevance": float, "trust": float})),
    "labels as small integers": lambda folder: means(qrels=QRELS.astype({"relevance": "int8", "trust": "int8"})),
    "nullable labels": lambda folder: means(qrels=QRELS.astype({"relevance": "Int64", "trust": "Int64"})),
    "categorical ids": lambda folder: means(qrels=QRELS.astype({"qid": "category", "docno": "category"})),
    "a further text column": lambda folder: means(qrels=QRELS.assign(note="seen")),
    "runs shuffled, with their own index": lambda folder: means(
        {name: run.sample(frac=1, random_state=2) for name, run in RUNS.items()}
    ),
    "runs with a stale rank": lambda folder: means({name: run.assign(rank=0) for name, run in RUNS.items()}),
    "runs sorted by document": lambda folder: means({name: run.sort_values("docno") for name, run in RUNS.items()}),
    "runs with scores of 32 bits": lambda folder: means(
        {name: run.astype({"score": "float32"}) for name, run in RUNS.items()}
    ),
    "runs as dicts": lambda folder: means(
        {
            name: {qid: dict(zip(rows["docno"], rows["score"], strict=True)) for qid, rows in run.groupby("qid")}
            for name, run in RUNS.items()
        }
    ),
    "further columns of a run": lambda folder: means({name: run.assign(query="x") for name, run in RUNS.items()}),
    "values filtered and sorted": lambda folder: ma.aggregate(VALUES[VALUES["qid"] != ""].sort_values("qid")),
    "values with their own index": lambda folder: ma.aggregate(VALUES.set_axis(range(7, 7 + len(VALUES)))),
    "values concatenated again": lambda folder: ma.aggregate(
        pd.concat([VALUES[VALUES["name"] == name] for name in RUNS])
    ),
    "a table without a record": lambda folder: ma.aggregate(ma.read_values(table(folder))),
    "a copy of a table": lambda folder: ma.aggregate(
        ma.read_values(shutil.copy(table(folder), folder / "copy.csv"))
    ),
    "a link to a table": lambda folder: ma.aggregate(ma.read_values(linked(folder))),
    "a table in memory": lambda folder: ma.aggregate(pd.read_csv(io.StringIO(VALUES.to_csv(index=False)))),
}


def linked(folder: Path) -> Path:
    (folder / "link.csv").symlink_to(table(folder))
    return folder / "link.csv"


@pytest.mark.every(3)
@pytest.mark.parametrize("use", SAME_MEANS.values(), ids=SAME_MEANS)
def test_other_forms_of_the_same_input(use: Callable[[Path], Any], tmp_path: Path, capfd: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = use(tmp_path)
    assert capfd.readouterr() == ("", "")
    found = found.set_index("name").loc[MEANS["name"], ["CAM@3", "AP"]]
    pd.testing.assert_frame_equal(found, MEANS.set_index("name"), check_names=False)


#: Uses that give the score of `RANKER`.
SAME_SCORE: dict[str, Callable[[], float]] = {
    "frames shuffled together": lambda: shuffled_score(np.random.default_rng(1).permutation(60)),
    "frames with their own index": lambda: RANKER.score(
        *(frame.set_axis(range(9, 69)) for frame in (X, Y)), qid=QID
    ),
    "arrays": lambda: ma.AspectRanker(
        Ridge(), target=CAM(aspects=SCALES), measure=CAM(aspects=SCALES) @ 3, aspects=["relevance", "trust"]
    ).fit(X.to_numpy(), Y.to_numpy(), qid=QID).score(X.to_numpy(), Y.to_numpy(), qid=QID),
    "queries as an index level": lambda: RANKER.score(X, Y.set_index(pd.Index(QID, name="qid"))),
    "queries as text": lambda: RANKER.score(X, Y, qid=QID.astype(str)),
    "queries as a Series of the same index": lambda: RANKER.score(X, Y, qid=pd.Series(QID)),
}  # fmt: skip


def shuffled_score(order: Any) -> float:
    return float(RANKER.score(X.iloc[order], Y.iloc[order], qid=QID[order]))


@pytest.mark.parametrize("use", SAME_SCORE.values(), ids=SAME_SCORE)
def test_other_forms_of_the_same_rows(use: Callable[[], float], capfd: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use() == pytest.approx(SCORE, abs=1e-12)
    assert capfd.readouterr() == ("", "")


def boosted() -> Any:
    """Equal lists of labels in training and validation."""
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=1, n_jobs=1, verbose=-1)
    ranker = ma.AspectRanker(booster, target=CAM(aspects=SCALES), measure=CAM(aspects=SCALES) @ 3)
    return ranker.fit(X, Y, qid=QID, eval_set=[(X + 1, Y, QID + 100)])


def constant_scores() -> Any:
    run = RUNS["old"].assign(score=1.0)
    return ma.evaluate({"constant": run}, QRELS, MEASURES, progress=False)


#: Uses that are complete without a word.
WITHOUT_A_WORD: dict[str, Callable[[Path], Any]] = {
    **({"a named pipe": from_pipe} if hasattr(os, "mkfifo") else {}),
    "constant scores": lambda folder: constant_scores(),
    "equal labels in training and validation": lambda folder: boosted(),
    "a search over folds": lambda folder: GridSearchCV(
        RANKER, {"estimator__alpha": [0.1, 1.0]}, cv=GroupKFold(3)
    ).fit(X, Y.set_index(pd.Index(QID, name="qid")), groups=QID),
    "predictions of folds": lambda folder: cross_val_predict(
        RANKER, X, Y.set_index(pd.Index(QID, name="qid")), cv=GroupKFold(3), groups=QID
    ),
    "a comparison of some runs": lambda folder: analysis.compare_with_baseline(VALUES, "old"),
    "weightings of two aspects": lambda folder: ma.robustness(RUNS, QRELS, {"CAM@3": MEASURES["CAM@3"]}),
    "a batch of topics": lambda folder: means(qrels=QRELS[QRELS["qid"].isin(["q0", "q1"])]),
}


@pytest.mark.parametrize("use", WITHOUT_A_WORD.values(), ids=WITHOUT_A_WORD)
def test_uses_that_say_nothing(use: Callable[[Path], Any], tmp_path: Path, capfd: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use(tmp_path) is not None
    assert capfd.readouterr() == ("", "")
