"""Names of runs that the command line reads from files, and the baseline among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pt_multiaspect.cli.run_names import pick_baseline, shorten_names
from pt_multiaspect.errors import MultiAspectError


@pytest.mark.parametrize(
    ("files", "short"),
    [
        (["bm25.run", "dense.run"], ["bm25", "dense"]),
        (["input.bm25.txt.gz", "input.dense.txt.gz"], ["bm25", "dense"]),
        (["lab_bm25", "lab_dense_v2"], ["bm25", "dense_v2"]),
        (["trec_run_1.txt", "trec_run_2.txt"], ["run_1", "run_2"]),  # a number says nothing
        (["k1=0.9.run", "k1=1.2.run"], ["k1=0.9", "k1=1.2"]),
        (["bm25_0.5", "bm25_0.75"], ["bm25_0.5", "bm25_0.75"]),  # .5 and .75 are no extensions
        (["bm25.run", "bm25-rm3.run"], ["bm25", "bm25-rm3"]),  # no name is empty
        (["a.run", "b.txt"], ["a.run", "b.txt"]),
        (["a.run", "a.v2.run"], ["a", "a.v2"]),
        (["modèle_ä.run", "modèle_ö.run"], ["ä", "ö"]),
        (["only.run"], ["only.run"]),
        ([], []),
    ],
)
def test_what_all_names_share_is_left_out(files: list[str], short: list[str]) -> None:
    assert shorten_names([f"runs/{file}" for file in files]) == short


def test_short_names_that_are_taken_are_not_used() -> None:
    assert shorten_names(["runs/a.run", "runs/b.run"], taken=["b"]) == ["a.run", "b.run"]


COMMANDS = [
    ("evaluate", "-m", "AP"),
    ("evaluate", "-m", "AP", "-q"),
    ("weightings", "-m", "CAM@3", "-o", "out.csv"),
    ("robustness", "-m", "CAM@3", "-o", "out.csv"),
    ("describe", "-o", "out.txt"),
    ("report", "-m", "AP", "-o", "out.html"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_names_runs_so(cli, trec_files: Path, command: tuple[str, ...]) -> None:
    code, out, _ = cli(
        *command, *(["--aspects", "scales.json"] if "AP" not in command else []), "runs"
    )
    assert code == 0
    written = Path(command[-1]) if command[-1].startswith("out.") else None
    text = out if written is None else written.read_text(encoding="utf-8")
    assert "alpha" in text
    assert "alpha.run" not in text


def test_compare_names_runs_so(cli) -> None:
    """Without the folder and the ending: the difference of the two runs has their short names."""
    cli("compare", "-m", "AP", "-o", "out.txt", "runs/alpha.run", "runs/delta.run")
    assert "delta - alpha" in Path("out.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "baseline",
    ["beta", "beta.run", "runs/beta.run", "lab.beta", "lab.beta.run", "./runs/lab.beta.run"],
)
def test_a_baseline_is_found_by_its_name_and_by_that_of_its_file(
    cli, trec_files: Path, baseline: str
) -> None:
    if "lab" in baseline:
        for path in (trec_files / "runs").iterdir():
            path.rename(path.with_name(f"lab.{path.name}"))
    code, out, err = cli("evaluate", "-m", "AP", "--baseline", baseline, "--format", "json", "runs")
    assert code == 0, err
    assert [row["name"] for row in json.loads(out) if row["AP p-value"] is None] == ["beta"]


def test_a_baseline_in_other_case_is_suggested() -> None:
    with pytest.raises(MultiAspectError, match="Did you mean BM25"):
        pick_baseline("bm25", {"BM25": "BM25.run", "dense": "dense.run"})
