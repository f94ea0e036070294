"""Reports in a browser: sorted, filtered, with other baselines, and drilled down, by mouse and keyboard."""

from __future__ import annotations

import time

import numpy as np
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


def expected_mark(test: pd.Series, lower_is_better: bool) -> str:
    """Return the mark of a significant difference from the baseline: ▲ for better, ▼ for worse."""
    if not test["significant"]:
        return ""
    is_better = test["difference"] < 0 if lower_is_better else test["difference"] > 0
    return "▲" if is_better else "▼"


@pytest.mark.parametrize("baseline", ["bm25", "dense"])
def test_another_baseline(page, report, baseline):
    """Each cell of a system and a measure has the mark of its test against the baseline chosen."""
    choose(page, "baseline", SYSTEMS.index(baseline))
    is_of_baseline = report.comparisons["baseline"] == baseline
    tests = report.comparisons[is_of_baseline].set_index(["name", "measure"])
    for name, marks in zip(SYSTEMS, page(MARKS), strict=True):
        for label, mark in zip(report.labels, marks, strict=True):
            if name == baseline:
                assert mark == ""
            else:
                assert mark == expected_mark(tests.loc[(name, label)], label == "ESL")


def test_levels_below_the_values(page, report):
    """As JavaScript prints three digits: "p = 0.0123"."""
    choose(page, "baseline", SYSTEMS.index("dense"))
    choose(page, "below", "p")
    row, column = SYSTEMS.index("bm25"), report.labels.index("TOMA") + 1
    text = page(
        f"document.querySelectorAll('#table tbody tr')[{row}].cells[{column}]"
        ".querySelector('small').textContent"
    )
    is_of_dense = report.comparisons["baseline"] == "dense"
    tests = report.comparisons[is_of_dense].set_index(["name", "measure"])
    level = float(tests.loc[("bm25", "TOMA"), "p"])
    if level < 0.0001:
        assert text == "p < 0.0001"
    else:
        digits = page(f"({level!r}).toPrecision(3)")
        assert text == f"p = {digits}"


def test_no_baseline(page):
    choose(page, "baseline", "")
    for marks in page(MARKS):
        assert set(marks) == {""}


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


#: The texts of the cells of a table of the explanation, by row, with its number in place of %d.
RANKS = (
    "[...document.querySelectorAll('#explanation table')[%d].querySelectorAll('tbody tr')]"
    ".map((row) => [...row.cells].map((cell) => cell.firstChild?.textContent))"
)
AMOUNTS = (
    "[...document.querySelectorAll('#explanation table')[%d].querySelectorAll('.amount')]"
    ".map((cell) => Number(cell.textContent))"
)
TITLE = "document.querySelector('#explanation h3').textContent"


@pytest.fixture
def compared_page(page, report):
    """The page with the topics by the difference of dense, A, and bm25, B, in TOMA."""
    choose(page, "measure", report.labels.index("TOMA"))
    choose(page, "a", SYSTEMS.index("dense"))
    choose(page, "b", SYSTEMS.index("bm25"))
    return page


@pytest.fixture
def differences(report) -> pd.DataFrame:
    return ma.largest_differences(report.perquery, "dense", "bm25", "TOMA", n=100)


def open_first_topic(page: Browser) -> None:
    """Choose the first topic by keyboard."""
    page("document.querySelector('#topics button').focus()")
    page.press("Enter", 13)


def test_topics_by_their_difference(compared_page, differences):
    rows = compared_page(TOPICS)
    for row, expected in zip(rows, differences.itertuples(), strict=True):
        assert row == [
            expected.qid,
            f"{expected.value_a:.4f}",
            f"{expected.value_b:.4f}",
            f"{expected.difference:+.4f}",
        ]
    n_better = int((differences["difference"] > 0).sum())
    counts = compared_page("document.getElementById('counts').textContent")
    assert counts.startswith(f"A is better on {n_better} topic")


@pytest.mark.parametrize(("number", "name"), [(0, "dense"), (1, "bm25")])
def test_drilling_down(compared_page, differences, number, name):
    """A topic opens the rankings of both systems: the first ten documents, and what each contributes."""
    open_first_topic(compared_page)
    assert compared_page("document.activeElement.id") == "explanation"
    qid = differences["qid"].iloc[0]
    assert compared_page(TITLE) == f"Topic {qid}, TOMA"
    runs, qrels = world()
    explanation = ma.explain(MEASURES["TOMA"], {name: runs[name]}, qrels, qid)
    heading = compared_page(f"document.querySelectorAll('#explanation h4')[{number}].textContent")
    assert heading.endswith(f"{name}, {explanation.value:.4f}")
    rows = compared_page(RANKS % number)
    first_ten = explanation.ranks.head(10)
    for row, document in zip(rows, first_ten.to_dict("records"), strict=False):
        _, docno, _, relevance, *_ = row
        assert docno == document["docno"]
        if np.isnan(document["relevance"]):
            assert relevance == "–"
        else:
            assert relevance == f"{document['relevance']:g}"
    contributions = compared_page(AMOUNTS % number)
    assert contributions == pytest.approx(first_ten["contribution"].tolist(), abs=6e-5)
    remainder = explanation.value - first_ten["contribution"].sum()
    if remainder > 1e-3:
        text, amount, *_ = rows[-1]
        assert text == "Further ranks, and contributions without a rank"
        assert float(amount) == pytest.approx(remainder, abs=5e-4)


def test_the_topic_stays_when_the_measure_or_a_system_changes(compared_page, differences, report):
    open_first_topic(compared_page)
    choose(compared_page, "measure", report.labels.index("ESL"))
    qid = differences["qid"].iloc[0]
    assert compared_page(TITLE) == f"Topic {qid}, ESL"
    choose(compared_page, "b", "")  # no second system
    assert compared_page("document.querySelectorAll('#explanation table').length") == 1


#: The pairs of contribution and width of its bar in percent, by table of the explanation.
BARS = (
    "[...document.querySelectorAll('#explanation table')].map((table) => "
    "[...table.querySelectorAll('.amount')].map((cell) => [Number(cell.textContent), "
    "parseFloat(cell.querySelector('i').style.width)]))"
)


def test_bars_of_both_rankings_have_one_scale(page):
    """A bar is as long as its contribution, whichever ranking the document is in."""
    choose(page, "a", SYSTEMS.index("dense"))
    choose(page, "b", SYSTEMS.index("bm25"))
    n_topics_with_different_maxima = 0
    for topic in range(6):
        page(f"document.querySelectorAll('#topics button')[{topic}].click()")
        bars_of_a, bars_of_b = page(BARS)
        maximum_of_a = max(abs(amount) for amount, _ in bars_of_a)
        maximum_of_b = max(abs(amount) for amount, _ in bars_of_b)
        if maximum_of_a != maximum_of_b:
            n_topics_with_different_maxima += 1
        for amount, width in bars_of_a + bars_of_b:
            expected_width = 100 * abs(amount) / max(maximum_of_a, maximum_of_b)
            assert width == pytest.approx(expected_width, abs=0.02)
    assert n_topics_with_different_maxima > 0


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
    """`explain` has no contributions to ERR, and says in an error that it "uses 4 as the highest grade"."""
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
    """One for each measure, with a point and an interval per system, the best first."""
    assert page("document.querySelectorAll('.means .chart svg').length") == len(report.labels)
    for number, label in enumerate(report.labels):
        lower_is_better = label == "ESL"
        systems = report.systems.sort_values(label, ascending=lower_is_better, kind="stable")
        expected_texts = []
        for row in systems.to_dict("records"):
            low, high = row[f"{label} 95% low"], row[f"{label} 95% high"]
            text = f"{row['name']}: {row[label]:.4f} [{low:.4f}, {high:.4f}]"
            expected_texts.append(text.replace("-", "−"))
        points = f"[...document.querySelectorAll('#mean-{number} .mark-symbol path')]"
        assert page(f"{points}.map((point) => point.getAttribute('aria-label'))") == expected_texts
        heights = page(f"{points}.map((point) => point.getBoundingClientRect().y)")
        assert heights == sorted(heights)


def test_pictures_of_means_have_a_line_for_the_baseline(page, report):
    """Beside those of the intervals, one per system; it goes where no baseline is chosen."""
    lines = "document.querySelectorAll('#mean-%d .mark-rule.role-mark line').length"
    for number in range(len(report.labels)):
        assert page(lines % number) == len(SYSTEMS) + 1
    choose(page, "baseline", "")
    wait_until(page, f"{lines % 0} === {len(SYSTEMS)}")


@pytest.fixture
def page_of_40_topics(tmp_path):
    """A report of values of two systems, a and b, on q0 to q39, and of their answers, "<i>a0</i>", …"""
    pytest.importorskip("vl_convert")
    values, answers = [], []
    for n in range(40):
        for factor, name in ((2, "a"), (3, "b")):
            values.append((name, f"q{n}", "X", n * factor % 7 / 7))
            answers.append((name, f"q{n}", f"<i>{name}{n}</i>"))
    path = tmp_path / "values.html"
    ma.report(
        pd.DataFrame(values, columns=["name", "qid", "measure", "value"]),
        measures={"X": "higher"},
        answers=pd.DataFrame(answers, columns=["name", "qid", "text"]),
        path=path,
    )
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_list_that_scrolls_says_so(browser, page_of_40_topics, dark):  # noqa: F811
    browser.size(420, 800, dark)
    browser.open(page_of_40_topics)
    assert browser("document.getElementById('more').textContent") == "The list scrolls: 40 topics."
    assert browser("document.documentElement.scrollWidth") == 420
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_topic_shows_the_answers_of_both_systems(browser, page_of_40_topics, dark):  # noqa: F811
    browser.size(420, 800, dark)
    browser.open(page_of_40_topics)
    open_first_topic(browser)
    topic = browser("document.querySelector('#topics .chosen button').textContent")
    number = topic.removeprefix("q")
    a = browser("document.getElementById('a').selectedOptions[0].textContent")
    b = browser("document.getElementById('b').selectedOptions[0].textContent")
    answers = browser(
        "[...document.querySelectorAll('#explanation blockquote')].map((text) => text.textContent)"
    )
    assert answers == [f"<i>{a}{number}</i>", f"<i>{b}{number}</i>"]
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


#: Of the navigation and the table: whether it is wider than what is seen, and how wide it fades.
FADES = """
[...document.querySelectorAll('nav ul, #table')].map((part) => {
  const frame = part.closest('.wide') ?? part;
  const fade = getComputedStyle(frame).getPropertyValue('--ptma-fade');
  return [frame.scrollWidth > frame.clientWidth, fade];
})
"""


@pytest.mark.parametrize(("width", "is_wider"), [(390, True), (1280, False)])
def test_what_is_wider_than_the_page_fades(browser, path, width, is_wider):  # noqa: F811
    """Unless it is scrolled to the end."""
    browser.size(width, 800)
    browser.open(path)
    navigation, table = browser(FADES)
    for is_part_wider, fade in (navigation, table):
        assert is_part_wider is is_wider
        assert (fade != "0px") is is_wider


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


@pytest.mark.parametrize(
    ("n_systems", "n_topics", "options", "n_measures", "has_aspects", "has_baseline"),
    [
        # Without `measures`, a report with aspects has five. A baseline needs two systems and topics.
        (1, 2, {"aspects": SCALES}, 5, True, False),
        (2, 1, {"aspects": SCALES}, 5, True, False),
        (2, 2, {"measures": "nDCG@10", "aspects": ["relevance"]}, 1, False, True),
    ],
    ids=["one system", "one topic", "one measure"],
)
def test_the_smallest_reports(
    browser,  # noqa: F811
    tmp_path,
    n_systems,
    n_topics,
    options,
    n_measures,
    has_aspects,
    has_baseline,
):
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other")[:n_systems], n_topics=n_topics)
    report = ma.report(runs, qrels, progress=False, path=tmp_path / "report.html", **options)
    assert len(report.labels) == n_measures
    browser.open(tmp_path / "report.html")
    assert browser("document.querySelector('#aspects') !== null") == has_aspects
    assert browser("document.querySelector('#baseline') !== null") == has_baseline
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


VALUES_OF_ROWS = f"{ROWS}.map((row) => [...row.cells].slice(1).map((cell) => cell.firstElementChild.textContent))"
SORTED_TEXTS = f"{ROWS}.map((row) => row.textContent).sort()"


def choose_group(browser: Browser, number: int) -> None:  # noqa: F811
    """Choose an entry of the list of groups by keyboard: up to the first, and down from there."""
    browser("document.getElementById('group').focus()")
    for _ in range(3):
        browser.press("ArrowUp", 38)
    for _ in range(number):
        browser.press("ArrowDown", 40)


@pytest.fixture
def sorted_page(browser, grouped_report):  # noqa: F811
    """The page of groups of topics, its table sorted by TOMA."""
    report, _, file = grouped_report
    browser.size(1280, 800)
    browser.open(file)
    column = report.labels.index("TOMA") + 1
    browser(f"document.querySelectorAll('#table .sort')[{column}].click()")
    yield browser
    assert browser.errors == []


GROUPS = pytest.mark.parametrize(
    ("number", "group"),
    [(0, "all"), (1, NASTY[0]), (2, "rest"), (3, "one")],
    ids=["all topics", "a nasty name", "rest", "one topic"],
)


@GROUPS
def test_choosing_a_group_of_topics(sorted_page, grouped_report, number, group):
    """The table has the means over the group, still sorted by TOMA, and marks of its tests and best systems."""
    report, _, _ = grouped_report
    choose_group(sorted_page, number)
    chosen = sorted_page("document.getElementById('group').selectedOptions[0].text")
    assert chosen.startswith(group)
    means = report.systems[report.systems["group"] == group].set_index("name")
    names = sorted_page(NAMES)
    assert names == means.sort_values("TOMA", ascending=False, kind="stable").index.tolist()
    for name, values in zip(names, sorted_page(VALUES_OF_ROWS), strict=True):
        expected = means.loc[name, report.labels].tolist()
        assert [float(value) for value in values] == pytest.approx(expected, abs=5e-5)
    column = report.labels.index("TOMA") + 1
    is_best = sorted_page(
        f"{ROWS}.map((row) => row.cells[{column}].querySelector('.best') !== null)"
    )
    assert is_best[0]
    assert not all(is_best)
    tests = report.comparisons[
        (report.comparisons["group"] == group) & (report.comparisons["baseline"] == "bm25")
    ]
    n_marks = 0
    for marks in sorted_page(MARKS):
        n_marks += sum(mark != "" for mark in marks)
    assert n_marks == tests["significant"].sum()


@GROUPS
def test_choosing_a_group_chooses_its_topics(sorted_page, grouped_report, number, group):
    _, group_of_qid, _ = grouped_report
    choose_group(sorted_page, number)
    n_topics = len(group_of_qid)
    if group != "all":
        n_topics = list(group_of_qid.values()).count(group)
    wait_until(sorted_page, f"document.querySelectorAll('#topics tbody tr').length === {n_topics}")
    counts = sorted_page("document.getElementById('counts').textContent")
    assert (f"(topics of {group})" in counts) == (group != "all")


def test_choosing_all_topics_again(sorted_page):
    texts = sorted_page(SORTED_TEXTS)
    choose_group(sorted_page, 2)
    assert sorted_page(SORTED_TEXTS) != texts
    choose_group(sorted_page, 0)
    assert sorted_page(SORTED_TEXTS) == texts
