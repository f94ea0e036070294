"""Conclusions from values, runs and labels: right values by an independent implementation, and decided zeros."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
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


def equal_means() -> pd.DataFrame:
    """Return values of a and b whose means are equal, though floating-point sums differ, beside a run c of 1e6."""
    values = {"a": [0.2, 0.4, 0.0], "b": [0.0, 0.0, 0.6], "c": [1e6, 1e6, 1e6]}
    rows = [
        (name, f"q{topic}", "M", value)
        for name in values
        for topic, value in enumerate(values[name])
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize("test", ["t", "bootstrap", "permutation", "tukey"])
@pytest.mark.parametrize("baseline", ["a", "b"])
def test_kind_zero_decided_once_in_tests(test: str, baseline: str) -> None:
    """Kind: a difference of equal means is +0, with p = 1, whatever the test and the order of the pair."""
    frame = equal_means()
    frame = frame[frame["name"] != "c"]
    found = analysis.compare_with_baseline(frame, baseline, test, n_resamples=200).iloc[0]
    assert str(found["difference"]) == "0.0"
    assert found["p"] == 1
    assert (found["verdict"], found["wins"] + found["losses"] + found["ties"]) == ("", 3)
    pairs = analysis.discriminative_power(frame, test, n_resamples=200).pairs
    assert str(pairs["difference"].item()) == "0.0"
    assert pairs["p"].item() == 1


def test_kind_zero_decided_by_pair() -> None:
    """Kind: another run with large values does not turn a difference of two runs into a rounding error."""
    frame = equal_means()
    frame.loc[frame["name"] == "b", "value"] = [0.2 + 1e-7, 0.4 + 1e-7, 1e-7]
    found = analysis.compare_with_baseline(frame, "a").set_index("name").loc["b"]
    assert found["wins"] == 3
    assert found["difference"] == pytest.approx(1e-7)
    table = analysis.ranks(frame, {"M": "higher"}, n_resamples=10).table.set_index("name")
    assert table["rank"].to_dict() == {"a": 3, "b": 2, "c": 1}


def test_kind_zero_decided_once_in_ranks_and_variants() -> None:
    """Kind: equal means share a rank, by each measure and as variants."""
    frame = equal_means()
    twice = pd.concat([frame, frame.assign(measure="N", value=frame["value"] ** 2)])
    directions = {"M": "higher", "N": "higher"}
    table = analysis.ranks(twice, directions, n_resamples=10).table
    assert table.loc[table["measure"] == "M", "rank"].tolist() == [2, 2, 1]
    found = analysis.multiverse(twice, reference="M", baseline="a", measures=directions)
    assert found.runs["rank"].tolist() == [2, 2, 1]
    assert found.pairs["difference"].tolist()[0] == 0
    assert ma.robustness(frame[frame["name"] != "c"]).table["difference"].item() == 0


def test_kind_zero_decided_once_among_the_best_runs() -> None:
    """Kind: of runs whose means are equal, the first is the best, though rounding favours another."""
    frame = equal_means()
    for first, second in (("a", "b"), ("b", "a")):
        ordered = pd.concat([frame[frame["name"] == name] for name in (first, second)])
        assert ma.robustness(ordered).table["a"].item() == first


def test_kind_zero_decided_once_at_the_least_weights() -> None:
    """Kind: no weighting reverses the order of runs that tie exactly at the least weights of the aspects."""
    values = {"a": {"x": [0.0, 0.0], "y": [0.5, 0.5]}, "b": {"x": [0.1, 0.1], "y": [0.475, 0.475]}}
    rows = [
        (name, f"q{topic}", aspect, value)
        for name, aspects in values.items()
        for aspect, topics in aspects.items()
        for topic, value in enumerate(topics)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    directions = {"x": "higher", "y": "higher"}
    for baseline, fraction in (("a", 1.0), ("b", 0.0)):
        found = analysis.weightings(
            frame, measures=directions, at_least={"x": 0.2}, baseline=baseline
        )
        assert found.pairs[["fraction", "fraction_lower"]].iloc[0].tolist() == [
            fraction,
            1 - fraction,
        ]
        assert np.isnan(found.pairs["distance"].item())
        assert found.pairs["reversal"].item() == ""
        assert found.aspects["reverses_at"].isna().all()
        assert found.summary.startswith("0 of 1 pair changes its order under some weighting, ")


def test_silent_weightings_that_reverse_the_order() -> None:
    """A reversal that is no rounding error is named, however small the differences are."""
    values = {"a": {"x": [2e-9, 2e-9], "y": [0.0, 0.0]}, "b": {"x": [0.0, 0.0], "y": [1e-9, 1e-9]}}
    rows = [
        (name, f"q{topic}", aspect, value)
        for name, aspects in values.items()
        for aspect, topics in aspects.items()
        for topic, value in enumerate(topics)
    ]
    found = analysis.weightings(
        pd.DataFrame(rows, columns=COLUMNS),
        measures={"x": "higher", "y": "higher"},
        at_least={"y": 0.1},
    )
    assert found.pairs["reversal"].item() == "y 0.67 instead of 0.55, x 0.33"
    assert found.aspects["reverses_at"].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_kind_sampled_weightings_look_at_the_corners() -> None:
    """Kind: 256 sampled weightings do not show all; a corner that reverses the order counts."""
    rng = np.random.default_rng(0)
    rows = []
    for topic in range(10):
        x, y = 0.2 + 0.02 * rng.uniform(size=2)
        rows += [("a", f"q{topic}", "x", x + 0.3), ("a", f"q{topic}", "y", y + 0.8 - 0.001)]
        rows += [("b", f"q{topic}", "x", x), ("b", f"q{topic}", "y", y + 0.8)]
    found = analysis.weightings(
        pd.DataFrame(rows, columns=COLUMNS),
        "MM",
        measures={"x": "higher", "y": "higher"},
        n_resamples=10,
    )
    assert found.pairs["fraction"].item() == 1
    assert found.summary.startswith(
        "1 of 1 pair changes its order under some weighting (of 256 sampled, and those that give "
        "one aspect all weight), 0 for between "
    )


# -- missing labels
# -------------------------------------------------------------------------------------------


def labels_world(columns: list[str], qrels: list[list[Any]], run: list[str]) -> tuple[Any, Any]:
    frame = pd.DataFrame(qrels, columns=["qid", "docno", *columns])
    rows = [("q1", docno, -rank) for rank, docno in enumerate(run)]
    return {"r": pd.DataFrame(rows, columns=["qid", "docno", "score"])}, frame


def test_kind_documents_without_donors_leave_the_interval() -> None:
    """Kind: where no document can donate labels, the exact interval stands, and expected values are left out."""
    runs, qrels = labels_world(
        ["relevance", "credibility"], [["q1", "d1", 1, 1], ["q1", "d2", 0, None]], ["d2", "d1"]
    )
    measure = {"CAM": ma.CAM(base="P@2", aspects={"relevance": 1, "credibility": 1})}
    found = analysis.missing_labels(runs, qrels, measure)
    row = found.runs.iloc[0]
    assert row[["low", "high", "exact"]].tolist() == [0.5, 0.75, True]
    assert np.isnan(row["expected"])
    assert found.universe["unfilled"].tolist() == [0, 1]
    assert sum("CAM has no expected values: " in note for note in found.notes) == 1


def test_silent_expected_values_with_donors_and_without_draws() -> None:
    """Documents with donors, or n_samples=0, say nothing about expected values."""
    runs, qrels = labels_world(
        ["relevance", "credibility"],
        [["q1", "d1", 1, 1], ["q1", "d2", 0, 0], ["q1", "d3", 0, None]],
        ["d3", "d1"],
    )
    measure = {"CAM": ma.CAM(base="P@2", aspects={"relevance": 1, "credibility": 1})}
    for n_samples in (100, 0):
        found = analysis.missing_labels(runs, qrels, measure, n_samples=n_samples)
        assert not any("expected values" in note for note in found.notes)
        assert np.isnan(found.runs["expected"].item()) == (n_samples == 0)


@pytest.mark.parametrize(
    ("base", "cutoff", "n_documents"),
    [
        ({"relevance": "R@1", "credibility": "R@2"}, 2, 3),
        ({"relevance": "P@1", "credibility": "SetP"}, None, 4),
    ],
)
def test_kind_cutoffs_of_bases_by_aspect(
    base: dict[str, str], cutoff: int | None, n_documents: int
) -> None:
    """Kind: the universe ends at the deepest cutoff of all bases, and has no end if one base has none."""
    qrels = [["q1", "d1", 1, 1], ["q1", "d2", 0, 0]]
    runs, frame = labels_world(["relevance", "credibility"], qrels, ["new", "d1", "d2", "low"])
    measure = ma.CAM(base=base, aspects={"relevance": 1, "credibility": 1})
    found = analysis.missing_labels(runs, frame, measure, n_samples=0)
    assert found.universe["documents"].tolist() == [n_documents] * 2
    assert measure.cutoff == cutoff


def test_kind_directions_of_variants_in_a_mapping() -> None:
    """Kind: the direction that `variants` declares for labels of a frame counts in the row of variants."""
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


def test_kind_orders_without_weights_of_possible_labels() -> None:
    """Kind: an order that lacks labels which a document may have is named, with the remedy; others are silent."""
    qrels = [["q1", "d1", 1, 1], ["q1", "d2", 0, 0]]
    runs, frame = labels_world(["relevance", "credibility"], qrels, ["d1", "new"])
    weights = {(0, 0): 0.0, (1, 1): 3.0}
    measure = {"TOMA": ma.TOMA(base="P@2", order=ma.Order(weights, ["relevance", "credibility"]))}
    with pytest.raises(
        ma.MultiAspectError, match=r"^TOMA: .* none for \(0.0, 1.0\) .*; add them to"
    ):
        analysis.missing_labels(runs, frame, measure)
    judged, _ = labels_world(["relevance", "credibility"], qrels, ["d1", "d2"])
    assert analysis.missing_labels(judged, frame, measure).runs["exact"].all()
    whole = {**weights, (0, 1): 1.0, (1, 0): 2.0}
    measure = {"TOMA": ma.TOMA(base="P@2", order=ma.Order(whole, ["relevance", "credibility"]))}
    assert analysis.missing_labels(runs, frame, measure).runs["exact"].all()


def test_kind_sentences_about_unknown_intervals() -> None:
    """Kind: intervals that are unknown are not compared: no note says "on average, rather than -"."""
    documents = [f"d{number}" for number in range(40)]
    qrels = [["q1", "d0", 1], ["q1", "d1", 0]]
    frame = pd.DataFrame(qrels, columns=["qid", "docno", "relevance"])
    rankings = {"a": documents, "b": ["d0", "d1"], "c": ["d1", "d0"]}
    runs = {
        name: labels_world(["relevance"], qrels, ranking)[0]["r"]
        for name, ranking in rankings.items()
    }
    found = analysis.missing_labels(
        runs, frame, ma.On(base="Bpref", aspects={"relevance": 1}), n_samples=0
    )
    assert found.runs["low"].isna().all()
    assert any("has no interval" in note for note in found.notes)
    assert not any("rather than" in note for note in found.notes)


# -- sizes, empty frames and intervals
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("difference", [1e-3, 1e-8, 1e-15])
def test_kind_tiny_differences_to_detect(difference: float) -> None:
    """Kind: the topics that a tiny difference needs are told at once."""
    values = {"a": [0.5, 0.7, 0.1, 0.9], "b": [0.4, 0.4, 0.2, 0.4]}
    rows = [
        (name, f"q{topic}", "M", value)
        for name in values
        for topic, value in enumerate(values[name])
    ]
    start = time.process_time()
    found = analysis.detectable_difference(
        pd.DataFrame(rows, columns=COLUMNS), difference=difference
    )
    assert time.process_time() - start < 5
    row = found.pairs.iloc[0]
    assert row["n_needed"] == pytest.approx((2.8015852 * row["sd"] / difference) ** 2, rel=1e-4)
    assert "topics needed" in str(found)


@pytest.mark.parametrize("measure", [None, "AP", {"AP": "higher"}])
def test_kind_values_that_are_empty_or_nan(measure: Any) -> None:
    """Kind: values that are empty, or all NaN, are refused with what was expected."""
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
def test_kind_confidence_intervals_contain_their_estimates(measure: str, seed: int) -> None:
    """Kind: a confidence interval contains its estimate; in robustness, it is that of `weightings`."""
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


def test_kind_intervals_of_one_resample() -> None:
    """Kind: the weightings of robustness have the interval of `weightings`, not that of one resample."""
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
