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
    """Documents without judgments that the runs retrieve get labels, too: `new` and `other` in each of 6 topics."""
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES)

    assert filled.columns.tolist() == ["qid", "docno", "label", "trust"]
    judged = by_pair(QRELS)
    filled_judged = by_pair(filled).loc[judged.index]
    pd.testing.assert_frame_equal(filled_judged.where(judged.notna()), judged)
    assert filled.notna().all(axis=None)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"new", "other"}

    n_added = 6 * 2
    missing_relevance = int(QRELS["label"].isna().sum())
    missing_trust = int(QRELS["trust"].isna().sum())
    assert filled.attrs["filled"] == {
        "relevance": {"filled": missing_relevance + n_added, "missing": 0, "by": "observed"},
        "trust": {"filled": missing_trust + n_added, "missing": 0, "by": "observed"},
    }


def test_labels_come_from_donors_with_the_same_known_labels() -> None:
    """Each filled pair of labels is one that a completely judged document has."""
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES)
    donors = QRELS.dropna()
    pairs_of_donors = set(donors[["label", "trust"]].itertuples(index=False, name=None))
    pairs_of_filled = set(filled[["label", "trust"]].itertuples(index=False, name=None))
    assert pairs_of_filled <= pairs_of_donors


def test_donors_of_the_topic_are_drawn_more_often() -> None:
    """With n donors in the topic, one of these is drawn with the probability n / (n + 5), else one of any topic."""
    n = 15
    donors = [("q1", f"d{number}", 2.0, 1.0) for number in range(n)]
    donors_elsewhere = [("q2", f"d{number}", 0.0, 0.0) for number in range(n)]
    missing = [("q1", f"x{number}", np.nan, np.nan) for number in range(2000)]
    qrels = pd.DataFrame(
        [*donors, *donors_elsewhere, *missing], columns=["qid", "docno", "relevance", "trust"]
    )

    filled = ma.fill_labels(qrels, {"a": {"q1": {"d0": 1.0}}}, aspects=SCALES)

    was_missing = filled["docno"].str.startswith("x")
    from_own_topic = filled["relevance"] == 2  # only donors of q1 have this label
    fraction = from_own_topic[was_missing].mean()
    half_of_all_donors = 1 / 2  # are of q1
    expected = n / (n + 5) + 5 / (n + 5) * half_of_all_donors
    assert fraction == pytest.approx(expected, abs=0.03)


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
    """Columns that are no aspects stay with their documents, and are missing for documents that were added."""
    qrels = QRELS.assign(
        known=QRELS["label"].isna().to_numpy(), note=np.arange(len(QRELS)).astype(str)
    )
    shuffled = qrels.sample(frac=1, random_state=2)

    filled = by_pair(ma.fill_labels(shuffled, RUNS, aspects=SCALES))

    assert filled.columns.tolist() == ["label", "trust", "known", "note"]
    further_columns = filled[["known", "note"]]
    judged = by_pair(qrels)[["known", "note"]]
    pd.testing.assert_frame_equal(further_columns.loc[judged.index], judged, check_dtype=False)
    is_added = ~filled.index.isin(judged.index)
    assert further_columns[is_added].isna().all(axis=None)


def test_measures_read_the_column_known_of_filled_qrels() -> None:
    """NoveltyRatio counts relevant documents that are not known: it is above 0 if the filled qrels can be read."""
    qrels = QRELS.assign(known=QRELS["label"].isna().to_numpy())
    filled = ma.fill_labels(qrels, RUNS, aspects=SCALES)
    values = ma.evaluate(RUNS, filled, ma.On(base="NoveltyRatio", aspects={"relevance": 2}))
    assert values["value"].max() > 0


def test_depth_leaves_out_documents_further_down() -> None:
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES, depth=1)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"other"}


def test_labels_of_a_model_fill_what_they_have() -> None:
    """The model has two labels of relevance and one of trust; all other missing labels remain missing."""
    model = pd.DataFrame(
        [("q0", "new", 2, 3), ("q1", "new", 1, np.nan)],
        columns=["qid", "docno", "relevance", "trust"],
    )

    filled = by_pair(ma.fill_labels(QRELS, RUNS, model, aspects=SCALES))

    assert filled.loc[("q0", "new")].tolist() == [2.0, 3.0]
    assert filled.loc[("q1", "new"), "label"] == 1.0
    record = filled.attrs["filled"]
    assert record["relevance"]["filled"] == 2
    assert record["trust"]["filled"] == 1
    assert record["trust"]["missing"] == filled["trust"].isna().sum()


def test_without_an_equal_donor_the_side_of_the_threshold_counts() -> None:
    """No judged document has the relevance 2 of d3: d1, which is relevant too, gives it the trust 3."""
    qrels = {
        "q": {
            "d1": {"relevance": 1, "trust": 3},
            "d2": {"relevance": 0, "trust": 0},
            "d3": {"relevance": 2},
        }
    }
    filled = ma.fill_labels(qrels, {"a": {"q": {"d1": 1.0}}}, aspects=SCALES)
    filled_d3 = filled.set_index("docno").loc["d3"]
    assert filled_d3.to_dict() == {"qid": "q", "relevance": 2.0, "trust": 3.0}


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
