"""Explanations of the value of one topic, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from ._cached import cached_property
from ._numbers import spell
from ._typing import Floats
from .aspects import Aspect
from .errors import MultiAspectError, number_of, shown
from .views import (
    Bar,
    Block,
    Cells,
    Column,
    Heading,
    Row,
    Sentence,
    Table,
    View,
    bars,
    crop,
    decimals,
)

#: Number of ranks that are shown.
_MOST_RANKS = 20
#: Number of documents that are shown, and length of run names in column heads.
_MOST_DOCUMENTS, _NAME = 20, 20
#: Identifiers are shortened in the middle if there is too little space.
_SHORTEN = 12
_DOCNO = Column("docno", left=True, shorten=_SHORTEN)
#: The number of columns that identify a row of a ranking: its rank and docno.
_N_IDENTIFYING = 2


@dataclass(frozen=True)
class _Line:
    """A row of the ranking, or a line that replaces rows."""

    contribution: float
    running: float
    row: int | None = None
    text: str = ""
    #: The number of ranks that are hidden here.
    n_hidden: int = 0


@dataclass(eq=False, repr=False)
class Explanation(View):
    """The value of a measure for one topic of a run, as a sum over ranks.

    Returned by ``measure.explain(run, qrels, qid)`` and by `pt_multiaspect.explain`. It prints as
    text of at most 80 columns and is shown as HTML in notebooks.

    Attributes
    ----------
    measure : Measure
        The measure.
    label : str
        The measure as it was given.
    qid : str
        The topic.
    run : str
        The name of the run.
    value : float
        The value of the measure, as in `pt_multiaspect.evaluate`.
    offset : float
        The part of the value that does not depend on the retrieved documents. ``value`` is
        ``offset`` plus the sum of the contributions.
    ranks : DataFrame
        One row per retrieved document: ``rank docno``, the label on each aspect (NaN if unjudged),
        quantities computed from the labels (such as TOMA's ``class`` and ``distance``), ``gain``,
        ``discount``, the part of each aspect for measures that combine several values,
        ``contribution``, ``running`` (the offset and the contributions down to this rank), ``how``
        and ``note``. Contributions that belong to no single rank have rows without a rank,
        described by ``note``.
    aspects : DataFrame
        ``aspect value weight part``: the value of the base on each aspect, its weight, and its part
        in the value of the measure. One row for measures that combine the labels of each document.
        The part is NaN if it is unknown.
    swaps : DataFrame or None
        For NLRE and NGRE, the adjacent documents in the wrong order: ``rank docno next_docno``, the
        error on each aspect, and ``cost``, the amount by which the value would be higher without
        this error; highest cost first.
    notes : list of str
        Remarks for reading the explanation.
    judged : DataFrame
        The labels of all judged documents of the topic, by docno, with one column per aspect.
    scales : dict of str to Aspect
        The declared or inferred scales, by the columns of `judged`.
    grade_positions : DataFrame
        The positions of the labels on their scales, from 0 for the lowest to 1 for the highest
        grade. One row per retrieved document and one column per aspect; NaN where a document is
        unjudged.
    retrieved : list of str
        All retrieved documents, in the order of their ranks.

    Notes
    -----
    - ``how`` is ``'stated'`` if contributions follow from the definition of the measure, such as
      gain × discount / norm for nDCG. It is ``'marginal'`` if they are differences between the
      values of the first k and the first k - 1 ranks. Then each of the first `depth` ranks has a
      row, and the others have one row together.
    - The gain is that of the base. For a measure that combines several linear values with equal
      discounts, it is the weighted sum of the normalised gains, so that gain × discount is the
      contribution.
    - CAM is a weighted sum of the values of its aspects. MM, WHAM and GAM are not: the part of an
      aspect is its value times the derivative of the mean; these parts sum to the mean (Euler's
      theorem). With equal weights, the *weaker* aspect has the larger part in MM, as the value
      depends most on it.

    Examples
    --------
    >>> from pt_multiaspect import MM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> measure = MM(base="AP", aspects={"relevance": 1, "credibility": 1})
    >>> explanation = measure.explain({"q1": {"d1": 2.0, "d2": 1.0}}, qrels, "q1")
    >>> explanation
    <Explanation: MM(base='AP',aspects={'relevance': 1, 'credibility': 1}) is 0.6667 for topic q1>
    >>> explanation.aspects.round(3)
            aspect  value  weight   part
    0    relevance    1.0     0.5  0.222
    1  credibility    0.5     0.5  0.444
    """

    #: Returns the explanation of a best ranking of all judged documents; None if no best ranking is
    #: known.
    _best: Callable[[], Explanation | None]
    measure: ir_measures.Measure
    label: str
    qid: str
    run: str
    value: float
    offset: float
    ranks: pd.DataFrame
    aspects: pd.DataFrame
    swaps: pd.DataFrame | None
    notes: list[str]
    judged: pd.DataFrame
    scales: dict[str, Aspect]
    grade_positions: pd.DataFrame
    retrieved: list[str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of `ranks` with labels, one per aspect."""
        return tuple(self.scales)

    @property
    def details(self) -> list[str]:
        """The columns of `ranks` that the measure computes from the labels, such as TOMA's class."""
        return detail_columns(self.ranks, self.labels)

    @cached_property
    def ideal(self) -> Explanation | None:
        """The explanation of a best ranking of all judged documents; None if no best ranking is known."""
        return self._best()

    @cached_property
    def shortfall(self) -> pd.DataFrame | None:
        """The shortfall of each rank from a best ranking; None if no best ranking is known.

        Columns ``rank docno contribution ideal_docno ideal_contribution shortfall note``. The
        shortfalls sum to the value of the best ranking minus this value.
        """
        if self.ideal is None:
            return None
        pairs = Comparison(self.ideal, self).ranks
        names = {"docno_b": "docno", "contribution_b": "contribution", "docno_a": "ideal_docno"}
        names |= {"contribution_a": "ideal_contribution", "difference": "shortfall"}
        return pairs.rename(columns=names)[["rank", *names.values(), "note"]]

    def compare(self, other: Explanation) -> Comparison:
        """Compare with the explanation of another run for the same topic.

        Parameters
        ----------
        other : Explanation
            An explanation of the same measure, topic and qrels.

        Returns
        -------
        Comparison
            The contributions of both runs, paired by document; the differences sum to the value of
            this run minus that of the other.

        Raises
        ------
        MultiAspectError
            If the measures, the topics, the labels of judged documents or the inferred scales
            differ.

        Examples
        --------
        >>> from pt_multiaspect import TOMA
        >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
        >>> measure = TOMA(aspects={"relevance": 1, "credibility": 1})
        >>> a = measure.explain({"a": {"q1": {"d2": 2.0, "d1": 1.0}}}, qrels, "q1")
        >>> b = measure.explain({"b": {"q1": {"d1": 2.0, "d2": 1.0}}}, qrels, "q1")
        >>> print(a.compare(b))
        TOMA(aspects={'relevance': 1, 'credibility': 1})
        ------------------------------------------------
        topic q1: a 1.0000, b 0.8597, a - b 0.1403
        <BLANKLINE>
        docno  rank in a  rank in b  contribution in a  contribution in b    a - b
        d2             1          2             0.7602             0.4796   0.2806
        d1             2          1             0.2398             0.3801  −0.1403
        """
        return Comparison(self, other)

    def _blocks(self) -> list[Block]:
        return self._blocks_with(_ranking(self))

    def _html_blocks(self) -> list[Block]:
        return self._blocks_with(_ranking(self, contributions_first=True))

    def _blocks_with(self, ranking: Table) -> list[Block]:
        return [
            Heading(self.label),
            Sentence(f"topic {self.qid}, {self.run}: {decimals(self.value)}"),
            ranking,
            *_aspects(self.aspects),
            *_swaps(self.swaps),
            *_shortfall(self.value, self.ideal, self.shortfall),
            *map(Sentence, self.notes),
        ]

    def _title(self) -> str:
        return f"{self.label}, topic {self.qid}"

    def __repr__(self) -> str:
        return f"<Explanation: {self.label} is {self.value:.4f} for topic {self.qid}>"


def detail_columns(ranks: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """Return the columns between the labels and the gain."""
    columns = list(ranks.columns)
    return columns[2 + len(labels) : columns.index("gain")]


def gain_name(ranks: pd.DataFrame, details: list[str]) -> str:
    """Return the name of the column that shows the gain: a detail with the same numbers, or ``gain``."""
    gain = np.nan_to_num(_floats(ranks, "gain"))
    same = [name for name in details if np.array_equal(np.nan_to_num(_floats(ranks, name)), gain)]
    if same:
        return same[0]
    return "gain"


def _floats(frame: pd.DataFrame, name: str) -> Floats:
    return frame[name].to_numpy(dtype=np.float64)


def _ranking(explanation: Explanation, contributions_first: bool = False) -> Table:
    """Return the table of ranks; contributions follow what they are computed from or, at first, the documents."""
    lines = _lines(explanation.ranks)
    hidden = [line for line in lines if line.n_hidden]
    drawn: list[Bar | str] = [*bars([line.contribution for line in lines])]
    if explanation.offset:  # not a contribution of documents, so it has no bar
        lines.insert(0, _Line(explanation.offset, explanation.offset, text="offset"))
        drawn.insert(0, "")
    shown = explanation.ranks.iloc[[line.row for line in lines if line.row is not None]]
    columns = _columns(explanation, shown)
    if contributions_first:
        n_first = _N_IDENTIFYING
    else:
        n_first = len(columns)
    ranks = iter(zip(*(cells for _, cells in columns), strict=True))
    unjudged = shown["note"].str.contains("unjudged").to_dict()
    has_unjudged = any(unjudged.values())
    rows = []
    for line, bar in zip(lines, drawn, strict=True):
        cells = [line.text] if line.row is None else next(ranks)
        before, after = cells[:n_first], cells[n_first:]
        if line.row is None:
            after = [""] * (len(columns) - n_first)
        amounts: Cells = [decimals(line.contribution), bar, decimals(line.running)]
        if has_unjudged:
            mark = ["unjudged" if unjudged.get(line.row) else ""]
        else:
            mark = []
        rows.append(
            Row([*before, *amounts, *after, *mark], span=n_first if line.row is None else 1)
        )
    heads = [column for column, _ in columns]
    heads[n_first:n_first] = [
        Column("contribution"),
        Column("", left=True, redundant=True),
        Column("running"),
    ]
    if has_unjudged:
        heads.append(Column("", left=True))
    n_hidden, total = (
        sum(line.n_hidden for line in hidden),
        sum(line.contribution for line in hidden),
    )
    together = Sentence(
        f"Not shown: {n_hidden} ranks, which contribute {decimals(total)} together."
    )
    elsewhere = "`.ranks`, or -o FILE.csv of the command"
    return Table(heads, rows, elsewhere=elsewhere, notes=[together] if len(hidden) > 1 else [])


def _lines(ranks: pd.DataFrame) -> list[_Line]:
    """Return the rows to show of a ranking, and a line for each part that is left out.

    Of long rankings, the first third, the last rank, and the ranks that contribute most are shown.
    """
    contribution, running = _floats(ranks, "contribution"), _floats(ranks, "running")
    single = ranks["rank"].notna().to_numpy(dtype=bool)
    below = ranks["note"].str.contains("below the cutoff").to_numpy(dtype=bool)
    counting = np.flatnonzero(single & ~below)
    shown = np.ones(len(counting), dtype=np.bool_)
    if len(counting) > _MOST_RANKS + 1:
        size = np.abs(contribution[counting])
        size[: _MOST_RANKS // 3] = size[-1] = np.inf
        shown[np.argsort(-size, kind="stable")[_MOST_RANKS:]] = False
        # A line that replaces one rank takes as much space as the rank.
        alone = ~shown[1:-1] & shown[:-2] & shown[2:]
        shown[1:-1] |= alone
    lines = []
    for part in np.split(np.arange(len(counting)), np.flatnonzero(np.diff(shown)) + 1):
        rows = counting[part]
        if shown[part].all():
            lines += [
                _Line(float(contribution[row]), float(running[row]), row) for row in rows.tolist()
            ]
        else:
            amount, end = float(contribution[rows].sum()), float(running[rows[-1]])
            lines.append(_Line(amount, end, text=f"... {len(rows)} more ranks", n_hidden=len(rows)))
    if below.any():
        text = f"{number_of(int(below.sum()), 'rank')} below the cutoff"
        lines.append(_Line(0.0, float(running[np.flatnonzero(below)[-1]]), text=text))
    for row in np.flatnonzero(~single).tolist():
        lines.append(
            _Line(float(contribution[row]), float(running[row]), text=str(ranks["note"].iloc[row]))
        )
    return lines


def _columns(explanation: Explanation, ranks: pd.DataFrame) -> list[tuple[Column, list[str]]]:
    """Return the columns before the contribution, and their cells, of some ranks."""
    names, details = list(ranks.columns), explanation.details
    parts = names[names.index("discount") + 1 : names.index("contribution")]
    columns = [
        (Column("rank"), list(map(str, ranks["rank"]))),
        (_DOCNO, list(map(str, ranks["docno"]))),
        *((Column(name, spare=1), _brief(_floats(ranks, name))) for name in explanation.labels),
        *((Column(name, spare=2), _brief(_floats(ranks, name))) for name in details),
    ]
    gain, discount = _floats(ranks, "gain"), _floats(ranks, "discount")
    if not parts and not np.isnan(gain).all() and gain_name(explanation.ranks, details) == "gain":
        columns.append((Column("gain", spare=2), _brief(gain)))
    if not parts and not np.isnan(discount).all() and len(set(discount.tolist())) > 1:
        columns.append((Column("discount", spare=3), list(map(decimals, discount.tolist()))))
    columns += [
        (Column(name, spare=4), list(map(decimals, ranks[name].tolist()))) for name in parts
    ]
    return columns


def _brief(values: Floats) -> list[str]:
    """Return labels or gains as text; whole numbers have no decimals."""
    known = values[~np.isnan(values)]
    digits = 15 if ((known == np.round(known)) & (np.abs(known) < 1e15)).all() else 4
    return [
        "-" if np.isnan(value) else spell(float(f"{value:.{digits}g}")) for value in values.tolist()
    ]


def _aspects(aspects: pd.DataFrame) -> list[Block]:
    if len(aspects) < 2:
        return []
    rows = [
        [name, *map(decimals, numbers)]
        for name, *numbers in aspects.itertuples(index=False, name=None)
    ]
    first, *others = aspects.columns
    return [Table([Column(first, left=True, shorten=_SHORTEN), *map(Column, others)], rows)]


def _swaps(swaps: pd.DataFrame | None) -> list[Block]:
    if swaps is None or swaps.empty:
        return []
    rows = [
        [f"{rank}-{rank + 1}", above, below, *(f"{error:g}" for error in errors), decimals(cost)]
        for rank, above, below, *errors, cost in swaps.head(5).itertuples(index=False, name=None)
    ]
    columns = [
        Column("ranks"),
        *(Column(name, left=True, shorten=_SHORTEN) for name in ("above", "below")),
        *(Column(name, spare=1) for name in swaps.columns[3:-1]),
        Column("cost"),
    ]
    return [Heading("Costliest errors of adjacent documents"), Table(columns, rows)]


def _shortfall(
    value: float, ideal: Explanation | None, shortfall: pd.DataFrame | None
) -> list[Block]:
    if shortfall is None or ideal is None:
        return []
    best, short = ideal.value, ideal.value - value
    if short <= 1e-12:
        return [Sentence("This is a best ranking.")]
    table = shortfall[shortfall["shortfall"] > 1e-12]
    top = table.sort_values("shortfall", ascending=False, kind="stable").head(5)
    rows = [
        [
            _known(rank),
            _known(docno, note),
            decimals(own),
            _known(ideal),
            decimals(attained),
            decimals(amount),
        ]
        for rank, docno, own, ideal, attained, amount, note in top.itertuples(
            index=False, name=None
        )
    ]
    columns = [
        Column("rank"),
        _DOCNO,
        Column("contribution"),
        Column("in a best ranking", left=True, shorten=_SHORTEN),
        Column("contribution"),
        Column("shortfall"),
    ]
    title = (
        f"A best ranking has {decimals(best)} ({decimals(short)} more). Largest shortfalls by rank"
    )
    return [Heading(title), Table(columns, rows)]


def _known(name: object, note: str = "") -> str:
    return (note or "-") if pd.isna(name) else str(name)  # type: ignore[call-overload]


class Comparison(View):
    """The difference between the values of two runs on one topic, document by document.

    Returned by `Explanation.compare`. It prints as text of at most 80 columns and is shown as HTML
    in notebooks.

    Parameters
    ----------
    a, b : Explanation
        The explanations, of the same measure, topic and judgments.

    Attributes
    ----------
    a, b : Explanation
        The explanations compared.
    difference : float
        The value of `a` minus that of `b`.
    documents : DataFrame
        One row per document that either run retrieves: ``docno``, its labels, ``rank_a rank_b``
        (missing where it is not retrieved), ``contribution_a contribution_b difference`` and
        ``note``. The largest absolute differences come first. Contributions that belong to no
        document, and offsets that differ, have rows without a docno. The differences sum to
        `difference`.
    ranks : DataFrame
        The comparison by rank: ``rank docno_a contribution_a docno_b contribution_b difference
        note``. The differences sum to `difference`, too.

    Examples
    --------
    >>> from pt_multiaspect import TOMA
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> measure = TOMA(aspects={"relevance": 1, "credibility": 1})
    >>> a = measure.explain({"a": {"q1": {"d2": 2.0, "d1": 1.0}}}, qrels, "q1")
    >>> b = measure.explain({"b": {"q1": {"d1": 2.0, "d2": 1.0}}}, qrels, "q1")
    >>> a.compare(b).documents[["docno", "rank_a", "rank_b", "difference"]].round(3)
      docno  rank_a  rank_b  difference
    0    d2       1       2       0.281
    1    d1       2       1      -0.140
    """

    def __init__(self, a: Explanation, b: Explanation) -> None:
        _check(a, b)
        self.a, self.b = a, b
        self.difference = a.value - b.value
        self.documents = _documents(a, b)
        self.ranks = _ranks(a, b)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the runs."""
        if self.a.run == self.b.run:
            return ("a", "b")
        return (self.a.run, self.b.run)

    def __repr__(self) -> str:
        difference = f"{' - '.join(self.names)} {decimals(self.difference)}"
        return f"<Comparison: {self.a.label} for topic {self.a.qid}, {difference}>"

    def _blocks(self) -> list[Block]:
        a, b, documents = self.a, self.b, self.documents
        values = [
            f"{name} {decimals(side.value)}" for name, side in zip(self.names, (a, b), strict=True)
        ]
        retrieved = documents["docno"].notna()
        differing = documents[retrieved & (documents["difference"] != 0)]
        shown = pd.concat([differing.head(_MOST_DOCUMENTS), documents[~retrieved]])
        hidden = differing["difference"].iloc[_MOST_DOCUMENTS:]
        numbers = (
            shown[["contribution_a", "contribution_b", "difference"]]
            .to_numpy(dtype=np.float64)
            .tolist()
        )
        names = map(_known, shown["docno"], shown["note"])
        ranks = [map(_known, shown[f"rank_{side}"]) for side in "ab"]
        drawn = bars([amounts[-1] for amounts in numbers])
        rows: list[Cells] = [
            [name, *run_ranks, *map(decimals, amounts), bar]
            for name, *run_ranks, amounts, bar in zip(names, *ranks, numbers, drawn, strict=True)
        ]
        heads = [
            Column(f"{what} {name}", in_text=f"{what} {crop(name, _NAME)}")
            for what in ("rank in", "contribution in")
            for name in self.names
        ]
        between = Column(
            " - ".join(self.names), in_text=" - ".join(crop(name, _NAME) for name in self.names)
        )
        columns = [_DOCNO, *heads, between, Column("", left=True, redundant=True)]
        same = int((retrieved & (documents["difference"] == 0)).sum())
        notes = []
        if len(hidden):
            total = decimals(float(hidden.sum()))
            notes.append(Sentence(f"... {number_of(len(hidden), 'more document')}: {total}"))
        if same:
            notes.append(Sentence(f"{number_of(same, 'document')} without a difference"))
        return [
            Heading(a.label),
            Sentence(
                f"topic {a.qid}: {', '.join(values)}, {' - '.join(self.names)} "
                f"{decimals(self.difference)}"
            ),
            Table(columns, rows, notes=notes),
        ]

    def _title(self) -> str:
        return f"{self.a.label}, topic {self.a.qid}"


def _check(a: Explanation, b: Explanation) -> None:
    if not isinstance(b, Explanation):
        raise MultiAspectError(
            "compare: expected the explanation of another run, as explain returns it, got "
            f"{shown(b)}"
        )
    if a.measure != b.measure or a.qid != b.qid:
        raise MultiAspectError(
            f"compare: expected two explanations of one measure and one topic, got {a.label} for "
            f"topic {a.qid} and "
            f"{b.label} for topic {b.qid}"
        )
    labels = a.judged.merge(
        b.judged, how="outer", left_index=True, right_index=True, suffixes=("_a", "_b")
    )
    for column in a.labels:
        labels_a, labels_b = (
            labels[f"{column}_{side}"].to_numpy(dtype=np.float64) for side in "ab"
        )
        wrong = np.flatnonzero(~np.isclose(labels_a, labels_b, equal_nan=True))
        if len(wrong):
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got the {column} labels "
                f"{labels_a[wrong[0]]:g} and {labels_b[wrong[0]]:g} for document "
                f"{labels.index[wrong[0]]}"
            )
        if a.scales[column] != b.scales[column]:
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got scales of {column} that "
                "were inferred as "
                f"{a.scales[column].scale} and {b.scales[column].scale}; declare the scales, or "
                "explain both runs "
                "on the same qrels"
            )


def _documents(a: Explanation, b: Explanation) -> pd.DataFrame:
    docnos = list(dict.fromkeys([*a.retrieved, *b.retrieved]))
    positions = [
        {docno: position for position, docno in enumerate(run.retrieved)} for run in (a, b)
    ]
    singles = [single["contribution"].tolist() for single in _single_ranks(a, b)]
    known = (
        pd.concat([a.ranks, b.ranks])
        .dropna(subset=["docno"])
        .drop_duplicates("docno")
        .set_index("docno")
    )
    labels = {column: known[column].reindex(docnos).to_numpy() for column in a.labels}
    columns: dict[str, Any] = {"docno": docnos, **labels}
    contributions, notes = [], [""] * len(docnos)
    for side, position_of, single, name in zip(
        "ab", positions, singles, ("first", "second"), strict=True
    ):
        ranked = [position_of.get(docno) for docno in docnos]
        columns[f"rank_{side}"] = pd.array(
            [pd.NA if at is None else at + 1 for at in ranked], dtype="Int64"
        )
        contributions.append(
            [0.0 if at is None or at >= len(single) else single[at] for at in ranked]
        )
        for row, at in enumerate(ranked):
            if at is not None and at >= len(single):
                notes[row] = f"in a row of several ranks of the {name} run"
    documents = pd.DataFrame({**columns, **_sides(*contributions), "note": notes})
    order = np.argsort(-documents["difference"].abs().to_numpy(), kind="stable")
    return _with_rest(documents.iloc[order].reset_index(drop=True), a, b)


def _sides(a: Any, b: Any) -> dict[str, Any]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return {"contribution_a": a, "contribution_b": b, "difference": a - b}


def _single_ranks(a: Explanation, b: Explanation) -> list[pd.DataFrame]:
    """Return the rows of single ranks of both runs."""
    return [run.ranks[run.ranks["rank"].notna()] for run in (a, b)]


def _with_rest(table: pd.DataFrame, a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return a table, then the amounts that belong to no document, and the offsets if they differ."""
    amounts: dict[str, list[float]] = {}
    for side, explanation in enumerate((a, b)):
        rest = explanation.ranks[explanation.ranks["rank"].isna()]
        for note, contribution in zip(rest["note"], rest["contribution"].tolist(), strict=True):
            amounts.setdefault(note, [0.0, 0.0])[side] += contribution
    if a.offset != b.offset:
        amounts["offset"] = [a.offset, b.offset]
    if not amounts:
        return table
    rest = pd.DataFrame(
        {
            **_sides(*zip(*amounts.values(), strict=True)),
            "note": pd.Series([*amounts], dtype=object),
        }
    )
    for column in table.columns.difference(rest.columns):
        dtype = table[column].dtype if pd.api.types.is_numeric_dtype(table[column]) else object
        rest[column] = pd.Series([None] * len(rest), dtype=dtype)
    rest = rest[table.columns]
    if table.empty:
        return rest
    return pd.concat([table, rest], ignore_index=True)


def _ranks(a: Explanation, b: Explanation) -> pd.DataFrame:
    singles = _single_ranks(a, b)
    n = max(map(len, singles))
    columns: dict[str, Any] = {"rank": pd.array(range(1, n + 1), dtype="Int64")}
    contributions = []
    for side, single in zip("ab", singles, strict=True):
        columns[f"docno_{side}"] = pd.Series(
            [*single["docno"].tolist(), *[None] * (n - len(single))], dtype=object
        )
        contributions.append(
            np.append(single["contribution"].to_numpy(), np.zeros(n - len(single)))
        )
    ranks = pd.DataFrame(
        {**columns, **_sides(*contributions), "note": pd.Series([""] * n, dtype=object)}
    )
    return _with_rest(ranks, a, b)
