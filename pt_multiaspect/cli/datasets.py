"""The command ``datasets``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd

from .._numbers import spell
from .._writing import write_file
from ..aspects import Aspects
from ..datasets import info, load, load_health, names
from ..errors import MultiAspectError
from .options import OutputDirectory, option
from .verb import verb


@verb(
    """
    Examples:
      pt-multiaspect datasets
      pt-multiaspect datasets health --output health
      pt-multiaspect datasets clef-ehealth-2018
      pt-multiaspect datasets clef-ehealth-2018 --output clef2018
    """,
    click.Argument(["name"], required=False, type=click.Choice(["health", *names()])),
    option(
        "-o",
        "--output",
        "folder",
        metavar="DIR",
        type=OutputDirectory("scales.json"),
        help="The directory to write, new or empty.",
    ),
)
def datasets(name: str | None, folder: str | None) -> str:
    """List the test collections, or write one to TREC files.

    With NAME, describe it, or write it to --output: one qrels file per aspect and the label scales;
    for health also topics, documents and three runs. Published collections are downloaded on first
    use, to the directory PT_MULTIASPECT_DATA or the user's cache.
    """
    if name is None:
        if folder is not None:
            raise click.UsageError("--output requires the name of a collection")
        return _dataset_overview()
    if folder is None:
        if name in names():
            return repr(info(name))
        raise click.UsageError(
            f"expected a directory to write, as in: pt-multiaspect datasets {name} --output {name}"
        )
    path = _new_directory(folder)
    if name == "health":
        written = _write_health(path)
    else:
        written = _write_published(name, path)
    return _commands_to_try(folder, written)


@dataclass(frozen=True)
class _Written:
    """A collection that has been written: the scales of its aspects, and its runs by name."""

    aspects: Aspects
    runs: dict[str, pd.DataFrame]


def _commands_to_try(folder: str, written: _Written) -> str:
    """Return commands that read the files of a collection."""
    files = [f"{aspect}={folder}/{aspect}.qrels" for aspect in written.aspects]
    qrels = " ".join(files)
    scales = f"{folder}/scales.json"
    text = f"wrote {folder}; try:\npt-multiaspect describe --qrels {qrels} --aspects {scales}"
    if not written.runs:
        return text
    # ir-measures' nDCG takes labels as gains, which is right only for scales that start at 0.
    first_measure = ""
    if written.aspects["relevance"].scale.grades[0] == 0:
        first_measure = "nDCG@5 "
    return (
        f"{text}\npt-multiaspect evaluate --qrels {qrels} \\\n"
        f"  --aspects {folder}/scales.json -m {first_measure}CAM@5 'TOMA(gate=relevance)@5' "
        f"{folder}/runs"
    )


def _new_directory(folder: str) -> Path:
    """Return the path of a directory to write, after checking that nothing is in it."""
    path = Path(folder).expanduser()
    if not path.exists():
        return path
    is_empty = path.is_dir() and not any(path.iterdir())
    if not is_empty:
        raise MultiAspectError(f"--output: expected a new or empty directory, got {folder}")
    return path


def _dataset_overview() -> str:
    """Return a list of the package's collection and the published ones, two lines each."""
    health = load_health()
    scales = [f"{aspect} {grades[0]}-{grades[-1]}" for aspect, grades in health.grades.items()]
    n_queries = len(health.topics)
    n_documents = len(health.documents)
    n_judgments = len(health.qrels)
    lines = [
        f"health  {n_queries} queries, {n_documents} documents, {n_judgments} judgments",
        "        " + ", ".join(scales),
    ]
    for name in names():
        collection = info(name)
        aspects = ", ".join(collection.aspects)
        lines.append(f"{name}  {collection.title}")
        lines.append(f"        {aspects}; licence: {collection.licence}")
    return "\n".join(lines)


def _write_health(folder: Path) -> _Written:
    """Write the collection of the package with its topics and documents, and three runs on it."""
    from ..demo import ReadabilityReranker, TfidfRetriever

    collection = load_health()
    documents = collection.documents
    topics = collection.topics
    words = TfidfRetriever(documents)
    characters = TfidfRetriever(documents, analyzer="char")
    readable = words >> ReadabilityReranker(documents)
    runs: dict[str, pd.DataFrame] = {
        "words": words.transform(topics),
        "characters": characters.transform(topics),
        "readable": readable.transform(topics),
    }
    aspects = Aspects(collection.grades)
    _write_collection(folder, collection.qrels, aspects, runs)
    json_lines = documents.to_json(orient="records", lines=True, force_ascii=False)
    write_file(folder / "documents.jsonl", json_lines)
    topic_lines = topics.to_csv(sep="\t", index=False, lineterminator="\n")
    write_file(folder / "topics.tsv", topic_lines)
    return _Written(aspects, runs)


def _write_published(name: str, folder: Path) -> _Written:
    """Write the judgments of a published collection, and the judged run if there is one."""
    collection = load(name)
    runs = {}
    if collection.run is not None:
        scores_by_topic = collection.run.groupby("qid")["score"]
        first_rank_is_one = scores_by_topic.rank(ascending=False).astype(int)
        # Ranks of PyTerrier begin with 0.
        runs["judged"] = collection.run.assign(rank=first_rank_is_one - 1)
    _write_collection(folder, collection.qrels, collection.aspects, runs)
    return _Written(collection.aspects, runs)


def _write_collection(
    folder: Path, qrels: pd.DataFrame, aspects: Aspects, runs: dict[str, pd.DataFrame]
) -> None:
    """Write the scales, qrels of each aspect and runs to TREC files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    aspects.to_file(folder / "scales.json")
    for aspect in aspects:
        column = aspect
        # As for ir-measures, relevance may be the column label.
        if aspect == "relevance" and "label" in qrels.columns:
            column = "label"
        judged = qrels[["qid", "docno", column]].dropna()
        write_file(folder / f"{aspect}.qrels", _qrels_lines(judged))
    for name, run in runs.items():
        (folder / "runs").mkdir(exist_ok=True)
        write_file(folder / "runs" / f"{name}.run", _run_lines(run, name))


def _qrels_lines(judged: pd.DataFrame) -> str:
    """Return qrels in the format of TREC, from the columns qid, docno and labels."""
    lines = []
    for qid, docno, label in judged.itertuples(index=False, name=None):
        spelled_label = spell(label)
        lines.append(f"{qid} 0 {docno} {spelled_label}\n")
    return "".join(lines)


def _run_lines(run: pd.DataFrame, name: str) -> str:
    """Return a run in the format of TREC, whose ranks begin with 1; those of the frame with 0."""
    lines = []
    rows = run[["qid", "docno", "rank", "score"]]
    for qid, docno, rank, score in rows.itertuples(index=False, name=None):
        trec_rank = rank + 1
        lines.append(f"{qid} Q0 {docno} {trec_rank} {score!r} {name}\n")
    return "".join(lines)
