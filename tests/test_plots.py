"""Figures: what is drawn is what the data say; input is checked before a figure is made."""

from __future__ import annotations

import doctest
import inspect
import io
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from frame_world import array_frame
from scipy.stats import kendalltau, ttest_1samp

import pt_multiaspect as ma
from pt_multiaspect import plots
from pt_multiaspect.analysis import compare_with_baseline, correlation, discriminative_power
from pt_multiaspect.analysis.multiverse import Multiverse
from pt_multiaspect.errors import MultiAspectError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

# The column trust of the judgments has fractions, and some plots are drawn of all columns.
pytestmark = pytest.mark.filterwarnings(
    "ignore:no aspects were selected:pt_multiaspect.MultiAspectWarning"
)

LONG = "TOMA(base='nDCG',distance='manhattan',aspects={'relevance': 2, 'understandability': 3, 'trust': 10})@10"
TWO = {"relevance": 3, "correctness": 2}


@pytest.fixture(autouse=True)
def _figures_are_closed():
    plt.close("all")  # those of other files
    yield
    plt.close("all")


PERQUERY = array_frame(np.random.default_rng(0).random((8, 6, 3)).round(2))
MEANS = PERQUERY.pivot_table(index="name", columns="measure", values="value")

QRELS = {
    "q1": {
        "d1": {"relevance": 2, "trust": 0.5},
        "d2": {"relevance": 0, "trust": 1},
        "d3": {"relevance": 1, "trust": 0},
        "d4": {"relevance": 0},
    },
    "q2": {"d1": {"relevance": 1, "trust": 1}},
}
RUN = {"q1": {"d1": 4.0, "new": 5.0, "d2": 3.0, "d4": 2.0, "d3": 1.0}, "q3": {"d1": 1.0}}


def ideal_frame(
    topics=("q10", "q9", "q1"), strategies=("a > b", "b > a", "sum", "max")
) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [(qid, strategy, rng.random()) for qid in topics for strategy in strategies]
    return pd.DataFrame(rows, columns=["qid", "strategy", "value"])


def bound_frame(
    topics=("q10", "q9", "q1"), value=(0.5, 0.6, 0.7), bound=(0.5, 0.9, 0.7)
) -> pd.DataFrame:
    return pd.DataFrame({"qid": topics, "strategy": "auto", "value": value, "bound": bound})


IDEAL, BOUNDS = ideal_frame(), bound_frame()
CURVE = ma.crp_curve(RUN, QRELS)
POWER = discriminative_power(PERQUERY, n_resamples=200)
MATRIX = correlation(PERQUERY)
SETTINGS = pd.DataFrame(
    {
        "alpha": list("abcde"),
        "relevance": [0.5, 0.4, 0.3, 0.45, np.nan],
        "trust": [0.1, 0.3, 0.2, 0.2, 0.9],
        "cost": [1.0, 2.0, 3.0, 1.0, 9.0],
    }
)
FRONT = ma.pareto_front(SETTINGS, ["relevance", "trust"])
EXPLAINED = ma.TOMA(aspects={"relevance": 2, "trust": [0, 0.5, 1]}).explain(RUN, QRELS, "q1")

ASPECTS = dict.fromkeys(("AP", "RR", "P"), "higher")
WEIGHTINGS = ma.analysis.weightings(PERQUERY, measures=ASPECTS, n_resamples=20)


def multiverse_of(n_variants: int) -> Multiverse:
    """Random values of up to 96 variants of TOMA."""
    measures = ma.variants(
        ma.TOMA(aspects={"relevance": 3, "understandability": 2}), distance=["euclidean", "manhattan", "chebyshev"],
        axes=["equal", "gains"], gate=[None, "relevance"], cutoff=[5, 10, 20, 50], base=["nDCG", "AP"],
    )  # fmt: skip
    values = np.random.default_rng(2).random((3, 6, len(measures))).round(2)
    perquery = array_frame(values, list(measures))
    perquery["name"] = "a_long_name_of_" + perquery["name"]
    chosen = dict(list(measures.items())[:: 96 // n_variants])
    assert len(chosen) == n_variants
    return ma.analysis.multiverse(perquery, measures=chosen, correction=None)


MULTIVERSE = multiverse_of(48)

INTERVALS = ma.analysis.missing_labels(
    {"old": {"q": {"d1": 2.0, "d2": 1.0}}, "new": {"q": {"d3": 2.0, "d1": 1.0}}},
    {"q": {"d1": {"relevance": 1}, "d2": {"relevance": 0}}},
    {"nDCG@2": ma.On(aspects={"relevance": 1}) @ 2},
)
DRAW = {
    "label_intervals": lambda ax=None: plots.label_intervals(INTERVALS, ax=ax),
    "systems": lambda ax=None: plots.systems(PERQUERY, "AP", "RR", ax=ax),
    "upper_bounds": lambda ax=None: plots.upper_bounds(IDEAL, BOUNDS, ax=ax),
    "asl_curves": lambda ax=None: plots.asl_curves(POWER, ax=ax),
    "correlation_heatmap": lambda ax=None: plots.correlation_heatmap(MATRIX, ax=ax),
    "crp_over_ranks": lambda ax=None: plots.crp_over_ranks({"mine": CURVE}, "q1", ax=ax),
    "explanation": lambda ax=None: plots.explanation(EXPLAINED, ax=ax),
    "search_front": lambda ax=None: plots.search_front(FRONT, "trust", "relevance", ax=ax),
    "weightings": lambda ax=None: plots.weightings(WEIGHTINGS, ax=ax),
    "specification_curve": lambda ax=None: plots.specification_curve(MULTIVERSE, ax=ax),
}


def draw_example(name, ax=None):
    """Return the axes of the last plot that a docstring's example draws."""
    function, drawn = getattr(plots, name), []

    def draw(*args, **options):
        drawn.append(function(*args, **({} if ax is None else {"ax": ax}), **options))
        return drawn[-1]

    with mock.patch.object(plots, name, draw):
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples(function.__doc__):
            exec(example.source, names)
    return drawn[-1]


#: All plots; those without data of their own are drawn as their examples do.
PLOTS = {name: DRAW.get(name, partial(draw_example, name)) for name in plots.__all__}


def offsets(ax) -> np.ndarray:
    """The places of all scattered points."""
    return np.vstack([np.asarray(collection.get_offsets()) for collection in ax.collections])


def rows_of(array) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.asarray(array).round(9).tolist()))


# -- all figures ----------------------------------------------------------------------------


def test_plots_of_examples():
    assert set(DRAW) < set(plots.__all__)
    assert [text.get_text() for text in PLOTS["values"]().get_yticklabels()] == ["dense", "bm25"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PLOTS)
def test_axes(name):
    from matplotlib.axes import Axes

    new = PLOTS[name]()
    assert isinstance(new, Axes)
    assert plt.get_fignums() == [1]
    figure, axes = plt.subplots(layout="constrained")
    assert PLOTS[name](axes) is axes
    assert plt.get_fignums() == [1, 2]
    for ax in (new, axes):
        assert ax.get_xlabel() or name in (
            "correlation_heatmap",
            "explanation",
            "specification_curve",
        )
        ax.figure.draw_without_rendering()
        # Nothing sticks out of the figure.
        box = ax.figure.get_tightbbox(ax.figure.canvas.get_renderer())
        assert box.x0 > -0.05
        assert box.y0 > -0.05
        assert box.x1 < ax.figure.get_figwidth() + 0.05
        assert box.y1 < ax.figure.get_figheight() + 0.05
    for wrong in (figure, [axes], "ax"):
        with pytest.raises(
            MultiAspectError,
            match=f"ax: expected one matplotlib Axes, .* got a {type(wrong).__name__}$",
        ):
            PLOTS[name](wrong)


def texts_of(figure) -> list:
    """All visible texts of a figure."""
    figure.draw_without_rendering()
    return [
        text
        for text in figure.findobj(matplotlib.text.Text)
        if text.get_visible() and text.get_text()
    ]


#: Names that matplotlib would draw as formulas, or not at all.
DOLLARS = ["top$_$5", "$x$", "a$\\frac$b", "$1 of $2", "one $"]


def named_with_dollars() -> dict[str, Callable[..., Any]]:
    """Plots of runs, measures, topics and documents with such names."""
    values = array_frame(np.random.default_rng(0).random((5, 6, 3)).round(2))
    runs = dict(zip(values["name"].unique(), DOLLARS, strict=True))
    labels = dict(zip(values["measure"].unique(), DOLLARS, strict=False))
    values = values.assign(name=values["name"].map(runs), measure=values["measure"].map(labels))
    higher = dict.fromkeys(labels.values(), "higher")
    bounds = BOUNDS.assign(qid="$q$" + BOUNDS["qid"].astype(str) + "$")
    qrels = {"$q$": {name: {"relevance": 1} for name in DOLLARS}}
    explained = ma.explain("nDCG", {"$q$": dict.fromkeys(DOLLARS, 1.0)}, qrels, "$q$")
    first, second, *_ = higher
    return {
        "values": lambda ax=None: plots.values(values, higher, ax=ax),
        "systems": lambda ax=None: plots.systems(
            values, first, second, measures=higher, label=5, ax=ax
        ),
        "upper_bounds": lambda ax=None: plots.upper_bounds(bounds=bounds, ax=ax),
        "correlation_heatmap": lambda ax=None: plots.correlation_heatmap(
            correlation(values, measures=higher), ax=ax
        ),
        "explanation": lambda ax=None: plots.explanation(explained, ax=ax),
        "weightings": lambda ax=None: plots.weightings(
            ma.analysis.weightings(values, measures={first: "higher", second: "higher"}), ax=ax
        ),
        "asl_curves": lambda ax=None: plots.asl_curves(
            discriminative_power(values, n_permutations=20), ax=ax
        ),
    }


@pytest.mark.parametrize("is_given", [False, True], ids=["new", "given"])
@pytest.mark.parametrize(
    "name", ["values", "systems", "correlation_heatmap", "explanation", "weightings"]
)
def test_names_with_dollars_are_no_formulas(name, is_given):
    """Kind: texts of users that matplotlib parses. `top$_$5` was a traceback, `$x$` an italic x."""
    ax = plt.subplots(layout="constrained")[1] if is_given else None
    drawn = named_with_dollars()[name](ax=ax)
    texts = [text for text in texts_of(drawn.figure) if "$" in text.get_text()]
    assert texts
    assert not any(text.get_parse_math() for text in texts)
    drawn.figure.savefig(io.BytesIO(), format="svg")
    assert plt.rcParams["text.parse_math"]


def test_formulas_of_scales_and_of_users_remain():
    """What must stay: powers of ten on a logarithmic scale, and texts that users add."""
    given = plt.subplots()[1]
    own = given.text(0, 0, "$y^2$")
    for ax in (PLOTS["systems"](), PLOTS["systems"](given)):
        ax.set_xscale("log")
        ax.set_title("$x^2$")
        assert ax.title.get_parse_math()
        assert all(tick.label1.get_parse_math() for tick in ax.xaxis.majorTicks)
    assert own.get_parse_math()


@pytest.mark.every(2)
@pytest.mark.parametrize("name", PLOTS)
def test_figures_can_be_read_also_on_a_dark_background(name):
    """Marks of no category have the colour of texts; only the ground of cells, points and bars is light."""
    with plt.style.context("dark_background"):
        figure = PLOTS[name]().figure
    texts = texts_of(figure)
    assert texts
    # The smallest size that publishers accept.
    assert min(text.get_fontsize() for text in texts) >= 6
    on_cells = ("correlation_heatmap", "explanation")
    drawn = [] if name in on_cells else texts
    if name != "weightings":  # which are on bars
        drawn += [
            line
            for line in figure.findobj(matplotlib.lines.Line2D)
            if line.get_linestyle() != "None"
        ]
        drawn += figure.findobj(matplotlib.collections.LineCollection)
    colours = np.vstack([matplotlib.colors.to_rgba_array(artist.get_color()) for artist in drawn])
    assert colours[:, :3].max(axis=1).min() > 0.4


@pytest.mark.parametrize("name", DRAW)
def test_missing_matplotlib(name, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot", "matplotlib.axes"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "pt-multiaspect\[plots\]"') as caught:
        DRAW[name]()
    assert "." not in str(caught.value)  # names no host


@pytest.mark.slow
def test_import_needs_no_matplotlib():
    code = "import sys, pt_multiaspect.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_settings_of_matplotlib_stay():
    before = dict(matplotlib.rcParams)
    for draw in PLOTS.values():
        draw()
    assert dict(matplotlib.rcParams) == before


# -- systems --------------------------------------------------------------------------------


def test_systems():
    ax = plots.systems(PERQUERY.sample(frac=1, random_state=1), "AP", "RR", label=3)
    assert rows_of(offsets(ax)) == rows_of(MEANS[["AP", "RR"]])
    tau = kendalltau(MEANS["AP"], MEANS["RR"]).statistic
    assert ax.get_title() == f"Kendall’s τ-b = {tau:.3f} (8 systems, 6 topics)"
    assert ax.get_xlabel().startswith("AP")
    assert ax.get_ylabel().startswith("RR")
    assert ax.get_legend().get_texts()[-1].get_text() == "other systems"
    ranks = MEANS.rank(ascending=False)
    moves = ranks["AP"] - ranks["RR"]
    best = MEANS["AP"].idxmax()
    assert best == MEANS["RR"].idxmax()
    names = [text.get_text().rsplit(" ", 1)[0] for text in ax.texts]
    assert names[0] == best
    assert moves[names[1:]].abs().tolist() == moves.drop(best).abs().nlargest(2).tolist()
    for name, text in zip(names, ax.texts, strict=True):
        move = text.get_text().rsplit(" ", 1)[1]
        assert moves[name] == (
            0 if move == "=" else float(move[1:]) * (1 if move[0] == "↑" else -1)
        )
        assert text.xy == pytest.approx(tuple(MEANS.loc[name, ["AP", "RR"]]))


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_of_many_systems_the_baseline_and_the_best_are_named(direction):
    values = np.random.default_rng(5).random((40, 6, 2))
    values[7, :, 0], values[8, :, 1] = 2.0, -1.0
    perquery = array_frame(values, ["x", "y"])
    measures = {"x": "higher", "y": direction}
    ax = plots.systems(perquery, "x", "y", baseline="run 20", measures=measures)
    best = perquery[perquery["measure"] == "y"].groupby("name")["value"].mean()
    best_on_y = best.idxmin() if direction == "lower" else best.idxmax()
    names = [text.get_text().rsplit(" ", 1)[0] for text in ax.texts]
    assert names[:3] == ["run 20", "run 7", best_on_y]
    baseline = ax.collections[0]
    assert ax.get_legend().get_texts()[0].get_text() == "baseline"
    assert rows_of(baseline.get_offsets()) == rows_of([values[20].mean(axis=0)])
    assert len(offsets(ax)) == 40
    assert faults_of_labels(ax) == []
    unnamed = plots.systems(perquery, "x", "y", baseline="run 20", label=0, measures=measures)
    assert not unnamed.texts
    assert len(unnamed.collections[0].get_offsets()) == 1
    with pytest.raises(MultiAspectError, match=r"baseline.*run 99"):
        plots.systems(perquery, "x", "y", baseline="run 99", measures=measures)


@pytest.mark.slow
def test_systems_to_name():
    assert not plots.systems(PERQUERY, "AP", "RR", label=0).texts
    ax = plots.systems(
        PERQUERY, ma.integration.parsing.parse("AP")[0], "P", label=["run 3", "run 5"]
    )
    assert [text.get_text().rsplit(" ", 1)[0] for text in ax.texts] == ["run 3", "run 5"]
    assert len(offsets(ax)) == 8
    same = array_frame(np.repeat(np.random.default_rng(1).random((5, 4, 1)), 2, axis=2))
    assert [text.get_text() for text in plots.systems(same, "AP", "RR").texts] == [
        f"run {n} =" for n in range(5)
    ]
    ax = plots.systems(same, "AP", "RR", label=["run 1"])
    assert [text.get_text() for text in ax.texts] == ["run 1 ="]


@pytest.mark.slow
def test_systems_without_a_correlation():
    values = np.random.default_rng(1).random((5, 4, 2))
    values[:, :, 1] = 0.5
    assert "τ-b is undefined" in plots.systems(array_frame(values), "AP", "RR").get_title()


@pytest.mark.slow
def test_only_the_two_measures_must_be_complete():
    lacking = PERQUERY[(PERQUERY["measure"] != "P") | (PERQUERY["name"] != "run 1")]
    assert plots.systems(lacking, "AP", "RR").get_title() == DRAW["systems"]().get_title()


def boxes_of_markers(ax) -> list[tuple[float, float, float, float]]:
    """The extents of all scattered markers, in pixels: left, bottom, right, top."""
    boxes = []
    for drawn in ax.collections:
        (marker,) = drawn.get_paths()
        corners = marker.vertices * np.sqrt(drawn.get_sizes()[0]) * ax.figure.dpi / 72
        for place in ax.transData.transform(drawn.get_offsets()):
            boxes.append((*(place + corners.min(axis=0)), *(place + corners.max(axis=0))))
    return boxes


def crosses(start, end, box) -> bool:
    """Return whether a line has a point in a box, by clipping it at one side after the other (Cyrus and Beck)."""
    first, last = 0.0, 1.0
    for axis in (0, 1):
        step = end[axis] - start[axis]
        if step == 0:
            if not box[axis] < start[axis] < box[axis + 2]:
                return False
            continue
        entry, leaving = sorted(
            ((box[axis] - start[axis]) / step, (box[axis + 2] - start[axis]) / step)
        )
        first, last = max(first, entry), min(last, leaving)
    return first < last


def faults_of_labels(ax) -> list[str]:
    """List what labels hide, and where they are outside."""
    ax.figure.draw_without_rendering()
    texts = list(ax.texts)
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in texts]
    lines = [text.arrow_patch.get_path().vertices[[0, -1]] for text in texts]
    markers = [matplotlib.transforms.Bbox.from_extents(*marker) for marker in boxes_of_markers(ax)]
    frame, faults = ax.get_window_extent(), []
    for text, box in zip(texts, boxes, strict=True):
        name, inside = text.get_text(), box.shrunk(0.98, 0.98)
        if not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)):
            faults.append(f"{name} is outside")
        faults += [f"{name} is on a marker" for marker in markers if inside.overlaps(marker)]
        for other, another, line in zip(texts, boxes, lines, strict=True):
            if other is not text and inside.overlaps(another):
                faults.append(f"{name} is on {other.get_text()}")
            if other is not text and crosses(*line, inside.extents):
                faults.append(f"{name} is on the line of {other.get_text()}")
    return faults


@pytest.mark.every(4)  # each number once
@pytest.mark.parametrize("n_systems", [3, 10, 40])
@pytest.mark.parametrize("seed", range(3))
def test_names_hide_nothing(n_systems, seed):
    rng = np.random.default_rng(seed)
    values = rng.random((n_systems, 1, 1)) + rng.normal(0, 0.15, (n_systems, 5, 2))
    perquery = array_frame(values).assign(name=lambda rows: "a_long_name_of_a_" + rows["name"])
    ax = plots.systems(perquery, "AP", "RR")
    assert faults_of_labels(ax) == []
    n_named = min(n_systems, 20)
    assert len(ax.texts) >= 0.8 * n_named
    n_omitted = n_named - len(ax.texts)
    omitted = f", {n_omitted} name{'s' if n_omitted > 1 else ''} omitted" if n_omitted else ""
    assert ax.get_title().endswith(f"({n_systems} systems, 5 topics{omitted})")


def test_names_without_room_are_left_out():
    values = 0.5 + np.random.default_rng(4).normal(0, 1e-9, (20, 2, 2))
    values[0], values[1] = 0, 1
    ax = plots.systems(array_frame(values), "AP", "RR", label=[f"run {n}" for n in range(20)])
    assert faults_of_labels(ax) == []
    assert 2 < len(ax.texts) < 20
    assert ax.get_title().endswith(f"(20 systems, 2 topics, {20 - len(ax.texts)} names omitted)")
    assert [text.get_text().split()[1] for text in ax.texts[:3]] == [
        "0",
        "1",
        "2",
    ]  # the first have preference


@pytest.mark.every(2)
@pytest.mark.parametrize("n_settings", [3, 10, 40])
def test_names_on_a_front_hide_nothing(n_settings):
    rng = np.random.default_rng(n_settings)
    scores = rng.random((n_settings, 2))
    names = [f"a_long_name_of_a_setting_{n}" for n in range(n_settings)]
    settings = pd.DataFrame(scores, columns=["relevance", "trust"], index=names)
    ax = plots.search_front(ma.pareto_front(settings, ["relevance", "trust"]), "relevance", "trust")
    assert faults_of_labels(ax) == []
    assert ax.texts


# -- values ---------------------------------------------------------------------------------


def panels_of(figure) -> dict[str, object]:
    """The panels by measure."""
    return {ax.get_xlabel().split("\n")[0]: ax for ax in figure.axes}


def test_values():
    shuffled = PERQUERY.sample(frac=1, random_state=1)
    ax = plots.values(shuffled, ["AP", "RR", "P"], ci=0.9)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == MEANS["AP"].sort_values(ascending=False).index.tolist()
    panels = panels_of(ax.figure)
    assert list(panels) == ["AP", "RR", "P"]
    expected = ma.aggregate(PERQUERY, ci=0.9).set_index("name").loc[names]
    for measure, panel in panels.items():
        assert means_of(panel) == pytest.approx(dict(enumerate(expected[measure])))
        columns = [f"{measure} 90% low", f"{measure} 90% high"]
        ends = ends_of(panel)
        assert np.array([ends[row] for row in range(8)]) == pytest.approx(
            expected[columns].to_numpy()
        )
    assert ax.get_title(loc="left") == "mean, 90 % interval"
    assert ax.get_legend() is None


def means_of(panel) -> dict[int, float]:
    """The means by row."""
    points = [line for line in panel.lines if line.get_marker() not in ("None", None)]
    return {int(row): mean for marks in points for mean, row in zip(*marks.get_data(), strict=True)}


def ends_of(panel) -> dict[int, tuple[float, float]]:
    """The ends of the intervals by row."""
    return {
        int(left[1]): (left[0], right[0])
        for bars in panel.collections
        for left, right in bars.get_segments()
    }


@pytest.mark.parametrize("ci", [0.95, 0.8])
def test_values_with_a_baseline_have_intervals_of_the_differences(ci):
    ax = plots.values(PERQUERY, {"RR": "lower", "AP": "higher"}, baseline="run 3", ci=ci)
    names = [text.get_text() for text in ax.get_yticklabels()]
    tests = compare_with_baseline(PERQUERY, "run 3", alpha=1 - ci).set_index(["measure", "name"])
    for measure, panel in panels_of(ax.figure).items():
        at = MEANS.loc["run 3", measure]
        assert means_of(panel) == pytest.approx(dict(enumerate(MEANS.loc[names, measure])))
        assert panel.lines[-1].get_xdata() == pytest.approx([at, at])
        ends = ends_of(panel)
        assert {names[row] for row in range(8)} - {names[row] for row in ends} == {"run 3"}
        for row, (low, high) in ends.items():
            test = tests.loc[(measure, names[row])]
            assert (low - at, high - at) == pytest.approx((test["low"], test["high"]))
    title = " ".join(ax.get_title(loc="left").split())
    assert (
        title == f"mean, with the simultaneous {100 * ci:g} % interval of its difference from run 3"
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["baseline"]


def test_values_of_sums_have_no_intervals_of_differences():
    qrels = {f"q{n}": {f"d{d}": {"relevance": (d + n) % 2} for d in range(6)} for n in range(5)}
    runs = {
        name: {qid: {f"d{d}": 1.0 for d in range(length + int(qid[1]))} for qid in qrels}
        for name, length in {"short": 1, "long": 2}.items()
    }
    values = ma.evaluate(runs, qrels, ["NumRel", "NumRelRet", "P@2"], progress=False)
    ax = plots.values(values, ["NumRelRet", "P@2"], baseline="short")
    panels = panels_of(ax.figure)
    assert not ends_of(panels["NumRelRet"])
    assert len(ends_of(panels["P@2"])) == 1
    assert ends_of(panels_of(plots.values(values, ["NumRelRet", "P@2"]).figure)["NumRelRet"])


def test_values_of_two_runs_one_run_and_without_intervals():
    two = PERQUERY[PERQUERY["name"].isin(["run 1", "run 2"])]
    ax = plots.values(two, ["AP"], baseline="run 1")
    assert "simultaneous" not in ax.get_title(loc="left")
    assert len(ends_of(ax)) == 1
    one = PERQUERY[PERQUERY["name"] == "run 1"]
    assert len(ends_of(plots.values(one, ["AP"], baseline="run 1"))) == 1
    ax = plots.values(two, ["AP"], baseline="run 1", ci=None)
    assert not ax.collections
    assert ax.get_title(loc="left") == "mean"


def test_values_where_lower_is_better():
    measures = {"AP": "higher", "RR": "lower"}
    ax = plots.values(PERQUERY, {"RR": "lower", "AP": "higher"}, ci=None)
    assert [text.get_text() for text in ax.get_yticklabels()] == MEANS[
        "RR"
    ].sort_values().index.tolist()
    panels = panels_of(ax.figure)
    assert {name: panel.xaxis.get_inverted() for name, panel in panels.items()} == {
        "AP": False,
        "RR": True,
    }
    assert set(panels) == set(measures)
    assert not any(panel.collections for panel in panels.values())


@pytest.mark.every(2)
@pytest.mark.parametrize("n_systems", [3, 12, 40])
def test_values_fit_in_a_column(n_systems):
    values = array_frame(np.random.default_rng(3).random((n_systems, 5, 2))).assign(
        name=lambda rows: "a_long_name_of_a_" + rows["name"]
    )
    figure = plots.values(values, baseline="a_long_name_of_a_run 1").figure
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 3.3
    boxes = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    assert not any(box.overlaps(other) for box, other in pairwise(boxes))
    widths = [ax.get_window_extent().width / figure.dpi for ax in figure.axes]
    assert min(widths) > 0.7


def test_values_name_what_is_wrong():
    with pytest.raises(MultiAspectError, match=r"baseline.*run 9"):
        plots.values(PERQUERY, baseline="run 9")
    with pytest.raises(MultiAspectError, match="nDCG"):
        plots.values(PERQUERY, ["nDCG"])
    with pytest.raises(MultiAspectError, match="at least two topics"):
        plots.values(PERQUERY[PERQUERY["qid"] == "q1"])


# -- upper bounds ---------------------------------------------------------------------------


def test_upper_bounds():
    ax = plots.upper_bounds(IDEAL, bounds=BOUNDS, measure=ma.CAM @ 10)
    topics = ["q1", "q9", "q10"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == topics
    assert ax.get_ylabel() == "CAM@10"
    boxes = [patch for patch in ax.patches if hasattr(patch, "get_path")]
    assert len(boxes) == 3
    for position, (topic, box) in enumerate(zip(topics, boxes, strict=True), 1):
        values = IDEAL.loc[IDEAL["qid"] == topic, "value"]
        extent = box.get_path().get_extents()
        assert (extent.y0, extent.y1) == pytest.approx(tuple(np.quantile(values, [0.25, 0.75])))
        assert (extent.x0 + extent.x1) / 2 == pytest.approx(position)
        ends = [
            y for line in ax.lines for x, y in line.get_xydata().tolist() if abs(x - position) < 0.5
        ]  # whiskers, caps and the median
        assert (min(ends), max(ends)) == pytest.approx((values.min(), values.max()))
    points, proven = ax.collections
    assert rows_of(points.get_offsets()) == [(1, 0.7), (2, 0.6), (3, 0.5)]
    assert rows_of(proven.get_offsets()) == [(2, 0.9)]
    assert len(ax.get_legend().get_texts()) == 3


def test_upper_bounds_in_other_orders():
    ax = plots.upper_bounds(IDEAL, bounds=BOUNDS, sort="bound")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["q9", "q1", "q10"]
    greatest = IDEAL.groupby("qid")["value"].max().sort_values(ascending=False)
    ax = plots.upper_bounds(IDEAL.rename(columns={"qid": "query_id"}), sort="bound")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == greatest.index.tolist()
    assert not ax.collections
    # A bound that is reached has no mark of its own.
    ax = plots.upper_bounds(IDEAL, bounds=BOUNDS.assign(bound=BOUNDS["value"] + 1e-9))
    assert len(ax.collections) == 1


@pytest.mark.parametrize("n_topics", [3, 10, 30])
def test_names_of_topics_do_not_touch(n_topics):
    ax = plots.upper_bounds(ideal_frame([f"15{n}001" for n in range(n_topics)]))
    ax.figure.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in ax.get_xticklabels()]
    assert len(boxes) == n_topics
    assert not any(left.overlaps(right) for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("sort", "label"),
    [
        (None, "66 topics, highest bound first"),
        ("bound", "66 topics, highest bound first"),
        ("name", "66 topics, by name"),
    ],
)
def test_many_topics_have_an_order_instead_of_names(sort, label):
    topics = [f"15{n:02}" for n in range(66)]
    bounds = bound_frame(
        topics,
        np.random.default_rng(1).random(66) / 2,
        np.random.default_rng(2).random(66) / 2 + 0.5,
    )
    ax = plots.upper_bounds(bounds=bounds, sort=sort)
    assert not ax.get_xticklabels()
    assert ax.get_xlabel() == label
    values = dict(ax.collections[0].get_offsets().tolist())
    order = bounds if sort == "name" else bounds.sort_values("bound", ascending=False)
    assert [values[position] for position in range(1, 67)] == order["value"].tolist()


def test_upper_bounds_name_the_measure_of_the_frames():
    measure = ma.CAM(aspects={"relevance": 2, "trust": [0, 0.5, 1]}) @ 5
    ideal, bounds = (
        ma.analysis.ideal_values(QRELS, measure),
        ma.analysis.upper_bound(QRELS, measure),
    )
    for frames in ((ideal, None), (None, bounds), (ideal, bounds)):
        assert plots.upper_bounds(*frames).get_ylabel().replace("\n", "").replace(" ", "") == str(
            measure
        ).replace(" ", "")
    assert plots.upper_bounds(ideal, bounds, measure="CAM").get_ylabel() == "CAM"
    other = ma.analysis.upper_bound(QRELS, measure @ 3)
    with pytest.raises(MultiAspectError, match="ideal and bounds of one measure"):
        plots.upper_bounds(ideal, other)


def test_one_topic():
    assert len(plots.upper_bounds(ideal_frame(["only"])).get_xticks()) == 1


# -- significance levels --------------------------------------------------------------------


def test_asl_curves():
    ax = plots.asl_curves(POWER)
    table, curve = POWER.table, POWER.curve()
    assert len(ax.lines) == len(table) + 1
    for line, measure in zip(ax.lines, table["measure"], strict=False):
        levels = curve.loc[curve["measure"] == measure, "asl"]
        assert line.get_ydata().tolist() == levels.tolist()
        assert line.get_xdata().tolist() == list(range(1, 29))
    assert set(ax.lines[-1].get_ydata()) == {0.05}
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries == [
        *(f"{row.measure} ({100 * row.power:.1f} %)" for row in table.itertuples()), "α = 0.05"
    ]  # fmt: skip
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(styles) == len({style[1:] for style in styles}) == 4
    assert ax.get_yscale() == "log"
    positive = curve.loc[curve["asl"] > 0, "asl"].min()
    bottom, top = ax.get_ylim()
    assert bottom <= positive < 10 * bottom
    assert top == 1
    ax = plots.asl_curves(POWER, n_pairs=5, top=0.2)
    assert [len(line.get_xdata()) for line in ax.lines[:-1]] == [5, 5, 5]
    assert ax.get_ylim() == (bottom, 0.2)


@pytest.mark.parametrize(
    ("top", "limits"), [(None, (1e-4, 1)), (0.1, (1e-4, 0.1)), (1e-5, (1e-6, 1e-5))]
)
def test_axes_of_tiny_levels(top, limits):
    values = np.random.default_rng(1).normal(0, 0.01, (4, 9, 1)) + np.arange(4)[:, None, None]
    power = discriminative_power(array_frame(values, ["AP"]), test="t")
    assert power.curve()["asl"].max() < 1e-5
    ax = plots.asl_curves(power, top=top)
    assert ax.get_ylim() == pytest.approx(limits)


@pytest.mark.slow
def test_many_measures_with_long_names():
    measures = [LONG.replace("'nDCG'", f"'RBP(p=0.{n:02})'") for n in range(1, 16)]
    values = np.random.default_rng(2).random((4, 5, 15))
    perquery = array_frame(values, measures)
    ax = plots.asl_curves(discriminative_power(perquery, test="t", correction="holm"))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(set(texts)) == 16
    assert "before holm" in texts[-1]
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(styles) == 16
    heat = plots.correlation_heatmap(correlation(perquery))
    shown = [tick.get_text() for tick in heat.get_xticklabels()]
    assert len(set(shown)) == 15
    scatter = plots.systems(perquery, measures[0], measures[1])
    assert max(map(len, scatter.get_xlabel().split("\n"))) < 70
    for drawn in (ax, heat, scatter):
        drawn.figure.draw_without_rendering()
        box = drawn.figure.get_tightbbox(drawn.figure.canvas.get_renderer())
        assert box.x1 < drawn.figure.get_figwidth() + 0.05
        assert box.y0 > -0.05
        width = drawn.get_window_extent().width / drawn.figure.dpi
        assert width > 0.4 * drawn.figure.get_figwidth()


# -- correlations ---------------------------------------------------------------------------


def test_correlation_heatmap():
    ax = plots.correlation_heatmap(MATRIX, title="Kendall’s τ-b")
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(MATRIX.to_numpy())
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.get_title() == "Kendall’s τ-b"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["AP", "RR", "P"]
    for text, value in zip(ax.texts, MATRIX.to_numpy().ravel(), strict=True):
        assert float(text.get_text().replace("−", "-")) == round(value, 2) + 0.0
    assert ax.figure.axes[1].get_ylim() == ax.images[0].get_clim()


@pytest.mark.slow
def test_values_are_readable():
    values = np.linspace(-1, 1, 81).reshape(9, 9)
    ax = plots.correlation_heatmap(
        pd.DataFrame(values, index=list("abcdefghi"), columns=list("abcdefghi"))
    )

    def luminance(colour):
        parts = np.array(matplotlib.colors.to_rgb(colour))
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [
            0.2126,
            0.7152,
            0.0722,
        ]

    for text, value in zip(ax.texts, values.ravel(), strict=True):
        first, second = (
            luminance(text.get_color()),
            luminance(ax.images[0].cmap(ax.images[0].norm(value))),
        )
        assert (max(first, second) + 0.05) / (min(first, second) + 0.05) >= 4.5


def test_correlations_that_are_not_defined_and_intervals():
    matrix = MATRIX.copy()
    matrix.iloc[0, 1] = np.nan
    ax = plots.correlation_heatmap(matrix)
    assert ax.texts[1].get_text() == "–"
    assert np.ma.getmaskarray(ax.images[0].get_array()).sum() == 1
    long = correlation(PERQUERY, ci=0.9, n_resamples=20)
    ax = plots.correlation_heatmap(long)
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(MATRIX.to_numpy())
    first = long.iloc[0]
    text = f"{first['correlation']:.2f}\n[{first['low']:.2f}, {first['high']:.2f}]"
    assert ax.texts[1].get_text() == text.replace("-", "−")
    # The colour bar has the scale of the image, not the ends of the last interval.
    colour_bar = ax.images[0].colorbar
    assert colour_bar.get_ticks()[[0, -1]] == pytest.approx(ax.images[0].get_clim())


# -- curves and profiles --------------------------------------------------------------------


def test_crp_curve():
    other = {"q1": {"d3": 2.0, "d1": 1.0}}
    curves = {"mine": CURVE, "other": ma.crp_curve(other, QRELS)}
    ax = plots.crp_over_ranks(curves, "q1")
    for line, curve in zip(ax.lines, curves.values(), strict=False):
        part = curve[curve["qid"] == "q1"]
        assert line.get_xdata().tolist() == part["rank"].tolist()
        assert line.get_ydata().tolist() == part["crp"].tolist()
    zero, base, *worst = ax.lines[2:]
    expected = {tuple(curve.loc[curve["qid"] == "q1", "worst"]) for curve in curves.values()}
    assert {tuple(line.get_ydata()) for line in worst} == expected
    turns = [tuple(points.get_offsets()[0]) for points in ax.collections]
    for turn, curve in zip(turns, curves.values(), strict=True):
        part = curve[curve["qid"] == "q1"]
        assert turn == (part["rank"][part["crp"].idxmin()], part["crp"].min())
    assert set(zero.get_ydata()) == {0}
    assert set(base.get_xdata()) == {2}
    assert [text.get_text() for text in ax.texts] == ["R = 2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "mine",
        "other",
        "minimum",
        "worst ranking",
    ]
    assert ax.get_title() == "query q1"
    ax.figure.draw_without_rendering()
    assert all(tick.get_text().isdigit() for tick in ax.get_xticklabels() if tick.get_visible())


def test_crp_curves_of_other_labels_and_one_query():
    only = CURVE[CURVE["qid"] == "q1"]
    ax = plots.crp_over_ranks(only)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["minimum", "worst ranking"]
    assert plots.crp_over_ranks({"mine": only}).get_title() == "query q1: mine"
    classes = ma.crp_curve(
        RUN, QRELS, ma.TOMA(aspects={"relevance": 2, "trust": ma.Aspect([0, 0.5, 1])})
    )
    ax = plots.crp_over_ranks({"relevance": CURVE, "classes": classes}, "q1")
    assert [text.get_text() for text in ax.texts] == ["R = 2 (relevance)", "R = 3 (classes)"]


# -- errors ---------------------------------------------------------------------------------

BAD = [
    (
        lambda: plots.systems(PERQUERY, "AP", "nDCG"),
        ["measures of the frame (AP, RR, P)", "got nDCG"],
    ),
    (lambda: plots.systems(PERQUERY, "AP", "AP"), ["two different measures", "got AP twice"]),
    (
        lambda: plots.systems(PERQUERY[PERQUERY["name"] == "run 1"], "AP", "RR"),
        ["two systems", "run 1"],
    ),
    (lambda: plots.systems(PERQUERY[PERQUERY["qid"] == "q1"], "AP", "RR"), ["two topics", "q1"]),
    (
        lambda: plots.systems(PERQUERY.assign(value=np.nan), "AP", "RR"),
        ["expected finite values", "got nan"],
    ),
    (
        lambda: plots.systems(PERQUERY.drop(columns="qid"), "AP", "RR"),
        ["columns name, qid, measure, value", "qid is missing"],
    ),
    (
        lambda: plots.systems(PERQUERY.drop(columns="measure"), "AP", "RR"),
        ["columns name, qid, measure, value", "measure is missing"],
    ),
    (lambda: plots.systems(PERQUERY.iloc[:0], "AP", "RR"), ["at least one row", "got none"]),
    (lambda: plots.systems("x", "AP", "RR"), ["long frame", "str"]),
    (
        lambda: plots.systems(PERQUERY, "AP", "RR", label=["run 99"]),
        ["run 99", "run 0, run 1", "run 7"],
    ),
    (lambda: plots.systems(PERQUERY, "AP", "RR", label=-1), ["label", "-1"]),
    (
        lambda: plots.systems(PERQUERY, "AP", "RR", label="run 1"),
        ["label", "list of names", "run 1"],
    ),
    (lambda: plots.systems(PERQUERY, "AP", "RR", label=1.5), ["label", "1.5"]),
    (lambda: plots.upper_bounds(IDEAL.drop(columns="strategy")), ["strategy", "qid, value"]),
    (lambda: plots.upper_bounds(IDEAL.drop(columns="qid")), ["qid", "strategy, value"]),
    (lambda: plots.upper_bounds([1]), ["DataFrame", "list"]),
    (
        lambda: plots.upper_bounds(IDEAL.assign(qid=[None] * 12)),
        ["ideal: expected a qid in every row, got none in row 0"],
    ),
    (
        lambda: plots.upper_bounds(IDEAL.assign(value=np.nan)),
        ["ideal: expected finite numbers", "value nan", "q10"],
    ),
    (
        lambda: plots.upper_bounds(IDEAL.assign(value="x")),
        ["ideal: expected finite numbers", "value x", "q10"],
    ),
    (
        lambda: plots.upper_bounds(pd.concat([IDEAL, IDEAL.iloc[:1]])),
        ["one row per topic and strategy", "q10", "a > b"],
    ),
    (
        lambda: plots.upper_bounds(IDEAL, bounds=BOUNDS.iloc[1:]),
        ["in ideal (3) and bounds (2)", "got q10"],
    ),
    (
        lambda: plots.upper_bounds(IDEAL, bounds=pd.concat([BOUNDS, BOUNDS])),
        ["one row per topic, got more", "q10"],
    ),
    (
        lambda: plots.upper_bounds(IDEAL, bounds=BOUNDS.drop(columns="bound")),
        ["bound", "analysis.upper_bound"],
    ),
    (lambda: plots.upper_bounds(), ["expected the result of", "analysis.upper_bound", "got None"]),
    (lambda: plots.upper_bounds(BOUNDS, BOUNDS), ["column bound", "bounds="]),
    (lambda: plots.upper_bounds(IDEAL, sort="size"), ["sort", "'name', 'bound'", "size"]),
    (lambda: plots.asl_curves(POWER.table), ["discriminative_power", "DataFrame"]),
    (lambda: plots.asl_curves(POWER, n_pairs=0), ["n_pairs", "0"]),
    (lambda: plots.asl_curves(POWER, top=5), ["top", "5"]),
    (
        lambda: plots.correlation_heatmap(MATRIX, limits=(1, 0)),
        ["limits", "lower first", "got (1, 0)"],
    ),
    (lambda: plots.correlation_heatmap(MATRIX, limits=0.5), ["limits", "got 0.5"]),
    (lambda: plots.correlation_heatmap(MATRIX.to_numpy()), ["DataFrame", "ndarray"]),
    (lambda: plots.correlation_heatmap(MATRIX.iloc[:2]), ["square", "AP, RR, P"]),
    (
        lambda: plots.correlation_heatmap(MATRIX * 2),
        ["expected correlations in [−1, 1]", "got 2 for AP and AP"],
    ),
    (
        lambda: plots.correlation_heatmap(MATRIX.astype(str) + "x"),
        ["correlations: expected numbers", "1.0x"],
    ),
    (lambda: plots.crp_over_ranks(CURVE), ["2 queries", "qid= (q1, q2)"]),
    (lambda: plots.crp_over_ranks(CURVE, "q7"), ["expected queries (q1, q2), got q7"]),
    (
        lambda: plots.crp_over_ranks({"mine": CURVE.drop(columns="crp")}, "q1"),
        ["mine", "crp", "qid, rank"],
    ),
    (lambda: plots.crp_over_ranks(PERQUERY, "q1"), ["rank, crp, worst, recall_base", "name, qid"]),
]


BAD += [
    (
        lambda: plots.label_intervals(PERQUERY),
        ["result of analysis.missing_labels", "got a DataFrame"],
    ),
    (lambda: plots.label_intervals(INTERVALS, "AP"), ["measures of the result (nDCG@2)", "got AP"]),
    (lambda: plots.weightings(PERQUERY), ["result of analysis.weightings", "got a DataFrame"]),
    (
        lambda: plots.weightings(WEIGHTINGS, ("run 0", "run 9")),
        ["pair", "run 0, run 1", "got run 0, run 9"],
    ),
    (lambda: plots.weightings(WEIGHTINGS, "run 0"), ["pair", "names of two runs", "'run 0'"]),
    (lambda: plots.weightings(WEIGHTINGS, ["run 0"]), ["pair", "names of two runs"]),
    (
        lambda: plots.specification_curve(WEIGHTINGS),
        ["result of analysis.multiverse", "got a Weightings"],
    ),
    (
        lambda: plots.specification_curve(MULTIVERSE, ("run 0", "x")),
        ["pair", "a_long_name_of_run 0", "got run 0, x"],
    ),
]


@pytest.mark.parametrize(("draw", "parts"), BAD)
def test_bad_input(draw, parts):
    with pytest.raises(MultiAspectError) as caught:
        draw()
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    assert not plt.get_fignums()  # no figure is left behind


def test_queries_as_whole_numbers():
    numbered = CURVE.assign(qid=CURVE["qid"].map({"q1": 1, "q2": 2}))
    assert plots.crp_over_ranks(numbered, 1).get_title() == "query 1"


# -- what is drawn --------------------------------------------------------------------------


def test_upper_bounds_of_bounds_alone():
    """They were drawn as boxes of one value each, and their bounds not at all."""
    for ax in (plots.upper_bounds(BOUNDS), plots.upper_bounds(bounds=BOUNDS)):
        assert not [patch for patch in ax.patches if hasattr(patch, "get_path")]
        points, proven = ax.collections
        assert rows_of(points.get_offsets()) == [(1, 0.7), (2, 0.6), (3, 0.5)]
        assert rows_of(proven.get_offsets()) == [(2, 0.9)]
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["q1", "q9", "q10"]
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts == ["best value found", "proven upper bound, where higher"]
    ax = plots.upper_bounds(
        ma.analysis.upper_bound(
            QRELS, ma.TOMA(aspects={"relevance": 2, "trust": ma.Aspect([0, 0.5, 1])})
        ),
        sort="bound",
    )
    assert rows_of(ax.collections[0].get_offsets()) == [
        (n, 1) for n in range(1, len(ax.get_xticks()) + 1)
    ]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("values", "span"),
    [([[1, 0.6], [0.8, 1]], (0, 1)), ([[1, -0.5], [0.25, 1]], (-1, 1)), ([[0.1, -0.5], [0.2, 0]], (-1, 1)),
     ([[1, 1], [1, 1]], (0, 1)), ([[1, np.nan], [0.5, 1]], (0, 1))],
)  # fmt: skip
def test_colours_are_the_same_in_all_figures_of_one_kind(values, span):
    ax = plots.correlation_heatmap(pd.DataFrame(values, index=["a", "b"], columns=["a", "b"]))
    assert ax.images[0].get_clim() == span
    compared = plots.correlation_heatmap(
        pd.DataFrame(values, index=["a", "b"], columns=["a", "b"]), limits=(0, 0.9)
    )
    assert compared.images[0].get_clim() == (0, 0.9)
    labels = [tick.get_text().replace("−", "-") for tick in ax.figure.axes[1].get_yticklabels()]
    assert (float(labels[0]), float(labels[-1])) == span


@pytest.mark.slow
def test_systems_by_measures_of_which_lower_is_better():
    esl = PERQUERY[PERQUERY["measure"].isin(["AP", "RR"])]
    esl = esl.assign(measure=esl["measure"].replace("RR", "ESL"))
    esl.loc[esl["measure"] == "ESL", "value"] = 2 - esl.loc[esl["measure"] == "ESL", "value"]
    ax, plain = plots.systems(esl, "AP", "ESL"), plots.systems(PERQUERY, "AP", "RR")
    assert ax.get_title() == plain.get_title()
    assert {text.get_text() for text in ax.texts} == {text.get_text() for text in plain.texts}
    assert ax.yaxis.get_inverted()
    assert not ax.xaxis.get_inverted()
    assert ax.get_ylabel() == "ESL\nmean over topics, lower is better"


@pytest.mark.slow
def test_systems_by_labels_that_tell_no_direction():
    """For unknown labels, higher is assumed to be better, with a warning, unless a direction is given."""
    effort = PERQUERY.assign(measure=PERQUERY["measure"].replace("RR", "effort"))
    with pytest.warns(ma.MultiAspectWarning, match="plots.systems: effort names no known measure"):
        assert not plots.systems(effort, "AP", "effort").yaxis.get_inverted()
    assert plots.systems(
        effort, "AP", "effort", measures={"AP": "AP", "effort": "ESL"}
    ).yaxis.get_inverted()
    assert plots.systems(
        effort, "AP", "effort", measures={"effort": "lower", "P": "higher"}
    ).yaxis.get_inverted()
    effort.attrs["measures"] = {"effort": "ESL"}
    assert plots.systems(effort, "AP", "effort").yaxis.get_inverted()


def test_plots_have_names_of_their_own():
    assert set(plots.__all__) & {*ma.__all__, *ma.analysis.__all__} <= {"weightings"}


# -- weightings and variants ----------------------------------------------------------------


def assert_legible(figure) -> None:
    """Nothing sticks out, and no text is small or overlaps another of its axis."""
    assert all(text.get_fontsize() >= 6 for text in texts_of(figure))
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    assert min(box.x0, box.y0) > -0.02
    assert box.x1 < figure.get_figwidth() + 0.02
    assert box.y1 < figure.get_figheight() + 0.02
    for ax in figure.axes:
        for labels in (ax.get_yticklabels(), ax.get_xticklabels()):
            boxes = [
                text.get_window_extent()
                for text in labels
                if text.get_visible() and text.get_text()
            ]
            assert not any(
                first.shrunk(0.9, 0.8).overlaps(second.shrunk(0.9, 0.8))
                for first, second in pairwise(boxes)
            )
        if ax.get_ylabel():
            label = ax.yaxis.label.get_window_extent()
            assert not any(
                label.overlaps(text.get_window_extent())
                for text in texts_of(figure)
                if text is not ax.yaxis.label
            )


def test_weightings_of_two_aspects():
    measures = dict.fromkeys(("AP", "RR"), "higher")
    result = ma.analysis.weightings(PERQUERY, measures=measures, n_resamples=5)
    changing = result.pairs[(result.pairs["fraction"] > 0) & (result.pairs["fraction"] < 1)]
    a, b = changing[["a", "b"]].iloc[0]
    ax = plots.weightings(result, (b, a))
    line = ax.lines[0].get_xydata()
    d = MEANS.loc[a] - MEANS.loc[b]
    assert line[[0, -1], 1] == pytest.approx([d["RR"], d["AP"]])
    (text,) = ax.texts
    assert text.get_text() == f"{-d['RR'] / (d['AP'] - d['RR']):.2f}"
    values = PERQUERY.pivot(index=["name", "qid"], columns="measure", values="value")
    interval = ttest_1samp((values.loc[a] - values.loc[b])["RR"], 0).confidence_interval(0.95)
    band = ax.collections[0].get_paths()[0].vertices
    assert (band[band[:, 0] == 0, 1].min(), band[:, 1][band[:, 0] == 0].max()) == pytest.approx(
        tuple(interval)
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["weights of the measure"]
    least = ma.analysis.weightings(
        PERQUERY, measures=measures, n_resamples=5, at_least={"AP": 0.6, "RR": 0.1}
    )
    assert plots.weightings(least, (a, b)).lines[0].get_xdata()[[0, -1]] == pytest.approx(
        [0.6, 0.9]
    )


def test_weightings_of_three_aspects():
    pairs = WEIGHTINGS.pairs
    changing = pairs[(pairs["fraction"] > 0.2) & (pairs["fraction"] < 0.8)].iloc[0]
    ax = plots.weightings(WEIGHTINGS, (changing["a"], changing["b"]))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [
        f"{changing['a']} higher",
        f"{changing['b']} higher",
        "p ≥ 0.05",
        "weights of the measure",
    ]
    assert {text.get_text() for text in ax.texts} == {"AP", "RR", "P"}
    title = " ".join(ax.get_title().split())
    assert (
        title == f"The better of {changing['a']} and {changing['b']} by the weights of AP, RR and P"
    )
    assert ax.lines[-1].get_xydata()[0] == pytest.approx([0.5, np.sqrt(0.75) / 3])
    areas = areas_of(ax)
    assert areas["#9cc9e6"] + areas["#f2b38a"] == pytest.approx(1, rel=0.01)
    assert areas["#9cc9e6"] == pytest.approx(changing["fraction"], abs=0.02)


def areas_of(ax) -> dict[str, float]:
    """The area of each colour as a fraction of the triangle, that of hatches as 'none'."""
    areas = {}
    weights = np.array([(i, j, 60 - i - j) for i in range(60) for j in range(60 - i)]) + 1 / 3
    inner = (
        weights
        / weights.sum(axis=1, keepdims=True)
        @ [[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]]
    )
    for drawn in ax.collections:
        colours, paths = drawn.get_facecolors(), drawn.get_paths()
        for number, path in enumerate(paths):
            colour = (
                colours[number if len(colours) == len(paths) else 0]
                if len(colours)
                else (0, 0, 0, 0)
            )
            name = matplotlib.colors.to_hex(colour) if colour[3] else "none"
            areas[name] = areas.get(name, 0.0) + path.contains_points(inner).mean()
    return areas


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("correction", "baseline"),
    [(None, None), ("holm", None), ("holm", ["run 0", "run 1", "run 2"])],
)
def test_hatched_weightings_are_those_that_are_not_significant(correction, baseline):
    shifted = PERQUERY.assign(
        value=PERQUERY["value"] + PERQUERY["name"].map({"run 0": 0.5}).fillna(0)
    )
    if correction is None:
        result = ma.analysis.weightings(shifted, measures=ASPECTS, baseline=baseline, n_resamples=5)
    else:  # as robustness compares them
        criteria = shifted.assign(
            measure="quality by " + shifted["measure"], value=shifted["value"] / 2
        )
        values = ma.answers.combine(criteria, "CAM")
        result = ma.robustness(
            values, measure="CAM", baseline=baseline, correction=correction
        ).weightings
    assert result.pairs["fraction_significant"].between(0.1, 0.9).any()
    rows = result.pairs[
        result.pairs["fraction_significant"].between(0.1, 0.9) & (result.pairs["fraction"] == 1)
    ]
    for row in rows.head(2).to_dict("records"):
        ax = plots.weightings(result, (row["a"], row["b"]))
        assert 1 - areas_of(ax)["none"] == pytest.approx(row["fraction_significant"], abs=0.03)
        plt.close("all")


def test_fractions_are_bars():
    ax = plots.weightings(WEIGHTINGS)
    assert len(ax.get_yticklabels()) == 28
    widths = [100 * fraction for fraction in WEIGHTINGS.pairs["fraction"]]
    assert [bar.get_width() for bar in ax.patches[:28]] == pytest.approx(widths)
    assert ax.get_yticklabels()[0].get_text() == "run 0 > run 1"
    assert ax.get_xlabel() == "% of weightings, with the 95 % interval over topics"
    many = array_frame(np.random.default_rng(0).random((12, 5, 3)))
    ax = plots.weightings(ma.analysis.weightings(many, measures=ASPECTS, n_resamples=5))
    assert ax.get_xlabel() == "% of weightings, with the 95 % interval over topics (30 of 66 pairs)"
    title = " ".join(ax.get_title().split())
    assert title == "Weightings of AP, RR and P under which the first run is better"
    sampled = ma.analysis.weightings(PERQUERY, ma.MM, measures=ASPECTS, n_resamples=5)
    assert len(plots.weightings(sampled, ("run 0", "run 1")).get_yticklabels()) == 1
    fixed = ma.analysis.weightings(PERQUERY, measures=ASPECTS, n_resamples=5, at_least={"AP": 1})
    assert (
        len(plots.weightings(fixed, ("run 0", "run 1")).get_yticklabels()) == 1
    )  # there is one weighting


def test_lines_are_drawn_only_where_there_is_an_interval():
    shifted = PERQUERY.assign(
        value=PERQUERY["value"] + PERQUERY["name"].map({"run 0": 5.0}).fillna(0)
    )
    chosen = shifted[shifted["name"].isin(["run 0", "run 1", "run 2"])]
    result = ma.analysis.weightings(chosen, measures=ASPECTS, n_resamples=20)
    ax = plots.weightings(result)
    (lines,) = ax.collections
    drawn = [(low[0], high[0]) for low, high in lines.get_segments()]
    expected = result.pairs.query("high > low")
    assert 0 < len(expected) < len(result.pairs)
    assert np.array(drawn) == pytest.approx(100 * expected[["low", "high"]].to_numpy())
    certain = ma.analysis.weightings(chosen, measures=ASPECTS, n_resamples=20, baseline="run 0")
    assert plots.weightings(certain).get_xlabel() == "% of weightings"


@pytest.mark.parametrize("n_aspects", [2, 3])
def test_weightings_of_equal_runs(n_aspects):
    twins = PERQUERY[PERQUERY["name"] == "run 0"]
    twins = pd.concat([twins, twins.assign(name="twin")])
    measures = dict(list(ASPECTS.items())[:n_aspects])
    ax = plots.weightings(ma.analysis.weightings(twins, measures=measures, n_resamples=5))
    assert not {"#9cc9e6", "#f2b38a"} & set(areas_of(ax))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 3.0), (7, 4.5)])
def test_weightings_are_legible(size):
    two = ma.analysis.weightings(
        PERQUERY, measures=dict.fromkeys(("AP", "RR"), "higher"), n_resamples=5
    )
    few = ma.analysis.weightings(PERQUERY, measures=ASPECTS, n_resamples=5, baseline="run 3")
    for result, pair in ((two, ("run 0", "run 1")), (WEIGHTINGS, ("run 2", "run 1")), (few, None)):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        plots.weightings(result, pair, ax=ax)
        assert_legible(figure)


def test_specification_curve():
    pair = tuple(MULTIVERSE.pairs[["a", "b"]].iloc[1])
    ax = plots.specification_curve(MULTIVERSE, pair)
    table = MULTIVERSE.variants
    table = table[(table["a"] == pair[0]) & (table["b"] == pair[1])].sort_values(
        "difference", kind="stable"
    )
    dots = np.vstack([line.get_xydata() for line in ax.lines if line.get_marker() == "o"])
    assert rows_of(dots) == rows_of(np.column_stack([range(48), table["difference"]]))
    (reference,) = (line for line in ax.lines if line.get_marker() == "D")
    at = table["measure"].tolist().index(MULTIVERSE.reference)
    assert reference.get_xydata().tolist() == [[at, table["difference"].iloc[at]]]
    intervals = np.vstack([segment for drawn in ax.collections for segment in drawn.get_segments()])
    assert sorted(intervals[:, 1]) == pytest.approx(sorted([*table["low"], *table["high"]]))
    strip = ax.figure.axes[1]
    assert strip.get_xlabel() == "48 variants"
    labels = [text.get_text() for text in strip.get_yticklabels()]
    assert labels[:3] == ["distance: euclidean", "manhattan", "chebyshev"]
    marks = {tuple(segment.mean(axis=0)) for segment in strip.collections[0].get_segments()}
    for position, measure in enumerate(table["measure"]):
        chosen = {labels[int(row)] for x, row in marks if x == position}
        options = MULTIVERSE.options.loc[measure]
        assert {label.split(": ")[-1] for label in chosen} == {str(option) for option in options}
        assert len(chosen) == len(options)


def test_equal_variants_are_drawn_once():
    """They were drawn side by side; the options of a dot are those of all variants with its values."""
    measures = ma.variants(
        ma.TOMA(aspects=TWO), distance=["euclidean", "manhattan"], cutoff=[5, 10, 20]
    )
    labels = list(measures)
    perquery = array_frame(np.random.default_rng(5).random((2, 6, 6)), labels)
    first, second = (perquery["measure"] == labels[row] for row in (1, 2))
    perquery.loc[second, "value"] = perquery.loc[first, "value"].to_numpy()
    result = ma.analysis.multiverse(
        perquery, measures=measures, reference=labels[2], correction=None
    )
    assert result.same_as == {labels[2]: labels[1]}
    ax = plots.specification_curve(result)
    strip = ax.figure.axes[1]
    assert strip.get_xlabel() == "5 distinct of 6 variants"
    assert len(ax.lines[0].get_xdata()) + sum(len(line.get_xdata()) for line in ax.lines[1:-2]) == 5
    (at,) = (int(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "D")
    names = [text.get_text().split(": ")[-1] for text in strip.get_yticklabels()]
    marks = [tuple(segment.mean(axis=0)) for segment in strip.collections[0].get_segments()]
    assert [names[int(row)] for position, row in marks if position == at] == [
        "euclidean",
        "10",
        "20",
    ]


@pytest.mark.parametrize("width", [None, 3.3])
def test_the_legend_of_a_specification_curve_is_off_its_bars(width):
    """It is beside them in a figure of its own, and above them in a column of a paper."""
    ax = None if width is None else plt.subplots(figsize=(width, 4), layout="constrained")[1]
    ax = plots.specification_curve(MULTIVERSE, ax=ax)
    ax.figure.draw_without_rendering()
    legend, bars = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= bars.x1 if width is None else legend.y0 >= bars.y1
    assert ax.figure.bbox.x1 >= legend.x1


def test_weightings_have_the_whole_names_where_there_is_room():
    long = PERQUERY.assign(name="a_long_name_of_" + PERQUERY["name"])
    result = ma.analysis.weightings(long, measures=ASPECTS, n_resamples=5)
    assert (
        plots.weightings(result).get_yticklabels()[0].get_text()
        == "a_long_name_of_run 0 > a_long_name_of_run 1"
    )
    pair = ("a_long_name_of_run 1", "a_long_name_of_run 0")
    legend = plots.weightings(result, pair).get_legend()
    assert {f"{name} higher" for name in pair} <= {text.get_text() for text in legend.get_texts()}
    two = ma.analysis.weightings(
        long, measures=dict.fromkeys(("AP", "RR"), "higher"), n_resamples=5
    )
    assert (
        plots.weightings(two, pair).get_ylabel() == "a_long_name_of_run 0\n− a_long_name_of_run 1"
    )
    _, ax = plt.subplots(figsize=(3.3, 6), layout="constrained")
    assert "…" in plots.weightings(result, ax=ax).get_yticklabels()[0].get_text()


@pytest.mark.slow
@pytest.mark.parametrize("n_variants", [12, 48, 96])
@pytest.mark.parametrize("size", [(3.3, 3.6), (7, 4.6)])
def test_specification_curves_are_legible(size, n_variants):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    plots.specification_curve(multiverse_of(n_variants), ax=ax)
    assert_legible(figure)


# -- search_front ---------------------------------------------------------------------------


def test_the_front_of_a_search():
    ax = plots.search_front(FRONT, "trust", "relevance")
    assert rows_of(offsets(ax)) == rows_of(SETTINGS[["trust", "relevance"]].dropna())
    assert [text.get_text() for text in ax.texts] == ["0", "1", "3"]
    (line,) = ax.lines
    assert rows_of(np.transpose(line.get_data())) == [(0.1, 0.5), (0.2, 0.45), (0.3, 0.4)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "dominated",
        "on the front",
    ]


def test_the_line_of_a_front_with_more_metrics_connects_the_best_on_two():
    # The third setting is on the front by its cost only.
    front = ma.pareto_front(SETTINGS, ["relevance", "trust", "cost"])
    ax = plots.search_front(front, "trust", "relevance")
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3"]
    (line,) = ax.lines
    assert rows_of(np.transpose(line.get_data())) == [(0.1, 0.5), (0.2, 0.45), (0.3, 0.4)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["on the front"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SETTINGS, "trust", "relevance"), "front: expected the DataFrame of pareto_front"),
        ((FRONT, "trust", "mood"), "expected the DataFrame of pareto_front"),
        ((FRONT, "trust", "trust"), "expected two different metrics of cost, relevance, trust"),
        (
            (FRONT, "alpha", "trust"),
            "two different metrics of cost, relevance, trust, got x='alpha'",
        ),
        ((3, "relevance", "trust"), "front: expected the DataFrame of pareto_front"),
    ],
    ids=["table", "unknown", "the same", "parameter", "number"],
)
def test_what_is_no_front(arguments, message):
    with pytest.raises(MultiAspectError, match=message):
        plots.search_front(*arguments)


def test_axes_are_given_by_name():
    for name in plots.__all__:
        *_, last = inspect.signature(getattr(plots, name)).parameters.values()
        assert last.name == "ax"
        assert last.kind is last.KEYWORD_ONLY


def test_completion_shows_public_names_only():
    assert dir(plots) == plots.__all__
    assert dir(ma) == sorted(ma.__all__)
    assert all(hasattr(ma, name) for name in dir(ma))
    with pytest.raises(AttributeError, match="has no attribute 'names'"):
        _ = ma.names


def test_cells_of_explanations():
    """Their shades are positions on the scale, or fractions of the highest class; unjudged ones are hatched."""
    _, strip = plots.explanation(EXPLAINED).figure.axes
    shades = [
        [None, 1, 0, 0, 0.5],
        [None, 0.5, 1, None, 0],
        [None, 1, 0.5, 0, 0.25],
    ]  # new d1 d2 d4 d3
    assert strip.images[0].get_array().tolist() == shades
    labels = {
        (text.get_position()[1], text.get_position()[0]): text.get_text() for text in strip.texts
    }
    assert labels == {
        (0, 1): "2", (0, 2): "0", (0, 3): "0", (0, 4): "1", (1, 1): "0.5", (1, 2): "1", (1, 4): "0",
        (2, 1): "4", (2, 2): "2", (2, 3): "0", (2, 4): "1",
    }  # fmt: skip
    hatched = [
        (patch.get_y() + 0.5, patch.get_x() + 0.5) for patch in strip.patches if patch.get_hatch()
    ]
    assert sorted(hatched) == [(0, 0), (1, 0), (1, 3), (2, 0)]


def test_many_ranks_of_explanations_have_no_texts():
    docnos = [f"d{number}" for number in range(200)]
    judged = {"q1": {docno: {"relevance": 1} for docno in docnos}}
    run = {"q1": {docno: -float(rank) for rank, docno in enumerate(docnos)}}
    explained = ma.On(aspects={"relevance": 1}).explain(run, judged, "q1")
    _, strip = plots.explanation(explained, cutoff=150).figure.axes
    assert strip.images[0].get_array().shape == (1, 150)
    assert not strip.texts
    assert len(strip.get_xticklabels()) < 25


def test_explanations_name_unjudged_cells_only_if_there_are_some():
    measure = ma.TOMA(aspects={"relevance": 2, "trust": 1})
    judged = {"q1": {"d1": {"relevance": 2, "trust": 0}, "d2": {"relevance": 1, "trust": 1}}}
    for docs, entries in ((("d1", "d2"), []), (("d1", "new"), ["unjudged"])):
        ax = plots.explanation(
            measure.explain({"q1": {doc: -i for i, doc in enumerate(docs)}}, judged, "q1")
        )
        best, *others = [text.get_text() for text in ax.get_legend().get_texts()]
        assert best.startswith("best ranking")
        assert others == entries


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["systems", "upper_bounds", "specification_curve"])
def test_titles_are_above_legends(name):
    """Also those that are set later."""
    ax = PLOTS[name]()
    ax.set_title("A title")
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 1
