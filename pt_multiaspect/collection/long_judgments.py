"""Judgments with one row per document, criterion and judge, and their conversion to wide qrels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import exact, spell
from .._typing import Floats, Ints, Objects
from .._validation import choice
from ..aspects import Aspect, Aspects, aspect_name, parse_aspects
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
    ...     ("q1", "d1", "correct", "a", 3), ("q1", "d1", "correct", "b", 4), ("q1", "d1", "correct", "c", 1),
    ...     ("q1", "d1", "fluent", "a", 5), ("q1", "d2", "correct", "b", 2), ("q1", "d2", "correct", "c", 5),
    ... ]
    >>> judged = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    >>> rubric = {criterion: ma.Aspect([1, 2, 3, 4, 5], threshold=4) for criterion in ("correct", "fluent")}
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
    for number, (aspect, scale) in enumerate(judged.aspects.items()):
        rows = judged.criterion == number
        pair = judged.pair[rows]
        grade = judged.grade[rows]
        n_judges = len(np.unique(judged.judge[rows]))
        n_labels = np.bincount(pair, minlength=judged.n_pairs)
        has_several = bool((n_labels > 1).any())
        note = _note(aspect, combine, n_judges, n_labels)
        if combine == "mean" and has_several:
            labels = mean_labels(scale.scale.grades, pair, grade, judged.n_pairs)
            scales[aspect] = _with_means(aspect, scale, labels)
        else:
            index = judged.combine_labels(pair, grade, combine)
            labels = np.where(index < 0, np.nan, scale.scale.grades[index])
            scales[aspect] = scale
        if combine == "majority" and has_several:
            note += _note_on_ties(aspect, pair, grade, n_labels)
        columns[aspect] = labels
        notes.append(note)
    for aspect in judged.inferred:
        notes.append(f"{aspect}: the scale was inferred as {judged.aspects[aspect].scale}")
    result = judged.to_wide(columns)
    # As text, which can be saved in Parquet files.
    result.attrs = {"aspects": Aspects(scales, name=name).to_json(), "notes": notes}
    return result


def _note(name: str, combine: str, n_judges: int, n_labels: Ints) -> str:
    """Return a note on the number of judges and labels of one criterion."""
    n_documents = int((n_labels > 0).sum())
    judges = number_of(n_judges, "judge")
    documents = number_of(n_documents, "document")
    if n_judges <= 1:
        return f"{name}: {judges} ({documents})"
    mean = n_labels.sum() / n_documents
    return f"{name}: {combine} of {judges}, {mean:.3g} labels per document ({documents})"


def _note_on_ties(name: str, pair: Ints, grade: Ints, n_labels: Ints) -> str:
    """Return a note on the documents without a majority; warn if these are most."""
    _, n_tied_grades = grade_aggregation.majority(pair, grade, len(n_labels))
    n_tied = int((n_tied_grades > 1).sum())
    n_several = int((n_labels > 1).sum())
    if 2 * n_tied > n_several:
        have = agree(n_tied, n_several, "has no majority and is", "have no majority and are")
        documents = number_of(n_several, "document")
        warn_once(
            f"{name}: {n_tied} of {documents} with several labels {have} given the "
            "lowest of the most frequent labels. Use combine='median' or 'mean'"
        )
    return f", {n_tied} without a majority"


def mean_labels(labels: Floats, pair: Ints, grade: Ints, n_pairs: int) -> Floats:
    """Return the mean label of each pair, ``labels[grade]``.

    Sums are exact where labels have a small common denominator.
    """
    fractions = [exact(float(label)) for label in labels]
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    numerators = [int(fraction * denominator) for fraction in fractions]
    largest = max(map(abs, numerators))
    if max(largest, 1) * denominator * len(grade) >= 2**53:
        n_labels = np.bincount(pair, minlength=n_pairs)
        sums = np.bincount(pair, weights=labels[grade], minlength=n_pairs)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / n_labels)
    numerator_of_label = np.array(numerators, dtype=np.int64)[grade]
    return grade_aggregation.mean(pair, numerator_of_label, denominator, n_pairs)


def _with_means(name: str, aspect: Aspect, labels: Floats) -> Aspect:
    """Return the scale with the means as further grades; gains, probabilities are interpolated."""
    scale = aspect.scale
    if scale.greater_is_better:
        sign = 1.0
    else:
        sign = -1.0
    means = labels[~np.isnan(labels)]
    upwards = np.unique(sign * np.append(scale.grades, means))
    grades_upwards = sign * scale.grades
    if aspect.threshold is None:
        _check_threshold(name, aspect, labels)
    grades = (sign * upwards + 0.0).tolist()
    spec: dict[str, Any] = {"grades": grades, "greater_is_better": scale.greater_is_better}
    spec["unjudged"] = [code for code in aspect.unjudged if code not in grades]
    if aspect.gains is not None:
        spec["gains"] = np.interp(upwards, grades_upwards, scale.gains).tolist()
    spec["probabilities"] = aspect.probabilities
    if not isinstance(aspect.probabilities, str):
        probabilities = np.interp(upwards, grades_upwards, scale.probabilities)
        spec["probabilities"] = probabilities.tolist()
    if len(scale) > 1:
        spec["threshold"] = float(scale.grades[scale.threshold])
    return Aspect(**spec)


def _check_threshold(name: str, aspect: Aspect, labels: Floats) -> None:
    """Warn if means hardly ever, or nearly always, reach the second grade, the threshold."""
    scale = aspect.scale
    means = labels[~np.isnan(labels)]
    if len(scale) == 2:
        warn_once(
            f"{name}: means of two grades reach the upper one only if all judges agree, and only "
            "these documents count as relevant in binary measures. Use combine='majority' or "
            "'median', or declare the threshold",
            key=f"means of two grades: {name}",
        )
        return
    if len(scale) < 2 or not len(means):
        return
    lowest = float(scale.grades[1])
    if scale.greater_is_better:
        is_positive = means >= lowest
    else:
        is_positive = means <= lowest
    fraction = float(is_positive.mean())
    if is_doubtful(fraction, len(means), len(scale)):
        middle = spell(float(scale.grades[len(scale) // 2]))
        warn_once(
            f"the threshold of {name} is not declared, so means from its second grade on, "
            f"{spell(lowest)}, count as relevant in binary measures: {fraction:.0%} of the "
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
    if judge == JUDGE and JUDGE not in table.columns:
        judge = None
    columns = [criterion, value]
    if judge is not None:
        columns.append(judge)
    for name, column in {"criterion": criterion, "value": value}.items():
        if column == name and name not in table.columns:
            remedy = "rename one"
            if not in_shell():
                remedy += f", or pass its name as {parameter(name)}"
            raise MultiAspectError(
                f"{_WHAT}: expected a column {name}, got the columns {choices(table.columns)}; "
                f"{remedy}"
            )
    refuse_unknown(columns, table.columns, "columns of the frame", _WHAT)
    refuse_repeated(columns, "columns", _WHAT)
    return table, judge


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
        criterion_of_row, criteria = pd.factorize(identifiers(table[criterion], _WHAT))
        names = criterion_names(criteria.tolist(), _WHAT)
        judge_of_row, judges = _codes_of_judges(table, judge)
        refuse_none(table, "row", _WHAT)

        # Criteria in the order of the declared ones, then of their first rows.
        declared = _declared_scales(aspects, names)
        ordered = [name for name in declared if name in names]
        ordered += [name for name in names if name not in declared]
        position = np.array([ordered.index(name) for name in names])
        criterion_of_row = position[criterion_of_row]

        scales = {name: declared.get(name, Aspect()) for name in ordered}
        column = _without_codes(table[value], criterion_of_row, list(scales.values()))
        labels = read_labels(column).copy()
        pair, first = _pairs_by_first_row(qids, docnos)
        checks = _LabelChecks(qids[first], docnos[first], tuple(ordered), judges)
        checks.check_finite(column, labels, pair, criterion_of_row)
        inferred: list[str] = []
        doubts: list[str] = []
        grade = np.full(len(table), -1, dtype=np.intp)
        for number, (name, aspect) in enumerate(scales.items()):
            is_labelled = (criterion_of_row == number) & ~np.isnan(labels)
            rows = np.flatnonzero(is_labelled)
            labels[rows] = checks.grade_booleans(column, labels, rows, aspect, pair, number)
            scales[name] = _with_grades(name, aspect, labels[rows])
            if aspect.grades is None:
                inferred.append(name)
                doubts += _doubt(name, scales[name], labels[rows])
            grade[rows] = checks.grades(name, scales[name], labels, rows, pair, judge_of_row)
        kept = checks.distinct_rows(pair, criterion_of_row, judge_of_row, grade)
        if warn:
            for doubt in doubts:
                warn_once(doubt)
        by_criterion = np.lexsort((judge_of_row[kept], pair[kept], criterion_of_row[kept]))
        kept = kept[by_criterion]
        return cls(
            qids=checks.qids,
            docnos=checks.docnos,
            aspects=Aspects(scales),
            judges=judges,
            pair=pair[kept],
            criterion=criterion_of_row[kept],
            judge=judge_of_row[kept],
            grade=grade[kept],
            inferred=tuple(inferred),
        )

    @property
    def n_pairs(self) -> int:
        """The number of (query, document) pairs."""
        return len(self.qids)

    def combine_labels(self, pair: Ints, grade: Ints, combine: str) -> Ints:
        """Combine labels of one criterion into grade indices, -1 without labels.

        The method is 'median' or 'majority'.
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


def _codes_of_judges(table: pd.DataFrame, judge: str | None) -> tuple[Ints, tuple[str, ...]]:
    """Return the judge of each row, as a position among the judges, and the judges, sorted."""
    if judge is None:
        return np.zeros(len(table), dtype=np.intp), ("",)
    codes, judges = pd.factorize(identifiers(table[judge], _WHAT), sort=True)
    return codes, tuple(judges.tolist())


def _pairs_by_first_row(qids: Objects, docnos: Objects) -> tuple[Ints, Ints]:
    """Return the pair of each row, in the order of their first rows, and the first row of each."""
    query, _ = pd.factorize(qids)
    document, distinct_docnos = pd.factorize(docnos)
    code = query * len(distinct_docnos) + document
    _, first, pair_by_code = np.unique(code, return_index=True, return_inverse=True)
    by_first_row = np.argsort(first)
    pair = np.argsort(by_first_row)[pair_by_code]
    return pair, first[by_first_row]


def _without_codes(
    column: pd.Series[Any], criterion: Ints, aspects: Sequence[Aspect]
) -> pd.Series[Any]:
    """Return the labels of all criteria, None for the codes of each that mean 'not judged'."""
    result = column.astype(object)
    for number, aspect in enumerate(aspects):
        rows = np.flatnonzero(criterion == number)
        result.iloc[rows] = without_missing(result.iloc[rows], aspect.unjudged)
    return result


@dataclass(frozen=True)
class _LabelChecks:
    """Checks of the labels, whose errors name the document."""

    qids: Objects
    docnos: Objects
    criteria: tuple[str, ...]
    judges: tuple[str, ...]

    def _label_text(self, pair: int, criterion: int, judge: int | None = None) -> str:
        if judge is not None and self.judges != ("",):
            by = f", judge {self.judges[judge]}"
        else:
            by = ""
        name = self.criteria[criterion]
        return f"document {self.docnos[pair]}, query {self.qids[pair]}, criterion {name}{by}"

    def check_finite(
        self, column: pd.Series[Any], labels: Floats, pair: Ints, criterion: Ints
    ) -> None:
        """Raise an error for labels that are neither missing nor finite numbers."""
        is_no_number = np.isnan(labels) & column.notna().to_numpy()
        faulty = np.flatnonzero(is_no_number | np.isinf(labels))
        if not len(faulty):
            return
        row = int(faulty[0])
        shown = column.iloc[row]
        remedy = ""
        if isinstance(shown, str):
            shown = repr(shown)
            remedy = f". If it means 'no judgment', declare {unjudged_codes(shown)}"
        raise MultiAspectError(
            f"invalid label {shown} for {self._label_text(pair[row], criterion[row])}: expected a "
            f"finite number, or NaN if there is none {tally(len(faulty), 'label')}{remedy}"
        )

    def grade_booleans(
        self,
        column: pd.Series[Any],
        labels: Floats,
        rows: Ints,
        aspect: Aspect,
        pair: Ints,
        criterion: int,
    ) -> Floats:
        """Return the labels in `rows`, with truth values as grades."""
        if aspect.grades is None:
            grades = None
        else:
            grades = aspect.scale.grades
        graded, wrong = grade_booleans(labels[rows], is_boolean(column.iloc[rows]), grades)
        if wrong.any():
            row = int(rows[np.argmax(wrong)])
            raise MultiAspectError(
                f"invalid label {column.iloc[row]} for {self._label_text(pair[row], criterion)}: "
                f"{BOOLEANS} {tally(int(wrong.sum()), 'label')}"
            )
        return graded

    def grades(
        self, name: str, aspect: Aspect, labels: Floats, rows: Ints, pair: Ints, judge: Ints
    ) -> Ints:
        """Return the grade indices of the labels in `rows`, which must be grades."""
        index, wrong = aspect.scale.positions(labels[rows])
        if aspect.greater_is_better:
            sign = 1.0
        else:
            sign = -1.0
        below = np.flatnonzero(sign * labels[rows] < sign * aspect.scale.grades[0])
        faulty = np.sort(np.concatenate([wrong, below]))
        if not len(faulty):
            return index
        row = int(rows[faulty[0]])
        criterion = self.criteria.index(name)
        raise MultiAspectError(
            f"invalid label {spell(float(labels[row]))} for "
            f"{self._label_text(pair[row], criterion, judge[row])}: expected one of the grades, "
            f"lowest first, {aspect.scale} {tally(len(faulty), 'label')}. Declare codes that mean "
            f"'no judgment', {unjudged_codes('…')}, or another scale, with {parameter('aspects')}"
        )

    def distinct_rows(self, pair: Ints, criterion: Ints, judge: Ints, grade: Ints) -> Ints:
        """Return the rows with a label, once per judge, which must not contradict themselves."""
        rows = np.flatnonzero(grade >= 0)
        if not len(rows):
            return rows
        order = rows[np.lexsort((grade[rows], judge[rows], criterion[rows], pair[rows]))]
        keys = np.stack([pair[order], criterion[order], judge[order]])  # 3 × labels
        is_same = (keys[:, 1:] == keys[:, :-1]).all(axis=0)  # as the label before
        grade_in_order = grade[order]
        contradicts = is_same & (grade_in_order[1:] != grade_in_order[:-1])
        twice = np.flatnonzero(contradicts)
        if len(twice):
            first = order[twice[0]]
            second = order[twice[0] + 1]
            # Without a column of judges, several judges are the likely cause.
            remedy = ". Keep one of a judge's labels, or combine them first"
            if self.judges == ("",):
                remedy = "; if they are from different judges, name the column of judges, judge=…"
            label = self._label_text(pair[first], criterion[first], judge[first])
            raise MultiAspectError(
                f"expected one label for {label}, got several (rows {min(first, second)} and "
                f"{max(first, second)}) {tally(len(twice), 'case')}{remedy}"
            )
        is_first = np.append(True, ~is_same)
        kept: Ints = order[is_first]
        return kept


def criterion_names(criteria: Sequence[Any], what: str) -> list[str]:
    """Return the aspects of criteria, which must be valid column names."""
    names: dict[str, str] = {}
    for criterion in criteria:
        name = aspect_name(criterion)
        if name in (*NOT_ASPECTS, KNOWN):
            raise MultiAspectError(
                f"the criterion {criterion!r} cannot be the name of an aspect; rename it"
            )
        alike = " ".join(name.split()).casefold()
        if alike in names:
            raise MultiAspectError(
                f"{what}: expected criteria with different names, got {names[alike]!r} and "
                f"{criterion!r}; spell them alike"
            )
        names[alike] = criterion
    return list(map(aspect_name, names.values()))


def _declared_scales(aspects: object, names: Sequence[str]) -> dict[str, Aspect]:
    """Return the declared scales, which must be of criteria that occur."""
    spec = parse_aspects(aspects)
    if spec is not None and not isinstance(spec, Aspects):
        raise MultiAspectError(
            f"aspects: expected scales by criterion, as in {{{names[0]!r}: [1, 2, 3, 4, 5]}}, got "
            f"the names {choices(spec)}"
        )
    if spec is None:
        declared = {}
    else:
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


def _doubt(name: str, aspect: Aspect, labels: Floats) -> list[str]:
    """Return a warning if an inferred scale may start at 1, else nothing."""
    if not len(labels) or aspect.threshold is not None:
        return []
    are_whole = np.array_equal(labels, np.floor(labels))
    lowest = labels.min()
    if not are_whole or lowest == 0 or lowest == labels.max():
        return []
    top = len(aspect.scale) - 1
    from_one = Aspect(range(1, top + 1))
    warning = (
        f"no label of {name} is 0, so its inferred scale {aspect.scale} may be wrong. If it starts "
        f"at 1, declare aspects={{{name!r}: {from_one!r}}}; if it starts at 0, "
        f"aspects={{{name!r}: {top}}}"
    )
    return [warning]
