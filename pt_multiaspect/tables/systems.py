"""Tables of systems and measures, for papers, notebooks and terminals."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import choice, proportion
from ..analysis._frames import check_directions, matrices
from ..analysis._significance import TESTS, check_correction
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, shown
from ..evaluation import aggregate
from ..evaluation.topic_groups import read_topic_groups, rows_by_group
from ..integration.parsing import Measures, record_measures
from ..kernels.intervals import half_width
from ..views import Cell, Table, View, fixed_point, latex_of
from .content import Comparisons, column_heads, decimals_by_label, known_measures, means_table

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

INTERVALS = ("half-width", "ends", "difference")

_STYLES = {"best": "font-weight: bold", "second": "text-decoration: underline"}


class SystemsTable(View):
    """Result of `systems_table`: a table of systems and measures.

    It prints as text and is shown in notebooks; `to_latex`, `to_styler` and `to_html` return it in other formats.

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
            A ``table`` environment after a comment with the required package, booktabs. It requires LaTeX of 2020
            or later. Names of systems, measures and groups are escaped; letters other than Latin and Greek ones
            require XeLaTeX or LuaLaTeX.

        Raises
        ------
        MultiAspectError
            If the label has other characters than letters, digits and ``: . + / - _``.
        """
        if label is not None and not re.fullmatch(r"[\w:.+/-]+", str(label), re.ASCII):
            raise MultiAspectError(f"label: expected letters, digits and any of : . + / - _, got {label!r}")
        return latex_of(self.cells, caption=caption, label=label)

    def to_styler(self) -> Styler:
        """Return the table as a pandas Styler, to style further.

        Returns
        -------
        pandas.io.formats.style.Styler
            A Styler of texts; the numbers are in the result of `aggregate`. The caption explains the signs and
            heads. Names are escaped for HTML.
        """
        heads = [column.head for column in self.cells.columns[1:]]
        group, groups, names, rows = None, [], [], []
        for row in self.cells.all_rows():
            first, *cells = row.cells
            if not cells:
                group = _cell(first).text
                continue
            groups.append(group)
            names.append(_cell(first).whole)
            rows.append([_cell(cell) for cell in cells])
        index = pd.MultiIndex.from_arrays([groups, names]) if group is not None else pd.Index(names, dtype=object)
        texts, styles = (
            pd.DataFrame([[text(cell) for cell in cells] for cells in rows], index, heads)
            for text in (lambda cell: cell.whole, lambda cell: _STYLES.get(cell.mark, ""))
        )
        styler = texts.style.apply(lambda _: styles, axis=None).format(escape="html")
        for axis in (0, 1):
            styler = styler.format_index(escape="html", axis=axis)
        # The class of pandas' own tables, to which themes apply their colours.
        styler = styler.set_table_attributes('class="dataframe"')
        notes = [f"{note.text}: {note.code}." if note.code else note.text for note in self.cells.notes]
        return styler.set_caption(html.escape(" ".join(notes))).set_properties(
            subset=None, **{"text-align": "right"}
        )


def _cell(cell: object) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(str(cell))


def systems_table(
    perquery: Any,
    measures: Measures | None = None,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    correction: str | None = "holm",
    alpha: float = 0.05,
    ci: float | None = None,
    interval: str = "half-width",
    decimals: int | Mapping[str, int] = 3,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
) -> SystemsTable:
    r"""Return a table of systems and measures, as in papers.

    The best value of each measure is bold, the second best of three or more systems underlined. Measures for which
    lower is better are marked by an arrow.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``: columns ``name qid measure value``.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame, as for `aggregate`. By default, those recorded by `evaluate`. For values that are
        not those of a measure, a mapping ``{alias: 'higher'}`` or ``{alias: 'lower'}`` tells which are better; they
        are averaged.
    baseline : str or sequence of str, optional
        Names of systems. Systems that differ significantly from them are marked, by a dagger for one baseline,
        and by letters for several. No tests by default. A note states the difference that each measure detects
        with a probability of .8, the median over the pairs of systems (see `analysis.detectable_difference`); not
        for the test 'tukey', and not for measures that are no means over topics.
    test : {'t', 'bootstrap', 'permutation', 'tukey'}, default 't'
        The test; see `analysis.compare_with_baseline`, also for the next two parameters. Tests other than 't' draw
        10 000 resamples.
    correction : str or None, default 'holm'
        Correction for multiple testing, among all comparisons of one measure.
    alpha : float in (0, 1), default 0.05
        The significance level.
    ci : float in (0, 1), optional
        Confidence level of intervals, as for `aggregate`. No intervals by default.
    interval : {'half-width', 'ends', 'difference'}, default 'half-width'
        Whether the intervals of `ci` are shown as ± half their width, or by their ends. The half width is not
        limited to the range of the measure, and is an error for sums of counts, such as NumRet.
        ``'difference'`` shows the ends of the intervals of the differences from the only baseline, corrected like
        the tests; `ci` is omitted.
    decimals : int or mapping of str to int, default 3
        Number of decimals, from 0 to 15, or the number per label (3 for others). Sums of counts such as NumRet
        have none unless a mapping says so.
    by : str, path, mapping or Series, optional
        Groups of topics, as for `aggregate`. The table has a section for each group, then one for all topics, with
        best values of their own. Comparisons in all groups are corrected together, as by
        `analysis.compare_with_baseline`.

    Returns
    -------
    SystemsTable
        The table, which prints as text and is shown in notebooks; ``to_latex(caption, label)`` returns LaTeX,
        ``to_styler()`` a pandas Styler and ``to_html()`` a page.

    Raises
    ------
    MultiAspectError
        If systems have different topics for a measure or different measures, a value is not finite, a name is
        unknown, or a parameter is out of range.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that values are averaged and
        higher is assumed to be better.

    See Also
    --------
    aggregate : The numbers, in full precision.

    Notes
    -----
    Labels given to `evaluate` are the heads of columns. Printed measures are shortened to name and cutoff, numbered
    if they are equal. Below the table, a legend says what measures of several aspects compute, and states the
    measure of each head that is not its name, and the scales of aspects that measures name.

    Best and second best values are determined among all systems of the table by unrounded values, and by each
    measure's direction: of two values that print alike, only one may be bold. Systems tied for the best
    value are all bold, and of three or more systems, those with the next lower value are underlined. If all systems
    are tied, none is marked. Values that differ by a rounding error (at most 1e-12 of the maximum) are tied.

    Columns may be over different topics, as after ``evaluate(average_over='positive')``: a sentence below the table
    then states their numbers.

    Stability: provisional in `by`. How groups of topics are given, and their rows, may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {q: {"d1": {"relevance": 1}, "d2": {"relevance": 0}} for q in ("q1", "q2")}
    >>> good, bad = ({q: {"d1": 1.0, "d2": score} for q in qrels} for score in (0.0, 2.0))
    >>> perquery = ma.evaluate({"dense_v2": good, "BM25": bad}, qrels, ["AP", ma.ESL], progress=False)
    >>> table = ma.systems_table(perquery, decimals=2)
    >>> print(table)
                 AP  ESL ↓
    dense_v2  1.00*  0.00*
    BM25      0.50   1.00
    * best value of the column
    >>> print(table.to_latex(caption="Results.", label="tab:results"))
    % requires \usepackage{booktabs}
    \begin{table}
    \centering
    \caption{Results.}
    \label{tab:results}
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
    Best value per column in bold.
    }
    \end{table}
    <BLANKLINE>
    """
    choice("interval", *INTERVALS)(interval)
    if interval == "difference" and (ci is not None or not isinstance(baseline, str)):
        raise MultiAspectError(
            "interval='difference': expected one baseline and no ci (the level is 1 - alpha), got "
            f"baseline={shown(baseline)}, ci={shown(ci)}"
        )
    choice("test", *TESTS)(test)
    proportion("alpha")(alpha)
    check_correction(test, None if test == "tukey" else correction)
    perquery = as_pandas(perquery)
    systems, by_label = matrices(perquery, least=1)
    known, words = known_measures(perquery, measures)
    names, values = list(map(str, systems)), {str(label): matrix for label, matrix in by_label.items()}
    perquery = perquery.assign(name=perquery["name"].map(str), measure=perquery["measure"].map(str))
    topic_groups = None if by is None else read_topic_groups(by, perquery)
    if measures is not None:
        record_measures(perquery, known)
    lowest = np.array([[[matrix.min() for matrix in values.values()]]])
    check_directions(perquery, lowest, list(values), {**known, **words}, "systems_table")
    heads = column_heads({label: words.get(label, known[label]) for label in values})
    digits = decimals_by_label(decimals, heads, known)
    means = aggregate(perquery, ci=ci, by=topic_groups)
    half_widths: dict[str, list[str]] = {}
    if ci is not None and interval == "half-width":
        parts = [] if topic_groups is None else [rows for _, rows in rows_by_group(perquery, topic_groups)]
        for head in heads:
            _check_mean(head.label, means[head.label].tail(len(names)), values[head.label])
            arrays = [*(_values_of(rows, head.label, names) for rows in parts), values[head.label]]
            widths = [float(half_width(row, ci)) for rows in arrays for row in rows]
            half_widths[head.label] = [
                "" if math.isnan(width) else f"± {fixed_point(width, digits[head.label])}" for width in widths
            ]
    table = means_table(
        means,
        perquery,
        heads,
        digits,
        ci=ci,
        half_widths=half_widths,
        comparisons=Comparisons.of(perquery, baseline, topic_groups, test, correction, alpha),
        differences=interval == "difference",
        by=topic_groups,
        define=True,
    )
    return SystemsTable(table)


def _check_mean(label: str, aggregates: pd.Series[float], values: Floats) -> None:
    """Check that aggregates are means of the values of topics, which half widths require."""
    if not np.allclose(aggregates, values.mean(axis=1), rtol=1e-9, atol=1e-12):
        raise MultiAspectError(
            f"interval='half-width': {label} is not the mean of its per-query values; use interval='ends'"
        )


def _values_of(rows: pd.DataFrame, label: str, names: list[str]) -> Floats:
    """Return the values of a measure, systems × topics."""
    wide = rows[rows["measure"] == label].pivot(index="name", columns="qid", values="value")
    return wide.reindex(names).to_numpy(dtype=np.float64)
