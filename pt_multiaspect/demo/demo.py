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
    """Return a table with a mark at the maximum of each row (for all measures here, higher is better)."""
    columns = [Column(corner, left=True, shorten=12), *map(Column, heads)]
    return Table(
        columns,
        [
            [
                name,
                *(
                    Cell(f"{value:.3f}", signs="*" if value == max(values) else "")
                    for value in values
                ),
            ]
            for name, values in rows
        ],
    )


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
    return float(setting[0][2])


def _example(
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    picked: dict[str, float],
    measure: Any,
) -> None:
    """Show the contributions of passages in both rankings of the query that gains most from the second setting."""
    import pt_multiaspect as ma

    runs = []
    before = reranker.weight
    for weight in picked.values():
        reranker.weight = weight
        runs.append(pipeline.transform(collection.topics))
    reranker.weight = before
    first, second = (pt.Evaluate(run, collection.qrels, [measure], perquery=True) for run in runs)
    gains = {
        qid: second[qid][str(measure)] - first[qid][str(measure)]
        for qid in collection.topics["qid"]
    }
    qid = max(gains, key=lambda key: gains[key])
    query = collection.topics.set_index("qid").loc[qid, "query"]
    judged = collection.qrels[collection.qrels["qid"] == qid].set_index("docno").drop(columns="qid")
    grades = {
        docno: "/".join(map(str, labels))
        for docno, labels in zip(judged.index, judged.to_numpy(), strict=True)
    }
    texts = collection.documents.set_index("docno")["text"]
    explained = [ma.explain(measure, run, collection.qrels, qid) for run in runs]
    gain = " to ".join(f"{explanation.value:.3f}" for explanation in explained)
    introduction = (
        f"The query with the largest gain in TOMA ({gain}): '{query}'. Its first {measure.cutoff} "
        "passages, with "
        f"their grades of {', '.join(collection.grades)}, and what each contributes to TOMA:"
    )
    _show(Sentence(introduction))
    for (metric, weight), explanation in zip(picked.items(), explained, strict=True):
        passages = _passages_table(explanation.ranks.head(measure.cutoff), grades, texts)
        _show(Sentence(f"weight {weight:.1f}, picked by {metric}"), passages)
    document = explained[1].compare(explained[0]).documents.iloc[0]
    conclusion = (
        f"What makes the difference is {document['docno']} "
        f"({grades.get(document['docno'], '-/-/-')}), at rank {document['rank_a']} instead of "
        f"{document['rank_b']}: it adds {document['difference']:.3f}. By Chebyshev distance, a "
        "passage is as good as its weakest aspect: a relevant one that only clinicians understand "
        "(2/0/2) counts as little as a plain and credible one that is off topic (0/3/2)."
    )
    _show(Sentence(conclusion))


def _passages_table(top: pd.DataFrame, grades: dict[str, str], texts: pd.Series[Any]) -> Table:
    """Return the first passages of a ranking with their grades and contributions."""
    columns = [Column("rank")]
    for head in ("docno", "grades", "part", "passage"):
        columns.append(Column(head, left=True))
    rows = []
    for rank, docno, part in zip(top["rank"], top["docno"], top["contribution"], strict=True):
        passage = textwrap.shorten(str(texts[docno]), _WIDTH - 38, placeholder=" ...")
        rows.append([str(rank), docno, grades.get(docno, "-/-/-"), f"{part:.3f}", passage])
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
            "TOMA: nDCG of classes of documents, ordered by their weakest aspect (Chebyshev distance; "
            "needs no gate)"
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
    """Tune the re-ranker for both metrics and report the effect on each of the `aspects`."""
    weights = [step / 5 for step in range(6)]
    title = Heading("pt.GridSearch: which weight should the re-ranker give to readability?")
    before = reranker.weight
    scan = pt.GridScan(
        pipeline,
        {reranker: {"weight": weights}},
        collection.topics,
        collection.qrels,
        list(dict.fromkeys([*metrics, *aspects.values()])),
    )
    reranker.weight = before  # GridScan does not restore the original setting
    rows = [(metric, scan[metric].astype(float).tolist()) for metric in metrics]
    _show(title, _mark_best("weight", [f"{weight:.1f}" for weight in weights], rows))
    picked = {
        metric: _search(pipeline, reranker, weights, collection, metric) for metric in metrics
    }
    lines = [
        f'GridSearch(metric="{metric}") picks weight {weight:.1f}'
        for metric, weight in picked.items()
    ]
    _show(*map(Sentence, lines))
    first_weight, second_weight = picked.values()
    if first_weight == second_weight:
        _show(Sentence("Both measures pick the same weight here."))
        return picked
    by_weight = scan.set_index("tran_0_weight")
    changes = [
        f"{name} {by_weight.loc[first_weight, column]:.3f} to "
        f"{by_weight.loc[second_weight, column]:.3f}"
        for name, column in aspects.items()
    ]
    reason = (
        f"{metrics[0]} considers relevance only, TOMA all three aspects, and they pick different "
        f"settings. Going from {first_weight:.1f} to {second_weight:.1f} changes nDCG@5 of each "
        f"aspect: {', '.join(changes)}. The optimised measure decides which trade-off is made."
    )
    _show(Sentence(reason))
    return picked


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
