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
    name: QRELS[["qid", "docno"]].assign(
        score=np.random.default_rng(seed).permutation(len(QRELS)).astype(float)
    )
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
    "qrels shuffled, with their own index": lambda folder: means(
        qrels=QRELS.sample(frac=1, random_state=1)
    ),
    "qrels filtered": lambda folder: means(
        qrels=QRELS[QRELS["docno"] != "none"].sort_values("docno")
    ),
    "columns in another order": lambda folder: means(
        qrels=QRELS[["trust", "docno", "relevance", "qid"]]
    ),
    "qrels as dicts": lambda folder: means(
        qrels={
            qid: {
                row["docno"]: {"relevance": row["relevance"], "trust": row["trust"]}
                for _, row in rows.iterrows()
            }
            for qid, rows in QRELS.groupby("qid")
        }
    ),
    "labels as floats": lambda folder: means(
        qrels=QRELS.astype({"relevance": float, "trust": float})
    ),
    "labels as small integers": lambda folder: means(
        qrels=QRELS.astype({"relevance": "int8", "trust": "int8"})
    ),
    "nullable labels": lambda folder: means(
        qrels=QRELS.astype({"relevance": "Int64", "trust": "Int64"})
    ),
    "categorical ids": lambda folder: means(
        qrels=QRELS.astype({"qid": "category", "docno": "category"})
    ),
    "a further text column": lambda folder: means(qrels=QRELS.assign(note="seen")),
    "runs shuffled, with their own index": lambda folder: means(
        {name: run.sample(frac=1, random_state=2) for name, run in RUNS.items()}
    ),
    "runs with a stale rank": lambda folder: means(
        {name: run.assign(rank=0) for name, run in RUNS.items()}
    ),
    "runs sorted by document": lambda folder: means(
        {name: run.sort_values("docno") for name, run in RUNS.items()}
    ),
    "runs with scores of 32 bits": lambda folder: means(
        {name: run.astype({"score": "float32"}) for name, run in RUNS.items()}
    ),
    "runs as dicts": lambda folder: means(
        {
            name: {
                qid: dict(zip(rows["docno"], rows["score"], strict=True))
                for qid, rows in run.groupby("qid")
            }
            for name, run in RUNS.items()
        }
    ),
    "further columns of a run": lambda folder: means(
        {name: run.assign(query="x") for name, run in RUNS.items()}
    ),
    "values filtered and sorted": lambda folder: ma.aggregate(
        VALUES[VALUES["qid"] != ""].sort_values("qid")
    ),
    "values with their own index": lambda folder: ma.aggregate(
        VALUES.set_axis(range(7, 7 + len(VALUES)))
    ),
    "values concatenated again": lambda folder: ma.aggregate(
        pd.concat([VALUES[VALUES["name"] == name] for name in RUNS])
    ),
    "a table without a record": lambda folder: ma.aggregate(ma.read_values(table(folder))),
    "a copy of a table": lambda folder: ma.aggregate(
        ma.read_values(shutil.copy(table(folder), folder / "copy.csv"))
    ),
    "a link to a table": lambda folder: ma.aggregate(ma.read_values(linked(folder))),
    "a table in memory": lambda folder: ma.aggregate(
        pd.read_csv(io.StringIO(VALUES.to_csv(index=False)))
    ),
}


def linked(folder: Path) -> Path:
    (folder / "link.csv").symlink_to(table(folder))
    return folder / "link.csv"


@pytest.mark.every(3)
@pytest.mark.parametrize("use", SAME_MEANS.values(), ids=SAME_MEANS)
def test_other_forms_of_the_same_input(
    use: Callable[[Path], Any], tmp_path: Path, capfd: Any
) -> None:
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
    "weightings of two aspects": lambda folder: ma.robustness(
        RUNS, QRELS, {"CAM@3": MEASURES["CAM@3"]}
    ),
    "a batch of topics": lambda folder: means(qrels=QRELS[QRELS["qid"].isin(["q0", "q1"])]),
}


@pytest.mark.parametrize("use", WITHOUT_A_WORD.values(), ids=WITHOUT_A_WORD)
def test_uses_that_say_nothing(use: Callable[[Path], Any], tmp_path: Path, capfd: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use(tmp_path) is not None
    assert capfd.readouterr() == ("", "")


# --- next to what warns or fails: uses that mean one thing only -----------------------------------

CAM3 = MEASURES["CAM@3"]
EXPECTED = VALUES[VALUES["measure"] == "CAM@3"].groupby("name")["value"].mean().to_dict()
AP = VALUES[VALUES["measure"] == "AP"].groupby("name")["value"].mean()


def cam(runs: Any = RUNS, qrels: Any = QRELS, **options: Any) -> dict[str, float]:
    """Return CAM@3 of each run."""
    values = ma.evaluate(runs, qrels, {"CAM@3": CAM3}, progress=False, **options)
    return dict(values.groupby("name")["value"].mean())


def cam_of_an_aspect_called(name: str) -> dict[str, float]:
    measure = CAM(aspects={"relevance": 2, name: 1}) @ 3
    values = ma.evaluate(
        RUNS, QRELS.rename(columns={"trust": name}), {"CAM@3": measure}, progress=False
    )
    return dict(values.groupby("name")["value"].mean())


def with_ids(column: str, prefix: str) -> dict[str, float]:
    """Return CAM@3 where the ids of a column begin with other characters."""
    runs = {name: run.assign(**{column: prefix + run[column]}) for name, run in RUNS.items()}
    return cam(runs, QRELS.assign(**{column: prefix + QRELS[column]}))


def from_files(folder: Path, **columns: Any) -> dict[str, float]:
    """Return CAM@3 of runs and qrels in tables; further columns are those of the runs."""
    QRELS.to_csv(folder / "qrels.csv", index=False)
    for name, run in RUNS.items():
        run.assign(**columns).to_csv(folder / name, index=False)
    return cam({name: folder / name for name in RUNS}, ma.read_qrels(folder / "qrels.csv"))


def from_lines(folder: Path, prefix: str) -> dict[str, float]:
    """Return CAM@3 of runs and qrels in TREC files, in which docnos begin with other characters."""
    for aspect in ("relevance", "trust"):
        lines = [
            f"{row.qid} 0 {prefix}{row.docno} {getattr(row, aspect)}\n"
            for row in QRELS.itertuples()
        ]
        (folder / aspect).write_text("# judgments of 2026\n\n" + "".join(lines))
    for name, run in RUNS.items():
        lines = [f"{row.qid} Q0 {prefix}{row.docno} 0 {row.score} a\n" for row in run.itertuples()]
        (folder / name).write_text("".join(lines) + "# end\n")
    qrels = ma.read_qrels({aspect: folder / aspect for aspect in ("relevance", "trust")})
    return cam({name: folder / name for name in RUNS}, qrels)


def from_json(folder: Path, *, lines: bool) -> dict[str, float]:
    (folder / "qrels").write_text(QRELS.to_json(orient="records", lines=lines))
    for name, run in RUNS.items():
        (folder / name).write_text(run.to_json(orient="records", lines=lines))
    return cam({name: folder / name for name in RUNS}, ma.read_qrels(folder / "qrels"))


def with_byte_order_mark(folder: Path) -> dict[str, float]:
    QRELS.to_csv(folder / "qrels.csv", index=False, sep=";", encoding="utf-8-sig")
    return cam(qrels=ma.read_qrels(folder / "qrels.csv"))


def from_parquet(folder: Path, compression: str | None) -> dict[str, float]:
    QRELS.to_parquet(folder / "qrels.parquet", compression=compression)
    return cam(qrels=ma.read_qrels(folder / "qrels.parquet"))


def ranker_score(x: Any, y: Any, *, qid: Any = None, **options: Any) -> float:
    """Return the score of a ranker that is fitted with further options."""
    ranker = ma.AspectRanker(Ridge(), target=CAM(aspects=SCALES), measure=CAM3)
    return float(ranker.fit(x, y, qid=qid, **options).score(x, y, qid=qid))


def named_documents() -> float:
    index = pd.MultiIndex.from_arrays(
        [QID, [f"d{row}" for row in range(60)]], names=["qid", "docno"]
    )
    return ranker_score(X.set_index(index), Y.set_index(index))


def n_trees(**params: Any) -> int:
    """Return the number of trees of a booster without evaluation set."""
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMRanker(
        n_estimators=7, min_child_samples=1, n_jobs=1, verbose=-1, **params
    )
    fitted = ma.AspectRanker(booster, target=CAM(aspects=SCALES), measure=CAM3).fit(X, Y, qid=QID)
    return int(fitted.estimator_.n_estimators_)


def criteria(table: str, **options: Any) -> list[float]:
    """Return the values of judged answers in a table."""
    return ma.answers.from_criteria(io.StringIO(table), **options)["value"].tolist()


def constant_difference(shift: float) -> tuple[float, str]:
    """Return the difference of two runs whose values differ by a number, and the verdict."""
    old = VALUES[VALUES["name"] == "old"]
    both = pd.concat([old, old.assign(name="copy", value=old["value"] + shift)])
    both.attrs = VALUES.attrs
    row = analysis.compare_with_baseline(both, "old").iloc[0]
    return float(row["difference"]), row["verdict"]


def lower_is_better() -> float:
    """Return the difference of two runs by a measure of which lower is better, without its sign."""
    errors = VALUES[VALUES["measure"] == "AP"].assign(measure="errors")
    found = ma.robustness(errors, measure={"errors": "lower"}, baseline="old")
    return abs(float(found.table.loc[found.table["question"] == "topics", "difference"].item()))


def complete_labels() -> bool:
    found = analysis.missing_labels(RUNS, QRELS, CAM3).runs
    return bool((found["low"] == found["high"]).all() and found["exact"].all())


def topic_called_mean() -> dict[str, float]:
    renamed = {"q0": "mean"}
    runs = {name: run.replace({"qid": renamed}) for name, run in RUNS.items()}
    return cam(runs, QRELS.replace({"qid": renamed}))


def trec_eval_values(folder: Path) -> list[float]:
    (folder / "v").write_text(
        "runid all x\nmap q1 0.25\nmap q2 0.75\nmap all 0.5\nrelstring q1 01\n".replace(" ", "\t")
    )
    return ma.read_values(folder / "v", format="trec_eval")["value"].tolist()


def drawn_labels(label: str) -> list[str]:
    pytest.importorskip("matplotlib").use("agg")
    values = VALUES[VALUES["measure"] == "AP"].replace({"name": {"old": label}})
    axes = ma.plots.values(values, ["AP"])
    axes.figure.canvas.draw()
    return [text for text in (tick.get_text() for tick in axes.get_yticklabels()) if "top" in text]


def answer_rows(*labels: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"name": "a", "qid": [f"q{row}" for row in range(len(labels))], "ok": labels}
    )


FIVE = {"ok": [1, 2, 3, 4, 5]}

#: Uses next to those that warn or fail, and what they give.
NEIGHBOURS: dict[str, tuple[Callable[[Path], Any], Any]] = {
    # columns that look like indexes, and ids that look like comments
    "an aspect called index, selected": (lambda folder: cam_of_an_aspect_called("index"), EXPECTED),
    "an aspect called level_0, selected": (
        lambda folder: cam_of_an_aspect_called("level_0"),
        EXPECTED,
    ),
    "an index in a table of a run": (
        lambda folder: from_files(folder, **{"Unnamed: 0": range(24)}),
        EXPECTED,
    ),
    "a run's column called index": (lambda folder: from_files(folder, index=range(24)), EXPECTED),
    "topics that begin with # in frames": (lambda folder: with_ids("qid", "#"), EXPECTED),
    "documents that begin with # in frames": (lambda folder: with_ids("docno", "#"), EXPECTED),
    "documents that begin with # in lines": (lambda folder: from_lines(folder, "#"), EXPECTED),
    "comments around lines": (lambda folder: from_lines(folder, ""), EXPECTED),
    # files
    "lines of JSON": (lambda folder: from_json(folder, lines=True), EXPECTED),
    "an array of JSON": (lambda folder: from_json(folder, lines=False), EXPECTED),
    "a table of Excel, saved as CSV": (with_byte_order_mark, EXPECTED),
    "Parquet without checksums": (lambda folder: from_parquet(folder, None), EXPECTED),
    "compressed Parquet": (lambda folder: from_parquet(folder, "gzip"), EXPECTED),
    "values of trec_eval with a text": (trec_eval_values, [0.25, 0.75]),
    "a topic called mean": (lambda folder: topic_called_mean(), EXPECTED),
    # learning
    "documents named on both sides": (lambda folder: named_documents(), SCORE),
    "weights without an index": (
        lambda folder: ranker_score(X, Y, qid=QID, sample_weight=np.ones(60)),
        SCORE,
    ),
    "weights of the same index": (
        lambda folder: ranker_score(X, Y, qid=QID, sample_weight=pd.Series(1.0, X.index)),
        SCORE,
    ),
    "early stopping that is off": (lambda folder: n_trees(early_stopping_round=0), 7),
    "an objective by its usual name": (lambda folder: n_trees(objective="rank_xendcg"), 7),
    # judges
    "column names in capitals": (
        lambda folder: criteria("System,Topic,OK\na,1,1\nb,1,0\n"),
        [1.0, 0.0],
    ),
    "decimal commas beside semicolons": (
        lambda folder: criteria("system;topic;ok\na;1;0,5\nb;1;1\n"),
        [0.5, 1.0],
    ),
    "decimal points beside semicolons": (
        lambda folder: criteria("system;topic;ok\na;1;0.5\nb;1;1\n"),
        [0.5, 1.0],
    ),
    "rows of a metric": (
        lambda folder: criteria("system,topic,metric,score\na,1,ok,1\nb,1,ok,0\n"),
        [1.0, 0.0],
    ),
    "a latency that is not selected": (
        lambda folder: criteria("system,topic,ok,latency\na,1,1,9\nb,1,0,7\n", aspects=["ok"]),
        [1.0, 0.0],
    ),
    "true and false in a table": (
        lambda folder: criteria("system,topic,ok\na,1,true\nb,1,false\n"),
        [1.0, 0.0],
    ),
    "truth values on a scale of two grades": (
        lambda folder: ma.answers.from_criteria(answer_rows(True, False), aspects={"ok": [1, 2]})[
            "value"
        ].tolist(),
        [1.0, 0.0],
    ),
    "a code that does not occur": (
        lambda folder: ma.answers.from_criteria(
            answer_rows(1, 5), aspects={"ok": {"grades": [1, 2, 3, 4, 5], "unjudged": ["N/A"]}}
        )["value"].tolist(),
        [0.0, 1.0],
    ),
    "grades that are listed": (
        lambda folder: ma.answers.from_criteria(answer_rows(1, 2, 3, 5), aspects=FIVE)[
            "value"
        ].tolist(),
        [0.0, 0.25, 0.5, 1.0],
    ),
    "empty columns of comments": (
        lambda folder: criteria("system,topic,ok,comments\na,1,1,\nb,1,0,\n"),
        [1.0, 0.0],
    ),
    # comparisons
    "runs that tie exactly": (lambda folder: constant_difference(0), (0.0, "")),
    "a measure of which lower is better": (
        lambda folder: lower_is_better(),
        abs(AP["new"] - AP["old"]),
    ),
    "labels of which none is missing": (lambda folder: complete_labels(), True),
    "a dollar in a name": (lambda folder: drawn_labels("top$_$5"), ["top$_$5"]),
}


@pytest.mark.parametrize(("use", "expected"), NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_uses_next_to_what_warns(
    use: Callable[[Path], Any], expected: Any, tmp_path: Path, capfd: Any
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = use(tmp_path)
    assert capfd.readouterr() == ("", "")
    if isinstance(expected, dict | float):
        assert found == pytest.approx(expected, abs=1e-12)
    else:
        assert found == expected
