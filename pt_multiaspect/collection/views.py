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
        """Warn about labels that are likely codes: far above the others, or below the scale."""
        far_label = find_far_label(self.label_counts)
        if far_label is not None:
            self._warn(far_label, key=str(self.scale), group="codes")
        labels_below = find_labels_below(self.label_counts)
        if labels_below is not None:
            listed = ",".join(map(spell, self.label_counts.below))
            self._warn(labels_below, key=f"{self.scale}: {listed}", group="codes")

    def _warn(self, finding: LabelFinding, *, key: str, group: str) -> None:
        if finding.severity != "note":
            warn_once(finding.warning, key=key, group=f"{group}: {self.name}")

    @cached_property
    def label_counts(self) -> LabelCounts:
        """The number of documents per grade, for the rules of labels."""
        # A gate lowers grades, which says nothing about the labels in the qrels.
        if self.ungated is not None:
            return self.ungated.label_counts
        lowest_grade = self.scale.grades[0]
        if self.scale.greater_is_better:
            is_below_scale = self.label < lowest_grade
        else:
            # The lowest grade is the largest number.
            is_below_scale = self.label > lowest_grade
        labels_below = np.unique(self.label[is_below_scale])
        known_grades = self.grade_index[self.known]
        documents_per_grade = np.bincount(known_grades, minlength=len(self.scale))
        return LabelCounts(
            name=self.name,
            aspect=self.aspect,
            inferred=self.inferred,
            n_documents=len(self.label),
            counts=documents_per_grade,
            below=tuple(labels_below.tolist()),
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
        # Declared scales have such a finding only if the top grade is all that is declared.
        finding = find_start_above_zero(self.label_counts)
        if finding is not None:
            self._warn(finding, key=str(self.scale), group="threshold")

    def check_threshold(self) -> None:
        """Warn if a measure reads the threshold and it hardly separates the documents."""
        if self._threshold_finding is not None:
            self._warn(self._threshold_finding, key=str(self.scale), group="threshold")

    @cached_property
    def _threshold_finding(self) -> LabelFinding | None:
        """The finding about an odd threshold; about equal labels, if these are the cause."""
        doubtful_threshold = find_doubtful_threshold(self.label_counts)
        if doubtful_threshold is None:
            return None
        constant_labels = find_constant(self.label_counts)
        if constant_labels is not None:
            return constant_labels
        return doubtful_threshold

    @cached_property
    def probability(self) -> Floats:
        """The probability P of the gain family: one per judged document, and one for unjudged ones.

        The last element is that of all documents without judgments, which is that of the lowest
        grade.
        """
        # With probabilities='identity', labels are their own probabilities.
        if self.scale.identity:
            return self._labels_as_probabilities()
        index_of_lowest_grade = 0
        grade_indices = np.append(self.grade, index_of_lowest_grade)
        return np.asarray(self.scale.probabilities[grade_indices], dtype=np.float64)

    def _labels_as_probabilities(self) -> Floats:
        """Return the labels, which are probabilities themselves, and last, the lowest grade.

        Missing labels and labels below the scale count as the lowest grade.
        """
        self._warn_of_codes()
        lowest_grade = self.scale.grades[0]
        raised_labels = np.maximum(self.label, lowest_grade)
        label_or_lowest = np.where(self.known, raised_labels, lowest_grade)
        probabilities = np.append(label_or_lowest, lowest_grade)
        smallest = float(probabilities.min())
        largest = float(probabilities.max())
        if smallest < 0 or largest > 1:
            raise MultiAspectError(
                f"{self.name}: expected labels in [0, 1] for probabilities='identity', got "
                f"{spell(smallest)} to {spell(largest)}. Declare one "
                "probability per grade, or probabilities='linear'"
            )
        return probabilities

    @cached_property
    def top_probability(self) -> float:
        """The maximum probability P of the scale."""
        if self.scale.identity:
            # Labels are probabilities themselves, also if none of them is 1.
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
        if self.scale.reaches(rel):
            return
        if self.inferred:
            n_labels = int(self.known.sum())
            if len(self.scale) == 1 or n_labels < MIN_POOL:
                return
            top_grade = "the highest label"
            remedy = f". If the scale of {self.name} is longer, declare it"
        else:
            top_grade = "the top grade"
            remedy = ""
        if self.scale.greater_is_better:
            beyond = "above"
        else:
            beyond = "below"
        top = spell(float(self.scale.grades[-1]))
        threshold = spell(rel)
        warn_once(
            f"rel={threshold} is {beyond} {top}, {top_grade} of {self.name}: no document counts as "
            "relevant on it, so a base with this rel is 0 for every run. Choose a rel per aspect, "
            f"as in base={{{self.name!r}: 'AP(rel={top})', …}}, or none, which counts from the "
            f"threshold of each aspect{remedy}",
            key=f"{self.scale}: {threshold}",
            group=f"rel: {self.name}",
        )

    @cached_property
    def junk(self) -> Floats:
        """The negative label of junk documents; 0 for other documents, NaN if unjudged.

        Junk is worse than the lowest grade: below 0, or above all grades if lower labels are better
        (with the grades 3, 2, 1, 0, the label 5 is junk, and is -2 here).
        """
        if self.scale.greater_is_better:
            height = self.label  # above 0
        else:
            lowest_grade = self.scale.grades[0]  # the largest number
            height = lowest_grade - self.label
        return np.minimum(height, 0.0)

    def check_gains(self, measure: str) -> None:
        """Raise an error if gains below 0 are declared, for measures that do not allow them."""
        if not self.aspect.has_negative_gains:
            return
        gains = choices(map(spell, self.scale.gains.tolist()))
        raise MultiAspectError(
            f"{measure} requires gains of at least 0, but {self.name} declares the gains "
            f"{gains}. Declare other gains; negative ones are for CG, DCG and nDCG, alone or "
            "in On and CAM, and for TOMA"
        )

    def check_degrees(self) -> None:
        """Warn of labels below 0 if no gains are declared: they do not count as degrees of harm."""
        undeclared_harm = find_undeclared_harm(self.label_counts)
        if undeclared_harm is not None:
            self._warn(undeclared_harm, key=str(self.scale), group="harm")

    def mapped_gains(self, gains: Mapping[float, float]) -> Floats:
        """Return the gain per document: that of its label in `gains`, or else of the aspect.

        The gain of a label that `gains` does not list is the one that the aspect declares. If it
        declares none, it is the label, as in ir-measures. `gains` treats negative values as 0,
        unlike the negative gains of an aspect.

        Parameters
        ----------
        gains : mapping of float to float
            The gains of some labels, from the parameter of a base.
        """
        self._check_mapped_gains(gains)
        has_declared_gains = self.aspect.gains is not None
        if has_declared_gains:
            gain = self.target.gain.copy()
        else:
            label_or_zero = np.nan_to_num(self.label)  # 0 if unjudged
            gain = np.maximum(label_or_zero, 0.0)
        for label, mapped_gain in gains.items():
            gain[self.label == label] = max(mapped_gain, 0.0)
        return gain

    def _check_mapped_gains(self, gains: Mapping[float, float]) -> None:
        """Raise an error if `gains` contradict the declared ones, or leave out labels."""
        # Negative gains count if the aspect declares them, but as 0 if a base does: one of both must
        # be wrong.
        maps_to_negative = min(gains.values(), default=0) < 0
        if self.aspect.has_negative_gains and maps_to_negative:
            raise MultiAspectError(
                f"gains= of the base: {self.name} declares negative gains, which count, but those "
                f"of a base count as 0, as in ir-measures, got {shown(dict(gains))}. Declare all "
                "gains of the aspect instead"
            )
        # A label that is not in `gains` has the gain that the aspect declares.
        if self.aspect.gains is not None:
            return
        # Without declared gains, it is its own gain, unless lower labels are better.
        if self.scale.greater_is_better:
            return
        labels = np.unique(self.label[self.known])
        unmapped = np.setdiff1d(labels, list(gains))
        if len(unmapped):
            texts = map(spell, unmapped.tolist())
            listed = choices(sorted(texts))
            raise MultiAspectError(
                f"gains= of the base: lower labels of {self.name} are better, so labels are not "
                f"gains; expected a gain for every label, got none for {listed}"
            )

    def with_gate(self, passed: Bools) -> AspectView:
        """Return the aspect with the lowest grade for judged documents that do not pass.

        Parameters
        ----------
        passed : ndarray of bool, shape (n_documents,)
            The documents that keep their labels.
        """
        lowest_grade = self.scale.grades[0]
        lowest_label = np.where(self.known, lowest_grade, np.nan)  # unjudged ones remain unjudged
        return replace(
            self,
            label=np.where(passed, self.label, lowest_label),
            grade_index=np.where(passed, self.grade_index, 0),
            ungated=self,
        )

    @cached_property
    def target(self) -> Target:
        """The gains of the aspect as the input of base measures."""
        gain_of_grade = self.scale.gains
        if not self.aspect.has_negative_gains:
            # Negative grades, which are their own gains by default, mark junk: their gain is 0.
            gain_of_grade = np.maximum(gain_of_grade, 0.0)
        gain = np.where(self.known, gain_of_grade[self.grade], 0.0)
        return Target(
            self.n_queries,
            self.pool_query,
            gain,
            top=float(gain_of_grade[-1]),
            source=self,
            bottom=float(gain_of_grade[0]),
        )
