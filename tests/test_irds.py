"""Judgments of ir_datasets: its own record types and definitions, without downloads."""

from __future__ import annotations

import fnmatch
import json
import re
from typing import Any, NamedTuple

import ir_datasets
import pytest
from ir_datasets.datasets import clueweb12, highwire, touche
from ir_datasets.formats import touche as formats
from ir_datasets.formats.trec import TrecPrel, TrecQrel, TrecSubQrel
from shared_data import shared_path

import pt_multiaspect as ma
from pt_multiaspect import datasets
from pt_multiaspect.datasets.irds import ASPECTS_OF_RECORDS, CODES_OF_RECORDS


class Dataset:
    """A dataset as `ir_datasets.load` returns it, with given judgments."""

    def __init__(self, records: list[Any], definitions: Any = None) -> None:
        self._records, self._definitions = records, definitions

    def dataset_id(self) -> str:
        return "some/dataset"

    def qrels_iter(self) -> Any:
        print("/path/of/a/file")
        yield from self._records

    def qrels_defs(self) -> Any:
        return self._definitions


RUN = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}

EHEALTH = Dataset(
    [
        # Relevance, trustworthiness, understandability, and the year.
        clueweb12.EhealthQrel("q1", "d1", 2, 80, 49, "0"),
        clueweb12.EhealthQrel("q1", "d2", 1, 20, 50, "1"),
        clueweb12.EhealthQrel("q1", "d3", 0, 0, 100, "1"),
    ],
    clueweb12.EHEALTH_QREL_DEFS,
)


def test_ehealth(capsys) -> None:
    judged = datasets.from_irds(EHEALTH)
    assert capsys.readouterr().out == ""
    columns = ["qid", "docno", "label", "trustworthiness", "understandability", "iteration"]
    assert list(judged.qrels.columns) == columns
    assert judged.qrels.iloc[1].tolist() == ["q1", "d2", 1, 20, 50, "1"]
    assert judged.aspects == ma.Aspects(
        {
            "relevance": ma.Aspect(2, probabilities=[0, 1, 1]),
            "trustworthiness": 100,
            "understandability": ma.Aspect(100, threshold=50),
        }
    )
    assert "0 for pairs judged in 2016" in repr(judged)


def test_measures_of_ehealth_are_those_of_the_task() -> None:
    """Of the run d1, d2, d3, d1 and d2 are relevant, and have the understandability 49 and 50 of 100."""
    judged = datasets.from_irds(EHEALTH)
    scales = judged.aspects
    two = ma.Aspects(
        {"relevance": scales["relevance"], "understandability": scales["understandability"]}
    )
    p = 0.8
    binary = ma.uRBP(p=p, aspects=two).calc_aggregate(judged.qrels, RUN)
    assert binary == pytest.approx((1 - p) * (0 + p * 1))  # the threshold is 50

    p = 0.5
    graded = ma.uRBPgr(p=p, aspects=two).calc_aggregate(judged.qrels, RUN)
    assert graded == pytest.approx((1 - p) * (0.49 + p * 0.50))


def test_a_pair_judged_in_both_years_is_an_error_when_it_is_evaluated() -> None:
    """The iteration is the year: d1 has the label 2 in the first year and 1 in the second."""
    again = clueweb12.EhealthQrel(
        query_id="q1",
        doc_id="d1",
        relevance=1,
        trustworthiness=80,
        understandability=49,
        iteration="1",
    )
    judged = datasets.from_irds(Dataset([*EHEALTH._records, again], EHEALTH._definitions))
    measure = ma.CAM(aspects=judged.aspects)
    with pytest.raises(ma.MultiAspectError, match=r"expected one label.*column label.*d1"):
        ma.evaluate(RUN, judged.qrels, measure, progress=False)

    second_year = judged.qrels[judged.qrels["iteration"] == "1"]
    assert len(ma.evaluate(RUN, second_year, measure, progress=False)) == 1


MISINFO = Dataset(
    [
        # ir_datasets spells credibility so.
        clueweb12.MisinfoQrel("q1", "d1", relevance=2, effectiveness=3, redibility=1),
        clueweb12.MisinfoQrel("q1", "d2", relevance=0, effectiveness=-1, redibility=0),
    ],
    clueweb12.MISINFO_QREL_DEFS,
)


def test_misinfo_is_spelt_as_it_is_meant_and_codes_are_no_aspect() -> None:
    """Effectiveness has codes without an order; the grades of credibility are not stated."""
    judged = datasets.from_irds(MISINFO)
    assert list(judged.qrels.columns) == ["qid", "docno", "label", "credibility"]
    assert judged.aspects == ma.Aspects({"relevance": 2, "credibility": None})
    assert ma.Judgments(judged.qrels).label_names == ("relevance", "credibility")
    assert any("effectiveness was left out: it contains codes" in note for note in judged.notes)
    assert any("does not state the codes of credibility" in note for note in judged.notes)
    with pytest.warns(ma.MultiAspectWarning, match=r"inferred.*credibility 0, 1"):
        ma.evaluate(RUN, judged.qrels, ma.TOMA(aspects=judged.aspects), progress=False)


def test_codes_are_an_aspect_if_their_grades_are_declared() -> None:
    grades_of_effectiveness = [-1, 1, 2, 3]
    judged = datasets.from_irds(
        MISINFO, aspects={"credibility": 1, "effectiveness": grades_of_effectiveness}
    )
    assert judged.aspects["effectiveness"].grades == (-1, 1, 2, 3)
    assert judged.aspects["credibility"].grades == (0, 1)
    assert judged.qrels["effectiveness"].tolist() == [3, -1]
    assert not any("codes" in note for note in judged.notes)


@pytest.mark.parametrize(
    ("record", "definitions", "other_aspects"),
    [
        pytest.param(
            formats.ToucheQualityQrel("q1", "d1", relevance=-2, quality=2, iteration="0"),
            touche.QRELS_DEFS_2021_TASK_1,
            ["quality"],
            id="2021 task 1",
        ),
        pytest.param(
            formats.ToucheQualityCoherenceQrel(
                "q1", "d1", relevance=2, quality=1, coherence=0, iteration="0"
            ),
            touche.QRELS_DEFS_2022_TASK_1,
            ["quality", "coherence"],
            id="2022 task 1",
        ),
    ],
)
def test_touche(record, definitions, other_aspects) -> None:
    """The grades of relevance are known, those of other aspects are not stated by ir_datasets."""
    judged = datasets.from_irds(Dataset([record], definitions))
    assert list(judged.aspects) == ["relevance", *other_aspects]
    assert judged.aspects["relevance"].grades == (0, 1, 2)
    for name in other_aspects:
        assert judged.aspects[name].grades is None
    assert ma.Judgments(judged.qrels).label_names == ("relevance", *other_aspects)


def test_stances_of_touche_are_no_aspect() -> None:
    """They stay in the qrels as a column of words."""
    record = formats.ToucheQualityComparativeStanceQrel(
        "q1",
        "d1",
        relevance=2,
        quality=1,
        stance=formats.ToucheComparativeStance.FIRST,
        iteration="0",
    )
    judged = datasets.from_irds(Dataset([record], touche.QRELS_DEFS_2022_TASK_2))
    assert list(judged.aspects) == ["relevance", "quality"]
    assert judged.aspects["relevance"].grades == (0, 1, 2)
    assert judged.aspects["quality"].grades is None
    assert ma.Judgments(judged.qrels).label_names == ("relevance", "quality")
    assert judged.qrels["stance"].tolist() == ["FIRST"]


def test_junk_has_gain_0() -> None:
    """Without a grade 0, junk would count as the lowest grade, of gain 1."""
    records = [
        TrecQrel("q1", "d1", -2, "0"),
        TrecQrel("q1", "d2", 1, "0"),
        TrecQrel("q1", "d3", 5, "0"),
    ]
    judged = datasets.from_irds(Dataset(records, touche.QRELS_DEFS_2020_TASK_1))
    assert judged.aspects["relevance"] == ma.Aspect([-2, 1, 2, 3, 4, 5], gains=[0, 1, 2, 3, 4, 5])
    value = ma.On(base="DCG@1", aspects=judged.aspects).calc_aggregate(judged.qrels, RUN)
    assert value == 0
    web = datasets.from_irds(Dataset(records, clueweb12.QREL_DEFS))
    assert web.aspects["relevance"].grades == (0, 1, 2, 3, 4)
    assert (
        ma.On(base="P@1", aspects={"relevance": ma.Aspect(5, threshold=1)}).calc_aggregate(
            web.qrels, RUN
        )
        == 0
    )


@pytest.mark.parametrize(
    ("definitions", "grades"),
    [
        ({1: "relevant"}, (0, 1)),
        ({0: "no", 1: "yes"}, (0, 1)),
        ({1: "no", 2: "yes"}, (1, 2)),
        ({}, None),
        (None, None),
        ({"a": "no number"}, None),
        ({-1: "junk"}, None),
    ],
)
def test_definitions_of_relevance(definitions, grades) -> None:
    judged = datasets.from_irds(Dataset([TrecQrel("q1", "d1", 1, "0")], definitions))
    assert judged.aspects["relevance"].grades == grades
    assert ("does not state the codes of relevance" in repr(judged)) == (grades is None)


def test_what_is_judged_per_subtopic_or_stance_is_refused() -> None:
    subtopics = [TrecSubQrel("q1", "d1", 1, "1"), TrecSubQrel("q1", "d1", 1, "2")]
    with pytest.raises(ma.MultiAspectError, match=r"subtopic, .*from_subtopics"):
        datasets.from_irds(Dataset(subtopics, {0: "", 1: ""}))
    assert ma.Judgments(ma.from_subtopics(Dataset(subtopics).qrels_iter())).label_names == (
        "subtopic_1",
        "subtopic_2",
    )
    stances = [
        formats.ToucheControversialStanceQrel("q1", "d1", 0, stance)
        for stance in formats.ToucheControversialStance
    ]
    with pytest.raises(ma.MultiAspectError, match="document and stance"):
        datasets.from_irds(Dataset(stances, touche.QRELS_DEFS_2022_TASK_3))


class Passage(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    start: int


@pytest.mark.parametrize(
    "record",
    [
        Passage("q1", "d1", relevance=1, start=4000),
        highwire.HighwireQrel("q1", "d1", start=1, length=3, relevance=1),
    ],
)
def test_unknown_numbers_are_no_aspects(record) -> None:
    """The start of a passage is a number, but no label: it is left out, with a warning."""
    definitions_of_relevance = {0: "", 1: "", 2: ""}
    dataset = Dataset([record], definitions_of_relevance)
    with pytest.warns(ma.MultiAspectWarning, match=r"start.*labels.*left out"):
        judged = datasets.from_irds(dataset)
    assert ma.Judgments(judged.qrels).label_names == ("relevance",)


def test_probabilities_of_sampling_are_no_aspects() -> None:
    judged = datasets.from_irds(Dataset([TrecPrel("q1", "d1", 1, 2, 0.5)], {0: "", 1: ""}))
    assert list(judged.qrels.columns) == ["qid", "docno", "label"]
    assert any(note.startswith("iprob was left out") for note in judged.notes)


def test_by_name(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(ir_datasets, "load", lambda name: asked.append(name) or EHEALTH)
    judged = datasets.from_irds("irds:clueweb12/b13/clef-ehealth")
    assert asked == ["clueweb12/b13/clef-ehealth"]
    assert judged.name == "clueweb12/b13/clef-ehealth"
    assert datasets.from_irds(EHEALTH).name == "some/dataset"


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        ("clueweb12/b13/clef-ehealt", {}, "ir_datasets has no dataset 'clueweb12/b13/clef-ehealt'"),
        (
            "c4/en-noclean-tr/trec-misinfo-2021",
            {},
            "c4/en-noclean-tr/trec-misinfo-2021 has no judgments",
        ),
        (Dataset([]), {}, "some/dataset has no judgments"),
        (3, {}, "expected an identifier of ir_datasets, .*, got 3"),
        (
            EHEALTH,
            {"aspects": {"credibility": 2}},
            "fields .relevance, trustworthiness.*, got credibility",
        ),
        (EHEALTH, {"aspects": {"iteration": 2}}, "got iteration"),
        (EHEALTH, {"aspects": {"label": 2, "relevance": 1}}, "got 'relevance' twice"),
    ],
)
def test_bad_input(dataset, options, message) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        datasets.from_irds(dataset, **options)


def test_scales_can_be_replaced() -> None:
    judged = datasets.from_irds(EHEALTH, aspects={"label": ma.Aspect(2, threshold=2)})
    assert judged.aspects["relevance"].threshold == 2
    assert len(judged.aspects) == 3


def expand_name(name: str) -> list[str]:
    """Return the identifiers that match a name with {alternatives} and wildcards."""
    alternatives = re.search(r"\{(.*?)\}", name)
    if alternatives:
        return [
            expansion
            for alternative in alternatives[1].split(",")
            for expansion in expand_name(
                name[: alternatives.start()] + alternative + name[alternatives.end() :]
            )
        ]
    return fnmatch.filter(list(ir_datasets.registry), name) if "*" in name else [name]


def several_columns() -> dict[str, list[str]]:
    """The datasets that are known to have several judged columns, and what is known of each column.

    Such as "trustworthiness int 0..100".
    """
    listed = json.loads(shared_path("collections", "ir_datasets.json").read_text(encoding="utf-8"))
    result = {}
    for entry in listed["ids"]:
        for pattern in entry["ids"]:
            names = expand_name(pattern)
            assert names, pattern
            result.update(dict.fromkeys(names, entry["fields"]))
    return result


def test_every_dataset_with_several_columns_is_known() -> None:
    """The numbers of each record type are known to be aspects or codes."""
    types_seen = set()
    for name, fields in several_columns().items():
        dataset = ir_datasets.load(name)
        if not hasattr(dataset, "qrels_cls"):
            assert not fields
            continue
        record_type = dataset.qrels_cls()
        types_seen.add(record_type.__name__)
        known = {
            *ASPECTS_OF_RECORDS.get(record_type.__name__, {}),
            *CODES_OF_RECORDS.get(record_type.__name__, {}),
        }
        numbers = {
            "credibility" if field == "redibility" else field  # as TREC 2019 spells it there
            for field, type_ in record_type.__annotations__.items()
            if type_ in (int, float)
        }
        assert numbers - {"relevance"} == known - {"relevance"}, name
    assert set(ASPECTS_OF_RECORDS) <= types_seen


def test_grades_of_datasets_with_several_columns_are_those_that_ir_datasets_states() -> None:
    for name, fields in several_columns().items():
        dataset = ir_datasets.load(name)
        if not hasattr(dataset, "qrels_cls"):
            continue
        record = first_record(dataset.qrels_cls())
        scales = datasets.from_irds(Dataset([record], dataset.qrels_defs())).aspects

        # Such as "relevance int -2 spam 0 not 1 relevant 2 highly": codes below 0 are no grades.
        relevance, *others = fields
        codes = {int(code) for code in re.findall(r"-?\b\d\b", relevance)}
        if codes:
            grades = {code for code in codes if code >= 0}
            if codes == {1}:  # only relevant documents are listed
                grades = {0, 1}
            assert set(scales["relevance"].grades) == grades, name

        for field in others:
            # Such as "trustworthiness int 0..100", or "understandability int 0 very hard..100 very easy".
            limits = re.match(r"(\w+) int (\d+)\D*\.\.(\d+)", field)
            if limits:
                aspect, low, high = limits.groups()
                assert scales[aspect].grades == tuple(range(int(low), int(high) + 1)), name


def first_record(kind: Any) -> Any:
    """A judgment of the type; those of subtopics are read as the plain type, whose definitions are the same."""
    if kind is TrecSubQrel:
        return TrecQrel("q1", "d1", 1, "0")
    kinds = {
        int: 1,
        float: 0.5,
        str: "0",
        formats.ToucheComparativeStance: formats.ToucheComparativeStance.NO,
    }
    return kind(*[kinds[type_] for type_ in kind.__annotations__.values()])
