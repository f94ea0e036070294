"""Measures of relevance, several aspects, sessions and diversity, on one wide qrels in one experiment."""

from __future__ import annotations

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import nDCG

import pt_multiaspect as ma

ASPECTS = ma.Aspects(
    {"relevance": 2, "credibility": ma.Aspect(2, gains=[0, 0.5, 1], threshold=2), "plain": 1},
    name="one-experiment",
)
MEASURES = [
    nDCG @ 10,
    ma.TOMA(aspects=ASPECTS) @ 10,
    ma.uRBP(aspects=ASPECTS) @ 10,
    ma.MDCU(themes="relevance,plain", usability="credibility", aspects=ASPECTS) @ 10,
    ma.nMDCU(themes="relevance", usability="credibility,plain", overlap=1.5, aspects=ASPECTS) @ 10,
    ma.RBU(p=0.8, aspects=ASPECTS) @ 10,
    ma.Subtopics(base="alpha_nDCG(alpha=0.2)", aspects=ASPECTS) @ 10,
    ma.Subtopics(base="alpha_nDCG(alpha=0.8)", aspects=ASPECTS) @ 10,
]


def qrels() -> pd.DataFrame:
    rows = [
        (f"q{query}", f"d{n}", (query + n) % 3, (query * n) % 3, (query + n // 2) % 2)
        for query in range(1, 4)
        for n in range(7)
    ]
    return pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility", "plain"])


def run(step: int) -> pd.DataFrame:
    rows = [
        (f"q{query}", f"d{n}", float((n * step + query) % 11))
        for query in range(1, 4)
        for n in range(9)
    ]
    return pd.DataFrame(rows, columns=["qid", "docno", "score"])


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore:the threshold of relevance is not declared")
@pytest.mark.parametrize("as_string", [False, True], ids=["objects", "strings"])
def test_one_experiment_gives_the_values_of_each_measure_alone(as_string: bool) -> None:
    runs = {"three": run(3), "seven": run(7)}
    topics = pd.DataFrame({"qid": ["q1", "q2", "q3"], "query": "any"})
    systems = [pt.Transformer.from_df(frame) for frame in runs.values()]
    names = [str(measure) if as_string else measure for measure in MEASURES]
    table = pt.Experiment(systems, topics, qrels(), names, names=list(runs)).set_index("name")
    columns = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    for name, frame in runs.items():
        for measure in MEASURES:
            alone = ir_measures.calc_aggregate(
                [measure], qrels().rename(columns=columns), frame.rename(columns=columns)
            )
            assert table.loc[name, str(measure)] == pytest.approx(alone[measure], abs=1e-12), (
                measure
            )
    assert len({round(value, 9) for value in table.iloc[0]}) == len(MEASURES)
