"""Qrels whose missing labels are filled: donors, keys of random numbers, labels of models and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

SCALES = {"relevance": 2, "trust": 3}


def draw_qrels(n_topics: int = 6, n_documents: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{number}" for number in range(n_topics)], n_documents),
            "docno": [f"d{number}" for number in range(n_documents)] * n_topics,
            "label": rng.integers(0, 3, n_topics * n_documents).astype(float),
        }
    )
    frame["trust"] = frame["label"] + rng.integers(0, 2, len(frame))
    lost = rng.random((len(frame), 2)) < 0.3
    return frame.mask(np.column_stack([np.zeros((len(frame), 2), dtype=bool), lost]))


def run_on(qrels: pd.DataFrame, *documents: str) -> dict[str, dict[str, float]]:
    return {
        qid: {docno: -float(rank) for rank, docno in enumerate(documents)}
        for qid in qrels["qid"].unique()
    }


QRELS = draw_qrels()
RUNS = {"a": run_on(QRELS, "d1", "new", "other"), "b": run_on(QRELS, "other", "d3")}


def by_pair(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(["qid", "docno"]).sort_index()


def test_judged_labels_are_kept_and_all_others_are_filled() -> None:
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES)
    assert filled.columns.tolist() == ["qid", "docno", "label", "trust"]
    judged = by_pair(QRELS)
    compared = by_pair(filled).loc[judged.index]
    pd.testing.assert_frame_equal(compared.where(judged.notna()), judged)
    assert filled.notna().all(axis=None)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"new", "other"}
    holes = QRELS[["label", "trust"]].isna().sum() + 12
    assert filled.attrs["filled"] == {
        name: {"filled": number, "missing": 0, "by": "observed"}
        for name, number in zip(["relevance", "trust"], holes.tolist(), strict=True)
    }


def test_labels_come_from_donors_with_the_same_known_labels() -> None:
    donors = {tuple(row) for row in QRELS.dropna()[["label", "trust"]].to_numpy()}
    drawn = {
        tuple(row)
        for row in ma.fill_labels(QRELS, RUNS, aspects=SCALES)[["label", "trust"]].to_numpy()
    }
    assert drawn <= donors


def test_donors_of_the_topic_are_drawn_more_often() -> None:
    rows = [("q1", f"d{n}", 2.0, 1.0) for n in range(15)] + [
        ("q2", f"d{n}", 0.0, 0.0) for n in range(15)
    ]
    holes = [("q1", f"x{n}", np.nan, np.nan) for n in range(2000)]
    qrels = pd.DataFrame([*rows, *holes], columns=["qid", "docno", "relevance", "trust"])
    filled = ma.fill_labels(qrels, {"a": {"q1": {"d0": 1.0}}}, aspects=SCALES)
    share = (filled["relevance"][filled["docno"].str.startswith("x")] == 2).mean()
    assert share == pytest.approx(15 / 20 + 5 / 20 / 2, abs=0.03)


def test_a_label_depends_on_its_seed_topic_and_document_only() -> None:
    first = by_pair(ma.fill_labels(QRELS, RUNS, aspects=SCALES))
    shuffled = ma.fill_labels(
        QRELS.sample(frac=1, random_state=1), {"b": RUNS["b"]}, aspects=SCALES
    )
    again = by_pair(shuffled)
    pd.testing.assert_frame_equal(first.loc[again.index], again)
    others = by_pair(ma.fill_labels(QRELS, RUNS, aspects=SCALES, seed=1))
    assert not first.equals(others)


def test_further_columns_are_kept() -> None:
    qrels = QRELS.assign(
        known=QRELS["label"].isna().to_numpy(), note=np.arange(len(QRELS)).astype(str)
    )
    filled = by_pair(ma.fill_labels(qrels.sample(frac=1, random_state=2), RUNS, aspects=SCALES))
    assert filled.columns.tolist() == ["label", "trust", "known", "note"]
    judged = by_pair(qrels)[["known", "note"]]
    pd.testing.assert_frame_equal(
        filled.loc[judged.index, ["known", "note"]], judged, check_dtype=False
    )
    assert filled.loc[~filled.index.isin(judged.index), ["known", "note"]].isna().all(axis=None)
    values = ma.evaluate(
        RUNS, filled.reset_index(), ma.On(base="NoveltyRatio", aspects={"relevance": 2})
    )
    assert values["value"].max() > 0


def test_depth_leaves_out_documents_further_down() -> None:
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES, depth=1)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"other"}


def test_labels_of_a_model_fill_what_they_have() -> None:
    model = pd.DataFrame(
        {"qid": ["q0", "q1"], "docno": ["new", "new"], "relevance": [2, 1], "trust": [3, np.nan]}
    )
    filled = by_pair(ma.fill_labels(QRELS, RUNS, model, aspects=SCALES))
    assert filled.loc[("q0", "new")].tolist() == [2.0, 3.0]
    assert filled.loc[("q1", "new"), "label"] == 1.0
    record = filled.attrs["filled"]
    assert (record["relevance"]["filled"], record["trust"]["filled"]) == (2, 1)
    assert record["trust"]["missing"] == filled["trust"].isna().sum()


def test_without_an_equal_donor_the_side_of_the_threshold_counts() -> None:
    qrels = {
        "q": {
            "d1": {"relevance": 1, "trust": 3},
            "d2": {"relevance": 0, "trust": 0},
            "d3": {"relevance": 2},
        }
    }
    filled = ma.fill_labels(qrels, {"a": {"q": {"d1": 1.0}}}, aspects=SCALES)
    assert filled.set_index("docno").loc["d3"].tolist() == ["q", 2.0, 3.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "from which to draw trust, got none for document d2 of topic q.*gate="),
        ({"labels": "mean"}, "expected 'observed' or qrels"),
        ({"depth": 0}, "depth"),
        ({"seed": 1.5}, "seed"),
        ({"labels": {"q": {"d2": {"trust": 7}}}}, "labels: invalid trust label 7"),
        (
            {"labels": {"q": {"d2": {"clarity": 1}}}},
            "labels: expected a column of relevance",
        ),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    judged = {"q": {"d1": {"relevance": 1, "trust": 3}, "d2": {"relevance": 0}}}
    with pytest.raises(MultiAspectError, match=message):
        ma.fill_labels(judged, {"a": {"q": {"d1": 1.0}}}, aspects=SCALES, **options)
