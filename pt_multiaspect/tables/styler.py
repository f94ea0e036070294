"""Tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ir_measures
import pandas as pd

from ..aspects.wording import in_words
from .content import Cell, content
from .heads import scales_of

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

__all__ = ["to_styler"]

_SUPERSCRIPTS = str.maketrans("abcdefghijklmnop", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ")
_STYLES = {0: "", 1: "font-weight: bold", 2: "text-decoration: underline"}


def to_styler(
    perquery: Any,
    measures: ir_measures.Measure
    | str
    | Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    correction: str | None = "holm",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    seed: int = 0,
    ci: float | None = None,
    interval: str = "half-width",
    decimals: int | Mapping[str, int] = 3,
    labels: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Styler:
    """Return the table of `to_latex` as a pandas Styler, which notebooks show.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``: columns ``name qid measure value``.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame, as for `aggregate`. By default, those recorded by `evaluate`. For values of no
        measure, a mapping ``{label: measure}`` may have the word 'higher' or 'lower' for what is better; they are
        averaged.
    baseline : str or sequence of str, optional
        Names of systems. Systems that differ significantly from them are marked.
    test : {'t', 'bootstrap', 'permutation', 'tukey'}, default 't'
        The test; see `analysis.compare_with_baseline`.
    correction : str or None, default 'holm'
        Correction for multiple testing.
    alpha : float in (0, 1), default 0.05
        The significance level.
    n_resamples : int, default 10_000
        Number of resamples. Not used by the test 't'.
    seed : int, default 0
        Random seed.
    ci : float in (0, 1), optional
        Confidence level of intervals. No intervals by default.
    interval : {'half-width', 'ends'}, default 'half-width'
        Whether intervals are shown as ± half their width, or by their ends.
    decimals : int or mapping of str to int, default 3
        Number of decimals, or the number per label.
    labels : mapping of str to str, optional
        Heads of columns. By default, printed measures are shortened.
    groups : mapping of str to sequence of str, optional
        The systems of each group.

    Returns
    -------
    pandas.io.formats.style.Styler
        Its data are texts; numbers are in the result of `aggregate`. The caption explains the signs and heads.
        Names are escaped for HTML.

    Raises
    ------
    MultiAspectError
        As `to_latex`.
    ImportError
        If Jinja2 is not installed.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that values are averaged and
        higher is taken as better.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {q: {"d1": {"relevance": 1}, "d2": {"relevance": 0}} for q in ("q1", "q2")}
    >>> good, bad = ({q: {"d1": 1.0, "d2": score} for q in qrels} for score in (0.0, 2.0))
    >>> perquery = ma.evaluate({"dense": good, "BM25": bad}, qrels, ["AP", ma.ESL], progress=False)
    >>> ma.to_styler(perquery, decimals=2).data
              AP ESL ↓
    dense   1.00  0.00
    BM25    0.50  1.00
    """
    table = content(
        perquery, measures, baseline=baseline, test=test, correction=correction, alpha=alpha,
        n_resamples=n_resamples, seed=seed, ci=ci, interval=interval, decimals=decimals, labels=labels,
        groups=groups, function="to_styler",
    )  # fmt: skip
    rows = [(group, name) for group, names in table.groups.items() for name in names]
    heads = [f"{head.short} ↓" if head.lower_is_better else head.short for head in table.heads]
    names = [name + _superscript(table.marks.get(name, "")) for _, name in rows]
    index = (
        pd.Index(names, dtype=object)
        if groups is None
        else pd.MultiIndex.from_arrays([[group for group, _ in rows], names])
    )
    texts = pd.DataFrame([[_text(cell) for cell in table.cells[name]] for _, name in rows], index, heads)
    styles = pd.DataFrame([[_STYLES[cell.place] for cell in table.cells[name]] for _, name in rows], index, heads)
    notes = [*table.notes, *(f"{head.short}: {head.meaning}." for head in table.heads if head.meaning)]
    notes += [f"{scales.name}: {in_words(scales)}." for scales in scales_of(table.heads)]
    styler = texts.style.apply(lambda _: styles, axis=None).format(escape="html")
    for axis in (0, 1):
        styler = styler.format_index(escape="html", axis=axis)
    # The class of pandas' own tables, by which themes know that they are to be shown in their colours.
    styler = styler.set_table_attributes('class="dataframe"')
    return styler.set_caption(html.escape(" ".join(notes))).set_properties(subset=None, **{"text-align": "right"})


def _superscript(mark: str) -> str:
    return "" if mark == "†" else mark.translate(_SUPERSCRIPTS)


def _text(cell: Cell) -> str:
    text = cell.number + cell.marks.translate(_SUPERSCRIPTS)
    if len(cell.interval) == 1:
        return f"{text} ± {cell.interval[0]}"
    return f"{text} [{', '.join(cell.interval)}]" if cell.interval else text
