"""Figures: what is drawn is what the data say; input is checked before a figure is made."""

from __future__ import annotations

import doctest
import inspect
import io
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
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


def strings(texts) -> list[str]:
    """The strings of texts, such as the labels of an axis."""
    return [text.get_text() for text in texts]


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


@cache
def draw_on_dark_background(name):
    """Return the figure of a plot, which several tests read."""
    with plt.style.context("dark_background"):
        return PLOTS[name]().figure


@pytest.mark.every(2)
@pytest.mark.parametrize("name", PLOTS)
def test_texts_are_large_enough(name):
    texts = texts_of(draw_on_dark_background(name))
    assert texts
    smallest_size_that_publishers_accept = 6
    assert min(text.get_fontsize() for text in texts) >= smallest_size_that_publishers_accept


@pytest.mark.every(2)
@pytest.mark.parametrize("name", PLOTS)
def test_figures_can_be_read_also_on_a_dark_background(name):
    """Texts and lines are light, unless the plot draws them on light cells or bars."""
    figure = draw_on_dark_background(name)
    artists = []
    if name not in ("correlation_heatmap", "explanation"):  # with texts on light cells
        artists += texts_of(figure)
    if name != "weightings":  # with lines on light bars
        lines = figure.findobj(matplotlib.lines.Line2D)
        artists += [line for line in lines if line.get_linestyle() != "None"]
        artists += figure.findobj(matplotlib.collections.LineCollection)
    for artist in artists:
        for red, green, blue, _opacity in matplotlib.colors.to_rgba_array(artist.get_color()):
            assert max(red, green, blue) > 0.4


@pytest.mark.parametrize("name", DRAW)
def test_missing_matplotlib(name, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot", "matplotlib.axes"):
        monkeypatch.setitem(sys.modules, module, None)  # importing it raises an ImportError
    with pytest.raises(ImportError, match=r'pip install "pt-multiaspect\[plots\]"') as caught:
        DRAW[name]()
    has_host_name = "." in str(caught.value)  # such as that of a package index
    assert not has_host_name


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


def label_of_move(move: float) -> str:
    """How the label of a system says by how many ranks it moves up from one measure to the other."""
    if move == 0:
        return "="
    if move > 0:
        return f"↑{move:g}"
    return f"↓{-move:g}"


def test_systems():
    """A point per system, by its means; the title says how alike the measures rank them."""
    ax = plots.systems(PERQUERY.sample(frac=1, random_state=1), "AP", "RR", label=3)
    assert rows_of(offsets(ax)) == rows_of(MEANS[["AP", "RR"]])
    tau = kendalltau(MEANS["AP"], MEANS["RR"]).statistic
    assert ax.get_title() == f"Kendall’s τ-b = {tau:.3f} (8 systems, 6 topics)"
    assert ax.get_xlabel().startswith("AP")
    assert ax.get_ylabel().startswith("RR")
    assert strings(ax.get_legend().get_texts())[-1] == "other systems"


def test_labels_of_systems():
    """The best system and those that move most are named, with their moves, such as "run 3 ↑2"."""
    ax = plots.systems(PERQUERY.sample(frac=1, random_state=1), "AP", "RR", label=3)
    ranks = MEANS.rank(ascending=False)
    moves = ranks["AP"] - ranks["RR"]
    best = MEANS["AP"].idxmax()
    assert best == MEANS["RR"].idxmax()

    names = []
    for text in ax.texts:
        name, move = text.get_text().rsplit(" ", 1)
        names.append(name)
        assert move == label_of_move(moves[name])
        assert text.xy == pytest.approx((MEANS.loc[name, "AP"], MEANS.loc[name, "RR"]))

    first, *others = names
    assert first == best
    largest_moves = moves.drop(best).abs().nlargest(2)
    assert moves[others].abs().tolist() == largest_moves.tolist()


def forty_systems() -> pd.DataFrame:
    """Random values of the measures x and y; run 7 is the highest on x, run 8 the lowest on y."""
    values = np.random.default_rng(5).random((40, 6, 2))  # systems, topics, measures
    values[7, :, 0] = 2.0
    values[8, :, 1] = -1.0
    return array_frame(values, ["x", "y"])


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_of_many_systems_the_baseline_and_the_best_are_named(direction):
    perquery = forty_systems()  # run 7 is the best on x; run 8 is the lowest on y
    measures = {"x": "higher", "y": direction}

    ax = plots.systems(perquery, "x", "y", baseline="run 20", measures=measures)

    means = perquery.pivot_table(index="name", columns="measure", values="value")
    best_on_y = "run 8" if direction == "lower" else means["y"].idxmax()
    names = [text.rsplit(" ", 1)[0] for text in strings(ax.texts)]  # without the move
    assert names[:3] == ["run 20", "run 7", best_on_y]
    assert strings(ax.get_legend().get_texts())[0] == "baseline"
    baseline, *_others = ax.collections
    assert rows_of(baseline.get_offsets()) == rows_of([means.loc["run 20"]])
    assert len(offsets(ax)) == 40
    assert faults_of_labels(ax) == []


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_without_labels_the_baseline_has_its_mark(direction):
    measures = {"x": "higher", "y": direction}
    ax = plots.systems(forty_systems(), "x", "y", baseline="run 20", label=0, measures=measures)
    assert not ax.texts
    baseline, *_others = ax.collections
    assert len(baseline.get_offsets()) == 1


def test_the_baseline_of_systems_must_be_one_of_them():
    with pytest.raises(MultiAspectError, match=r"baseline.*run 99"):
        plots.systems(
            forty_systems(), "x", "y", baseline="run 99", measures={"x": "higher", "y": "higher"}
        )


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
    """Eighteen of twenty systems are at one place, where only some of their names have room."""
    values = 0.5 + np.random.default_rng(4).normal(0, 1e-9, (20, 2, 2))
    values[0], values[1] = 0, 1  # runs 0 and 1 are elsewhere
    names = [f"run {n}" for n in range(20)]

    ax = plots.systems(array_frame(values), "AP", "RR", label=names)

    assert faults_of_labels(ax) == []  # overlapping labels, for example
    n_named = len(ax.texts)
    assert 2 < n_named < 20
    assert ax.get_title().endswith(f"(20 systems, 2 topics, {20 - n_named} names omitted)")
    first_labels = [text.rsplit(" ", 1)[0] for text in strings(ax.texts)][:3]
    assert first_labels == ["run 0", "run 1", "run 2"]  # the first have preference


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
    """A panel per measure has a row per run, the best at the top, with its mean and interval."""
    shuffled = PERQUERY.sample(frac=1, random_state=1)

    ax = plots.values(shuffled, ["AP", "RR", "P"], ci=0.9)

    names = strings(ax.get_yticklabels())
    assert names == MEANS["AP"].sort_values(ascending=False).index.tolist()
    panels = panels_of(ax.figure)
    assert list(panels) == ["AP", "RR", "P"]
    expected = ma.aggregate(PERQUERY, ci=0.9).set_index("name")
    for measure, panel in panels.items():
        means, ends = means_of(panel), ends_of(panel)  # by row
        for row, name in enumerate(names):
            run = expected.loc[name]
            assert means[row] == pytest.approx(run[measure])
            assert ends[row] == pytest.approx(
                (run[f"{measure} 90% low"], run[f"{measure} 90% high"])
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
    """They are drawn around the mean of the baseline, which has a line and no interval."""
    ax = plots.values(PERQUERY, {"RR": "lower", "AP": "higher"}, baseline="run 3", ci=ci)

    names = strings(ax.get_yticklabels())
    tests = compare_with_baseline(PERQUERY, "run 3", alpha=1 - ci).set_index(["measure", "name"])
    for measure, panel in panels_of(ax.figure).items():
        mean_of_baseline = MEANS.loc["run 3", measure]
        line = panel.lines[-1]
        assert line.get_xdata() == pytest.approx([mean_of_baseline, mean_of_baseline])
        means, ends = means_of(panel), ends_of(panel)  # by row
        for row, name in enumerate(names):
            assert means[row] == pytest.approx(MEANS.loc[name, measure])
            if name == "run 3":
                assert row not in ends
                continue
            low, high = ends[row]
            test = tests.loc[(measure, name)]
            assert low - mean_of_baseline == pytest.approx(test["low"])
            assert high - mean_of_baseline == pytest.approx(test["high"])
    title = " ".join(ax.get_title(loc="left").split())
    interval = f"simultaneous {100 * ci:g} % interval"
    assert title == f"mean, with the {interval} of its difference from run 3"
    assert strings(ax.get_legend().get_texts()) == ["baseline"]


def test_values_have_at_most_one_baseline():
    """Intervals of differences from several baselines cannot be drawn around one mean."""
    assert plots.values(PERQUERY, {"RR": "lower", "AP": "higher"}, baseline=["run 3"])
    expected = "baseline: expected one run, got run 3, run 1"
    with pytest.raises(ma.MultiAspectError, match=expected):
        plots.values(PERQUERY, {"RR": "lower", "AP": "higher"}, baseline=["run 3", "run 1"])


def test_values_of_sums_have_no_intervals_of_differences():
    """NumRelRet is a sum over topics, of whose differences there is no test."""
    topics = ["q0", "q1", "q2", "q3", "q4"]
    qrels = {
        qid: {f"d{d}": {"relevance": (d + number) % 2} for d in range(6)}
        for number, qid in enumerate(topics)
    }
    runs: dict[str, dict] = {"short": {}, "long": {}}
    for number, qid in enumerate(topics):  # each topic has one document more than the one before
        runs["short"][qid] = {f"d{d}": 1.0 for d in range(1 + number)}
        runs["long"][qid] = {f"d{d}": 1.0 for d in range(2 + number)}
    values = ma.evaluate(runs, qrels, ["NumRel", "NumRelRet", "P@2"], progress=False)

    with_baseline = panels_of(plots.values(values, ["NumRelRet", "P@2"], baseline="short").figure)
    assert ends_of(with_baseline["NumRelRet"]) == {}
    assert len(ends_of(with_baseline["P@2"])) == 1  # of the run long

    alone = panels_of(plots.values(values, ["NumRelRet", "P@2"]).figure)
    assert ends_of(alone["NumRelRet"])


def test_values_of_two_runs_have_one_interval_of_their_difference():
    two = PERQUERY[PERQUERY["name"].isin(["run 1", "run 2"])]
    ax = plots.values(two, ["AP"], baseline="run 1")
    assert len(ends_of(ax)) == 1
    assert "simultaneous" not in ax.get_title(loc="left")  # which it would be with others


def test_values_of_one_run_have_the_interval_of_its_mean():
    one = PERQUERY[PERQUERY["name"] == "run 1"]
    assert len(ends_of(plots.values(one, ["AP"], baseline="run 1"))) == 1


def test_values_without_intervals():
    two = PERQUERY[PERQUERY["name"].isin(["run 1", "run 2"])]
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


def boxes_of(ax) -> list:
    """The boxes of a box plot."""
    return [patch for patch in ax.patches if hasattr(patch, "get_path")]


def test_upper_bounds():
    """Each topic has a box of the values of its strategies, the best value found, and its bound."""
    # The topics have four strategies; of q9, the bound 0.9 is above the value 0.6.
    ax = plots.upper_bounds(IDEAL, bounds=BOUNDS, measure=ma.CAM @ 10)

    topics = ["q1", "q9", "q10"]
    assert strings(ax.get_xticklabels()) == topics
    assert ax.get_ylabel() == "CAM@10"
    boxes = boxes_of(ax)
    assert len(boxes) == 3
    for position, (topic, box) in enumerate(zip(topics, boxes, strict=True), 1):
        values = IDEAL.loc[IDEAL["qid"] == topic, "value"]
        extent = box.get_path().get_extents()
        assert (extent.x0 + extent.x1) / 2 == pytest.approx(position)
        assert extent.y0 == pytest.approx(values.quantile(0.25))
        assert extent.y1 == pytest.approx(values.quantile(0.75))
        heights = []  # of the ends of whiskers, caps and the median of this box
        for line in ax.lines:
            heights += [y for x, y in line.get_xydata() if abs(x - position) < 0.5]
        assert min(heights) == pytest.approx(values.min())
        assert max(heights) == pytest.approx(values.max())
    found, proven = ax.collections
    assert rows_of(found.get_offsets()) == [(1, 0.7), (2, 0.6), (3, 0.5)]
    assert rows_of(proven.get_offsets()) == [(2, 0.9)]
    assert len(ax.get_legend().get_texts()) == 3


def test_upper_bounds_may_be_sorted_by_bound():
    # The bounds of q9, q1 and q10 are 0.9, 0.7 and 0.5.
    ax = plots.upper_bounds(IDEAL, bounds=BOUNDS, sort="bound")
    assert strings(ax.get_xticklabels()) == ["q9", "q1", "q10"]


def test_upper_bounds_without_bounds_are_sorted_by_the_highest_value():
    ax = plots.upper_bounds(IDEAL.rename(columns={"qid": "query_id"}), sort="bound")
    highest = IDEAL.groupby("qid")["value"].max().sort_values(ascending=False)
    assert strings(ax.get_xticklabels()) == highest.index.tolist()
    assert not ax.collections


def test_a_bound_that_is_reached_has_no_mark_of_its_own():
    reached = BOUNDS.assign(bound=BOUNDS["value"] + 1e-9)
    ax = plots.upper_bounds(IDEAL, bounds=reached)
    (found,) = ax.collections
    assert rows_of(found.get_offsets()) == [(1, 0.7), (2, 0.6), (3, 0.5)]


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
    values = np.random.default_rng(1).random(66) / 2
    bounds = bound_frame(topics, values, np.random.default_rng(2).random(66) / 2 + 0.5)

    ax = plots.upper_bounds(bounds=bounds, sort=sort)

    assert not ax.get_xticklabels()
    assert ax.get_xlabel() == label
    in_order = bounds if sort == "name" else bounds.sort_values("bound", ascending=False)
    found, *_proven = ax.collections
    points = sorted(found.get_offsets().tolist())  # from left to right
    assert [x for x, _ in points] == list(range(1, 67))
    assert [y for _, y in points] == in_order["value"].tolist()


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
    """A curve per measure has the levels of the 28 pairs of eight runs, and the limit is a line."""
    ax = plots.asl_curves(POWER)

    table, levels = POWER.table, POWER.curve()
    *curves, limit = ax.lines
    for line, measure in zip(curves, table["measure"], strict=True):
        assert line.get_xdata().tolist() == list(range(1, 28 + 1))
        levels_of_measure = levels.loc[levels["measure"] == measure, "asl"]
        assert line.get_ydata().tolist() == levels_of_measure.tolist()
    assert set(limit.get_ydata()) == {0.05}
    names = [f"{row.measure} ({100 * row.power:.1f} %)" for row in table.itertuples()]
    assert strings(ax.get_legend().get_texts()) == [*names, "α = 0.05"]


def test_asl_curves_differ_without_colours():
    ax = plots.asl_curves(POWER)  # of three measures, and the limit
    styles = {(line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(styles) == 4
    assert len({line.get_color() for line in ax.lines}) > 1


def test_axes_of_asl_curves():
    ax = plots.asl_curves(POWER)
    assert ax.get_yscale() == "log"
    bottom, top = ax.get_ylim()
    levels = POWER.curve()["asl"]
    lowest = levels[levels > 0].min()
    assert bottom <= lowest < 10 * bottom
    assert top == 1

    ax = plots.asl_curves(POWER, n_pairs=5, top=0.2)
    *curves, _limit = ax.lines
    assert [len(line.get_xdata()) for line in curves] == [5, 5, 5]
    assert ax.get_ylim() == (bottom, 0.2)


@pytest.mark.parametrize(
    ("top", "limits"),
    [
        (None, (1e-4, 1)),
        (0.1, (1e-4, 0.1)),
        (1e-5, (1e-6, 1e-5)),  # at least a power of ten is shown
    ],
)
def test_axes_of_tiny_levels(top, limits):
    """The axis ends at 1e-4 where all levels are lower, unless its top is lower."""
    differences = np.arange(4)[:, None, None]  # of four runs, much larger than the noise
    values = differences + np.random.default_rng(1).normal(0, 0.01, (4, 9, 1))
    power = discriminative_power(array_frame(values, ["AP"]), test="t")
    assert power.curve()["asl"].max() < 1e-5
    ax = plots.asl_curves(power, top=top)
    assert ax.get_ylim() == pytest.approx(limits)


def values_of_long_names() -> pd.DataFrame:
    """Values of fifteen measures, whose long names differ in a parameter of the base."""
    measures = [LONG.replace("'nDCG'", f"'RBP(p=0.{n:02})'") for n in range(1, 16)]
    return array_frame(np.random.default_rng(2).random((4, 5, 15)), measures)


def draw_long_names(name: str):
    perquery = values_of_long_names()
    if name == "asl_curves":
        return plots.asl_curves(discriminative_power(perquery, test="t", correction="holm"))
    if name == "correlation_heatmap":
        return plots.correlation_heatmap(correlation(perquery))
    first, second, *_ = perquery["measure"].unique()
    return plots.systems(perquery, first, second)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asl_curves", "correlation_heatmap", "systems"])
def test_many_measures_with_long_names_leave_room_for_the_plot(name):
    ax = draw_long_names(name)
    figure = ax.figure
    figure.draw_without_rendering()
    box = figure.get_tightbbox(figure.canvas.get_renderer())  # in inches
    assert box.x1 < figure.get_figwidth() + 0.05
    assert box.y0 > -0.05
    width = ax.get_window_extent().width / figure.dpi
    assert width > 0.4 * figure.get_figwidth()


@pytest.mark.slow
def test_many_measures_with_long_names_are_told_apart():
    curves = draw_long_names("asl_curves")  # fifteen measures, and the limit
    legend = strings(curves.get_legend().get_texts())
    assert len(set(legend)) == 16
    assert "before holm" in legend[-1]
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in curves.lines}
    assert len(styles) == 16
    heatmap = draw_long_names("correlation_heatmap")
    assert len(set(strings(heatmap.get_xticklabels()))) == 15


@pytest.mark.slow
def test_long_names_of_measures_are_divided_into_lines():
    lines = draw_long_names("systems").get_xlabel().split("\n")
    assert max(map(len, lines)) < 70


# -- correlations ---------------------------------------------------------------------------


def test_correlation_heatmap():
    ax = plots.correlation_heatmap(MATRIX, title="Kendall’s τ-b")  # of AP, RR and P
    (image,) = ax.images
    assert np.asarray(image.get_array()) == pytest.approx(MATRIX.to_numpy())
    assert image.get_clim() == (0, 1)
    assert ax.get_title() == "Kendall’s τ-b"
    assert strings(ax.get_yticklabels()) == ["AP", "RR", "P"]
    numbers = [float(text.replace("−", "-")) for text in strings(ax.texts)]
    assert numbers == [round(value, 2) for value in MATRIX.to_numpy().ravel()]
    _, colour_bar = ax.figure.axes
    assert colour_bar.get_ylim() == (0, 1)


def luminance(colour) -> float:
    """The relative luminance of a colour, as the Web Content Accessibility Guidelines define it."""
    parts = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.slow
def test_values_are_readable():
    """The contrast of a number and its cell is at least 4.5, as the same guidelines ask."""
    values = np.linspace(-1, 1, 81).reshape(9, 9)
    names = list("abcdefghi")

    ax = plots.correlation_heatmap(pd.DataFrame(values, index=names, columns=names))

    (image,) = ax.images
    for text, value in zip(ax.texts, values.ravel(), strict=True):
        of_text = luminance(text.get_color())
        of_cell = luminance(image.cmap(image.norm(value)))
        darker, lighter = sorted([of_text, of_cell])
        contrast = (lighter + 0.05) / (darker + 0.05)
        assert contrast >= 4.5


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
    """Each run has a curve of CRP over ranks, a mark at its minimum, and the worst ranking's curve."""
    other = ma.crp_curve({"q1": {"d3": 2.0, "d1": 1.0}}, QRELS)

    ax = plots.crp_over_ranks({"mine": CURVE, "other": other}, "q1")

    frames = [curve[curve["qid"] == "q1"] for curve in (CURVE, other)]
    *curves, zero, recall_base, worst, other_worst = ax.lines
    for line, minimum, frame in zip(curves, ax.collections, frames, strict=True):
        assert line.get_xdata().tolist() == frame["rank"].tolist()
        assert line.get_ydata().tolist() == frame["crp"].tolist()
        lowest = frame.loc[frame["crp"].idxmin()]
        assert minimum.get_offsets()[0].tolist() == [lowest["rank"], lowest["crp"]]
    drawn_worst = {tuple(worst.get_ydata()), tuple(other_worst.get_ydata())}
    assert drawn_worst == {tuple(frame["worst"]) for frame in frames}
    assert set(zero.get_ydata()) == {0}
    assert set(recall_base.get_xdata()) == {2}
    assert strings(ax.texts) == ["R = 2"]
    legend = strings(ax.get_legend().get_texts())
    assert legend == ["mine", "other", "minimum", "worst ranking"]
    assert ax.get_title() == "query q1"
    ax.figure.draw_without_rendering()
    ranks = [tick.get_text() for tick in ax.get_xticklabels() if tick.get_visible()]
    assert all(rank.isdigit() for rank in ranks)


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


@pytest.mark.parametrize("argument", ["first", "bounds="])
def test_upper_bounds_of_bounds_alone(argument):
    """Without values of strategies, there are no boxes, but the values found and the bounds."""
    # The values of q1, q9 and q10 are 0.7, 0.6 and 0.5; the bound of q9 is 0.9, the others reached.
    ax = plots.upper_bounds(BOUNDS) if argument == "first" else plots.upper_bounds(bounds=BOUNDS)
    assert boxes_of(ax) == []
    found, proven = ax.collections
    assert rows_of(found.get_offsets()) == [(1, 0.7), (2, 0.6), (3, 0.5)]
    assert rows_of(proven.get_offsets()) == [(2, 0.9)]
    assert strings(ax.get_xticklabels()) == ["q1", "q9", "q10"]
    legend = strings(ax.get_legend().get_texts())
    assert legend == ["best value found", "proven upper bound, where higher"]


def test_upper_bounds_of_toma_are_1():
    toma = ma.TOMA(aspects={"relevance": 2, "trust": ma.Aspect([0, 0.5, 1])})
    ax = plots.upper_bounds(ma.analysis.upper_bound(QRELS, toma), sort="bound")
    n_topics = len(ax.get_xticks())
    found, *_ = ax.collections
    assert rows_of(found.get_offsets()) == [(position, 1) for position in range(1, n_topics + 1)]


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
    """If the values of ESL are 2 − RR, both rank systems alike, and the plot has the same labels."""
    perquery = PERQUERY[PERQUERY["measure"].isin(["AP", "RR"])].copy()
    is_rr = perquery["measure"] == "RR"
    perquery.loc[is_rr, "value"] = 2 - perquery.loc[is_rr, "value"]
    perquery.loc[is_rr, "measure"] = "ESL"

    of_rr = plots.systems(PERQUERY, "AP", "RR")
    of_esl = plots.systems(perquery, "AP", "ESL")

    assert of_esl.get_title() == of_rr.get_title()
    assert set(strings(of_esl.texts)) == set(strings(of_rr.texts))
    assert of_esl.yaxis.get_inverted()
    assert not of_esl.xaxis.get_inverted()
    assert of_esl.get_ylabel() == "ESL\nmean over topics, lower is better"


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
    """The difference of two runs is a line over the weight of AP, with a band of its interval."""
    measures = {"AP": "higher", "RR": "higher"}
    result = ma.analysis.weightings(PERQUERY, measures=measures, n_resamples=5)
    changing = result.pairs[(result.pairs["fraction"] > 0) & (result.pairs["fraction"] < 1)]
    a, b = changing[["a", "b"]].iloc[0]

    ax = plots.weightings(result, (b, a))  # in either order

    difference = MEANS.loc[a] - MEANS.loc[b]
    points = ax.lines[0].get_xydata()
    (_, at_weight_0), (_, at_weight_1) = points[0], points[-1]
    assert at_weight_0 == pytest.approx(difference["RR"])
    assert at_weight_1 == pytest.approx(difference["AP"])
    # The text has the weight w at which w AP + (1 - w) RR is 0.
    weight_of_ap = -difference["RR"] / (difference["AP"] - difference["RR"])
    assert strings(ax.texts) == [f"{weight_of_ap:.2f}"]

    values = PERQUERY.pivot(index=["name", "qid"], columns="measure", values="value")
    differences_of_rr = (values.loc[a] - values.loc[b])["RR"]
    low, high = ttest_1samp(differences_of_rr, 0).confidence_interval(0.95)
    (band,) = ax.collections[0].get_paths()
    ends_at_weight_0 = [y for x, y in band.vertices if x == 0]
    assert min(ends_at_weight_0) == pytest.approx(low)
    assert max(ends_at_weight_0) == pytest.approx(high)
    assert strings(ax.get_legend().get_texts()) == ["weights of the measure"]


def test_weightings_of_two_aspects_are_drawn_where_least_weights_allow():
    measures = {"AP": "higher", "RR": "higher"}
    least = {"AP": 0.6, "RR": 0.1}
    result = ma.analysis.weightings(PERQUERY, measures=measures, n_resamples=5, at_least=least)
    line, *_ = plots.weightings(result, ("run 0", "run 1")).lines
    weights_of_ap = line.get_xdata()
    assert weights_of_ap[0] == pytest.approx(0.6)
    assert weights_of_ap[-1] == pytest.approx(1 - 0.1)


def test_weightings_of_three_aspects():
    """Weightings are a triangle, whose parts have the colour of the run that is better there."""
    pairs = WEIGHTINGS.pairs
    pair = pairs[pairs["fraction"].between(0.2, 0.8, inclusive="neither")].iloc[0]
    a, b = pair["a"], pair["b"]

    ax = plots.weightings(WEIGHTINGS, (a, b))

    legend = strings(ax.get_legend().get_texts())
    assert legend == [f"{a} higher", f"{b} higher", "p ≥ 0.05", "weights of the measure"]
    assert set(strings(ax.texts)) == {"AP", "RR", "P"}
    title = " ".join(ax.get_title().split())
    assert title == f"The better of {a} and {b} by the weights of AP, RR and P"
    # Equal weights are at the centre of a triangle with sides of length 1.
    height = np.sqrt(0.75)
    (marked,) = ax.lines[-1].get_xydata()
    assert marked == pytest.approx([0.5, height / 3])
    areas = areas_of(ax)
    assert areas[FIRST_IS_BETTER] + areas[SECOND_IS_BETTER] == pytest.approx(1, rel=0.01)
    assert areas[FIRST_IS_BETTER] == pytest.approx(pair["fraction"], abs=0.02)


#: The colours of the parts of a triangle of weightings under which either run is better.
FIRST_IS_BETTER, SECOND_IS_BETTER = "#9cc9e6", "#f2b38a"


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
    """What is not hatched is the fraction of weightings under which the difference is significant."""
    is_run_0 = PERQUERY["name"] == "run 0"
    perquery = PERQUERY.assign(value=PERQUERY["value"] + 0.5 * is_run_0)
    if correction is None:
        result = ma.analysis.weightings(
            perquery, measures=ASPECTS, baseline=baseline, n_resamples=5
        )
    else:  # weightings of criteria, whose values are at most 1, are corrected by robustness
        criteria = perquery.assign(
            measure="quality by " + perquery["measure"], value=perquery["value"] / 2
        )
        values = ma.answers.combine(criteria, "CAM")
        result = ma.robustness(
            values, measure="CAM", baseline=baseline, correction=correction
        ).weightings

    is_partly_significant = result.pairs["fraction_significant"].between(0.1, 0.9)
    assert is_partly_significant.any()
    has_one_better_run = result.pairs["fraction"] == 1
    for row in result.pairs[is_partly_significant & has_one_better_run].head(2).to_dict("records"):
        ax = plots.weightings(result, (row["a"], row["b"]))
        hatched = areas_of(ax)["none"]
        assert 1 - hatched == pytest.approx(row["fraction_significant"], abs=0.03)
        plt.close("all")


def test_fractions_are_bars():
    """Without a pair, each pair of runs has a bar: 28 of the eight runs."""
    ax = plots.weightings(WEIGHTINGS)
    names = strings(ax.get_yticklabels())
    assert len(names) == 28
    assert names[0] == "run 0 > run 1"
    bars = ax.patches[:28]
    percentages = 100 * WEIGHTINGS.pairs["fraction"]
    assert [bar.get_width() for bar in bars] == pytest.approx(percentages.tolist())
    assert ax.get_xlabel() == "% of weightings, with the 95 % interval over topics"


def test_of_many_pairs_thirty_have_bars():
    many = array_frame(np.random.default_rng(0).random((12, 5, 3)))  # 12 · 11 / 2 = 66 pairs
    ax = plots.weightings(ma.analysis.weightings(many, measures=ASPECTS, n_resamples=5))
    assert ax.get_xlabel() == "% of weightings, with the 95 % interval over topics (30 of 66 pairs)"
    title = " ".join(ax.get_title().split())
    assert title == "Weightings of AP, RR and P under which the first run is better"


@pytest.mark.parametrize(
    ("measure", "options"),
    [(ma.MM, {}), (ma.CAM, {"at_least": {"AP": 1}})],
    ids=["no weighted sum", "one weighting"],
)
def test_pairs_without_a_triangle_have_a_bar(measure, options):
    result = ma.analysis.weightings(PERQUERY, measure, measures=ASPECTS, n_resamples=5, **options)
    ax = plots.weightings(result, ("run 0", "run 1"))
    assert len(ax.get_yticklabels()) == 1


def three_runs_of_which_one_is_best() -> pd.DataFrame:
    """Values of runs 0 to 2. Those of run 0 are higher by 5, so it is better under all weightings."""
    perquery = PERQUERY[PERQUERY["name"].isin(["run 0", "run 1", "run 2"])]
    is_run_0 = perquery["name"] == "run 0"
    return perquery.assign(value=perquery["value"] + 5 * is_run_0)


def test_lines_are_drawn_only_where_there_is_an_interval():
    perquery = three_runs_of_which_one_is_best()
    result = ma.analysis.weightings(perquery, measures=ASPECTS, n_resamples=20)

    (lines,) = plots.weightings(result).collections

    intervals = result.pairs.query("high > low")
    assert 0 < len(intervals) < len(result.pairs)
    ends = [(left[0], right[0]) for left, right in lines.get_segments()]
    assert np.array(ends) == pytest.approx(100 * intervals[["low", "high"]].to_numpy())


def test_the_label_of_bars_without_intervals_does_not_name_them():
    perquery = three_runs_of_which_one_is_best()
    result = ma.analysis.weightings(perquery, measures=ASPECTS, n_resamples=20, baseline="run 0")
    assert (result.pairs["high"] == result.pairs["low"]).all()  # both pairs are certain
    assert plots.weightings(result).get_xlabel() == "% of weightings"


@pytest.mark.parametrize("n_aspects", [2, 3])
def test_weightings_of_equal_runs(n_aspects):
    run = PERQUERY[PERQUERY["name"] == "run 0"]
    twins = pd.concat([run, run.assign(name="twin")])
    measures = dict.fromkeys(["AP", "RR", "P"][:n_aspects], "higher")
    ax = plots.weightings(ma.analysis.weightings(twins, measures=measures, n_resamples=5))
    colours = set(areas_of(ax))
    assert FIRST_IS_BETTER not in colours
    assert SECOND_IS_BETTER not in colours


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


def lines_with_marker(ax, marker: str) -> np.ndarray:
    """The points of all lines with a marker, one row of x and y each."""
    return np.vstack([line.get_xydata() for line in ax.lines if line.get_marker() == marker])


def options_by_variant(strip) -> dict[int, list[str]]:
    """The options that are marked in the strip below the curve, by the position of the variant."""
    names = [text.split(": ")[-1] for text in strings(strip.get_yticklabels())]
    options: dict[int, list[str]] = {}
    (marks,) = strip.collections[:1]
    for segment in marks.get_segments():
        position, row = segment.mean(axis=0)
        options.setdefault(int(position), []).append(names[int(row)])
    return options


def table_of_pair(pair: tuple[str, str]) -> pd.DataFrame:
    """The variants of a pair of MULTIVERSE, by the difference of its runs."""
    table = MULTIVERSE.variants
    of_pair = table[(table["a"] == pair[0]) & (table["b"] == pair[1])]
    return of_pair.sort_values("difference", kind="stable")


def test_specification_curve():
    """The differences of a pair by variant, in ascending order, have dots and intervals."""
    pair = tuple(MULTIVERSE.pairs[["a", "b"]].iloc[1])

    ax = plots.specification_curve(MULTIVERSE, pair)

    table = table_of_pair(pair).reset_index(drop=True)
    assert len(table) == 48
    dots = lines_with_marker(ax, "o")
    assert rows_of(dots) == rows_of(np.column_stack([table.index, table["difference"]]))
    (reference,) = table.index[table["measure"] == MULTIVERSE.reference]
    diamonds = lines_with_marker(ax, "D")
    assert diamonds.tolist() == [[reference, table["difference"][reference]]]
    ends = []
    for lines in ax.collections:
        for segment in lines.get_segments():
            ends += [y for _, y in segment]
    assert sorted(ends) == pytest.approx(sorted([*table["low"], *table["high"]]))


def test_the_strip_of_a_specification_curve_marks_the_options_of_each_variant():
    pair = tuple(MULTIVERSE.pairs[["a", "b"]].iloc[1])
    ax = plots.specification_curve(MULTIVERSE, pair)
    _, strip = ax.figure.axes
    assert strip.get_xlabel() == "48 variants"
    assert strings(strip.get_yticklabels())[:3] == ["distance: euclidean", "manhattan", "chebyshev"]
    marked = options_by_variant(strip)
    for position, measure in enumerate(table_of_pair(pair)["measure"]):
        options = [str(option) for option in MULTIVERSE.options.loc[measure]]
        assert sorted(marked[position]) == sorted(options)


def test_equal_variants_are_drawn_once():
    """The options of a dot are those of all variants with its values."""
    measures = ma.variants(
        ma.TOMA(aspects=TWO), distance=["euclidean", "manhattan"], cutoff=[5, 10, 20]
    )
    labels = list(measures)
    euclidean_at_10, euclidean_at_20 = labels[1], labels[2]
    perquery = array_frame(np.random.default_rng(5).random((2, 6, 6)), labels)
    values_at_10 = perquery.loc[perquery["measure"] == euclidean_at_10, "value"]
    perquery.loc[perquery["measure"] == euclidean_at_20, "value"] = values_at_10.to_numpy()
    result = ma.analysis.multiverse(
        perquery, measures=measures, reference=euclidean_at_20, correction=None
    )
    assert result.same_as == {euclidean_at_20: euclidean_at_10}

    ax = plots.specification_curve(result)

    _, strip = ax.figure.axes
    assert strip.get_xlabel() == "5 distinct of 6 variants"
    assert len(lines_with_marker(ax, "o")) == 5
    ((position, _),) = lines_with_marker(ax, "D")  # of the reference
    assert options_by_variant(strip)[int(position)] == ["euclidean", "10", "20"]


def test_the_legend_of_a_specification_curve_is_beside_its_bars():
    ax = plots.specification_curve(MULTIVERSE)
    ax.figure.draw_without_rendering()
    legend, bars = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= bars.x1
    assert legend.x1 <= ax.figure.bbox.x1


def test_the_legend_of_a_specification_curve_is_above_its_bars_in_a_narrow_figure():
    _, column_of_a_paper = plt.subplots(figsize=(3.3, 4), layout="constrained")
    ax = plots.specification_curve(MULTIVERSE, ax=column_of_a_paper)
    ax.figure.draw_without_rendering()
    legend, bars = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.y0 >= bars.y1
    assert legend.x1 <= ax.figure.bbox.x1


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
    """Settings are points; those that no other exceeds on both measures are named, and have a line."""
    settings = pd.DataFrame(
        {
            "alpha": ["a", "b", "c", "d", "e"],
            "relevance": [0.5, 0.4, 0.3, 0.45, np.nan],
            "trust": [0.1, 0.3, 0.2, 0.2, 0.9],
        }
    )
    front = ma.pareto_front(settings, ["relevance", "trust"])

    ax = plots.search_front(front, "trust", "relevance")

    without_nan = settings[["trust", "relevance"]].dropna()
    assert rows_of(offsets(ax)) == rows_of(without_nan)
    assert strings(ax.texts) == ["0", "1", "3"]  # the rows of a, b and d
    (line,) = ax.lines
    assert rows_of(line.get_xydata()) == [(0.1, 0.5), (0.2, 0.45), (0.3, 0.4)]
    assert strings(ax.get_legend().get_texts()) == ["dominated", "on the front"]


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
    """Shades are positions on the scale, or fractions of the highest class; unjudged cells are hatched."""
    # The grades of relevance are 0 to 2, those of trust 0, 0.5 and 1; the classes are 0 to 4.
    labels = {
        "new": {},
        "d1": {"relevance": 2, "trust": 0.5},
        "d2": {"relevance": 0, "trust": 1},
        "d4": {"relevance": 0},
        "d3": {"relevance": 1, "trust": 0},
    }
    run = {"q1": {docno: -float(rank) for rank, docno in enumerate(labels)}}
    qrels = {"q1": {docno: given for docno, given in labels.items() if given}}
    toma = ma.TOMA(aspects={"relevance": 2, "trust": [0, 0.5, 1]})

    _, strip = plots.explanation(toma.explain(run, qrels, "q1")).figure.axes

    (image,) = strip.images
    assert image.get_array().tolist() == [  # columns: new, d1, d2, d4, d3
        [None, 1, 0, 0, 0.5],  # relevance
        [None, 0.5, 1, None, 0],  # trust
        [None, 1, 0.5, 0, 0.25],  # class
    ]
    cells = [["", "", "", "", ""] for _row in range(3)]
    for text in strip.texts:
        column, row = text.get_position()
        cells[int(row)][int(column)] = text.get_text()
    assert cells == [
        ["", "2", "0", "0", "1"],
        ["", "0.5", "1", "", "0"],
        ["", "4", "2", "0", "1"],
    ]
    hatched = [patch for patch in strip.patches if patch.get_hatch()]
    rows_and_columns = [(patch.get_y() + 0.5, patch.get_x() + 0.5) for patch in hatched]
    assert sorted(rows_and_columns) == [(0, 0), (1, 0), (1, 3), (2, 0)]


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
