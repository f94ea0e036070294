"""Evaluation of rerankers while sentence-transformers trains them."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..collection import Judgments, Run
from ..collection.columns import check_distinct_columns
from ..collection.frames import as_frame
from ..collection.run import name_run_in_errors
from ..errors import MultiAspectError, choices, refuse_taken, refuse_unknown, silence_warnings, tally, warn
from ..evaluation import aggregate, evaluate
from ..evaluation.topics import check_average_over
from ..integration.aggregators import lower_aggregate_is_better
from ..integration.parsing import MeasureLike, parse_all
from ..readability.inputs import check_texts
from .arrays import check_scores

#: Number of pairs whose embeddings are compared at a time, which limits memory.
_MOST_PAIRS = 2**15


class RerankingEvaluator:
    """Evaluate a reranker on judgments of several aspects, also during its training by sentence-transformers.

    Pass it as ``evaluator`` to ``CrossEncoderTrainer``, ``SentenceTransformerTrainer`` or that of another encoder,
    and the name of a value as ``metric_for_best_model`` to their arguments. Values are those of `evaluate` for the
    run of the model.

    Parameters
    ----------
    candidates : DataFrame
        The documents that the model ranks, with columns ``qid query docno text``, as rerankers of PyTerrier receive
        them. Others are ignored, and so are queries without judgments.
    qrels : DataFrame, dict, iterable or Judgments
        All judgments of the evaluated queries, as in `evaluate`, also of documents that are not candidates. Judged
        queries without candidates count as empty rankings.
    measures : measure, str, sequence of these or mapping
        The measures, as in `evaluate`.
    primary_metric : str or measure, optional
        The label of the measure that the model card and the logs emphasise. By default, the first one.
    name : str, default ''
        The data set, which the names of values begin with. Give each evaluator of a trainer its own. Slashes are
        underscores in the name of the CSV file.
    batch_size : int, default 32
        Number of pairs (for a bi-encoder, of texts) that the model processes at a time.
    write_csv : bool, default True
        Whether to append the values to ``RerankingEvaluator_<name>_results.csv`` in the output directory.

    Attributes
    ----------
    primary_metric : str
        The name of the value of the primary measure.
    greater_is_better : bool
        Whether higher values of the primary measure are better.

    Raises
    ------
    ImportError
        If sentence-transformers is not installed.
    MultiAspectError
        On creation: if candidates have no text, a document occurs twice for a query, a query has several texts, no
        query is judged, or qrels or measures are invalid, or trainers would minimise a higher-is-better measure, as
        its label ends in ``loss``. When called: if the model does not predict one number for each candidate.

    Warns
    -----
    MultiAspectWarning
        On creation: as `evaluate` does for the run of the candidates, such as of judged queries without them.
        When called: if the scores are equal within every query, or the CSV file has other columns.

    Notes
    -----
    *Names of values* are the labels of the measures. Those of lower-is-better measures, such as ESL, end in
    ``_loss``, as trainers minimise ``metric_for_best_model`` if its name ends so and they are not told otherwise by
    ``greater_is_better``. Trainers add ``eval_`` to names.

    *Models.* A ``CrossEncoder`` predicts a score per pair, and must have one label. A ``SentenceTransformer``, a
    ``SparseEncoder`` or a ``MultiVectorEncoder`` encodes queries and documents, which are compared by its
    similarity function. Ties are broken by docno, descending, as in `evaluate`.

    The class of an object also derives from sentence-transformers' ``BaseEvaluator``, which trainers require. The
    package is imported when the first object is created.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> candidates = pd.DataFrame({
    ...     "qid": "q1", "query": "fever", "docno": ["d1", "d2"], "text": ["Rest and drink.", "Febrile illness."]})
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> evaluator = ma.RerankingEvaluator(candidates, qrels, "TOMA@10", name="dev")  # doctest: +SKIP
    >>> evaluator(CrossEncoder("cross-encoder/ms-marco-MiniLM-L6-v2"))  # doctest: +SKIP
    {'dev_TOMA@10': 1.0}
    """

    def __init__(
        self,
        candidates: object,
        qrels: object,
        measures: MeasureLike | Sequence[Any] | Mapping[str, Any],
        *,
        primary_metric: MeasureLike | None = None,
        name: str = "",
        batch_size: int = 32,
        write_csv: bool = True,
    ) -> None:
        own_class: Any = type(self)
        self.__class__ = _class_with_base(own_class)
        super().__init__()
        self.name = name
        self.batch_size = batch_size
        self.write_csv = write_csv
        self._judgments = Judgments.of(qrels)
        self._measures, self._average_over = parse_all(measures), check_average_over(None, measures)
        labels = list(self._measures)
        primary = labels[0] if primary_metric is None else str(primary_metric)
        refuse_unknown([primary], labels, "the label of a measure", "primary_metric")
        lower = {label: lower_aggregate_is_better(measure) for label, measure in self._measures.items()}
        prefix = f"{name}_" if name else ""
        self._names = {label: f"{prefix}{label}{'_loss' if lower[label] else ''}" for label in labels}
        refuse_taken(self._names.values(), ["epoch", "steps"], "a column of the CSV file")
        minimised = [label for label in labels if label.endswith("loss") and not lower[label]]
        if minimised:
            raise MultiAspectError(
                f"the label {minimised[0]!r} of a higher-is-better measure ends in 'loss', so that trainers would "
                "minimise it; use another label"
            )
        self.primary_metric = self._names[primary]
        self.greater_is_better = not lower[primary]
        frame = _read_candidates(candidates)
        self._run = _run_of(frame)
        self._evaluate(-np.arange(len(frame), dtype=np.float64))  # finds what is wrong before the training begins
        judged = self._judgments.query_positions(self._run.qids)[self._run.query] >= 0
        self._texts = frame.loc[judged, ["query", "text"]].reset_index(drop=True)
        self._run = _run_of(frame[judged])

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Rank the candidates by a model, and evaluate the rankings.

        Parameters
        ----------
        model : CrossEncoder, SentenceTransformer, SparseEncoder or MultiVectorEncoder
            The model.
        output_path : str, optional
            The directory of the CSV file. By default, it is not written.
        epoch, steps : number, default -1
            The epoch and the step, which are written to the file and the model card.

        Returns
        -------
        dict of str to float
            The value of each measure, aggregated over queries as the measure defines.
        """
        scores = self._score(model)
        per_query = pd.Series(scores).groupby(self._run.query)
        if per_query.size().max() > 1 and per_query.nunique().max() == 1:
            warn(
                f"RerankingEvaluator: the scores of {type(model).__name__} are equal within every query, so they "
                "rank nothing; the values are those of documents sorted by docno. Check the learning rate and the "
                "labels"
            )
        with silence_warnings():  # issued on creation
            values = self._evaluate(scores)
        if output_path is not None and self.write_csv:
            self._append(output_path, {"epoch": epoch, "steps": steps, **values})
        self.store_metrics_in_model_card_data(model, values, epoch, steps)  # type: ignore[attr-defined]
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (vars(type(self)).get("_declared", type(self)), self.__dict__)

    def _evaluate(self, scores: Floats) -> dict[str, float]:
        """Return the values of the candidates with these scores, by name."""
        run = {"candidates": replace(self._run, score=scores)}
        values = evaluate(run, self._judgments, self._measures, average_over=self._average_over, progress=False)
        aggregates = aggregate(values).iloc[0]
        return {name: float(aggregates[label]) for label, name in self._names.items()}

    def _score(self, model: Any) -> Floats:
        """Return the scores of the candidates."""
        options = {"batch_size": self.batch_size, "show_progress_bar": False}
        if hasattr(model, "predict"):
            scores = model.predict(list(self._texts.itertuples(index=False, name=None)), **options)
        elif hasattr(model, "encode_query"):
            (query, queries), (text, texts) = (pd.factorize(self._texts[name]) for name in ("query", "text"))
            queries = model.encode_query(queries.tolist(), **options)
            texts = model.encode_document(texts.tolist(), **options)
            parts = np.split(np.arange(len(query)), range(_MOST_PAIRS, len(query), _MOST_PAIRS))
            similarities = [
                model.similarity_pairwise(_take(queries, query[part]), _take(texts, text[part])) for part in parts
            ]
            scores = np.concatenate([part.cpu().numpy() for part in similarities])
        else:
            raise MultiAspectError(
                "expected a CrossEncoder, or an encoder with encode_query, such as a SentenceTransformer, got "
                f"{type(model).__name__}"
            )
        if np.ndim(scores) == 2 and np.shape(scores)[1] > 1:
            raise MultiAspectError(
                f"expected a model with one score per query and document, got {np.shape(scores)[1]} columns: "
                "create the CrossEncoder with num_labels=1, or, if it has one score per aspect, evaluate these "
                "with AspectFusion('precomputed')"
            )
        return check_scores(scores, len(self._run))

    def _append(self, folder: str, row: Mapping[str, float]) -> None:
        """Append a row to the CSV file."""
        name = re.sub(r"[/\\]", "_", self.name)
        path = os.path.join(folder, f"RerankingEvaluator{name and '_'}{name}_results.csv")
        os.makedirs(folder, exist_ok=True)
        with open(path, "a+", newline="", encoding="utf-8") as file:
            file.seek(0)
            columns = next(csv.reader(file), None)
            writer = csv.writer(file)
            if columns is None:
                writer.writerow(row)
            elif columns != [*row]:
                warn(
                    f"{path}: expected the columns {choices(row)}, got {choices(columns)}; the values are not "
                    "appended. Remove the file, or pass another name="
                )
                return
            writer.writerow(row.values())


def _read_candidates(candidates: object) -> pd.DataFrame:
    """Return the candidates, whose queries and documents have texts."""
    frame = as_frame(candidates, "candidates").reset_index(drop=True)
    check_distinct_columns(frame, "candidates")
    missing = [column for column in ("query", "text") if column not in frame.columns]
    if missing:
        raise MultiAspectError(
            f"candidates: expected the columns qid, query, docno and text, got {choices(frame.columns)}; add "
            f"{choices(missing)} by candidates.merge(topics, on='qid') or candidates.merge(documents, on='docno')"
        )
    for column in ("query", "text"):
        check_texts(frame, "candidates", column)
    ids = _run_of(frame).to_pandas()
    repeated = np.flatnonzero(ids.duplicated(["query_id", "doc_id"]))
    if len(repeated):
        qid, docno = ids.loc[repeated[0], ["query_id", "doc_id"]]
        raise MultiAspectError(
            f"candidates: expected one row per query and document, got several for document {docno}, query {qid} "
            f"{tally(len(repeated), 'row')}; drop duplicates, or join the passages of a document"
        )
    texts = frame["query"].groupby(ids["query_id"]).nunique()
    if texts.max() > 1:
        raise MultiAspectError(
            f"candidates: expected one text per query, got {texts.max()} for query {texts.idxmax()} "
            f"{tally(int((texts > 1).sum()), 'query')}; give each formulation of a query its own qid and judgments"
        )
    return frame


def _run_of(frame: pd.DataFrame) -> Run:
    """Return candidates as a run, without scores."""
    with name_run_in_errors("candidates"):
        return Run.of(frame.assign(score=0.0))


def _take(embeddings: Any, rows: Ints) -> Any:
    """Return the embeddings of texts: an array, a sparse tensor, or a list of several vectors per text."""
    if isinstance(embeddings, np.ndarray):
        return embeddings[rows]
    if isinstance(embeddings, list):
        return [embeddings[row] for row in rows]
    import torch

    return embeddings.index_select(0, torch.as_tensor(rows, device=embeddings.device))


@cache
def _class_with_base(cls: type[Any]) -> type[Any]:
    """Return a class that derives from `cls` and from the evaluators of sentence-transformers.

    The latter cannot be named in a class statement, as this module does not import them. Objects are pickled as
    those of `cls`, which has a name to be imported by.
    """
    try:
        from sentence_transformers.base.evaluation import BaseEvaluator
    except ImportError as error:
        raise ImportError(
            "RerankingEvaluator requires sentence-transformers 5.4 or newer: "
            'pip install "pt-multiaspect[rerankers]"'
        ) from error
    if issubclass(cls, BaseEvaluator):
        return cls
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls, BaseEvaluator), names | {"_declared": cls})


def _restore(cls: Any, state: dict[str, Any]) -> RerankingEvaluator:
    """Return the evaluator with this state, which was pickled or copied."""
    evaluator: RerankingEvaluator = object.__new__(_class_with_base(cls))
    evaluator.__dict__.update(state)
    return evaluator
