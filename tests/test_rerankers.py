"""Evaluation of rerankers in training, with a stand-in that makes the checks of sentence-transformers."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import types
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.model_selection import rerankers

RNG = np.random.default_rng(4)
ASPECTS = ma.Aspects({"relevance": 2, "credibility": 2}, name="reranked")
MEASURES = [ma.TOMA(aspects=ASPECTS) @ 5, ma.CAM(aspects=ASPECTS), "nDCG@5", "AP", ma.ESL(wanted=1)]
QRELS = pd.DataFrame(
    [(f"q{q}", f"d{d}", RNG.integers(3), RNG.integers(3)) for q in range(6) for d in range(9)],
    columns=["qid", "docno", "label", "credibility"],
)
#: Some judged documents are not candidates, some candidates are not judged, and one judged query has no candidates.
PAIRS = [(f"q{q}", f"d{d}") for q in range(5) for d in range(4, 13)]
CANDIDATES = pd.DataFrame(PAIRS, columns=["qid", "docno"]).sample(frac=1, random_state=0)
CANDIDATES["query"] = "what is " + CANDIDATES["qid"]
CANDIDATES["text"] = "about " + CANDIDATES["docno"]
without_last = pytest.mark.filterwarnings("ignore:.*no documents for 1 of . judged topics")


class BaseEvaluator:
    """A stand-in for the class of evaluators that trainers accept."""

    def __init__(self) -> None:
        self.greater_is_better, self.primary_metric = True, None

    def store_metrics_in_model_card_data(self, model: Any, metrics: Any, epoch: Any = 0, step: Any = 0) -> None:
        model.card[self] = epoch, step, dict(metrics)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for sentence-transformers."""
    for name in ("sentence_transformers", "sentence_transformers.base", "sentence_transformers.base.evaluation"):
        module = types.ModuleType(name)
        module.BaseEvaluator = BaseEvaluator  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    rerankers._class_with_base.cache_clear()
    yield
    rerankers._class_with_base.cache_clear()


class Model:
    """A cross-encoder whose scores are numbers of texts, of which some are tied."""

    def __init__(self, change: Any = None) -> None:
        self.card: dict[Any, Any] = {}
        self.change = change
        self.n_pairs = 0

    def predict(self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool) -> Any:
        self.n_pairs = len(pairs)
        numbers = [(int(query.split("q")[1]) + 1) * 7 + int(text.split("d")[1]) * 5 for query, text in pairs]
        scores = (np.array(numbers) % 4).astype(np.float32) / 3
        return scores if self.change is None else self.change(scores)


class Encoder(Model):
    """A bi-encoder with the same scores."""

    predict = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name == "predict":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def encode_query(self, texts: list[str], **options: Any) -> Any:
        assert len(texts) == len(set(texts))
        return np.array([[int(text.split("q")[1])] for text in texts])

    def encode_document(self, texts: list[str], **options: Any) -> Any:
        assert len(texts) == len(set(texts))
        return np.array([[int(text.split("d")[1])] for text in texts])

    def similarity_pairwise(self, queries: Any, texts: Any) -> Any:
        return Tensor((((queries + 1) * 7 + texts * 5) % 4)[:, 0] / 3)


class Several(Encoder):
    """An encoder with several vectors per text."""

    def encode_query(self, texts: list[str], **options: Any) -> Any:
        return [np.full((2, 1), number) for number in super().encode_query(texts)[:, 0]]

    def encode_document(self, texts: list[str], **options: Any) -> Any:
        return [np.full((number, 1), number) for number in super().encode_document(texts)[:, 0]]

    def similarity_pairwise(self, queries: Any, texts: Any) -> Any:
        first = (np.stack([vectors[0] for vectors in of]) for of in (queries, texts))
        return super().similarity_pairwise(*first)


class Tensor:
    def __init__(self, values: Any) -> None:
        self.values = values

    def cpu(self) -> Any:
        return self

    def numpy(self) -> Any:
        return self.values


def run_of_model() -> pd.DataFrame:
    scores = Model().predict(list(zip(CANDIDATES["query"], CANDIDATES["text"], strict=True)), 1, False)
    return CANDIDATES[["qid", "docno"]].assign(score=scores)


def make(**changes: Any) -> Any:
    arguments: dict[str, Any] = {"candidates": CANDIDATES, "qrels": QRELS, "measures": MEASURES} | changes
    return ma.RerankingEvaluator(**arguments)


@without_last
@pytest.mark.parametrize("model", [Model(), Encoder(), Several()], ids=["cross", "bi", "multi-vector"])
def test_values_are_those_of_evaluate(library: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_MOST_PAIRS", 7)
    values = make()(model)
    aggregated = ma.aggregate(ma.evaluate(run_of_model(), QRELS, MEASURES, progress=False)).iloc[0]
    labels = aggregated.index[1:].tolist()
    assert list(values) == [*labels[:4], f"{labels[4]}_loss"]
    assert list(values.values()) == pytest.approx(aggregated[labels].tolist(), abs=1e-12)
    assert all(type(value) is float for value in values.values())
    # Neither the judgments of other documents nor the query without candidates is left out.
    judged = QRELS.merge(CANDIDATES[["qid", "docno"]])
    assert values["AP"] != make(qrels=judged)(model)["AP"]
    assert values["AP"] == pytest.approx(make(qrels=QRELS[QRELS["qid"] != "q5"])(model)["AP"] * 5 / 6)


@without_last
def test_trainers_find_what_they_ask_for(library: Any, tmp_path: Path) -> None:
    evaluator = make(name="dev", primary_metric="nDCG@5")
    assert make(name="dev", primary_metric=ir_measures.nDCG @ 5).primary_metric == evaluator.primary_metric
    assert isinstance(evaluator, BaseEvaluator)  # a trainer wraps other objects
    assert isinstance(evaluator, ma.RerankingEvaluator)
    assert type(evaluator) is type(make())
    assert (type(evaluator).__module__, type(evaluator).__qualname__) == (rerankers.__name__, "RerankingEvaluator")
    assert (evaluator.primary_metric, evaluator.greater_is_better) == ("dev_nDCG@5", True)
    model = Model()
    values = evaluator(model, str(tmp_path / "eval"), 0.5, 3)
    assert model.card[evaluator] == (0.5, 3, values)
    evaluator(model)
    assert model.card[evaluator] == (-1, -1, values)  # as after the last step
    evaluator(model, str(tmp_path / "eval"), 1.0, 6)
    table = pd.read_csv(tmp_path / "eval" / "RerankingEvaluator_dev_results.csv", dtype=str)
    table = table.astype(float)  # rounded correctly by any pandas
    assert table.columns.tolist() == ["epoch", "steps", *values]
    assert table[["epoch", "steps"]].to_numpy().tolist() == [[0.5, 3], [1, 6]]
    assert table[[*values]].iloc[1].tolist() == list(values.values())
    make(name="dev", write_csv=False)(model, str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@without_last
def test_the_file_is_not_continued_with_other_measures(library: Any, tmp_path: Path) -> None:
    make()(Model(), str(tmp_path))
    (file,) = tmp_path.iterdir()
    before = file.read_bytes()
    assert file.name == "RerankingEvaluator_results.csv"
    with pytest.warns(MultiAspectWarning, match=r"expected the columns epoch, steps, AP, got epoch, steps, TOMA"):
        assert make(measures="AP")(Model(), str(tmp_path)).keys() == {"AP"}
    assert file.read_bytes() == before


@without_last
def test_lower_is_better(library: Any) -> None:
    """Transformers' trainers minimise metrics whose name ends in "loss", if nothing else is set."""
    evaluator = make(measures={"length": ma.ESL(wanted=1), "AP": "AP"})
    assert (evaluator.primary_metric, evaluator.greater_is_better) == ("length_loss", False)
    assert evaluator(Model())["length_loss"] > 0


@without_last
@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"hit_loss": "AP"}, "the label 'hit_loss' of a higher-is-better measure ends in 'loss'"),
        ({"ESL": ma.ESL(wanted=1), "ESL_loss": "AP"}, "the label 'ESL_loss' of a higher-is-better measure"),
        ({"epoch": "AP"}, "the label 'epoch' of a measure is the name of a column of the CSV file"),
    ],
)
def test_labels_that_trainers_would_misread(library: Any, measures: Any, message: str) -> None:
    """They would minimise the measure, or a value would replace another one."""
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        make(measures=measures)
    lower = {"ESL": ma.ESL(wanted=1), "ESL_loss": ma.ESL(wanted=2)}
    assert list(make(measures=lower)(Model())) == ["ESL_loss", "ESL_loss_loss"]
    assert list(make(measures={"epoch": "AP"}, name="dev")(Model())) == ["dev_epoch"]


@without_last
def test_a_name_with_slashes(library: Any, tmp_path: Path) -> None:
    """A data set of a hub has one; the file is written after the first epoch."""
    assert list(make(measures="AP", name="clef/2015")(Model(), str(tmp_path))) == ["clef/2015_AP"]
    assert [path.name for path in tmp_path.iterdir()] == ["RerankingEvaluator_clef_2015_results.csv"]


@without_last
def test_copies(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(ma.RerankingEvaluator):
        def __call__(self, *args: Any, **options: Any) -> Any:
            return {name: -value for name, value in super().__call__(*args, **options).items()}

    class Both(Own, BaseEvaluator):
        pass

    for cls in (Own, Both):
        monkeypatch.setattr(sys.modules[__name__], cls.__name__, cls, raising=False)
        cls.__qualname__ = cls.__name__
    evaluator = make(name="dev")
    values = evaluator(Model())
    for again in (pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator), copy.copy(evaluator)):
        assert isinstance(again, BaseEvaluator)
        assert again(Model()) == values
    for cls in (Own, Both):
        own = cls(CANDIDATES, QRELS, MEASURES, name="dev")
        again = pickle.loads(pickle.dumps(own))
        assert type(again) is type(own)
        assert again(Model()) == own(Model()) == {name: -value for name, value in values.items()}


@pytest.mark.every(2)
@without_last
@pytest.mark.parametrize("judged", ["judged", "not judged"])
def test_ids_are_read_as_elsewhere(library: Any, judged: str) -> None:
    number = {"qid": lambda frame: frame["qid"].str[1:].astype(int)}
    columns = {"qid": "query_id", "docno": "doc_id"}
    expected = make()(Model())
    qrels = QRELS.assign(qid=QRELS["qid"].str[1:])
    more = CANDIDATES.assign(**number).rename(columns=columns)
    if judged == "not judged":  # candidates of other queries are not scored
        other = more[more["query_id"] == 0].assign(query="of another topic")
        other, last = other.assign(query_id=99), other.assign(query_id=98)
        more = pd.concat([other, more, last])
    model = Model()
    assert make(candidates=more, qrels=qrels)(model) == expected
    assert model.n_pairs == len(CANDIDATES)
    polars = pytest.importorskip("polars")
    assert make(candidates=polars.DataFrame(more.to_dict("list")), qrels=qrels)(Model()) == expected


@without_last
def test_the_topics_of_a_suite(library: Any) -> None:
    measures = type("Measures", (dict,), {"average_over": "positive"})({"P": "P(rel=2)@1", "AP": "AP"})
    qrels = QRELS.assign(label=QRELS["label"].where(QRELS["qid"] != "q0", 0))
    expected = ma.aggregate(ma.evaluate(run_of_model(), qrels, measures, progress=False)).iloc[0]
    values = make(qrels=qrels, measures=measures)(Model())
    assert values == {"P": expected["P"], "AP": expected["AP"]}
    assert values["AP"] == pytest.approx(make(qrels=qrels, measures=dict(measures))(Model())["AP"] * 6 / 5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": CANDIDATES.drop(columns="text")}, "expected the columns qid, query, docno and text, got"),
        ({"candidates": CANDIDATES.drop(columns="docno")}, "candidates: expected"),
        ({"candidates": CANDIDATES.assign(text=np.nan)}, "the text of document"),
        ({"candidates": CANDIDATES.assign(query=None)}, "the query of document"),
        ({"candidates": CANDIDATES.assign(docno="d1")}, "got several for document d1, query q"),
        ({"candidates": CANDIDATES.assign(query=CANDIDATES["docno"])}, "expected one text per query, got 9 for"),
        ({"candidates": CANDIDATES.assign(qid=np.nan)}, "candidates: "),
        ({"candidates": CANDIDATES.to_dict("records")}, "candidates: expected a DataFrame, got list"),
        ({"candidates": CANDIDATES.assign(qid="x" + CANDIDATES["qid"])}, "have no query in common"),
        ({"candidates": CANDIDATES[:0]}, "candidates: expected at least one row"),
        ({"measures": "nonsense"}, "nonsense"),
        ({"primary_metric": "nDCG"}, "primary_metric: expected the label of a measure"),
        ({"qrels": QRELS.drop(columns="credibility")}, "credibility"),
    ],
)
def test_errors_come_before_the_training(library: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        make(**changes)


def test_missing_candidates_are_reported_once(library: Any) -> None:
    with pytest.warns(MultiAspectWarning, match="no documents for 1 of 6 judged topics, such as q5"):
        evaluator = make()
    assert evaluator(Model()) == evaluator(Model())  # a warning would be an error here


@without_last
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scores: np.stack([1 - scores, scores], axis=1), "got 2 columns: create the CrossEncoder with"),
        (lambda scores: np.where(scores > 0.9, np.nan, scores), "predictions are NaN"),
        (lambda scores: scores[1:], "predictions: expected one value for each of 45 rows"),
    ],
)
def test_scores_that_rank_nothing(library: Any, change: Any, message: str) -> None:
    evaluator = make()
    with pytest.raises(MultiAspectError, match=message):
        evaluator(Model(change))
    assert evaluator(Model(lambda scores: scores[:, None])) == evaluator(Model())
    with pytest.raises(MultiAspectError, match=r"expected a CrossEncoder, or an encoder .*, got str"):
        evaluator("model")


@without_last
def test_equal_scores(library: Any) -> None:
    evaluator = make()
    with pytest.warns(MultiAspectWarning, match="equal within every query"):
        values = evaluator(Model(np.zeros_like))
    constant = CANDIDATES[["qid", "docno"]].assign(score=0.0)
    assert values["AP"] == ma.evaluate(constant, QRELS, "AP", progress=False)["value"].mean()
    evaluator = make(candidates=CANDIDATES.drop_duplicates("qid"), measures="AP")
    with no_warnings():  # a single candidate is ranked whatever its score
        evaluator(Model())


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers.base.evaluation", None)
    rerankers._class_with_base.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "pt-multiaspect\[rerankers\]"'):
        make()
