"""Measures read from strings, and several measures by labels."""

from __future__ import annotations

import ast
import contextlib
import json
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, P, R, nDCG
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA, MultiAspectError, MultiAspectWarning, On
from pt_multiaspect.bases.strings import read_measure
from pt_multiaspect.integration.parsing import MeasureName, as_measure, parse, parse_all
from pt_multiaspect.integration.provider import literal_value
from pt_multiaspect.measures import ALL

NAMED = ma.Aspects({"relevance": 2, "credibility": 3}, name="strings-test")
UNNAMED = ma.Aspects({"relevance": ma.Aspect(grades=[0, 1, 2], threshold=2), "credibility": 3})
ORDER = ma.Order({(0, 0): 0, (1, 0): 1, (1, 1): 2}, ["relevance", "credibility"])
VARIANTS: list[ir_measures.Measure] = [
    *ALL,
    *(measure(aspects=spec) for measure in ALL if "aspects" in measure.SUPPORTED_PARAMS for spec in (
        NAMED, UNNAMED, "relevance,credibility", {"relevance": 2, "credibility": 3},
    )),
    *(measure @ 10 for measure in ALL if "cutoff" in measure.SUPPORTED_PARAMS and measure.NAME != "MM"),
    TOMA(order=ORDER),
    TOMA(distance=1.5, weights={"relevance": 2, "credibility": 1}, gate="relevance", aspects=NAMED) @ 5,
    CAM(base={"relevance": "nDCG@5", "credibility": "AP(rel=2)"}),
    CAM(base="RBP(p=0.5,rel=1)", normalized=False, empty="drop"),
    On(aspect="credibility", base=nDCG(dcg="exp-log2") @ 10),
]  # fmt: skip


@pytest.mark.parametrize("measure", VARIANTS, ids=str)
def test_reads_what_measures_print(measure: ir_measures.Measure) -> None:
    read = read_measure(str(measure))
    assert type(read) is type(measure)
    assert read == measure


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir-measures reads literals by ast.Num")
@pytest.mark.parametrize(
    "text",
    [
        "1", "0.5", "1e400", "2j", "'text'", "u'text'", "True", "None", "{0: 0, 1: 5.5}", "{'a': {'b': 'c'}}", "{}",
        "b'text'", "...", "-1", "[1]", "(1, 2)", "name", "{**a}", "{1, 2}", "f'{1}'", "1 + 2j", "'a' 'b'",
    ],
)  # fmt: skip
def test_literals_are_those_of_ir_measures(text: str) -> None:
    def outcome(value: Callable[[ast.expr], Any]) -> tuple[type, str]:
        try:
            result = value(ast.parse(text, mode="eval").body)
        except ValueError as error:
            result = error
        return type(result), repr(result)

    assert outcome(literal_value) == outcome(ir_measures.util._ast_to_value)


def can_be_read(text: str) -> bool:
    """Return whether ir-measures reads the text, to a measure with valid parameters if it has a cutoff."""
    try:
        measure = ir_measures.parse_measure(text)
    except MultiAspectError:  # MM@10 without a base that takes a cutoff
        return False
    if "@" not in text:
        return True
    try:
        measure.validate_params()
    except (AssertionError, MultiAspectError):
        return False
    return True


def typed_params(measure: ir_measures.Measure) -> dict[str, tuple[type, Any]]:
    """The parameters with their types, as 1 equals 1.0 and True."""
    return {name: (type(value), value) for name, value in measure.params.items()}


def test_equals_ir_measures() -> None:
    """`read_measure` reads names as ir-measures does: of all measures, with and without a cutoff."""
    texts = [
        "nDCG@10",
        "AP(rel=2)",
        "nDCG(gains={0:0,1:5})@5",
        "Judged@10",
        "RBP(p=0.9)@7",
        "SetF(beta=0.5)",
        *map(str, VARIANTS),
    ]
    for name, measure in ir_measures.measures.registry.items():
        texts.append(name)
        if measure.AT_PARAM in measure.SUPPORTED_PARAMS:
            texts.append(f"{name}@10")
    readable = [text for text in texts if can_be_read(text)]
    assert len(readable) > 150
    for text in readable:
        expected = ir_measures.parse_measure(text)
        read = read_measure(text)
        assert type(read) is type(expected), text
        assert read == expected, text
        assert typed_params(read) == typed_params(expected), text


def test_trec_names_stay() -> None:
    """Text after a trec_eval name was ignored: ndcg_cut_10@5 was nDCG@10."""
    texts = [
        "map",
        "P.5,10",
        "ndcg_cut_10",
        "iprec_at_recall_0.10",
        "set_F_0.5",
        "recip_rank",
        "P",
        "11pt_avg",
    ]
    for text in texts[:-1]:
        assert parse(text) == ir_measures.util.parse_trec_measure(text)
    with pytest.raises(MultiAspectError, match="does not support"):
        parse(texts[-1])


def test_reads_without_deprecated_parts_of_python() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            read_measure("TOMA(distance=1,weights={'relevance':2.5})@10")["distance"] == "manhattan"
        )


def test_reads_lists_and_negative_numbers() -> None:
    assert read_measure("TOMA(aspects=['relevance', 'credibility'])") == TOMA(
        aspects=["relevance", "credibility"]
    )
    assert read_measure(" nDCG(gains={-1: 0, 1: 5}) @ 10 ")["gains"] == {-1: 0, 1: 5}
    for text, part in {
        "nDCG@-5": "at least 1, got -5",
        "RBP(p=-0.5)": "p: expected a number",
        "uRBP(p=-1)": "p: expected a number",
    }.items():
        with pytest.raises(MultiAspectError, match=part):
            read_measure(text)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("TOMA(aspects=relevance)@10", "aspects=relevance: relevance needs quotes, aspects='relevance'"),
        ("CAM(base=nDCG@10)", "base=nDCG@10: nDCG@10 needs quotes, base='nDCG@10'"),
        ("TOMA(aspects=-a)", "aspects=-a: -a needs quotes, aspects='-a'"),
        ("TOMA(aspects=[a, b])", "aspects=[a, b]: a needs quotes, aspects=['a', 'b']"),
        ("CAM(base={'relevance': AP})", "base={'relevance': AP}: AP needs quotes, base={'relevance': 'AP'}"),
        ("CAM(normalized=true)", "normalized=true: write True for true, normalized=True"),
        ("nDCG@k", "@k: expected a whole number as cutoff, got k"),
        ("nDCG@ten", "@ten: expected a whole number as cutoff, got ten"),
        ("TOMA(aspects=relevance,trust)", "cannot read the measure 'TOMA(aspects=relevance,trust)': positional"),
        ("nDCG@", "cannot read the measure 'nDCG@': invalid syntax"),
        ("TOMA('nDCG')", "cannot read the measure \"TOMA('nDCG')\": parameters must be given by name"),
        ("nDCG@5@10", "cannot read the measure 'nDCG@5@10': 'nDCG@5' is not a name"),
        ("nDCG(cutoff=5)@10", "nDCG: cutoff is given twice, as 5 and 10"),
        ("AP(rel=1, rel=2)", "AP: rel is given twice, as 1 and 2"),
        ("TOMA(weights={'a': 1, 'a': 2})", "weights={'a': 1, 'a': 2}: the key 'a' is given twice"),
        ("AP(level=2)", "AP: expected parameters"),
        ("AP(rel='x')", "AP: expected rel to be int, got 'x'"),
        ("ndcg@10", "unknown measure 'ndcg'; the nearest names are NDCG, nDCG, DnDCG"),
        ("nDCG10", "unknown measure 'nDCG10'; write nDCG@10"),
        ("cam_cut_10", "unknown measure 'cam_cut_10'; write CAM@10"),
        ("precision_at_5", "unknown measure 'precision_at_5'; write P@5"),
        ("toma", "unknown measure 'toma'; the nearest names are TOMA"),
        ("Bpref10", "unknown measure 'Bpref10'; the nearest names are"),  # it has no cutoff
        ("nDCG0", "unknown measure 'nDCG0'; the nearest names are"),
        ("TOMO@10", "unknown measure 'TOMO'; the nearest names are TOMA"),
        ("gm_map", "ir-measures does not support trec_eval's measure 'gm_map'"),
        ("x" * 5000, "unknown measure 'xxx"),
        ("(" * 5000, "cannot read the measure '((("),
        (f"TOMA(aspects={'relevance.' * 5000}x)", "cannot read the measure 'TOMA(aspects=rel"),
        (
            "ndcg_cut_10@5",
            ("cannot read the measure 'ndcg_cut_10@5': unexpected '@5' after the trec_eval name "
            "'ndcg_cut_10'"),
        ),
        ("P_5abc", "cannot read the measure 'P_5abc': unexpected 'abc' after"),
        ("", "cannot read the measure ''"),
    ],
)  # fmt: skip
def test_errors_say_the_cause_first_and_briefly(text: str, starts: str) -> None:
    with pytest.raises(MultiAspectError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(starts), message
    assert len(message) < 300
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


# --- several measures -------------------------------------------------------------------------

QRELS = {
    "q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 2}},
    "q2": {"d1": {"relevance": 2, "credibility": 1}, "d3": {"relevance": 0, "credibility": 1}},
}
RUNS = {
    "one": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 2.0, "d1": 1.0}},
    "two": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 2.0}},
}
ASPECTS = {"relevance": 2, "credibility": 2}


def evaluate_measures(measures: Any) -> pd.DataFrame:
    return ma.evaluate(RUNS, QRELS, measures, progress=False)


def test_a_mapping_is_label_to_measure() -> None:
    """The key was evaluated once, and the measure it stood for was not."""
    measure = CAM(base="AP", aspects=ASPECTS) @ 1
    values = evaluate_measures({"CAM": measure, "nDCG": "P@1"})
    assert values["measure"].unique().tolist() == ["CAM", "nDCG"]
    expected = evaluate_measures([measure, P @ 1])
    assert values["value"].tolist() == expected["value"].tolist()
    assert (
        values["value"].tolist()
        != evaluate_measures([CAM(aspects=ASPECTS), nDCG])["value"].tolist()
    )
    table, plain = ma.aggregate(values), ma.aggregate(expected)
    assert list(table.columns) == ["name", "CAM", "nDCG"]
    assert table["CAM"].tolist() == plain[str(measure)].tolist()


@pytest.mark.parametrize(
    ("measures", "parts"),
    [
        ({}, ["at least one measure", "got none"]),
        ({"P": "P"}, ["one measure for the alias 'P'", "expands to 9", "P@5"]),
        ({1: "AP"}, ["{alias: measure}", "got 1"]),
        ({"a": 3}, ["expected a measure", "got 3"]),
        ({"a": "nDGC"}, ["unknown measure 'nDGC'"]),
        (
            [ir_measures.define_byquery(lambda qrels, run: 0.5, name="AP"), AP],
            ["two different measures", "'AP'"],
        ),
    ],
)
def test_bad_mappings(measures: Any, parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        evaluate_measures(measures)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


LABELLED = {"returned": ir_measures.NumRet, "relevant": "NumRel", "mean": AP}


def by_ir_measures(run: str) -> list[float]:
    relevance = {
        qid: {docno: row["relevance"] for docno, row in judged.items()}
        for qid, judged in QRELS.items()
    }
    return [parse(measure)[0].calc_aggregate(relevance, RUNS[run]) for measure in LABELLED.values()]


@pytest.mark.slow
def test_aggregate_knows_what_labels_stand_for(tmp_path: Any) -> None:
    """A frame of values records its measures, also after what users do with frames: "returned" is a sum."""
    values = evaluate_measures(LABELLED)
    record_from_json = values.copy()
    record_from_json.attrs = json.loads(json.dumps(values.attrs))
    first_run, second_run = values[values["name"] == "one"], values[values["name"] == "two"]
    frames = {
        "as it is": values,
        "copied": values.copy(),
        "sorted": values.sort_values("value"),
        "selected": values[values["name"] != "none"],
        "pickled": pickle.loads(pickle.dumps(values)),
        "concatenated": pd.concat([first_run, second_run]),
        "record from JSON": record_from_json,
    }
    if pd.__version__ >= "2.1":  # which keeps attrs in Parquet files
        with contextlib.suppress(ImportError):
            values.to_parquet(tmp_path / "values.parquet")
            frames["Parquet"] = pd.read_parquet(tmp_path / "values.parquet")
    for how, frame in frames.items():
        table = ma.aggregate(frame).set_index("name")[list(LABELLED)]
        for run in RUNS:
            assert table.loc[run].tolist() == pytest.approx(by_ir_measures(run)), how


@pytest.mark.slow
def test_aggregate_averages_labels_of_which_nothing_is_recorded() -> None:
    """With a warning, unless the call says what they stand for."""
    values = evaluate_measures(LABELLED)
    bare = values.copy()
    bare.attrs = {}
    message = r"returned.*no record of the measures: values are averaged; pass"
    with pytest.warns(MultiAspectWarning, match=message):
        averaged = ma.aggregate(bare)["returned"]
    expected = bare[bare["measure"] == "returned"].groupby("name")["value"].mean()
    assert averaged.tolist() == pytest.approx(expected.tolist())

    pd.testing.assert_frame_equal(ma.aggregate(bare, LABELLED), ma.aggregate(values))
    with pytest.raises(MultiAspectError, match=r"measures=.*relevant, mean"):
        ma.aggregate(values, {"returned": ir_measures.NumRet})


@pytest.mark.slow
def test_aggregate_reads_names_of_measures_without_a_record() -> None:
    values = evaluate_measures(["NumRel", "NumRet"])
    expected = ma.aggregate(values)
    values.attrs = {}
    pd.testing.assert_frame_equal(ma.aggregate(values), expected)


@pytest.mark.parametrize(
    ("call", "most_copies"),
    [
        pytest.param(ma.aggregate, 20, id="aggregate"),
        pytest.param(
            lambda values: ma.systems_table(values, baseline="one"), 120, id="systems_table"
        ),
    ],
)
def test_pandas_copies_the_record_a_few_times_only(
    call: Any, most_copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pandas copies the record of a frame in most operations, also on groups: not once per topic or value."""
    values = evaluate_measures({"x": "map", "y": "nDCG@10"})
    copies: list[MeasureName] = []

    def record_copy(self: MeasureName, memo: Any) -> MeasureName:
        copies.append(self)
        return self

    monkeypatch.setattr(MeasureName, "__deepcopy__", record_copy)
    call(values)
    n_measures = 2
    assert len(copies) / n_measures <= most_copies
    if int(pd.__version__.partition(".")[0]) >= 3:  # earlier ones share the record
        assert copies


def test_a_record_that_cannot_be_read_is_reported() -> None:
    values = evaluate_measures({"x": "map"})
    values.attrs = {"measures": {"x": "NotHere@10"}}
    with pytest.warns(
        MultiAspectWarning, match=r"x is recorded as the measure NotHere@10.*pass measures="
    ):
        table = ma.aggregate(values)
    assert table["x"].tolist() == ma.aggregate(evaluate_measures("map"))["map"].tolist()


@pytest.mark.parametrize("kind", [pd.DataFrame, ma.Judgments])
def test_qrels_are_no_measures(kind: Any) -> None:
    frame = pd.DataFrame({"qid": ["q"], "docno": ["d"], "relevance": [1]})
    run = {"q": {"d": 1.0}}
    with pytest.raises(
        ma.MultiAspectError, match=rf"\({kind.__name__}\)\. Are the qrels and the measures swapped"
    ):
        ma.evaluate(run, frame, kind(frame), progress=False)


def test_mappings_elsewhere() -> None:
    """Measures by label are also read by analyses and for scorers."""
    measures = {"ours": CAM(aspects=ASPECTS), "plain": "nDCG"}
    table = ma.analysis.attainable(QRELS, measures)
    assert table["measure"].tolist() == ["ours", "plain"]

    (measure,) = parse_all({"ours": "TOMA"}).values()
    assert repr(ma.ranking_scorer(measure)) == "ranking_scorer(TOMA)"


# --- directions -------------------------------------------------------------------------------


@no_warnings()
def test_evaluations_and_scorers_know_the_direction() -> None:
    """They do not warn that lower is better for ESL, as PyTerrier's grid search has to."""
    evaluate_measures(["ESL"])
    ma.ranking_scorer("ESL")
    assert parse("ESL") == [ma.ESL]


# --- one road ---------------------------------------------------------------------------------


def draw_ranking_world() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels with labels from -1 to 3, and a run that retrieves some unjudged documents, on eight topics."""
    rng = np.random.default_rng(3)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in range(8):
        qrels[f"q{topic}"] = {f"d{number}": int(rng.integers(-1, 4)) for number in range(12)}
        qrels[f"q{topic}"]["d12"] = 3
    for qid in qrels:
        retrieved = rng.choice(16, 11, replace=False)
        run[qid] = {f"d{number}": float(rng.normal()) for number in retrieved}
    return qrels, run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pt_multiaspect.errors.MultiAspectWarning")
def test_as_measure_equals_ir_measures() -> None:
    """`as_measure` turns measures of ir-measures into `On` with the same values.

    Except ERR, whose highest grade is another, and those that cannot be computed here.
    """
    qrels, run = draw_ranking_world()

    def values_of(measure: Any) -> list[float]:
        return ma.evaluate({"run": run}, qrels, measure, progress=False)["value"].tolist()

    originals = {
        name: measure
        for name, measure in sorted(ir_measures.measures.registry.items())
        if not isinstance(measure, ma.Measure)
    }
    compared = set()
    for name, original in originals.items():
        variants = [original]
        if original.AT_PARAM in original.SUPPORTED_PARAMS:
            variants.append(original @ 5)
        for variant in variants:
            try:
                expected = values_of(variant)
            except (MultiAspectError, ImportError, OSError):
                continue
            if name == "ERR":
                with pytest.raises(MultiAspectError):
                    as_measure(variant)
                continue
            ours = as_measure(variant)
            assert values_of(ours) == pytest.approx(expected, abs=1e-6), (variant, ours)
            compared.add(name)
    assert {"AP", "nDCG", "P", "RR", "RBP", "Rprec", "SetF", "Judged", "Success", "R"} <= compared


def test_as_measure_keeps_measures_of_this_package() -> None:
    for measure in ir_measures.measures.registry.values():
        if isinstance(measure, ma.Measure):
            assert as_measure(measure) is measure


def test_as_measure_writes_out_the_threshold_of_ir_measures() -> None:
    """On has the threshold of the aspect by default."""
    assert as_measure(ir_measures.RBP @ 5) == On(base="RBP(rel=1)@5")
    assert as_measure(R @ 10) == On(base="R(rel=1)@10")


LABELS = {"q": {"a": 2, "b": 0, "c": 1, "d": 1}}
RANKED = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "x": 1.0}}


@pytest.mark.parametrize("text", ["RBP(p=0.8)", "RBP", "RBP(p=0.5)@2", "RBP(p=0)"])
def test_rbp_without_rel_is_that_of_the_base(text: str) -> None:
    """No tool of ir-measures computes it."""
    aspects = ma.Aspects({"relevance": 2})
    wanted = On(base=text, aspects=aspects).calc_aggregate(LABELS, RANKED)
    for measure in (text, parse(text)[0]):
        table = ma.evaluate(RANKED, LABELS, {"label": measure}, progress=False)
        assert table["value"].item() == wanted > 0
    judged = pd.DataFrame(
        {"qid": "q", "docno": list("abcd"), "label": [2, 0, 1, 1], "credibility": [0, 1, 0, 1]}
    )
    both = ma.evaluate(
        RANKED, judged, [text, "AP", "CAM(base='AP',aspects='relevance')"], progress=False
    )
    assert both["value"].iloc[0] == wanted


@pytest.mark.parametrize(
    "base", ["SetF(beta=2)", ir_measures.SetF(beta=2), "SetF(beta=2.0)"], ids=str
)
def test_whole_numbers_are_taken_where_ir_measures_wants_floats(base: object) -> None:
    wanted = ir_measures.SetF(beta=2.0).calc_aggregate(LABELS, RANKED)
    assert ma.evaluate(RANKED, LABELS, {"one": base}, progress=False)[
        "value"
    ].item() == pytest.approx(wanted)
    measure = On(base=base, aspects={"relevance": 2})
    assert measure.calc_aggregate(LABELS, RANKED) == pytest.approx(wanted)
    assert ir_measures.parse_measure(str(measure)) == measure


@pytest.mark.parametrize("value", ["1e400", "-1e400"])
def test_numbers_that_cannot_be_printed_are_refused(value: str) -> None:
    measure = ir_measures.INSQ(T=float(value), max_rel=2)
    for make in (
        lambda: ma.evaluate(RANKED, LABELS, f"INSQ(T={value},max_rel=2)", progress=False),
        lambda: ma.evaluate(RANKED, LABELS, measure, progress=False),
        lambda: On(base=f"INSQ(T={value},max_rel=2)"),
        lambda: On(base=measure),
        lambda: ir_measures.parse_measure(f"On(base='INSQ(T={value},max_rel=2)')"),
    ):
        with pytest.raises(
            MultiAspectError, match=r"INSQ: expected T to be a finite number, got -?inf"
        ):
            make()


@pytest.mark.parametrize(
    ("make", "example"),
    [
        (
            lambda: ma.On("credibility"),
            "On: expected parameters by name, as in On(aspect='credibility'), got",
        ),
        (lambda: CAM(10), "CAM: expected parameters by name, got 10; for a cutoff, use CAM @ 10"),
        (
            lambda: ma.On("credibility", "AP"),
            "as in On(aspect='credibility', base='AP'), got values without names",
        ),
        (lambda: ma.CAM("nDCG@10"), "as in CAM(base='nDCG@10'), got"),
        (lambda: ma.TOMA(LABELS, RANKED), "as in TOMA(base=…, distance=…), got"),
        (lambda: type(ma.MM)("AP"), "as in MM(base='AP'), got"),
    ],
)
def test_values_without_names_get_one_sentence(make: Callable[[], object], example: str) -> None:
    with pytest.raises(MultiAspectError) as raised:
        make()
    assert example in str(raised.value)
