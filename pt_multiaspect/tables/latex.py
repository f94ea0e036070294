"""Tables for LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures

from ..aspects.wording import in_words
from ..errors import MultiAspectError
from .content import Cell, Table, content
from .heads import scales_of

__all__ = ["environment", "escape", "latex_of", "to_latex"]

#: The first line: what a document with the table has to load.
_REQUIRED = r"% requires \usepackage{booktabs}"

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    # After a line break of a table, these would be an argument.
    "[": "{[}", "]": "{]}", "*": "{*}",
    "−": "$-$", "±": r"$\pm$", "†": r"$\dagger$", "↓": r"$\downarrow$", "×": r"$\times$",
    "–": r"\textendash{}", "—": r"\textemdash{}", "’": "'", "…": r"\ldots{}",
}  # fmt: skip


def to_latex(
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
    caption: str | None = None,
    label: str | None = None,
) -> str:
    """Return a LaTeX table of systems and measures, as papers show it.

    The best value of each measure is bold, the second best underlined. Measures for which lower is better are
    marked by an arrow.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``: columns ``name qid measure value``.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame, as for `aggregate`. By default, those recorded by `evaluate`. For values of no
        measure, a mapping ``{label: measure}`` may have the word 'higher' or 'lower' for what is better; they are
        averaged.
    baseline : str or sequence of str, optional
        Names of systems. Systems that differ significantly from them are marked, by a dagger for one baseline,
        and by letters for several. No tests by default.
    test : {'t', 'bootstrap', 'permutation', 'tukey'}, default 't'
        The test; see `analysis.compare_with_baseline`, also for the next four parameters.
    correction : str or None, default 'holm'
        Correction for multiple testing, among all comparisons of one measure.
    alpha : float in (0, 1), default 0.05
        The significance level.
    n_resamples : int, default 10_000
        Number of resamples. Not used by the test 't'.
    seed : int, default 0
        Random seed.
    ci : float in (0, 1), optional
        Confidence level of intervals, as for `aggregate`. No intervals by default.
    interval : {'half-width', 'ends'}, default 'half-width'
        Whether intervals are shown as ± half their width, or by their ends. The half width is not cut off at
        the range of the measure, and is an error for GMAP and others whose aggregate is not the mean.
    decimals : int or mapping of str to int, default 3
        Number of decimals, from 0 to 15, or the number per label (3 for others). Sums of counts such as NumRet
        have none unless a mapping says so.
    labels : mapping of str to str, optional
        Heads of columns, for some or all labels of the frame. By default, labels given to `evaluate` are kept, and
        printed measures are shortened to name and cutoff, numbered if these are equal. Below the table, a legend
        states the measure of each head that is not its name, and the scales of aspects that measures name.
    groups : mapping of str to sequence of str, optional
        The systems of each group, which are shown together, in this order. Every system must be in one group.
        By default, one list in the order of the frame.
    caption : str, optional
        The caption. It is LaTeX, and not escaped.
    label : str, optional
        The label for ``\\ref``.

    Returns
    -------
    str
        A ``table`` environment after a comment with the package that it requires, booktabs. LaTeX must be of
        2020 or later. Names of systems, measures and groups are escaped; letters other than Latin and Greek
        ones require XeLaTeX or LuaLaTeX.

    Raises
    ------
    MultiAspectError
        If systems have different topics of a measure or different measures, a value is not finite, a name is
        unknown, or a parameter is out of range.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that values are averaged and
        higher is taken as better.

    Notes
    -----
    Best and second best values are decided on all systems of the table by unrounded values, and by
    each measure's direction: two values may print alike of which only one is bold. Systems tied for the best
    value are all bold, and the next lower value is underlined. If all systems are tied, none is marked. Values
    that differ by a rounding error (at most 1e-12 of the maximum) are tied.

    Columns may be over different topics, as after ``evaluate(topics='positive')``: a sentence below the table
    then gives their numbers.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {q: {"d1": {"relevance": 1}, "d2": {"relevance": 0}} for q in ("q1", "q2")}
    >>> good, bad = ({q: {"d1": 1.0, "d2": score} for q in qrels} for score in (0.0, 2.0))
    >>> perquery = ma.evaluate({"dense_v2": good, "BM25": bad}, qrels, ["AP", ma.ESL], progress=False)
    >>> print(ma.to_latex(perquery, decimals=2, caption="Results.", label="tab:results"))
    % requires \\usepackage{booktabs}
    \\begin{table}
    \\centering
    \\caption{Results.}
    \\label{tab:results}
    \\begin{tabular}{lrr}
    \\toprule
     & AP & ESL $\\downarrow$ \\\\
    \\midrule
    dense\\_v2 & \\textbf{1.00} & \\textbf{0.00} \\\\
    BM25 & \\underline{0.50} & \\underline{1.00} \\\\
    \\bottomrule
    \\end{tabular}
    <BLANKLINE>
    \\smallskip
    \\parbox{\\linewidth}{\\footnotesize\\raggedright
    Best value per column in bold, second best underlined.
    }
    \\end{table}
    <BLANKLINE>
    """
    if label is not None and not re.fullmatch(r"[\w:.+/-]+", str(label), re.ASCII):
        raise MultiAspectError(f"label: expected letters, digits and any of : . + / - _, got {label!r}")
    table = content(
        perquery, measures, baseline=baseline, test=test, correction=correction, alpha=alpha,
        n_resamples=n_resamples, seed=seed, ci=ci, interval=interval, decimals=decimals, labels=labels,
        groups=groups,
    )  # fmt: skip
    return latex_of(table, caption=caption, label=label)


def latex_of(
    table: Table, *, caption: str | None = None, label: str | None = None, comments: Sequence[str] = ()
) -> str:
    """Return the LaTeX of a table. The parameters are those of `environment`."""
    notes = [escape(note) for note in table.notes]
    notes += [f"{escape(head.short)}: {_code(head.meaning)}." for head in table.heads if head.meaning is not None]
    notes += [escape(f"{scales.name}: {in_words(scales)}.") for scales in scales_of(table.heads)]
    return environment(len(table.heads) + 1, _rows(table), notes, caption=caption, label=label, comments=comments)


def environment(
    width: int,
    rows: Sequence[str],
    notes: Sequence[str] = (),
    *,
    caption: str | None = None,
    label: str | None = None,
    comments: Sequence[str] = (),
) -> str:
    """Return a ``table`` environment.

    Parameters
    ----------
    width : int
        The number of columns. The first is aligned left, the others right.
    rows : sequence of str
        The lines between the top and the bottom rule, as LaTeX.
    notes : sequence of str
        The sentences below, as LaTeX.
    caption, label : str, optional
        The caption, as LaTeX, and the label for ``\\ref``.
    comments : sequence of str
        Sentences for the author, which are not printed.

    Returns
    -------
    str
        LaTeX that ends with a newline.
    """
    lines = [_REQUIRED, *(f"% {' '.join(comment.split())}" for comment in comments)]
    lines += [r"\begin{table}", r"\centering"]
    if caption is not None:
        lines.append(rf"\caption{{{caption}}}")
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    lines += [rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"]
    if notes:
        lines += ["", r"\smallskip", r"\parbox{\linewidth}{\footnotesize\raggedright", *notes, "}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _rows(table: Table) -> list[str]:
    heads = [escape(f"{head.short} ↓" if head.lower_is_better else head.short) for head in table.heads]
    rows = [" & ".join(["", *heads]) + r" \\", r"\midrule"]
    marked = [
        sorted({mark for row in table.cells.values() for mark in row[column].marks}) for column in range(len(heads))
    ]
    for number, (group, names) in enumerate(table.groups.items()):
        if number:
            rows.append(r"\midrule")
        if group is not None:
            rows.append(rf"\multicolumn{{{len(heads) + 1}}}{{l}}{{\textit{{{escape(group)}}}}} \\")
        for name in names:
            mark = table.marks.get(name, "")
            first = escape(name) + (f"$^{{{_mark(mark)}}}$" if mark not in ("", "†") else "")
            cells = [_cell(cell, marks) for cell, marks in zip(table.cells[name], marked, strict=True)]
            rows.append(" & ".join([first if group is None else rf"\quad {first}", *cells]) + r" \\")
    return rows


def _cell(cell: Cell, marked: list[str]) -> str:
    """Return a cell. Marks that others of the column have take up space, so that numbers are aligned."""
    text = escape(cell.number)
    text = {0: text, 1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}[cell.place]
    if marked:
        marks = [_mark(mark) if mark in cell.marks else rf"\phantom{{{_mark(mark)}}}" for mark in marked]
        text += f"$^{{{''.join(marks)}}}$"
    if len(cell.interval) == 1:
        text += rf" $\pm$ {escape(cell.interval[0])}"
    if len(cell.interval) == 2:
        text += rf" {{\footnotesize {escape(f'[{cell.interval[0]}, {cell.interval[1]}]')}}}"
    return text


def _mark(mark: str) -> str:
    return r"\dagger" if mark == "†" else mark


def _code(text: str) -> str:
    """Return a printed measure, which may be broken after commas."""
    breakable = escape(text).replace(",", r",\allowbreak{}")
    return rf"\texttt{{{breakable}}}"


def escape(text: object) -> str:
    """Return a text such that LaTeX prints it.

    Parameters
    ----------
    text : object
        Its string form is escaped. Control characters and line breaks become spaces.

    Returns
    -------
    str
        LaTeX.

    Examples
    --------
    >>> print(escape("50%_of {α}"))
    50\\%\\_of \\{$\\alpha$\\}
    """
    spaced = "".join(
        " " if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter for letter in str(text)
    )
    escaped = "".join(_ESCAPES.get(letter) or _greek(letter) or letter for letter in spaced)
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would be a dash


def _greek(letter: str) -> str | None:
    """Return the command of a Greek letter that does not look like a Latin one."""
    found = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(letter, ""))
    if found is None:
        return None
    name = found[2].replace("LAMDA", "LAMBDA").lower()
    if found[1] == "CAPITAL":
        return rf"$\{name.capitalize()}$" if name in _CAPITALS else None
    return rf"$\{name}$" if name in _SMALL else None


_CAPITALS = set("gamma delta theta lambda xi pi sigma upsilon phi psi omega".split())  # noqa: SIM905
_SMALL = _CAPITALS | set("alpha beta epsilon zeta eta iota kappa mu nu rho tau chi".split())  # noqa: SIM905
