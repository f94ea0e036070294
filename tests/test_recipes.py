"""The recipes of the how-to pages: one ranker per aspect, and an evaluator for sentence-transformers."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import pt_multiaspect as ma

HOWTO = Path(__file__).resolve().parent.parent / "docs" / "howto"
ASPECTS = ma.Aspects({"relevance": 2, "understandability": 3})


def recipe(page: str, marker: str) -> str:
    """Return the block of code of a page that contains a text."""
    text = (HOWTO / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|\{code-cell\})\n(.*?)^```$", text, re.M | re.S)
    (block,) = [block for block in blocks if marker in block]
    return str(block)


RECIPES = {
    "one ranker per aspect": recipe("searches", "def standardise"),
    "evaluator": recipe("rerankers", "class Evaluator").split("evaluator =")[0],
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_short(name: str) -> None:
    lines = [line for line in RECIPES[name].splitlines() if line.strip()]
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 119


# -- one ranker per aspect
# -----------------------------------------------------------------------------

RNG = np.random.default_rng(1)
N = 200
QID = np.repeat(np.arange(20), 10)
X = RNG.normal(size=(N, 3))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + RNG.normal(size=N), [0, 1]),
        "understandability": np.digitize(X[:, 1] - X[:, 0] + RNG.normal(size=N), [-1, 0, 1]),
    }
)
MEASURES = {"CAM": ma.CAM(aspects=ASPECTS) @ 5, "nDCG": "nDCG@5", "ESL": ma.ESL(wanted=1)}


def sweep(features: Any = X) -> Any:
    names = {
        "X": features,
        "labels": Y.set_axis(pd.Index(QID, name="qid")),
        "qid": QID,
        "train": QID < 12,
        "test": QID >= 12,
        "aspects": ASPECTS,
        "measures": MEASURES,
        "Ridge": Ridge,
        "ma": ma,
        "pd": pd,
    }
    exec(compile(RECIPES["one ranker per aspect"], "searches.md", "exec"), names)
    return names


def test_predictions_are_standardised_within_queries_and_weighted() -> None:
    page = sweep()
    train, test = page["train"], page["test"]
    z = {}
    for name in ASPECTS:
        predicted = Ridge().fit(X[train], Y.loc[train, name]).predict(X[test])
        z[name] = np.empty(len(predicted))
        for query in set(QID[test]):
            rows = QID[test] == query
            z[name][rows] = (predicted[rows] - predicted[rows].mean()) / predicted[rows].std()
    table = page["sweep"]
    assert table["weight of relevance"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    for row, weight in enumerate(table["weight of relevance"]):
        scores = weight * z["relevance"] + (1 - weight) * z["understandability"]
        for name, measure in MEASURES.items():
            value = ma.ranking_score(Y[test], scores, qid=QID[test], measure=measure)
            assert table.loc[row, name] == pytest.approx(value, abs=1e-12)
    assert table["nDCG"].iloc[-1] > table["nDCG"].iloc[0]
    assert ma.pareto_front(table, ["CAM", "nDCG"])["on_front"].any()


@pytest.mark.parametrize("scale", [1e-3, 1, 1e6])
def test_equal_predictions_of_a_query_rank_nothing(scale: float) -> None:
    """Predictions are divided by their deviation in the query, but not if they differ by rounding only.

    All rows of query 15, one of the test queries 12 to 19, have the same features.
    """
    features = np.where(QID[:, None] == 15, 0.1, X) * scale
    standardised = sweep(features)["standardised"]
    qid_of_test = QID[QID >= 12]
    is_equal = qid_of_test == 15
    assert (standardised[is_equal].to_numpy() == 0).all()
    others = standardised[~is_equal]
    deviations = others.groupby(qid_of_test[~is_equal]).std(ddof=0)
    assert deviations.to_numpy() == pytest.approx(1)


# -- an evaluator for sentence-transformers
# ------------------------------------------------------------

QRELS = pd.DataFrame(
    [
        (f"q{query}", f"d{number}", RNG.integers(3), RNG.integers(4))
        for query in range(6)
        for number in range(9)
    ],
    columns=["qid", "docno", "label", "understandability"],
)
#: Some judged documents are not candidates, some candidates are not judged, and one judged query
#: has no candidates.
PAIRS = [(f"q{query}", f"d{number}") for query in range(5) for number in range(4, 13)]
CANDIDATES = pd.DataFrame(PAIRS, columns=["qid", "docno"]).sample(frac=1, random_state=0)
CANDIDATES["query"] = "what is " + CANDIDATES["qid"]
CANDIDATES["text"] = "about " + CANDIDATES["docno"]
without_last = pytest.mark.filterwarnings("ignore:.*no documents for 1 of . judged topics")


class BaseEvaluator:
    """A stand-in for the class of evaluators that trainers accept."""

    def __init__(self) -> None:
        self.primary_metric = None

    def store_metrics_in_model_card_data(
        self, model: Any, metrics: Any, epoch: Any = 0, step: Any = 0
    ) -> None:
        model.card = epoch, step, dict(metrics)


class Model:
    """A cross-encoder whose scores are numbers of texts, of which some are tied."""

    def predict(self, pairs: list[tuple[str, str]], show_progress_bar: bool) -> Any:
        numbers = [
            (int(query.split("q")[1]) + 1) * 7 + int(text.split("d")[1]) * 5
            for query, text in pairs
        ]
        return (np.array(numbers) % 4).astype(np.float32) / 3


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the recipe, with a stand-in for sentence-transformers."""
    for name in (
        "sentence_transformers",
        "sentence_transformers.base",
        "sentence_transformers.base.evaluation",
    ):
        module = types.ModuleType(name)
        module.BaseEvaluator = BaseEvaluator  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    names = {"__name__": "recipe", "ma": ma}
    exec(compile(RECIPES["evaluator"], "rerankers.md", "exec"), names)
    return names["Evaluator"]


@without_last
def test_values_of_the_evaluator_are_those_of_evaluate(evaluator: Any) -> None:
    measures = {"TOMA@5": ma.TOMA(aspects=ASPECTS) @ 5, "AP": "AP", "ESL": ma.ESL(wanted=1)}
    model = Model()
    values = evaluator(CANDIDATES, QRELS, measures)(model, epoch=0.5, steps=3)
    pairs = list(zip(CANDIDATES["query"], CANDIDATES["text"], strict=True))
    run = CANDIDATES[["qid", "docno"]].assign(score=model.predict(pairs, show_progress_bar=False))
    expected = ma.aggregate(ma.evaluate(run, QRELS, measures, progress=False)).iloc[0]
    assert values == {name: expected[name] for name in measures}
    assert all(type(value) is float for value in values.values())
    assert model.card == (0.5, 3, values)


@without_last
def test_the_evaluator_counts_judged_documents_that_are_no_candidates(evaluator: Any) -> None:
    judged_candidates = QRELS.merge(CANDIDATES[["qid", "docno"]])
    of_all = evaluator(CANDIDATES, QRELS, {"AP": "AP"})(Model())
    of_candidates = evaluator(CANDIDATES, judged_candidates, {"AP": "AP"})(Model())
    assert of_all["AP"] != of_candidates["AP"]


@without_last
def test_the_evaluator_counts_queries_without_candidates_as_empty_rankings(evaluator: Any) -> None:
    """q5 is the only one of six queries without candidates."""
    of_six = evaluator(CANDIDATES, QRELS, {"AP": "AP"})(Model())
    of_five = evaluator(CANDIDATES, QRELS[QRELS["qid"] != "q5"], {"AP": "AP"})(Model())
    assert of_six["AP"] == pytest.approx((5 * of_five["AP"] + 0) / 6)


def test_trainers_accept_the_evaluator(evaluator: Any) -> None:
    created = evaluator(CANDIDATES, QRELS, {"AP": "AP", "P": "P@1"})
    assert isinstance(created, BaseEvaluator)
    assert created.primary_metric == "AP"


def test_scores_that_are_no_numbers_are_an_error(evaluator: Any) -> None:
    """As those of a model whose training has diverged."""

    class Diverged(Model):
        def predict(self, pairs: Any, show_progress_bar: bool) -> Any:
            return np.full(len(pairs), np.nan)

    with pytest.raises(ma.MultiAspectError, match="score"):
        evaluator(CANDIDATES, QRELS, {"AP": "AP"})(Diverged())
