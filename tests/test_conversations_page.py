"""The page on conversations and several collections: what it states of its tables, and its commands."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.analysis import compare_with_baseline

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "howto" / "conversations.md").read_text("utf-8")
CELLS = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[pd.DataFrame], str]]:
    """Run all cells; return the values after each one, and what the command prints."""
    start, variables_of_process = os.getcwd(), dict(os.environ)
    os.chdir(tmp_path_factory.mktemp("page"))
    shell = SimpleNamespace(register_magic_function=lambda *_: None)
    variables: dict[str, Any] = {"get_ipython": lambda: shell}
    values, printed = [], ""
    try:
        for cell in CELLS:
            if cell.startswith("%%sh"):
                command = cell.removeprefix("%%sh\n").replace(
                    "pt-multiaspect ", f"{sys.executable} -m pt_multiaspect "
                )
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                printed = subprocess.run(
                    ["sh", "-c", command],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=environment,
                ).stdout
                continue
            exec(re.sub(r"^:tags:.*\n", "", cell), variables)
            if "perquery" in variables and not any(
                variables["perquery"] is frame for frame in values
            ):
                values.append(variables["perquery"])
        yield values, printed
    finally:
        os.chdir(start)
        os.environ.clear()
        os.environ.update(variables_of_process)


def test_clusters_take_back_what_the_page_says(page) -> None:
    (turns, _), _ = page
    independent = compare_with_baseline(turns, "words 0", cluster="qid")
    clustered = compare_with_baseline(turns, "words 0", cluster=r"(\d+)_.*")
    assert independent["significant"].sum() == 7
    assert clustered["significant"].sum() == 2
    assert not (clustered["significant"] & ~independent["significant"]).any()
    assert turns["qid"].nunique() == 40
    table = " ".join(str(ma.systems_table(turns, baseline="words 0", cluster=r"(\d+)_.*")).split())
    assert "40 topics in 10 clusters of 4: 9 degrees of freedom; design effect 3.8" in table
    with pytest.warns(ma.MultiAspectWarning, match="40 topics look like 10 groups"):
        compare_with_baseline(turns, "words 0")


def test_the_command_has_the_means_of_python(page) -> None:
    (_, collections), printed = page
    table = pd.read_csv(io.StringIO(printed), sep="\t").set_index(["group", "name"])
    expected = ma.aggregate(collections, by="collection", macro=True).set_index(["group", "name"])[
        "nDCG@5"
    ]
    assert table["nDCG@5"].to_dict() == pytest.approx(expected.to_dict())
    tests = compare_with_baseline(collections, "words", by="collection", macro=True).set_index(
        ["group", "name"]
    )
    row = table.loc[("macro", "chars")]
    found = [row[f"nDCG@5 difference{end}"] for end in ("", " low", " high")]
    assert found == pytest.approx(
        tests.loc[("macro", "chars"), ["difference", "low", "high"]].tolist()
    )
    assert row["nDCG@5 p-value"] == pytest.approx(tests.loc[("macro", "chars"), "asl"])
