"""Tables of systems and measures, for papers, notebooks and terminals."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from .._validation import choice, proportion
from ..analysis._significance import TESTS, check_correction
from ..analysis._value_matrices import Direction, check_directions, matrices, select_measures
from ..bases.base import is_measure
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, shown
from ..evaluation import aggregate
from ..evaluation.long_frames import measures_by_label
from ..evaluation.topic_clusters import ClusterSpec
from ..evaluation.topic_structure import TopicStructure
from ..integration.parsing import Measures, record_measures
from ..views import Cell, Sentence, Table, View, latex_of
from .content import Comparisons, column_heads, decimals_by_label, means_table

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

#: What the intervals beside values are of.
INTERVALS = ("none", "difference", "mean")

#: Whether notes only explain marks, or define the measures as well.
NOTES = ("short", "full")

_STYLES = {"best": "font-weight: bold", "second": "text-decoration: underline"}
_BELOW = "caption-side: bottom; text-align: left"


class SystemsTable(View):
    """Result of `systems_table`: a table of systems and measures.

    It prints as text and is shown in notebooks; `to_latex`, `to_styler` and `to_html` return it in
    other formats.

    Parameters
    ----------
    cells : Table
        The cells and notes.

    Examples
    --------
    See `systems_table`.
    """

    def __init__(self, cells: Table) -> None:
        self.cells = cells

    def _blocks(self) -> Sequence[Table]:
        return [self.cells]

    def _title(self) -> str:
        return "Systems and measures"

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""Return the table for papers.

        Parameters
        ----------
        caption : str, optional
            The caption. It is LaTeX, and not escaped.
        label : str, optional
            The label for ``\ref``.

        Returns
        -------
        str
            A ``table`` environment after a comment with the required package, booktabs. It requires
            LaTeX of 2020 or later. Names of systems, measures and groups are escaped; letters other
            than Latin and Greek ones require XeLaTeX or LuaLaTeX.

        Raises
        ------
        MultiAspectError
            If the label has other characters than letters, digits and ``: . + / - _``.
        """
        if label is not None and not re.fullmatch(r"[\w:.+/-]+", str(label), re.ASCII):
            raise MultiAspectError(
                f"label: expected letters, digits and any of : . + / - _, got {label!r}"
            )
        return latex_of(self.cells, caption=caption, label=label)

    def to_styler(self) -> Styler:
        """Return the table as a pandas Styler, to style further.

        Returns
        -------
        pandas.io.formats.style.Styler
            A Styler of texts; the numbers are in the result of `aggregate`. The caption, below the
            table, has the notes. Names are escaped for HTML.
        """
        heads = [column.head for column in self.cells.columns[1:]]
        index, rows = _index_and_rows(self.cells)
        text_rows = [[cell.whole for cell in row] for row in rows]
        texts = pd.DataFrame(text_rows, index, heads)
        styler = texts.style.format(escape="html")
        styler = _style_best(styler, texts, rows)
        styler = styler.format_index(escape="html", axis=0)
        styler = styler.format_index(escape="html", axis=1)
        # The class of pandas' own tables, to which themes apply their colours.
        styler = styler.set_table_attributes('class="dataframe"')
        notes = [html.escape(_note_text(note)) for note in self.cells.notes]
        styler = styler.set_caption("<br>".join(notes))
        styler = styler.set_table_styles([{"selector": "caption", "props": _BELOW}])
        return styler.set_properties(subset=None, **{"text-align": "right"})


def _style_best(styler: Styler, texts: pd.DataFrame, rows: Sequence[Sequence[Cell]]) -> Styler:
    """Return the Styler of `texts` with styles of the best and second best values.

    `rows` are the cells of the same rows and columns.
    """
    style_rows = [list(map(_style_of_cell, row)) for row in rows]
    styles = pd.DataFrame(style_rows, texts.index, texts.columns)
    # With axis=None, pandas calls the function once, for the styles of all cells.
    styler = styler.apply(lambda _: styles, axis=None)
    # Where an interval follows a marked number, in `after`, the number alone has a style.
    for column, head in enumerate(texts.columns):
        marks_before_interval = [_mark_before_interval(row[column]) for row in rows]
        for mark, style in _STYLES.items():
            is_marked = np.equal(marks_before_interval, mark)
            format_cell = partial(_mark_number, style)
            styler = styler.format(format_cell, subset=(texts.index[is_marked], [head]))
    return styler


def _mark_before_interval(cell: Cell) -> str:
    """Return the mark of a cell whose number an interval follows; empty for other cells."""
    if cell.after:
        return cell.mark
    return ""


def _index_and_rows(table: Table) -> tuple[pd.Index[Any], list[list[Cell]]]:
    """Return the names of the rows, with their groups if there are any, and the other cells."""
    group = None
    groups: list[str | None] = []
    names: list[str] = []
    rows: list[list[Cell]] = []
    for row in table.all_rows():
        first, *others = row.cells
        first_cell = _cell(first)
        is_title = not others
        if is_title:
            group = first_cell.text
            continue
        groups.append(group)
        names.append(first_cell.whole)
        rows.append(list(map(_cell, others)))
    has_groups = group is not None
    if has_groups:
        return pd.MultiIndex.from_arrays([groups, names]), rows
    return pd.Index(names, dtype=object), rows


def _cell(cell: object) -> Cell:
    if isinstance(cell, Cell):
        return cell
    return Cell(str(cell))


def _note_text(note: Sentence) -> str:
    if note.code:
        return f"{note.text}: {note.code}."
    return note.text


def _style_of_cell(cell: Cell) -> str:
    """Return the style of a whole cell, none if an interval follows the number."""
    if cell.after:
        return ""
    return _STYLES.get(cell.mark, "")


def _mark_number(style: str, text: str) -> str:
    """Return a number and its interval in HTML, where only the number has a style."""
    number, _, interval = text.partition(" ")
    number_html = html.escape(number)
    interval_html = html.escape(interval)
    return f'<span style="{style}">{number_html}</span> {interval_html}'


def systems_table(
    perquery: Any,
    measures: Measures | None = None,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    correction: str | None = "holm",
    alpha: float = 0.05,
    interval: str = "none",
    decimals: int | Mapping[str, int] = 3,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    macro: bool = False,
    cluster: ClusterSpec = None,
    margin: float | Mapping[str, float] | None = None,
    notes: str = "short",
) -> SystemsTable:
    r"""Return a table of systems and measures, as in papers.

    The best value of each measure is bold, the second best of three or more systems underlined.
    Measures for which lower is better are marked by an arrow.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``: columns ``name qid measure
        value``. The rows of the table are in the order of the runs given to them.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame to show, in their order; by default all. A mapping ``{alias:
        measure}`` says which measures the names in the frame refer to, where it has no record of
        them. For values that are not those of a measure, ``'higher'`` or ``'lower'`` instead of one
        tells which are better; they are averaged.
    baseline : str or sequence of str, optional
        Names of systems. Systems that differ significantly from them are marked, by a dagger for
        one baseline, and by letters for several. No tests by default.
    test : {'t', 'bootstrap', 'permutation', 'tukey'}, default 't'
        The test; see `analysis.compare_with_baseline`, also for the next two parameters. Tests
        other than 't' draw 10 000 resamples.
    correction : str or None, default 'holm'
        Correction for multiple testing, among all comparisons of one measure.
    alpha : float in (0, 1), default 0.05
        The significance level. Intervals have the level 1 - `alpha`.
    interval : {'none', 'difference', 'mean'}, default 'none'
        Whether values are followed by confidence intervals: of their differences from the only
        baseline, corrected like the tests, or of the means, as for `aggregate`.
    decimals : int or mapping of str to int, default 3
        Number of decimals, from 0 to 15, or the number per label (3 for others). Sums of counts
        such as NumRet have none unless a mapping says so.
    by : str, path, mapping or Series, optional
        Groups of topics, as for `aggregate`. The table has a section for each group, then one for
        all topics, with best values of their own. Comparisons in all groups are corrected together,
        as by `analysis.compare_with_baseline`.
    macro : bool, default False
        Whether to add a section of means in which groups count equally, such as several
        collections, as for `aggregate`.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, which tests and
        intervals take into account, as for `aggregate`.
    margin : float or dict of str to float, optional
        The difference that is too small to matter, or one per measure, as for
        `analysis.compare_with_baseline`: systems that are not worse than the only baseline by as
        much are marked by a double dagger, and equivalent ones by ≈ instead.
    notes : {'short', 'full'}, default 'short'
        Whether notes state the marks, the test, the number of topics and the intervals only, or
        also explain: what each measure computes, the scales that it names, and the difference that
        it detects with a probability of .8, the median over the pairs of systems (see
        `analysis.detectable_difference`; not for the test 'tukey', and not for measures that are no
        means over topics).

    Returns
    -------
    SystemsTable
        The table, which prints as text and is shown in notebooks; ``to_latex(caption, label)``
        returns LaTeX, ``to_styler()`` a pandas Styler and ``to_html()`` a page.

    Raises
    ------
    MultiAspectError
        If systems have different topics for a measure or different measures, a value is not finite,
        a name is unknown, a parameter is out of range, or there is not one baseline for intervals
        of differences or a margin. With `cluster`, if there is neither a test nor an interval; else
        as for `analysis.compare_with_baseline`, like `by` and `macro`.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that values are
        averaged and higher is assumed to be better. With tests or intervals, as for
        `analysis.compare_with_baseline`.

    See Also
    --------
    aggregate : The numbers, in full precision.

    Notes
    -----
    Labels given to `evaluate` are the heads of columns. Printed measures are shortened to name and
    cutoff, with the parameters that differ if these are equal, as in ``CAM(base=AP)@10``.

    PyTerrier sorts the values of an experiment by name; the given order is read from the index of
    the frame, if it is still that of PyTerrier.

    Best and second best values are determined among all systems of the table by unrounded values,
    and by each measure's direction: of two values that print alike, only one may be bold. Systems
    tied for the best value are all bold, and of three or more systems, those with the next lower
    value are underlined. If all systems are tied, none is marked. Values that differ by a rounding
    error (at most 1e-12 of the maximum) are tied.

    Columns may be over different topics, as after ``evaluate(average_over='positive')``: a note
    then states their numbers.

    Stability: provisional in `by`, `macro`, `cluster`, `margin`. How groups of topics are given,
    and their rows, may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {q: {"d1": {"relevance": 1}, "d2": {"relevance": 0}} for q in ("q1", "q2")}
    >>> good, bad = ({q: {"d1": 1.0, "d2": score} for q in qrels} for score in (0.0, 2.0))
    >>> runs = {"dense_v2": good, "BM25": bad}
    >>> perquery = ma.evaluate(runs, qrels, ["AP", ma.ESL], progress=False)
    >>> table = ma.systems_table(perquery, decimals=2)
    >>> print(table)
                 AP  ESL ↓
    dense_v2  1.00*  0.00*
    BM25      0.50   1.00
    * best; 2 topics.
    >>> print(table.to_latex(caption="Results.", label="tab:results"))
    % requires \usepackage{booktabs}
    \begin{table}
    \centering
    \caption{Results.}
    \label{tab:results}
    \small
    \begin{tabular}{lrr}
    \toprule
     & AP & ESL $\downarrow$ \\
    \midrule
    dense\_v2 & \textbf{1.00} & \textbf{0.00} \\
    BM25 & 0.50 & 1.00 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    \smallskip
    \parbox{\linewidth}{\footnotesize\raggedright
    Best values in bold; 2 topics.
    }
    \end{table}
    <BLANKLINE>
    """
    _check_parameters(baseline, test, correction, alpha, interval, notes)
    perquery, measures_and_directions = _read_values(perquery, measures)
    heads = column_heads(measures_and_directions)
    known = _without_directions(measures_and_directions)
    if measures is not None:
        record_measures(perquery, known)
    structure = TopicStructure.read(perquery, known, by=by, macro=macro, cluster=cluster, test=test)
    level = 1 - alpha
    if interval == "mean":
        means = aggregate(perquery, ci=level, **structure.options)
    else:
        # Clusters affect tests and intervals, but not means.
        means = aggregate(perquery, **structure.options_of_means)
        if baseline is None:
            qids = perquery["qid"].unique().tolist()
            structure.check_clusters_apply(qids, "baseline= or interval='mean'")
    digits = decimals_by_label(decimals, heads, known)
    comparisons = Comparisons.of(perquery, baseline, structure, test, correction, alpha, margin)
    table = means_table(
        means,
        perquery,
        heads,
        digits,
        interval=interval,
        level=level,
        comparisons=comparisons,
        structure=structure,
        notes=notes,
    )
    return SystemsTable(table)


def _check_parameters(
    baseline: str | Sequence[str] | None,
    test: str,
    correction: str | None,
    alpha: float,
    interval: str,
    notes: str,
) -> None:
    """Raise an error for parameters of `systems_table` that are unknown or do not go together."""
    check_interval = choice("interval", *INTERVALS)
    check_interval(interval)
    check_notes = choice("notes", *NOTES)
    check_notes(notes)
    if interval == "difference" and not isinstance(baseline, str):
        raise MultiAspectError(
            f"interval='difference': expected one baseline, got baseline={shown(baseline)}"
        )
    check_test = choice("test", *TESTS)
    check_test(test)
    check_alpha = proportion("alpha")
    check_alpha(alpha)
    # Tukey's test has no correction.
    if test != "tukey":
        check_correction(test, correction)


def _read_values(perquery: Any, measures: object) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the values of the chosen measures, and the measure or direction of each label.

    These are None if unknown. `perquery` and `measures` are the parameters of `systems_table`.
    """
    chosen = measures
    if isinstance(measures, str) or is_measure(measures):
        chosen = [measures]
    frame = _restore_given_order(as_pandas(perquery))
    rows, given = select_measures(frame, chosen)
    _, values_by_label = matrices(rows, least=1)
    lowest_values = [matrix.min() for matrix in values_by_label.values()]
    labels = list(map(str, values_by_label))
    known = _known_measures(rows, labels, given)
    # Values below 0 show that somebody negated a measure, so that its lowest value is enough. The
    # check expects values of systems on topics, shape (n_systems, n_topics, n_measures).
    values_of_one_system = np.array([lowest_values])
    values = np.array([values_of_one_system])
    check_directions(rows, values, labels, known, "systems_table")
    names = rows["name"].map(str)
    measure_labels = rows["measure"].map(str)
    return rows.assign(name=names, measure=measure_labels), known


def _known_measures(
    rows: pd.DataFrame, labels: Sequence[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the measure or direction of each label, None if it is unknown.

    The ones that the caller has given precede those that the frame `rows` has a record of.
    """
    known: dict[str, Any] = {}
    if not set(labels) <= set(given):
        known |= measures_by_label(rows)
    known |= given
    return {label: known.get(label) for label in labels}


def _without_directions(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measure of each label, None if only its direction is known, or nothing.

    Values of such a label are averaged.
    """
    measures = dict(known)
    for label, measure in known.items():
        if isinstance(measure, Direction):
            measures[label] = None
    return measures


def _restore_given_order(perquery: Any) -> Any:
    """Return a frame in the order of the runs given to PyTerrier, which sorts its rows.

    Rows that PyTerrier sorted by name and topic keep their old numbers in the index, in which they
    were evaluated. Any other frame is returned unchanged.
    """
    if not isinstance(perquery, pd.DataFrame):
        return perquery
    if "name" not in perquery.columns or "qid" not in perquery.columns:
        return perquery
    # In the order of the index, nothing was sorted.
    index = perquery.index
    is_numbered = is_integer_dtype(index.dtype) and index.is_unique
    if not is_numbered or index.is_monotonic_increasing:
        return perquery
    # In another order than by name and topic, it was not PyTerrier that sorted the rows.
    names = perquery["name"].map(str)
    qids = perquery["qid"].map(str)
    keys = list(zip(names, qids, strict=True))
    is_order_of_pyterrier = keys == sorted(keys)
    if is_order_of_pyterrier:
        return perquery.sort_index()
    return perquery
