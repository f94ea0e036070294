"""The command ``describe``."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    if answers and (inputs.values["qrels"] or inputs.values["runs"] or inputs.requested):
        raise MultiAspectError("--answers takes the place of --qrels, runs and measures: omit them")
    if unjudged and not answers:
        raise MultiAspectError(
            "--unjudged applies to --answers: omit it, or declare the codes with --aspects"
        )
    if answers:
        frame = read_files(answers, "describe")
    else:
        frame = None
    result = description.describe(
        inputs.qrels if frame is None else frame,
        inputs.aspects if frame is None else declare_unjudged(frame, inputs.aspects, unjudged),
        runs=inputs.runs if inputs.values["runs"] else None,
        measures=inputs.measures if inputs.requested else None,
    )
    if write_aspects is not None:
        scales = _name_scales(result.proposed, write_aspects, result.aspects)
        _refuse_other_content(write_aspects, scales)
        scales.to_file(write_aspects)
        left_out = [name for name in result.aspects if name not in result.proposed]
        if left_out:
            without = f" without {choices(left_out)}"
        else:
            without = ""
        tell(f"wrote the scales to {write_aspects}{without}; check them before use")
    shown: object = result
    if contingency:
        counts = result.contingency(*contingency).rename(index=spell, columns=spell)
        groups = [("", 1), (contingency[1], len(counts.columns))]
        shown = text_of([replace(frame_table(counts.reset_index()), groups=groups)])
    return Incomplete.with_errors(shown, result.refused)


def _name_scales(scales: Aspects, path: str, aspects: Iterable[str]) -> Aspects:
    """Return scales with a name, which measures print instead of all grades: by default, that of their file."""
    if scales.name is not None:
        return scales
    name = re.sub(r"[^\w.\-]+", "-", Path(path).stem)
    if not re.match("[A-Za-z]", name):
        name = f"scales-{name}"
    while name in {*aspects, "relevance", "label"}:
        name += "-scales"
    with silence_warnings():  # --aspects may have had the same name
        return Aspects(scales, name=name)


def _refuse_other_content(file: str, scales: Aspects) -> None:
    """Raise an error if a file has other scales, such as edited ones, or is not one of scales."""
    path = Path(file).expanduser()
    if not path.exists() or not path.stat().st_size:
        return
    try:
        with silence_warnings():  # of other scales with the same name
            is_same = Aspects.from_file(path) == scales
        content = "other scales, which would be lost"
    except MultiAspectError:
        is_same = False
        content = "content that is not scales"
    if not is_same:
        raise MultiAspectError(
            f"--write-aspects: {file} exists and has {content}; write to another file, or remove it"
        )
