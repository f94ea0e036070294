"""The shipped collection, the demo's transformers, and what the demo prints."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
import warnings
from typing import Literal

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

import pt_multiaspect as ma
from pt_multiaspect.datasets import load_health
from pt_multiaspect.datasets.health import Collection
from pt_multiaspect.demo import ReadabilityReranker, TfidfRetriever, run_demo
from pt_multiaspect.errors import MultiAspectError


@pytest.fixture(scope="module")
def health() -> Collection:
    return load_health()


@pytest.fixture(scope="module")
def demo_output() -> str:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as stream:
        warnings.simplefilter("error")
        run_demo()
    return stream.getvalue()


# The collection


def test_shapes_and_types(health: Collection) -> None:
    assert list(health.documents.columns) == ["docno", "text", "readability"]
    assert list(health.topics.columns) == ["qid", "query"]
    assert list(health.qrels.columns) == [
        "qid",
        "docno",
        "label",
        "understandability",
        "credibility",
    ]
    assert health.topics["qid"].tolist() == [str(number) for number in range(1, 11)]
    for column in (
        health.documents["docno"],
        health.topics["qid"],
        health.qrels["qid"],
        health.qrels["docno"],
    ):
        assert all(isinstance(value, str) for value in column)
    assert list(health.grades) == ["relevance", "understandability", "credibility"]


def test_documents_are_short_and_unique(health: Collection) -> None:
    assert health.documents["docno"].is_unique
    assert health.documents["text"].is_unique
    words = health.documents["text"].map(lambda text: len(text.split()))
    assert words.between(40, 110).all()


def test_every_label_is_a_declared_grade_and_every_grade_occurs(health: Collection) -> None:
    for aspect, grades in health.grades.items():
        column = "label" if aspect == "relevance" else aspect
        assert sorted(health.qrels[column].unique()) == grades


def test_judgments_refer_to_what_exists(health: Collection) -> None:
    assert set(health.qrels["docno"]) == set(health.documents["docno"])
    assert set(health.qrels["qid"]) == set(health.topics["qid"])
    assert not health.qrels.duplicated(["qid", "docno"]).any()


def test_queries_have_enough_judgments_of_varied_kind(health: Collection) -> None:
    by_query = health.qrels.groupby("qid")
    assert by_query.size().between(8, 14).all()
    assert by_query["label"].agg(lambda labels: (labels > 0).sum()).between(4, 8).all()
    for _, judged in by_query:
        relevant = judged[judged["label"] > 0]
        assert relevant["understandability"].min() <= 1
        assert relevant["understandability"].max() == 3
        assert (relevant["credibility"] == 0).any()


def test_understandability_and_credibility_belong_to_the_document(health: Collection) -> None:
    assert (health.qrels.groupby("docno")[["understandability", "credibility"]].nunique() == 1).all(
        axis=None
    )


def test_every_call_returns_fresh_frames(health: Collection) -> None:
    other = load_health()
    other.qrels.loc[0, "label"] = 99
    assert load_health().qrels.equals(health.qrels)


# The transformers


def test_readability_orders_texts_as_the_judges_did(health: Collection) -> None:
    estimates = health.documents.set_index("docno")["readability"]
    grades = health.qrels.drop_duplicates("docno").set_index("docno")["understandability"]
    assert estimates.between(0, 1).all()
    assert estimates.corr(grades.astype(float), method="spearman") > 0.6


def test_retriever_ranks_as_the_evaluation_does(health: Collection) -> None:
    results = TfidfRetriever(health.documents, num_results=5).transform(health.topics)
    assert list(results.columns) == ["qid", "query", "docno", "score", "rank"]
    assert results["score"].between(0, 1, inclusive="right").all()
    for _, ranked in results.groupby("qid"):
        assert ranked["rank"].tolist() == list(range(len(ranked)))
        keys = list(zip(ranked["score"].astype(np.float32), ranked["docno"], strict=True))
        assert keys == sorted(keys, reverse=True)


def test_equal_scores_are_ordered_by_docno_descending_also_at_the_cutoff() -> None:
    documents = pd.DataFrame(
        {"docno": ["b", "c", "a"], "text": ["sore throat"] * 3, "readability": 0.5}
    )
    retriever = TfidfRetriever(documents, num_results=2)
    assert retriever.search("throat")["docno"].tolist() == ["c", "b"]
    reranked = ReadabilityReranker(documents).transform(retriever.search("throat"))
    assert reranked["docno"].tolist() == ["c", "b"]


@pytest.mark.every(2)
@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_results_do_not_depend_on_the_order_of_documents_or_queries(
    health: Collection, analyzer: Literal["word", "char"]
) -> None:
    def ranking(documents: pd.DataFrame, topics: pd.DataFrame) -> pd.DataFrame:
        pipeline = TfidfRetriever(documents, analyzer=analyzer) >> ReadabilityReranker(
            documents, weight=0.3
        )
        results: pd.DataFrame = pipeline.transform(topics)
        return results.sort_values(["qid", "rank"], ignore_index=True)

    expected = ranking(health.documents, health.topics)
    shuffled = ranking(health.documents.sample(frac=1, random_state=1), health.topics.iloc[::-1])
    pd.testing.assert_frame_equal(shuffled, expected)


def test_queries_without_a_match_and_no_queries_give_empty_results(health: Collection) -> None:
    pipeline = TfidfRetriever(health.documents) >> ReadabilityReranker(health.documents)
    columns = ["qid", "query", "docno", "score", "rank"]
    nothing = pipeline.transform(pd.DataFrame({"qid": ["1", "2"], "query": ["zzz", ""]}))
    assert nothing.empty
    assert list(nothing.columns) == columns
    assert list(pipeline.transform(pd.DataFrame({"qid": [], "query": []})).columns) == columns
    some = pipeline.transform(pd.DataFrame({"qid": ["1", "2"], "query": ["zzz", "migraine"]}))
    assert set(some["qid"]) == {"2"}


def test_weight_zero_keeps_the_ranking_and_one_sorts_by_readability(health: Collection) -> None:
    retriever = TfidfRetriever(health.documents)
    reranker = ReadabilityReranker(health.documents, weight=0)
    plain = retriever.transform(health.topics)
    assert reranker.transform(plain)["docno"].tolist() == plain["docno"].tolist()
    reranker.set_parameter("weight", 1)
    assert reranker.get_parameter("weight") == 1.0
    easy = reranker.transform(plain).merge(health.documents, on="docno", how="left")
    assert np.allclose(easy["score"], easy["readability"], atol=1e-6)


def test_transformers_can_be_inspected(health: Collection) -> None:
    retriever, reranker = TfidfRetriever(health.documents), ReadabilityReranker(health.documents)
    assert pt.inspect.transformer_inputs(retriever) == [["qid", "query"]]
    assert pt.inspect.transformer_inputs(reranker) == [["qid", "docno", "score"]]
    columns = pt.inspect.transformer_outputs(retriever >> reranker, ["qid", "query"])
    assert columns == ["qid", "query", "docno", "score", "rank"]
    copy = pt.inspect.transformer_apply_attributes(reranker, weight=0.25)
    assert repr(copy) == "ReadabilityReranker(54 documents, weight=0.25)"
    assert repr(retriever) == "TfidfRetriever(54 documents, analyzer='word', num_results=10)"


def test_equality_follows_content_and_hashes_survive_tuning(health: Collection) -> None:
    first, second = TfidfRetriever(health.documents), TfidfRetriever(load_health().documents)
    assert first == second
    assert hash(first) == hash(second)
    assert first != TfidfRetriever(health.documents, num_results=3)
    assert first != TfidfRetriever(health.documents, analyzer="char")
    reranker = ReadabilityReranker(health.documents, weight=0.5)
    cache = {reranker: "found"}
    reranker.set_parameter("weight", 0.1)
    assert cache[reranker] == "found"
    assert reranker != ReadabilityReranker(health.documents, weight=0.5)
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.every(6)
@pytest.mark.parametrize("plan", ["linear", "tree"])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_experiment_gives_the_same_under_every_plan(
    health: Collection, plan: str, batch_size: int | None
) -> None:
    retriever = TfidfRetriever(health.documents)
    systems = [
        retriever,
        retriever >> ReadabilityReranker(health.documents, weight=0.2),
        retriever >> ReadabilityReranker(health.documents, weight=0.8),
    ]
    names = ["tf-idf", "0.2", "0.8"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTerrier warns of pipelines that it cannot validate
        warnings.filterwarnings("ignore", message="There are shared pipeline components")
        table = pt.Experiment(
            systems,
            health.topics,
            health.qrels,
            [nDCG @ 5, AP],
            names=names,
            plan=plan,
            batch_size=batch_size,
        )
    runs = [system.transform(health.topics) for system in systems]
    expected = pt.Experiment(runs, health.topics, health.qrels, [nDCG @ 5, AP], names=names)
    pd.testing.assert_frame_equal(table, expected)
    assert table["nDCG@5"].nunique() == 3


def test_bad_input_is_named(health: Collection) -> None:
    documents = health.documents
    with pytest.raises(MultiAspectError, match="expected columns docno and text, got docno"):
        TfidfRetriever(documents[["docno"]])
    with pytest.raises(
        MultiAspectError, match="expected columns docno and readability, got docno, text"
    ):
        ReadabilityReranker(documents[["docno", "text"]])
    with pytest.raises(MultiAspectError, match=r"docnos, got.*h01"):
        ReadabilityReranker(pd.concat([documents, documents.head(1)]))
    with pytest.raises(MultiAspectError, match=r"analyzer: expected.*'word', 'char', got 'stem'"):
        TfidfRetriever(documents, analyzer="stem")  # type: ignore[arg-type]
    with pytest.raises(MultiAspectError, match=r"num_results: expected.*at least 1, got 0"):
        TfidfRetriever(documents, num_results=0)
    with pytest.raises(MultiAspectError, match="no terms to index"):
        TfidfRetriever(pd.DataFrame({"docno": ["a"], "text": ["the of"]}))
    for weight in (-0.1, 1.1, float("nan")):
        with pytest.raises(MultiAspectError, match="weight: expected"):
            ReadabilityReranker(documents, weight=weight)
    with pytest.raises(MultiAspectError, match=r"built with \(54\), got others: x9"):
        ReadabilityReranker(documents).transform(
            pd.DataFrame({"qid": ["1"], "docno": ["x9"], "score": [1.0]})
        )
    with pytest.raises(pt.validate.InputValidationError):
        TfidfRetriever(documents).transform(pd.DataFrame({"qid": ["1"]}))


# What the demo prints


def test_demo_shows_every_measure(demo_output: str) -> None:
    for name in (
        "nDCG@5",
        "On(aspect='understandability'",
        "On(aspect='credibility'",
        "CAM(",
        "MM(",
        "TOMA(",
        "uRBP(",
    ):
        assert f"\n{name}" in demo_output
    assert "nan" not in demo_output.lower()


def test_demo_fits_the_page(demo_output: str) -> None:
    assert max(map(len, demo_output.splitlines())) <= 100
    assert "Best setting" not in demo_output
    assert demo_output.isascii()  # so that no terminal's encoding can fail it


def test_demo_picks_more_readability_under_toma_than_under_ndcg(demo_output: str) -> None:
    picked = dict(
        re.findall(r'GridSearch\(metric="(\w+).*?"\)\s+picks\s+weight ([\d.]+)', demo_output)
    )
    assert set(picked) == {"nDCG", "TOMA"}
    assert float(picked["nDCG"]) < float(picked["TOMA"])


def test_demo_fits_in_a_terminal(demo_output: str) -> None:
    assert max(map(len, demo_output.splitlines())) <= 80


#: A row of a ranking that the demo prints, such as "   4  h19    1/2/2   0.164  Your doctor can …":
#: rank, docno, grades, and the part of the value of TOMA.
ROW = re.compile(r"^ +(\d) +(h\d\d) +(\d/\d/\d) +(0\.\d{3})", re.MULTILINE)

#: Such as "What makes the difference is h19 (1/2/2), at rank 4 instead of 6: it adds 0.164".
SENTENCE = re.compile(
    r"What makes the difference is (?P<docno>h\d\d)\s+\((?P<grades>[\d/]+)\), at rank (?P<rank>\d) "
    r"instead of\s(?P<other_rank>\w+): it adds\s(?P<added>0\.\d+)"
)


@pytest.fixture
def ending(demo_output: str) -> str:
    """Return the part with two rankings of the topic whose value of TOMA differs most."""
    return demo_output[demo_output.index("The query with the largest gain in TOMA") :]


def test_demo_ends_with_parts_that_sum_to_the_values_of_toma(ending: str) -> None:
    """It begins with "The query with the largest gain in TOMA (0.760 to 0.924): …"."""
    first_words = ending[: ending.index(")")]
    value_before, value_after = re.findall(r"\d\.\d{3}", first_words)
    _, before, after = ending.split("picked by")
    for ranking, value in ((before, value_before), (after, value_after)):
        rows = ROW.findall(ranking)
        assert [rank for rank, _, _, _ in rows] == ["1", "2", "3", "4", "5"]
        parts = [float(part) for _, _, _, part in rows]
        assert sum(parts) == pytest.approx(float(value), abs=0.003)


def test_demo_ends_with_the_passage_that_makes_the_difference(ending: str) -> None:
    """It is among the first five of the second ranking only, and what it adds is the difference."""
    value_before, value_after = re.findall(r"\d\.\d{3}", ending[: ending.index(")")])
    _, before, after = ending.split("picked by")
    sentence = SENTENCE.search(ending)
    passage = (sentence["rank"], sentence["docno"], sentence["grades"])
    part_by_passage = {
        (rank, docno, grades): float(part) for rank, docno, grades, part in ROW.findall(after)
    }
    added = float(sentence["added"])
    assert added == pytest.approx(part_by_passage[passage], abs=0.001)
    assert added == pytest.approx(float(value_after) - float(value_before), abs=0.001)
    assert sentence["docno"] not in [docno for _, docno, _, _ in ROW.findall(before)]
    assert int(sentence["other_rank"]) > 5


def test_what_the_demo_says_of_weakest_aspects_is_true(health: Collection) -> None:
    """By Chebyshev distance, a passage with the grades 2/0/2 counts as little as one with 0/3/2.

    The grades are those of relevance (0 to 2), understandability (0 to 3), credibility (0 to 2).
    """
    qrels = {
        "q": {
            "for clinicians": {"relevance": 2, "understandability": 0, "credibility": 2},
            "off topic": {"relevance": 0, "understandability": 3, "credibility": 2},
            "best": {"relevance": 2, "understandability": 3, "credibility": 2},
        }
    }
    run = {"q": {"for clinicians": 2.0, "off topic": 1.0}}
    measure = ma.TOMA(distance="chebyshev", aspects=ma.Aspects(health.grades))
    class_by_rank = measure.explain(run, qrels, "q").ranks["class"].tolist()
    assert len(class_by_rank) == 2
    assert class_by_rank[0] == class_by_rank[1]


@pytest.mark.slow
def test_demo_can_be_run_twice(demo_output: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as again:
        run_demo()
    assert again.getvalue() == demo_output
