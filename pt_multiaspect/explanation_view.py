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
from ._typing import Bools, Floats
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
        """The explanation of a best ranking of all judged documents; None if none is known."""
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
        names = {
            "docno_b": "docno",
            "contribution_b": "contribution",
            "docno_a": "ideal_docno",
            "contribution_a": "ideal_contribution",
            "difference": "shortfall",
        }
        columns = ["rank", *names.values(), "note"]
        return pairs.rename(columns=names)[columns]

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
        return self._blocks_with(_rank_table(self))

    def _html_blocks(self) -> list[Block]:
        return self._blocks_with(_rank_table(self, contributions_first=True))

    def _blocks_with(self, ranks: Table) -> list[Block]:
        """Return the whole report, with the given table of ranks."""
        return [
            Heading(self.label),
            Sentence(f"topic {self.qid}, {self.run}: {decimals(self.value)}"),
            ranks,
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
    start = _N_IDENTIFYING + len(labels)
    return columns[start : columns.index("gain")]


def gain_name(ranks: pd.DataFrame, details: list[str]) -> str:
    """Return the name of the column that shows the gain.

    This is a detail with the same numbers, or ``gain``.
    """
    gain = np.nan_to_num(_floats(ranks, "gain"))
    for name in details:
        if np.array_equal(np.nan_to_num(_floats(ranks, name)), gain):
            return name
    return "gain"


def _floats(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column as numbers."""
    return frame[name].to_numpy(dtype=np.float64)


def _rank_table(explanation: Explanation, contributions_first: bool = False) -> Table:
    """Return the table of ranks.

    Contributions follow what they are computed from or, at first, the documents.
    """
    ranks = explanation.ranks
    lines = _lines(ranks)
    drawn: list[Bar | str] = [*bars([line.contribution for line in lines])]
    if explanation.offset:  # not a contribution of documents, so it has no bar
        lines.insert(0, _Line(explanation.offset, explanation.offset, text="offset"))
        drawn.insert(0, "")
    shown = ranks.iloc[[line.row for line in lines if line.row is not None]]
    columns = _columns(explanation, shown)
    n_first = _N_IDENTIFYING if contributions_first else len(columns)
    is_unjudged = shown["note"].str.contains("unjudged").to_dict()
    has_unjudged = any(is_unjudged.values())
    cells_of_ranks = zip(*(cells for _, cells in columns), strict=True)
    rows = []
    for line, bar in zip(lines, drawn, strict=True):
        amounts: Cells = [decimals(line.contribution), bar, decimals(line.running)]
        cells: list[Any]
        if line.row is None:
            after = [""] * (len(columns) - n_first)
            cells = [line.text, *amounts, *after]
        else:
            labels = next(cells_of_ranks)
            cells = [*labels[:n_first], *amounts, *labels[n_first:]]
        if has_unjudged:
            cells.append("unjudged" if is_unjudged.get(line.row) else "")
        rows.append(Row(cells, span=n_first if line.row is None else 1))
    heads = [column for column, _ in columns]
    table_heads = [
        *heads[:n_first],
        Column("contribution"),
        Column("", left=True, redundant=True),
        Column("running"),
        *heads[n_first:],
    ]
    if has_unjudged:
        table_heads.append(Column("", left=True))
    elsewhere = "`.ranks`, or -o FILE.csv of the command"
    return Table(table_heads, rows, elsewhere=elsewhere, notes=_hidden_note(lines))


def _hidden_note(lines: list[_Line]) -> list[Sentence]:
    """Return how many ranks several lines replace, and what these contribute."""
    hidden = [line for line in lines if line.n_hidden]
    if len(hidden) < 2:
        return []
    n_hidden = sum(line.n_hidden for line in hidden)
    total = sum(line.contribution for line in hidden)
    return [Sentence(f"Not shown: {n_hidden} ranks, which contribute {decimals(total)} together.")]


def _lines(ranks: pd.DataFrame) -> list[_Line]:
    """Return the rows to show of a ranking, and a line for each part that is left out.

    Of long rankings, the first third, the last rank, and the ranks that contribute most are shown.
    """
    contribution = _floats(ranks, "contribution")
    running = _floats(ranks, "running")
    is_single = ranks["rank"].notna().to_numpy(dtype=bool)
    is_below = ranks["note"].str.contains("below the cutoff").to_numpy(dtype=bool)
    counting = np.flatnonzero(is_single & ~is_below)
    is_shown = _shown_ranks(contribution[counting])
    changes = np.flatnonzero(np.diff(is_shown)) + 1
    lines = []
    for part in np.split(np.arange(len(counting)), changes):
        rows = counting[part]
        if is_shown[part].all():
            for row in rows.tolist():
                lines.append(_Line(float(contribution[row]), float(running[row]), row))
        else:
            total = float(contribution[rows].sum())
            end = float(running[rows[-1]])
            text = f"... {len(rows)} more ranks"
            lines.append(_Line(total, end, text=text, n_hidden=len(rows)))
    if is_below.any():
        last = np.flatnonzero(is_below)[-1]
        text = f"{number_of(int(is_below.sum()), 'rank')} below the cutoff"
        lines.append(_Line(0.0, float(running[last]), text=text))
    for row in np.flatnonzero(~is_single).tolist():
        text = str(ranks["note"].iloc[row])
        lines.append(_Line(float(contribution[row]), float(running[row]), text=text))
    return lines


def _shown_ranks(contribution: Floats) -> Bools:
    """Return which of the ranks that can contribute are shown."""
    is_shown = np.ones(len(contribution), dtype=np.bool_)
    if len(contribution) <= _MOST_RANKS + 1:
        return is_shown
    size = np.abs(contribution)
    size[: _MOST_RANKS // 3] = np.inf
    size[-1] = np.inf
    largest_first = np.argsort(-size, kind="stable")
    is_shown[largest_first[_MOST_RANKS:]] = False
    # A line that replaces one rank takes as much space as the rank.
    is_alone = ~is_shown[1:-1] & is_shown[:-2] & is_shown[2:]
    is_shown[1:-1] |= is_alone
    return is_shown


def _columns(explanation: Explanation, ranks: pd.DataFrame) -> list[tuple[Column, list[str]]]:
    """Return the columns before the contribution, and their cells, of some ranks."""
    columns = [
        (Column("rank"), list(map(str, ranks["rank"]))),
        (_DOCNO, list(map(str, ranks["docno"]))),
    ]
    for name in explanation.labels:
        columns.append((Column(name, spare=1), _brief(_floats(ranks, name))))
    details = explanation.details
    for name in details:
        columns.append((Column(name, spare=2), _brief(_floats(ranks, name))))
    names = list(ranks.columns)
    parts = names[names.index("discount") + 1 : names.index("contribution")]
    if parts:
        for name in parts:
            columns.append((Column(name, spare=4), list(map(decimals, ranks[name].tolist()))))
        return columns
    gain = _floats(ranks, "gain")
    if not np.isnan(gain).all() and gain_name(explanation.ranks, details) == "gain":
        columns.append((Column("gain", spare=2), _brief(gain)))
    discount = _floats(ranks, "discount")
    if not np.isnan(discount).all() and len(set(discount.tolist())) > 1:
        columns.append((Column("discount", spare=3), list(map(decimals, discount.tolist()))))
    return columns


def _brief(values: Floats) -> list[str]:
    """Return labels or gains as text; whole numbers have no decimals."""
    known = values[~np.isnan(values)]
    is_whole = (known == np.round(known)) & (np.abs(known) < 1e15)
    n_digits = 15 if is_whole.all() else 4
    texts = []
    for value in values.tolist():
        if np.isnan(value):
            texts.append("-")
        else:
            rounded = float(f"{value:.{n_digits}g}")
            texts.append(spell(rounded))
    return texts


def _aspects(aspects: pd.DataFrame) -> list[Block]:
    """Return the values of the aspects and their parts in the value of the measure."""
    if len(aspects) < 2:
        return []
    rows = []
    for name, *numbers in aspects.itertuples(index=False, name=None):
        rows.append([name, *map(decimals, numbers)])
    first, *others = aspects.columns
    columns = [Column(first, left=True, shorten=_SHORTEN), *map(Column, others)]
    return [Table(columns, rows)]


def _swaps(swaps: pd.DataFrame | None) -> list[Block]:
    """Return the costliest pairs of adjacent documents in the wrong order."""
    if swaps is None or swaps.empty:
        return []
    rows = []
    for rank, above, below, *errors, cost in swaps.head(5).itertuples(index=False, name=None):
        error_cells = [f"{error:g}" for error in errors]
        rows.append([f"{rank}-{rank + 1}", above, below, *error_cells, decimals(cost)])
    aspects = swaps.columns[3:-1]
    columns = [
        Column("ranks"),
        Column("above", left=True, shorten=_SHORTEN),
        Column("below", left=True, shorten=_SHORTEN),
        *(Column(name, spare=1) for name in aspects),
        Column("cost"),
    ]
    return [Heading("Costliest errors of adjacent documents"), Table(columns, rows)]


def _shortfall(
    value: float, ideal: Explanation | None, shortfall: pd.DataFrame | None
) -> list[Block]:
    """Return how much is missing to a best ranking, and at which ranks."""
    if shortfall is None or ideal is None:
        return []
    total = ideal.value - value
    if total <= 1e-12:
        return [Sentence("This is a best ranking.")]
    short = shortfall[shortfall["shortfall"] > 1e-12]
    largest = short.sort_values("shortfall", ascending=False, kind="stable").head(5)
    rows = []
    row: Any
    for row in largest.itertuples(index=False):
        cells = [
            _known(row.rank),
            _known(row.docno, row.note),
            decimals(row.contribution),
            _known(row.ideal_docno),
            decimals(row.ideal_contribution),
            decimals(row.shortfall),
        ]
        rows.append(cells)
    columns = [
        Column("rank"),
        _DOCNO,
        Column("contribution"),
        Column("in a best ranking", left=True, shorten=_SHORTEN),
        Column("contribution"),
        Column("shortfall"),
    ]
    title = (
        f"A best ranking has {decimals(ideal.value)} ({decimals(total)} more). Largest shortfalls "
        "by rank"
    )
    return [Heading(title), Table(columns, rows)]


def _known(name: object, note: str = "") -> str:
    """Return a name as text, or the note in its place if it is missing."""
    if not pd.isna(name):  # type: ignore[call-overload]
        return str(name)
    return note or "-"


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
        self.a = a
        self.b = b
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
        name_a, name_b = self.names
        values = (
            f"{name_a} {decimals(self.a.value)}, {name_b} {decimals(self.b.value)}, "
            f"{name_a} - {name_b} {decimals(self.difference)}"
        )
        return [
            Heading(self.a.label),
            Sentence(f"topic {self.a.qid}: {values}"),
            _comparison_table(self.documents, self.names),
        ]

    def _title(self) -> str:
        return f"{self.a.label}, topic {self.a.qid}"


def _comparison_table(documents: pd.DataFrame, names: tuple[str, str]) -> Table:
    """Return the documents that contribute differently, and notes on the others."""
    is_document = documents["docno"].notna()
    is_different = documents["difference"] != 0
    differing = documents[is_document & is_different]
    shown = pd.concat([differing.head(_MOST_DOCUMENTS), documents[~is_document]])
    amounts = shown[["contribution_a", "contribution_b", "difference"]]
    amounts = amounts.astype(np.float64)
    rows: list[Cells] = []
    row: Any
    for row, numbers, bar in zip(
        shown.itertuples(index=False),
        amounts.to_numpy().tolist(),
        bars(amounts["difference"].tolist()),
        strict=True,
    ):
        title = _known(row.docno, row.note)
        ranks = [_known(row.rank_a), _known(row.rank_b)]
        rows.append([title, *ranks, *map(decimals, numbers), bar])
    columns = [
        _DOCNO,
        *_columns_of_runs("rank in", names),
        *_columns_of_runs("contribution in", names),
        _difference_column(names),
        Column("", left=True, redundant=True),
    ]
    notes = []
    hidden = differing["difference"].iloc[_MOST_DOCUMENTS:]
    if len(hidden):
        total = decimals(float(hidden.sum()))
        notes.append(Sentence(f"... {number_of(len(hidden), 'more document')}: {total}"))
    n_same = int((is_document & (documents["difference"] == 0)).sum())
    if n_same:
        notes.append(Sentence(f"{number_of(n_same, 'document')} without a difference"))
    return Table(columns, rows, notes=notes)


def _columns_of_runs(head: str, names: tuple[str, str]) -> list[Column]:
    """Return one column per run, whose names are shortened in text."""
    return [Column(f"{head} {name}", in_text=f"{head} {crop(name, _NAME)}") for name in names]


def _difference_column(names: tuple[str, str]) -> Column:
    """Return the column of the differences of two runs."""
    in_text = " - ".join(crop(name, _NAME) for name in names)
    return Column(" - ".join(names), in_text=in_text)


def _check(a: Explanation, b: Explanation) -> None:
    """Raise an error if two explanations cannot be compared."""
    if not isinstance(b, Explanation):
        raise MultiAspectError(
            "compare: expected the explanation of another run, as explain returns it, got "
            f"{shown(b)}"
        )
    if a.measure != b.measure or a.qid != b.qid:
        raise MultiAspectError(
            f"compare: expected two explanations of one measure and one topic, got {a.label} for "
            f"topic {a.qid} and {b.label} for topic {b.qid}"
        )
    labels = a.judged.merge(
        b.judged, how="outer", left_index=True, right_index=True, suffixes=("_a", "_b")
    )
    for column in a.labels:
        labels_a = _floats(labels, f"{column}_a")
        labels_b = _floats(labels, f"{column}_b")
        different = np.flatnonzero(~np.isclose(labels_a, labels_b, equal_nan=True))
        if len(different):
            row = different[0]
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got the {column} labels "
                f"{labels_a[row]:g} and {labels_b[row]:g} for document {labels.index[row]}"
            )
        scale_a = a.scales[column]
        scale_b = b.scales[column]
        if scale_a != scale_b:
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got scales of {column} that "
                f"were inferred as {scale_a.scale} and {scale_b.scale}; declare the scales, or "
                "explain both runs on the same qrels"
            )


def _documents(a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return one row per document that either run retrieves."""
    docnos = list(dict.fromkeys([*a.retrieved, *b.retrieved]))
    rows = pd.concat([a.ranks, b.ranks])
    rows = rows.dropna(subset=["docno"])
    labels_of_documents = rows.drop_duplicates("docno").set_index("docno")
    columns: dict[str, Any] = {"docno": docnos}
    for column in a.labels:
        columns[column] = labels_of_documents[column].reindex(docnos).to_numpy()
    notes = [""] * len(docnos)
    contributions = []
    for side, run, name in (("a", a, "first"), ("b", b, "second")):
        rank_of = {docno: rank for rank, docno in enumerate(run.retrieved, 1)}
        single = _single_ranks(run)["contribution"].tolist()
        ranks: list[Any] = []
        amounts = []
        for row, docno in enumerate(docnos):
            rank = rank_of.get(docno)
            amount = 0.0
            if rank is not None and rank <= len(single):
                amount = single[rank - 1]
            elif rank is not None:
                notes[row] = f"in a row of several ranks of the {name} run"
            ranks.append(pd.NA if rank is None else rank)
            amounts.append(amount)
        columns[f"rank_{side}"] = pd.array(ranks, dtype="Int64")
        contributions.append(amounts)
    columns.update(_sides(*contributions))
    columns["note"] = notes
    documents = pd.DataFrame(columns)
    largest_first = np.argsort(-documents["difference"].abs().to_numpy(), kind="stable")
    documents = documents.iloc[largest_first].reset_index(drop=True)
    return _with_rest(documents, a, b)


def _sides(a: Any, b: Any) -> dict[str, Floats]:
    """Return the columns of two runs' contributions and their differences."""
    contribution_a = np.asarray(a, dtype=np.float64)
    contribution_b = np.asarray(b, dtype=np.float64)
    return {
        "contribution_a": contribution_a,
        "contribution_b": contribution_b,
        "difference": contribution_a - contribution_b,
    }


def _single_ranks(run: Explanation) -> pd.DataFrame:
    """Return the rows of single ranks."""
    return run.ranks[run.ranks["rank"].notna()]


def _with_rest(table: pd.DataFrame, a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return a table, then the amounts that belong to no document.

    Offsets are among these if they differ.
    """
    amounts: dict[str, list[float]] = {}
    for side, run in enumerate((a, b)):
        rest = run.ranks[run.ranks["rank"].isna()]
        for note, contribution in zip(rest["note"], rest["contribution"].tolist(), strict=True):
            amounts.setdefault(note, [0.0, 0.0])[side] += contribution
    if a.offset != b.offset:
        amounts["offset"] = [a.offset, b.offset]
    if not amounts:
        return table
    columns: dict[str, Any] = dict(_sides(*zip(*amounts.values(), strict=True)))
    columns["note"] = pd.Series(list(amounts), dtype=object)
    rest_table = pd.DataFrame(columns)
    for name in table.columns.difference(rest_table.columns):
        dtype: Any = object
        if pd.api.types.is_numeric_dtype(table[name]):
            dtype = table[name].dtype
        rest_table[name] = pd.Series([None] * len(rest_table), dtype=dtype)
    rest_table = rest_table[table.columns]
    if table.empty:
        return rest_table
    return pd.concat([table, rest_table], ignore_index=True)


def _ranks(a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return one row per rank, with the documents of both runs."""
    single_a = _single_ranks(a)
    single_b = _single_ranks(b)
    n_ranks = max(len(single_a), len(single_b))
    contributions = [_pad_column(run["contribution"], n_ranks, 0.0) for run in (single_a, single_b)]
    columns = {
        "rank": pd.array(range(1, n_ranks + 1), dtype="Int64"),
        "docno_a": pd.Series(_pad_column(single_a["docno"], n_ranks, None), dtype=object),
        "docno_b": pd.Series(_pad_column(single_b["docno"], n_ranks, None), dtype=object),
        **_sides(*contributions),
        "note": pd.Series([""] * n_ranks, dtype=object),
    }
    return _with_rest(pd.DataFrame(columns), a, b)


def _pad_column(column: pd.Series[Any], length: int, missing: Any) -> list[Any]:
    """Return the values of a column, followed by missing ones."""
    return [*column.tolist(), *[missing] * (length - len(column))]
