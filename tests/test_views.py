"""The writers of blocks: what gives way where there is little room, and what HTML and LaTeX escape."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pt_multiaspect.views import (
    Bar,
    Cell,
    Code,
    Column,
    Heading,
    Items,
    Row,
    Sentence,
    Table,
    bars,
    decimals,
    fixed_point,
    fragment,
    latex_of,
    level_text,
    markdown_of,
    percent,
    text_of,
)  # fmt: skip

NAMES = ["a-very-long-name-of-a-system-1", "a-very-long-name-of-a-system-2"]


def systems(n_measures: int, spare: int = 0, shorten: int | None = 10) -> Table:
    columns = [Column("system", left=True, shorten=shorten)]
    columns += [
        Column(f"nDCG(aspect='{number}')@10", spare=spare * (number > 2))
        for number in range(n_measures)
    ]
    return Table(columns, [[name, *["0.1234"] * n_measures] for name in NAMES])


def test_a_table_with_room_is_left_as_it_is() -> None:
    assert text_of([systems(1)]).splitlines() == [
        "system                          nDCG(aspect='0')@10",
        "a-very-long-name-of-a-system-1               0.1234",
        "a-very-long-name-of-a-system-2               0.1234",
    ]


def test_heads_break_before_names_are_shortened() -> None:
    text = text_of([systems(3)])
    assert all(name in text for name in NAMES)
    assert "nDCG(aspect='0')@10" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_names_keep_beginning_and_end() -> None:
    """Seven measures leave little room: the middle of the names gives way to two dots."""
    last_lines = text_of([systems(7)]).splitlines()[-2:]
    for line, ending in zip(last_lines, ("-1", "-2"), strict=True):
        shortened_name = line.split()[0]
        assert shortened_name.startswith("a-ver")
        assert ".." in shortened_name
        assert shortened_name.endswith(ending)
        assert line.count("0.1234") == 7
        assert len(line) <= 80


def test_names_that_look_alike_stay_different() -> None:
    """Three runs of one system were the same line."""
    names = [f"a-very-long-name-of-a-system-v{version}.run" for version in (1, 2, 3)]
    for n_measures, width in ((7, 76), (4, 48), (20, 80)):
        table = Table(
            [Column("system", left=True, shorten=12), *[Column("nDCG@10")] * n_measures],
            [[name, *["0.1234"] * n_measures] for name in names],
        )
        text = text_of([table], width)
        assert max(map(len, text.splitlines())) <= width
        assert len({line.split()[0] for line in text.splitlines() if "v" in line}) == 3


def test_different_names_look_different() -> None:
    heads = [
        "experimentalrankerone",
        "experimentalrankertwo",
        *(f"measure number {number}" for number in range(6)),
    ]
    names = [f"TOMA(aspects='{letter}')@5" for letter in "xyz"]
    for width in (30, 40, 60, 80):
        table = Table(
            [Column("name", left=True, shorten=9), *map(Column, heads)],
            [[Cell(name), *["0.1"] * 8] for name in names],
        )
        text = text_of([table], width)
        rows = [line.split()[0] for line in text.splitlines() if line.endswith("0.1")]
        assert len(set(rows)) == len(names), text
        letters = "".join(text.split())
        assert "one" in letters, text
        assert "two" in letters, text


def test_names_that_differ_only_in_the_middle_may_be_wider_than_the_text() -> None:
    names = ["a" * 70 + letter + "b" * 40 for letter in "xy"]
    columns = [Column("name", left=True, shorten=12), Column("comment", shorten=12)]
    rows = [[names[0], "of several words"], [names[1], "of several words"]]
    _, first, second = text_of([Table(columns, rows)]).splitlines()
    assert first.endswith("of s..rds")
    assert first != second


def test_spare_columns_are_left_out_and_named() -> None:
    """Of 12 measures, those from number 3 on are spare, and there is no room for them."""
    text = text_of([systems(12, spare=1)])
    n_systems, n_measures_shown = 2, 3
    assert text.count("0.1234") == n_systems * n_measures_shown
    assert "Not shown for lack of room: nDCG(aspect='3')@10," in " ".join(text.split())


def test_what_may_not_give_goes_below() -> None:
    text = text_of([systems(12, shorten=None)])
    assert text.count("0.1234") == 24
    assert text.count(NAMES[0]) > 1
    assert max(map(len, text.splitlines())) <= 80


@given(
    st.lists(st.lists(st.text("abc 1.\x1b\n☃", max_size=30), min_size=3, max_size=3), max_size=4),
    st.integers(30, 100),
)
def test_text_has_one_line_per_row_and_no_control_characters(
    rows: list[list[str]], width: int
) -> None:
    table = Table([Column("first", left=True), Column("second"), Column("third")], rows)
    assert all(letter.isprintable() or letter == "\n" for letter in text_of([table], width))
    assert len(text_of([table], 200).split("\n")) == len(rows) + 1


def test_code_is_broken_within_brackets_and_can_be_pasted() -> None:
    code = f"dict(values={list(range(60))!r}, name='x')"
    text = text_of([Code(code)])
    assert max(map(len, text.splitlines())) <= 80
    assert eval(text.strip()) == eval(code)
    two = text_of([Code("x = [1]\nfor y in x: x = [y]")])
    assert two.splitlines() == ["  x = [1]", "  for y in x: x = [y]"]
    option = text_of([Code('{"a": [1, 2]}', before="--aspects '", after="'")])
    assert option == """  --aspects '{"a": [1, 2]}'"""


def test_bars_of_both_signs_share_a_scale() -> None:
    left, right = bars([-1.0, 3.0])
    assert (left.start, left.length, left.zero) == (0.0, 0.25, 0.25)
    assert (right.start, right.length) == (0.25, 0.75)
    assert text_of([Table([Column("")], [[left], [right]])]).splitlines() == [
        "######",
        f"{' ' * 6}{'#' * 18}",
    ]


def test_html_escapes_everything() -> None:
    nasty = "<script>alert('&')</script>"
    blocks = [
        Heading(nasty),
        Sentence(nasty, tag="note", code=nasty),
        Items([[Sentence(nasty), Code(nasty)]]),
        Table(
            [Column(nasty)], [[nasty], [Cell(nasty, "best", after=nasty)], [Bar(0.5, label=nasty)]]
        ),
    ]
    html = fragment(blocks)
    assert "<script" not in html
    # Heading 1, sentence 2, items 2, table: head 1, text 1, cell 2, bar 1.
    n_nasty = 1 + 2 + 2 + (1 + 1 + 2 + 1)
    assert html.count("&lt;script&gt;") == n_nasty


def test_latex_aligns_columns_of_text_left() -> None:
    columns = [
        Column("group", left=True),
        Column("name", left=True),
        Column("AP"),
        Column("verdict", left=True),
    ]
    assert r"\begin{tabular}{llrl}" in latex_of(
        Table(columns, [["short", "bm25", "0.5", "better"]])
    )


def test_latex_marks_and_escapes() -> None:
    rows = [
        Row([Cell("dense & sparse")], span=2),
        Row(["a_b", Cell("0.5", "best", signs="†")]),
        Row(["c", Cell("0.4", "second")]),
    ]
    latex = latex_of(Table([Column("system"), Column("nDCG")], rows, notes=[Sentence("100%")]))
    assert r"\begin{tabular}{lr}" in latex
    assert r"\multicolumn{2}{l}{\textit{dense \& sparse}} \\" in latex
    assert r"\quad a\_b & \textbf{0.5}$^{\dagger}$ \\" in latex
    assert r"\quad c & \underline{0.4}$^{\phantom{\dagger}}$ \\" in latex
    assert r"100\%" in latex


def test_signs_and_intervals_are_in_the_text_and_numbers_are_aligned() -> None:
    rows = [
        ["a", Cell("0.5", "best", signs="ab", after="± 0.1")],
        ["b", Cell("0.4", after="± 0.2")],
    ]
    assert text_of([Table([Column("", left=True), Column("AP")], rows)]).splitlines() == [
        "            AP",
        "a  0.5ᵃᵇ ± 0.1",
        "b  0.4   ± 0.2",
    ]


def test_markdown_escapes_and_marks() -> None:
    rows = [
        Row(["group"], span=2),
        ["a_b|c", Cell("0.5", "best", after="[0, 1]")],
        ["d\x1b", "0.4"],
    ]
    table = Table([Column("run", left=True), Column("AP")], rows, notes=[Sentence("Note.")])
    assert markdown_of(table).splitlines() == [
        "| run | AP |",
        "| --- | ---: |",
        "| group |",
        "| a\\_b\\|c | **0.5** [0, 1] |",
        "| d  | 0.4 |",
        "",
        "Note.",
    ]


def test_a_fraction_below_one_is_never_100_per_cent() -> None:
    shares = (0.0, 1e-9, 0.5, 0.99996, 1 - 1e-9, 1.0, float("nan"))
    shown = ["0.0 %", "1e-07 %", "50.0 %", "99.996 %", "> 99.9999 %", "100.0 %", "-"]
    assert [percent(share) for share in shares] == shown


def test_long_tables_say_how_many_rows_are_left_out() -> None:
    """Of 60 rows, with the numbers 0 to 59, the first 50 are shown."""
    table = Table([Column("n")], [[str(number)] for number in range(60)])
    for drawn in (text_of([table]), fragment([table])):
        assert "49" in drawn  # row 50, the last shown
        assert "51" not in drawn
        assert "and 10 more" in drawn


@pytest.mark.slow
def test_the_package_is_imported_without_jinja2() -> None:
    code = "import sys, {}; print('jinja2' in sys.modules)"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code.format(name)], capture_output=True, check=True
        ).stdout
        for name in ("ir_measures, pandas, scipy", "pt_multiaspect")
    ]
    assert outputs[0] == outputs[1]


def test_long_names_may_be_broken_in_html_with_signs_too() -> None:
    """Cells of the class `l` break long texts, those of `n` (for short texts) do not; signs make no difference."""
    columns = [Column("", left=True, shorten=12), Column("AP")]
    long_name = "x" * 40
    long_name_with_sign = Cell("y" * 40, signs="a")
    rows = [[long_name, "0.1"], [long_name_with_sign, "0.2"], ["z", "0.3"]]
    html = fragment([Table(columns, rows)])
    assert f'<td class="l">{long_name}</td>' in html
    assert f'<td class="l">{"y" * 40}<sup>a</sup></td>' in html
    assert '<td class="n">z</td>' in html


def test_markdown_underlines_second_best_values_and_keeps_the_code_of_notes() -> None:
    cells = [[Cell("1", "best")], [Cell("<2>", "second")]]
    table = Table(
        [Column("a")], cells, notes=[Sentence("CAM", code="CAM(base='AP')"), Sentence("Plain.")]
    )
    assert markdown_of(table) == (
        "| a |\n| ---: |\n| **1** |\n| <ins>\\<2></ins> |\n\nCAM: `CAM(base='AP')`\n\nPlain."
    )


def test_fixed_points() -> None:
    values = [0.12346, -0.00001, -2.5, float("nan")]
    assert [fixed_point(value, 4) for value in values] == ["0.1235", "0.0000", "−2.5000", "-"]
    assert [fixed_point(value, 1) for value in values] == ["0.1", "0.0", "−2.5", "-"]
    assert [decimals(value) for value in (-0.5, -1e-7, -0.0, 2e6, float("nan"))] == [
        "−0.5000", "−1e-07", "0.0000", "2e+06", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        (0.95, "95 %"),
        (1 - 0.05 / 3, "98.33 %"),
        (0.975, "97.5 %"),
        (1 - 0.05 / 630, "99.9921 %"),
        (0.5, "50 %"),
    ],
)
def test_confidence_levels(confidence: float, expected: str) -> None:
    assert level_text(confidence) == expected


@pytest.mark.parametrize(
    ("share", "limit", "shown"),
    [
        (0.9497, 0.95, "94.97 %"),
        (0.9504, 0.95, "95.04 %"),
        (0.95, 0.95, "95.0 %"),
        (0.94999, 0.95, "94.999 %"),
        (0.93, 0.95, "93.0 %"),
        (0.0502, 0.05, "5.02 %"),
    ],
)
def test_percentages_stay_on_their_side_of_a_limit(share: float, limit: float, shown: str) -> None:
    """Kind: rounding. 94.97 % was printed as 95.0 % beside 'at least 95 %'."""
    assert percent(share, limit) == shown


def test_every_part_of_a_divided_table_names_its_rows() -> None:
    heads = [Column("name", left=True, shorten=12), Column("qid", left=True, shorten=12)]
    heads += [Column(f"measure {number}") for number in range(9)]
    rows = [["a long name of a run", f"q{qid}", *(["0.1234"] * 9)] for qid in range(3)]
    text = text_of([Table(heads, rows)])
    parts = text.split("\n\n")
    assert len(parts) > 1
    assert max(map(len, text.splitlines())) <= 80
    for part in parts:
        assert [line.split("  ")[0] for line in part.splitlines()[-3:]] == [rows[0][0]] * 3
        assert re.findall(r"q\d", part) == ["q0", "q1", "q2"]
