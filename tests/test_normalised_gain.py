"""G, the normalised gain of trec_eval: against pytrec_eval, its definition, and figures of Lioma et al. 2017."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import pytrec_eval
import reference as ref
from comparison import compare
from hypothesis import given
from hypothesis import strategies as st
from shared_data import golden
from strategies import Collection, collections, examples

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, WHAM, Aspect, Aspects, G, On
from pt_multiaspect.analysis import missing_labels, upper_bound

TWO = Aspects({"relevance": 2, "credibility": 2})


def random_world(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return qrels with junk and runs with ties, unjudged documents, and more or fewer documents than judged."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for number in range(12):
        documents = [f"d{document:02d}" for document in range(int(rng.integers(1, 25)))]
        qrels[f"q{number}"] = {
            document: int(rng.choice([-2, -1, 0, 0, 1, 2, 4])) for document in documents
        }
        pool = [*documents, *(f"x{document:02d}" for document in range(30))]
        retrieved = rng.permutation(pool)[: int(rng.integers(1, len(pool)))]
        run[f"q{number}"] = {str(document): float(rng.integers(0, 9)) for document in retrieved}
    return qrels, run


@pytest.mark.parametrize("seed", range(20))
def test_equals_trec_eval(seed: int) -> None:
    qrels, run = random_world(seed)
    # pytrec_eval reads out of bounds for topics without a label of at least 0.
    qrels = {qid: labels for qid, labels in qrels.items() if max(labels.values()) >= 0}
    expected = {
        qid: values["G"]
        for qid, values in pytrec_eval.RelevanceEvaluator(qrels, {"G"}).evaluate(run).items()
    }
    actual = {metric.query_id: metric.value for metric in ir_measures.iter_calc([G], qrels, run)}
    assert actual == pytest.approx(expected, abs=1e-12)
    one_by_one = {qid: G.calc_aggregate({qid: qrels[qid]}, {qid: run[qid]}) for qid in qrels}
    assert actual == one_by_one  # other topics change nothing, not even by rounding


FRACTIONS = Aspects(
    {
        "relevance": Aspect([0, 1, 2], gains=[0, 0.1, 0.7]),
        "credibility": Aspect(2, gains=[0, 1, 1.3]),
    }
)


@given(collections(grades=[range(3), range(3)]))
@examples(60)
@pytest.mark.filterwarnings(
    "ignore:the run and the qrels have no query:pt_multiaspect.MultiAspectWarning"
)
@pytest.mark.filterwarnings("ignore:all labels of:pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(collection: Collection) -> None:
    theirs = {
        "relevance": ref.ref_aspect([0, 1, 2], gains=[0, 0.1, 0.7]),
        "credibility": ref.ref_aspect([0, 1, 2], gains=[0, 1, 1.3]),
    }
    cases: dict[Any, Any] = {
        CAM(base="G", aspects=FRACTIONS): lambda run, judged: ref.cam(run, judged, theirs, "G", {}),
        MM(base="G", aspects=FRACTIONS): lambda run, judged: ref.mm(run, judged, theirs, "G", {}),
        On(aspect="credibility", base="G", aspects=FRACTIONS): lambda run, judged: ref.on(
            run, judged, theirs, "credibility", "G", {}
        ),
    }
    compare(cases, collection)


@given(st.lists(st.sampled_from([0, 0.1, 0.3, 1, 1.7, 5]), min_size=1, max_size=5))
def test_the_ideal_ranking_has_the_maximum(gains: list[float]) -> None:
    grades = sorted({0, *gains})
    aspects = (
        Aspects({"relevance": Aspect(grades)}) if len(grades) > 1 else Aspects({"relevance": 1})
    )
    qrels = {"q": {f"d{number}": gain for number, gain in enumerate(gains)}}
    ideal = {"q": {f"d{number}": gain for number, gain in enumerate(gains)}}
    value = On(base="G", aspects=aspects).calc_aggregate(qrels, ideal)
    bound = upper_bound(qrels, On(base="G", aspects=aspects))
    assert bound["value"].item() == pytest.approx(value, abs=1e-15)
    if any(gains) and min(gain for gain in gains if gain) >= 1:
        assert value == 1


def test_at_every_door_of_a_base() -> None:
    qrels = pd.DataFrame(
        [("q", "a", 2, 0), ("q", "b", 0, 2), ("q", "c", 1, 1)],
        columns=["qid", "docno", "label", "credibility"],
    )
    run = pd.DataFrame(
        [("q", "c", 3.0), ("q", "a", 2.0), ("q", "b", 1.0)], columns=["qid", "docno", "score"]
    )
    # Relevance: c has gain 1 of 2, a 2 of 1; 1 / log2(3) + 2 / log2(2) of 3. Credibility: c alike,
    # b after a.
    relevance = (1 / np.log2(3) + 2) / 3
    credibility = (1 / np.log2(3) + 2 / np.log2(3)) / 3
    expected = {
        "G": relevance,
        "CAM(base='G',aspects={'relevance': 2, 'credibility': 2})": (relevance + credibility) / 2,
        "WHAM(base='G',aspects={'relevance': 2, 'credibility': 2})": 2
        / (1 / relevance + 1 / credibility),
        "On(base='G',aspect='credibility',aspects={'relevance': 2, 'credibility': 2})": credibility,
    }
    values = ma.evaluate({"run": run}, qrels, list(expected), progress=False)["value"]
    assert values.tolist() == pytest.approx(list(expected.values()))
    topics = pd.DataFrame([("q", "x")], columns=["qid", "query"])
    table = pt.Experiment(
        [pt.Transformer.from_df(run)], topics, qrels, [G, WHAM(base=G, aspects=TWO)], names=["run"]
    )
    assert sorted(table.iloc[0, 1:]) == pytest.approx(
        sorted([expected["G"], list(expected.values())[2]])
    )
    assert ir_measures.parse_trec_measure("G") == [G]


def test_analyses() -> None:
    qrels = {
        "q": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}
    }
    run = {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}
    for measure in (G, CAM(base="G", aspects=TWO), TOMA(base="G", aspects=TWO)):
        explained = measure.explain(run, qrels, "q")
        assert explained.ranks["contribution"].sum() == pytest.approx(explained.value, abs=1e-12)
        assert explained.value == measure.calc_aggregate(qrels, run)
    assert upper_bound(qrels, TOMA(base="G", aspects=TWO))["value"].item() == 1
    frame = pd.DataFrame([("q", "x", 3.0), ("q", "b", 2.0)], columns=["qid", "docno", "score"])
    with pytest.raises(ma.MultiAspectError, match="requires gains of at least 0"):
        On(
            base="G", aspects={"relevance": Aspect([-1, 0, 1], gains=[-1, 0, 1], threshold=1)}
        ).calc_aggregate({"q": {"a": -1, "b": 1}}, run)
    assert (
        missing_labels({"run": frame}, {"q": {"b": 1}}, On(base="G", aspects={"relevance": 1}))
        is not None
    )


def test_table_3_of_lioma() -> None:
    """G of Table 3 is .5475: of the rankings upside down, without assessor 6. So is CAM of AP and G, .6659."""
    grades = [1, 2, 3, 4]
    credibility = Aspect(grades, gains=[0, 0, 1, 1], threshold=3)
    aspects = Aspects({"relevance": Aspect(grades, threshold=3), "credibility": credibility})
    measures = [
        On(aspect="credibility", base="G", aspects=aspects),
        CAM(base={"relevance": "AP", "credibility": "G"}, aspects=aspects),
    ]
    qrels: dict[str, Any] = {}
    runs: dict[str, Any] = {"shown": {}, "reversed": {}}
    expected: dict[str, dict[str, float]] = {"shown": {}, "reversed": {}}
    for key, ranking in golden("a66.json")["rankings"].items():
        documents = [f"d{rank}" for rank in range(5)]
        pairs = zip(documents, ranking["relevance"], ranking["credibility"], strict=True)
        qrels[key] = {docno: {"relevance": r, "credibility": c} for docno, r, c in pairs}
        runs["shown"][key] = {docno: -float(rank) for rank, docno in enumerate(documents)}
        runs["reversed"][key] = {docno: float(rank) for rank, docno in enumerate(documents)}
        expected["shown"][key] = ranking["trec_G"]
        expected["reversed"][key] = ranking["trec_G_reversed"]
    values = ma.evaluate(runs, qrels, {"G": measures[0], "CAM": measures[1]}, progress=False)
    table = values.pivot(index=["name", "qid"], columns="measure", values="value")
    for name, by_ranking in expected.items():
        assert table.loc[name, "G"].to_dict() == pytest.approx(by_ranking, abs=1e-9)
    printed = (
        table.loc["reversed"][~table.loc["reversed"].index.str.startswith("6-")].mean().round(4)
    )
    assert printed.to_dict() == {"G": 0.5475, "CAM": 0.6659}
