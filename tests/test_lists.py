"""Manually maintained lists are complete, in Markdown and in help texts, and links are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pt_multiaspect as ma
from pt_multiaspect.cli.program import program
from pt_multiaspect.cli.tables import SUFFIXES

ROOT = Path(__file__).resolve().parent.parent
HOW_TO = ROOT / "docs" / "howto"

#: Pages and notebooks written by hand; those of measures are generated when the documentation is
#: built.
PAGES = sorted(
    page
    for folder in (
        ".",
        "docs",
        "docs/howto",
        "docs/reproductions",
        "notebooks",
        "benchmarks",
        "benchmarks/study",
    )
    for page in [*(ROOT / folder).glob("*.md"), *(ROOT / folder).glob("*.ipynb")]
)


def text(page: Path) -> str:
    """The text of a page or a notebook, without code."""
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
        return "\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_pages():
    names = {str(page.relative_to(ROOT).as_posix()) for page in PAGES}
    assert {
        "README.md",
        "CONTRIBUTING.md",
        "docs/start.md",
        "docs/howto/index.md",
        "notebooks/README.md",
    } <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            assert link.startswith(("https://", "mailto:")), link
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_list_of_how_to_pages_is_their_table_of_contents():
    """Both are maintained manually: the list is for the repository, and the table for the built pages."""
    index = (HOW_TO / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[.+?\]\((\w+)\.md\)", index, re.MULTILINE)
    tables = re.findall(r"```{toctree}\n:hidden:\n:caption: \w+\n\n(.*?)```", index, re.DOTALL)
    assert listed == " ".join(tables).split()
    assert sorted(listed) == sorted(
        page.stem for page in HOW_TO.glob("*.md") if page.stem != "index"
    )
    assert max(len(table.split()) for table in tables) <= 7


def test_how_to_pages_are_listed_by_their_titles():
    index = (HOW_TO / "index.md").read_text(encoding="utf-8")
    listed = {
        stem: title for title, stem in re.findall(r"^- \[(.+?)\]\((\w+)\.md\)", index, re.MULTILINE)
    }
    titles = {
        stem: re.search(
            r"^# (.+)$", (HOW_TO / f"{stem}.md").read_text(encoding="utf-8"), re.MULTILINE
        )[1]
        for stem in listed
    }
    assert listed == titles


def code_cells():
    """The cells with code of all notebooks: name of the notebook, id and text of the cell."""
    folders = [ROOT / "notebooks", ROOT / "docs" / "reproductions"]
    for folder in folders:
        for path in folder.glob("*.ipynb"):
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    yield path.name, cell["id"], "".join(cell["source"])


def test_cells_of_notebooks_are_short():
    long = [(name, cell) for name, cell, code in code_cells() if len(code.splitlines()) > 40]
    assert long == []


def test_prose_of_notebooks_is_no_code():
    prose_in_code = re.compile(r"Markdown\(\s*f(\"\"\"|''')")  # such as Markdown(f"""
    prose = [(name, cell) for name, cell, code in code_cells() if prose_in_code.search(code)]
    assert prose == []


def test_the_notebooks_are_listed():
    page = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+\.ipynb)` \|", page, re.MULTILINE)
    assert listed == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_the_notebooks_that_need_data_are_listed():
    page = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    expected = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if "PT_MULTIASPECT_SHARED" in path.read_text(encoding="utf-8"):
            number = path.name[:2]
            expected.append(number)
    # As in: Notebooks 02, 04 to 06 and 09 take the folder
    stated = re.search(r"Notebooks ([\d\w, ]+?) take the folder", page)[1]
    numbers = []
    for first, last in re.findall(r"(\d\d)(?: to (\d\d))?", stated):  # 02, or 04 to 06
        end = last or first
        numbers += [f"{number:02}" for number in range(int(first), int(end) + 1)]
    assert numbers == expected


SAVED = [page for page in PAGES if page.suffix == ".ipynb"]


@pytest.mark.parametrize("page", SAVED, ids=lambda page: page.stem)
def test_saved_outputs_are_the_same_on_every_machine(page):
    outputs = [
        cell.get("outputs", []) for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]
    ]
    assert re.findall(r"\bat 0x|/tmp/|site-packages|Warning: ", json.dumps(outputs)) == []


def test_the_page_on_installation_lists_the_extras():
    tomllib = pytest.importorskip("tomllib", reason="requires Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(rows) == sorted(project["optional-dependencies"])


def test_the_help_of_output_lists_the_suffixes():
    output = next(param for param in program.commands["evaluate"].params if param.name == "output")
    assert set(re.findall(r"\.[a-z]+\b", output.help)) == set(SUFFIXES)
    page = (HOW_TO / "command_line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(?:--output table)?(\.[a-z]+)`", page)) >= set(SUFFIXES)


def test_contributing_names_files_that_exist():
    table = re.search(
        r"\| what \| where \|\n.*?\n\n", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL
    )
    named = re.findall(r"`([\w/]+(?:/|\.py|\.bib))`", table[0])
    assert len(named) > 50
    package = ROOT / "pt_multiaspect"
    folders = [ROOT, package, *(folder for folder in package.rglob("*") if folder.is_dir())]
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_contributing_shows_the_layers():
    """The figure has a line per layer, which import-linter checks, such as "│  plots, tables  (text)"."""
    tomllib = pytest.importorskip("tomllib", reason="requires Python 3.11")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["type"] == "layers"]
    layers = [
        layer.replace("pt_multiaspect.", "").replace(" | ", ", ") for layer in contract["layers"]
    ]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    # An arrow, the folders, and possibly, after two spaces, what they are.
    lines = re.findall(r"^[│▼]  (.+?)(?:  .*)?$", page, re.MULTILINE)
    assert lines == layers


@pytest.mark.parametrize("room", ["datasets", "orders", "testing", "forms", "params"])
def test_what_is_public_in_a_module_is_on_the_api_page(room):
    page = (ROOT / "pt_multiaspect" / "pt_docs" / "api.rst").read_text(encoding="utf-8")
    module = getattr(ma, room)
    public = [name for name in module.__all__ if callable(getattr(module, name))]
    assert public
    missing = [
        name
        for name in public
        if not re.search(rf"auto\w+:: (pt_multiaspect\.{room}\.)?{name}\n", page)
    ]
    assert missing == []
