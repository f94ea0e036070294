"""The page on files: what it shows a newcomer, and each line of code in its tables."""

from __future__ import annotations

import io
import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.cli import main

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "howto" / "files.md").read_text("utf-8")
CELLS = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run all cells of the page; return its variables and what its commands print."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("jinja2")
    start, path = os.getcwd(), os.environ["PATH"]
    os.chdir(tmp_path_factory.mktemp("page"))
    shell = SimpleNamespace(register_magic_function=lambda *_: None)
    variables: dict[str, Any] = {"get_ipython": lambda: shell}
    printed = []
    try:
        for cell in CELLS:
            if not cell.startswith("%%sh"):
                exec(re.sub(r"^:tags:.*\n", "", cell), variables)
                continue
            command = shlex.split(cell.removeprefix("%%sh\n").replace("\\\n", " "))
            runs = sorted(map(str, Path("predictions").glob("*.json")))
            arguments = [
                file
                for item in command[1:]
                for file in (runs if item == "predictions/*.json" else [item])
            ]
            with pytest.MonkeyPatch.context() as patch:
                out = io.StringIO()
                patch.setattr("sys.stdout", out)
                assert main(arguments) == 0
            printed.append(out.getvalue())
        yield variables, printed
    finally:
        os.chdir(start)
        os.environ["PATH"] = path


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_three_commands_give_table_p_values_and_report(page: Any) -> None:
    _, (table, comparison, _, _) = page
    means = pd.read_csv(io.StringIO(table), sep="\t")
    assert [*means.columns] == ["name", "nDCG@10", "CAM@10"]
    assert means["name"].str.contains("lexical|neural").tolist() == [True, True]
    qrels = ma.read_qrels({"relevance": "qrels/test.tsv", "credibility": "credibility.tsv"})
    cam = ma.CAM(aspects={"relevance": 2, "credibility": 1}) @ 10
    runs = {name: f"predictions/{name}.json" for name in ("lexical", "neural")}
    expected = ma.aggregate(ma.evaluate(runs, qrels, ["nDCG@10", cam], progress=False))
    assert means.iloc[:, 1:].to_numpy().tolist() == expected.iloc[:, 1:].to_numpy().tolist()
    tests = pd.read_csv(io.StringIO(comparison), sep="\t")
    assert tests["p-value"].between(0, 1).all()
    assert (tests["p-value"] < 0.05).any()
    report = Path("report.html").read_text("utf-8")
    assert "credibility" in report
    assert "neural" in report


def test_every_line_of_the_tables_is_valid(page: Any) -> None:
    lines = re.findall(r"\| `(ma\.[^`]*)` \|$", PAGE, re.M)
    assert len(lines) == 18
    for line in lines:
        result = eval(line, page[0] | {"ma": ma})
        assert len(result) > 0, line
        assert {"qid"} <= {*result.columns}


def test_the_values_of_the_page_come_back(page: Any) -> None:
    assert set(page[0]["values"]["measure"]) == {"nDCG@10", "cam"}
    assert len(page[0]["values"]) == 2 * 2 * 30
