"""Conclusions from values, runs and labels: right values by an independent implementation, and decided zeros."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import analysis
from pt_multiaspect.errors import agree

COLUMNS = ["name", "qid", "measure", "value"]


def cases() -> list[Any]:
    """Return the cases of the golden file; none without the shared data."""
    try:
        path = shared_path("golden", "conclusions.json")
    except (pytest.skip.Exception, pytest.fail.Exception):
        return []
    return list(json.loads(path.read_text(encoding="utf-8"))["cases"])


def number(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def frame_of(case: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(case["input"]["values"], columns=COLUMNS)


def qrels_of(case: dict[str, Any], key: str = "qrels") -> pd.DataFrame:
    return pd.DataFrame(case["input"][key], columns=case["input"]["columns"])


def runs_of(case: dict[str, Any]) -> dict[str, pd.DataFrame]:
    runs = case["input"]["runs"]
    return {
        name: pd.DataFrame(rows, columns=["qid", "docno", "score"]) for name, rows in runs.items()
    }


def check_missing_labels(case: dict[str, Any]) -> None:
    options = {"n_samples": case["input"].get("n_samples", 0)}
    if options["n_samples"]:
        options["seed"] = case["input"].get("seed", 0)
    found = analysis.missing_labels(
        runs_of(case), qrels_of(case), case["input"]["measure"], **options
    )
    runs = found.runs.set_index("name")
    for expected in case["expected"].get("runs", []):
        row = runs.loc[expected["name"]]
        for column in {"low", "high", "expected"} & set(expected):
            assert row[column] == pytest.approx(number(expected[column]), abs=case["tolerance"]), (
                column
            )
        if "low" in expected:
            assert row["exact"] or not case["id"].startswith("labels-large")
    pairs = found.pairs.set_index(["a", "b"])
    for expected in case["expected"].get("pairs", []):
        row = pairs.loc[(expected["a"], expected["b"])]
        if not row["exact"]:  # bounds
            assert row["low"] <= number(expected["low"]) + case["tolerance"]
            assert row["high"] >= number(expected["high"]) - case["tolerance"]
            continue
        for column in ("low", "high"):
            assert row[column] == pytest.approx(number(expected[column]), abs=case["tolerance"]), (
                column
            )
        assert row["certain"] == expected.get("certain", row["certain"])


def check_robustness(case: dict[str, Any]) -> None:
    given = case["input"]
    options = {"baseline": given.get("baseline")}
    if "variants" in given:
        options["variants"] = dict.fromkeys(given["variants"], "lower")
    if "labels" in given:
        options["labels"] = qrels_of(case, "labels")
    if "values" in given:
        found = ma.robustness(frame_of(case), measure=given["measure"], **options)
    else:
        found = ma.robustness(runs_of(case), qrels_of(case), given["measure"], **options)
    table = found.table.set_index("question")
    expected = case["expected"]
    assert {
        question: table.loc[question, "verdict"] for question in expected.get("verdicts", {})
    } == expected.get("verdicts", {})
    if "difference" in expected:
        assert table.loc["topics", "difference"] == number(expected["difference"])
    for column, value in expected.get("labels", {}).items():
        if column in ("a", "b", "verdict"):
            assert table.loc["labels", column] == value
        else:
            assert table.loc["labels", column] == pytest.approx(
                number(value), abs=case["tolerance"]
            )
    assert expected.get("summary_contains", "") in found.summary
    if "not_reversed_by" in expected:
        assert (
            expected["not_reversed_by"]
            not in table.loc["variants", "evidence"].partition("reversed by")[2]
        )
        assert table.loc["variants", "verdict"] == "holds"


def check_weightings(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    at_least = {aspect: number(weight) for aspect, weight in given["at_least"].items()}
    found = analysis.weightings(
        frame_of(case), measures=given["measures"], at_least=at_least, n_resamples=10
    )
    (row,) = found.pairs.to_dict("records")
    for column in ("fraction", "fraction_lower"):
        exact = number(expected[column]) in (0.0, 1.0)
        assert row[column] == pytest.approx(
            number(expected[column]), abs=0 if exact else case["tolerance"]
        )
    assert row["difference"] == pytest.approx(number(expected["difference"]), abs=case["tolerance"])
    assert bool(row["reversal"]) == (not np.isnan(row["distance"])) == expected["reversible"]


def check_detectable_difference(case: dict[str, Any]) -> None:
    given = case["input"]
    found = analysis.detectable_difference(
        frame_of(case), difference=given["difference"], power=given["power"], alpha=given["alpha"]
    )
    pairs = found.pairs.set_index(["a", "b"])
    for expected in case["expected"]["pairs"]:
        row = pairs.loc[(expected["a"], expected["b"])]
        for column in ("sd", "detectable", "n_needed", "n_needed_high"):
            assert row[column] == pytest.approx(expected[column], rel=case["tolerance"]), column


def check_ranks(case: dict[str, Any]) -> None:
    found = analysis.ranks(frame_of(case), case["input"]["measures"], n_resamples=10)
    for measure, ranks in case["expected"]["rank"].items():
        rows = found.table[found.table["measure"] == measure]
        assert dict(zip(rows["name"], rows["rank"], strict=True)) == ranks
    consensus = found.consensus.set_index("name")
    for method in ("borda", "copeland"):
        for name, value in case["expected"][method].items():
            assert consensus.loc[name, method] == pytest.approx(
                number(value), abs=case["tolerance"]
            )


CHECKS = {
    "missing_labels": check_missing_labels,
    "robustness": check_robustness,
    "weightings": check_weightings,
    "detectable_difference": check_detectable_difference,
    "ranks": check_ranks,
}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_golden_conclusions(case: dict[str, Any]) -> None:
    """Each kind of conclusion has the right value in a world that was computed independently."""
    CHECKS[case["function"]](case)


def test_the_golden_file_has_all_kinds() -> None:
    assert {case["function"] for case in golden("conclusions.json")["cases"]} == set(CHECKS)


# -- zero is decided once: by pair, within 1e-12 of the largest absolute value of the two runs
# -----------------


def values_frame(values_by_run: dict[str, list[float]], measure: str = "M") -> pd.DataFrame:
    """Return the long frame of the values of runs on the topics q0, q1, …"""
    rows = [
        (name, f"q{topic}", measure, value)
        for name, values in values_by_run.items()
        for topic, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


#: The means of a and b are 0.2, though sums of floats differ; c has much larger values.
EQUAL_MEANS = {"a": [0.2, 0.4, 0.0], "b": [0.0, 0.0, 0.6], "c": [1e6, 1e6, 1e6]}


def equal_means() -> pd.DataFrame:
    return values_frame(EQUAL_MEANS)


@pytest.mark.parametrize("test", ["t", "bootstrap", "permutation", "tukey"])
@pytest.mark.parametrize("baseline", ["a", "b"])
def test_a_difference_of_equal_means_is_exactly_0(test: str, baseline: str) -> None:
    """A difference of equal means is +0, with p = 1, whatever the test and the order of the pair."""
    frame = equal_means()
    frame = frame[frame["name"] != "c"]
    found = analysis.compare_with_baseline(frame, baseline, test, n_resamples=200).iloc[0]
    assert str(found["difference"]) == "0.0"
    assert found["p"] == 1
    assert (found["verdict"], found["wins"] + found["losses"] + found["ties"]) == ("", 3)
    pairs = analysis.discriminative_power(frame, test, n_resamples=200).pairs
    assert str(pairs["difference"].item()) == "0.0"
    assert pairs["p"].item() == 1


def test_a_small_difference_is_none_of_rounding_beside_a_run_of_large_values() -> None:
    """A run with large values does not turn a small difference of two others into a rounding error."""
    frame = values_frame(
        {
            "a": [0.2, 0.4, 0.0],
            "b": [0.2 + 1e-7, 0.4 + 1e-7, 0.0 + 1e-7],  # better on all three topics
            "c": [1e6, 1e6, 1e6],
        }
    )
    comparison = analysis.compare_with_baseline(frame, "a").set_index("name").loc["b"]
    assert comparison["wins"] == 3
    assert comparison["difference"] == pytest.approx(1e-7)
    table = analysis.ranks(frame, {"M": "higher"}, n_resamples=10).table.set_index("name")
    assert table["rank"].to_dict() == {"a": 3, "b": 2, "c": 1}


def test_equal_means_share_a_rank() -> None:
    """Equal means share a rank and have the difference 0, whatever the rounding of their sums."""
    frame = equal_means()  # a and b have equal means, c is better
    squares = frame.assign(measure="N", value=frame["value"] ** 2)
    both = pd.concat([frame, squares])
    directions = {"M": "higher", "N": "higher"}
    expected_ranks = {"a": 2, "b": 2, "c": 1}
    table = analysis.ranks(both, directions, n_resamples=10).table
    by_m = table[table["measure"] == "M"].set_index("name")
    assert by_m["rank"].to_dict() == expected_ranks
    multiverse = analysis.multiverse(both, reference="M", baseline="a", measures=directions)
    assert multiverse.runs["rank"].tolist() == list(expected_ranks.values())
    assert multiverse.pairs["difference"].tolist()[0] == 0  # of a and b
    a_and_b = frame[frame["name"] != "c"]
    assert ma.robustness(a_and_b).table["difference"].item() == 0


def test_of_equal_means_the_first_run_is_the_best() -> None:
    """Of runs whose means are equal, the first is the best, though rounding favours another."""
    frame = equal_means()
    for first, second in (("a", "b"), ("b", "a")):
        ordered = pd.concat([frame[frame["name"] == name] for name in (first, second)])
        assert ma.robustness(ordered).table["a"].item() == first


def values_by_aspect(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Return the long frame of values by run, aspect and topic."""
    frames = []
    for name, values_of_run in values.items():
        for aspect, values_of_topics in values_of_run.items():
            frames.append(values_frame({name: values_of_topics}, aspect))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize(
    ("baseline", "fraction", "fraction_lower"), [("a", 1.0, 0.0), ("b", 0.0, 1.0)]
)
def test_a_tie_at_the_least_weights_is_no_reversal(
    baseline: str, fraction: float, fraction_lower: float
) -> None:
    """No weighting reverses the order of runs that tie exactly at the least weight of an aspect.

    b is better on x by 0.1 and worse on y by 0.025: with 0.2 · 0.1 = 0.8 · 0.025 they tie at the
    least weight 0.2 of x, and b is higher with any larger one.
    """
    frame = values_by_aspect(
        {"a": {"x": [0.0, 0.0], "y": [0.5, 0.5]}, "b": {"x": [0.1, 0.1], "y": [0.475, 0.475]}}
    )
    weightings = analysis.weightings(
        frame,
        measures={"x": "higher", "y": "higher"},
        at_least={"x": 0.2},
        baseline=baseline,
    )
    (pair,) = weightings.pairs.to_dict("records")
    # With the baseline a, all weightings have the other run, b, higher.
    assert (pair["fraction"], pair["fraction_lower"]) == (fraction, fraction_lower)
    assert np.isnan(pair["distance"])
    assert pair["reversal"] == ""
    assert weightings.aspects["reverses_at"].isna().all()
    assert weightings.summary.startswith("0 of 1 pair changes its order under some weighting, ")


def test_reversals_of_small_differences_are_named() -> None:
    """A reversal that is no rounding error is named, however small the differences are.

    a is better on x by 2e-9, b on y by 1e-9: they tie where y has twice the weight of x.
    """
    frame = values_by_aspect(
        {"a": {"x": [2e-9, 2e-9], "y": [0.0, 0.0]}, "b": {"x": [0.0, 0.0], "y": [1e-9, 1e-9]}}
    )
    weightings = analysis.weightings(
        frame, measures={"x": "higher", "y": "higher"}, at_least={"y": 0.1}
    )
    assert weightings.aspects["reverses_at"].tolist() == pytest.approx([1 / 3, 2 / 3])
    # Equal weights in excess of the least ones, 0 and 0.1, are 0.45 and 0.55.
    assert weightings.pairs["reversal"].item() == "y 0.67 instead of 0.55, x 0.33"


def test_sampled_weightings_include_all_weight_on_one_aspect() -> None:
    """256 sampled weightings do not show all: those that give one aspect all weight count too.

    a is better on x by 0.3 and worse on y by 0.001, so that only y alone reverses the order.
    """
    rng = np.random.default_rng(0)
    rows = []
    for topic in range(10):
        x, y = 0.2 + 0.02 * rng.uniform(size=2)
        rows += [("a", f"q{topic}", "x", x + 0.3), ("a", f"q{topic}", "y", y + 0.8 - 0.001)]
        rows += [("b", f"q{topic}", "x", x), ("b", f"q{topic}", "y", y + 0.8)]
    weightings = analysis.weightings(
        pd.DataFrame(rows, columns=COLUMNS),
        "MM",
        measures={"x": "higher", "y": "higher"},
        n_resamples=10,
    )
    assert weightings.pairs["fraction"].item() == 1  # of the sampled ones, a is higher
    assert weightings.summary.startswith(
        "1 of 1 pair changes its order under some weighting (of 256 sampled, and those that give "
        "one aspect all weight), 0 for between "
    )


# -- missing labels
# -------------------------------------------------------------------------------------------


def labels_world(columns: list[str], qrels: list[list[Any]], run: list[str]) -> tuple[Any, Any]:
    """Return the run "r", a ranking of one topic, and the qrels with these columns of labels."""
    frame = pd.DataFrame(qrels, columns=["qid", "docno", *columns])
    return {"r": run_of_q1(run)}, frame


def run_of_q1(docnos: list[str]) -> pd.DataFrame:
    rows = [("q1", docno, -rank) for rank, docno in enumerate(docnos)]
    return pd.DataFrame(rows, columns=["qid", "docno", "score"])


#: The mean over relevance and credibility of the fraction of relevant documents in the first two.
MEAN_P_2 = ma.CAM(base="P@2", aspects={"relevance": 1, "credibility": 1})


def test_without_donors_there_is_an_interval_but_no_expected_value() -> None:
    """Expected values draw a missing label from documents with the same other labels, the donors.

    d2, of relevance 0, has no credibility, and the only other document has relevance 1.
    """
    runs, qrels = labels_world(
        ["relevance", "credibility"], [["q1", "d1", 1, 1], ["q1", "d2", 0, None]], ["d2", "d1"]
    )
    result = analysis.missing_labels(runs, qrels, {"CAM": MEAN_P_2})
    row = result.runs.iloc[0]
    assert row["low"] == (1 / 2 + 1 / 2) / 2  # d2 is not credible
    assert row["high"] == (1 / 2 + 2 / 2) / 2  # d2 is credible
    assert row["exact"]
    assert np.isnan(row["expected"])
    unfilled = result.universe.set_index("aspect")["unfilled"]
    assert unfilled.to_dict() == {"relevance": 0, "credibility": 1}
    assert sum("CAM has no expected values: " in note for note in result.notes) == 1


@pytest.mark.parametrize("n_samples", [100, 0])
def test_expected_values_with_donors_or_without_draws_need_no_note(n_samples: int) -> None:
    """Nothing is said of expected values where there are donors, or where none are asked for.

    d3, of relevance 0, has no credibility; d2 has the same relevance, and so is its donor.
    """
    runs, qrels = labels_world(
        ["relevance", "credibility"],
        [["q1", "d1", 1, 1], ["q1", "d2", 0, 0], ["q1", "d3", 0, None]],
        ["d3", "d1"],
    )
    result = analysis.missing_labels(runs, qrels, {"CAM": MEAN_P_2}, n_samples=n_samples)
    assert not any("expected values" in note for note in result.notes)
    has_no_expected_value = np.isnan(result.runs["expected"].item())
    assert has_no_expected_value == (n_samples == 0)


@pytest.mark.parametrize(
    ("base", "cutoff", "n_documents"),
    [
        ({"relevance": "R@1", "credibility": "R@2"}, 2, 3),  # new, d1, and d2, which is judged
        ({"relevance": "P@1", "credibility": "SetP"}, None, 4),  # all documents of the run
    ],
    ids=["deepest cutoff 2", "no cutoff"],
)
def test_documents_whose_labels_matter_end_at_the_deepest_cutoff(
    base: dict[str, str], cutoff: int | None, n_documents: int
) -> None:
    """The documents whose labels matter end at the deepest cutoff of all bases, if all have one."""
    qrels = [["q1", "d1", 1, 1], ["q1", "d2", 0, 0]]
    runs, frame = labels_world(["relevance", "credibility"], qrels, ["new", "d1", "d2", "low"])
    measure = ma.CAM(base=base, aspects={"relevance": 1, "credibility": 1})
    assert measure.cutoff == cutoff
    result = analysis.missing_labels(runs, frame, measure, n_samples=0)
    assert result.universe["documents"].tolist() == [n_documents, n_documents]  # of each aspect


def test_directions_of_variants_in_a_mapping() -> None:
    """The direction that `variants` declares for labels of a frame counts in the row of variants."""
    values = {"a": [0.2, 0.21, 0.22, 0.23], "b": [0.6, 0.61, 0.63, 0.65]}
    rows = [
        (name, f"q{topic}", label, value)
        for name in values
        for topic, value in enumerate(values[name])
        for label in ("errors", "mistakes")
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    found = ma.robustness(frame, measure={"errors": "lower"}, variants={"mistakes": "higher"})
    assert found.multiverse is not None
    assert found.multiverse.variants["difference"].tolist() == pytest.approx([0.4075, -0.4075])


def toma_of_order(weights: dict[tuple[int, int], float]) -> dict[str, ma.Measure]:
    order = ma.Order(weights, ["relevance", "credibility"])
    return {"TOMA": ma.TOMA(base="P@2", order=order)}


#: An order that lacks (0, 1) and (1, 0).
INCOMPLETE = {(0, 0): 0.0, (1, 1): 3.0}
LABELS_OF_INCOMPLETE = [["q1", "d1", 1, 1], ["q1", "d2", 0, 0]]


def test_orders_without_weights_of_possible_labels_are_errors() -> None:
    """The document that is not judged may have labels that the order lacks: these are named."""
    runs, qrels = labels_world(
        ["relevance", "credibility"], LABELS_OF_INCOMPLETE, ["d1", "not judged"]
    )
    with pytest.raises(
        ma.MultiAspectError, match=r"^TOMA: .* none for \(0.0, 1.0\) .*; add them to"
    ):
        analysis.missing_labels(runs, qrels, toma_of_order(INCOMPLETE))


@pytest.mark.parametrize(
    ("weights", "run"),
    [
        (INCOMPLETE, ["d1", "d2"]),
        ({**INCOMPLETE, (0, 1): 1.0, (1, 0): 2.0}, ["d1", "not judged"]),
    ],
    ids=["no labels are missing", "the order has all labels"],
)
def test_orders_with_weights_of_possible_labels(
    weights: dict[tuple[int, int], float], run: list[str]
) -> None:
    runs, qrels = labels_world(["relevance", "credibility"], LABELS_OF_INCOMPLETE, run)
    assert analysis.missing_labels(runs, qrels, toma_of_order(weights)).runs["exact"].all()


def test_unknown_intervals_are_not_compared() -> None:
    """Intervals that are unknown, as those of Bpref, are not compared in a note."""
    qrels = pd.DataFrame([["q1", "d0", 1], ["q1", "d1", 0]], columns=["qid", "docno", "relevance"])
    runs = {
        "a": run_of_q1([f"d{number}" for number in range(40)]),  # 38 are not judged
        "b": run_of_q1(["d0", "d1"]),
        "c": run_of_q1(["d1", "d0"]),
    }
    measure = ma.On(base="Bpref", aspects={"relevance": 1})
    result = analysis.missing_labels(runs, qrels, measure, n_samples=0)
    assert result.runs["low"].isna().all()
    assert any("has no interval" in note for note in result.notes)
    assert not any("rather than" in note for note in result.notes)


# -- sizes, empty frames and intervals
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("difference", [1e-3, 1e-8, 1e-15])
def test_topics_that_a_tiny_difference_needs(difference: float) -> None:
    """The number of topics that a tiny difference needs is computed at once, and not by search."""
    frame = values_frame({"a": [0.5, 0.7, 0.1, 0.9], "b": [0.4, 0.4, 0.2, 0.4]})
    start = time.process_time()
    result = analysis.detectable_difference(frame, difference=difference)
    assert time.process_time() - start < 5
    row = result.pairs.iloc[0]
    # Of many topics, the test is that of the normal distribution: for the level 0.05 and the power
    # 0.8, the difference is the sum of these quantiles in standard errors.
    quantiles = stats.norm.isf(0.05 / 2) + stats.norm.isf(1 - 0.8)
    assert row["n_needed"] == pytest.approx((quantiles * row["sd"] / difference) ** 2, rel=1e-4)
    assert "topics needed" in str(result)


@pytest.mark.parametrize("measure", [None, "AP", {"AP": "higher"}])
def test_values_that_are_empty_or_nan(measure: Any) -> None:
    """Values that are empty, or all NaN, are refused with what was expected."""
    frame = equal_means().assign(measure="AP")
    with pytest.raises(
        ma.MultiAspectError, match="expected at least one row in the frame of values"
    ):
        ma.robustness(frame.head(0), measure=measure)
    with pytest.raises(
        ma.MultiAspectError, match="expected finite values, got nan for AP of system a on topic q0"
    ):
        ma.robustness(frame.assign(value=np.nan), measure=measure)


@pytest.mark.parametrize("measure", ["CAM", "MM"])
@pytest.mark.parametrize("seed", range(4))
def test_confidence_intervals_contain_their_estimates(measure: str, seed: int) -> None:
    """A confidence interval contains its estimate; in robustness, it is that of `weightings`."""
    rng = np.random.default_rng(seed)
    rows = [
        (name, f"q{topic}", f"On(aspect='{aspect}',base='P@5')", value)
        for name in "abcd"
        for topic in range(6)
        for aspect, value in zip("xyz", rng.integers(0, 6, 3) / 5, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    found = [
        analysis.weightings(frame, measure)
        .pairs.set_index(["a", "b"])
        .rename(columns={"fraction": "estimate"}),
        analysis.compare_with_baseline(frame, "a").rename(columns={"difference": "estimate"}),
        analysis.ranks(frame, n_resamples=200).table.rename(columns={"rank": "estimate"}),
    ]
    consensus = analysis.ranks(frame, n_resamples=200).consensus
    for method in ("borda", "copeland"):
        names = {method: "estimate", f"{method}_low": "low", f"{method}_high": "high"}
        found.append(consensus.rename(columns=names))
    for table in found:
        assert (table["low"] <= table["estimate"]).all()
        assert (table["estimate"] <= table["high"]).all()


def test_intervals_of_one_resample() -> None:
    """The weightings of robustness have the interval of `weightings`, not that of one resample."""
    rng = np.random.default_rng(3)
    aspects = {"relevance": 2, "credibility": 2}
    documents = [f"d{number}" for number in range(8)]
    qrels = pd.DataFrame(
        [(f"q{t}", docno, *rng.integers(0, 3, 2)) for t in range(8) for docno in documents],
        columns=["qid", "docno", *aspects],
    )
    runs = {
        name: pd.DataFrame(
            [(f"q{t}", docno, rng.random()) for t in range(8) for docno in documents],
            columns=["qid", "docno", "score"],
        )
        for name in ("a", "b", "c")
    }
    measure = ma.CAM(base="nDCG@3", aspects=aspects)
    found = ma.robustness(runs, qrels, measure, baseline="a", variants=[measure]).weightings
    assert found is not None
    of_aspects = ma.evaluate(
        runs,
        qrels,
        [ma.On(aspect=name, base="nDCG@3", aspects=aspects) for name in aspects],
        progress=False,
    )
    expected = analysis.weightings(of_aspects, measure, baseline="a")
    columns = ["fraction", "low", "high"]
    np.testing.assert_allclose(found.pairs[columns], expected.pairs[columns])
    assert (found.pairs["high"] > found.pairs["low"]).any()
    assert found.pairs["fraction"].between(found.pairs["low"], found.pairs["high"]).all()


@pytest.mark.parametrize(
    ("number", "total", "verb"),
    [(1, 1, "has"), (0, 1, "has"), (1, 2, "has"), (0, 2, "have"), (2, 2, "have")],
)
def test_verbs_agree_with_the_number_of_pairs(number: int, total: int, verb: str) -> None:
    assert agree(number, total, "has", "have") == verb
