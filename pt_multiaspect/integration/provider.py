"""The provider that makes the measures available in ir-measures."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import chain, pairwise
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
        """Return judgments without the cached results of measures, as a user's class may have changed since."""
        if not isinstance(qrels, pd.DataFrame):
            return Judgments.of(qrels)
        last = self.of(qrels)
        result = copy(last)
        result.compute_once("pairs", lambda: last.pairs)
        return result


_last = LastJudgments()


def supports(measure: object) -> TypeGuard[Measure]:
    """Return whether a measure is one of this package, or of a derived class."""
    return isinstance(measure, Measure)


def reads_relevance_only(measure: AnyMeasure) -> bool:
    """Return whether a measure has no values for topics without a label of relevance.

    These are the measures of ir-measures. Those of this package, and users' functions, are defined
    on all columns.
    """
    return not supports(measure) and function_of(measure) is None


class MultiAspectEvaluator(Evaluator):  # type: ignore[misc]
    """An evaluator of any number of runs against the same qrels, which are prepared once."""

    def __init__(self, measures: Iterable[Measure], qrels: object) -> None:
        # ir-measures passes a set, whose order differs between processes.
        ordered = sorted(set(measures), key=str)
        for first, second in pairwise(ordered):
            if str(first) == str(second):
                warn_once(
                    f"two different measures print as {first}, because a name in it was redefined "
                    "in between. Tools that identify measures by their printed form, such as "
                    "pt.Experiment, show only one of them"
                )
        self.judgments = Judgments.of(qrels)
        self._warned: set[Any] = set()  # about the qrels
        super().__init__(ordered, self.judgments.qids.tolist())

    def iter_calc(self, run: object) -> Iterator[Metric]:
        """Yield a value for every measure and every judged query, including queries missing from the run."""
        rankings = Rankings(run, self.judgments)
        warn_of_no_common_query(rankings)
        warn_of_no_common_document(rankings)
        for measure in self.measures:
            with warn_once_of(self._warned):
                values = measure.evaluate(rankings).tolist()
            for qid, value in zip(self.qrel_qids, values, strict=True):
                yield Metric(query_id=qid, measure=measure, value=value)
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
        aspects = chain.from_iterable(
            measure.required_aspects for measure in sorted(measures, key=str)
        )
        return list(dict.fromkeys(["query_id", "doc_id", *aspects]))


def register() -> None:
    """Let ir-measures compute the measures of this package, and evaluate its own measures on wide qrels.

    Repeated calls have no effect. Files that judge different pairs result in a column of relevance
    with missing labels, and thus of floats, which pytrec_eval rejects and others count as judged.
    Qrels with integers are passed unchanged.
    """
    install_literals()
    pipeline = ir_measures.DefaultPipeline
    if not any(isinstance(provider, MultiAspectProvider) for provider in pipeline.providers):
        pipeline.providers.append(MultiAspectProvider())
    pipeline._evaluator, pipeline._iter_calc = _evaluator, _iter_calc


_original = ir_measures.DefaultPipeline._evaluator


def _iter_calc(measures: Iterable[AnyMeasure], qrels: Any, run: Any) -> Iterator[Metric]:
    """Return the values; raise an error if measures of rankings are to evaluate answers without documents."""
    if isinstance(measures, Iterator):
        measures = list(measures)
    if any(function_of(measure) is None for measure in measures):
        for frame, what in ((qrels, "qrels"), (run, "a run")):
            if isinstance(frame, pd.DataFrame) and answers_remedy(frame.columns):
                check_id_column(frame, DOCUMENT_COLUMNS, what)
    values: Iterator[Metric] = _evaluator(measures, qrels).iter_calc(run)
    return values


def _evaluator(measures: Iterable[AnyMeasure], qrels: Any) -> Evaluator:
    """Return an evaluator whose measures of relevance see the labelled pairs only, as integers if possible."""
    if not _has_other_labels(qrels):
        return _original(measures, qrels)
    measures = list(measures)
    restricted = [measure for measure in measures if reads_relevance_only(measure)]
    unrestricted = [measure for measure in measures if measure not in restricted]
    if not restricted:
        return _original(measures, qrels)
    labelled = qrels[qrels["relevance"].notna()]
    labels = as_floats(labelled["relevance"])
    others = labels[(labels != np.floor(labels)) | np.isinf(labels)]
    if len(others):
        _check_integers(restricted, others[0])
    else:
        labelled = labelled.assign(relevance=labels.astype(np.int64))
        # pytrec_eval reads beyond its memory on topics with only negative labels, which count as 0.
        best = labelled.groupby("query_id")["relevance"].transform("max")
        labelled["relevance"] = labelled["relevance"].where(best >= 0, 0)
    if not unrestricted:
        return _original(measures, labelled)
    _warn_of_missing_values(restricted, qrels, labelled)
    # Defaults are added for the topics of the first evaluator.
    return FallbackEvaluator(
        measures, [_original(restricted, labelled), _original(unrestricted, qrels)]
    )


def _has_other_labels(qrels: Any) -> bool:
    """Return whether qrels are a frame whose relevance labels are floats or incomplete."""
    if not isinstance(qrels, pd.DataFrame) or list(qrels.columns).count("relevance") != 1:
        return False
    return pd.api.types.is_float_dtype(qrels["relevance"].dtype) or bool(
        qrels["relevance"].isna().any()
    )


def _check_integers(measures: Iterable[AnyMeasure], label: float) -> None:
    pytrec_eval = ir_measures.pytrec_eval
    refused = [
        measure
        for measure in measures
        if pytrec_eval.is_available() and pytrec_eval.supports(measure)
    ]
    if refused:
        raise MultiAspectError(
            f"{choices(sorted(map(str, refused)))} of ir-measures: expected integer labels, got "
            f"{label:g}. Where possible, use a base of this package, as in "
            f"On(base={str(refused[0])!r}), or round the labels"
        )


def _warn_of_missing_values(
    measures: Iterable[AnyMeasure], qrels: pd.DataFrame, labelled: pd.DataFrame
) -> None:
    """Warn about topics without a label of relevance, for which some measures of a call have no values."""
    without = sorted(set(qrels["query_id"].astype(str)) - set(labelled["query_id"].astype(str)))
    if without:
        warn_once(
            f"the qrels have no label of relevance in {number_of(len(without), 'topic')} "
            f"({choices([*without[:3], '…'] if len(without) > 3 else without)}), so "
            f"{choices(sorted(map(str, measures)))} cannot be computed there, and means are over "
            f"different topics. Leave these topics out, as in {LABELLED_TOPICS}, or use "
            "pt_multiaspect.evaluate, which scores them as 0",
            key=" ".join(without[:10]),
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
    if (
        isinstance(node, ast.Constant)
        and not isinstance(node.value, bytes)
        and node.value is not ...
    ):
        return node.value
    if isinstance(node, ast.Dict):
        return dict(
            zip(map(literal_value, node.keys), map(literal_value, node.values), strict=True)
        )
    raise ValueError(
        ir_measures.util._AST_PARSE_ERROR.format("values must be str, float, int, bool, etc.")
    )


def install_literals() -> None:
    """Let ir-measures parse names with a cutoff or parameters where its own function cannot."""
    if sys.version_info < (3, 14):
        return
    try:
        ir_measures.util.parse_measure("P@1")
    except AttributeError:  # ast.Num
        ir_measures.util._ast_to_value = literal_value
