"""Results in notebooks and pages are readable in light and dark themes, regardless of their styles of tables."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from browser import Browser, browser  # noqa: F401

import pt_multiaspect as ma
from pt_multiaspect.datasets import load_health
from pt_multiaspect.views import Cell, Column, Table
from pt_multiaspect.views.markup import html_of

#: What the themes of some hosts do to outputs and their tables, and the page around an output.
HOSTS = {
    "JupyterLab": (
        """
body { background: var(--jp-layout-color0); --jp-layout-color0: #111; --jp-content-font-color1: #fff;
  --jp-rendermime-table-row-background: #212121; }
.jp-RenderedHTMLCommon { color: var(--jp-content-font-color1); }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { border: none; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: var(--jp-layout-color0); }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: var(--jp-rendermime-table-row-background); }
""",
        '<body data-jp-theme-light="false"><div class="jp-RenderedHTMLCommon">{}</div></body>',
    ),
    "VS Code": (
        """
html { --vscode-editor-background: #1e1e1e; --vscode-foreground: #ccc; }
body { background: var(--vscode-editor-background); color: var(--vscode-foreground); }
tr:nth-child(even) { background: rgba(130, 130, 130, .08); }
code { color: #d7ba7d; }
""",
        '<body class="vscode-dark" data-vscode-theme-kind="vscode-dark">{}</body>',
    ),
    "nbsphinx": (  # rows as if the page were light
        """
body { background: #131416; color: #ced6dd; }
div.rendered_html table { color: black; }
div.rendered_html tbody tr:nth-child(odd) { background: #f5f5f5; }
""",
        '<body><div class="rendered_html">{}</div></body>',
    ),
    "pydata-sphinx-theme": (  # a light ground behind all but pandas' tables
        """
body { background: #14181e; color: #ced6dd; }
html[data-theme=dark] .bd-content div.cell_output .text_html:not(:has(table.dataframe)) {
  background-color: #ced6dd; color: #222832; padding: .5rem; }
""",
        (
            '<body class="bd-content"><div class="cell_output"><div class="output '
            'text_html">{}</div></div></body>'
        ),
    ),
    "light": ("body { background: #fff; color: #111; }", "<body>{}</body>"),
}

#: For each element with text: the contrast by WCAG's formula, the lightness of the ground, and what
#: it is.
MEASURED = """
(() => {
  const parse = (text) => { const v = text.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = (c) => [0, 1, 2].map((i) => linear(c[i] / 255))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = (node) => node === null ? [255, 255, 255, 1]
    : over(parse(getComputedStyle(node).backgroundColor), ground(node.parentElement));
  const found = [];
  for (const node of document.querySelectorAll('#view *')) {
    const text = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!text || node.tagName === 'STYLE') continue;
    const behind = ground(node), ink = over(parse(getComputedStyle(node).color), behind);
    const [high, low] = [light(ink), light(behind)].sort((x, y) => y - x);
    found.push([(high + .05) / (low + .05), light(behind), node.className + node.tagName]);
  }
  return found;
})()
"""


@pytest.fixture(scope="module")
def views() -> dict[str, str]:
    """The HTML of every kind of result."""
    health = load_health()
    scales = ma.Aspects(health.grades, name="views")
    docnos, qids = health.documents["docno"].tolist(), health.topics["qid"].tolist()
    runs = {
        name: pd.DataFrame(
            [
                (qid, docno, -rank)
                for qid in qids
                for rank, docno in enumerate(docnos[start : start + 8])
            ],
            columns=["qid", "docno", "score"],
        )
        for name, start in {"first": 0, "second": 20}.items()
    }
    toma = ma.TOMA(aspects=scales) @ 5
    values = ma.evaluate(runs, health.qrels, {"TOMA": toma, "nDCG": "nDCG@5"}, progress=False)
    explained = [ma.explain(toma, {name: run}, health.qrels, qids[0]) for name, run in runs.items()]
    shown = {
        "aspects": scales,
        "suite": ma.suite("trec-misinfo-2022"),
        "description": ma.describe(health.qrels, runs=runs, measures=[toma]),
        "explanation": explained[0],
        "comparison": explained[0].compare(explained[1]),
        "power": ma.analysis.discriminative_power(values, "t"),
        "report": ma.report(runs, health.qrels, aspects=scales, progress=False),
        "systems": ma.systems_table(values),
        "styler": ma.systems_table(values).to_styler(),
    }
    return {name: view._repr_html_() for name, view in shown.items()}


@pytest.mark.slow
def test_no_view_has_a_ground_of_its_own(views):
    for name, html in views.items():
        if name != "styler":
            assert html.startswith('<div class="ptma"><style>'), name
            content = re.sub("<style>.*?</style>", "", html, flags=re.DOTALL)
            assert not re.search(r"style=|color:|border=", content), name
    assert 'class="dataframe"' in views["styler"]


PAGE = """<!DOCTYPE html>
<html data-ready="true" data-theme="{theme}">
<head><meta charset="utf-8"><style>{style}</style></head>
{body}
</html>
"""


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_every_text_can_be_read(browser: Browser, views, tmp_path, host):  # noqa: F811
    """The contrast of each text is that of WCAG 2, on a ground that is light or dark as the page."""
    style, body = HOSTS[host]
    theme = "light" if host == "light" else "dark"
    for name, html in views.items():
        if name == "styler" and host == "nbsphinx":
            continue  # as pandas' own tables there
        view = f'<div id="view">{html}</div>'
        page = tmp_path / f"{name}.html"
        page.write_text(
            PAGE.format(theme=theme, style=style, body=body.format(view)), encoding="utf-8"
        )
        browser.open(page)
        texts = browser(MEASURED)
        assert len(texts) > 5
        for contrast, lightness_of_ground, element in texts:
            # Tags have a border and a word in bold.
            required_contrast = 3 if "tag" in element else 4.5
            assert contrast >= required_contrast, (name, element, contrast)
            if theme == "light":
                assert lightness_of_ground > 0.4, (name, element, lightness_of_ground)
            else:
                assert lightness_of_ground < 0.2, (name, element, lightness_of_ground)


#: The cells whose lines are short, though their text is not: columns that have collapsed.
COLLAPSED = """
[...document.querySelectorAll('#view th, #view td')].filter((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  const lines = new Set([...text.getClientRects()].map((box) => Math.round(box.top))).size;
  const words = cell.textContent.trim().split(/[\\s-]+/).length;
  return lines > words && cell.textContent.trim().length / lines < 5;
}).map((cell) => cell.textContent)
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [420, 900, 1300])
def test_columns_do_not_collapse(browser: Browser, views, tmp_path, width):  # noqa: F811
    """`compare` at 900 pixels and `describe` at 420 had one letter a line."""
    for name, html in views.items():
        page = tmp_path / f"{name}.html"
        html = html.replace("h01", "clueweb12-0000wb-00-h01").replace(
            "first", "first-of-several-runs"
        )
        page.write_text(
            '<!DOCTYPE html><html data-ready="true"><meta charset="utf-8"><body style="width: '
            f'{width}px">'
            f'<div id="view">{html}</div></body></html>',
            encoding="utf-8",
        )
        browser.open(page)
        if name != "styler":  # drawn by pandas
            assert browser(COLLAPSED) == [], name


#: What JupyterLab, the classic notebook and others do to pictures in outputs.
SHRINKING = (
    "svg { max-width: 100%; height: auto; }",
    ".jp-RenderedHTMLCommon svg, .rendered_html svg { max-width: 100%; height: auto; }",
    ".jp-OutputArea .jp-RenderedHTMLCommon td svg { width: auto; max-width: 100%; height: auto; }",
)


@pytest.mark.slow
@pytest.mark.parametrize("style", SHRINKING)
@pytest.mark.parametrize("width", [420, 1300])
def test_bars_keep_their_size_in_notebooks(browser: Browser, views, tmp_path, style, width):  # noqa: F811
    """They were 9 × 0.8 pixels."""
    page = tmp_path / "explanation.html"
    page.write_text(
        f'<!DOCTYPE html><html data-ready="true"><meta charset="utf-8"><style>{style}</style>'
        f'<body style="width: {width}px"><div class="jp-OutputArea"><div '
        'class="jp-RenderedHTMLCommon">'
        f"{views['explanation']}</div></div></body></html>",
        encoding="utf-8",
    )
    browser.open(page)
    sizes = browser(
        "[...document.querySelectorAll('svg')].map((bar) => [bar.clientWidth, bar.clientHeight])"
    )
    assert sizes
    assert {tuple(size) for size in sizes} == {(120, 11)}


def test_brackets_have_equal_room_in_all_rows() -> None:
    """The number of a baseline stood under the brackets of others."""
    rows = [["BM25", Cell("0.49")], ["dense", Cell("0.56", after="[0.004, 0.141]")]]
    table = Table([Column("run", left=True), Column("AP")], rows)
    drawn = html_of([table])
    assert re.findall(r"min-width: (\d+)ch", drawn) == ["14", "14"]
