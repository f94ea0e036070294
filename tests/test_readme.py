"""What the README shows is what the package does. Its Python examples run as doctests."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from pt_multiaspect.demo import run_demo
from pt_multiaspect.measures import ALL

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demonstration_prints_what_the_readme_shows():
    stream = io.StringIO()
    run_demo(stream)
    printed = stream.getvalue().splitlines()
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL).group(1).splitlines()
    assert len(shown) > 10
    assert [line for line in shown if line and line not in printed] == []


def test_every_measure_is_in_the_table():
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == {measure.NAME for measure in ALL}


@pytest.mark.parametrize("end", ["&& .venv/bin/pt-multiaspect demo", "&& .venv/bin/pytest"])
def test_ci_runs_the_readme_s_commands(end):
    command = next(line for line in README.splitlines() if line.endswith(end))
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
