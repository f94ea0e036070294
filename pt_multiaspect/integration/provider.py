"""The provider that makes the measures available in ir-measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeGuard

import ir_measures
from ir_measures import Metric
from ir_measures.providers import Evaluator, Provider

from ..collection.judgments import Judgments
from ..collection.overlap import warn_of_no_common_document, warn_of_no_common_query
from ..collection.rankings import Rankings
from ..errors import warn_once
from ..measures import Measure

__all__ = ["MultiAspectEvaluator", "MultiAspectProvider", "register", "supports"]


def supports(measure: object) -> TypeGuard[Measure]:
    """Tell whether a measure is one of this package, or derived from its classes: everybody asks here."""
    return isinstance(measure, Measure)


class MultiAspectEvaluator(Evaluator):  # type: ignore[misc]
    """Evaluates any number of runs against the same qrels, which are prepared once."""

    def __init__(self, measures: Iterable[Measure], qrels: object) -> None:
        # ir-measures passes a set, whose order differs between processes.
        ordered = sorted(set(measures), key=str)
        for one, other in pairwise(ordered):
            if str(one) == str(other):
                warn_once(
                    f"two different measures print as {one}, because a name in it was redefined in between. Tools "
                    "that identify measures by their printed form, such as pt.Experiment, show only one of them"
                )
        self.judgments = Judgments.of(qrels)
        super().__init__(ordered, self.judgments.qids.tolist())

    def iter_calc(self, run: object) -> Iterator[Metric]:
        """Yield a value for every measure and every judged query, including queries missing from the run."""
        return self._iter_calc(run)

    def _iter_calc(self, run: object) -> Iterator[Metric]:
        rankings = Rankings(run, self.judgments)
        warn_of_no_common_query(rankings)
        warn_of_no_common_document(rankings)
        for measure in self.measures:
            values = measure.evaluate(rankings).tolist()
            for qid, value in zip(self.qrel_qids, values, strict=True):
                yield Metric(query_id=qid, measure=measure, value=value)


class MultiAspectProvider(Provider):  # type: ignore[misc]
    """Provides the measures of this package to ir-measures."""

    NAME = "multiaspect"

    def supports(self, measure: object) -> bool:
        """Return whether `measure` is a measure of this package (an instance of its base class)."""
        if not supports(measure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: object) -> MultiAspectEvaluator:
        return MultiAspectEvaluator(measures, qrels)

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the required qrels columns: the identifiers and the aspects of the measures.

        A measure without `aspects` evaluates any other numeric column too, which only the qrels tell.
        """
        columns: dict[str, None] = {"query_id": None, "doc_id": None}
        for measure in sorted(measures, key=str):
            columns.update(dict.fromkeys(measure.required_aspects))
        return list(columns)


def register() -> None:
    """Let ir-measures compute the measures of this package. Repeated calls have no effect."""
    providers = ir_measures.DefaultPipeline.providers
    if not any(isinstance(provider, MultiAspectProvider) for provider in providers):
        providers.append(MultiAspectProvider())
