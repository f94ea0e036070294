"""Values of systems under the labels of different judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..aspects.aspects import Aspects
from ..collection.judgments import Judgments
from ..collection.long_judgments import LongJudgments
from ..collection.rankings import Rankings
from ..errors import MultiAspectError, choices, number_of, warn_once
from ..integration.aggregators import lower_is_better
from ..integration.declared import with_aspects
from ..integration.parsing import as_measure
from ..io.runs import join, named_runs
from ..measures.measure import Measure

#: The minimum fraction of documents that a judge should have labelled; below, a warning is issued.
_FEW = 0.5

#: The label of each (query, document) pair, by aspect.
Labels = dict[str, Floats]


def with_scales(measures: Mapping[str, ir_measures.Measure], aspects: Aspects) -> dict[str, Measure]:
    """Return measures on the scales of the judges, unless they declare their own scales."""
    bound = with_aspects(measures, aspects, list(aspects))
    return {label: as_measure(measure) for label, measure in bound.items()}


class LabelSets:
    """The labels of all judges combined, of single judges, and of samples."""

    def __init__(self, judged: LongJudgments, combine: str) -> None:
        self._judged, self._combine = judged, combine
        # Draws are made in an order that does not depend on the order of rows.
        keys = [pd.factorize(names, sort=True)[0] for names in (judged.docnos, judged.qids)]
        by_name = np.argsort(np.argsort(np.array(list(judged.aspects), dtype=object)))
        self._order = np.lexsort((judged.judge, by_name[judged.criterion], *(key[judged.pair] for key in keys)))
        unit = (judged.pair * len(judged.aspects) + judged.criterion)[self._order]
        begin = np.flatnonzero(np.diff(unit, prepend=-1))
        self._n_labels = np.repeat(np.diff(begin, append=len(unit)), np.diff(begin, append=len(unit)))
        self._begin = np.repeat(begin, np.diff(begin, append=len(unit)))
        if not (self._n_labels > 1).any():
            raise MultiAspectError(
                "expected documents with labels of at least two judges, got none: judges cannot be compared"
            )
        self._n_units = len(begin)
        self.all = self._combined(self._order, {})
        few = [name for number, name in enumerate(judged.judges) if self.own(number) < _FEW]
        if few:
            warn_once(
                f"{number_of(len(few), 'judge')} labelled less than half of the documents, such as {few[0]}: where "
                "a judge has no label, that of all judges combined is kept, so correlations of these judges are "
                "high. Compare judges who labelled the same documents, or use the correlation of resampled labels",
                key=f"few labels of {choices(few[:3])}",
            )

    def check_resampling(self) -> None:
        """Warn if most documents have one label, which drawing labels does not change."""
        single = float((self._n_labels == 1).sum() / self._n_units)
        if single > _FEW:
            warn_once(
                f"{single:.0%} of the judged documents and criteria have one label, which resampling does not "
                "change: the intervals of resampled labels are too narrow. Use the documents with several labels "
                "only, or resample='judges'",
                key="one label per document",
            )

    def own(self, judge: int) -> float:
        """Return the fraction of labels that the judge assigned."""
        return float((self._judged.judge == judge).sum() / self._n_units)

    def of_judge(self, judge: int) -> Labels:
        """Return the labels of one judge; the combined labels of all judges where the judge has none."""
        return self._combined(np.flatnonzero(self._judged.judge == judge), self.all)

    def drawn(self, resample: str, times: int, rng: np.random.Generator) -> Iterator[Labels]:
        """Yield samples of the labels, or of judges with their labels."""
        n_judges = len(self._judged.judges)
        for _ in range(times):
            if resample == "labels":
                chosen = self._begin + (rng.random(len(self._begin)) * self._n_labels).astype(np.intp)
                yield self._combined(self._order[chosen], {})
            else:
                drawn = np.bincount(rng.integers(n_judges, size=n_judges), minlength=n_judges)
                rows = np.repeat(np.arange(len(self._judged.judge)), drawn[self._judged.judge])
                yield self._combined(rows, self.all)

    def _combined(self, rows: Ints, otherwise: Mapping[str, Floats]) -> Labels:
        """Combine the labels in `rows`; documents without labels have those of `otherwise`, or NaN."""
        judged, result = self._judged, {}
        for number, (name, aspect) in enumerate(judged.aspects.items()):
            of_aspect = rows[judged.criterion[rows] == number]
            index = judged.combine_labels(judged.pair[of_aspect], judged.grade[of_aspect], self._combine)
            missing = otherwise.get(name, np.full(judged.n_pairs, np.nan))
            result[name] = np.where(index < 0, missing, aspect.scale.grades[index])
        return result


class Systems:
    """Runs, joined with the judged documents once and evaluated under any labels."""

    def __init__(
        self, runs: object, judged: LongJudgments, labels: Labels, measures: Mapping[str, Measure]
    ) -> None:
        named = named_runs(runs)
        if len(named) < 2:
            raise MultiAspectError(f"expected at least two runs, got only {choices(named)}")
        self._judgments = Judgments(judged.to_wide(labels))
        if self._judgments.n_queries < 2:
            raise MultiAspectError(f"expected at least two topics, got only {choices(self._judgments.qids)}")
        # Qrels that contain all grades, so that the inferred scales are complete.
        columns = [pd.Series(aspect.scale.grades, name=name) for name, aspect in judged.aspects.items()]
        grades = pd.concat(columns, axis=1)
        self._scales = Judgments(grades.assign(qid="q", docno=[f"d{row}" for row in range(len(grades))]))
        # Some coefficients break ties by this order.
        self._rankings: Sequence[Rankings] = [join(name, named[name], self._judgments) for name in sorted(named)]
        self._measures = list(measures.values())
        self._signs = np.where([lower_is_better(measure) for measure in self._measures], -1.0, 1.0)

    def values(self, labels: Labels) -> Floats:
        """Evaluate all runs on other labels; shape (n_measures, n_systems, n_topics), higher is better."""
        judgments = self._judgments.with_labels(labels, self._scales)
        systems = [rankings.with_judgments(judgments) for rankings in self._rankings]
        values = np.array([[measure.evaluate(rankings) for rankings in systems] for measure in self._measures])
        return np.asarray(values * self._signs[:, None, None], dtype=np.float64)
