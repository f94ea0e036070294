"""The commands ``measures``, ``datasets``, ``demo`` and ``completion``."""

from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import fill
from typing import Any

import click
import ir_measures
import pandas as pd

from pt_multiaspect_commands import completion_script

from .._writing import write_file
from ..aspects import Aspects
from ..bases.strings import UnknownMeasureError
from ..datasets import info, load, load_health, names
from ..measures import ALL, Param
from ..measures.definitions import details, sentence
from ..suites import suite
from ..suites.catalogue import NOT_OFFERED, SUITES, requires_aspects
from .options import OutputDirectory, complete_measure, option
from .outputs import new_directory, qrels_lines
from .verb import verb

#: The aspects in the help of suites that apply to any aspects.
EXAMPLE_ASPECTS = {"relevance": 2, "credibility": 2}

#: Options are not broken across lines.
_KEEP: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@verb(
    """
    Examples:
      pt-multiaspect measures
      pt-multiaspect measures TOMA
      pt-multiaspect measures --suites
      pt-multiaspect measures --suites trec-misinfo-2021
    """,
    option("--suites", is_flag=True, help="List the suites of measures, or show the suite NAME."),
    click.Argument(["name"], required=False, shell_complete=complete_measure),
)
def measures(name: str | None, suites: bool) -> str:
    """List the measures of this package with their parameters, or show the help of the measure NAME."""
    if suites:
        return _suite_overview() if name is None else _suite_help(name)
    if name is None:
        return "\n\n".join([*map(_summary, ALL), "All measures of ir-measures can be used as well, also as bases."])
    return _measure_help(name)


def _suite_overview() -> str:
    """Return a list of the suites, and the reasons why some tracks have none."""
    width = max(map(len, SUITES))
    lines = []
    for name, entry in SUITES.items():
        required = " (requires --aspects)" if requires_aspects(name) else ""
        lines.append(f"{name:<{width}}  {entry['listed']}{required}")
    lines += ["", "There is no suite for:"]
    for name, reason in NOT_OFFERED.items():
        lines.append(fill(f"{name}: {reason}", width=80, subsequent_indent="    ", **_KEEP))
    return "\n".join(lines)


def _suite_help(name: str) -> str:
    """Return the description of a suite, with example aspects if it requires aspects."""
    aspects = EXAMPLE_ASPECTS if requires_aspects(name) else None
    return suite(name, aspects=aspects).description


def _measure_help(name: str) -> str:
    """Return the parameters of a measure and its documentation."""
    measure = ir_measures.measures.registry.get(name)
    if measure is None:
        raise UnknownMeasureError(name)
    if hasattr(measure, "CITATION"):
        listed = _summary(measure)
    else:
        listed = fill(f"{name}, a measure of ir-measures: {sentence(measure)}", width=80, subsequent_indent="    ")
    about = fill(details(measure), width=80, initial_indent="    ", subsequent_indent="    ")
    return f"{listed}\n\n{about}\n\n{inspect.getdoc(type(measure))}"


def _summary(measure: Any) -> str:
    parameters = [
        fill(_parameter(name, param), width=80, initial_indent="    ", subsequent_indent="        ")
        for name, param in measure.SUPPORTED_PARAMS.items()
    ]
    name = fill(f"{measure.NAME}  {measure.SHORT_DESC}", width=80, subsequent_indent="    ")
    source = fill(f"({measure.CITATION})", width=80, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([name, source, *parameters])


def _parameter(name: str, param: Param) -> str:
    if name == "cutoff":
        return "@k  ranking cutoff"
    value = "... (required)" if param.required else repr(param.spell(param.default))
    return f"{name}={value}  {param.desc}"


@verb("Example:\n  pt-multiaspect demo")
def demo() -> None:
    """Evaluate and tune three rankers on the collection that the package contains."""
    from ..demo import run_demo

    run_demo()


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
    """List the test collections, describe NAME, or write it to TREC files.

    The files are one qrels file per aspect and the label scales; for health also topics, documents and three runs.
    Published collections are downloaded on first use, to the directory PT_MULTIASPECT_DATA or the user's cache.
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
    path = new_directory(folder)
    aspects, runs = _write_health(path) if name == "health" else _write_published(name, path)
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


def _dataset_overview() -> str:
    """Return a list of the package's collection and the published ones."""
    health = load_health()
    scales = ", ".join(f"{aspect} {grades[0]}-{grades[-1]}" for aspect, grades in health.grades.items())
    size = f"{len(health.topics)} queries, {len(health.documents)} documents, {len(health.qrels)} judgments"
    lines = [f"health  {size}\n        {scales}"]
    for name in names():
        about = info(name)
        lines.append(f"{name}  {about.title}\n        {', '.join(about.aspects)}; licence: {about.licence}")
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
    runs: dict[str, pd.DataFrame] = {name: system.transform(collection.topics) for name, system in systems.items()}
    aspects = Aspects(collection.grades)
    _write_collection(folder, collection.qrels, aspects, runs)
    documents = collection.documents.to_json(orient="records", lines=True, force_ascii=False)
    write_file(folder / "documents.jsonl", documents)
    write_file(folder / "topics.tsv", collection.topics.to_csv(sep="\t", index=False, lineterminator="\n"))
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


def _write_collection(folder: Path, qrels: pd.DataFrame, aspects: Aspects, runs: dict[str, pd.DataFrame]) -> None:
    """Write judgments, scales and runs to files."""
    folder.mkdir(parents=True, exist_ok=True)
    aspects.to_file(folder / "scales.json")
    for aspect in aspects:
        write_file(folder / f"{aspect}.qrels", "".join(qrels_lines(qrels, aspect)))
    for name, run in runs.items():
        (folder / "runs").mkdir(exist_ok=True)
        rows = run[["qid", "docno", "rank", "score"]].itertuples(index=False, name=None)
        lines = (f"{qid} Q0 {docno} {rank + 1} {score!r} {name}\n" for qid, docno, rank, score in rows)
        write_file(folder / "runs" / f"{name}.run", "".join(lines))


@verb(
    r"""
    Examples:
      bash: add to ~/.bashrc
        eval "$(pt-multiaspect completion bash)"
      zsh: add to ~/.zshrc
        eval "$(pt-multiaspect completion zsh)"
      fish:
        pt-multiaspect completion fish \
          > ~/.config/fish/completions/pt-multiaspect.fish
    """,
    click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"])),
)
def completion(shell: str) -> str:
    """Print the script that completes commands, options, measures and files in a shell."""
    return completion_script(shell)
