"""Reports in a browser: sorted, filtered, with other baselines, and drilled down, by mouse and keyboard."""

from __future__ import annotations

import time

import pandas as pd
import pytest
from browser import Browser, browser  # noqa: F401
from report_world import MEASURES, NASTY, SCALES, SYSTEMS, world

import pt_multiaspect as ma
from pt_multiaspect.reporting import Report

pytestmark = pytest.mark.slow

#: The rows of the table of systems that are not filtered, the names in them, and the marks.
ROWS = "[...document.querySelectorAll('#table tbody tr')].filter((row) => !row.hidden)"
NAMES = f"{ROWS}.map((row) => row.cells[0].textContent)"
MARKS = f"{ROWS}.map((row) => [...row.querySelectorAll('.mark')].map((mark) => mark.textContent))"
#: The cells of the table of topics.
TOPICS = (
    "[...document.querySelectorAll('#topics tbody tr')]"
    ".map((row) => [...row.cells].map((cell) => cell.textContent))"
)


@pytest.fixture(scope="module")
def report() -> Report:
    pytest.importorskip("vl_convert")
    runs, qrels = world()
    return ma.report(runs, qrels, MEASURES, aspects=SCALES, baseline="bm25", progress=False)


@pytest.fixture(scope="module")
def path(report, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    report.to_html(file)
    return file


@pytest.fixture
def page(browser: Browser, path) -> Browser:  # noqa: F811
    browser.size(1280, 800)
    browser.open(path)
    yield browser
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def choose(page: Browser, select: str, value: object) -> None:
    page(
        f"(() => {{ const select = document.getElementById('{select}'); select.value = '{value}';"
        "select.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def middle(element: str) -> str:
    """An expression for the middle of an element in the window."""
    return f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({element}.getBoundingClientRect())"


def wait_until(page: Browser, expression: str) -> None:
    """Wait for what happens after an event."""
    end = time.monotonic() + 10
    while not page(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def test_no_name_runs_as_a_script(page):
    assert page("document.scripts.length") == 3
    assert page("document.querySelectorAll('img').length") == 0
    assert page(NAMES) == list(SYSTEMS)
    # A script that got in would be refused by the policy of the page.
    page("""(() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = 1";
        document.body.append(script);
    })()""")
    assert page("window.ran ?? null") is None
    page.call("Page.getLayoutMetrics")  # the refusal arrives
    assert any("Content Security Policy" in error for error in page.errors)
    page.errors.clear()


def test_sorting(page, report):
    labels = report.labels
    for label, direction in (("TOMA", "descending"), ("ESL", "ascending")):
        button = f"document.querySelectorAll('#table .sort')[{labels.index(label) + 1}]"
        page(f"{button}.click()")
        expected = report.systems.sort_values(
            label, ascending=direction == "ascending", kind="stable"
        )["name"]
        assert page(NAMES) == expected.tolist()
        assert page(f"{button}.closest('th').getAttribute('aria-sort')") == direction
        assert page("document.querySelectorAll('#table th[aria-sort]').length") == 1
    page(f"{button}.click()")
    assert page(f"{button}.closest('th').getAttribute('aria-sort')") == "descending"
    page("document.querySelector('#table .sort').click()")
    assert sorted(page(NAMES)) == sorted(SYSTEMS)
    assert page(NAMES).index("bm25") < page(NAMES).index("dense")


def test_sorting_by_keyboard(page, report):
    column = report.labels.index("TOMA") + 1
    page(f"document.querySelectorAll('#table .sort')[{column}].focus()")
    page.press("Enter", 13)
    assert page(NAMES) == report.systems.sort_values("TOMA", ascending=False)["name"].tolist()
    page.press("Tab", 9)
    assert page("document.activeElement.className") == "sort"


def test_filtering(page):
    page("""(() => {
        const box = document.getElementById("filter");
        box.value = "SCRIPT";
        box.dispatchEvent(new Event("input"));
    })()""")
    assert page(NAMES) == [name for name in SYSTEMS if "script" in name]
    assert page("document.getElementById('found').textContent") == "2 of 5 systems"


def test_another_baseline(page, report):
    for baseline in ("bm25", "dense"):
        choose(page, "baseline", SYSTEMS.index(baseline))
        rows = report.comparisons[report.comparisons["baseline"] == baseline].set_index(
            ["name", "measure"]
        )
        shown = page(MARKS)
        for name, marks in zip(SYSTEMS, shown, strict=True):
            for label, mark in zip(report.labels, marks, strict=True):
                if name == baseline:
                    assert mark == ""
                    continue
                row = rows.loc[(name, label)]
                better = (row["difference"] < 0) == (label == "ESL")
                assert mark == ("" if not row["significant"] else "▲" if better else "▼")
    choose(page, "below", "p")
    index, column = SYSTEMS.index("bm25"), report.labels.index("TOMA") + 1
    cell = f"document.querySelectorAll('#table tbody tr')[{index}].cells[{column}].querySelector('small')"
    p = rows.loc[("bm25", "TOMA"), "p"]
    assert page(f"{cell}.textContent") == (
        "p < 0.0001" if p < 0.0001 else f"p = {page(f'({float(p)!r}).toPrecision(3)')}"
    )
    choose(page, "baseline", "")
    assert {mark for row in page(MARKS) for mark in row} == {""}


def test_the_scatter_of_systems(page, report):
    points = "document.querySelectorAll('#scatter .mark-symbol path').length"
    assert page(points) == len(SYSTEMS)
    choose(page, "x", report.labels.index("ESL"))
    wait_until(
        page, "document.querySelector('#scatter').textContent.includes('ESL, lower is better')"
    )
    choose(page, "y", report.labels.index("ESL"))
    wait_until(
        page,
        "document.querySelector('#scatter').textContent.split('ESL, lower is better').length === 3",
    )
    assert page(points) == len(SYSTEMS)


def test_names_of_points_are_texts(page):
    at = SYSTEMS.index(NASTY[1])
    point = f"document.querySelectorAll('#scatter .mark-symbol path')[{at}]"
    page(f"{point}.scrollIntoView({{block: 'center'}})")
    x, y = page(middle(point))
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    wait_until(page, "document.querySelector('#vg-tooltip-element.visible') !== null")
    assert page("document.getElementById('vg-tooltip-element').textContent").startswith(
        f"{NASTY[1]}: 0."
    )
    assert (
        page("getComputedStyle(document.getElementById('vg-tooltip-element')).position") == "fixed"
    )
    assert page("document.querySelectorAll('img').length") == 0
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    wait_until(page, "document.querySelector('#vg-tooltip-element.visible') === null")


def test_drilling_down(page, report):
    measure, a, b = report.labels.index("TOMA"), SYSTEMS.index("dense"), SYSTEMS.index("bm25")
    for select, value in (("measure", measure), ("a", a), ("b", b)):
        choose(page, select, value)
    expected = ma.largest_differences(report.perquery, "dense", "bm25", "TOMA", n=100)
    assert [row[0] for row in page(TOPICS)] == expected["qid"].tolist()
    for row, value in zip(page(TOPICS), expected.itertuples(), strict=True):
        assert row[1:] == [
            f"{value.value_a:.4f}",
            f"{value.value_b:.4f}",
            f"{value.difference:+.4f}",
        ]
    better = int((expected["difference"] > 0).sum())
    assert page("document.getElementById('counts').textContent").startswith(
        f"A is better on {better} topic"
    )
    # By keyboard, to the first topic.
    page("document.querySelector('#topics button').focus()")
    page.press("Enter", 13)
    assert page("document.activeElement.id") == "explanation"
    qid = expected["qid"].iloc[0]
    assert page("document.querySelector('#explanation h3').textContent") == f"Topic {qid}, TOMA"
    runs, qrels = world()
    for index, name in enumerate(("dense", "bm25")):
        explanation = ma.explain(MEASURES["TOMA"], {name: runs[name]}, qrels, qid)
        assert page(f"document.querySelectorAll('#explanation h4')[{index}].textContent").endswith(
            f"{name}, {explanation.value:.4f}"
        )
        shown = page(
            f"[...document.querySelectorAll('#explanation table')[{index}].querySelectorAll('tbody "
            "tr')].map((row) => [...row.cells].map((cell) => cell.firstChild?.textContent))"
        )
        top = explanation.ranks.head(10)
        assert [row[1] for row in shown[: len(top)]] == top["docno"].tolist()
        for row, label in zip(shown, top["relevance"], strict=False):
            assert row[3] == ("–" if label != label else f"{label:g}")
        amounts = page(
            "[...document.querySelectorAll('#explanation "
            f"table')[{index}].querySelectorAll('.amount')].map((cell) => Number(cell.textContent))"
        )
        assert amounts == pytest.approx(top["contribution"].tolist(), abs=6e-5)
        rest = explanation.value - top["contribution"].sum()
        if rest > 1e-3:
            assert shown[-1][0] == "Further ranks, and contributions without a rank"
            assert float(shown[-1][1]) == pytest.approx(rest, abs=5e-4)
    # Another measure keeps the topic.
    choose(page, "measure", report.labels.index("ESL"))
    assert page("document.querySelector('#explanation h3').textContent") == f"Topic {qid}, ESL"
    choose(page, "b", "")
    assert page("document.querySelectorAll('#explanation table').length") == 1


def test_bars_of_both_rankings_have_one_scale(page):
    """A bar is as long as its contribution, whichever ranking the document is in."""
    for select, name in (("a", "dense"), ("b", "bm25")):
        choose(page, select, SYSTEMS.index(name))
    n_different = 0
    for topic in range(6):
        page(f"document.querySelectorAll('#topics button')[{topic}].click()")
        sides = page(
            "[...document.querySelectorAll('#explanation table')].map((table) => "
            "[...table.querySelectorAll('.amount')].map((cell) => [Number(cell.textContent), "
            "parseFloat(cell.querySelector('i').style.width)]))"
        )
        most = max(abs(amount) for side in sides for amount, _ in side)
        n_different += len({max(abs(amount) for amount, _ in side) for side in sides}) == 2
        for amount, width in sides[0] + sides[1]:
            assert width == pytest.approx(100 * abs(amount) / most, abs=0.02)
    assert n_different


@pytest.fixture(scope="module")
def narrow_path(tmp_path_factory):
    """A report with names as long as those of real systems and aspects."""
    pytest.importorskip("vl_convert")
    qrels = {
        f"q{topic}": {
            f"clueweb12-{topic}-{at}": {"relevance": at % 2, "understandability": at}
            for at in range(4)
        }
        for topic in range(3)
    }
    scores = {
        q: {docno: float(at) for at, docno in enumerate(labels)} for q, labels in qrels.items()
    }
    other = {**scores, "q0": {docno: -score for docno, score in scores["q0"].items()}}
    path = tmp_path_factory.mktemp("narrow") / "report.html"
    scales = {"relevance": 1, "understandability": 3}
    runs = {"KISTI_EN_RUN.123.run": scores, "KISTI_EN_RUN.124.run": other}
    ma.report(runs, qrels, aspects=scales, progress=False, path=path)
    return path


@pytest.fixture
def narrow_page(browser, narrow_path):  # noqa: F811
    """The report on a narrow screen, with the explanation of a topic."""
    browser.size(500, 800)
    browser.open(narrow_path)
    browser("document.querySelector('#topics button').click()")
    return browser


def test_names_of_aspects_are_not_broken_on_a_narrow_screen(narrow_page):
    lines = narrow_page(
        "[...document.querySelectorAll('#explanation thead th')].map((cell) => {"
        "const range = document.createRange(); range.selectNodeContents(cell);"
        "return [cell.textContent, range.getClientRects().length]; })"
    )
    assert ["understandability", 1] in lines
    assert {n_lines for _, n_lines in lines} == {1}
    assert narrow_page("document.documentElement.scrollWidth") <= 500


#: The heads in which a line ends inside a word: two letters or digits beside each other have
#: different heights.
BROKEN = """
[...document.querySelectorAll('#table th, #measures th, figcaption, dt, h3, #explanation th')].filter((head) => {
  const letters = [];
  const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    [...node.data].forEach((letter, at) => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      letters.push([letter, range.getBoundingClientRect().top]);
    });
  }
  return letters.some(([letter, top], at) => at && /[a-z0-9]/i.test(letter) && /[a-z0-9]/i.test(letters[at - 1][0])
    && Math.abs(top - letters[at - 1][1]) > 3);
}).map((head) => head.textContent)
"""


@pytest.mark.parametrize("width", [420, 1300])
def test_heads_are_not_broken_inside_words(browser, tmp_path, width):  # noqa: F811
    """`TOMA(gate='releva|nce')` was broken so."""
    pytest.importorskip("vl_convert")
    runs, qrels = world(tuple(f"a_system_with_a_long_name-{n}.run" for n in range(6)))
    qrels = qrels.rename(columns={"<b>cred": "credibility"})
    scales = ma.Aspects({"relevance": 2, "credibility": 3})
    measures = [
        "nDCG@10", "TOMA(gate='relevance')@10", "CAM(base='nDCG',aspects='relevance,credibility')@10",
        "TOMA(gate='relevance',distance='chebyshev')@10", "MM(base='AP')",
    ]  # fmt: skip
    path = tmp_path / "report.html"
    ma.report(runs, qrels, measures, aspects=scales, progress=False, path=path)
    browser.size(width, 900)
    browser.open(path)
    browser("document.querySelector('#topics button').click()")
    assert browser(BROKEN) == []
    assert browser("document.documentElement.scrollWidth") <= width


def test_contributions_that_are_not_known_are_said_without_the_error(browser, tmp_path):  # noqa: F811
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    path = tmp_path / "report.html"
    ma.report(runs, qrels, ["ERR@5"], aspects=SCALES, progress=False, path=path)
    browser.open(path)
    browser("document.querySelector('#topics button').click()")
    text = browser("document.getElementById('explanation').textContent")
    assert "Contributions to this measure are not known." in text
    assert "uses 4 as the highest grade" not in browser("document.body.innerText")


def test_topics_are_shown_with_their_texts(browser, tmp_path):  # noqa: F811
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    topics = pd.DataFrame({"qid": ["q0<i>", "q1<i>"], "query": ["cats <b>& dogs", None]})
    path = tmp_path / "report.html"
    ma.report(runs, qrels, ["AP"], topics=topics, aspects=SCALES, progress=False, path=path)
    browser.open(path)
    cells = browser(
        "[...document.querySelectorAll('#topics tbody td:first-child')].map((cell) => "
        "cell.textContent)"
    )
    assert sorted(cells) == ["q0<i> cats <b>& dogs", "q1<i>"]
    browser(
        "[...document.querySelectorAll('#topics button')].find((b) => b.textContent === "
        "'q0<i>').click()"
    )
    assert browser("document.querySelector('#explanation p').textContent") == "cats <b>& dogs"


def test_names_of_systems_do_not_cover_values_on_a_narrow_screen(narrow_page):
    cells = "[...document.querySelectorAll('#table tbody th')]"
    assert narrow_page(f"{cells}.every((cell) => cell.scrollWidth <= cell.clientWidth)")


def test_tables_of_measures_and_scales_fit_on_a_phone(narrow_page):
    """Of a wider table the first columns were to be seen: the names and the bars of discriminative power."""
    narrow_page.size(420, 800)
    tables = "[...document.querySelectorAll('#measures .ptma .wide, #definitions > .ptma .wide')]"
    overhang = narrow_page(f"{tables}.map((table) => table.scrollWidth - table.clientWidth)")
    narrow_page.size(500, 800)
    assert overhang == [0, 0]


def test_one_topic_is_not_in_the_plural(narrow_page):
    text = narrow_page("document.getElementById('counts').textContent")
    assert text == "A is better on 1 topic, worse on 0 and equal to B on 2 (TOMA-gated@10)."


def test_pictures_of_means(page, report):
    """One for each measure, best system first, with the chosen baseline."""
    labels = report.labels
    assert page("document.querySelectorAll('.means .chart svg').length") == len(labels)
    for place, label in enumerate(labels):
        marks = f"[...document.querySelectorAll('#mean-{place} .mark-symbol path')]"
        said = page(f"{marks}.map((mark) => mark.getAttribute('aria-label'))")
        rows = report.systems.sort_values(label, ascending=label == "ESL", kind="stable")
        low, high = (rows[f"{label} 95% {end}"] for end in ("low", "high"))
        assert said == [
            f"{name}: {value:.4f} [{first:.4f}, {last:.4f}]".replace("-", "−")
            for name, value, first, last in zip(rows["name"], rows[label], low, high, strict=True)
        ]
        heights = page(f"{marks}.map((mark) => mark.getBoundingClientRect().y)")
        assert heights == sorted(heights)
        assert (
            page(f"document.querySelectorAll('#mean-{place} .mark-rule.role-mark line').length")
            == len(rows) + 1
        )
    choose(page, "baseline", "")
    wait_until(
        page,
        f"document.querySelectorAll('#mean-0 .mark-rule.role-mark line').length === {len(SYSTEMS)}",
    )


def test_a_list_that_scrolls_says_so(browser, tmp_path):  # noqa: F811
    pytest.importorskip("vl_convert")
    values = [
        (name, f"q{n}", "X", (n * size) % 7 / 7)
        for size, name in enumerate("ab", 2)
        for n in range(40)
    ]
    frame = pd.DataFrame(values, columns=["name", "qid", "measure", "value"])
    answers = pd.DataFrame(
        [(name, f"q{n}", f"<i>{name}{n}</i>") for name in "ab" for n in range(40)]
    )
    answers.columns = ["name", "qid", "text"]
    ma.report(frame, measures={"X": "higher"}, answers=answers, path=tmp_path / "values.html")
    for dark in (False, True):
        browser.size(420, 800, dark)
        browser.open(tmp_path / "values.html")
        assert (
            browser("document.getElementById('more').textContent") == "The list scrolls: 40 topics."
        )
        assert browser("document.documentElement.scrollWidth") == 420
        browser("document.querySelector('#topics button').focus()")
        browser.press("Enter", 13)
        shown = browser(
            "[...document.querySelectorAll('#explanation blockquote')].map((text) => "
            "text.textContent)"
        )
        topic = browser("document.querySelector('#topics .chosen button').textContent")
        a, b = (
            browser(f"document.getElementById('{side}').selectedOptions[0].textContent")
            for side in "ab"
        )
        assert shown == [f"<i>{a}{topic[1:]}</i>", f"<i>{b}{topic[1:]}</i>"]
        assert browser.errors == []


def test_selecting_a_bar(page):
    bar = "document.querySelectorAll('#differences .mark-rect path')"
    assert page(f"{bar}.length") == 6
    page(f"{bar}[2].scrollIntoView({{block: 'center'}})")
    x, y = page(middle(f"{bar}[2]"))
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    wait_until(page, "document.querySelector('#explanation h3') !== null")


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_reader(page, path, dark):
    page.size(1280, 800, dark)
    background = page("getComputedStyle(document.body).backgroundColor")
    text = page("getComputedStyle(document.querySelector('#scatter .role-axis-label text')).fill")
    lightness = {"rgb(255, 255, 255)": 1, "rgb(22, 24, 28)": 0}
    assert lightness[background] == (not dark)
    assert text == page("getComputedStyle(document.body).color")


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_wider_than_the_page_fades(browser, path, width):  # noqa: F811
    """Unless it is scrolled to the end."""
    browser.size(width, 800)
    browser.open(path)
    fades = "[...document.querySelectorAll('nav ul, #table')].map((part) => (part.closest('.wide') ?? part))"
    fades += ".map((part) => [part.scrollWidth > part.clientWidth,"
    parts = browser(f"{fades} getComputedStyle(part).getPropertyValue('--ptma-fade')])")
    assert [is_wider for is_wider, _ in parts] == [width == 390] * 2
    assert all((fade != "0px") is is_wider for is_wider, fade in parts), parts


def test_a_phone_scrolls_down_only(browser, path):  # noqa: F811
    browser.size(390, 800)
    browser.open(path)
    browser("document.querySelector('#topics button').click()")
    browser("document.querySelector('details').open = true")
    assert browser("document.documentElement.scrollWidth") <= 390
    assert browser.errors == []


def test_print_shows_everything(page):
    page("window.dispatchEvent(new Event('beforeprint'))")
    assert page("document.querySelector('details').open")
    page.call(
        "Emulation.setEmulatedMedia",
        media="print",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )
    assert page("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"
    assert (
        len(page.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        > 10_000
    )
    page.call("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.parametrize(("n_systems", "n_topics", "n_measures"), [(1, 2, 5), (2, 1, 5), (2, 2, 1)])
def test_the_smallest_reports(browser, tmp_path, n_systems, n_topics, n_measures):  # noqa: F811
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other")[:n_systems], n_topics=n_topics)
    options = (
        {"aspects": SCALES} if n_measures > 1 else {"measures": "nDCG@10", "aspects": ["relevance"]}
    )
    report = ma.report(runs, qrels, progress=False, path=tmp_path / "report.html", **options)
    assert len(report.labels) == n_measures
    browser.open(tmp_path / "report.html")
    assert browser("document.querySelector('#aspects') === null") == (n_measures == 1)
    assert browser("document.querySelector('#baseline') === null") == (
        min(n_systems, n_topics) == 1
    )
    browser("document.querySelector('#table .sort').click()")
    browser("document.querySelector('#topics button').click()")
    assert browser("document.querySelectorAll('#explanation table').length") == n_systems
    assert browser.errors == []


@pytest.fixture(scope="module")
def grouped_report(tmp_path_factory) -> tuple[Report, dict[str, str], object]:
    """A report with groups of topics, one of a nasty name and one of a single topic, and its page."""
    pytest.importorskip("vl_convert")
    runs, qrels = world(SYSTEMS[:3])
    by = {
        qid: NASTY[0] if n < 3 else "rest" if n < 5 else "one"
        for n, qid in enumerate(qrels["qid"].unique())
    }
    file = tmp_path_factory.mktemp("report") / "report.html"
    report = ma.report(
        runs, qrels, MEASURES, aspects=SCALES, baseline="bm25", by=by, progress=False, path=file
    )
    return report, by, file


def test_choosing_a_group_of_topics(browser, grouped_report):  # noqa: F811
    report, by, file = grouped_report
    browser.size(1280, 800)
    browser.open(file)
    cells = f"{ROWS}.map((row) => [...row.cells].slice(1).map((cell) => cell.firstElementChild.textContent))"
    texts = f"{ROWS}.map((row) => row.textContent).sort()"
    first_texts = browser(texts)
    browser(f"document.querySelectorAll('#table .sort')[{report.labels.index('TOMA') + 1}].click()")
    for number, group in ((1, NASTY[0]), (2, "rest"), (3, "one"), (0, "all")):
        browser("document.getElementById('group').focus()")
        for _ in range(3):  # by keyboard
            browser.press("ArrowUp", 38)
        for _ in range(number):
            browser.press("ArrowDown", 40)
        assert browser("document.getElementById('group').selectedOptions[0].text").startswith(group)
        table = report.systems[report.systems["group"] == group].set_index("name")
        names = browser(NAMES)
        assert names == table.sort_values("TOMA", ascending=False, kind="stable").index.tolist()
        shown = [[float(text) for text in row] for row in browser(cells)]
        assert shown == [
            pytest.approx(table.loc[name, report.labels].tolist(), abs=5e-5) for name in names
        ]
        best = browser(
            f"{ROWS}.map((row) => "
            f"row.cells[{report.labels.index('TOMA') + 1}].querySelector('.best') !== null)"
        )
        assert best[0]
        assert not all(best)
        tests = report.comparisons[report.comparisons["group"] == group]
        signs = [mark for row in browser(MARKS) for mark in row if mark]
        assert len(signs) == tests.loc[tests["baseline"] == "bm25", "significant"].sum()
        n_topics = sum(group in (name, "all") for name in by.values())
        wait_until(browser, f"document.querySelectorAll('#topics tbody tr').length === {n_topics}")
        assert (
            f"(topics of {group})" in browser("document.getElementById('counts').textContent")
        ) == (number > 0)
    assert browser(texts) == first_texts
    assert browser.errors == []
