"""The provider that makes the measures available in ir-measures."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any, TypeGuard

import ir_measures
import ir_measures.util
import numpy as np
import pandas as pd
from ir_measures import Measure as AnyMeasure
from ir_measures import Metric
from ir_measures.providers import Evaluator, Provider
from ir_measures.providers.fallback_provider import FallbackEvaluator

from ..bases.delegated import function_of
from ..collection import Judgments, Rankings
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    LABELLED_TOPICS,
    answers_remedy,
    as_floats,
    check_id_column,
)
from ..collection.overlap import warn_of_no_common_document, warn_of_no_common_query
from ..errors import MultiAspectError, choices, number_of, warn_once, warn_once_of
from ..measures import Measure
from ..measures.toma import warn_of_missing_gates


class LastJudgments(threading.local):
    """The judgments of the last qrels of each thread.

    PyTerrier creates an evaluator for each run, from frames with the same content. As frames can be
    changed in place, their content is compared.
    """

    _judgments: Judgments | None = None

    def of(self, qrels: pd.DataFrame) -> Judgments:
        """Return the judgments of a frame, with all cached results."""
        if self._judgments is None or not self._judgments.is_of(qrels):
            self._judgments = None  # so that both are not in memory at once
            self._judgments = Judgments(qrels)
        return self._judgments

    def fresh_copy(self, qrels: object) -> Judgments:
        """Return judgments without the results of measures that `Judgments` caches.

        Results are cached by measure, and the class of a user's measure may have changed since.
        """
        if not isinstance(qrels, pd.DataFrame):
            return Judgments.of(qrels)  # new judgments, unless qrels are judgments
        # The judgments of the last frame are kept, with what they cache. `copy` makes judgments of
        # the same qrels that cache nothing.
        judgments = self.of(qrels)
        without_results = copy(judgments)
        # The hash table of pairs is not a result of a measure, and slow to build: it is shared.
        without_results._share_pairs(judgments)
        return without_results


_last = LastJudgments()


def supports(measure: object) -> TypeGuard[Measure]:
    """Return whether a measure is one of this package, or of a derived class."""
    return isinstance(measure, Measure)


def reads_relevance_only(measure: AnyMeasure) -> bool:
    """Return whether a measure is one of ir-measures, which reads only the column relevance.

    It has no values for topics without a label in this column. Measures of this package, and users'
    functions, may read all columns, and have values for all topics.
    """
    is_of_package = supports(measure)
    is_users_function = function_of(measure) is not None
    return not is_of_package and not is_users_function


class MultiAspectEvaluator(Evaluator):  # type: ignore[misc]
    """An evaluator of any number of runs against the same qrels, which are prepared once."""

    def __init__(self, measures: Iterable[Measure], qrels: object) -> None:
        # ir-measures passes a set, whose order differs between processes.
        ordered = sorted(set(measures), key=str)
        for measure, next_measure in pairwise(ordered):
            if str(measure) == str(next_measure):
                warn_once(
                    f"two different measures print as {measure}, because a name in it was "
                    "redefined in between. Tools that identify measures by their printed form, "
                    "such as pt.Experiment, show only one of them"
                )
        self.judgments = Judgments.of(qrels)
        #: The causes of warnings about the qrels, which each run would repeat.
        self._warned: set[Any] = set()
        super().__init__(ordered, self.judgments.qids.tolist())

    def iter_calc(self, run: object) -> Iterator[Metric]:
        """Yield a value for each measure and judged query, also for those missing from the run."""
        rankings = Rankings(run, self.judgments)
        warn_of_no_common_query(rankings)
        warn_of_no_common_document(rankings)
        for measure in self.measures:
            with warn_once_of(self._warned):
                values = measure.evaluate(rankings).tolist()
            for qid, value in zip(self.qrel_qids, values, strict=True):
                yield Metric(query_id=qid, measure=measure, value=value)
        # A gate of TOMA is an aspect without which others do not count.
        warn_of_missing_gates(self.measures, self.judgments)


class MultiAspectProvider(Provider):  # type: ignore[misc]
    """The provider of the measures of this package in ir-measures."""

    NAME = "multiaspect"

    def supports(self, measure: object) -> bool:
        """Return whether `measure` is a measure of this package (an instance of its base class)."""
        if not supports(measure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: object) -> MultiAspectEvaluator:
        return MultiAspectEvaluator(measures, _last.fresh_copy(qrels))

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the required qrels columns: the identifiers and the aspects of the measures.

        A measure without `aspects` also evaluates the other numeric columns, which depend on the
        qrels.
        """
        columns = ["query_id", "doc_id"]
        for measure in sorted(measures, key=str):
            columns += measure.required_aspects
        return list(dict.fromkeys(columns))


def register() -> None:
    """Let ir-measures compute the measures of this package, and its own measures on wide qrels.

    Repeated calls have no effect.
    """
    install_literals()
    pipeline = ir_measures.DefaultPipeline
    is_registered = any(
        isinstance(provider, MultiAspectProvider) for provider in pipeline.providers
    )
    if not is_registered:
        pipeline.providers.append(MultiAspectProvider())
    # In wide qrels, the column relevance may lack labels, and then has floats, which pytrec_eval
    # rejects and other providers count as judged. These two functions call the original ones with
    # integers where possible, and check that there are documents.
    pipeline._evaluator = _evaluator
    pipeline._iter_calc = _iter_calc


_original = ir_measures.DefaultPipeline._evaluator


def _iter_calc(measures: Iterable[AnyMeasure], qrels: Any, run: Any) -> Iterator[Metric]:
    """Return the values; raise an error if measures of rankings are given answers only."""
    # An iterator can be read only once.
    if isinstance(measures, Iterator):
        measures = list(measures)
    # Users' functions may evaluate answers without documents, other measures may not.
    are_all_functions = all(function_of(measure) is not None for measure in measures)
    if not are_all_functions:
        _check_documents(qrels, "qrels")
        _check_documents(run, "a run")
    values: Iterator[Metric] = _evaluator(measures, qrels).iter_calc(run)
    return values


def _check_documents(data: Any, what: str) -> None:
    """Raise an error if `data` is a frame of answers, without documents; it is named `what`."""
    if not isinstance(data, pd.DataFrame):
        return
    is_frame_of_answers = bool(answers_remedy(data.columns))  # others need no remedy
    if is_frame_of_answers:
        # It has no column of documents, so that this check raises an error.
        check_id_column(data, DOCUMENT_COLUMNS, what)


def _evaluator(measures: Iterable[AnyMeasure], qrels: Any) -> Evaluator:
    """Return an evaluator whose measures of relevance get only the pairs with a label, as integers.

    If their labels are fractions, these remain. `_original` is the function of ir-measures that
    this one replaces.
    """
    if not _has_floats_or_gaps(qrels):
        return _original(measures, qrels)
    measures = list(measures)
    of_relevance = [measure for measure in measures if reads_relevance_only(measure)]
    of_all_columns = [measure for measure in measures if measure not in of_relevance]
    if not of_relevance:
        return _original(measures, qrels)
    labelled = _labelled_pairs(qrels, of_relevance)
    if not of_all_columns:
        return _original(measures, labelled)
    _warn_of_missing_values(of_relevance, qrels, labelled)
    evaluator_of_relevance = _original(of_relevance, labelled)
    evaluator_of_others = _original(of_all_columns, qrels)
    # The order matters: ir-measures scores topics that are missing from a run as 0, and takes the
    # topics from the first evaluator. Those without a label of relevance must not be among them.
    return FallbackEvaluator(measures, [evaluator_of_relevance, evaluator_of_others])


def _labelled_pairs(qrels: pd.DataFrame, measures: Iterable[AnyMeasure]) -> pd.DataFrame:
    """Return the rows of qrels with a label of relevance, as integers if all labels are whole.

    Raise an error if they are not, and one of `measures` requires integers.
    """
    labelled = qrels[qrels["relevance"].notna()]
    labels = as_floats(labelled["relevance"])
    is_whole = (labels == np.floor(labels)) & ~np.isinf(labels)
    fractional = labels[~is_whole]
    if len(fractional):
        _check_integers(measures, fractional[0])
        return labelled
    labelled = labelled.assign(relevance=labels.astype(np.int64))
    # pytrec_eval reads beyond its memory on topics with only negative labels, which count as 0.
    best_of_topic = labelled.groupby("query_id")["relevance"].transform("max")
    labelled["relevance"] = labelled["relevance"].where(best_of_topic >= 0, 0)
    return labelled


def _has_floats_or_gaps(qrels: Any) -> bool:
    """Return whether labels of relevance in a frame are floats, or missing for some documents.

    Only then are they converted to integers, or rows left out. Qrels of other forms are not, nor
    are those without one column relevance, which ir-measures rejects.
    """
    if not isinstance(qrels, pd.DataFrame) or "relevance" not in qrels:
        return False
    labels = qrels["relevance"]
    if isinstance(labels, pd.DataFrame):  # the column is repeated
        return False
    has_floats = pd.api.types.is_float_dtype(labels.dtype)
    has_gaps = bool(labels.isna().any())
    return has_floats or has_gaps


def _check_integers(measures: Iterable[AnyMeasure], label: float) -> None:
    """Raise an error about a fractional label if pytrec_eval computes one of the measures."""
    pytrec_eval = ir_measures.pytrec_eval
    if not pytrec_eval.is_available():
        return
    refused = [str(measure) for measure in measures if pytrec_eval.supports(measure)]
    if refused:
        names = choices(sorted(refused))
        raise MultiAspectError(
            f"{names} of ir-measures: expected integer labels, got {label:g}. Where possible, use "
            f"a base of this package, as in On(base={refused[0]!r}), or round the labels"
        )


def _warn_of_missing_values(
    measures: Iterable[AnyMeasure], qrels: pd.DataFrame, labelled: pd.DataFrame
) -> None:
    """Warn about topics without a label of relevance, on which some measures have no values.

    Parameters
    ----------
    measures : iterable of Measure
        The measures without values there.
    qrels, labelled : DataFrame
        The qrels, and their rows with a label of relevance.
    """
    topics = set(qrels["query_id"].astype(str))
    labelled_topics = set(labelled["query_id"].astype(str))
    unlabelled = sorted(topics - labelled_topics)
    if not unlabelled:
        return
    examples = unlabelled[:3]
    if len(unlabelled) > 3:
        examples.append("…")
    n_topics = number_of(len(unlabelled), "topic")
    measure_names = choices(sorted(map(str, measures)))
    warn_once(
        f"the qrels have no label of relevance in {n_topics} ({choices(examples)}), so "
        f"{measure_names} cannot be computed there, and means are over different topics. Leave "
        f"these topics out, as in {LABELLED_TOPICS}, or use pt_multiaspect.evaluate, which scores "
        "them as 0",
        key=" ".join(unlabelled[:10]),
        group="no label of relevance",
    )


def literal_value(node: ast.expr | None) -> Any:
    """Return the value of a literal in a measure's name, as `ir_measures.util._ast_to_value` does.

    Raises
    ------
    ValueError
        If the node is neither a number, text, constant nor a dict of these; the message is that of
        ir-measures.
    """
    if isinstance(node, ast.Constant):
        is_literal = not isinstance(node.value, bytes) and node.value is not ...
        if is_literal:
            return node.value
    if isinstance(node, ast.Dict):
        keys = map(literal_value, node.keys)
        values = map(literal_value, node.values)
        return dict(zip(keys, values, strict=True))
    message = "values must be str, float, int, bool, etc."
    raise ValueError(ir_measures.util._AST_PARSE_ERROR.format(message))


def install_literals() -> None:
    """Let ir-measures parse names with a cutoff or parameters where its own function cannot."""
    # From Python 3.14 on, ast has no Num, which the function of ir-measures uses.
    if sys.version_info < (3, 14):
        return
    try:
        ir_measures.util.parse_measure("P@1")
    except AttributeError:
        ir_measures.util._ast_to_value = literal_value
