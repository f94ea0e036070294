"""Tables for papers: what is marked, rounded and escaped; documents with them compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, RR, NumRet, P
from pandas.io.formats.style import Styler

import pt_multiaspect as ma
from pt_multiaspect.aspects.aspects import scales_in_words
from pt_multiaspect.tables.content import column_heads
from pt_multiaspect.views import Column, Row, Table, decimals, latex_of
from pt_multiaspect.views.markup import escape

NASTY = r"""a_b%c#d$e&f{g}h~i^j\k<l>m|n"o'p`q[r]s*t--u-v @=+()/;:,.!?αβΣ±−†é"""


def long(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """A frame of {measure: {system: values}}."""
    rows = [
        (name, f"q{n}", measure, value)
        for measure, systems in values.items()
        for name, column in systems.items()
        for n, value in enumerate(column)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def to_latex(
    perquery: Any,
    measures: Any = None,
    caption: str | None = None,
    label: str | None = None,
    **options: Any,
) -> str:
    return ma.systems_table(perquery, measures, **options).to_latex(caption, label)


def to_styler(perquery: Any, measures: Any = None, **options: Any) -> Styler:
    return ma.systems_table(perquery, measures, **options).to_styler()


def halves(frame: pd.DataFrame) -> dict[str, str]:
    """The groups of the first and the other topics."""
    topics = frame["qid"].unique()
    middle = len(topics) // 2
    return dict.fromkeys(topics[:middle], "A&B") | dict.fromkeys(topics[middle:], "C")


def cells(latex: str) -> dict[str, list[str]]:
    """The cells of each row of a table, by its first cell; those of the heads by '', without their line breaks.

    Brackets are cells of their own, below heads that span two columns. All rows have the same
    number of columns.
    """
    body = latex.split(r"\toprule")[1].split(r"\bottomrule")[0]
    head, _, values = body.partition(r"\midrule")
    heads = [_cells_of_line(line) for line in head.splitlines() if line.endswith(r"\\")]
    rows = [_cells_of_line(line) for line in values.splitlines() if line.endswith(r"\\")]
    full = [row for row in rows if not row[0].startswith(r"\multicolumn")]
    joined = [
        re.sub(r"\\multicolumn{2}{c}{(.*?)}(?=$|\\mul)", r"\1", "".join(column))
        for column in zip(*heads, strict=True)
    ]
    n_spanning = sum("multicolumn" in cell for cell in heads[0])
    assert {len(row) for row in full} == {len(joined) + n_spanning}
    return {"": joined[1:]} | {row[0].removeprefix(r"\quad "): row[1:] for row in full}


def _cells_of_line(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r"\\"))]


def strip_marks(cell: str) -> str:
    return re.sub(r"\\(textbf|underline){([^}]*)}", r"\2", cell)


def one_line(table: object) -> str:
    """The text of a table and its notes without line breaks and indentation."""
    return " ".join(str(table).split())


def legend_of(latex: str) -> str:
    """The notes below a table, without the places where lines may be broken."""
    return latex.split(r"\raggedright")[1].replace(r"\allowbreak{}", "")


#: The means are .6, .25 and .5.
THREE = {"a": [0.5, 0.7], "b": [0.2, 0.3], "c": [0.1, 0.9]}


def test_best_and_second_by_direction() -> None:
    body = cells(to_latex(long({"AP": THREE, "ESL": THREE})))
    assert body[""] == ["AP", r"ESL $\downarrow$"]
    assert body["a"] == [r"\textbf{0.600}", "0.600"]
    assert body["b"] == ["0.250", r"\textbf{0.250}"]
    assert body["c"] == [r"\underline{0.500}", r"\underline{0.500}"]


def test_rounding_makes_no_best() -> None:
    body = cells(to_latex(long({"AP": {"a": [0.70004], "b": [0.70001], "c": [0.70003]}})))
    assert [body[name] for name in "abc"] == [
        [r"\textbf{0.700}"],
        ["0.700"],
        [r"\underline{0.700}"],
    ]
    body = cells(to_latex(long({"AP": {"a": [0.70004], "b": [0.70001]}}), decimals=5))
    assert body["a"] == [r"\textbf{0.70004}"]


def test_ties_are_all_best_and_rounding_errors_are_ties() -> None:
    tied = {
        "a": [0.1, 0.2, 0.3],
        "b": [0.3, 0.2, 0.1],
        "c": [0.1, 0.1, 0.1],
        "d": [0.05, 0, 0],
        "e": [0.1, 0.1, 0.1],
    }
    (a, b, c), reverse = tied["a"], tied["b"]
    assert reverse == [c, b, a]
    assert a + b + c != c + b + a
    body = cells(to_latex(long({"AP": tied})))
    assert body["a"] == body["b"] == [r"\textbf{0.200}"]
    assert body["c"] == body["e"] == [r"\underline{0.100}"]
    assert body["d"] == ["0.017"]


@pytest.mark.parametrize(
    "systems", [{"a": [0.5, 0.7]}, {"a": [0.5], "b": [0.5]}, {"a": [0.0], "b": [0.0]}]
)
def test_nothing_is_best_if_all_are_equal(systems) -> None:
    latex = to_latex(long({"AP": systems}))
    assert "textbf" not in latex
    assert "underline" not in latex
    assert "parbox" not in latex


def test_negative_values_and_zeros() -> None:
    body = cells(to_latex(long({"CRP": {"a": [-0.0001], "b": [-1.5], "c": [-2.0]}})))
    assert body["a"] == [r"\textbf{0.000}"]
    assert body["b"] == [r"\underline{$-$1.500}"]


@pytest.fixture
def many() -> pd.DataFrame:
    """AP and ESL of four systems on 30 topics: base and near hardly differ, low and high do."""
    rng = np.random.default_rng(3)
    gains = {"low": 0.2, "base": 0.4, "near": 0.41, "high": 0.7}
    return long(
        {
            measure: {
                name: rng.normal(mean, 0.1, 30).clip(0, 1).tolist() for name, mean in gains.items()
            }
            for measure in ("AP", "ESL")
        }
    )


def test_marks_are_those_of_the_tests(many) -> None:
    latex = to_latex(many, baseline="base")
    body, compared = cells(latex), ma.analysis.compare_with_baseline(many, "base")
    for column, measure in enumerate(("AP", "ESL")):
        significant = compared[compared["measure"] == measure].set_index("name")["significant"]
        assert significant.to_dict() == {"low": True, "near": False, "high": True}
        for name in significant.index:
            expected = r"$^{\dagger}$" if significant[name] else r"$^{\phantom{\dagger}}$"
            assert body[name][column].endswith(expected)
        assert body["base"][column].endswith(r"$^{\phantom{\dagger}}$")
    assert (
        r"$\dagger$ differs from base (paired t-test, Holm, p \textless{} 0.05, 30 topics)" in latex
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"correction": None, "alpha": 0.1}, {"correction": "fdr_bh"}],
    ids=["defaults", "uncorrected", "false discovery rate"],
)
def test_the_detectable_difference_is_that_of_the_analysis(many, options) -> None:
    """The full notes state the same figures as `detectable_difference`."""
    planned = ma.analysis.detectable_difference(many, baseline="base", **options).table
    median = planned.set_index("measure")["median"]
    table = ma.systems_table(many, baseline="base", decimals=4, notes="full", **options)
    note = (
        "Detectable difference (power 0.8, median over the pairs of systems): "
        f"AP {median['AP']:.4f}, ESL {median['ESL']:.4f}."
    )
    assert note in one_line(table)


def test_the_detectable_difference_names_a_test_other_than_that_of_the_table(many) -> None:
    """Differences are planned for the t-test, whatever test marks the table."""
    table = ma.systems_table(many, baseline="base", test="permutation", notes="full")
    note = "Detectable difference of a paired t-test (power 0.8, median"
    assert note in one_line(table)


def test_the_detectable_difference_of_one_pair_is_no_median(many) -> None:
    pair = many[many["name"].isin(["base", "high"])]
    table = ma.systems_table(pair, baseline="base", notes="full")
    assert "Detectable difference (power 0.8): AP" in str(table)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="nothing is tested without a baseline"),
        pytest.param({"baseline": "base", "test": "tukey"}, id="unknown for Tukey's test"),
        pytest.param({"baseline": "base", "alpha": 0.9}, id="alpha is above the power of .8"),
    ],
)
def test_a_detectable_difference_is_not_stated_where_it_is_unknown(many, options) -> None:
    assert "Detectable" not in str(ma.systems_table(many, notes="full", **options))


def test_a_detectable_difference_of_equal_systems_is_not_stated(many) -> None:
    """There is no variance to plan with."""
    base = many[many["name"] == "base"]
    equal = pd.concat([base, base.assign(name="copy")])
    assert "Detectable" not in str(ma.systems_table(equal, baseline="base", notes="full"))


def test_a_detectable_difference_of_sums_is_not_stated(many) -> None:
    """The table shows sums of NumRet, and means of the other measures."""
    counts = many[many["measure"] == "AP"].assign(measure="NumRet")
    table = ma.systems_table(pd.concat([many, counts]), baseline="base", notes="full")
    columns, _, detectable = one_line(table).partition("Detectable")
    assert detectable
    assert "NumRet" in columns
    assert "NumRet" not in detectable


def test_several_baselines_have_letters(many) -> None:
    """A system has the letters of the baselines from which it differs; a phantom keeps the place of the other.

    low is a, near is b; high differs from both, base from low only.
    """
    body = cells(to_latex(many, baseline=["low", "near"], test="permutation"))
    assert list(body) == ["", "low$^{a}$", "base", "near$^{b}$", "high"]
    ap = {name: row[0] for name, row in body.items()}
    assert ap["high"].endswith("$^{ab}$")
    assert ap["base"].endswith(r"$^{a\phantom{b}}$")
    assert ap["low$^{a}$"].endswith(r"$^{\phantom{a}b}$")

    latex = to_latex(many, baseline=["low", "near"], test="tukey")
    assert "a differs from low, b from near (randomised Tukey HSD test, p" in latex


def small_brackets(low: str, high: str) -> str:
    """The LaTeX of an interval beside its value."""
    return r"{\footnotesize {[}" + f"{low}, {high}" + "{]}}"


def test_intervals(many) -> None:
    """Intervals of means are those of `aggregate`."""
    table = ma.aggregate(many, ci=0.9).set_index("name")
    latex = to_latex(many, alpha=0.1, interval="mean", decimals=4)
    body = cells(latex)
    for name, row in table.iterrows():
        low, high = row["AP 90% low"], row["AP 90% high"]
        ap, interval_of_ap, _esl, _interval_of_esl = body[name]
        assert strip_marks(ap) == f"{row['AP']:.4f}"
        assert interval_of_ap == small_brackets(f"{low:.4f}", f"{high:.4f}")
    assert "90 \\% interval of the mean (Student's t)" in latex


def test_intervals_of_differences_are_those_of_the_tests(many) -> None:
    """Of each system but the baseline, the interval is that of `compare_with_baseline`."""
    tests = ma.analysis.compare_with_baseline(many, "base", alpha=0.1)
    tests = tests[tests["measure"] == "AP"].set_index("name")
    table = ma.systems_table(many, baseline="base", alpha=0.1, interval="difference", decimals=4)

    interval_of_ap = {name: row[1] for name, row in cells(table.to_latex()).items()}
    for name, test in tests.iterrows():
        low = decimals(test["low"]).replace("\u2212", "$-$")  # the minus sign
        high = decimals(test["high"]).replace("\u2212", "$-$")
        assert interval_of_ap[name] == small_brackets(low, high)
    assert interval_of_ap["base"] == ""

    # Bonferroni: 1 - .1 / 3 = .9667 for each of the three differences.
    note = "[…] 96.67 % interval of the difference (Student’s t, 90 % for all three)."
    assert note in one_line(table)


@pytest.mark.parametrize("options", [{}, {"baseline": ["base", "low"]}], ids=["none", "two"])
def test_intervals_of_differences_need_one_baseline(many, options) -> None:
    message = "interval='difference': expected one baseline, got"
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.systems_table(many, interval="difference", **options)


def evaluate_measures(measures: object) -> pd.DataFrame:
    qrels = {
        f"q{n}": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1}}
        for n in range(3)
    }
    run = {qid: {"d1": 1.0, "d2": 2.0} for qid in qrels}
    return ma.evaluate({"mine": run}, qrels, measures, progress=False)


def test_heads_are_short_and_a_legend_states_the_measures() -> None:
    """A head keeps of a measure what tells it from the others; the legend has the whole name where that is less."""
    scales = {"relevance": 2, "credibility": 1}
    cam_ap = ma.CAM(base="AP", aspects=scales) @ 10
    cam_ndcg = ma.CAM(base="nDCG", aspects=scales) @ 10
    toma = ma.TOMA(base="DCG", aspects=scales)
    frame = evaluate_measures([cam_ap, cam_ndcg, toma, "map", NumRet])

    latex = to_latex(frame, notes="full")

    body = cells(latex)
    assert list(body) == ["", "mine"]
    assert body[""] == ["CAM(base=AP)@10", "CAM@10", "TOMA", "map", "NumRet"]
    value_of_cam_ap, _, _, _, n_retrieved = body["mine"]
    assert value_of_cam_ap == "0.500"
    assert n_retrieved == "6"  # two documents for each of three topics

    definitions = [line.strip() for line in legend_of(latex).split(r" \par")]
    for head, measure in {"CAM(base=AP)@10": cam_ap, "CAM@10": cam_ndcg, "TOMA": toma}.items():
        (definition,) = [line for line in definitions if line.startswith(f"{head}: ")]
        assert f": \\texttt{{{escape(measure)}}}." in definition
    assert "map:" not in legend_of(latex)
    assert "NumRet:" not in legend_of(latex)


def test_named_scales_are_printed_once() -> None:
    scales = ma.Aspects(
        {"relevance": ma.Aspect(2, gains=[0, 1, 3]), "credibility": ma.Aspect(3, threshold=2)},
        name="footnote_1",
    )
    frame = evaluate_measures(
        [ma.CAM(aspects=scales) @ 10, ma.TOMA(aspects=scales), ma.MM(aspects={"relevance": 2})]
    )
    printed = (
        "footnote_1: relevance 0, 1, 2 (positive from 1; gains 0, 1, 3); "
        "credibility 0, 1, 2, 3 (positive from 2)."
    )
    assert to_latex(frame, notes="full").count(escape(printed)) == 1
    assert to_latex(frame, notes="full").count("positive from") == 2
    assert to_styler(frame, notes="full").caption.count(printed) == 1


@pytest.mark.parametrize(
    ("aspect", "printed"),
    [
        (ma.Aspect(1), "0, 1"),
        (ma.Aspect(3), "0, 1, 2, 3 (positive from 1)"),
        (
            ma.Aspect([1, 2, 3], greater_is_better=False),
            "3, 2, 1 (lower is better; positive from 2)",
        ),
        (
            ma.Aspect(2, probabilities=[0, 0.25, 1]),
            "0, 1, 2 (positive from 1; probabilities 0, 0.25, 1)",
        ),
        (
            ma.Aspect([0, 0.5, 1], probabilities="identity"),
            "0, 0.5, 1 (positive from 0.5; labels are probabilities)",
        ),
        (ma.Aspect(2, unjudged=[-2, 9]), "0, 1, 2 (positive from 1; not judged: -2, 9)"),
        (ma.Aspect(threshold=2), "inferred (positive from 2)"),
        (ma.Aspect(None), "inferred"),
    ],
)
def test_scales_in_words(aspect: ma.Aspect, printed: str) -> None:
    assert scales_in_words({"effort": aspect}) == f"effort {printed}"


def test_measures_as_they_were_typed_have_short_heads() -> None:
    """In the shell, a label is the measure without the scales of a file."""
    scales = ma.Aspects({"relevance": 2, "credibility": 1})
    typed = {"TOMA(gate='relevance')@10": ma.TOMA(gate="relevance", aspects=scales) @ 10}
    assert cells(to_latex(evaluate_measures(typed)))[""] == ["TOMA@10"]
    own = {"TOMA(strict)@10": ma.TOMA(aspects=scales) @ 10, "nDCG(2)": AP}
    assert cells(to_latex(evaluate_measures(own)))[""] == list(own)
    gates = {"TOMA@10": ma.TOMA(aspects=scales) @ 10} | typed
    assert cells(to_latex(evaluate_measures(gates)))[""] == ["TOMA@10", "TOMA(gate=relevance)@10"]


def test_a_head_names_the_aspect_of_a_measure_of_one() -> None:
    """The head has two lines, the measure above the aspect, which `cells` joins."""
    on_relevance = ma.On(aspect="relevance", base="nDCG") @ 10
    on_credibility = ma.On(aspect="credibility", base="nDCG") @ 10
    heads = cells(to_latex(evaluate_measures([on_relevance, on_credibility])))[""]
    assert heads == ["nDCG@10" + "relevance", "nDCG@10" + "credibility"]


def test_labels_are_kept() -> None:
    """Labels that the user gave are the heads, and the legend says what each stands for."""
    cam = ma.CAM(base="AP", aspects={"relevance": 2, "credibility": 1})
    frame = evaluate_measures({"mine": cam, "Mean AP": AP, "CAM": cam @ 5})

    latex = to_latex(frame, notes="full")

    assert cells(latex)[""] == ["mine", "Mean AP", "CAM"]
    definitions = [line.strip() for line in legend_of(latex).split(r" \par")]
    (mine,) = [line for line in definitions if line.startswith("mine: ")]
    assert f": \\texttt{{{escape(cam)}}}." in mine
    assert r"Mean AP: \texttt{AP}." in legend_of(latex)
    (at_5,) = [line for line in definitions if line.startswith("CAM: ")]
    assert f": \\texttt{{{escape(cam @ 5)}}}." in at_5


def test_labels_of_frames_without_record_are_not_explained() -> None:
    """A frame that was read from a file does not say what its labels stand for."""
    cam = ma.CAM(base="AP", aspects={"relevance": 2, "credibility": 1})
    frame = evaluate_measures({"mine": cam, "Mean AP": AP, "CAM": cam @ 5})
    frame.attrs.clear()
    message = "systems_table: mine, Mean AP name no known measure"
    with pytest.warns(ma.MultiAspectWarning, match=message):
        latex = to_latex(frame)
    assert "mine:" not in latex


def test_a_label_that_looks_like_a_numbered_head() -> None:
    """The label "CAM (1)" of the user stays beside two measures whose heads both begin with CAM."""
    cam_ap = ma.CAM(base="AP")
    cam_dcg = ma.CAM(base="DCG")
    measures = {str(cam_ap): cam_ap, str(cam_dcg): cam_dcg, "CAM (1)": "AP"}
    frame = long(dict.fromkeys(measures, THREE))
    heads = cells(to_latex(frame, measures))[""]
    assert heads == [
        "CAM(base=AP)",
        "CAM(base=DCG)",
        "CAM" + "(1)",  # two lines, which `cells` joins
    ]


def test_a_record_that_cannot_be_read_is_averaged_as_by_aggregate() -> None:
    frame = long({"NumRet": {"a": [-1.0, -2.0], "b": [-1.0, -3.0]}})
    frame.attrs["measures"] = {"NumRet": "NotHere@10"}
    with pytest.warns(ma.MultiAspectWarning, match="NumRet is recorded as the measure NotHere@10"):
        assert cells(to_latex(frame))["a"] == [r"\textbf{$-$1.500}"]


def test_measures_can_be_given_for_a_frame_without_record() -> None:
    """A label that names no measure is higher-is-better, with a warning, unless the measure is given."""
    frame = long({"length": THREE})  # a has the highest mean, b the lowest

    with pytest.warns(ma.MultiAspectWarning, match="systems_table: length names no known measure"):
        body = cells(to_latex(frame))
    assert body["a"] == [r"\textbf{0.600}"]

    body = cells(to_latex(frame, {"length": ma.ESL}))
    assert body[""] == [r"length $\downarrow$"]
    assert body["b"] == [r"\textbf{0.250}"]


def test_a_direction_can_be_given_instead_of_a_measure() -> None:
    frame = long({"seconds": THREE, "AP": THREE})  # a has the highest mean, b the lowest
    body = cells(to_latex(frame, {"seconds": "lower", "AP": "AP"}))
    assert body[""] == [r"seconds $\downarrow$", "AP"]
    assert body["b"] == [r"\textbf{0.250}", "0.250"]
    assert body["a"] == ["0.600", r"\textbf{0.600}"]


def test_given_directions_are_marked_in_heads() -> None:
    frame = long({"seconds": THREE, "AP": THREE})

    styled = to_styler(frame, {"seconds": "lower", "AP": "higher"}, baseline="a").data
    assert styled.columns.tolist() == ["seconds ↓", "AP"]

    both_higher = cells(to_latex(frame, {"seconds": "higher", "AP": "higher"}))
    assert both_higher[""] == ["seconds", "AP"]

    only_seconds = cells(to_latex(frame, {"seconds": "lower"}))
    assert only_seconds[""] == [r"seconds $\downarrow$"]


def test_negative_values_of_a_measure_are_refused_those_of_a_direction_are_not() -> None:
    """ESL is never negative, so that negative values of lower-is-better measures tell of a wrong sign."""
    frame = long({"seconds": {"a": [-0.5], "b": [0.1]}, "AP": {"a": [0.5], "b": [-0.1]}})
    with pytest.raises(ma.MultiAspectError, match="expected non-negative values for AP"):
        to_latex(frame, {"seconds": "lower", "AP": ma.ESL})


@pytest.mark.parametrize(
    ("direction", "cell_of_a", "cell_of_b"),
    [("lower", r"\textbf{2.500}", "5.000"), ("higher", "2.500", r"\textbf{5.000}")],
)
def test_values_with_a_given_direction_are_averaged(
    direction: str, cell_of_a: str, cell_of_b: str
) -> None:
    """With a direction, values are averaged also if the label or the record names NumRet, which is added up."""
    frame = long({"NumRet": {"a": [1.0, 4.0], "b": [2.0, 8.0]}})
    frame.attrs["measures"] = {"NumRet": "NumRet"}
    body = cells(to_latex(frame, {"NumRet": direction}))
    assert body["a"] == [cell_of_a]
    assert body["b"] == [cell_of_b]
    assert frame.attrs["measures"] == {"NumRet": "NumRet"}


def test_the_loser_of_two_is_not_the_second_best() -> None:
    latex = to_latex(long({"AP": {"a": [0.5], "b": [0.1]}}))
    assert "underline" not in latex
    assert "Best values in bold; 1 topic.\n" in latex
    assert "second best underlined" in to_latex(long({"AP": THREE}))


def test_labels_without_a_direction_are_one_warning() -> None:
    frame = long({"one": THREE, "AP": THREE, "two": THREE})
    with pytest.warns(ma.MultiAspectWarning) as caught:
        to_styler(frame)
    assert [str(warning.message).partition(",")[0] for warning in caught] == ["systems_table: one"]
    assert "one, two name no known measure" in str(caught[0].message)


def test_decimals() -> None:
    frame = long({"AP": THREE, "NumRet": {name: [3.0, 5.0] for name in THREE}})
    assert cells(to_latex(frame, decimals=1))["b"] == [r"0.2", "8"]
    assert cells(to_latex(frame, decimals={"NumRet": 2}))["b"] == [r"0.250", "8.00"]
    assert cells(to_latex(frame, decimals={"AP": np.int64(1)}))["b"] == [r"0.2", "8"]


def test_what_is_in_the_order_of_the_frame_stays_there(many) -> None:
    assert list(cells(to_latex(many))) == ["", "low", "base", "near", "high"]


def test_names_may_be_numbers() -> None:
    frame = long({"AP": THREE}).assign(name=lambda f: f["name"].map({"a": 1, "b": 2, "c": 3}))
    assert list(cells(to_latex(frame, baseline="2"))) == ["", "1", "2", "3"]


def nasty() -> str:
    """A table of which every name is made to break it."""
    rng = np.random.default_rng(0)
    frame = long(
        {
            f"*{NASTY}": {
                name: rng.random(9).tolist() for name in (f"[{NASTY}]", f"*{NASTY}", "x\n\\\\")
            }
        }
    )
    topics = frame["qid"].unique()
    by = dict.fromkeys(topics[:4], f"[{NASTY}") | dict.fromkeys(topics[4:], "%")
    return to_latex(
        frame, {f"*{NASTY}": ma.ESL}, baseline=[f"[{NASTY}]", "x\n\\\\"], interval="mean",
        by=by, caption="Names that are hard to print", label="tab:nasty",
    )  # fmt: skip


def test_escapes() -> None:
    """No sign of a name is read as a command by LaTeX."""
    first_line, _, latex = nasty().partition("\n")
    assert first_line == r"% requires \usepackage{booktabs}"

    # What remains without escaped signs, such as \{ and \%, must be well-formed.
    unescaped = re.sub(r"\\[\\{}$&#_%]", "", latex)
    assert unescaped.count("{") == unescaped.count("}")
    assert unescaped.count("$") % 2 == 0
    for special in '#~%|<>"`':
        assert special not in unescaped
    assert "--" not in unescaped  # would be printed as a dash

    # At the beginning of a line these would be arguments of the line break before it.
    for line in latex.splitlines():
        assert not line.startswith(("[", "*"))

    # Rows have a value and an interval, which share a head.
    n_cells = {len(row) for row in cells(latex).values()}
    assert n_cells == {1, 2}


def test_control_characters_become_blanks() -> None:
    """A null, a tabulator, and a sign that turns the direction of writing around."""
    assert escape("a\x00b\tc\u202ed") == "a b c d"


def test_hyphens_do_not_become_dashes() -> None:
    assert escape("--x-y") == "-{}-x-y"


#: The printable characters of ASCII.
LETTERS = "".join(map(chr, range(0x20, 0x7F)))


def test_every_printable_character_is_escaped_alone() -> None:
    commands = "\\{}$&#_^~%"
    printed_as_others = "<>|\"'`"  # in some fonts
    arguments = "[]*"  # after a line break
    for letter in LETTERS:
        is_special = letter in commands + printed_as_others + arguments
        is_escaped = escape(letter) != letter
        assert is_escaped == is_special


DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\begin{document}
%s
\end{document}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="requires pdflatex")
def test_a_document_compiles(many, tmp_path: Path) -> None:
    tables = [
        nasty(),
        to_latex(many, baseline=["low", "near"], interval="mean", by=halves(many)),
        to_latex(
            evaluate_measures(
                [ma.CAM(base="AP", aspects={"relevance": 2, "credibility": 1}) @ 10, NumRet]
            )
        ),
    ]
    (tmp_path / "table.tex").write_text(DOCUMENT % "\n".join(tables), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]


def test_styler_escapes_names_and_groups(many) -> None:
    frame = many.assign(name=many["name"].replace("high", "<b>high</b>"))
    page = to_styler(frame, baseline=["low", "near"]).to_html()
    assert "&lt;b&gt;high&lt;/b&gt;" in page
    assert "<b>high" not in page
    assert "p &lt; 0.05" in page
    assert page.count("font-weight: bold") >= 1
    assert page.count("text-decoration: underline") >= 1

    by_groups = to_styler(frame, by=halves(frame)).to_html()
    assert "A&amp;B" in by_groups


def test_styler_has_the_numbers_and_letters_of_latex(many) -> None:
    """low is the baseline a, near is b."""
    table = to_styler(many, baseline=["low", "near"]).data
    latex = cells(to_latex(many, baseline=["low", "near"]))
    assert list(table.columns) == ["AP", "ESL ↓"]
    row_of_latex = {"lowᵃ": "low$^{a}$", "base": "base", "nearᵇ": "near$^{b}$", "high": "high"}
    for name, row in table.iterrows():
        for text, cell in zip(row, latex[row_of_latex[name]], strict=True):
            # Such as 0.208ᵇ and 0.208$^{\phantom{a}b}$.
            number = text.rstrip("ᵃᵇ")
            cell_number, _, cell_letters = strip_marks(cell).partition("$^{")
            assert cell_number == number
            visible_letters = re.sub(r"\\phantom{\w}", "", cell_letters)
            assert ("a" in visible_letters) == ("ᵃ" in text)
            assert ("b" in visible_letters) == ("ᵇ" in text)


def test_a_styler_marks_what_latex_marks() -> None:
    """Best values are bold, second best underlined; the means are a .6, b .25, c .5."""
    styler = to_styler(long({"AP": THREE, "ESL": THREE}))
    style_of_cells = styler._compute().ctx
    a, b, c = 0, 1, 2  # rows
    ap, esl = 0, 1  # columns; of ESL lower is better

    assert style_of_cells[a, ap][0] == ("font-weight", "bold")
    assert style_of_cells[b, esl][0] == ("font-weight", "bold")
    assert style_of_cells[c, ap][0] == ("text-decoration", "underline")
    for cell in [(a, esl), (b, ap), (c, ap)]:
        assert "font-weight" not in dict(style_of_cells[cell])


def test_one_table_is_drawn_in_every_format(many, tmp_path: Path) -> None:
    """Text, HTML, LaTeX and a Styler show the same numbers, of which text marks the best by a star."""
    table = ma.systems_table(many, baseline=["low", "near"], interval="mean")
    styled = table.to_styler().data
    assert styled.shape == (4, 2)
    assert table.to_latex("Results.", "tab:x").count(r"\label{tab:x}") == 1
    page = table.to_html(tmp_path / "table.html")
    assert page == (tmp_path / "table.html").read_text(encoding="utf-8")
    assert page.count('class="best"') == page.count('class="second"') == 2

    lines = str(table).splitlines()
    head, *rows = lines[:5]
    assert head.split() == ["AP", "ESL", "↓"]
    assert [row.split()[0] for row in rows] == ["lowᵃ", "base", "nearᵇ", "high"]
    assert "bold" not in str(table)
    assert lines[5].startswith("* best; a differs from low, b from near (")
    assert lines[-1] == "[…] 95 % interval of the mean (Student’s t)."

    starred = re.findall(r"([\d.]+)[ᵃᵇ]*\*", str(table))  # the number of 0.705ᵃᵇ*
    best_in_html = re.findall(r'class="best">([\d.]+)', page)
    assert sorted(starred) == sorted(best_in_html)

    for row in rows:
        name = row.split()[0]
        for cell in styled.loc[name]:
            number_with_letters = cell.split()[0]
            assert number_with_letters in row


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ("no frame", {}, "expected a long frame"),
        (long({"AP": {"a": [0.1, 0.2], "b": [0.1]}}), {}, "different sets of topics"),
        (long({"AP": {"a": [0.1, np.nan]}}), {}, "expected finite values"),
        (pd.concat([long({"AP": THREE})] * 2), {}, "expected one value of AP for system a"),
        (long({"ESL": {"a": [-0.1], "b": [-0.2]}}), {}, "do not negate the values"),
        (
            long({"AP": {"a": [0.1], "b": [0.2]}}),
            {"interval": "mean"},
            "at least two topics, got 1",
        ),
        (long({"AP": {"a": [0.1], "b": [0.2]}}), {"baseline": "a"}, "at least two topics"),
        (long({"AP": {"a": [0.1, 0.3]}}), {"baseline": "a"}, "at least two systems"),
        (long({"AP": THREE}), {"baseline": "z"}, "expected names of systems .* got z"),
        (long({"AP": THREE}), {"baseline": []}, "expected names of systems .* got none"),
        (long({"AP": THREE}), {"baseline": ["a", "a"]}, "expected distinct names, got several a"),
        (
            long({"AP": {name: [0.1, 0.3] for name in "abcdefghijklmnopq"}}),
            {"baseline": list("abcdefghijklmnopq")},
            "at most 16 baselines, got 17",
        ),
        (
            long({"AP": THREE}),
            {"interval": "±"},
            "interval: expected one of 'none', 'difference', 'mean'",
        ),
        (long({"AP": THREE}), {"decimals": -1}, "expected integers from 0 to 15, got -1"),
        (
            long({"AP": THREE}),
            {"decimals": {"RR": 2}},
            r"decimals: expected measures \(AP\), got RR",
        ),
        (long({"AP": THREE}), {"label": "tab}"}, "label: expected letters"),
        (long({"AP": THREE}), {"measures": "RR"}, r"expected measures of the frame \(AP\), got RR"),
        (long({"AP": THREE}), {"test": "nonsense"}, "test: expected one of"),
        (long({"AP": THREE}), {"correction": "x"}, "correction: expected one of"),
        (long({"AP": THREE}), {"alpha": 7}, "alpha: expected a number above 0 and below 1"),
    ],
)
def test_bad_input(frame, options, message) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        to_latex(frame, **options)


def uneven() -> pd.DataFrame:
    """AP of three topics, and RR of two of them."""
    return long(
        {
            "AP": {"a": [0.1, 0.3, 0.2], "b": [0.4, 0.6, 0.2]},
            "RR": {"a": [0.5, 1.0], "b": [0.25, 0.25]},
        }
    )


@pytest.mark.slow
def test_columns_over_different_topics() -> None:
    """As with average_over='positive': AP has three topics, RR two of them; each column is what it is alone."""
    frame = uneven()
    options = {"baseline": "b", "correction": None}
    latex = to_latex(frame, **options)
    body = cells(latex)

    for column, measure in enumerate(("AP", "RR")):
        alone = cells(to_latex(frame[frame["measure"] == measure], **options))
        for name, row in body.items():
            assert alone[name] == [row[column]]
        assert list(alone) == list(body)

    assert "Columns are over different topics: AP 3, RR 2." in latex
    assert r", 2\textendash{}3 topics" in latex
    assert "AP 3, RR 2" in to_styler(frame).to_html()


def test_columns_over_the_same_topics_have_no_note() -> None:
    frame = uneven()
    same_topics = frame[frame["qid"] != "q2"]  # which RR lacks
    assert "different topics" not in to_latex(same_topics)


@pytest.mark.slow
def test_columns_over_different_topics_do_not_depend_on_the_order_of_rows() -> None:
    frame = uneven()
    options = {"baseline": "b", "correction": None}
    ap = frame[frame["measure"] == "AP"]
    reversed_rr = frame[frame["measure"] == "RR"].iloc[::-1]
    reordered = pd.concat([ap, reversed_rr])
    assert cells(to_latex(reordered, **options)) == cells(to_latex(frame, **options))


def test_measures_may_be_categories() -> None:
    frame = uneven()
    categories = pd.Categorical(frame["measure"], categories=["P", "RR", "AP"])
    tests = ma.analysis.compare_with_baseline(frame.assign(measure=categories), "a")
    assert tests["p"].tolist() == ma.analysis.compare_with_baseline(frame, "a")["p"].tolist()


def test_a_row_without_a_measure_is_not_left_out() -> None:
    frame = uneven()
    frame.loc[frame["measure"] == "RR", "measure"] = None
    for table in (to_latex, lambda frame: ma.analysis.compare_with_baseline(frame, "a")):
        with pytest.raises(ma.MultiAspectError, match="the column measure has an empty cell"):
            table(pd.concat([frame, uneven()[lambda f: f["measure"] == "RR"]]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            lambda f: ~((f["name"] == "a") & (f["measure"] == "RR")),
            "system a has no value of RR, but b has",
        ),
        (
            lambda f: ~((f["name"] == "a") & (f["measure"] == "RR") & (f["qid"] == "q1")),
            "different sets of topics",
        ),
    ],
)
def test_a_system_that_lacks_topics_of_a_column(rows, message) -> None:
    frame = uneven()
    with pytest.raises(ma.MultiAspectError, match=message):
        to_latex(frame[rows(frame)])


def test_numbers_of_one_are_in_the_singular() -> None:
    """Of topics, queries and documents, in what is printed of them."""
    assert repr(ma.Judgments({"q1": {"d1": {"relevance": 1}}})) == (
        "<Judgments: 1 query, 1 document judged for relevance>"
    )
    assert repr(ma.Judgments({"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}})) == (
        "<Judgments: 2 queries, 2 documents judged for relevance>"
    )


@pytest.mark.parametrize(
    ("options", "note"),
    [
        pytest.param(
            {"correction": None},
            "[…] 95 % interval of the difference (Student’s t).",
            id="uncorrected",
        ),
        pytest.param(
            {"correction": "fdr_bh"},
            "(Student’s t, false coverage rate 0.05).",
            id="false discovery rate",
        ),
        pytest.param(
            {"test": "tukey"},
            "95 % interval of the difference (studentised range, for all pairs",
            id="Tukey",
        ),
        pytest.param(
            {"test": "permutation"},
            "98.33 % interval of the difference (Student’s t, 95 % for",
            id="Holm over three differences, by default: 1 - .05 / 3",
        ),
    ],
)
def test_notes_name_the_level_of_the_intervals(many, options, note) -> None:
    """The note says what the brackets beside a difference from the baseline are."""
    table = ma.systems_table(many, baseline="base", interval="difference", **options)
    assert note in one_line(table)


def test_a_note_says_why_a_mark_stands_beside_an_interval_that_includes_zero() -> None:
    """Holm's correction is less strict than the intervals, whose level is divided by the number of systems.

    The difference of `second` is significant after that of `first`, and its interval includes 0.
    """
    varying = np.resize([0.0, 0.1], 10)
    values = {"base": np.zeros(10), "first": varying + 0.1, "second": varying - 0.0105}
    frame = long({"AP": {name: list(topics) for name, topics in values.items()}})
    tests = ma.analysis.compare_with_baseline(frame, "base").set_index("name")
    assert tests["significant"].tolist() == [True, True]
    assert tests.loc["second", "low"] < 0 < tests.loc["second", "high"]

    note = "A sign beside an interval that includes 0 is what Holm’s correction gains."
    with_intervals = ma.systems_table(frame, baseline="base", interval="difference")
    assert note in one_line(with_intervals)
    without_intervals = ma.systems_table(frame, baseline="base")
    assert note not in one_line(without_intervals)


def test_measures_are_selected_and_ordered() -> None:
    frame = long({"AP": THREE, "ESL": THREE, "RR": THREE})
    for given in (["RR", "AP"], [RR, AP], {"RR": "RR", "AP": "AP"}):
        assert cells(to_latex(frame, given))[""] == ["RR", "AP"]
    for single in ("ESL", ma.ESL):
        assert cells(to_latex(frame, single))[""] == [r"ESL $\downarrow$"]


def test_rows_are_in_the_order_of_an_experiment() -> None:
    pt = pytest.importorskip("pyterrier")
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["a", "b"]})
    qrels = pd.DataFrame([["q1", "d1", 1], ["q2", "d1", 1]], columns=["qid", "docno", "label"])
    run = pd.DataFrame([["q1", "d1", 1.0], ["q2", "d2", 1.0]], columns=["qid", "docno", "score"])
    names = ["words", "characters", "readable"]
    perquery = pt.Experiment([run] * 3, topics, qrels, ["map", "P.1"], names=names, perquery=True)
    assert perquery["name"].unique().tolist() == sorted(names)
    for frame in (
        perquery,
        perquery[perquery["qid"] == "q1"],
        perquery[::-1].sort_values(["name", "qid"]),
    ):
        assert list(cells(to_latex(frame))) == ["", *names]
    assert list(cells(to_latex(perquery, ["P.1"]))) == ["", *names]
    by_name = perquery.reset_index(drop=True)  # what a file has
    assert list(cells(to_latex(by_name))) == ["", *sorted(names)]
    shuffled = perquery.sort_values("name", ascending=False)  # an order of one's own
    assert list(cells(to_latex(shuffled))) == ["", *sorted(names, reverse=True)]


@pytest.mark.parametrize(("interval", "n_notes"), [("none", 1), ("difference", 2), ("mean", 2)])
@pytest.mark.parametrize("test", ["t", "permutation", "tukey"])
def test_at_most_two_lines_are_below_a_table(many, interval: str, n_notes: int, test: str) -> None:
    """The first note is on the test, the second on the intervals; full notes are longer."""
    frame = many.replace({"name": {"base": "a baseline"}})
    options = {"baseline": "a baseline", "interval": interval, "test": test}
    table = ma.systems_table(frame, **options)

    n_lines_of_table = 5  # the head and four systems
    notes = str(table).splitlines()[n_lines_of_table:]
    assert len(notes) == n_notes
    assert max(map(len, notes)) <= 80
    assert table.to_html().count("<p>") == n_notes

    full = ma.systems_table(frame, baseline="a baseline", notes="full")
    assert len(str(full).splitlines()) > n_lines_of_table + 2


def test_a_styler_has_notes_below_and_marks_numbers_only(many) -> None:
    """Bold and underlined is the number of a cell, not its interval."""
    page = to_styler(many, baseline="base", interval="difference").to_html()
    assert re.search(r"caption \{\s*caption-side: bottom;\s*text-align: left;", page)

    # <span style="text-decoration: underline">0.395</span> [−0.062, 0.069]
    assert re.search(r'<span style="text-decoration: underline">[\d.]+†?</span> \[', page)
    inside_of_spans = re.findall(r'<span style="[^"]*">([^<]*)', page)
    assert not any("[" in content for content in inside_of_spans)


def test_a_styler_marks_whole_cells_without_interval(many) -> None:
    """The baseline has no interval: its ESL, the second best, is underlined by the style of its cell."""
    page = to_styler(many, baseline="base", interval="difference").to_html()
    underlined_cells = re.findall(r"#(T_\w+) {\s*text-decoration: underline", page)
    (cell_id,) = underlined_cells
    (content,) = re.findall(rf'id="{cell_id}"[^>]*>([^<]*)<', page)
    mean = many[(many["name"] == "base") & (many["measure"] == "ESL")]["value"].mean()
    assert content == f"{mean:.3f}" == "0.416"


def wide(measures: list[str]) -> pd.DataFrame:
    """Five systems, one of them the best in all measures."""
    rng = np.random.default_rng(0)
    names = {"BM25": 0.3, "monoT5-3B": 0.4, "ColBERTv2": 0.5, "characters": 0.6, "readable": 0.7}
    return long(
        {
            measure: {name: rng.normal(mean, 0.1, 30) for name, mean in names.items()}
            for measure in measures
        }
    )


FOUR = ["nDCG@10", "CAM@10", "TOMA(gate='relevance')@10", "NWCS@10"]
EIGHT = [*FOUR, "AP", "ERR@10", "MM@10", "uRBP"]


def test_heads_of_wide_tables_are_broken_before_the_cutoff() -> None:
    heads = to_latex(wide(FOUR)).split(r"\toprule")[1].split(r"\midrule")[0].split()
    assert "".join(heads) == r"&nDCG&CAM&TOMA&NWCS\\&@10&@10&@10&@10\\"


def compile_latex(folder: Path, layout: str, table: str) -> str:
    """The log of a document of the class article with a table."""
    document = (
        DOCUMENT.replace(
            r"\documentclass{article}", rf"\documentclass[a4paper,{layout}]{{article}}"
        )
        % table
    )
    (folder / "table.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-3000:]
    return log


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="requires pdflatex")
@pytest.mark.parametrize("notes", ["short", "full"])
@pytest.mark.parametrize(("layout", "measures"), [("twocolumn", FOUR), ("onecolumn", EIGHT)])
def test_a_table_fits(tmp_path: Path, layout: str, measures: list[str], notes: str) -> None:
    """Four measures fit a column, and eight a page of the class article, also with four decimals."""
    latex = to_latex(wide(measures), caption="Results.", baseline="BM25", decimals=4, notes=notes)
    assert compile_latex(tmp_path, layout, latex).count("Overfull") == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="requires pdflatex")
@pytest.mark.parametrize("layout", ["twocolumn", "onecolumn"])
def test_a_table_of_evidence_fits(tmp_path: Path, layout: str) -> None:
    names = ["a", "b"]
    evidence = (
        "difference −0.0421, 97.5 % interval [−0.0868, 0.0026] (95 % for both), p = 0.0647; "
        "detectable 0.0600"
    )
    rows = [["topics", "does not hold", evidence], ["labels", "undecided", evidence]]
    columns = [Column(head, left=True) for head in ("question", "verdict", "evidence")]
    latex = latex_of(Table(columns, [Row([" is better than ".join(names)], span=3), *rows]))
    assert compile_latex(tmp_path, layout, latex).count("Overfull") == 0


def test_heads_of_one_measure_keep_what_differs_beside_other_cutoffs() -> None:
    measures = {
        "CAM@10": ma.CAM @ 10,
        "CAM(base='AP')": ma.CAM(base="AP"),
        "P@5": P @ 5,
        "P@10": P @ 10,
    }
    heads = [head.short for head in column_heads(measures)]
    assert heads == ["CAM@10", "CAM(base=AP)", "P@5", "P@10"]
    aliased = {"CAM@10": ma.CAM @ 10, "CAM": ma.CAM(base="AP")}
    assert [head.short for head in column_heads(aliased)] == ["CAM@10", "CAM"]
