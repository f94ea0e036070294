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
    """The ranking by gains attains the upper bound, which is below 1 if gains between 0 and 1 occur."""
    grades = sorted({0, *gains})
    scale = Aspect(grades) if len(grades) > 1 else Aspect(1)  # a scale has two grades at least
    measure = On(base="G", aspects=Aspects({"relevance": scale}))
    qrels = {"q": {f"d{number}": gain for number, gain in enumerate(gains)}}
    scores_are_gains = qrels

    value = measure.calc_aggregate(qrels, scores_are_gains)

    assert upper_bound(qrels, measure)["value"].item() == pytest.approx(value, abs=1e-15)
    positive_gains = [gain for gain in gains if gain > 0]
    if positive_gains and min(positive_gains) >= 1:
        assert value == 1


# The run is c, a, b. A gain is divided by log2(2 + what is missed up to its rank): the ideal gains,
# of which each rank has at least 1, less the gains. The sum is divided by all gains, here 3.
DOOR_QRELS = pd.DataFrame(
    [("q", "a", 2, 0), ("q", "b", 0, 2), ("q", "c", 1, 1)],
    columns=["qid", "docno", "label", "credibility"],
)
DOOR_RUN = pd.DataFrame(
    [("q", "c", 3.0), ("q", "a", 2.0), ("q", "b", 1.0)], columns=["qid", "docno", "score"]
)


def expected_at_doors() -> dict[str, float]:
    """The values of G, and of measures with it as base."""
    # Relevance gains 1, 2, 0 and in the ideal 2, 1, 1: at rank 1, 2 - 1 is missed, at rank 2, 3 - 3.
    relevance = (1 / np.log2(2 + 1) + 2 / np.log2(2 + 0)) / 3
    # Credibility gains 1, 0, 2 and in the ideal 2, 1, 1: at rank 1, 2 - 1, at rank 3, 4 - 3.
    credibility = (1 / np.log2(2 + 1) + 2 / np.log2(2 + 1)) / 3
    scales = "aspects={'relevance': 2, 'credibility': 2}"
    return {
        "G": relevance,
        f"CAM(base='G',{scales})": (relevance + credibility) / 2,
        f"WHAM(base='G',{scales})": 2 / (1 / relevance + 1 / credibility),
        f"On(base='G',aspect='credibility',{scales})": credibility,
    }


def test_at_every_door_of_a_base() -> None:
    expected = expected_at_doors()
    table = ma.evaluate({"run": DOOR_RUN}, DOOR_QRELS, list(expected), progress=False)
    assert table["value"].tolist() == pytest.approx(list(expected.values()))


def test_in_an_experiment() -> None:
    expected = expected_at_doors()
    wham = WHAM(base=G, aspects=TWO)
    topics = pd.DataFrame([("q", "x")], columns=["qid", "query"])
    systems = [pt.Transformer.from_df(DOOR_RUN)]
    table = pt.Experiment(systems, topics, DOOR_QRELS, [G, wham], names=["run"])
    assert table["G"].item() == pytest.approx(expected["G"])
    expected_wham = expected["WHAM(base='G',aspects={'relevance': 2, 'credibility': 2})"]
    assert table[str(wham)].item() == pytest.approx(expected_wham)
    assert ir_measures.parse_trec_measure("G") == [G]


ANALYSED_QRELS = {
    "q": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}
}
ANALYSED_RUN = {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}


@pytest.mark.parametrize(
    "measure",
    [G, CAM(base="G", aspects=TWO), TOMA(base="G", aspects=TWO)],
    ids=["G", "CAM", "TOMA"],
)
def test_contributions_sum_to_the_value(measure: Any) -> None:
    explained = measure.explain(ANALYSED_RUN, ANALYSED_QRELS, "q")
    assert explained.value == measure.calc_aggregate(ANALYSED_QRELS, ANALYSED_RUN)
    total = explained.ranks["contribution"].sum()
    assert total == pytest.approx(explained.value, abs=1e-12)


def test_the_upper_bound_with_toma_is_1() -> None:
    bounds = upper_bound(ANALYSED_QRELS, TOMA(base="G", aspects=TWO))
    assert bounds["value"].item() == 1


def test_gains_below_0_are_refused() -> None:
    """The logarithm of their sum may not exist."""
    scale = Aspect([-1, 0, 1], gains=[-1, 0, 1], threshold=1)
    measure = On(base="G", aspects={"relevance": scale})
    with pytest.raises(ma.MultiAspectError, match="requires gains of at least 0"):
        measure.calc_aggregate({"q": {"a": -1, "b": 1}}, ANALYSED_RUN)


def test_missing_labels_of_unjudged_documents() -> None:
    """x, which is not judged, may be relevant or not: the value as evaluated is one of the extremes or between."""
    run = pd.DataFrame([("q", "x", 3.0), ("q", "b", 2.0)], columns=["qid", "docno", "score"])
    measure = On(base="G", aspects={"relevance": 1})
    (row,) = missing_labels({"run": run}, {"q": {"b": 1}}, measure).runs.to_dict("records")
    assert row["low"] <= row["value"] <= row["high"]


def test_table_3_of_lioma() -> None:
    """G on credibility, and CAM of AP on relevance and G, on the 66 rankings of the paper and on these upside down.

    Table 3 prints the means of the rankings upside down, without those of assessor 6.
    """
    grades = [1, 2, 3, 4]
    credibility = Aspect(grades, gains=[0, 0, 1, 1], threshold=3)
    aspects = Aspects({"relevance": Aspect(grades, threshold=3), "credibility": credibility})
    measures = {
        "G": On(aspect="credibility", base="G", aspects=aspects),
        "CAM": CAM(base={"relevance": "AP", "credibility": "G"}, aspects=aspects),
    }
    rankings = golden("a66.json")["rankings"]
    qrels: dict[str, Any] = {}
    as_shown: dict[str, Any] = {}
    upside_down: dict[str, Any] = {}
    for qid, ranking in rankings.items():
        qrels[qid] = {}
        for rank in range(5):
            qrels[qid][f"d{rank}"] = {
                "relevance": ranking["relevance"][rank],
                "credibility": ranking["credibility"][rank],
            }
        as_shown[qid] = {f"d{rank}": -float(rank) for rank in range(5)}
        upside_down[qid] = {f"d{rank}": float(rank) for rank in range(5)}

    runs = {"as shown": as_shown, "upside down": upside_down}
    values = ma.evaluate(runs, qrels, measures, progress=False)
    table = values.pivot(index=["name", "qid"], columns="measure", values="value")

    g_as_shown = {qid: ranking["trec_G"] for qid, ranking in rankings.items()}
    assert table.loc["as shown", "G"].to_dict() == pytest.approx(g_as_shown, abs=1e-9)
    g_upside_down = {qid: ranking["trec_G_reversed"] for qid, ranking in rankings.items()}
    assert table.loc["upside down", "G"].to_dict() == pytest.approx(g_upside_down, abs=1e-9)

    values_upside_down = table.loc["upside down"]
    is_of_assessor_6 = values_upside_down.index.str.startswith("6-")  # such as 6-2
    means = values_upside_down[~is_of_assessor_6].mean()
    assert round(means["G"], 4) == 0.5475
    assert round(means["CAM"], 4) == 0.6659
