"""One aspect of all judged documents, coded on its scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._cached import cached_property
from .._numbers import spell
from .._typing import Bools, Floats, Ints
from ..aspects import Aspect, Scale
from ..errors import MultiAspectError, choices, shown, warn_once
from ..kernels.target import Target
from .label_rules import (
    MIN_POOL,
    LabelCounts,
    LabelFinding,
    find_constant,
    find_doubtful_threshold,
    find_far_label,
    find_labels_below,
    find_start_above_zero,
    find_undeclared_harm,
    find_unjudged,
)


@dataclass(frozen=True, eq=False)
class AspectView:
    """One aspect of all judged documents, coded on its scale."""

    name: str
    #: The aspect with its grades, declared or inferred.
    aspect: Aspect
    #: Whether the scale was inferred.
    inferred: bool
    n_queries: int
    pool_query: Ints
    #: The labels as given, NaN if this aspect is not judged.
    label: Floats
    #: The values of `grade`.
    grade_index: Ints
    #: If this aspect is gated, the aspect with all labels, to which the rules for labels apply.
    ungated: AspectView | None = None

    @property
    def grade(self) -> Ints:
        """Grade indices; 0 for the lowest grade, labels below it, and missing labels.

        Issues a warning about labels that are likely to be codes. Measures that use the labels
        themselves, such as preference codes, do not call it.
        """
        self._warn_of_codes()
        return self.grade_index

    def _warn_of_codes(self) -> None:
        finding = find_far_label(self.label_counts)
        if finding is not None:
            self._warn(finding, key=str(self.scale), group="codes")
        finding = find_labels_below(self.label_counts)
        if finding is not None:
            below = ",".join(map(spell, self.label_counts.below))
            self._warn(finding, key=f"{self.scale}: {below}", group="codes")

    def _warn(self, finding: LabelFinding, *, key: str, group: str) -> None:
        if finding.severity != "note":
            warn_once(finding.warning, key=key, group=f"{group}: {self.name}")

    @cached_property
    def label_counts(self) -> LabelCounts:
        """The number of documents per grade, for the rules of labels."""
        if self.ungated is not None:
            return self.ungated.label_counts
        lowest = self.scale.grades[0]
        if self.scale.greater_is_better:
            is_below = self.label < lowest
        else:
            is_below = self.label > lowest
        below = np.unique(self.label[is_below])
        counts = np.bincount(self.grade_index[self.known], minlength=len(self.scale))
        return LabelCounts(
            name=self.name,
            aspect=self.aspect,
            inferred=self.inferred,
            n_documents=len(self.label),
            counts=counts,
            below=tuple(below.tolist()),
        )

    @property
    def scale(self) -> Scale:
        """The scale of the aspect as arrays."""
        return self.aspect.scale

    @cached_property
    def known(self) -> Bools:
        """A mask of the documents with a label."""
        return ~np.isnan(self.label)

    @cached_property
    def positive(self) -> Bools:
        """A mask of the documents at or above the threshold."""
        return self.known & (self.grade >= self.scale.threshold)

    def check_start(self) -> None:
        """Warn if the scale is declared by its top grade alone, but may start at 1."""
        if self.inferred:
            return
        finding = find_start_above_zero(self.label_counts)
        if finding is not None:
            self._warn(finding, key=str(self.scale), group="threshold")

    def check_threshold(self) -> None:
        """Warn if a measure reads the threshold and it hardly separates the documents."""
        if self._threshold_finding is not None:
            self._warn(self._threshold_finding, key=str(self.scale), group="threshold")

    @cached_property
    def _threshold_finding(self) -> LabelFinding | None:
        finding = find_doubtful_threshold(self.label_counts)
        if finding is None:
            return None
        return find_constant(self.label_counts) or finding

    @cached_property
    def probability(self) -> Floats:
        """The probability P of the gain family per document, and last, of unjudged documents."""
        if not self.scale.identity:
            return np.asarray(self.scale.probabilities[np.append(self.grade, 0)], dtype=np.float64)
        self._warn_of_codes()
        lowest = self.scale.grades[0]
        judged = np.where(self.known, np.maximum(self.label, lowest), lowest)
        labels = np.append(judged, lowest)
        if labels.min() < 0 or labels.max() > 1:
            raise MultiAspectError(
                f"{self.name}: expected labels in [0, 1] for probabilities='identity', got "
                f"{spell(float(labels.min()))} to {spell(float(labels.max()))}. Declare one "
                "probability per grade, or probabilities='linear'"
            )
        return labels

    @cached_property
    def top_probability(self) -> float:
        """The maximum probability P of the scale."""
        if self.scale.identity:
            return 1.0
        return float(self.scale.probabilities.max())

    def at_least(self, rel: float) -> Bools:
        """Return a mask of the documents with a label at least as good as `rel`."""
        with np.errstate(invalid="ignore"):
            if self.scale.greater_is_better:
                reached = self.label >= rel
            else:
                reached = self.label <= rel
        return np.asarray(reached, dtype=np.bool_)

    def check_judged(self) -> None:
        """Warn if no document is judged on this aspect."""
        finding = find_unjudged(self.label_counts)
        if finding is not None:
            warn_once(finding.warning, key=f"not judged: {self.name}")

    def check_rel(self, rel: float) -> None:
        """Warn if no grade reaches `rel`, so that no document can be relevant on this aspect.

        Few labels do not show the top of an inferred scale, so there is no warning for them.
        """
        few = self.inferred and (len(self.scale) == 1 or int(self.known.sum()) < MIN_POOL)
        if self.scale.reaches(rel) or few:
            return
        top = spell(float(self.scale.grades[-1]))
        if self.scale.greater_is_better:
            beyond = "above"
        else:
            beyond = "below"
        if self.inferred:
            grade = "the highest label"
            remedy = f". If the scale of {self.name} is longer, declare it"
        else:
            grade = "the top grade"
            remedy = ""
        warn_once(
            f"rel={spell(rel)} is {beyond} {top}, {grade} of {self.name}: no document counts as "
            "relevant on it, so a base with this rel is 0 for every run. Choose a rel per aspect, "
            f"as in base={{{self.name!r}: 'AP(rel={top})', …}}, or none, which counts from the "
            f"threshold of each aspect{remedy}",
            key=f"{self.scale}: {spell(rel)}",
            group=f"rel: {self.name}",
        )

    @cached_property
    def junk(self) -> Floats:
        """The negative part of labels, or 0; NaN if unjudged.

        If lower labels are better, they are counted from the lowest grade.
        """
        if self.scale.greater_is_better:
            upwards = self.label
        else:
            upwards = self.scale.grades[0] - self.label
        return np.minimum(upwards, 0.0)

    def check_gains(self, measure: str) -> None:
        """Raise an error if gains below 0 are declared, for measures that do not allow them."""
        if self.aspect.has_negative_gains:
            gains = choices(map(spell, self.scale.gains.tolist()))
            raise MultiAspectError(
                f"{measure} requires gains of at least 0, but {self.name} declares the gains "
                f"{gains}. Declare other gains; negative ones are for CG, DCG and nDCG, alone or "
                "in On and CAM, and for TOMA"
            )

    def check_degrees(self) -> None:
        """Warn of labels below 0 without declared gains: they are no degrees of harm."""
        finding = find_undeclared_harm(self.label_counts)
        if finding is not None:
            self._warn(finding, key=str(self.scale), group="harm")

    def mapped_gains(self, gains: Mapping[float, float]) -> Floats:
        """Return the declared gains, or else the labels (at least 0), some of them replaced.

        ir-measures keeps the labels that `gains` does not list as gains; here, declared gains take
        precedence. `gains` treats negative values as 0, unlike the negative gains of an aspect.
        """
        if self.aspect.has_negative_gains and min(gains.values(), default=0) < 0:
            raise MultiAspectError(
                f"gains= of the base: {self.name} declares negative gains, which count, but those "
                f"of a base count as 0, as in ir-measures, got {shown(dict(gains))}. Declare all "
                "gains of the aspect instead"
            )
        declared = self.aspect.gains is not None
        unmapped = self.label[self.known & ~np.isin(self.label, list(gains))]
        if len(unmapped) and not self.scale.greater_is_better and not declared:
            raise MultiAspectError(
                f"gains= of the base: lower labels of {self.name} are better, so labels are not "
                "gains; expected a gain for every label, got none for "
                f"{choices(sorted(set(map(spell, unmapped.tolist()))))}"
            )
        if declared:
            gain = self.target.gain.copy()
        else:
            gain = np.maximum(np.nan_to_num(self.label), 0.0)
        for label, value in gains.items():
            gain[self.label == label] = max(value, 0.0)
        return gain

    def with_gate(self, passed: Bools) -> AspectView:
        """Return the aspect with the lowest grade for judged documents that do not pass."""
        lowest = np.where(self.known, self.scale.grades[0], np.nan)
        return replace(
            self,
            label=np.where(passed, self.label, lowest),
            grade_index=np.where(passed, self.grade_index, 0),
            ungated=self,
        )

    @cached_property
    def target(self) -> Target:
        """The gains of the aspect as the input of base measures."""
        if self.aspect.has_negative_gains:
            gains = self.scale.gains
        else:
            gains = np.maximum(self.scale.gains, 0.0)
        gain = np.where(self.known, gains[self.grade], 0.0)
        top = float(gains[-1])
        bottom = float(gains[0])
        return Target(self.n_queries, self.pool_query, gain, top, source=self, bottom=bottom)
