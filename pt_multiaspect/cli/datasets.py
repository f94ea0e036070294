"""The command ``datasets``."""

from __future__ import annotations

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
        aspects, runs = _write_health(path)
    else:
        aspects, runs = _write_published(name, path)
    qrels = " ".join(f"{aspect}={folder}/{aspect}.qrels" for aspect in aspects)
    text = f"wrote {folder}; try:\npt-multiaspect describe --qrels {qrels} --aspects {folder}/scales.json"
    if not runs:
        return text
    # ir-measures' nDCG takes labels as gains, which is right only for scales that start at 0.
    first = "nDCG@5 " if aspects["relevance"].scale.grades[0] == 0 else ""
    return (
        f"{text}\npt-multiaspect evaluate --qrels {qrels} \\\n"
        f"  --aspects {folder}/scales.json -m {first}CAM@5 'TOMA(gate=relevance)@5' {folder}/runs"
    )


def _new_directory(folder: str) -> Path:
    """Return the path of a directory to write, after checking that nothing is in it."""
    path = Path(folder).expanduser()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise MultiAspectError(f"--output: expected a new or empty directory, got {folder}")
    return path


def _dataset_overview() -> str:
    """Return a list of the package's collection and the published ones."""
    health = load_health()
    scales = ", ".join(
        f"{aspect} {grades[0]}-{grades[-1]}" for aspect, grades in health.grades.items()
    )
    size = f"{len(health.topics)} queries, {len(health.documents)} documents, {len(health.qrels)} judgments"
    lines = [f"health  {size}\n        {scales}"]
    for name in names():
        about = info(name)
        lines.append(
            f"{name}  {about.title}\n        {', '.join(about.aspects)}; licence: {about.licence}"
        )
    return "\n".join(lines)


def _write_health(folder: Path) -> tuple[Aspects, dict[str, pd.DataFrame]]:
    """Write the collection of the package, and runs on it."""
    from ..demo import ReadabilityReranker, TfidfRetriever

    collection = load_health()
    words = TfidfRetriever(collection.documents)
    systems = {
        "words": words,
        "characters": TfidfRetriever(collection.documents, analyzer="char"),
        "readable": words >> ReadabilityReranker(collection.documents),
    }
    runs: dict[str, pd.DataFrame] = {
        name: system.transform(collection.topics) for name, system in systems.items()
    }
    aspects = Aspects(collection.grades)
    _write_collection(folder, collection.qrels, aspects, runs)
    documents = collection.documents.to_json(orient="records", lines=True, force_ascii=False)
    write_file(folder / "documents.jsonl", documents)
    write_file(
        folder / "topics.tsv", collection.topics.to_csv(sep="\t", index=False, lineterminator="\n")
    )
    return aspects, runs


def _write_published(name: str, folder: Path) -> tuple[Aspects, dict[str, pd.DataFrame]]:
    """Write the judgments of a published collection, and the judged run if there is one."""
    judged = load(name)
    runs = {}
    if judged.run is not None:
        ranks = judged.run.groupby("qid")["score"].rank(ascending=False).astype(int) - 1
        runs["judged"] = judged.run.assign(rank=ranks)
    _write_collection(folder, judged.qrels, judged.aspects, runs)
    return judged.aspects, runs


def _write_collection(
    folder: Path, qrels: pd.DataFrame, aspects: Aspects, runs: dict[str, pd.DataFrame]
) -> None:
    """Write judgments, scales and runs to files."""
    folder.mkdir(parents=True, exist_ok=True)
    aspects.to_file(folder / "scales.json")
    for aspect in aspects:
        column = "label" if aspect == "relevance" and "label" in qrels.columns else aspect
        judged = qrels[["qid", "docno", column]].dropna().itertuples(index=False, name=None)
        labels = [f"{qid} 0 {docno} {spell(label)}\n" for qid, docno, label in judged]
        write_file(folder / f"{aspect}.qrels", "".join(labels))
    for name, run in runs.items():
        (folder / "runs").mkdir(exist_ok=True)
        rows = run[["qid", "docno", "rank", "score"]].itertuples(index=False, name=None)
        lines = (
            f"{qid} Q0 {docno} {rank + 1} {score!r} {name}\n" for qid, docno, rank, score in rows
        )
        write_file(folder / "runs" / f"{name}.run", "".join(lines))
