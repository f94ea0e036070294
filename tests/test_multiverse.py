"""Variants of measures, and what they say of pairs of runs: against single computations and statsmodels."""

from __future__ import annotations

from itertools import product
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA
from pt_multiaspect.analysis import compare_with_baseline, multiverse
from pt_multiaspect.analysis._pairs import share, significant_share
from pt_multiaspect.integration.variants import one_choice_variants

SCALES = {"relevance": 2, "credibility": 3}


def world(n_topics: int = 8, seed: int = 0) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    rng = np.random.default_rng(seed)
    pairs = [(f"q{topic}", f"d{number}") for topic in range(n_topics) for number in range(12)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno"])
    qrels["relevance"], qrels["credibility"] = (
        rng.integers(0, 3, len(qrels)),
        rng.integers(0, 4, len(qrels)),
    )
    runs = {
        name: qrels[["qid", "docno"]].assign(
            score=rng.random(len(qrels)) + more * qrels["relevance"]
        )
        for name, more in (("best", 0.8), ("good", 0.3), ("random", 0.0))
    }
    return runs, qrels


def grid() -> dict[str, ir_measures.Measure]:
    aspects = {
        "strict": SCALES,
        "lenient": {"relevance": ma.Aspect(2, threshold=2), "credibility": 3},
    }
    return ma.variants(
        TOMA(base="nDCG"),
        distance=["euclidean", "chebyshev"],
        gate=[None, "relevance"],
        cutoff=[3, 5],
        aspects=aspects,
    )


@pytest.fixture
def perquery() -> pd.DataFrame:
    runs, qrels = world()
    return ma.evaluate(runs, qrels, grid(), progress=False)


# -- variants
# -----------------------------------------------------------------------------------------------


def test_labels_name_what_differs_in_the_order_of_the_arguments() -> None:
    measures = ma.variants("TOMA", cutoff=[5, 10], axes="gains", distance=["euclidean", 3])
    assert list(measures) == [
        "cutoff=5 distance=euclidean",
        "cutoff=5 distance=3",
        "cutoff=10 distance=euclidean",
        "cutoff=10 distance=3",
    ]
    assert measures["cutoff=10 distance=3"] == TOMA(axes="gains", distance=3) @ 10
    assert ma.variants(TOMA, cutoff=5) == {"TOMA@5": TOMA @ 5}


def test_values_of_parameters_are_no_options() -> None:
    """A dictionary of weights is one value of `weights`."""
    weights = {"relevance": 2, "credibility": 1}
    measure = CAM(weights=weights) @ 5
    assert ma.variants(CAM, weights=weights, cutoff=[5]) == {str(measure): measure}


def test_a_dictionary_of_values_names_options() -> None:
    weights = {"relevance": 2, "credibility": 1}
    variants = ma.variants(CAM, weights={"equal": None, "relevance first": weights})
    assert variants == {"weights=equal": CAM, "weights=relevance first": CAM(weights=weights)}


def test_sets_of_aspects_have_names() -> None:
    measures = ma.variants(TOMA, aspects={"narrow": {"relevance": 1}, "wide": {"relevance": 2}})
    assert str(measures["aspects=wide"]) == "TOMA(aspects='wide')"
    declared = [
        ma.Aspects({"relevance": 1}, name="first"),
        ma.Aspects({"relevance": 2}, name="second"),
    ]
    assert list(ma.variants(TOMA, aspects=declared)) == ["aspects=first", "aspects=second"]


def test_measures_of_ir_measures_have_variants() -> None:
    assert ma.variants("nDCG", cutoff=[5, 10], dcg=["log2", "exp-log2"])[
        "cutoff=5 dcg=exp-log2"
    ] == ir_measures.nDCG(cutoff=5, dcg="exp-log2")


def test_measures_of_ir_measures_without_a_cutoff_have_none_among_options() -> None:
    """ir-measures marks parameters that are not given by an object without a name."""
    measures = [ir_measures.RR, ir_measures.RR @ 1]
    result = multiverse(ma.evaluate(*world(), measures, progress=False))
    assert result.options["cutoff"].to_dict() == {"RR": "none", "RR@1": "1"}


def test_none_is_a_parameter_of_ir_measures_that_is_not_given() -> None:
    assert ma.variants("RR", cutoff=[None, 5]) == {
        "cutoff=none": ir_measures.RR,
        "cutoff=5": ir_measures.RR @ 5,
    }
    assert ma.variants("nDCG@10", cutoff=None) == {"nDCG": ir_measures.nDCG}
    with pytest.warns(
        ma.MultiAspectWarning, match="1 of 2 combinations is impossible.*P requires .*cutoff"
    ):
        assert ma.variants("P@10", cutoff=[None, 5]) == {"cutoff=5": ir_measures.P @ 5}


def test_impossible_combinations_are_left_out() -> None:
    with pytest.warns(
        ma.MultiAspectWarning, match="1 of 4 combinations is impossible.*requires a base"
    ):
        measures = ma.variants(CAM, base=["nDCG@5", "RR"], normalized=[False, True], empty=["zero"])
    assert list(measures) == [
        "base=nDCG@5 normalized=false",
        "base=nDCG@5 normalized=true",
        "base=RR normalized=false",
    ]


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        (TOMA, {"distance": []}, "distance: expected at least one option, got none"),
        (TOMA, {"distances": ["euclidean"]}, "distance"),
        (TOMA, {"distance": ["euclidean", "euclidean"]}, "expected each option once"),
        (
            TOMA,
            {"aspects": [ma.Aspects({"relevance": 1}), ma.Aspects({"relevance": 2})]},
            "expected options with names",
        ),
        (
            TOMA,
            {"distance": ["taxicab", "hamming"]},
            "expected at least one possible combination, got none",
        ),
        ("P", {"rel": [1, 2]}, "expands to"),
        ("TOMATO", {"cutoff": [5]}, "TOMATO"),
    ],
)
def test_bad_options(measure: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.variants(measure, **options)


@pytest.mark.parametrize(
    ("measure", "expected_labels"),
    [
        (CAM @ 10, ["CAM gate=relevance", "CAM cutoff=5", "CAM cutoff=20", "MM", "TOMA gate=relevance"]),
        (ma.MM(base="nDCG@5"), ["MM cutoff=10", "MM cutoff=20", "CAM", "TOMA gate=relevance"]),
        (
            TOMA(gate="relevance") @ 7,
            [
                "TOMA distance=manhattan", "TOMA distance=chebyshev", "TOMA axes=gains",
                "TOMA weighting=normalized", "TOMA weighting=exponential", "TOMA positives=top-half",
                "TOMA gate=none", "TOMA cutoff=5", "TOMA cutoff=10", "TOMA cutoff=20",
            ],
        ),
        (ir_measures.nDCG @ 10, ["nDCG cutoff=5", "nDCG cutoff=20", "nDCG dcg=exp-log2"]),
        (CAM(base="AP", empty="drop", normalized=False), [
            "CAM gate=relevance", "CAM cutoff=5", "CAM cutoff=10", "CAM cutoff=20", "MM", "TOMA gate=relevance",
        ]),
        (ma.On(base="P@10"), ["On cutoff=5", "On cutoff=20"]),
    ],
)  # fmt: skip
def test_one_choice_variants_differ_in_one_parameter(
    measure: Any, expected_labels: list[str]
) -> None:
    """A label is the name of a measure, and the parameter that differs: "CAM cutoff=5"."""
    variants = one_choice_variants(measure, ["relevance", "credibility"])
    assert list(variants) == expected_labels
    assert measure not in variants.values()
    for label, variant in variants.items():
        name, *choice = label.split()
        assert name == variant.NAME
        if variant.NAME == measure.NAME:
            parameter, _ = choice[0].split("=")
            assert variant[parameter] != measure[parameter]


def test_one_choice_variants_require_the_precondition() -> None:
    for aspects in (["credibility", "trust"], ["relevance"]):
        assert not any("gate" in label for label in one_choice_variants(CAM @ 10, aspects))
    assert list(one_choice_variants(CAM @ 10, ["a", "b"])) == [
        "CAM cutoff=5",
        "CAM cutoff=20",
        "MM",
        "TOMA",
    ]


def test_variants_in_an_experiment(perquery: pd.DataFrame) -> None:
    import pyterrier as pt

    runs, qrels = world()
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "x"})
    frames = [run.assign(rank=0) for run in runs.values()]
    table = pt.Experiment(frames, topics, qrels, list(grid().values()), names=list(runs)).set_index(
        "name"
    )
    means = perquery.groupby(["measure", "name"])["value"].mean()
    for label, measure in grid().items():
        for name in runs:
            assert table.loc[name, str(measure)] == pytest.approx(means[label, name], abs=1e-12)


# -- multiverse
# ---------------------------------------------------------------------------------------------


def test_variants_agree_with_compare_with_baseline(perquery: pd.DataFrame) -> None:
    result = multiverse(perquery, baseline="random")
    expected = compare_with_baseline(perquery, "random").set_index(["measure", "name"])
    table = perquery.pivot(index=["measure", "qid"], columns="name", values="value")
    assert len(result.variants) == 16 * 2
    for row in result.variants.to_dict("records"):
        other = expected.loc[(row["measure"], row["a"])]
        assert row["difference"] == pytest.approx(other["difference"])
        assert row["p"] == pytest.approx(other["p"])
        values = table.loc[row["measure"]]
        interval = ttest_rel(values[row["a"]], values["random"]).confidence_interval(0.95)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_doubles_are_variants_with_the_values_of_an_earlier_one(perquery: pd.DataFrame) -> None:
    """TOMA over nDCG reads no threshold, and its distance 'chebyshev' implies the gate."""
    result = multiverse(perquery)
    values = perquery.pivot(index="measure", columns=["name", "qid"], values="value")
    values = values.loc[list(grid())]
    is_double = values.round(12).duplicated()
    assert list(result.same_as) == list(is_double.index[is_double])
    for label, earlier in result.same_as.items():
        np.testing.assert_allclose(values.loc[label], values.loc[earlier], atol=1e-12)
    n_doubles = len(result.same_as)
    assert 0 < n_doubles < 15
    assert f"16 variants, {16 - n_doubles} with distinct values" in result.summary


def test_doubles_count_once(perquery: pd.DataFrame) -> None:
    """The fractions of a pair of runs, a and b, are those of the variants with distinct values."""
    result = multiverse(perquery)
    for row in result.pairs.to_dict("records"):
        is_of_pair = (result.variants["a"] == row["a"]) & (result.variants["b"] == row["b"])
        variants = result.variants[is_of_pair]
        is_double = variants["measure"].isin(result.same_as)
        differences = variants.loc[~is_double, "difference"]
        is_significant = variants.loc[~is_double, "p"] < 0.05
        assert row["better"] == pytest.approx((differences > 0).mean())
        assert row["worse"] == pytest.approx((differences < 0).mean())
        assert row["significantly_better"] == pytest.approx(
            ((differences > 0) & is_significant).mean()
        )
        # The first variant is the reference, with which more than half agree.
        sign_of_reference = np.sign(variants["difference"].iloc[0])
        has_sign_of_reference = np.sign(differences) == sign_of_reference
        assert row["agrees"] == (has_sign_of_reference.mean() > 0.5)


def test_ranks_are_ranges_over_the_variants(perquery: pd.DataFrame) -> None:
    result = multiverse(perquery, reference="distance=chebyshev gate=none cutoff=3 aspects=strict")
    means = perquery.groupby(["measure", "name"])["value"].mean().unstack()
    ranks = means.rank(axis=1, ascending=False, method="min")
    for row in result.runs.to_dict("records"):
        assert row["rank"] == ranks.loc[result.reference, row["name"]]
        assert (row["best"], row["worst"]) == (ranks[row["name"]].min(), ranks[row["name"]].max())


def test_main_effects_are_those_of_an_analysis_of_variance(perquery: pd.DataFrame) -> None:
    """The effect of a choice is its sum of squares between options, over the total sum of squares."""
    result = multiverse(perquery)
    # Of labels such as "distance=euclidean gate=none cutoff=3 aspects=strict".
    options_of_variants = [
        dict(choice.split("=") for choice in label.split(" ")) for label in grid()
    ]
    for (a, b), effects in result.choices.groupby(["a", "b"]):
        is_of_pair = (result.variants["a"] == a) & (result.variants["b"] == b)
        differences = result.variants.loc[is_of_pair, "difference"].to_numpy()
        mean = differences.mean()
        total = ((differences - mean) ** 2).sum()
        assert sorted(effects["choice"]) == ["aspects", "cutoff", "distance", "gate"]
        for effect in effects.to_dict("records"):
            options = np.array([choices[effect["choice"]] for choices in options_of_variants])
            between_options = 0.0
            for option in set(options):
                of_option = differences[options == option]
                between_options += len(of_option) * (of_option.mean() - mean) ** 2
            assert effect["effect"] == pytest.approx(between_options / total, abs=1e-12)
            assert effect["n_options"] == 2
        assert 0 <= effects["effect"].sum() <= 1 + 1e-12


def test_additive_differences_have_no_interactions() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for distance, cutoff in product(["euclidean", "chebyshev"], [5, 10, 20]):
        shift = 0.1 * (distance == "euclidean") + 0.01 * cutoff
        measure = str(TOMA(distance=distance) @ cutoff)
        for topic in range(4):
            base = rng.random()
            rows += [("a", f"q{topic}", measure, base + shift), ("b", f"q{topic}", measure, base)]
    effects = multiverse(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])).choices
    assert effects["effect"].sum() == pytest.approx(1)


def test_without_a_full_grid_effects_are_unknown(perquery: pd.DataFrame) -> None:
    some = perquery[perquery["measure"] != perquery["measure"].iloc[0]]
    some.attrs = perquery.attrs
    result = multiverse(some)
    assert result.choices["effect"].isna().all()
    assert any("no full grid" in note for note in result.notes)


def test_parameters_of_single_classes_are_no_choices() -> None:
    runs, qrels = world()
    scales = ma.Aspects(SCALES)
    classes = {"CAM": CAM, "MM": ma.MM, "GAM": ma.GAM}
    measures = {
        f"{name}@{k}": mean(aspects=scales) @ k for name, mean in classes.items() for k in (3, 5)
    }
    result = multiverse(ma.evaluate(runs, qrels, measures, progress=False))
    assert sorted(result.options) == ["cutoff", "measure"]
    assert not result.choices["effect"].isna().any()
    measures["normalized"] = CAM(aspects=scales, normalized=True) @ 3
    within = multiverse(ma.evaluate(runs, qrels, measures, progress=False))
    assert sorted(within.options) == ["cutoff", "measure", "normalized"]


def test_frames_without_the_record(perquery: pd.DataFrame) -> None:
    expected = multiverse(perquery)
    perquery.attrs = {}
    result = multiverse(perquery, measures=grid())
    for table in ("pairs", "runs", "choices", "variants", "options"):
        pd.testing.assert_frame_equal(getattr(result, table), getattr(expected, table))


def test_lower_is_better() -> None:
    rows = [
        (name, qid, measure, value)
        for measure in ("first", "second")
        for qid in ("q1", "q2")
        for name, value in (("a", 2.0), ("b", 5.0))
    ]
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    result = multiverse(frame, measures={"first": ma.ESL, "second": "lower"})
    assert result.pairs["better"].item() == 1
    assert result.runs.set_index("name")["rank"].to_dict() == {"a": 1, "b": 2}
    assert "1 of 1 pair has the same order under all of these" in result.summary
    opposite = multiverse(frame, measures={"first": ma.ESL, "second": "higher"})
    assert "0 of 1 pair has the same order" in opposite.summary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "TOMA"}, "TOMA"),
        ({"baseline": "none"}, "none"),
        (
            {"measures": ["distance=euclidean gate=none cutoff=3 aspects=strict"]},
            "at least two variants",
        ),
        ({"alpha": 1}, "alpha"),
        ({"correction": "guess"}, "correction"),
    ],
)
def test_bad_calls(perquery: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        multiverse(perquery, **options)


@pytest.mark.parametrize(
    ("kept", "n_significant", "expected"),
    [
        (0, 0, "No difference is significant (p < 0.05)."),
        (
            1,
            1,
            (
                "1 of 1 significant difference (p < 0.05) remains significant, with the same sign, "
                "under all."
            ),
        ),
        (
            0,
            1,
            (
                "0 of 1 significant difference (p < 0.05) remains significant, with the same sign, "
                "under all."
            ),
        ),
        (
            0,
            2,
            (
                "0 of 2 significant differences (p < 0.05) remain significant, with the same sign, "
                "under all."
            ),
        ),
    ],
)
def test_sentences_have_the_right_number(kept: int, n_significant: int, expected: str) -> None:
    assert significant_share(kept, n_significant, "p < 0.05", "under all") == expected
    assert share(1, 2, "pair", "has", "have") == "1 of 2 pairs has"


def test_text_and_html(perquery: pd.DataFrame) -> None:
    """In the page, a note says that variants with the same values count once."""
    result = multiverse(perquery, baseline="random")
    assert "pairs have the same order under all of these" in " ".join(str(result).split())
    assert "count once" in result._repr_html_()
