"""Judgments with one row per document, criterion and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._numbers import spell
from .._typing import Bools, Floats, Ints
from ..aspects.aspect import Aspect, infer_grades
from ..aspects.aspects import Aspects, aspect_name
from ..aspects.parameter import parse_aspects
from ..errors import MultiAspectError, choices, counted, refuse_repeated, refuse_unknown, warn_once
from ..kernels import opinions
from ..strings.identifiers import identifiers
from .columns import (
    DOCUMENT_COLUMNS,
    KNOWN,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    check_distinct_columns,
    id_column,
    read_labels,
)
from .inputs import qrels_frame

_WHAT = "long judgments"

#: The default column of judges, read if it exists.
JUDGE = "judge"


@dataclass(frozen=True, eq=False)
class LongJudgments:
    """Judgments with one row per document, criterion and judge; missing labels are left out."""

    #: Query and document of each pair, in the order of their first rows.
    qids: NDArray[np.object_]
    docnos: NDArray[np.object_]
    #: The scales of the criteria, all with grades.
    aspects: Aspects
    #: The judges, sorted; one judge without a name if there is no column of judges.
    judges: tuple[str, ...]
    #: One element per label: its pair, criterion (in the order of `aspects`), judge and grade index.
    pair: Ints
    criterion: Ints
    judge: Ints
    grade: Ints
    #: The criteria whose scales were inferred.
    inferred: tuple[str, ...]

    @classmethod
    def read(
        cls, frame: object, criterion: str, value: str, judge: str | None, aspects: object, *, warn: bool = True
    ) -> LongJudgments:
        """Read and check long judgments. The parameters are those of `from_long`.

        `warn` tells whether to warn about inferred scales that may start at 1.
        """
        table, _ = qrels_frame(frame)
        check_distinct_columns(table, _WHAT)
        columns = [criterion, value, *([] if judge is None else [judge])]
        if judge == JUDGE and JUDGE not in table.columns:
            judge, columns = None, columns[:2]
        refuse_unknown(columns, table.columns, "columns of the frame", _WHAT)
        refuse_repeated(columns, "columns", _WHAT)
        query, qids = pd.factorize(identifiers(id_column(table, QUERY_COLUMNS, _WHAT), _WHAT))
        document, docnos = pd.factorize(identifiers(id_column(table, DOCUMENT_COLUMNS, _WHAT), _WHAT))
        code, criteria = pd.factorize(identifiers(table[criterion], _WHAT))
        names = _names(criteria.tolist())
        of_judge, judges = np.zeros(len(table), dtype=np.intp), np.array([""], dtype=object)
        if judge is not None:
            of_judge, judges = pd.factorize(identifiers(table[judge], _WHAT))
            of_judge, judges = np.argsort(np.argsort(judges))[of_judge], np.sort(judges)
        if not len(table):
            raise MultiAspectError(f"{_WHAT}: expected at least one row, got none")
        declared = _declared(aspects, names)
        ordered = [*(name for name in declared if name in names), *(name for name in names if name not in declared)]
        position = np.array([ordered.index(name) for name in names])
        labels = read_labels(table[value])
        _, first, pair = np.unique(query * len(docnos) + document, return_index=True, return_inverse=True)
        by_row = np.argsort(first)
        pair = np.argsort(by_row)[pair]  # in the order of first rows
        first = first[by_row]
        where = _Rows(qids[query[first]], docnos[document[first]], tuple(ordered), tuple(judges.tolist()))
        where.check_finite(table[value], labels, pair, position[code])
        scales, grade = {}, np.full(len(table), -1, dtype=np.intp)
        doubts: dict[str, str | None] = {}
        for number, name in enumerate(ordered):
            rows = np.flatnonzero((position[code] == number) & ~np.isnan(labels))
            aspect = declared.get(name, Aspect())
            rows = rows[~np.isin(labels[rows], aspect.unjudged)]
            scales[name] = _with_grades(name, aspect, labels[rows])
            doubts[name] = None if aspect.grades is not None else _doubt(name, scales[name], labels[rows])
            grade[rows] = where.grades(name, scales[name], labels, rows, pair, of_judge)
        kept = where.distinct(pair, position[code], of_judge, grade)
        for doubt in filter(None, doubts.values() if warn else ()):
            warn_once(doubt)
        kept = kept[np.lexsort((of_judge[kept], pair[kept], position[code][kept]))]
        return cls(
            qids=where.qids,
            docnos=where.docnos,
            aspects=Aspects(scales),
            judges=where.judges,
            pair=pair[kept],
            criterion=position[code][kept],
            judge=of_judge[kept],
            grade=grade[kept],
            inferred=tuple(name for name in ordered if name not in declared or declared[name].grades is None),
        )

    @property
    def n_pairs(self) -> int:
        """Return the number of (query, document) pairs."""
        return len(self.qids)

    def of(self, number: int) -> Bools:
        """Return a mask of the labels of one criterion, given by its number."""
        return np.asarray(self.criterion == number)

    def combined(self, pair: Ints, grade: Ints, combine: str) -> Ints:
        """Combine labels of one criterion into grade indices, by 'median' or 'majority'; -1 without labels."""
        if combine == "median":
            return opinions.median(pair, grade, self.n_pairs)
        return opinions.majority(pair, grade, self.n_pairs)[0]

    def wide(self, columns: Mapping[str, Floats]) -> pd.DataFrame:
        """Return wide qrels with one label per pair and aspect; relevance is the column ``label``."""
        frame: dict[str, Any] = {"qid": self.qids, "docno": self.docnos}
        for name, labels in columns.items():
            whole = np.array_equal(labels, np.floor(labels))  # False with NaN
            frame["label" if name == "relevance" else name] = labels.astype(np.int64) if whole else labels
        return pd.DataFrame(frame)


@dataclass(frozen=True)
class _Rows:
    """Checks of the labels, whose errors name the document."""

    qids: NDArray[np.object_]
    docnos: NDArray[np.object_]
    criteria: tuple[str, ...]
    judges: tuple[str, ...]

    def _where(self, pair: int, criterion: int, judge: int | None = None) -> str:
        by = f", judge {self.judges[judge]}" if judge is not None and self.judges != ("",) else ""
        return f"document {self.docnos[pair]}, query {self.qids[pair]}, criterion {self.criteria[criterion]}{by}"

    def check_finite(self, column: pd.Series[Any], labels: Floats, pair: Ints, criterion: Ints) -> None:
        """Raise an error for labels that are neither missing nor finite numbers."""
        faulty = np.flatnonzero((np.isnan(labels) & column.notna().to_numpy()) | np.isinf(labels))
        if len(faulty):
            row = int(faulty[0])
            value = column.iloc[row]
            shown = repr(value) if isinstance(value, str) else value
            raise MultiAspectError(
                f"invalid label {shown} for {self._where(pair[row], criterion[row])}: expected a "
                f"finite number, or NaN if there is none {counted(len(faulty), 'label')}"
            )

    def grades(self, name: str, aspect: Aspect, labels: Floats, rows: Ints, pair: Ints, judge: Ints) -> Ints:
        """Return the grade indices of the labels in `rows`, which must be grades."""
        index, wrong = aspect.scale.positions(labels[rows])
        sign = 1.0 if aspect.greater_is_better else -1.0
        below = np.flatnonzero(sign * labels[rows] < sign * aspect.scale.grades[0])
        faulty = np.sort(np.concatenate([wrong, below]))
        if len(faulty):
            row = int(rows[faulty[0]])
            number = self.criteria.index(name)
            raise MultiAspectError(
                f"invalid label {spell(float(labels[row]))} for {self._where(pair[row], number, judge[row])}: "
                f"expected one of the grades, lowest first, {aspect.scale} {counted(len(faulty), 'label')}. "
                f"Declare codes that mean 'no judgment', as in aspects={{{name!r}: Aspect(…, unjudged=[…])}}, or "
                "another scale"
            )
        return index

    def distinct(self, pair: Ints, criterion: Ints, judge: Ints, grade: Ints) -> Ints:
        """Return the rows with a label, once per judge, which must not contradict themselves."""
        rows = np.flatnonzero(grade >= 0)
        order = rows[np.lexsort((grade[rows], judge[rows], criterion[rows], pair[rows]))]
        same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
        for key in (pair, criterion, judge):
            same &= key[order][1:] == key[order][:-1]
        twice = np.flatnonzero(same & (grade[order][1:] != grade[order][:-1]))
        if len(twice):
            first, second = order[twice[0]], order[twice[0] + 1]
            # Without a column of judges, several judges are the likely cause.
            remedy = (
                "; if they are from different judges, name the column of judges, judge=…"
                if self.judges == ("",)
                else ". Keep one of a judge's labels, or combine them first"
            )
            raise MultiAspectError(
                f"expected one label for {self._where(pair[first], criterion[first], judge[first])}, got several "
                f"(rows {min(first, second)} and {max(first, second)}) {counted(len(twice), 'case')}{remedy}"
            )
        return order[np.append(True, ~same)] if len(order) else order


def _names(criteria: Sequence[Any]) -> list[str]:
    """Return the aspects of criteria, which must be valid column names."""
    names: dict[str, str] = {}
    for criterion in criteria:
        name = aspect_name(criterion)
        if name in (*NOT_ASPECTS, KNOWN):
            raise MultiAspectError(f"the criterion {criterion!r} cannot be the name of an aspect; rename it")
        alike = " ".join(name.split()).casefold()
        if alike in names:
            raise MultiAspectError(
                f"{_WHAT}: expected criteria with different names, got {names[alike]!r} and {criterion!r}; spell "
                "them alike"
            )
        names[alike] = criterion
    return [aspect_name(criterion) for criterion in names.values()]


def _declared(aspects: object, names: Sequence[str]) -> dict[str, Aspect]:
    spec = parse_aspects(aspects)
    if spec is not None and not isinstance(spec, Aspects):
        raise MultiAspectError(
            f"aspects: expected scales by criterion, as in {{{names[0]!r}: [1, 2, 3, 4, 5]}}, got the names "
            f"{choices(spec)}"
        )
    declared = {} if spec is None else dict(spec)
    refuse_unknown(declared, names, "criteria", "aspects")
    return declared


def _with_grades(name: str, aspect: Aspect, labels: Floats) -> Aspect:
    """Return the aspect with its grades, inferred from the labels of all judges if they are not declared."""
    if aspect.grades is not None:
        return aspect
    if (labels < 0).any():
        lowest = spell(float(labels.min()))
        raise MultiAspectError(
            f"{name}: expected labels of at least 0 to infer a scale, got {lowest}. If it means 'no judgment', "
            f"declare aspects={{{name!r}: Aspect(unjudged=[{lowest}])}}; if it is a grade, declare the grades"
        )
    return aspect.with_grades(infer_grades(labels, name, identity=aspect.probabilities == "identity"))


def _doubt(name: str, aspect: Aspect, labels: Floats) -> str | None:
    """Return a warning if an inferred scale may start at 1."""
    whole = bool(len(labels)) and np.array_equal(labels, np.floor(labels))
    if not whole or labels.min() == 0 or labels.min() == labels.max() or aspect.threshold is not None:
        return None
    top = len(aspect.scale) - 1
    return (
        f"no label of {name} is 0, so its inferred scale {aspect.scale} may be wrong. If it starts at 1, declare "
        f"aspects={{{name!r}: {Aspect(range(1, top + 1))!r}}}; if it starts at 0, aspects={{{name!r}: {top}}}"
    )
