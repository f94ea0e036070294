"""One aspect of all judged documents, coded on its scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._numbers import spell
from .._typing import Bools, Floats, Ints
from ..aspects.aspect import Aspect, Scale
from ..errors import MultiAspectError, choices, warn_once
from ..kernels.target import Target
from .columns import _USUAL_GRADES, shortened

__all__ = ["AspectView"]

#: The default threshold is doubtful on scales of so many grades, or with such a fraction of positive documents.
_LONG_SCALE, _MOSTLY = 6, 0.85


#: Minimum number of judged documents for the fraction of positive documents to be checked.
_MIN_POOL = 10


@dataclass(frozen=True, eq=False)
class AspectView:
    """One aspect of all judged documents, coded on its scale."""

    name: str
    #: The aspect with its grades, given or inferred.
    aspect: Aspect
    #: Whether the scale had to be inferred.
    inferred: bool
    n_queries: int
    pool_query: Ints
    #: The labels as given, NaN if this aspect is not judged.
    label: Floats
    #: What `grade` returns.
    grade_index: Ints

    @property
    def grade(self) -> Ints:
        """Grade indices, 0 for the lowest grade, for labels below it, and without a label.

        Reading them warns of labels below the lowest grade. Measures of the labels themselves, such as
        preference codes, do not read them.
        """
        self._warn_of_labels_below()
        return self.grade_index

    def _warn_of_labels_below(self) -> None:
        codes = self._labels_below
        if len(codes):
            lowest = spell(float(self.scale.grades[0]))
            warn_once(
                f"{self.name} has labels below its lowest grade {lowest}, which are evaluated as that grade: "
                f"{shortened(codes)}. If they mean 'not judged', declare Aspect(unjudged=[{shortened(codes)}]); "
                "if they are codes of another kind, map them to grades",
                key=f"{self.scale}: {','.join(codes)}",
                group=f"codes: {self.name}",
            )

    @cached_property
    def _labels_below(self) -> list[str]:
        """Distinct labels below the lowest grade, except those that mark junk."""
        lowest, label = self.scale.grades[0], self.label
        below = label < lowest if self.scale.greater_is_better else label > lowest
        # TREC marks junk by -1 and -2; any other label below the scale is hardly meant as the lowest grade.
        return [spell(code) for code in np.unique(label[below]).tolist() if code not in (-1, -2)]

    @property
    def scale(self) -> Scale:
        """The aspect's scale as arrays."""
        return self.aspect.scale

    @cached_property
    def known(self) -> Bools:
        """Documents with a label."""
        return ~np.isnan(self.label)

    @cached_property
    def positive(self) -> Bools:
        """Documents at or above the threshold."""
        return self.known & (self.grade >= self.scale.threshold)

    @cached_property
    def other_reading(self) -> Aspect | None:
        """The aspect on a scale that starts at 1, if its scale was inferred from 0 but no label is 0."""
        if not self.inferred or self.scale.identity or self.scale.is_fractional:
            return None
        distinct = np.unique(self.label[self.known])
        if len(distinct) < 2 or distinct[0] <= 0 or self.aspect.threshold is not None:
            return None
        return Aspect(
            range(1, len(self.scale)),
            greater_is_better=self.aspect.greater_is_better,
            unjudged=self.aspect.unjudged,
        )

    def check_threshold(self) -> None:
        """Warn if a measure reads the default threshold and it hardly separates the documents."""
        if self._threshold_warning is not None:
            warn_once(self._threshold_warning, key=str(self.scale), group=f"threshold: {self.name}")

    @cached_property
    def _threshold_warning(self) -> str | None:
        n_judged, n_grades = int(self.known.sum()), len(self.scale)
        if self.aspect.threshold is not None or n_grades <= 2 or not n_judged:
            return None
        fraction = float(self.positive.sum()) / n_judged
        what = (
            f"the threshold of {self.name} is not declared, so every grade above the lowest is positive: "
            f"{fraction:.0%} of the judged documents ({n_judged}), on the scale {self.scale}"
        )
        if self.other_reading is not None:
            return (
                f"{what}. No label is 0. If the scale starts at 1, declare {self.name}: {self.other_reading!r}; "
                f"if it starts at 0, {self.name}: {self._with_threshold(1)}"
            )
        if n_grades < _LONG_SCALE and (fraction < _MOSTLY or n_judged < _MIN_POOL):
            return None
        return f"{what}. Declare the lowest positive grade, as in {self._with_threshold(n_grades // 2)}"

    def _with_threshold(self, index: int) -> str:
        """The declaration of the aspect with the grade at `index` as threshold."""
        grade, spec = float(self.scale.grades[index]), self.aspect.to_spec()
        if isinstance(spec, int):
            return f"Aspect({spec}, threshold={spell(grade)})"
        if len(self.scale) > _USUAL_GRADES:
            return f"Aspect(…, threshold={spell(grade)})"
        return repr(Aspect(**{**spec, "threshold": grade}))

    @cached_property
    def probability(self) -> Floats:
        """P of the gain family, with one more element at the end for unjudged documents."""
        if not self.scale.identity:
            return np.asarray(self.scale.probabilities[np.append(self.grade, 0)], dtype=np.float64)
        self._warn_of_labels_below()
        lowest = self.scale.grades[0]
        labels = np.append(np.where(self.known, np.maximum(self.label, lowest), lowest), lowest)
        if labels.min() < 0 or labels.max() > 1:
            raise MultiAspectError(
                f"{self.name}: expected labels in [0, 1] for probabilities='identity', got "
                f"{spell(float(labels.min()))} to {spell(float(labels.max()))}. Declare one probability per grade, "
                "or probabilities='linear'"
            )
        return labels

    @cached_property
    def top_probability(self) -> float:
        """The maximum P of the scale."""
        return 1.0 if self.scale.identity else float(self.scale.probabilities.max())

    def at_least(self, rel: float) -> Bools:
        """Documents whose label is at least as good as `rel`, in the direction of the scale."""
        with np.errstate(invalid="ignore"):
            return np.asarray(
                self.label >= rel if self.scale.greater_is_better else self.label <= rel, dtype=np.bool_
            )

    def check_judged(self) -> None:
        """Warn if no document is judged on this aspect; very few documents may happen not to be."""
        n_pairs = len(self.label)
        if n_pairs >= _MIN_POOL and not self.known.any():
            warn_once(
                f"all labels of {self.name} are missing ({n_pairs} documents), so no run scores on it. Leave it "
                "out with aspects=, or check how the column was made: a merge by ids that do not match leaves "
                "labels missing. In a part of the qrels (a batch, a fold), this may be as intended",
                key=f"not judged: {self.name}",
            )

    def check_rel(self, rel: float) -> None:
        """Warn if no grade reaches `rel`, so that no document can be relevant on this aspect.

        Few labels do not show the top of an inferred scale, so nothing is said of those.
        """
        few = self.inferred and (len(self.scale) == 1 or int(self.known.sum()) < _MIN_POOL)
        if self.scale.reaches(rel) or few:
            return
        top = spell(float(self.scale.grades[-1]))
        beyond = "above" if self.scale.greater_is_better else "below"
        grade = "the highest label" if self.inferred else "the top grade"
        warn_once(
            f"rel={spell(rel)} is {beyond} {top}, {grade} of {self.name}: no document counts as relevant on it, so "
            f"a base with this rel is 0 for every run. Choose a rel per aspect, as in base={{{self.name!r}: "
            f"'AP(rel={top})', …}}, or none, which counts from the threshold of each aspect"
            + (f". If the scale of {self.name} is longer, declare it" if self.inferred else ""),
            key=f"{self.scale}: {spell(rel)}",
            group=f"rel: {self.name}",
        )

    @cached_property
    def junk(self) -> Floats:
        """The negative part of the label (of turned scales, from the lowest grade), else 0; NaN if unjudged."""
        upwards = self.label if self.scale.greater_is_better else self.scale.grades[0] - self.label
        return np.minimum(upwards, 0.0)

    def check_gains(self, measure: str) -> None:
        """Raise an error if gains below 0 are declared; called by measures that are not defined for these."""
        if self.aspect.has_negative_gains:
            gains = choices(map(spell, self.scale.gains.tolist()))
            raise MultiAspectError(
                f"{measure} requires gains of at least 0, but {self.name} declares the gains {gains}. Declare "
                "other gains; negative ones are for CG, DCG and nDCG, alone or in On and CAM, and for TOMA"
            )

    def mapped(self, gains: Mapping[float, float]) -> Floats:
        """The declared gains, else the labels, at least 0, with the gains of some labels replaced, at least by 0.

        ir-measures keeps labels that `gains` does not list as gains; here, declared gains come before that.
        """
        declared = self.aspect.gains is not None
        unmapped = self.label[self.known & ~np.isin(self.label, list(gains))]
        if len(unmapped) and not self.scale.greater_is_better and not declared:
            raise MultiAspectError(
                f"gains= of the base: lower labels of {self.name} are better, so labels are not gains; expected a "
                f"gain for every label, got none for {choices(sorted({spell(each) for each in unmapped.tolist()}))}"
            )
        gain = self.target.gain.copy() if declared else np.maximum(np.nan_to_num(self.label), 0.0)
        for label, value in gains.items():
            gain[self.label == label] = max(value, 0.0)
        return gain

    def gated(self, passed: Bools) -> AspectView:
        """Return the aspect with the lowest grade for the documents that do not pass; unjudged ones stay so."""
        lowest = np.where(self.known, self.scale.grades[0], np.nan)
        return replace(
            self, label=np.where(passed, self.label, lowest), grade_index=np.where(passed, self.grade_index, 0)
        )

    @cached_property
    def target(self) -> Target:
        """This aspect as a base measure sees it."""
        gains = self.scale.gains if self.aspect.has_negative_gains else np.maximum(self.scale.gains, 0.0)
        return Target(
            n_queries=self.n_queries,
            query=self.pool_query,
            gain=np.where(self.known, gains[self.grade], 0.0),
            top=float(gains[-1]),
            source=self,
            bottom=float(gains[0]),
        )
