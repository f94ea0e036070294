"""The command ``describe``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from .. import description
from .._numbers import spell
from ..aspects import Aspects
from ..errors import MultiAspectError, choices, silence_warnings
from ..views import frame_table, text_of
from . import options
from .answers import declare_unjudged, read_files
from .messages import tell
from .options import OutputFile, file_option, option, output
from .verb import Incomplete, Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt
      pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt \
        --write-aspects scales.json
      pt-multiaspect describe --qrels qrels.txt -m AP TOMA -o report.html runs
      pt-multiaspect describe --answers judged.csv --write-aspects scales.json
    """,
    options.QRELS,
    file_option(
        "--answers",
        multiple=True,
        help="Judged answers instead of qrels, as for 'pt-multiaspect answers'. May be repeated.",
    ),
    options.ASPECTS,
    options.UNJUDGED,
    *options.OPTIONAL_MEASURES,
    options.STANCES,
    option(
        "--contingency",
        nargs=2,
        metavar="ASPECT ASPECT",
        help="Count the documents of each pair of labels instead.",
    ),
    output({".html": "html", ".txt": "text"}, "Write the report to a file, .html or .txt."),
    option(
        "--write-aspects",
        metavar="FILE",
        type=OutputFile(),
        help="Write the label scales that the findings propose to a JSON file, to check, edit and "
        "use as --aspects.",
    ),
    options.OPTIONAL_RUNS,
)
def describe(
    inputs: Inputs,
    answers: tuple[str, ...],
    unjudged: tuple[str, ...],
    contingency: tuple[str, str] | None,
    write_aspects: str | None,
) -> object:
    """Describe judgments, runs and label scales, and list oddities.

    Shows the labels of each aspect, the agreement between aspects, and how many documents of the
    runs are judged. With measures, shows which scales each measure depends on.
    """
    _check_options(inputs, answers, unjudged)
    if answers:
        judgments = read_files(answers, "describe")
        aspects = declare_unjudged(judgments, inputs.aspects, unjudged)
    else:
        judgments = inputs.qrels
        aspects = inputs.aspects
    runs = None
    if inputs.values["runs"]:
        runs = inputs.runs
    measures = None
    if inputs.requested:
        measures = inputs.measures
    result = description.describe(judgments, aspects, runs=runs, measures=measures)
    if write_aspects is not None:
        _write_scales(result, write_aspects)
    shown: object = result
    if contingency:
        shown = _contingency_text(result, *contingency)
    return Incomplete.with_errors(shown, result.refused)


def _check_options(inputs: Inputs, answers: Sequence[str], unjudged: Sequence[str]) -> None:
    """Raise an error for options that --answers excludes, and for --unjudged without it."""
    has_rankings = inputs.values["qrels"] or inputs.values["runs"] or inputs.requested
    if answers and has_rankings:
        raise MultiAspectError("--answers takes the place of --qrels, runs and measures: omit them")
    if unjudged and not answers:
        raise MultiAspectError(
            "--unjudged applies to --answers: omit it, or declare the codes with --aspects"
        )


def _write_scales(result: description.Description, file: str) -> None:
    """Write the scales that a description proposes to a file, and tell which aspects have none."""
    scales = _name_scales(result.proposed, file, result.aspects)
    _refuse_other_content(file, scales)
    scales.to_file(file)
    without = ""
    left_out = [name for name in result.aspects if name not in result.proposed]
    if left_out:
        without = f" without {choices(left_out)}"
    tell(f"wrote the scales to {file}{without}; check them before use")


def _contingency_text(result: description.Description, first: str, second: str) -> str:
    """Return the table of how many documents have each pair of labels of two aspects.

    The rows are labels of the first aspect, the columns labels of the second.
    """
    counts = result.contingency(first, second).rename(index=spell, columns=spell)
    table = frame_table(counts.reset_index())
    # The second aspect stands above its labels; the first column has the labels of the first.
    groups = [("", 1), (second, len(counts.columns))]
    return text_of([replace(table, groups=groups)])


def _name_scales(scales: Aspects, path: str, aspects: Iterable[str]) -> Aspects:
    """Return scales with a name, which measures print instead of all grades.

    Parameters
    ----------
    scales : Aspects
        The scales, which may have a name already.
    path : str
        The file to write, whose name is that of the scales by default.
    aspects : iterable of str
        The aspects, whose names the scales must not have.
    """
    if scales.name is not None:
        return scales
    # Names have letters, digits, hyphens, underscores and dots, and begin with a letter.
    name = re.sub(r"[^\w.\-]+", "-", Path(path).stem)
    if not re.match("[A-Za-z]", name):
        name = f"scales-{name}"
    other_names = {*aspects, "relevance", "label"}
    while name in other_names:
        name += "-scales"
    # The scales of --aspects may have had the same name.
    with silence_warnings():
        return Aspects(scales, name=name)


def _refuse_other_content(file: str, scales: Aspects) -> None:
    """Raise an error if a file exists and has anything but these scales, such as edited ones."""
    path = Path(file).expanduser()
    is_new_or_empty = not path.exists() or path.stat().st_size == 0
    if is_new_or_empty:
        return
    try:
        # To read the file creates scales with the name of `scales`, which would warn if they
        # differ. The error below says so instead.
        with silence_warnings():
            present_scales = Aspects.from_file(path)
    except MultiAspectError:
        content = "content that is not scales"
    else:
        if present_scales == scales:
            return
        content = "other scales, which would be lost"
    raise MultiAspectError(
        f"--write-aspects: {file} exists and has {content}; write to another file, or remove it"
    )
