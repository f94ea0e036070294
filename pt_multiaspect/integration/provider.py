"""The door to ir-measures: a provider that knows no single measure by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

import ir_measures
from ir_measures import Metric
from ir_measures.providers import Evaluator, Provider

from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..errors import warn_once
from ..measures import ALL, Measure

__all__ = ["MultiAspectEvaluator", "MultiAspectProvider", "register", "supports"]


def supports(measure: object) -> TypeGuard[Measure]:
    """Tell whether a measure is one of this package, or derived from its classes: everybody asks here."""
    return isinstance(measure, Measure)


class MultiAspectEvaluator(Evaluator):  # type: ignore[misc]
    """Evaluates any number of runs against qrels that are prepared once."""

    def __init__(self, measures: Iterable[Measure], qrels: object) -> None:
        # ir-measures hands over a set, whose order changes from process to process.
        ordered = sorted(set(measures), key=str)
        self.judgments = Judgments.of(qrels)
        super().__init__(ordered, self.judgments.qids.tolist())

    def iter_calc(self, run: object) -> Iterator[Metric]:
        """Yield a value for every measure and every judged query, also those the run lacks."""
        return self._iter_calc(run)

    def _iter_calc(self, run: object) -> Iterator[Metric]:
        rankings = Rankings(run, self.judgments)
        if rankings.n_rows and not rankings.n_common:
            warn_once(
                "no query of the run has judgments, so every judged query counts as an empty ranking; check "
                "that run and qrels are of the same collection and spell their query ids alike",
                key="no query in common",
            )
        for measure in self.measures:
            values = measure.evaluate(rankings).tolist()
            for qid, value in zip(self.qrel_qids, values, strict=True):
                yield Metric(query_id=qid, measure=measure, value=value)


class MultiAspectProvider(Provider):  # type: ignore[misc]
    """Serves the measures of this package to ir-measures."""

    NAME = "multiaspect"

    def supports(self, measure: object) -> bool:
        """Tell whether `measure` is one of this package, by its class."""
        if not supports(measure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: object) -> MultiAspectEvaluator:
        return MultiAspectEvaluator(measures, qrels)

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """The qrels columns needed beside the identifiers: the aspects that measures name."""
        columns: dict[str, None] = {"query_id": None, "doc_id": None}
        for measure in sorted(measures, key=str):
            columns.update(dict.fromkeys(measure.spec or ("relevance",)))
        return list(columns)


def register() -> None:
    """Make the measures known to ir-measures; doing so again changes nothing.

    A name that another package has registered stays that package's: a warning says so, as
    this runs when PyTerrier is imported and must not fail.
    """
    registry = ir_measures.measures.registry
    for measure in ALL:
        taken = registry.get(measure.NAME)
        if taken is None:
            ir_measures.measures.register(measure)
        elif taken is not measure:
            warn_once(
                f"another package has registered the measure {measure.NAME} with ir-measures and keeps it; "
                f"use the object pt_multiaspect.{measure.NAME} rather than the name"
            )
    providers = ir_measures.DefaultPipeline.providers
    if not any(isinstance(provider, MultiAspectProvider) for provider in providers):
        providers.append(MultiAspectProvider())
