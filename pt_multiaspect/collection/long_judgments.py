"""Judgments with one row per document, criterion and judge, and their conversion to wide qrels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._numbers import exact, spell
from .._typing import Floats, Ints, Objects
from .._validation import choice
from ..aspects import Aspect, Aspects, Scale, aspect_name, parse_aspects
from ..aspects.aspect import infer_grades, unjudged_codes
from ..errors import (
    MultiAspectError,
    agree,
    choices,
    in_shell,
    number_of,
    parameter,
    refuse_none,
    refuse_repeated,
    refuse_unknown,
    tally,
    warn_once,
)
from ..kernels import grade_aggregation
from ..strings.identifiers import identifiers
from .columns import (
    BOOLEANS,
    DOCUMENT_COLUMNS,
    KNOWN,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    check_distinct_columns,
    grade_booleans,
    id_column,
    is_boolean,
    read_labels,
    without_missing,
)
from .label_rules import is_doubtful
from .qrels_forms import qrels_frame

_WHAT = "long judgments"

#: The default column of judges, read if it exists.
JUDGE = "judge"

#: The methods of combining the labels of several judges.
COMBINATIONS = ("median", "mean", "majority")


def from_long(
    frame: object,
    *,
    criterion: str = "criterion",
    value: str = "value",
    judge: str | None = JUDGE,
    combine: str = "median",
    aspects: object = None,
    name: str | None = None,
) -> pd.DataFrame:
    """Convert judgments with one row per document, criterion and judge to wide qrels.

    Parameters
    ----------
    frame : DataFrame or iterable of namedtuples
        A query column (``qid`` or ``query_id``), a document column (``docno`` or ``doc_id``), and
        the columns named below.
    criterion : str, default 'criterion'
        The column of criteria. Each criterion becomes an aspect.
    value : str, default 'value'
        The column of labels, which are numbers. A missing label means that the judge gave none.
    judge : str or None, default 'judge'
        The column of judges. The default is read if it exists; None ignores it.
    combine : {'median', 'mean', 'majority'}, default 'median'
        The method of combining the labels of several judges; see Notes.
    aspects : Aspects, mapping or str, optional
        The scales of the judges. Scales of criteria that are not declared are inferred from the
        labels of all judges. Declare scales that do not start at 0, and codes such as −1 for a
        failed judgment (``unjudged=[-1]``), which are then left out.
    name : str, optional
        A name for the scales of the result, for measure strings.

    Returns
    -------
    DataFrame
        One row per (query, document) in the order of their first rows: ``qid docno`` and one column
        per criterion (``label`` for relevance), declared ones first. Labels are integers if all are
        whole numbers, else floats, NaN where no judge gave a label. ``attrs["aspects"]`` contains
        the scales for ``aspects=`` of measures, as JSON; ``attrs["notes"]`` describes what was
        combined.

    Raises
    ------
    MultiAspectError
        If a column is missing, a label is not a number or not on its scale, a label is negative on
        a scale that is not declared, a judge gave a document two labels on a criterion (equal
        labels count once), a declared criterion does not occur, or two criteria differ only in case
        or spaces.

    Warns
    -----
    MultiAspectWarning
        If an inferred scale may start at 1, or most documents with several labels have no majority.
        With 'mean', if the threshold is not declared, and the default, the second grade, is reached
        by nearly all documents, or only by those on which all judges agree.

    See Also
    --------
    analysis.judge_agreement : Krippendorff's α per criterion.
    robustness : With ``judges=``, the differences between runs by the labels of each judge.

    Notes
    -----
    Pass ``attrs["aspects"]`` (or `name`) to measures. Scales inferred from combined labels would be
    shorter if the highest grade is never the median.

    - 'median' is a grade of the scale. If the number of labels is even, it is the lower of the two
      in the middle.
    - 'majority' is the most frequent grade, the lowest of tied ones. With two judges, it is the
      lower label.
    - 'mean' is the arithmetic mean. The means become additional grades between the declared ones:
      gains and probabilities are interpolated linearly, and a mean counts as positive if it reaches
      the lowest positive grade of the judges' scale. It assumes that the distances between grades
      are meaningful.

    All judges have the same weight. If only some judges labelled a document, their labels are
    combined.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> rows = [
    ...     ("q1", "d1", "correct", "a", 3), ("q1", "d1", "correct", "b", 4),
    ...     ("q1", "d1", "correct", "c", 1), ("q1", "d1", "fluent", "a", 5),
    ...     ("q1", "d2", "correct", "b", 2), ("q1", "d2", "correct", "c", 5),
    ... ]
    >>> judged = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    >>> scale = ma.Aspect([1, 2, 3, 4, 5], threshold=4)
    >>> rubric = {"correct": scale, "fluent": scale}
    >>> wide = ma.from_long(judged, aspects=rubric)
    >>> wide
      qid docno  correct  fluent
    0  q1    d1        3     5.0
    1  q1    d2        2     NaN
    >>> wide.attrs["notes"]
    ['correct: median of 3 judges, 2.5 labels per document (2 documents)', 'fluent: 1 judge (1 document)']
    >>> measure = ma.CAM(aspects=wide.attrs["aspects"], base="P@1")
    >>> measure.calc_aggregate(wide, {"q1": {"d1": 1.0}})
    0.5
    """
    choice("combine", *COMBINATIONS)(combine)
    judged = LongJudgments.read(frame, criterion, value, judge, aspects)
    columns: dict[str, Floats] = {}
    scales: dict[str, Aspect] = {}
    notes: list[str] = []
    for number, criterion_name in enumerate(judged.aspects):
        combined = _combine_criterion(judged, number, combine)
        columns[criterion_name] = combined.labels
        scales[criterion_name] = combined.scale
        notes.append(combined.note)
    for criterion_name in judged.inferred:
        scale = judged.aspects[criterion_name].scale
        notes.append(f"{criterion_name}: the scale was inferred as {scale}")
    result = judged.to_wide(columns)
    # As text, which can be saved in Parquet files.
    aspects_as_json = Aspects(scales, name=name).to_json()
    result.attrs = {"aspects": aspects_as_json, "notes": notes}
    return result


class _CombinedCriterion(NamedTuple):
    """The labels of a criterion after those of several judges are combined."""

    #: One per pair, NaN without labels.
    labels: Floats
    #: Their scale, which has further grades if they are means.
    scale: Aspect
    note: str


def _combine_criterion(judged: LongJudgments, number: int, combine: str) -> _CombinedCriterion:
    """Combine the labels of several judges on one criterion.

    Parameters
    ----------
    judged : LongJudgments
        The judgments of all criteria.
    number : int
        The position of the criterion.
    combine : {'median', 'mean', 'majority'}
        The method.
    """
    name = list(judged.aspects)[number]
    aspect = judged.aspects[name]
    grades = aspect.scale.grades
    # The pair and the grade of each label of the criterion.
    is_of_criterion = judged.criterion == number
    pair = judged.pair[is_of_criterion]
    grade = judged.grade[is_of_criterion]
    judges = np.unique(judged.judge[is_of_criterion])
    n_labels_of_pair = np.bincount(pair, minlength=judged.n_pairs)
    has_several_labels = bool((n_labels_of_pair > 1).any())
    note = _note(name, combine, len(judges), n_labels_of_pair)

    # Means are labels between the grades, so that the scale changes.
    if combine == "mean" and has_several_labels:
        means = mean_labels(grades, pair, grade, judged.n_pairs)
        scale_of_means = _with_means(name, aspect, means)
        return _CombinedCriterion(means, scale_of_means, note)
    combined_grade = judged.combine_labels(pair, grade, combine)  # -1 without a label
    labels = np.where(combined_grade < 0, np.nan, grades[combined_grade])
    if combine == "majority" and has_several_labels:
        note += _note_on_ties(name, pair, grade, n_labels_of_pair)
    return _CombinedCriterion(labels, aspect, note)


def _note(name: str, combine: str, n_judges: int, n_labels: Ints) -> str:
    """Return a note on the number of judges and labels of one criterion.

    `n_labels` is the number of labels of each document.
    """
    n_documents = int((n_labels > 0).sum())
    judges = number_of(n_judges, "judge")
    documents = number_of(n_documents, "document")
    if n_judges <= 1:
        return f"{name}: {judges} ({documents})"
    mean = n_labels.sum() / n_documents
    return f"{name}: {combine} of {judges}, {mean:.3g} labels per document ({documents})"


def _note_on_ties(name: str, pair: Ints, grade: Ints, n_labels: Ints) -> str:
    """Return a note on the documents without a majority; warn if these are most.

    `pair` and `grade` are those of each label, `n_labels` is the number of labels of each pair.
    """
    _, n_tied_grades = grade_aggregation.majority(pair, grade, len(n_labels))
    n_tied = int((n_tied_grades > 1).sum())
    n_several = int((n_labels > 1).sum())
    are_most_tied = 2 * n_tied > n_several
    if are_most_tied:
        have = agree(n_tied, n_several, "has no majority and is", "have no majority and are")
        documents = number_of(n_several, "document")
        warn_once(
            f"{name}: {n_tied} of {documents} with several labels {have} given the "
            "lowest of the most frequent labels. Use combine='median' or 'mean'"
        )
    return f", {n_tied} without a majority"


def mean_labels(labels: Floats, pair: Ints, grade: Ints, n_pairs: int) -> Floats:
    """Return the mean label of each pair, NaN without labels.

    Sums are exact where labels have a small common denominator.

    Parameters
    ----------
    labels : ndarray of float, shape (n_grades,)
        The label of each grade.
    pair : ndarray of int, shape (n_labels,)
        The pair of each label.
    grade : ndarray of int, shape (n_labels,)
        The grade index of each label.
    n_pairs : int
        Number of pairs.
    """
    numerators, denominator = _common_fractions(labels)

    # A mean is sum of numerators / (number of labels * denominator). Floats represent all integers
    # below 2^53, so this is exact if neither part can be larger.
    largest_numerator = max(1, *map(abs, numerators))
    largest_sum = largest_numerator * len(grade)
    is_exact = largest_sum * denominator < 2**53
    if is_exact:
        numerator_of_label = np.array(numerators, dtype=np.int64)[grade]
        return grade_aggregation.mean(pair, numerator_of_label, denominator, n_pairs)

    n_labels = np.bincount(pair, minlength=n_pairs)
    sums = np.bincount(pair, weights=labels[grade], minlength=n_pairs)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN, as it should be
        return np.asarray(sums / n_labels)


def _common_fractions(labels: Floats) -> tuple[list[int], int]:
    """Return labels as exact fractions: the numerators, and their common denominator."""
    fractions = [exact(float(label)) for label in labels]
    denominators = [fraction.denominator for fraction in fractions]
    common_denominator = math.lcm(*denominators)
    numerators = [int(fraction * common_denominator) for fraction in fractions]
    return numerators, common_denominator


def _with_means(name: str, aspect: Aspect, labels: Floats) -> Aspect:
    """Return the scale with mean labels as further grades, and its threshold.

    Declared gains and probabilities are interpolated at the means. `labels` are the means, NaN
    where there is none.
    """
    if aspect.threshold is None:
        _check_threshold(name, aspect, labels)
    scale = aspect.scale
    means = labels[~np.isnan(labels)]
    new_grades = _add_grades(scale, means)
    grades = new_grades.tolist()
    spec: dict[str, Any] = {"grades": grades, "greater_is_better": scale.greater_is_better}
    # A mean may be equal to a code of unjudged documents, which then is a grade.
    spec["unjudged"] = [code for code in aspect.unjudged if code not in grades]
    if aspect.gains is not None:
        spec["gains"] = _interpolate(scale, scale.gains, new_grades)
    # A rule such as 'linear' has probabilities for any grades; a list has them for old ones.
    if isinstance(aspect.probabilities, str):
        spec["probabilities"] = aspect.probabilities
    else:
        spec["probabilities"] = _interpolate(scale, scale.probabilities, new_grades)
    # The threshold stays the grade that it was. (The default would be the second one of the new
    # grades, which may be a mean.) A scale of a single grade has no threshold to declare.
    if len(scale) > 1:
        spec["threshold"] = float(scale.grades[scale.threshold])
    return Aspect(**spec)


def _add_grades(scale: Scale, further: Floats) -> Floats:
    """Return the distinct grades of a scale and further ones, from the lowest to the best one."""
    all_grades = np.append(scale.grades, further)
    distinct = np.unique(all_grades)  # increasing
    if not scale.greater_is_better:
        distinct = distinct[::-1]
    return distinct + 0.0  # -0.0 becomes 0.0


def _interpolate(scale: Scale, values: Floats, new_grades: Floats) -> list[float]:
    """Return the values of the grades of a scale, interpolated linearly at new grades."""
    # `interp` needs increasing numbers. If lower numbers are better, grades decrease from the
    # lowest to the best one: all are negated.
    sign = 1.0
    if not scale.greater_is_better:
        sign = -1.0
    interpolated = np.interp(sign * new_grades, sign * scale.grades, values)
    return list(map(float, interpolated))


def _check_threshold(name: str, aspect: Aspect, labels: Floats) -> None:
    """Warn if means hardly ever, or nearly always, reach the second grade, the threshold."""
    scale = aspect.scale
    n_grades = len(scale)
    if n_grades == 2:
        warn_once(
            f"{name}: means of two grades reach the upper one only if all judges agree, and only "
            "these documents count as relevant in binary measures. Use combine='majority' or "
            "'median', or declare the threshold",
            key=f"means of two grades: {name}",
        )
        return
    means = labels[~np.isnan(labels)]
    if n_grades < 2 or not len(means):
        return

    second_grade = float(scale.grades[1])
    if scale.greater_is_better:
        is_positive = means >= second_grade
    else:
        is_positive = means <= second_grade
    fraction = float(is_positive.mean())
    if is_doubtful(fraction, len(means), n_grades):
        threshold = spell(second_grade)
        middle = spell(float(scale.grades[n_grades // 2]))
        warn_once(
            f"the threshold of {name} is not declared, so means from its second grade on, "
            f"{threshold}, count as relevant in binary measures: {fraction:.0%} of the "
            f"documents ({len(means)}). Declare the lowest positive grade, as in "
            f"aspects={{{name!r}: Aspect(…, threshold={middle})}}",
            key=f"threshold of means: {name}",
        )


def _read_table(
    frame: object, criterion: str, value: str, judge: str | None
) -> tuple[pd.DataFrame, str | None]:
    """Return the frame with the checked columns, and the name of the column of judges, if any."""
    table, _ = qrels_frame(frame)
    check_distinct_columns(table, _WHAT)
    # The default column of judges is optional, one that the caller names is not.
    if judge == JUDGE and JUDGE not in table.columns:
        judge = None
    columns = [criterion, value]
    if judge is not None:
        columns.append(judge)
    if criterion == "criterion":
        _check_default_column("criterion", table)
    if value == "value":
        _check_default_column("value", table)
    refuse_unknown(columns, table.columns, "columns of the frame", _WHAT)
    refuse_repeated(columns, "columns", _WHAT)
    return table, judge


def _check_default_column(name: str, table: pd.DataFrame) -> None:
    """Raise an error if a column is missing whose name the caller did not choose."""
    if name in table.columns:
        return
    remedy = "rename one"
    if not in_shell():
        remedy += f", or pass its name as {parameter(name)}"
    raise MultiAspectError(
        f"{_WHAT}: expected a column {name}, got the columns {choices(table.columns)}; {remedy}"
    )


@dataclass(frozen=True, eq=False)
class LongJudgments:
    """Judgments with one row per document, criterion and judge; missing labels are left out."""

    #: Query and document of each pair, in the order of their first rows.
    qids: Objects
    docnos: Objects
    #: The scales of the criteria, all with grades.
    aspects: Aspects
    #: The judges, sorted; one judge without a name if there is no column of judges.
    judges: tuple[str, ...]
    #: One element per label: its pair, criterion (in the order of `aspects`), judge and grade
    #: index.
    pair: Ints
    criterion: Ints
    judge: Ints
    grade: Ints
    #: The criteria whose scales were inferred.
    inferred: tuple[str, ...]

    @classmethod
    def read(
        cls,
        frame: object,
        criterion: str,
        value: str,
        judge: str | None,
        aspects: object,
        *,
        warn: bool = True,
    ) -> LongJudgments:
        """Read and check long judgments. The parameters are those of `from_long`.

        `warn` tells whether to warn about inferred scales that may start at 1.
        """
        table, judge = _read_table(frame, criterion, value, judge)
        qids = identifiers(id_column(table, QUERY_COLUMNS, _WHAT), _WHAT)
        docnos = identifiers(id_column(table, DOCUMENT_COLUMNS, _WHAT), _WHAT)
        criterion_of_row, criteria = _names_of_criteria(table[criterion])
        judge_of_row, judges = _codes_of_judges(table, judge)
        refuse_none(table, "row", _WHAT)

        # Declared criteria come first, the others follow in the order of their first rows.
        specs = _declared_scales(aspects, criteria)
        for name in criteria:
            if name not in specs:
                specs[name] = Aspect()  # its scale is inferred
        # The number of the criterion of each row, as a position in `specs`.
        criterion_number = pd.Index(list(specs)).get_indexer(pd.Index(criterion_of_row))

        column = _without_codes(table[value], criterion_number, list(specs.values()))
        pair_of_row, first_row_of_pair = _pairs_by_first_row(qids, docnos)
        rows = _LabelRows(
            qids=qids[first_row_of_pair],
            docnos=docnos[first_row_of_pair],
            criteria=tuple(specs),
            judges=judges,
            pair=pair_of_row,
            criterion=criterion_number,
            judge=judge_of_row,
            column=column,
            labels=read_labels(column),
        )
        return cls._from_rows(rows, specs, warn=warn)

    @classmethod
    def _from_rows(
        cls, rows: _LabelRows, specs: Mapping[str, Aspect], *, warn: bool
    ) -> LongJudgments:
        """Grade the labels on the scales of the criteria, of which some are inferred.

        Parameters
        ----------
        rows : _LabelRows
            All rows, also those without a label.
        specs : mapping of str to Aspect
            The scales by criterion, without grades where they are to be inferred.
        warn : bool
            Whether to warn about inferred scales that may start at 1.
        """
        rows.check_finite()
        grade, scales, doubts = rows.grade_labels(specs)
        distinct = rows.distinct_rows(grade)
        # All errors precede the warnings.
        if warn:
            for doubt in doubts:
                warn_once(doubt)
        # One row per label, in the order of criterion, pair and judge.
        table = pd.DataFrame(
            {"criterion": rows.criterion, "pair": rows.pair, "judge": rows.judge, "grade": grade}
        )
        labels = table.iloc[distinct].sort_values(["criterion", "pair", "judge"])
        return cls(
            qids=rows.qids,
            docnos=rows.docnos,
            aspects=Aspects(scales),
            judges=rows.judges,
            pair=labels["pair"].to_numpy(),
            criterion=labels["criterion"].to_numpy(),
            judge=labels["judge"].to_numpy(),
            grade=labels["grade"].to_numpy(),
            inferred=tuple(name for name, spec in specs.items() if spec.grades is None),
        )

    @property
    def n_pairs(self) -> int:
        """The number of (query, document) pairs."""
        return len(self.qids)

    def combine_labels(self, pair: Ints, grade: Ints, combine: str) -> Ints:
        """Return the combined grade index of each pair, -1 without labels.

        Parameters
        ----------
        pair, grade : ndarray of int, shape (n_labels,)
            The pair and the grade index of each label of one criterion.
        combine : {'median', 'majority'}
            The method.
        """
        if combine == "median":
            return grade_aggregation.median(pair, grade, self.n_pairs)
        index, _ = grade_aggregation.majority(pair, grade, self.n_pairs)
        return index

    def to_wide(self, columns: Mapping[str, Floats]) -> pd.DataFrame:
        """Return wide qrels with a label per pair and aspect; relevance is the column ``label``."""
        frame: dict[str, Any] = {"qid": self.qids, "docno": self.docnos}
        for name, labels in columns.items():
            if name == "relevance":
                column = "label"
            else:
                column = name
            are_whole = np.array_equal(labels, np.floor(labels))  # False with NaN
            if are_whole:
                frame[column] = labels.astype(np.int64)
            else:
                frame[column] = labels
        return pd.DataFrame(frame)


def _names_of_criteria(column: pd.Series[Any]) -> tuple[Objects, list[str]]:
    """Return the name of the criterion of each row, and all names, by first row."""
    code_of_row, distinct = pd.factorize(identifiers(column, _WHAT))
    names = criterion_names(distinct.tolist(), _WHAT)
    name_of_row = np.array(names, dtype=object)[code_of_row]
    return name_of_row, names


def _codes_of_judges(table: pd.DataFrame, judge: str | None) -> tuple[Ints, tuple[str, ...]]:
    """Return the judge of each row, as a position among the judges, and the judges, sorted.

    Without a column of judges, there is one judge without a name.
    """
    if judge is None:
        n_rows = len(table)
        judge_of_row = np.zeros(n_rows, dtype=np.intp)
        return judge_of_row, ("",)
    names = identifiers(table[judge], _WHAT)
    judge_of_row, judges = pd.factorize(names, sort=True)
    sorted_names = tuple(judges.tolist())
    return judge_of_row, sorted_names


def _pairs_by_first_row(qids: Objects, docnos: Objects) -> tuple[Ints, Ints]:
    """Return the pair of each row and the first row of each pair.

    Pairs of query and document are numbered in the order of their first rows.
    """
    query, _ = pd.factorize(qids)
    document, distinct_docnos = pd.factorize(docnos)
    # One integer per query and document, which `factorize` numbers by first appearance.
    pair_code = query * len(distinct_docnos) + document
    pair_of_row, _ = pd.factorize(pair_code)
    _, first_row_of_pair = np.unique(pair_of_row, return_index=True)
    return pair_of_row, first_row_of_pair


def _without_codes(
    column: pd.Series[Any], criterion: Ints, aspects: Sequence[Aspect]
) -> pd.Series[Any]:
    """Return the labels of all criteria, None for the codes of each that mean 'not judged'.

    `criterion` is the criterion of each row, a position in `aspects`.
    """
    result = column.astype(object)
    for number, aspect in enumerate(aspects):
        rows = np.flatnonzero(criterion == number)
        labels = result.iloc[rows]
        result.iloc[rows] = without_missing(labels, aspect.unjudged)
    return result


@dataclass(frozen=True, eq=False)
class _LabelRows:
    """The labels of a long table, one per row, with checks whose errors name the document."""

    #: Query and document of each pair.
    qids: Objects
    docnos: Objects
    criteria: tuple[str, ...]
    judges: tuple[str, ...]
    #: One element per row: its pair, criterion and judge, as positions in the above.
    pair: Ints
    criterion: Ints
    judge: Ints
    #: The labels as given, None if missing, and as floats, NaN if missing.
    column: pd.Series[Any]
    labels: Floats

    def check_finite(self) -> None:
        """Raise an error for labels that are neither missing nor finite numbers."""
        is_present = self.column.notna().to_numpy()
        is_no_number = np.isnan(self.labels) & is_present
        faulty = np.flatnonzero(is_no_number | np.isinf(self.labels))
        if not len(faulty):
            return
        row = faulty[0]
        shown = self.column.iloc[row]
        remedy = ""
        if isinstance(shown, str):
            shown = repr(shown)
            remedy = f". If it means 'no judgment', declare {unjudged_codes(shown)}"
        document = self._document_text(row)
        number = tally(len(faulty), "label")
        raise MultiAspectError(
            f"invalid label {shown} for {document}: expected a finite number, or NaN if there is "
            f"none {number}{remedy}"
        )

    def grade_labels(
        self, specs: Mapping[str, Aspect]
    ) -> tuple[Ints, dict[str, Aspect], list[str]]:
        """Return the grade index of each row, the complete scales, and warnings about these.

        The index is -1 for rows without a label. `specs` are the scales of the criteria, without
        grades where they are to be inferred; warnings are about inferred ones.
        """
        scales: dict[str, Aspect] = {}
        warnings: list[str] = []
        grade = np.full(len(self.labels), -1, dtype=np.intp)
        for criterion, (name, spec) in enumerate(specs.items()):
            is_labelled = (self.criterion == criterion) & ~np.isnan(self.labels)
            rows = np.flatnonzero(is_labelled)
            # Truth values are labels, too: 0 and 1, or the two grades of a declared scale.
            labels = self.grade_booleans(rows, spec)
            scale = _with_grades(name, spec, labels)
            if spec.grades is None:
                doubt = _doubt_about_start(name, scale, labels)
                if doubt is not None:
                    warnings.append(doubt)
            grade[rows] = self.grade_indices(rows, labels, scale)
            scales[name] = scale
        return grade, scales, warnings

    def grade_booleans(self, rows: Ints, aspect: Aspect) -> Floats:
        """Return the labels of some rows of a criterion, with truth values as grades."""
        if aspect.grades is None:
            grades = None
        else:
            grades = aspect.scale.grades
        is_truth_value = is_boolean(self.column.iloc[rows])
        labels, is_wrong = grade_booleans(self.labels[rows], is_truth_value, grades)
        wrong = rows[is_wrong]
        if len(wrong):
            value = self.column.iloc[wrong[0]]
            document = self._document_text(wrong[0])
            number = tally(len(wrong), "label")
            raise MultiAspectError(f"invalid label {value} for {document}: {BOOLEANS} {number}")
        return labels

    def grade_indices(self, rows: Ints, labels: Floats, aspect: Aspect) -> Ints:
        """Return the grade indices of labels of one criterion; refuse labels that are not grades.

        Parameters
        ----------
        rows : ndarray of int, shape (n_labels,)
            The rows of the labels, for the error.
        labels : ndarray of float, shape (n_labels,)
            The labels, with truth values as grades.
        aspect : Aspect
            The scale of the criterion.
        """
        index, _ = aspect.scale.positions(labels)
        is_grade = np.isin(labels, aspect.scale.grades)
        wrong = np.flatnonzero(~is_grade)
        if not len(wrong):
            return index
        label = spell(float(labels[wrong[0]]))
        text = self._label_text(rows[wrong[0]])
        number = tally(len(wrong), "label")
        raise MultiAspectError(
            f"invalid label {label} for {text}: expected one of the grades, "
            f"lowest first, {aspect.scale} {number}. Declare codes that mean "
            f"'no judgment', {unjudged_codes('…')}, or another scale, with {parameter('aspects')}"
        )

    def distinct_rows(self, grade: Ints) -> Ints:
        """Return one row per pair, criterion and judge with a label; refuse contradictory labels.

        Parameters
        ----------
        grade : ndarray of int, shape (n_rows,)
            The grade index of each row, -1 without a label.
        """
        labelled = np.flatnonzero(grade >= 0)
        if not len(labelled):
            return labelled
        table = pd.DataFrame(
            {"pair": self.pair, "criterion": self.criterion, "judge": self.judge, "grade": grade}
        )
        labels = table.iloc[labelled].sort_values(list(table.columns))
        rows = labels.index.to_numpy()
        # Labels of the same pair, criterion and judge are neighbours now.
        is_repeated = labels.duplicated(["pair", "criterion", "judge"]).to_numpy()
        has_other_grade = labels["grade"].diff().to_numpy() != 0  # than the label before
        contradictions = np.flatnonzero(is_repeated & has_other_grade)
        if len(contradictions):
            later = contradictions[0]
            raise self._contradiction_error(rows[later - 1], rows[later], len(contradictions))
        distinct: Ints = rows[~is_repeated]
        return distinct

    def _contradiction_error(self, row: int, other_row: int, number: int) -> MultiAspectError:
        """Return the error for two rows with different labels by the same judge.

        `number` is the number of such cases.
        """
        has_judges = self.judges != ("",)
        if has_judges:
            remedy = ". Keep one of a judge's labels, or combine them first"
        else:
            remedy = "; if they are from different judges, name the column of judges, judge=…"
        label = self._label_text(row)
        first = min(row, other_row)
        second = max(row, other_row)
        return MultiAspectError(
            f"expected one label for {label}, got several (rows {first} and {second}) "
            f"{tally(number, 'case')}{remedy}"
        )

    def _document_text(self, row: int) -> str:
        """Return the document, query and criterion of a row, for errors."""
        pair = self.pair[row]
        criterion = self.criterion[row]
        document = self.docnos[pair]
        query = self.qids[pair]
        name = self.criteria[criterion]
        return f"document {document}, query {query}, criterion {name}"

    def _label_text(self, row: int) -> str:
        """Return the document, query, criterion and judge of a row, for errors."""
        document = self._document_text(row)
        has_judges = self.judges != ("",)
        if not has_judges:
            return document
        judge = self.judges[self.judge[row]]
        return f"{document}, judge {judge}"


def criterion_names(criteria: Sequence[Any], what: str) -> list[str]:
    """Return the name of the aspect of each criterion; refuse ids and names that look alike."""
    criterion_by_spelling: dict[str, str] = {}
    for criterion in criteria:
        name = aspect_name(criterion)
        if name in (*NOT_ASPECTS, KNOWN):
            raise MultiAspectError(
                f"the criterion {criterion!r} cannot be the name of an aspect; rename it"
            )
        # Names that differ only in case or spaces are a mistake.
        words = name.split()
        spelling = " ".join(words).casefold()
        if spelling in criterion_by_spelling:
            raise MultiAspectError(
                f"{what}: expected criteria with different names, got "
                f"{criterion_by_spelling[spelling]!r} and {criterion!r}; spell them alike"
            )
        criterion_by_spelling[spelling] = criterion
    return list(map(aspect_name, criteria))


def _declared_scales(aspects: object, names: Sequence[str]) -> dict[str, Aspect]:
    """Return the declared scales by criterion; refuse those of criteria not among `names`."""
    spec = parse_aspects(aspects)
    if spec is None:
        return {}
    if not isinstance(spec, Aspects):
        raise MultiAspectError(
            f"aspects: expected scales by criterion, as in {{{names[0]!r}: [1, 2, 3, 4, 5]}}, got "
            f"the names {choices(spec)}"
        )
    declared = dict(spec)
    refuse_unknown(declared, names, "criteria", "aspects")
    return declared


def _with_grades(name: str, aspect: Aspect, labels: Floats) -> Aspect:
    """Return the aspect with its grades, declared or inferred from the labels of all judges."""
    if aspect.grades is not None:
        return aspect
    if (labels < 0).any():
        lowest = spell(float(labels.min()))
        raise MultiAspectError(
            f"{name}: expected labels of at least 0 to infer a scale, got {lowest}. If it means "
            f"'no judgment', declare {unjudged_codes(lowest)}; if it is a grade, declare the "
            f"grades with {parameter('aspects')}"
        )
    is_identity = aspect.probabilities == "identity"
    return aspect.with_grades(infer_grades(labels, name, identity=is_identity))


def _doubt_about_start(name: str, aspect: Aspect, labels: Floats) -> str | None:
    """Return a warning if the inferred scale of a criterion, 0 to `top`, may start at 1.

    Return None if there is no reason to doubt it. `aspect` has the inferred grades, and `labels`
    are those of the criterion.
    """
    # Who declares a threshold has looked at the scale.
    has_threshold = aspect.threshold is not None
    if has_threshold or not len(labels):
        return None
    # Fractions are not grades from 1, and a constant label says nothing about the scale.
    are_whole = np.array_equal(labels, np.floor(labels))
    lowest = labels.min()
    is_constant = lowest == labels.max()
    if lowest == 0 or is_constant or not are_whole:
        return None
    top = len(aspect.scale) - 1
    from_one = Aspect(range(1, top + 1))
    return (
        f"no label of {name} is 0, so its inferred scale {aspect.scale} may be wrong. If it starts "
        f"at 1, declare aspects={{{name!r}: {from_one!r}}}; if it starts at 0, "
        f"aspects={{{name!r}: {top}}}"
    )
