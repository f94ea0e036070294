"""The pages of the documentation: what they are made of, and, as built, what readers find in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from browser import Browser, browser  # noqa: F401

import pt_multiaspect as ma
from pt_multiaspect.measures import ALL

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Its modules import each other.
sys.path.append(str(DOCS))

pytest.importorskip("matplotlib")

import families  # noqa: E402
import formulas  # noqa: E402
import generated_pages  # noqa: E402
import home_picture  # noqa: E402
import page_checks  # noqa: E402

MEASURES = {measure.NAME for measure in ALL}


def test_pages_of_names_differ_in_more_than_case() -> None:
    pages = generated_pages.api_pages()
    assert pages["report"] == "api/report"
    assert pages["analysis.multiverse.Multiverse"] == "api/analysis.multiverse.Multiverse"
    assert len(pages) > 120
    assert len({page.lower() for page in pages.values()}) == len(pages)


def test_every_measure_says_what_to_compare_it_with() -> None:
    assert set(families.COMPARE_WITH) == MEASURES, "write it in docs/families.py"


def test_every_family_has_a_picture_and_a_place_in_the_navigation() -> None:
    pages = {page.partition("/")[2] for page in generated_pages.measure_pages().values()}
    assert set(families.PICTURES) - {"which_measure"} == pages, "add it to docs/families.py"
    listed = re.findall(
        r"^measures/(\w+)$", (DOCS / "measures.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(pages), "add it to a list of docs/measures.md"


@pytest.mark.parametrize("page", families.PICTURES)
def test_pictures_show_differences_within_the_range(page: str) -> None:
    values = families.pictured_values(page)
    assert (values.nunique() > 1).all()
    for name, measure in families.PICTURES[page][0].items():
        if isinstance(measure, ma.Measure):
            low, high = measure.range
            assert values[name].between(low - 1e-9, high + 1e-9).all()


def test_the_picture_of_three_documents_is_described_as_it_is_drawn() -> None:
    """Which of the rankings of three documents, such as "both, relevant, credible", a measure prefers."""
    values = families.pictured_values("which_measure")  # rankings, measures
    best = {}
    for measure in values:
        is_best = values[measure] >= values[measure].max() - 1e-9
        best[measure] = set(values.index[is_best])
    # nDCG does not tell apart what is relevant; the others want the document that is both first.
    assert best["nDCG"] == {"both, relevant, credible", "relevant, both, credible"}
    for measure in ("CAM", "unDCG", "NLRE"):
        assert best[measure] == {"both, relevant, credible", "both, credible, relevant"}
    assert best["TOMA, gate"] == {"both, relevant, credible"}
    assert (values[["CAM", "NLRE"]].max() < 1).all()
    assert values["TOMA, gate"].max() == pytest.approx(1)


def test_the_picture_of_means_shows_their_order() -> None:
    values = families.pictured_values("means")
    assert (values["MM"] <= values["GAM"]).all()
    assert (values["GAM"] <= values["CAM"]).all()
    assert values["CAM"].max() < 1


def test_the_picture_of_toma_shows_that_a_gate_tells_more_rankings_apart() -> None:
    values = families.pictured_values("toma")
    assert values["TOMA"].nunique() < values["TOMA, gate"].nunique()


def test_the_picture_of_products_shows_that_only_one_document_counts() -> None:
    """Rankings with the document that is both relevant and understandable at one rank have one value."""
    values = families.pictured_values("understandability").drop(columns="nDCG")
    for measure in values:
        values_by_rank: dict[int, set[float]] = {}
        for ranking, value in values[measure].items():
            rank = ranking.split(", ").index("both")
            values_by_rank.setdefault(rank, set()).add(value)
        assert all(len(of_rank) == 1 for of_rank in values_by_rank.values())


def test_the_picture_of_sessions_shows_that_mdcu_needs_the_document_that_is_both() -> None:
    values = families.pictured_values("session")["MDCU"]
    assert set(values > 0) == {True, False}
    for ranking, value in values.items():
        assert ("both" in ranking) == (value > 0)


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0, "1"), (0.5, ".50"), (-0.541, "−.54"), (0.0034, ".003"), (0.0, "0"), (-2.0, "−2")],
)
def test_numbers_of_pictures(value: float, written: str) -> None:
    assert families._number(value) == written


#: "notebook 06", "notebooks/06_choices.ipynb".
NUMBERED = re.compile(r"[Nn]otebooks?[ /](\d+\w*(?:\.ipynb)?)")


def unknown_notebooks(text: str) -> list[str]:
    """The notebooks that a text refers to by number, and that are no files."""
    return [name for name in NUMBERED.findall(text) if not (ROOT / "notebooks" / name).is_file()]


def test_references_to_notebooks_are_files() -> None:
    assert unknown_notebooks("notebook 06 shows both; see notebooks/01_quickstart.ipynb") == ["06"]
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("pt_multiaspect", "docs", "notebooks", "benchmarks"):
        files += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".md", ".rst", ".ipynb")
        ]
    found = {path.name: unknown_notebooks(path.read_text("utf-8")) for path in files}
    assert len(found) > 100
    assert {name: notebooks for name, notebooks in found.items() if notebooks} == {}


@pytest.mark.parametrize(
    ("element", "complaint"),
    [
        ('<img src="a/b.png" alt="a/b.png">', "picture a/b.png has no description"),
        ('<img src="a/b.png">', "picture a/b.png has no description"),
        ('<a href="gone.html">x</a>', "link to gone.html, which does not exist"),
        ('<a href="#gone">x</a>', "link to #gone, which has no such place"),
        ('<a href="other.html#gone">x</a>', "link to other.html#gone, which has no such place"),
        # As Sphinx writes an address, nDCG@10.
        ('<a href="mailto:nDCG%2540&#49;0">x</a>', "nDCG@10 has become a mail address"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "https://cdn.example/x.js is loaded over a network",
        ),
        (
            '<link rel="stylesheet" href="//cdn.example/x.css"/>',
            "//cdn.example/x.css is loaded over a network",
        ),
    ],
)
def test_what_is_wrong_with_a_page_is_found(tmp_path: Path, element: str, complaint: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.png").touch()
    (tmp_path / "other.html").write_text('<p id="here"></p>', encoding="utf-8")
    good_elements = [
        '<a href="other.html#here">x</a>',
        '<a href="https://example.org">x</a>',
        '<img src="a/b.png" alt="A line.">',
    ]
    page = tmp_path / "page.html"
    page.write_text("".join(good_elements), encoding="utf-8")
    assert list(page_checks.complaints(tmp_path)) == []

    page.write_text("".join([*good_elements, element]), encoding="utf-8")
    ((name, found),) = page_checks.complaints(tmp_path)
    assert name == "page.html"
    assert found.startswith(complaint)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, with no cell executed; CI builds them with their outputs, and checks them then."""
    pytest.importorskip("myst_nb")
    folder = tmp_path_factory.mktemp("pages")
    settings = ["nb_execution_mode=off", "suppress_warnings=myst.header,myst-nb.lexer"]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += [part for setting in settings for part in ("-D", setting)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    }
    done = subprocess.run(
        [*command, DOCS, folder],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def open_page(page: Browser, folder: Path, address: str, ready: str) -> None:
    """Open a built page, and wait until an expression is true in it."""
    page.errors.clear()
    page.requests.clear()
    page.call("Page.navigate", url=f"{folder.resolve().as_uri()}/{address}")
    end = time.monotonic() + 30
    while not page(f"document.readyState === 'complete' && Boolean({ready})"):
        assert time.monotonic() < end, address
        time.sleep(0.02)


def searches() -> list[tuple[str, str]]:
    """Return each search, and the page that must be its first hit."""
    import search_terms

    return [(term, page) for page, terms in search_terms.TERMS.items() for term in terms] + [
        ("upper_bound", "api/analysis.upper_bound"),
        ("evaluate", "api/evaluate"),
        ("AspectRanker", "api/AspectRanker"),
        ("TOMA", "measures/toma"),
    ]


@pytest.mark.slow
def test_searches_find_the_page_on_it_first(built: Path, browser: Browser) -> None:  # noqa: F811
    wrong = {}
    for term, page in searches():
        done = "document.querySelector('.search-summary')?.textContent"
        open_page(browser, built, f"search.html?q={quote(term)}", done)
        hit = browser("document.querySelector('ul.search a')?.getAttribute('href') ?? ''")
        if hit.partition("#")[0].partition("?")[0] != f"{page}.html":
            wrong[term] = hit
    assert wrong == {}, "add the words to docs/search_terms.py"


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_pages_work_without_a_network(built: Path, browser: Browser, dark: bool) -> None:  # noqa: F811
    browser.size(420, 900, dark=dark)
    n_formulas = 0
    for path in sorted((built / "measures").glob("*.html")):
        text = path.read_text("utf-8")
        expected = text.count('class="math')
        drawn = "document.querySelectorAll('mjx-container svg').length"
        open_page(browser, built, f"measures/{path.name}", f"{drawn} === {expected}")
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
        assert browser("document.querySelector('[data-mml-node=merror]')") is None
        assert browser("document.querySelector('article img').naturalWidth") > 0
        n_formulas += expected
    assert n_formulas == len(formulas.FORMULAS)


@pytest.mark.slow
def test_measures_in_tables_are_links(built: Path) -> None:
    page = (built / "measures.html").read_text("utf-8")
    for name, target in generated_pages.measure_pages().items():
        assert f'href="{target}.html#pt_multiaspect.{name}"' in page
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)
    assert len(cells) > 100
    # A cell whose content is code with the name of a measure, but no link around it:
    # <p><code class="docutils"><span>TOMA</span></code></p>
    name_without_link = rf"<p>\s*<code[^>]*>.*?({'|'.join(MEASURES)})</.*"
    assert [cell for cell in cells if re.fullmatch(name_without_link, cell)] == []


@pytest.mark.slow
def test_measures_in_lists_are_links(built: Path) -> None:
    page = (built / "which_measure.html").read_text("utf-8")
    assert 'href="measures/toma.html#pt_multiaspect.TOMA"' in page


def test_the_picture_of_the_first_page_shows_the_collection_as_it_is():
    drawn = home_picture.picture()
    assert home_picture.FILE.read_text(encoding="utf-8") == drawn, "run docs/home_picture.py"
    values = home_picture.values_of(home_picture.judged_rankings())
    relevance_alone, all_three = home_picture.MEASURES
    assert values.loc[relevance_alone].nunique() == 1
    assert values.loc[all_three, "by characters"] > values.loc[all_three, "by words"] + 0.05
    printed = {f"{value:.2f}".removeprefix("0") for value in values.to_numpy().ravel()}
    assert len(printed) == 3
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = page.read_text(encoding="utf-8")
        assert {value for value in printed if value not in text} == set()
