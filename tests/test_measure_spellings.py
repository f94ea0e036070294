"""Names of measures that are compared as measures, in frames and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

matplotlib.use("Agg")

GATED = "TOMA(gate='relevance')@10"
SPELLINGS = [
    'TOMA(gate="relevance")@10',
    "TOMA( gate = relevance ) @ 10",
    ma.TOMA(gate="relevance") @ 10,
]
QRELS = {
    f"q{q}": {f"d{d}": {"relevance": (q * d) % 3, "credibility": (q + d) % 3} for d in range(5)}
    for q in range(4)
}
RUNS = {
    name: {qid: {docno: float((int(docno[1]) * step) % 7) for docno in QRELS[qid]} for qid in QRELS}
    for name, step in {"one": 1, "two": 2, "three": 4}.items()
}
SCALES = {"relevance": 2, "credibility": 2}
MEASURES = {
    GATED: ma.TOMA(gate="relevance", aspects=SCALES) @ 10,
    "AP": ma.On(base="AP", aspects=SCALES),
    "CAM@10": ma.CAM(aspects=SCALES) @ 10,
}
FRAME = ma.evaluate(RUNS, QRELS, MEASURES, progress=False)


def missing(measure: object) -> Any:
    """Plot the intervals of one of two measures."""
    return ma.plots.label_intervals(ma.analysis.missing_labels(RUNS, QRELS, MEASURES), measure)


#: Functions of a frame and the measure.
DOORS: dict[str, Callable[[Any], object]] = {
    "plots.values": lambda measure: ma.plots.values(FRAME, [measure]).get_figure(),
    "plots.systems": lambda measure: ma.plots.systems(FRAME, "AP", measure),
    "plots.label_intervals": missing,
    "correlation": lambda measure: ma.analysis.correlation(FRAME, measures=[measure, "AP"]),
    "ranks": lambda measure: ma.analysis.ranks(FRAME, measures=[measure]),
    "robustness": lambda measure: ma.robustness(FRAME, measure=measure),
    "variants": lambda measure: ma.robustness(FRAME, measure="AP", variants=[measure]),
    "detectable_difference": lambda measure: ma.analysis.detectable_difference(
        FRAME, measures=[measure], difference={str(measure): 0.1}
    ),
    "multiverse": lambda measure: ma.analysis.multiverse(
        FRAME, measures=["AP", measure], reference=measure
    ),
    "largest_differences": lambda measure: ma.largest_differences(
        FRAME, "one", "two", measure=measure
    ),
    "aggregate": lambda measure: ma.aggregate(
        FRAME, measures=["map", measure, "CAM(base='nDCG@10')"]
    ),
    "systems_table": lambda measure: ma.systems_table(FRAME, ["AP", measure, "CAM@10"]),
    "decimals": lambda measure: ma.systems_table(FRAME, decimals={str(measure): 5}),
    "report": lambda measure: ma.report(FRAME, measures=[measure, "AP"]).labels,
}


@pytest.mark.parametrize("door", DOORS)
def test_measures_of_a_frame_in_another_spelling(door: str) -> None:
    """The result is that of the measure as the frame has it."""
    expected = str(DOORS[door](GATED))
    double_quotes, without_quotes, measure = SPELLINGS
    accepted = [double_quotes, measure]
    # `aggregate` and `systems_table` take measures as `evaluate` does, in Python's syntax only.
    if door not in ("aggregate", "systems_table"):
        accepted.append(without_quotes)
    for spelling in accepted:
        result = str(DOORS[door](spelling))
        if not door.startswith("plots."):  # figures have no text to compare
            assert result == expected


@pytest.mark.parametrize(
    "other", ["TOMA@10", "TOMA(gate='credibility')@10", "TOMA(gate='relevance')@5", "no"]
)
@pytest.mark.parametrize(
    "door", ["plots.systems", "ranks", "robustness", "largest_differences", "report"]
)
def test_another_measure_is_not_found(door: str, other: str) -> None:
    with pytest.raises(MultiAspectError, match="measures of the frame"):
        DOORS[door](other)


def test_an_alias_is_found_by_its_measure() -> None:
    measure = ma.TOMA(gate="relevance", aspects=SCALES) @ 10
    frame = ma.evaluate(RUNS, QRELS, [ma.alias("closeness", measure), "AP"], progress=False)
    differences = ma.largest_differences(frame, "one", "two", measure=measure)
    assert set(differences["measure"]) == {"closeness"}
    names = [ma.alias(name, measure) for name in ("closeness", "nearness")]
    twice = ma.evaluate(RUNS, QRELS, names, progress=False)
    with pytest.raises(MultiAspectError, match="closeness, nearness"):  # not clear which one
        ma.largest_differences(twice, "one", "two", measure=measure)


@pytest.fixture
def values(cli) -> Callable[..., tuple[int, str, str]]:
    """A file of values, and a function that runs a command on it."""
    code, _, _ = cli(
        "evaluate",
        "-m",
        "TOMA(gate=relevance)@10",
        "short=CAM@10",
        "AP",
        "-q",
        "-o",
        "v.csv",
        "runs",
    )
    assert code == 0
    return lambda *arguments: cli(*arguments, qrels=())


@pytest.mark.parametrize("spelling", SPELLINGS[:2])
def test_measures_of_a_file_of_values(values, spelling: str) -> None:
    """v.csv has the values of this measure by another spelling, of short (CAM@10) and of AP."""
    for command in (
        ["plot", "values", "v.csv", "-m", spelling, "-o", "v.svg"],
        ["plot", "systems", "v.csv", "-m", spelling, "map", "-o", "v.svg"],
        # Beside a label with its direction.
        ["plot", "values", "v.csv", "-m", spelling, "AP=higher", "-o", "v.svg"],
    ):
        code, out, _ = values(*command)
        assert (code, out) == (0, "")
    code, _, _ = values("robustness", "--values", "v.csv", "-m", spelling)
    assert code == 0


def test_measures_that_a_file_of_values_lacks(values) -> None:
    code, _, err = values("plot", "values", "v.csv", "-m", "TOMA@10", "-o", "v.svg")
    assert code == 2
    assert "expected measures of the f" in err


def rows_below_the_head(out: str) -> list[str]:
    return out.splitlines()[1:]


@pytest.mark.parametrize("spelling", ["TOMA(gate='relevance')@10", *SPELLINGS[:2]])
def test_positional_measures_with_an_equals_sign(cli, spelling: str) -> None:
    """They may follow runs, or --qrels, whose values contain an equals sign, too."""
    code, expected, _ = cli("evaluate", "runs", "-m", "TOMA(gate=relevance)@10")
    assert code == 0

    code, after_runs, _ = cli("evaluate", "runs", spelling)
    assert code == 0
    assert rows_below_the_head(after_runs) == rows_below_the_head(expected)

    qrels = ["relevance=relevance.txt", "credibility=credibility.txt"]
    code, after_qrels, _ = cli("evaluate", "runs", "--qrels", *qrels, spelling, qrels=())
    assert code == 0
    assert rows_below_the_head(after_qrels) == rows_below_the_head(expected)


def test_positional_measures_with_a_label(cli) -> None:
    """X=On(...) after --qrels is a measure with a label, and no file of an aspect X."""
    code, out, _ = cli(
        "evaluate", "runs", "--qrels", "relevance.txt", "X=On(base='ERR@10')", "On(base='AP')",
        qrels=(),
    )  # fmt: skip
    assert code == 0
    head = out.splitlines()[0]
    assert head.split("\t") == ["name", "X", "On(base='AP')"]


def test_files_with_names_of_measures(cli, trec_files) -> None:
    (trec_files / "AP").write_text((trec_files / "relevance.txt").read_text())
    code, out, _ = cli(
        "evaluate", "-m", "nDCG@10", "--qrels", "relevance=AP", "--", "runs", qrels=()
    )
    assert code == 0
    assert (
        out
        == cli("evaluate", "-m", "nDCG@10", "--qrels", "relevance.txt", "--", "runs", qrels=())[1]
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["runs", "TOMAA(gate='relevance')@10"], "unknown measure 'TOMAA'"),
        (["runs", "X=TOMA(gat='relevance')@10"], "expected parameters"),
        (["TOMA(gate='relevance')@10", "runs"], "is a measure; write it after -m"),
        (
            ["-m", "AP", "--", "TOMA(gate='relevance')@10", "runs"],
            "is a measure; write it after -m",
        ),
        (["runs", "-m", "TOMA@5(gate=relevance)"], "write TOMA(gate='relevance')@5"),
        (
            ["runs", "-m", "TOMA@5(gate=relevance, distance=1)"],
            "write TOMA(gate='relevance', distance=1)@5",
        ),
        (["runs", "-m", "TOMA(gate=relevance@5)"], "write TOMA(gate='relevance')@5"),
        (["runs", "-m", "TOMA(gate=relevance@5,axes=gains)"], "write TOMA(gate='relevance', …)@5"),
        (["runs", "-m", "TOMA(axes=gains@5)"], "write TOMA(axes='gains')@5"),
        (["runs", "-m", "On(aspect=credibility@5)"], "write On(aspect='credibility')@5"),
        (["runs", "-m", "TOMA(gate=credible@5)"], "expected one of the evaluated aspects"),
    ],
)
def test_mistaken_measures(cli, arguments: list[str], part: str) -> None:
    code, out, err = cli("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1


def test_a_cutoff_in_a_parameter_of_an_object() -> None:
    with pytest.raises(MultiAspectError, match=r"write TOMA\(gate='relevance'\)@5"):
        ma.TOMA(gate="relevance@5", aspects=SCALES)
    with pytest.raises(MultiAspectError, match=r"write TOMA\(gate='relevance'\)@5"):
        ma.evaluate(RUNS, QRELS, ma.TOMA(gate="relevance@5"), progress=False)
    with pytest.raises(MultiAspectError, match=r"write CAM\(empty='zero'\)@5"):
        ma.CAM(empty="zero@5")


def test_an_aspect_whose_name_has_a_cutoff() -> None:
    """As measures that are criteria have it."""
    named = {
        qid: {
            docno: {"exact": 1, "exact@5": labels["relevance"]}
            for docno, labels in documents.items()
        }
        for qid, documents in QRELS.items()
    }
    assert (
        ma.TOMA(gate="exact@5", aspects={"exact": 1, "exact@5": 2}).calc_aggregate(
            named, RUNS["one"]
        )
        > 0
    )
