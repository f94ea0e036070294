"""The demonstration: pt.Experiment and pt.GridSearch with one and with several aspects."""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyterrier as pt

from ..datasets import load_health
from ..datasets.health import Collection
from ..views import Block, Cell, Column, Heading, Items, Sentence, Table, text_of
from .pipelines import ReadabilityReranker, TfidfRetriever

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 80


def _show(*blocks: Block) -> None:
    print(f"\n{text_of(blocks, _WIDTH)}")


def _mark_best(
    corner: str, heads: Iterable[str], rows: Iterable[tuple[str, Sequence[float]]]
) -> Table:
    """Return a table with a mark at the maximum of each row; for all measures, higher is better.

    Parameters
    ----------
    corner : str
        The head of the first column, which has the names of the rows.
    heads : iterable of str
        The heads of the other columns.
    rows : iterable of (str, sequence of float)
        The name and the values of each row.
    """
    columns = [Column(corner, left=True, shorten=12), *map(Column, heads)]
    table_rows = []
    for name, values in rows:
        cells: list[str | Cell] = [name]
        for value in values:
            sign = ""
            if value == max(values):
                sign = "*"
            cells.append(Cell(f"{value:.3f}", signs=sign))
        table_rows.append(cells)
    return Table(columns, table_rows)


def _search(
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    weights: list[float],
    collection: Collection,
    metric: str,
) -> float:
    """Return the weight that pt.GridSearch selects for `metric`. The re-ranker is not changed."""
    with contextlib.redirect_stdout(io.StringIO()):  # GridSearch prints its result
        _, setting = pt.GridSearch(
            pipeline,
            {reranker: {"weight": weights}},
            collection.topics,
            collection.qrels,
            metric=metric,
            return_type="best_setting",
        )
    # A setting has one (transformer, parameter, value) per parameter.
    _, _, weight = setting[0]
    return float(weight)


def _example(
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    picked: dict[str, float],
    measure: Any,
) -> None:
    """Show both rankings of the query that gains most from the second of two picked weights.

    Parameters
    ----------
    collection : Collection
        The topics, judgments and documents.
    pipeline, reranker : Transformer, ReadabilityReranker
        The pipeline, and the transformer in it that has the weight.
    picked : dict of str to float
        The weight that each of two metrics picked.
    measure : TOMA
        The measure of the gain and of the contributions.
    """
    import pt_multiaspect as ma

    runs = _runs_with_weights(collection, pipeline, reranker, list(picked.values()))
    qid = _query_of_largest_gain(collection, runs, measure)
    query_texts = collection.topics.set_index("qid")["query"]
    query = str(query_texts[qid])
    grades = _grades_of_documents(collection, qid)
    texts = collection.documents.set_index("docno")["text"]
    first = ma.explain(measure, runs[0], collection.qrels, qid)
    second = ma.explain(measure, runs[1], collection.qrels, qid)
    gain = f"{first.value:.3f} to {second.value:.3f}"
    aspects = ", ".join(collection.grades)
    introduction = (
        f"The query with the largest gain in TOMA ({gain}): '{query}'. Its first {measure.cutoff} "
        f"passages, with their grades of {aspects}, and what each contributes to TOMA:"
    )
    _show(Sentence(introduction))
    explanations = (first, second)
    for (metric, weight), explanation in zip(picked.items(), explanations, strict=True):
        passages = _passages_table(explanation.ranks.head(measure.cutoff), grades, texts)
        _show(Sentence(f"weight {weight:.1f}, picked by {metric}"), passages)
    # The document whose contribution changes most is the first.
    document = second.compare(first).documents.iloc[0]
    docno = document["docno"]
    document_grades = grades.get(docno, _UNJUDGED)
    conclusion = (
        f"What makes the difference is {docno} ({document_grades}), at rank {document['rank_a']} "
        f"instead of {document['rank_b']}: it adds {document['difference']:.3f}. By Chebyshev "
        "distance, a "
        "passage is as good as its weakest aspect: a relevant one that only clinicians understand "
        "(2/0/2) counts as little as a plain and credible one that is off topic (0/3/2)."
    )
    _show(Sentence(conclusion))


def _runs_with_weights(
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    weights: Sequence[float],
) -> list[pd.DataFrame]:
    """Return the results of the pipeline for each weight of its re-ranker, which is not changed."""
    runs = []
    original_weight = reranker.weight
    for weight in weights:
        reranker.weight = weight
        runs.append(pipeline.transform(collection.topics))
    reranker.weight = original_weight
    return runs


def _query_of_largest_gain(
    collection: Collection, runs: Sequence[pd.DataFrame], measure: Any
) -> str:
    """Return the query id for which the second run is better than the first by most."""
    label = str(measure)
    values = [pt.Evaluate(run, collection.qrels, [measure], perquery=True) for run in runs]
    first, second = values
    gains: dict[str, float] = {}
    for qid in collection.topics["qid"]:
        value_of_first = first[qid][label]
        value_of_second = second[qid][label]
        gains[qid] = value_of_second - value_of_first
    return max(gains, key=lambda qid: gains[qid])


def _grades_of_documents(collection: Collection, qid: str) -> dict[str, str]:
    """Return the grades of the judged documents of a query, such as '2/0/2', by docno."""
    is_of_query = collection.qrels["qid"] == qid
    judged = collection.qrels[is_of_query]
    labels = judged.drop(columns=["qid", "docno"])
    grades = {}
    for docno, labels_of_document in zip(judged["docno"], labels.to_numpy(), strict=True):
        grades[docno] = "/".join(map(str, labels_of_document))
    return grades


#: The grades of documents without judgments.
_UNJUDGED = "-/-/-"


def _passages_table(top: pd.DataFrame, grades: dict[str, str], texts: pd.Series[Any]) -> Table:
    """Return the first passages of a ranking with their grades and contributions.

    Parameters
    ----------
    top : DataFrame
        The first ranks, with columns rank, docno and contribution.
    grades : dict of str to str
        The grades of judged documents by docno.
    texts : Series of str
        The passages by docno.
    """
    columns = [Column("rank")]
    for head in ("docno", "grades", "part", "passage"):
        columns.append(Column(head, left=True))
    width_of_passages = _WIDTH - 38  # the other columns have 38 characters
    rows = []
    for rank, docno, part in zip(top["rank"], top["docno"], top["contribution"], strict=True):
        passage = textwrap.shorten(str(texts[docno]), width_of_passages, placeholder=" ...")
        rows.append([str(rank), docno, grades.get(docno, _UNJUDGED), f"{part:.3f}", passage])
    return Table(columns, rows)


def _introduce(collection: Collection) -> None:
    """Describe the collection."""
    scales = ", ".join(
        f"{name} {min(grades)}-{max(grades)}" for name, grades in collection.grades.items()
    )
    collected = (
        f"{len(collection.documents)} short health passages, {len(collection.topics)} questions, "
        f"{len(collection.qrels)} judgments of three aspects each: {scales}. Some passages are "
        "plain advice, some are written for clinicians, and some are catchy but wrong: this is not "
        "medical advice."
    )
    _show(Heading("The collection"), Sentence(collected))


def _experiment(
    collection: Collection, systems: dict[str, pt.Transformer], measures: list[Any]
) -> None:
    """Evaluate the systems in one pt.Experiment, and show one row per measure."""
    title = Heading("pt.Experiment: multi-aspect measures next to nDCG (* best in row)")
    table = pt.Experiment(
        list(systems.values()),
        collection.topics,
        collection.qrels,
        measures,
        names=list(systems),
        plan="tree",  # runs the retriever that two systems share only once
        verbose=False,
    )
    rows = [(str(measure), table[str(measure)].tolist()) for measure in measures]
    _show(title, _mark_best("", table["name"], rows))


def _show_legend(weight: float) -> None:
    """Explain the systems and measures of the experiment."""
    legend = (
        "words: TF-IDF over words",
        "characters: TF-IDF over character n-grams",
        f"readable: words, re-ranked by readability with weight {weight:.1f}",
        "nDCG: relevance only",
        "On: nDCG of one other aspect",
        "CAM, MM: arithmetic and harmonic mean of nDCG over the aspects",
        (
            "TOMA: nDCG of classes of documents, ordered by their weakest aspect "
            "(Chebyshev distance; needs no gate)"
        ),
        "uRBP: rank-biased precision of documents above the lowest grade on every aspect",
    )
    _show(Items([[Sentence(line)] for line in legend]))


def _tuning(
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    metrics: tuple[str, str],
    aspects: dict[str, str],
) -> dict[str, float]:
    """Tune the weight of the re-ranker for each metric, and show the effect on the aspects.

    Parameters
    ----------
    collection : Collection
        The topics and judgments.
    pipeline, reranker : Transformer, ReadabilityReranker
        The pipeline, and the transformer in it that has the weight. It is not changed.
    metrics : tuple of two str
        The metrics to optimise.
    aspects : dict of str to str
        The metric of each aspect.

    Returns
    -------
    dict of str to float
        The weight that each of `metrics` picks.
    """
    weights = [step / 5 for step in range(6)]
    all_metrics = [*metrics, *aspects.values()]
    scan = _scan(pipeline, reranker, weights, collection, all_metrics)
    heads = [f"{weight:.1f}" for weight in weights]
    rows = [(metric, scan[metric].astype(float).tolist()) for metric in metrics]
    title = Heading("pt.GridSearch: which weight should the re-ranker give to readability?")
    table = _mark_best("weight", heads, rows)
    _show(title, table)
    # The search finds the best weights of the table itself.
    picked = {}
    lines = []
    for metric in metrics:
        weight = _search(pipeline, reranker, weights, collection, metric)
        picked[metric] = weight
        lines.append(Sentence(f'GridSearch(metric="{metric}") picks weight {weight:.1f}'))
    _show(*lines)
    _show(_effect_of_weights(scan, picked, aspects))
    return picked


def _scan(
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    weights: list[float],
    collection: Collection,
    metrics: list[str],
) -> pd.DataFrame:
    """Return the metrics of the pipeline with each weight, one row per weight.

    The re-ranker is not changed.
    """
    original_weight = reranker.weight
    distinct_metrics = list(dict.fromkeys(metrics))
    scan: pd.DataFrame = pt.GridScan(
        pipeline,
        {reranker: {"weight": weights}},
        collection.topics,
        collection.qrels,
        distinct_metrics,
    )
    reranker.weight = original_weight  # which GridScan does not restore
    return scan


def _effect_of_weights(
    scan: pd.DataFrame, picked: dict[str, float], aspects: dict[str, str]
) -> Sentence:
    """Return how the metric of each aspect changes from the first picked weight to the second.

    `scan` is the result of pt.GridScan, with one row per weight.
    """
    first_metric = next(iter(picked))
    first_weight, second_weight = picked.values()
    if first_weight == second_weight:
        return Sentence("Both measures pick the same weight here.")
    values = scan.set_index("tran_0_weight")
    changes = []
    for name, metric in aspects.items():
        by_weight = values[metric]
        first_value = by_weight[first_weight]
        second_value = by_weight[second_weight]
        changes.append(f"{name} {first_value:.3f} to {second_value:.3f}")
    listed_changes = ", ".join(changes)
    return Sentence(
        f"{first_metric} considers relevance only, TOMA all three aspects, and they pick different "
        f"settings. Going from {first_weight:.1f} to {second_weight:.1f} changes nDCG@5 of each "
        f"aspect: {listed_changes}. The optimised measure decides which trade-off is made."
    )


def run_demo() -> None:
    """Demonstrate the package on the collection that it contains.

    Evaluates three pipelines in one ``pt.Experiment`` with standard and multi-aspect measures, then
    tunes a parameter with ``pt.GridSearch`` for nDCG and for TOMA. Takes a few seconds. All numbers
    are computed, none is stored.
    """
    import ir_measures

    import pt_multiaspect as ma

    collection = load_health()
    documents = collection.documents
    health = ma.Aspects(collection.grades, name="health-demo")
    _introduce(collection)

    retriever = TfidfRetriever(documents)
    reranker = ReadabilityReranker(documents)
    pipeline = retriever >> reranker
    on = {
        name: ma.On(aspect=name, base="nDCG") @ 5 for name in ("understandability", "credibility")
    }
    _experiment(
        collection,
        {
            "words": retriever,
            "characters": TfidfRetriever(documents, analyzer="char"),
            "readable": pipeline,
        },
        [
            ir_measures.nDCG @ 5,
            *on.values(),
            ma.CAM(aspects=health) @ 5,
            ma.MM(base="nDCG", aspects=health) @ 5,
            ma.TOMA(distance="chebyshev", aspects=health) @ 5,
            ma.uRBP(aspects=health),
        ],
    )
    _show_legend(reranker.weight)

    picked = _tuning(
        collection,
        pipeline,
        reranker,
        ("nDCG@5", "TOMA(distance='chebyshev',aspects='health-demo')@5"),
        {"relevance": "nDCG@5"} | {name: str(measure) for name, measure in on.items()},
    )
    _example(
        collection, pipeline, reranker, picked, ma.TOMA(distance="chebyshev", aspects=health) @ 5
    )
