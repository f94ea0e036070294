"""Explanations of the value of one topic, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from ._cached import cached_property
from ._numbers import spell
from ._typing import Bools, Floats, Ints
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
#: Number of wrong pairs, and of ranks with a shortfall, that are shown.
_MOST_COSTS = 5
#: Differences from a best ranking up to this are rounding errors.
_ROUNDING_ERROR = 1e-12
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
    >>> d1 = {"relevance": 1, "credibility": 0}
    >>> d2 = {"relevance": 1, "credibility": 1}
    >>> qrels = {"q1": {"d1": d1, "d2": d2}}
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
        """The columns of `ranks` that are computed from the labels, such as TOMA's class."""
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
        >>> d1 = {"relevance": 1, "credibility": 0}
        >>> d2 = {"relevance": 1, "credibility": 1}
        >>> qrels = {"q1": {"d1": d1, "d2": d2}}
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
    first_detail = _N_IDENTIFYING + len(labels)
    gain = columns.index("gain")
    return columns[first_detail:gain]


def gain_name(ranks: pd.DataFrame, details: list[str]) -> str:
    """Return the name of the column that shows the gain.

    This is a detail with the same numbers, or ``gain``.
    """
    # NaN, where no gain is known, would be unequal to itself.
    gain = np.nan_to_num(_floats(ranks, "gain"))
    for name in details:
        detail = np.nan_to_num(_floats(ranks, name))
        if np.array_equal(detail, gain):
            return name
    return "gain"


def _floats(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column as numbers."""
    return frame[name].to_numpy(dtype=np.float64)


def _rank_table(explanation: Explanation, contributions_first: bool = False) -> Table:
    """Return the table of ranks.

    The columns of contributions follow the others or, with `contributions_first`, the docno.
    """
    ranks = explanation.ranks
    lines = _lines(ranks)
    # Columns besides the contributions have cells in the lines of single ranks only.
    shown_rows = [line.row for line in lines if line.row is not None]
    shown_ranks = ranks.iloc[shown_rows]
    columns = _columns(explanation, shown_ranks)
    n_before = len(columns)  # the columns before the contributions
    if contributions_first:
        n_before = _N_IDENTIFYING
    columns += _remarks(shown_ranks)
    n_columns = len(columns)
    cells_by_row = _cells_by_row(columns, shown_rows)

    rows = []
    if explanation.offset:
        # The first line. It is not a contribution of documents, so it has no bar.
        offset = explanation.offset
        offset_line = _Line(offset, offset, text="offset")
        rows.append(_rank_row(offset_line, "", None, n_before, n_columns))
    contributions = [line.contribution for line in lines]
    for line, bar in zip(lines, bars(contributions), strict=True):
        cells = None
        if line.row is not None:  # the line is that of a single rank
            cells = cells_by_row[line.row]
        rows.append(_rank_row(line, bar, cells, n_before, n_columns))
    heads = _rank_heads(columns, n_before)
    elsewhere = "`.ranks`, or -o FILE.csv of the command"
    return Table(heads, rows, elsewhere=elsewhere, notes=_hidden_note(lines))


def _cells_by_row(
    columns: Sequence[_FilledColumn], rows: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Return the cells of each row in all columns, which have one cell for each of `rows`."""
    cells_by_column = [column.cells for column in columns]
    cells_of_rows = zip(*cells_by_column, strict=True)
    return dict(zip(rows, cells_of_rows, strict=True))


def _remarks(ranks: pd.DataFrame) -> list[_FilledColumn]:
    """Return a column that marks the unjudged documents; none if all are judged."""
    has_mark = ranks["note"].str.contains("unjudged")
    is_unjudged = has_mark.to_numpy(dtype=bool)
    if not is_unjudged.any():
        return []
    remarks = np.where(is_unjudged, "unjudged", "").tolist()
    return [_FilledColumn(Column("", left=True), remarks)]


def _rank_heads(columns: Sequence[_FilledColumn], n_before: int) -> list[Column]:
    """Return the heads of the table of ranks.

    The heads of the contribution follow those of the first `n_before` columns.
    """
    heads = [column.head for column in columns]
    bar_head = Column("", left=True, redundant=True)
    return [
        *heads[:n_before],
        Column("contribution"),
        bar_head,
        Column("running"),
        *heads[n_before:],
    ]


def _rank_row(
    line: _Line, bar: Bar | str, cells: Sequence[str] | None, n_before: int, n_columns: int
) -> Row:
    """Return a row of the table of ranks: the contribution follows the first `n_before` cells.

    Parameters
    ----------
    line : _Line
        The line.
    bar : Bar or str
        The bar of its contribution.
    cells : sequence of str, optional
        The `n_columns` other cells of a rank; None if the line replaces ranks.
    """
    amounts: Cells = [decimals(line.contribution), bar, decimals(line.running)]
    if cells is None:
        # The text of the line spans the columns before the contribution.
        no_cells = [""] * (n_columns - n_before)
        return Row([line.text, *amounts, *no_cells], span=n_before)
    cells_before = cells[:n_before]
    cells_after = cells[n_before:]
    return Row([*cells_before, *amounts, *cells_after])


def _hidden_note(lines: list[_Line]) -> list[Sentence]:
    """Return how many ranks several lines replace, and what these contribute."""
    hidden = [line for line in lines if line.n_hidden]
    # A single line states its own number and contribution.
    if len(hidden) < 2:
        return []
    n_hidden = 0
    total = 0.0
    for line in hidden:
        n_hidden += line.n_hidden
        total += line.contribution
    total_text = decimals(total)
    return [Sentence(f"Not shown: {n_hidden} ranks, which contribute {total_text} together.")]


def _lines(ranks: pd.DataFrame) -> list[_Line]:
    """Return the lines of the table of ranks.

    These are the ranks down to the cutoff (see `_lines_to_cutoff`), a line for all ranks below the
    cutoff, and the contributions that belong to no single rank.
    """
    contribution = _floats(ranks, "contribution")
    running = _floats(ranks, "running")
    is_single_rank = ranks["rank"].notna().to_numpy(dtype=bool)
    is_below_cutoff = ranks["note"].str.contains("below the cutoff").to_numpy(dtype=bool)
    rows_to_cutoff = np.flatnonzero(is_single_rank & ~is_below_cutoff)
    lines = _lines_to_cutoff(rows_to_cutoff, contribution, running)
    rows_below_cutoff = np.flatnonzero(is_below_cutoff)
    n_below = len(rows_below_cutoff)
    if n_below:
        last_row = rows_below_cutoff[-1]
        last_running = float(running[last_row])
        text = f"{number_of(n_below, 'rank')} below the cutoff"
        lines.append(_Line(0.0, last_running, text=text))  # they contribute nothing
    for row in np.flatnonzero(~is_single_rank).tolist():
        text = str(ranks["note"].iloc[row])
        row_contribution = float(contribution[row])
        row_running = float(running[row])
        lines.append(_Line(row_contribution, row_running, text=text))
    return lines


def _lines_to_cutoff(rows: Ints, contribution: Floats, running: Floats) -> list[_Line]:
    """Return a line for each rank that is shown, and one for each sequence of hidden ranks.

    Parameters
    ----------
    rows : array of int
        The rows of the ranks down to the cutoff, in order.
    contribution, running : array of float
        The columns of all rows.
    """
    is_shown = _shown_ranks(contribution[rows])
    rows_and_masks = zip(rows.tolist(), is_shown.tolist(), strict=True)
    lines = []
    # Adjacent ranks that are all shown, or all hidden, form a sequence.
    for are_shown, sequence in groupby(rows_and_masks, key=itemgetter(1)):
        sequence_rows = [row for row, _ in sequence]
        if are_shown:
            for row in sequence_rows:
                row_contribution = float(contribution[row])
                row_running = float(running[row])
                lines.append(_Line(row_contribution, row_running, row))
        else:
            n_hidden = len(sequence_rows)
            last_row = sequence_rows[-1]
            total = float(contribution[sequence_rows].sum())
            last_running = float(running[last_row])
            text = f"... {n_hidden} more ranks"
            lines.append(_Line(total, last_running, text=text, n_hidden=n_hidden))
    return lines


def _shown_ranks(contribution: Floats) -> Bools:
    """Return which ranks down to the cutoff are shown.

    Of long rankings, these are the first ranks, the last one, and those that contribute most.

    Parameters
    ----------
    contribution : array of float, shape (n_ranks,)
    """
    n_ranks = len(contribution)
    # To hide a single rank saves no space, as a line takes its place.
    if n_ranks <= _MOST_RANKS + 1:
        return np.ones(n_ranks, dtype=np.bool_)
    # The first ranks and the last one are always shown: no contribution exceeds infinity.
    importance = np.abs(contribution)
    n_first = _MOST_RANKS // 3
    importance[:n_first] = np.inf
    importance[-1] = np.inf
    most_important_first = np.argsort(-importance, kind="stable")
    is_shown = np.zeros(n_ranks, dtype=np.bool_)
    is_shown[most_important_first[:_MOST_RANKS]] = True
    return is_shown | _is_between_shown(is_shown)


def _is_between_shown(is_shown: Bools) -> Bools:
    """Return which ranks have a rank that is shown directly above and directly below them."""
    is_above_shown = np.append(False, is_shown[:-1])  # nothing is above the first rank
    is_below_shown = np.append(is_shown[1:], False)
    is_between: Bools = is_above_shown & is_below_shown
    return is_between


class _FilledColumn(NamedTuple):
    """The head of a column of the table of ranks, and its cells."""

    head: Column
    cells: list[str]


def _columns(explanation: Explanation, ranks: pd.DataFrame) -> list[_FilledColumn]:
    """Return the columns before the contribution, with the cells of the given ranks.

    With too little space, columns with a higher `spare` are left out first.
    """
    rank_cells = list(map(str, ranks["rank"]))
    docno_cells = list(map(str, ranks["docno"]))
    columns = [
        _FilledColumn(Column("rank"), rank_cells),
        _FilledColumn(_DOCNO, docno_cells),
    ]
    for name in explanation.labels:
        label_cells = _brief(_floats(ranks, name))
        columns.append(_FilledColumn(Column(name, spare=1), label_cells))
    for name in explanation.details:
        detail_cells = _brief(_floats(ranks, name))
        columns.append(_FilledColumn(Column(name, spare=2), detail_cells))
    # Measures that combine several values have the part of each aspect, in place of one gain.
    parts = _part_columns(ranks)
    for name in parts:
        part_cells = list(map(decimals, ranks[name].tolist()))
        columns.append(_FilledColumn(Column(name, spare=4), part_cells))
    if not parts:
        columns += _gain_and_discount(explanation, ranks)
    return columns


def _part_columns(ranks: pd.DataFrame) -> list[str]:
    """Return the columns with the parts of aspects: those between discount and contribution."""
    columns = list(ranks.columns)
    first_part = columns.index("discount") + 1
    contribution = columns.index("contribution")
    return columns[first_part:contribution]


def _gain_and_discount(explanation: Explanation, ranks: pd.DataFrame) -> list[_FilledColumn]:
    """Return the columns of gains and discounts, if they are known and tell more than others."""
    columns = []
    gain = _floats(ranks, "gain")
    has_gains = not np.isnan(gain).all()
    # Gains are left out if a column of details has the same numbers, which then has the name.
    name = gain_name(explanation.ranks, explanation.details)
    if has_gains and name == "gain":
        gain_cells = _brief(gain)
        columns.append(_FilledColumn(Column("gain", spare=2), gain_cells))
    # Discounts are left out if they are all the same.
    discounts = _floats(ranks, "discount").tolist()
    has_discounts = not np.isnan(discounts).all()
    has_several_discounts = len(set(discounts)) > 1
    if has_discounts and has_several_discounts:
        discount_cells = list(map(decimals, discounts))
        columns.append(_FilledColumn(Column("discount", spare=3), discount_cells))
    return columns


def _brief(values: Floats) -> list[str]:
    """Return labels or gains as text: '-' for NaN, whole numbers without decimals.

    Values have 4 significant digits, unless all of them are whole numbers.
    """
    known = values[~np.isnan(values)]
    n_digits = 4
    is_whole = known == np.round(known)
    is_exact = np.abs(known) < 1e15  # floats represent any number of 15 digits
    if (is_whole & is_exact).all():
        n_digits = 15
    texts = []
    for value in values.tolist():
        text = "-"
        if not np.isnan(value):
            rounded = float(f"{value:.{n_digits}g}")
            text = spell(rounded)  # 2.0 as '2'
        texts.append(text)
    return texts


def _aspects(aspects: pd.DataFrame) -> list[Block]:
    """Return a table of the values of the aspects and their parts in the value of the measure.

    There is none for a single aspect.
    """
    if len(aspects) < 2:
        return []
    rows = []
    for name, *numbers in aspects.itertuples(index=False, name=None):
        rows.append([name, *map(decimals, numbers)])
    name_head, *number_heads = aspects.columns
    columns = [Column(name_head, left=True, shorten=_SHORTEN)]
    columns += map(Column, number_heads)
    return [Table(columns, rows)]


def _swaps(swaps: pd.DataFrame | None) -> list[Block]:
    """Return a table of the costliest pairs of adjacent documents in the wrong order."""
    if swaps is None or swaps.empty:
        return []
    # After rank, docno and next_docno, swaps have the error on each aspect, and at last the cost.
    aspects = list(swaps.columns[3:-1])
    rows = []
    for swap in swaps.head(_MOST_COSTS).to_dict("records"):
        rank = swap["rank"]
        next_rank = rank + 1
        errors = [f"{swap[aspect]:g}" for aspect in aspects]
        documents = [swap["docno"], swap["next_docno"]]
        ranks = f"{rank}-{next_rank}"
        cost = decimals(swap["cost"])
        rows.append([ranks, *documents, *errors, cost])
    columns = [
        Column("ranks"),
        Column("above", left=True, shorten=_SHORTEN),
        Column("below", left=True, shorten=_SHORTEN),
        *(Column(aspect, spare=1) for aspect in aspects),
        Column("cost"),
    ]
    return [Heading("Costliest errors of adjacent documents"), Table(columns, rows)]


def _shortfall_cells(row: Any) -> list[str]:
    """Return the cells of a row of `Explanation.shortfall`.

    A row for ranks together has no rank and no document: the note that describes them stands there.
    """
    return [
        _known(row.rank),
        _known(row.docno, row.note),
        decimals(row.contribution),
        _known(row.ideal_docno),
        decimals(row.ideal_contribution),
        decimals(row.shortfall),
    ]


def _shortfall(
    value: float, ideal: Explanation | None, shortfall: pd.DataFrame | None
) -> list[Block]:
    """Return how much a value is below that of a best ranking, and at which ranks.

    Parameters
    ----------
    value : float
        The value.
    ideal : Explanation or None
        The explanation of a best ranking, if one is known.
    shortfall : DataFrame or None
        The shortfall of each rank, see `Explanation.shortfall`.
    """
    if shortfall is None or ideal is None:
        return []
    total = ideal.value - value
    if total <= _ROUNDING_ERROR:
        return [Sentence("This is a best ranking.")]
    is_above_rounding = shortfall["shortfall"] > _ROUNDING_ERROR
    ranks_with_shortfall = shortfall[is_above_rounding]
    largest_first = ranks_with_shortfall.sort_values("shortfall", ascending=False, kind="stable")
    largest = largest_first.head(_MOST_COSTS)
    rows = [_shortfall_cells(row) for row in largest.itertuples(index=False)]
    columns = [
        Column("rank"),
        _DOCNO,
        Column("contribution"),
        Column("in a best ranking", left=True, shorten=_SHORTEN),
        Column("contribution"),
        Column("shortfall"),
    ]
    best = decimals(ideal.value)
    more = decimals(total)
    title = f"A best ranking has {best} ({more} more). Largest shortfalls by rank"
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
    >>> d1 = {"relevance": 1, "credibility": 0}
    >>> d2 = {"relevance": 1, "credibility": 1}
    >>> qrels = {"q1": {"d1": d1, "d2": d2}}
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
    """Return the documents that contribute differently, and notes on the others.

    Parameters
    ----------
    documents : DataFrame
        See `Comparison.documents`, which end with amounts that belong to no document.
    names : tuple of str
        The names of both runs.
    """
    is_document = documents["docno"].notna()
    is_different = documents["difference"] != 0
    differing = documents[is_document & is_different]
    amounts = documents[~is_document]
    shown = pd.concat([differing.head(_MOST_DOCUMENTS), amounts])
    differences = shown["difference"].astype(np.float64)
    rows: list[Cells] = []
    row: Any
    for row, bar in zip(shown.itertuples(index=False), bars(differences.tolist()), strict=True):
        cells: Cells = [
            _known(row.docno, row.note),
            _known(row.rank_a),
            _known(row.rank_b),
            decimals(row.contribution_a),
            decimals(row.contribution_b),
            decimals(row.difference),
            bar,
        ]
        rows.append(cells)
    columns = [
        _DOCNO,
        *_columns_of_runs("rank in", names),
        *_columns_of_runs("contribution in", names),
        _difference_column(names),
        Column("", left=True, redundant=True),
    ]
    notes = []
    hidden = differing.iloc[_MOST_DOCUMENTS:]
    n_hidden = len(hidden)
    if n_hidden:
        hidden_documents = number_of(n_hidden, "more document")
        hidden_difference = float(hidden["difference"].sum())
        total = decimals(hidden_difference)
        notes.append(Sentence(f"... {hidden_documents}: {total}"))
    is_same = is_document & ~is_different
    n_same = int(is_same.sum())
    if n_same:
        same_documents = number_of(n_same, "document")
        notes.append(Sentence(f"{same_documents} without a difference"))
    return Table(columns, rows, notes=notes)


def _columns_of_runs(head: str, names: tuple[str, str]) -> list[Column]:
    """Return one column per run, whose names are shortened in text."""
    columns = []
    for name in names:
        short_name = crop(name, _NAME)
        columns.append(Column(f"{head} {name}", in_text=f"{head} {short_name}"))
    return columns


def _difference_column(names: tuple[str, str]) -> Column:
    """Return the column of the differences of two runs, whose names are shortened in text."""
    head = " - ".join(names)
    short_names = [crop(name, _NAME) for name in names]
    short_head = " - ".join(short_names)
    return Column(head, in_text=short_head)


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
    # One row per document that either judges, with a column of each side per aspect.
    labels = a.judged.merge(
        b.judged, how="outer", left_index=True, right_index=True, suffixes=("_a", "_b")
    )
    for aspect in a.labels:
        labels_a = _floats(labels, f"{aspect}_a")
        labels_b = _floats(labels, f"{aspect}_b")
        is_equal = np.isclose(labels_a, labels_b, equal_nan=True)
        if not is_equal.all():
            first = int(np.argmin(is_equal))
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got the {aspect} labels "
                f"{labels_a[first]:g} and {labels_b[first]:g} for document {labels.index[first]}"
            )
        scale_a = a.scales[aspect]
        scale_b = b.scales[aspect]
        if scale_a != scale_b:
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got scales of {aspect} that "
                f"were inferred as {scale_a.scale} and {scale_b.scale}; declare the scales, or "
                "explain both runs on the same qrels"
            )


class _RunDocument(NamedTuple):
    """A document in one of two runs."""

    #: NA if the run does not retrieve the document.
    rank: Any
    contribution: float
    #: Whether the document has no contribution of its own: one row has those of several ranks.
    shares_row: bool


def _documents(a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return one row per document that either run retrieves, largest difference first.

    Rows for the amounts that belong to no document follow.
    """
    docnos = list(dict.fromkeys([*a.retrieved, *b.retrieved]))  # distinct, in order
    columns: dict[str, Any] = {"docno": docnos}
    # Documents of both runs have two rows, with the same labels.
    rows = pd.concat([a.ranks, b.ranks])
    rows = rows.dropna(subset=["docno"])
    labels = rows.drop_duplicates("docno").set_index("docno")
    for aspect in a.labels:
        aspect_labels = labels[aspect].reindex(docnos)
        columns[aspect] = aspect_labels.to_numpy()
    documents_a = _documents_of_run(a, docnos)
    documents_b = _documents_of_run(b, docnos)
    ranks_a = [document.rank for document in documents_a]
    ranks_b = [document.rank for document in documents_b]
    columns["rank_a"] = pd.array(ranks_a, dtype="Int64")
    columns["rank_b"] = pd.array(ranks_b, dtype="Int64")
    contributions_a = [document.contribution for document in documents_a]
    contributions_b = [document.contribution for document in documents_b]
    # Both contributions, and the difference of them.
    columns.update(_sides(contributions_a, contributions_b))
    columns["note"] = list(map(_note_on_sharing, documents_a, documents_b))
    documents = pd.DataFrame(columns)
    size_of_difference = documents["difference"].abs().to_numpy()
    largest_first = np.argsort(-size_of_difference, kind="stable")
    documents = documents.iloc[largest_first].reset_index(drop=True)
    return _with_rest(documents, a, b)


def _note_on_sharing(document_a: _RunDocument, document_b: _RunDocument) -> str:
    """Return the note on a document whose contribution to a run is in a row of several ranks."""
    if document_b.shares_row:
        return "in a row of several ranks of the second run"
    if document_a.shares_row:
        return "in a row of several ranks of the first run"
    return ""


def _documents_of_run(run: Explanation, docnos: list[str]) -> list[_RunDocument]:
    """Return the rank and the contribution of each document in a run.

    If contributions are marginal, only the first ranks have one each. Further ranks share a row of
    the explanation, and their documents contribute 0 on their own. So does a document that the run
    does not retrieve.
    """
    rank_of = {docno: rank for rank, docno in enumerate(run.retrieved, 1)}
    contributions = _single_ranks(run)["contribution"].tolist()  # by rank
    n_single = len(contributions)
    documents = []
    for docno in docnos:
        rank = rank_of.get(docno)
        if rank is None:
            document = _RunDocument(pd.NA, 0.0, shares_row=False)
        elif rank <= n_single:
            document = _RunDocument(rank, contributions[rank - 1], shares_row=False)
        else:
            document = _RunDocument(rank, 0.0, shares_row=True)
        documents.append(document)
    return documents


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
    is_single_rank = run.ranks["rank"].notna()
    return run.ranks[is_single_rank]


def _with_rest(table: pd.DataFrame, a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return a table, followed by a row for each amount that belongs to no document."""
    amounts_a = _amounts_without_rank(a)
    amounts_b = _amounts_without_rank(b)
    notes = list(dict.fromkeys([*amounts_a, *amounts_b]))
    if a.offset != b.offset:
        notes.append("offset")
        amounts_a["offset"] = a.offset
        amounts_b["offset"] = b.offset
    if not notes:
        return table
    # An amount that one run lacks is 0 there.
    rest_a = [amounts_a.get(note, 0.0) for note in notes]
    rest_b = [amounts_b.get(note, 0.0) for note in notes]
    amounts = _sides(rest_a, rest_b)
    rest = pd.DataFrame(amounts)
    rest["note"] = pd.Series(notes, dtype=object)
    # The columns of documents, such as their labels, are empty.
    for name in table.columns.difference(rest.columns):
        rest[name] = _empty_column(table[name], len(rest))
    rest = rest[table.columns]
    if table.empty:
        return rest
    return pd.concat([table, rest], ignore_index=True)


def _empty_column(column: pd.Series, n_rows: int) -> pd.Series:
    """Return missing values to append to a column of documents: ranks, labels or texts.

    Ranks are nullable integers, and labels floats: both types have a missing value. Texts have the
    type object.
    """
    dtype: Any = object
    if pd.api.types.is_numeric_dtype(column):
        dtype = column.dtype
    return pd.Series([None] * n_rows, dtype=dtype)


def _amounts_without_rank(run: Explanation) -> dict[str, float]:
    """Return the sums of the contributions that belong to no single rank, by their note."""
    has_no_rank = run.ranks["rank"].isna()
    rows = run.ranks[has_no_rank]
    contributions = rows["contribution"].tolist()
    amounts: dict[str, float] = {}
    for note, contribution in zip(rows["note"], contributions, strict=True):
        earlier = amounts.get(note, 0.0)
        amounts[note] = earlier + contribution
    return amounts


def _ranks(a: Explanation, b: Explanation) -> pd.DataFrame:
    """Return one row per rank with the documents of both runs, then the amounts without a rank."""
    single_a = _single_ranks(a)
    single_b = _single_ranks(b)
    # The shorter ranking is padded.
    n_ranks = max(len(single_a), len(single_b))
    docnos_a = _pad_column(single_a["docno"], n_ranks, None)
    docnos_b = _pad_column(single_b["docno"], n_ranks, None)
    contributions_a = _pad_column(single_a["contribution"], n_ranks, 0.0)
    contributions_b = _pad_column(single_b["contribution"], n_ranks, 0.0)
    columns = {
        "rank": pd.array(range(1, n_ranks + 1), dtype="Int64"),
        "docno_a": pd.Series(docnos_a, dtype=object),
        "docno_b": pd.Series(docnos_b, dtype=object),
        **_sides(contributions_a, contributions_b),
        "note": pd.Series([""] * n_ranks, dtype=object),
    }
    return _with_rest(pd.DataFrame(columns), a, b)


def _pad_column(column: pd.Series[Any], length: int, missing: Any) -> list[Any]:
    """Return the values of a column, followed by missing ones."""
    values = column.tolist()
    n_missing = length - len(values)
    return [*values, *[missing] * n_missing]
