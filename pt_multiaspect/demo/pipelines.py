"""PyTerrier transformers that work in memory: a TF-IDF retriever and a readability re-ranker."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import pyterrier as pt
from sklearn.feature_extraction.text import TfidfVectorizer

from .._validation import choice, count, fraction
from ..errors import MultiAspectError, choices, refuse_repeated, tally

Analyzer = Literal["word", "char"]

_VECTORIZER: dict[str, dict[str, Any]] = {
    "word": {"analyzer": "word", "stop_words": "english"},
    "char": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}


def _check_documents(documents: pd.DataFrame, column: str) -> None:
    """Raise an error if a column is missing, ``docno`` or `column`, or a ``docno`` is repeated."""
    missing = [name for name in ("docno", column) if name not in documents.columns]
    if missing:
        got = choices(documents.columns)
        raise MultiAspectError(f"documents: expected columns docno and {column}, got {got}")
    refuse_repeated(documents["docno"], "docnos", "documents")


def _rank(results: pd.DataFrame) -> pd.DataFrame:
    """Sort by query and score and add ranks, with ties broken as in the evaluation."""
    # Queries keep their order; ties of scores are broken by docno, descending.
    query_numbers, _ = pd.factorize(results["qid"])
    numbered = results.assign(_order=query_numbers)
    keys = ["_order", "score", "docno"]
    is_ascending = [True, False, False]
    ranked = numbered.sort_values(keys, ascending=is_ascending, ignore_index=True)
    ranked = ranked.drop(columns="_order")
    by_query = ranked.groupby("qid", sort=False)
    ranks = by_query.cumcount() + pt.model.FIRST_RANK
    return ranked.assign(rank=ranks.astype("int64"))


def _as_evaluated(scores: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Round scores to 32 bits, as trec_eval does: ``rank`` and the evaluation agree on ties."""
    rounded = np.asarray(scores, dtype=np.float32)
    return rounded.astype(np.float64)


class TfidfRetriever(pt.Transformer):  # type: ignore[misc]  # PyTerrier has no types
    """Rank documents by the cosine similarity of TF-IDF vectors, in memory.

    The documents are indexed once, with scikit-learn's
    ``TfidfVectorizer(sublinear_tf=True)``. Only documents that share a term with the
    query are retrieved; a query without matches has no rows.

    Parameters
    ----------
    documents : pandas.DataFrame
        One row per document, with columns ``docno`` and ``text``.
    analyzer : {"word", "char"}, default "word"
        Terms are words without English stop words, or character 3- to 5-grams within words.
    num_results : int, default 10
        Maximum number of documents to return per query.

    Examples
    --------
    >>> from pt_multiaspect.datasets import load_health
    >>> from pt_multiaspect.demo import TfidfRetriever
    >>> retriever = TfidfRetriever(load_health().documents, num_results=2)
    >>> retriever.search("measles vaccine")[["docno", "rank"]]
      docno  rank
    0   h31     0
    1   h33     1
    """

    def __init__(
        self, documents: pd.DataFrame, *, analyzer: Analyzer = "word", num_results: int = 10
    ) -> None:
        _check_documents(documents, "text")
        check_analyzer = choice("analyzer", *_VECTORIZER)
        check_analyzer(analyzer)
        self._documents = documents
        self._analyzer = analyzer
        self.num_results = num_results
        # In descending order, so that a stable sort by score breaks ties as the evaluation does.
        docnos = documents["docno"].astype(str)
        with_docnos = documents.assign(docno=docnos)
        indexed = with_docnos.sort_values("docno", ascending=False)
        self._docnos = indexed["docno"].to_numpy(dtype=object)
        texts = indexed["text"].astype(str)
        options = _VECTORIZER[analyzer]
        self._vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
        try:
            self._vectors = self._vectorizer.fit_transform(texts)
        except ValueError as error:
            n_documents = len(documents)
            raise MultiAspectError(
                f"documents: no terms to index in {n_documents} documents: {error}"
            ) from error

    @property
    def num_results(self) -> int:
        """Maximum number of documents to return per query."""
        return self._num_results

    @num_results.setter
    def num_results(self, value: int) -> None:
        self._num_results = count("num_results")(value)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Retrieve documents for each query.

        Parameters
        ----------
        inp : pandas.DataFrame
            Queries with columns ``qid`` and ``query``. Other columns are kept.

        Returns
        -------
        pandas.DataFrame
            The columns of `inp` with ``docno``, ``score`` and ``rank``.
        """
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        queries = inp.drop(columns=["score", "rank"], errors="ignore")
        texts = queries["query"].astype(str)
        scores = self._scores(texts)  # (n_queries, n_documents)
        # The best documents, and their scores, shape (n_queries, num_results).
        best_first = np.argsort(-scores, axis=1, kind="stable")
        best = best_first[:, : self.num_results]
        best_scores = np.take_along_axis(scores, best, axis=1)

        # One row per query and document; without a term of the query, documents have the score 0.
        is_retrieved = best_scores > 0
        query_numbers, ranks = np.nonzero(is_retrieved)  # one of both per row of the result
        results = queries.iloc[query_numbers].reset_index(drop=True)
        documents = best[query_numbers, ranks]
        docnos = pd.Series(self._docnos[documents], dtype=object)
        retrieved_scores = best_scores[query_numbers, ranks]
        unranked = results.assign(docno=docnos, score=retrieved_scores)
        return _rank(unranked)

    def _scores(self, texts: pd.Series[str]) -> np.ndarray:
        """Return the cosine of each query and document, shape (n_queries, n_documents)."""
        # The vectorizer refuses no texts.
        if texts.empty:
            n_documents = len(self._docnos)
            return np.empty((0, n_documents))
        query_vectors = self._vectorizer.transform(texts)
        cosines = query_vectors @ self._vectors.T
        return _as_evaluated(cosines.toarray())

    def __repr__(self) -> str:
        return (
            f"TfidfRetriever({len(self._documents)} documents, analyzer={self._analyzer!r}, "
            f"num_results={self.num_results})"
        )

    def __eq__(self, other: object) -> bool:
        # pt.Experiment(plan="tree") runs equal prefixes of pipelines once.
        if not isinstance(other, TfidfRetriever):
            return NotImplemented
        has_same_analyzer = self._analyzer == other._analyzer
        has_same_number = self.num_results == other.num_results
        has_same_options = has_same_analyzer and has_same_number
        return has_same_options and self._documents.equals(other._documents)

    def __hash__(self) -> int:
        # Not a hash of num_results, which GridSearch changes while the transformer is a dictionary
        # key.
        return hash((TfidfRetriever, self._analyzer, len(self._documents)))


def _scale_by_query(scores: pd.Series[float], qids: pd.Series[str]) -> pd.Series[float]:
    """Return scores scaled to [0, 1] per query; 1 if all scores of a query are equal."""
    by_query = scores.groupby(qids, sort=False)
    lowest = by_query.transform("min")
    highest = by_query.transform("max")
    spread = highest - lowest
    has_spread = spread > 0
    # Any divisor but 0 will do where there is no spread, as the result is replaced.
    divisor = spread.where(has_spread, 1.0)
    scaled = (scores - lowest) / divisor
    return scaled.where(has_spread, 1.0)


class ReadabilityReranker(pt.Transformer):  # type: ignore[misc]  # PyTerrier has no types
    """Re-rank results by a linear combination of their score and the readability of the documents.

    The new score is (1 − weight) · s + weight · readability, where s is the score scaled to
    [0, 1] within each query (1 if all scores of the query are equal).

    Parameters
    ----------
    documents : pandas.DataFrame
        One row per document, with columns ``docno`` and ``readability``, from 0 (hard) to 1 (easy),
        as of `pt_multiaspect.datasets.load_health`.
    weight : float, default 0.5
        Weight of readability, from 0 (the ranking is unchanged) to 1 (rank by readability only).
        Tune it in ``pt.GridSearch`` with ``{reranker: {"weight": [0.0, 0.5, 1.0]}}``.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.demo import ReadabilityReranker
    >>> documents = pd.DataFrame({"docno": ["hard", "easy"], "readability": [0.0, 0.95]})
    >>> results = pd.DataFrame({"qid": "1", "docno": ["hard", "easy"], "score": [2.0, 1.0]})
    >>> ReadabilityReranker(documents, weight=0.6).transform(results)
      qid docno  score  rank
    0   1  easy   0.57     0
    1   1  hard   0.40     1
    """

    def __init__(self, documents: pd.DataFrame, *, weight: float = 0.5) -> None:
        _check_documents(documents, "readability")
        self._documents = documents
        self.weight = weight
        docnos = documents["docno"].astype(str)
        readability = documents["readability"].to_numpy(dtype=float)
        self._readability = pd.Series(readability, index=docnos)

    @property
    def weight(self) -> float:
        """Weight of readability in the score, from 0 to 1."""
        return self._weight

    @weight.setter
    def weight(self, value: float) -> None:
        self._weight = float(fraction("weight")(value))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Compute the new scores and ranks.

        Parameters
        ----------
        inp : pandas.DataFrame
            Results with columns ``qid``, ``docno`` and ``score``. Other columns are kept.

        Returns
        -------
        pandas.DataFrame
            The same rows with new ``score`` and ``rank``, sorted by query and rank.
        """
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        docnos = inp["docno"].astype(str)
        self._check_known(docnos)
        old_scores = inp["score"].astype(float)
        scaled = _scale_by_query(old_scores, inp["qid"]).to_numpy()
        readability = self._readability.reindex(docnos).to_numpy()
        weighted_scores = (1.0 - self.weight) * scaled
        new_scores = weighted_scores + self.weight * readability
        # Scores are rounded to 32 bits, so that ranks and the evaluation agree on ties.
        rounded = _as_evaluated(new_scores)
        without_ranks = inp.drop(columns="rank", errors="ignore")
        rescored = without_ranks.assign(score=rounded)
        return _rank(rescored)

    def _check_known(self, docnos: pd.Series[str]) -> None:
        """Raise an error if the readability of a document is not known."""
        is_known = docnos.isin(self._readability.index)
        unknown_docnos = docnos[~is_known]
        unknown = unknown_docnos.unique().tolist()
        if unknown:
            n_known = len(self._readability)
            examples = choices(unknown[:5])
            n_unknown = tally(len(unknown), "document")
            raise MultiAspectError(
                f"inp: expected documents the re-ranker was built with ({n_known}), "
                f"got others: {examples} {n_unknown}"
            )

    def __repr__(self) -> str:
        return f"ReadabilityReranker({len(self._documents)} documents, weight={self.weight:g})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReadabilityReranker):
            return NotImplemented
        has_same_weight = self.weight == other.weight
        return has_same_weight and self._documents.equals(other._documents)

    def __hash__(self) -> int:
        # Not a hash of the weight, which GridSearch changes while the transformer is a dictionary
        # key.
        return hash((ReadabilityReranker, len(self._documents)))
