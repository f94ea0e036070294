"""The command ``fill``."""

from __future__ import annotations

import hashlib
import re

import click

from .._writing import write_file
from ..errors import MultiAspectError, number_of
from ..evaluation.filling import FILLED, fill_labels
from ..evaluation.provenance import as_yaml, record_files, record_path
from . import options
from .inputs import judged_aspects
from .options import OutputDirectory, option
from .outputs import new_directory, qrels_lines
from .verb import Inputs, command_line, verb


@verb(
    r"""
    Examples:
      pt-multiaspect fill --qrels relevance=qrels.txt credibility=qcred.txt \
        --no-check --aspects scales.json --depth 10 -o filled runs
      pt-multiaspect fill --qrels relevance=qrels.txt credibility=qcred.txt \
        --labels relevance=model.txt credibility=mcred.txt -o filled runs
    """,
    options.QRELS,
    options.ASPECTS,
    options.LABELS,
    option(
        "--depth",
        type=click.IntRange(min=1),
        metavar="N",
        help="Fill the first N documents of each run and topic, and all of the qrels. Default: all documents.",
    ),
    option(
        "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the drawn labels. Default: 0."
    ),
    option(
        "-o",
        "--output",
        "folder",
        metavar="DIR",
        required=True,
        type=OutputDirectory("relevance.qrels"),
        help="The directory to write, new or empty: ASPECT.qrels for each aspect, and beside it "
        "ASPECT.qrels.ir_metadata.yml, which records how many labels are filled, by what, and from which files.",
    ),
    click.Argument(["runs"], nargs=-1, required=True, metavar="RUN...", type=click.Path()),
)
def fill(inputs: Inputs, depth: int | None, seed: int, folder: str) -> str:
    """Fill the labels that documents of the qrels and of the runs lack, and write the qrels.

    Labels are drawn from judged documents with the same known labels, preferably of the same topic, or are those of
    --labels. Judged labels are never changed. One draw is one guess: compare several seeds.
    """
    path = new_directory(folder)
    for aspect in judged_aspects(inputs.qrels):
        if re.search(r"[/\\]", aspect):
            raise MultiAspectError(f"--qrels: expected an aspect that a file can be named after, got {aspect!r}")
    with record_files(inputs.files):
        labels = inputs.model_labels if inputs.values["model_labels"] else "observed"
        qrels = fill_labels(inputs.qrels, inputs.runs, labels, inputs.aspects, depth, seed)
        record = inputs.provenance(command_line(), None)
    contents = {aspect: "".join(qrels_lines(qrels, aspect)) for aspect in qrels.attrs[FILLED]}
    path.mkdir(parents=True, exist_ok=True)
    lines = []
    for aspect, filled in qrels.attrs[FILLED].items():
        content = contents[aspect]
        file = path / f"{aspect}.qrels"
        own = record["pt_multiaspect"] | {"sha256": hashlib.sha256(content.encode()).hexdigest(), FILLED: filled}
        write_file(file, content)
        write_file(record_path(str(file)), as_yaml(record | {"pt_multiaspect": own}))
        counts = f"{number_of(filled['filled'], 'label')} filled, {filled['missing']} missing"
        lines.append(f"wrote {folder}/{file.name}: {counts}")
    return "\n".join(lines)
