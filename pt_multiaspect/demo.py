"""Two PyTerrier transformers over a small collection, and the demonstration built on them.

Nothing here needs Java, a network or an index on disk. This module imports
PyTerrier and scikit-learn, so the package imports it only when it is asked for.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import textwrap
from typing import Any, Literal, TextIO, get_args

import numpy as np
import pandas as pd
import pyterrier as pt
from sklearn.feature_extraction.text import TfidfVectorizer

from pt_multiaspect.datasets import Collection, load_health
from pt_multiaspect.errors import MultiAspectError, choices

__all__ = ["ReadabilityReranker", "TfidfRetriever", "readability", "run_demo"]

Analyzer = Literal["word", "char"]

_VECTORIZER: dict[str, dict[str, Any]] = {
    "word": {"analyzer": "word", "stop_words": "english"},
    "char": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_SENTENCE_END = re.compile(r"[.!?:;]+(?=\s|$)")
_VOWEL_GROUP = re.compile(r"[aeiouy]+", re.IGNORECASE)


def readability(text: str) -> float:
    """How easy a text is to read, from 0 (hard) to 1 (easy).

    1 − (words a sentence + percentage of long words) / 100, not below 0; a word is
    long if it has more than two groups of vowels, which stand in for syllables.
    These are the two ingredients of the Gunning fog index. Sentences also end
    at colons and semicolons.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    float
        The readability; 0 for a text without words.

    Examples
    --------
    >>> from pt_multiaspect.demo import readability
    >>> round(readability("Drink plenty. Rest in bed."), 3)
    0.975
    >>> round(readability("Antipyretic administration ameliorates symptomatology."), 3)
    0.0
    """
    words = _WORD.findall(text)
    if not words:
        return 0.0
    sentences = max(1, len(_SENTENCE_END.findall(text)))
    long_words = sum(len(_VOWEL_GROUP.findall(word)) > 2 for word in words)
    return max(0.0, 1.0 - (len(words) / sentences + 100.0 * long_words / len(words)) / 100.0)


def _check_documents(documents: pd.DataFrame) -> None:
    """Refuse a frame that lacks ``docno`` or ``text``, or repeats a ``docno``."""
    missing = [column for column in ("docno", "text") if column not in documents.columns]
    if missing:
        raise MultiAspectError(
            f"documents lack the column(s) {choices(missing)}; they have {choices(documents.columns)}"
        )
    repeated = documents.loc[documents["docno"].duplicated(), "docno"].tolist()
    if repeated:
        raise MultiAspectError(f"documents repeat the docno(s) {choices(repeated[:5])}; each must be unique")


def _rank(results: pd.DataFrame) -> pd.DataFrame:
    """Sort by query and score and number the ranks, ties broken as the evaluation breaks them."""
    order = pd.Series(pd.factorize(results["qid"])[0], index=results.index)
    results = (
        results.assign(_order=order)
        .sort_values(["_order", "score", "docno"], ascending=[True, False, False], ignore_index=True)
        .drop(columns="_order")
    )
    ranks = results.groupby("qid", sort=False).cumcount() + pt.model.FIRST_RANK
    return results.assign(rank=ranks.astype("int64"))


def _as_evaluated(scores: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Round scores to what trec_eval compares, so that ``rank`` and the evaluation agree on ties."""
    return np.asarray(scores, dtype=np.float32).astype(np.float64)


class TfidfRetriever(pt.Transformer):  # type: ignore[misc]  # PyTerrier has no types
    """Rank documents by the cosine of TF-IDF vectors, in memory.

    The index is built once, from `documents`, with scikit-learn's
    ``TfidfVectorizer(sublinear_tf=True)``. Documents that share nothing with the
    query are not retrieved; a query that matches none has no rows.

    Parameters
    ----------
    documents : pandas.DataFrame
        One row a document, with ``docno`` and ``text``.
    analyzer : {"word", "char"}, default "word"
        Words without English stop words, or character 3- to 5-grams within words.
    num_results : int, default 10
        The most documents to return for a query.

    Examples
    --------
    >>> from pt_multiaspect.datasets import load_health
    >>> from pt_multiaspect.demo import TfidfRetriever
    >>> TfidfRetriever(load_health().documents, num_results=2).search("measles vaccine")[["docno", "rank"]]
      docno  rank
    0   h31     0
    1   h33     1
    """

    def __init__(self, documents: pd.DataFrame, *, analyzer: Analyzer = "word", num_results: int = 10) -> None:
        _check_documents(documents)
        if analyzer not in _VECTORIZER:
            raise MultiAspectError(f"analyzer is {analyzer!r}; expected one of {choices(get_args(Analyzer))}")
        self._documents = documents
        self._analyzer = analyzer
        self.num_results = num_results
        # Sorted, descending, so that a stable sort by score leaves ties in the evaluation's order.
        indexed = documents.assign(docno=documents["docno"].astype(str)).sort_values("docno", ascending=False)
        self._docnos = indexed["docno"].to_numpy(dtype=object)
        self._vectorizer = TfidfVectorizer(sublinear_tf=True, **_VECTORIZER[analyzer])
        try:
            self._vectors = self._vectorizer.fit_transform(indexed["text"].astype(str))
        except ValueError as error:
            raise MultiAspectError(f"nothing to index in {len(documents)} documents: {error}") from error

    @property
    def num_results(self) -> int:
        """The most documents to return for a query."""
        return self._num_results

    @num_results.setter
    def num_results(self, value: int) -> None:
        if value < 1:
            raise MultiAspectError(f"num_results is {value}; expected at least 1")
        self._num_results = int(value)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Retrieve for every query.

        Parameters
        ----------
        inp : pandas.DataFrame
            ``qid``, ``query`` and any further columns, which are kept.

        Returns
        -------
        pandas.DataFrame
            The columns of `inp` with ``docno``, ``score`` and ``rank``.
        """
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        inp = inp.drop(columns=["score", "rank"], errors="ignore")
        if len(inp):
            cosines = self._vectorizer.transform(inp["query"].astype(str)) @ self._vectors.T
            scores = _as_evaluated(cosines.toarray())
        else:
            scores = np.empty((0, len(self._docnos)))
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.num_results]
        found = np.take_along_axis(scores, best, axis=1)
        query, place = np.nonzero(found > 0)
        results = inp.iloc[query].reset_index(drop=True)
        results = results.assign(
            docno=pd.Series(self._docnos[best[query, place]], dtype=object), score=found[query, place]
        )
        return _rank(results)

    def __repr__(self) -> str:
        return (
            f"TfidfRetriever({len(self._documents)} documents, analyzer={self._analyzer!r}, "
            f"num_results={self.num_results})"
        )

    def __eq__(self, other: object) -> bool:
        # pt.Experiment(plan="tree") runs equal prefixes of pipelines once.
        if not isinstance(other, TfidfRetriever):
            return NotImplemented
        return (
            self._analyzer == other._analyzer
            and self.num_results == other.num_results
            and (self._documents is other._documents or self._documents.equals(other._documents))
        )

    def __hash__(self) -> int:
        # Without num_results: GridSearch changes it while the transformer is a dictionary key.
        return hash((TfidfRetriever, self._analyzer, len(self._documents)))


class ReadabilityReranker(pt.Transformer):  # type: ignore[misc]  # PyTerrier has no types
    """Mix the score of a result list with how easy its documents are to read.

    score = (1 − weight) · s + weight · readability, with s the incoming score scaled
    to [0, 1] within each query (1 where all its scores are equal). The readability of
    the documents is computed once, by :func:`readability`.

    Parameters
    ----------
    documents : pandas.DataFrame
        One row a document, with ``docno`` and ``text``.
    weight : float, default 0.5
        The share of readability, from 0 (keep the ranking) to 1 (ignore it);
        ``{reranker: {"weight": [0.0, 0.5, 1.0]}}`` tunes it with ``pt.GridSearch``.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.demo import ReadabilityReranker
    >>> documents = pd.DataFrame({
    ...     "docno": ["hard", "easy"],
    ...     "text": ["Antipyretic administration ameliorates symptomatology.", "Rest and drink a lot."],
    ... })
    >>> results = pd.DataFrame({"qid": "1", "docno": ["hard", "easy"], "score": [2.0, 1.0]})
    >>> ReadabilityReranker(documents, weight=0.6).transform(results)
      qid docno  score  rank
    0   1  easy   0.57     0
    1   1  hard   0.40     1
    """

    def __init__(self, documents: pd.DataFrame, *, weight: float = 0.5) -> None:
        _check_documents(documents)
        self._documents = documents
        self.weight = weight
        self._readability = pd.Series(
            [readability(text) for text in documents["text"].astype(str)],
            index=documents["docno"].astype(str),
            dtype=float,
        )

    @property
    def weight(self) -> float:
        """The share of readability in the score."""
        return self._weight

    @weight.setter
    def weight(self, value: float) -> None:
        if not 0.0 <= value <= 1.0:
            raise MultiAspectError(f"weight is {value}; expected a number from 0 to 1")
        self._weight = float(value)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Score and rank anew.

        Parameters
        ----------
        inp : pandas.DataFrame
            Results with ``qid``, ``docno`` and ``score``; further columns are kept.

        Returns
        -------
        pandas.DataFrame
            The same rows with new ``score`` and ``rank``, sorted by query and rank.
        """
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        docnos = inp["docno"].astype(str)
        unknown = docnos[~docnos.isin(self._readability.index)].unique().tolist()
        if unknown:
            raise MultiAspectError(
                f"{len(unknown)} retrieved document(s) are not among the {len(self._readability)} documents "
                f"of the re-ranker: {choices(unknown[:5])}"
            )
        score = inp["score"].astype(float)
        by_query = score.groupby(inp["qid"], sort=False)
        lowest = by_query.transform("min")
        spread = by_query.transform("max") - lowest
        scaled = ((score - lowest) / spread.where(spread > 0, 1.0)).where(spread > 0, 1.0)
        easy = self._readability.reindex(docnos).to_numpy()
        mixed = (1.0 - self.weight) * scaled.to_numpy() + self.weight * easy
        return _rank(inp.drop(columns="rank", errors="ignore").assign(score=_as_evaluated(mixed)))

    def __repr__(self) -> str:
        return f"ReadabilityReranker({len(self._documents)} documents, weight={self.weight:g})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReadabilityReranker):
            return NotImplemented
        return self.weight == other.weight and (
            self._documents is other._documents or self._documents.equals(other._documents)
        )

    def __hash__(self) -> int:
        # Without weight: GridSearch changes it while the transformer is a dictionary key.
        return hash((ReadabilityReranker, len(self._documents)))


_WIDTH = 98


def _write(stream: TextIO, text: str = "", *, indent: str = "") -> None:
    """Write one paragraph, wrapped."""
    print(textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent), file=stream)


def _title(stream: TextIO, text: str) -> None:
    """Write a heading."""
    print(f"\n{text}\n{'-' * len(text)}", file=stream)


def _table(stream: TextIO, corner: str, head: list[str], rows: list[tuple[str, list[float]]]) -> None:
    """Write rows of numbers, the best of each row marked (every measure here is higher-is-better)."""
    first = max(len(name) for name in (corner, *(name for name, _ in rows)))
    widths = [max(len(cell), 4) + 1 for cell in head]
    titles = " ".join(f"{cell:>{width}}" for cell, width in zip(head, widths, strict=True))
    print(f"{corner:<{first}}{titles}", file=stream)
    for name, values in rows:
        best = max(values)
        cells = "".join(
            # Without the leading zero, as is usual for such values: eleven columns have to fit.
            f"{f'{value:.3f}'.removeprefix('0'):>{width}}{'*' if value == best else ' '}"
            for value, width in zip(values, widths, strict=True)
        )
        print(f"{name:<{first}}{cells}".rstrip(), file=stream)


def _search(
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    weights: list[float],
    collection: Collection,
    metric: str,
) -> float:
    """The weight that pt.GridSearch picks for `metric`; the re-ranker is left as it was."""
    with contextlib.redirect_stdout(io.StringIO()):  # GridSearch prints what it found
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
    stream: TextIO,
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    picked: dict[str, float],
    measure: Any,
) -> None:
    """Show the top three, with judgments, of the query that the second setting helps most."""
    runs = []
    before = reranker.weight
    for weight in picked.values():
        reranker.weight = weight
        runs.append(pipeline.transform(collection.topics))
    reranker.weight = before
    one, other = (pt.Evaluate(run, collection.qrels, [measure], perquery=True) for run in runs)
    gains = {qid: other[qid][str(measure)] - one[qid][str(measure)] for qid in collection.topics["qid"]}
    qid = max(gains, key=lambda key: gains[key])
    query = collection.topics.set_index("qid").loc[qid, "query"]
    judged = collection.qrels[collection.qrels["qid"] == qid].set_index("docno").drop(columns="qid")
    texts = collection.documents.set_index("docno")["text"]
    print(file=stream)
    _write(
        stream,
        f"The query that gains most by TOMA: '{query}'. "
        f"Before each passage its grades of {', '.join(collection.grades)}.",
    )
    for (metric, weight), run in zip(picked.items(), runs, strict=True):
        print(f"\n  weight {weight:.1f}, picked by {metric}", file=stream)
        for docno in run.loc[run["qid"] == qid, "docno"].head(3):
            grades = "/".join(map(str, judged.loc[docno])) if docno in judged.index else "-/-/-"
            start = textwrap.shorten(str(texts[docno]), _WIDTH - 16, placeholder=" ...")
            print(f"    {docno}  {grades}  {start}", file=stream)


def _experiment(
    stream: TextIO, collection: Collection, systems: dict[str, pt.Transformer], measures: list[Any]
) -> None:
    """Evaluate the systems in one pt.Experiment; measures go down the page, as their names are long."""
    _title(stream, "pt.Experiment: several aspects beside the usual measure (* best of a row)")
    table = pt.Experiment(
        list(systems.values()),
        collection.topics,
        collection.qrels,
        measures,
        names=list(systems),
        plan="tree",  # the retriever that two of the systems share runs once
        verbose=False,
    )
    rows = [(str(measure), [float(value) for value in table[str(measure)]]) for measure in measures]
    _table(stream, "", list(table["name"]), rows)


def _tuning(
    stream: TextIO,
    collection: Collection,
    pipeline: pt.Transformer,
    reranker: ReadabilityReranker,
    metrics: tuple[str, str],
    aspects: dict[str, str],
) -> dict[str, float]:
    """Tune the re-ranker for both metrics and say what that does to each of the `aspects`."""
    weights = [step / 5 for step in range(6)]
    _title(stream, "pt.GridSearch: which weight should the re-ranker give to readability?")
    before = reranker.weight
    scan = pt.GridScan(
        pipeline,
        {reranker: {"weight": weights}},
        collection.topics,
        collection.qrels,
        list(dict.fromkeys([*metrics, *aspects.values()])),
    )
    reranker.weight = before  # GridScan leaves its last setting in place
    rows = [(metric, scan[metric].astype(float).tolist()) for metric in metrics]
    _table(stream, "weight", [f"{weight:.1f}" for weight in weights], rows)
    picked = {metric: _search(pipeline, reranker, weights, collection, metric) for metric in metrics}
    print(file=stream)
    for metric, weight in picked.items():
        print(f'GridSearch(metric="{metric}") picks weight {weight:.1f}', file=stream)

    one, other = picked.values()
    print(file=stream)
    if one == other:
        _write(stream, "Both measures pick the same weight here.")
        return picked
    by_weight = scan.set_index("tran_0_weight")
    changes = [
        f"{name} {by_weight.loc[one, column]:.3f} to {by_weight.loc[other, column]:.3f}"
        for name, column in aspects.items()
    ]
    _write(
        stream,
        f"{metrics[0]} sees relevance only, TOMA all three aspects, and they pick different settings. Going "
        f"from {one:.1f} to {other:.1f} changes nDCG@5 of each aspect: {', '.join(changes)}. The measure "
        "that is optimised decides which of these trades is made.",
    )
    return picked


def run_demo(stream: TextIO | None = None) -> None:
    """Show the main job of the package on its own small collection.

    Three pipelines in one ``pt.Experiment`` with standard and multi-aspect measures,
    then ``pt.GridSearch`` for one parameter under nDCG and under TOMA. Takes a few
    seconds; every number is computed when it is called.

    Parameters
    ----------
    stream : file object, optional
        Where to print; standard output by default.
    """
    import ir_measures

    import pt_multiaspect as ma

    stream = sys.stdout if stream is None else stream
    collection = load_health()
    documents = collection.documents
    health = ma.Aspects(collection.grades, name="health-demo")

    _title(stream, "The collection")
    scales = ", ".join(f"{name} {min(grades)}-{max(grades)}" for name, grades in collection.grades.items())
    _write(
        stream,
        f"{len(documents)} short health passages, {len(collection.topics)} questions, "
        f"{len(collection.qrels)} judgments of three aspects each: {scales}. Some passages are plain advice, "
        "some are written for clinicians, some are catchy and wrong (so none of this is medical advice).",
    )

    retriever = TfidfRetriever(documents)
    reranker = ReadabilityReranker(documents)
    pipeline = retriever >> reranker
    on = {name: ma.On(aspect=name, base="nDCG") @ 5 for name in ("understandability", "credibility")}
    _experiment(
        stream,
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
    print(file=stream)
    for name, meaning in (
        ("words", "TF-IDF over words"),
        ("characters", "TF-IDF over pieces of words"),
        ("readable", f"words, re-ranked with weight {reranker.weight:.1f} on how easy a text is to read"),
        ("nDCG", "relevance only"),
        ("On", "nDCG of one other aspect by itself"),
        ("CAM, MM", "arithmetic and harmonic mean of nDCG over the aspects"),
        ("TOMA", "nDCG of one order over all combinations of grades, by the weakest aspect (Chebyshev)"),
        ("uRBP", "rank-biased precision that counts documents above the lowest grade on every aspect"),
    ):
        print(f"  {name:<12}{meaning}", file=stream)

    picked = _tuning(
        stream,
        collection,
        pipeline,
        reranker,
        ("nDCG@5", "TOMA(distance='chebyshev',aspects='health-demo')@5"),
        {"relevance": "nDCG@5"} | {name: str(measure) for name, measure in on.items()},
    )
    _example(stream, collection, pipeline, reranker, picked, ma.TOMA(distance="chebyshev", aspects=health) @ 5)
    print(file=stream)
    _write(
        stream,
        "By Chebyshev distance to the best passage (2/3/2), a passage is as good as its weakest aspect: a relevant "
        "one that only clinicians can read (2/0/2) counts as little as one that is plain and credible but off the "
        "question (0/3/2).",
    )
