"""The documentation reaches everything that is public. CI builds it, which executes its pages."""

from __future__ import annotations

import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import pandas as pd
import pytest
from shared_data import shared_path
from test_docstrings import METHODS, PUBLIC

import pt_multiaspect as ma
from pt_multiaspect.measures import ALL

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: The page of the API includes it, and PyTerrier's documentation takes it.
API = runpy.run_path(str(DOCS / "api_page.py"))["read_page"]()
DIRECTIVES = re.findall(r"auto\w+:: (\S+)", API)
NAMES = {name.removeprefix("pt_multiaspect.") for name in DIRECTIVES}
MEASURES = {measure.NAME for measure in ALL}


def public(module: object, prefix: str) -> set[str]:
    """The public functions and classes of a module, as the API page writes them."""
    names = {
        name for name in module.__all__ if callable(getattr(module, name)) and name not in MEASURES
    }
    return {f"{prefix}{name}" for name in names}


def test_every_public_name_is_on_the_api_page():
    assert public(ma, "") - NAMES == set()


@pytest.mark.parametrize("room", ["analysis", "answers", "plots"])
def test_every_function_of_a_room_is_on_the_api_page(room):
    functions = {
        name
        for name in public(getattr(ma, room), f"{room}.")
        if inspect.isfunction(getattr(getattr(ma, room), name.split(".")[1]))
    }
    assert functions
    assert functions - NAMES == set()


def test_formulas_are_those_of_measures():
    formulas = runpy.run_path(str(DOCS / "formulas.py"))["FORMULAS"]
    assert len(formulas) > 20
    assert sorted(set(formulas) - MEASURES) == []


def test_every_name_on_the_api_page_exists():
    missing = []
    for name in DIRECTIVES:
        try:
            pkgutil.resolve_name(
                name if name.startswith("pt_multiaspect.") else f"pt_multiaspect.{name}"
            )
        except (AttributeError, ImportError):
            missing.append(name)
    assert missing == []


def test_no_name_is_on_the_api_page_twice():
    assert sorted(DIRECTIVES) == sorted(set(DIRECTIVES))


def test_every_measure_of_several_aspects_or_groups_is_compared():
    page = (DOCS / "measures_compared.md").read_text(encoding="utf-8")
    missing = {
        m.NAME for m in ALL if not m.SINGLE_ASPECT and not re.search(rf"\bma\.{m.NAME}\(", page)
    }
    missing.remove("On")  # one aspect as it is
    assert not missing, f"add to ROWS of docs/measures_compared.md what {missing} need and reward"


def test_every_page_is_in_the_table_of_contents():
    # Lines of a table of contents are names of pages, or as in: Measures <measures>
    listed = set()
    for page in ("index", "measures"):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for contents in re.findall(r"{toctree}(.*?)```", text, re.DOTALL):
            listed |= {line.split("<")[-1].rstrip(">") for line in contents.splitlines()}
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages
    assert pages - listed == set()


def test_the_landing_page_shows_the_example_of_the_readme():
    readme, landing = (
        path.read_text("utf-8") for path in (DOCS.parent / "README.md", DOCS / "index.md")
    )
    example = re.search(r"```python\n(>>> import pandas.*?)```", readme, re.DOTALL)[1]
    code = [line[4:] for line in example.splitlines() if line.startswith((">>> ", "... "))]
    assert re.search(r"```{code-cell}\n(.*?)\n```", landing, re.DOTALL)[1].splitlines() == code
    commands = re.search(r"```sh\n(.*?)\n```", landing, re.DOTALL)[1].splitlines()
    assert len(commands) == 3
    assert f"\n{' && '.join(commands)}\n" in readme


def test_pages_have_one_form_to_install_extras():
    """All pages install extras as in: pip install -e ".[plots,learning]"."""
    root = Path(__file__).parents[1]
    commands = []
    for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
        # The rest of a line, or of code in a sentence, that has a bracket.
        commands += re.findall(r"pip install\s[^\n`&]*\[[^\n`&]*", page.read_text("utf-8"))
    assert len(commands) > 5
    form = re.compile(r'pip install -e "\.\[[\w,]+\]"')
    assert [command for command in commands if not form.match(command)] == []


def test_blocks_that_are_not_run_import_the_packages_they_name():
    for package, page in {"joblib": "engines.md"}.items():
        blocks = re.findall(
            r"```python\n(.*?)```", (DOCS / "howto" / page).read_text("utf-8"), re.DOTALL
        )
        using = [block for block in blocks if f"{package}." in block]
        assert using != []
        assert [block for block in using if f"import {package}\n" not in block] == []


#: How docstrings state what may change; the API page lists it when it is built.
STABILITY = runpy.run_path(str(DOCS / "stability.py"))


def test_every_public_name_has_a_known_stability():
    """Docstrings state what may still change; the page of the API lists all of these names."""
    find_stability = STABILITY["stability"]
    provisional = set()
    for name, value in [*PUBLIC.items(), *METHODS.items()]:
        if find_stability(inspect.getdoc(value) or ""):
            provisional.add(name)
    assert len(provisional) > 20
    listed_names = set(
        STABILITY["provisional"]()
    )  # without methods, which state nothing of their own
    assert provisional - listed_names == set()
    names_of_measures = {f"pt_multiaspect.{name}" for name in MEASURES}
    assert provisional & names_of_measures == set()


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Do it.", None),
        ("Do it.\n\nNotes\n-----\nStability: provisional. It is\nnew.", ("", "It is new.")),
        (
            "Do it.\n\nby : str\n\nNotes\n-----\nText.\n\nStability: provisional in `by`. New.",
            ("`by`", "New."),
        ),
    ],
)
def test_what_docstrings_state(docstring, expected):
    assert STABILITY["stability"](docstring) == expected


@pytest.mark.parametrize(
    "tag",
    [
        "Stability: provisonal. New.",
        "Stabilty: provisional. New.",
        "Stability: provisional",
        "Stability: provisional in `by`. New.",
        "stability: provisional. New.",
        "Stability: stable. Old.",
        "This is provisional.",
        "Stability: provisional. New.\n\nStability: provisional. New.",
    ],
)
def test_misspelt_stability_is_refused(tag):
    with pytest.raises(ValueError, match="Stability: "):
        STABILITY["stability"](f"Do it.\n\nNotes\n-----\n{tag}")


def test_the_api_page_says_where_its_list_of_provisional_names_goes():
    assert len(re.findall(r"^\.\. provisional names.*\n\n", API, re.MULTILINE)) == 1
    assert ".. include:: ../pt_multiaspect/pt_docs/api.rst\n" in (DOCS / "api.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_figures_that_toma_states_of_clef_2018():
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    qrels = ma.read_qrels(
        {name: shared_path("data", "clef2018", f"{file}.txt.gz") for name, file in files.items()}
    )
    columns = ["name", "qid", "rank", "docno"]
    path = shared_path("data", "clef2018", "runs.top100.tsv.gz")
    table = pd.read_csv(path, sep="\t", names=columns, dtype={"qid": str})
    table["score"] = -table["rank"]
    runs = {name: run[["qid", "docno", "score"]] for name, run in table.groupby("name")}
    scales = ma.Aspects({"relevance": 2, "understandability": 10, "trust": 10})
    whole = {
        "CAM": ma.CAM(aspects=scales),
        "gains": ma.TOMA(axes="gains", aspects=scales),
        "equal": ma.TOMA(aspects=scales),
    }
    measures = whole | {f"{name}@10": measure @ 10 for name, measure in whole.items()}
    with pytest.warns(ma.MultiAspectWarning):  # one run has no documents for one topic
        values = ma.evaluate(runs, qrels, measures, progress=False)
    tau = ma.analysis.correlation(values)
    figures = [tau.loc["CAM", "gains"], tau.loc["CAM@10", "gains@10"]]
    figures += [tau.loc["CAM", "equal"], tau.loc["CAM@10", "equal@10"]]
    assert [round(figure, 2) for figure in figures] == [0.85, 0.63, 0.99, 0.97]
    stated = " ".join((inspect.getdoc(ma.TOMA) or "").split())
    assert (
        f"On the {len(runs)} runs of CLEF eHealth 2018, which has these scales, Kendall's τ "
        "between CAM and TOMA over nDCG is .85 with ``axes='gains'`` (.63 over ``nDCG@10``) and "
        ".99 with equal axes (.97)"
    ) in stated
