"""Files of scales: writing, reading, errors, and the places where a file is accepted."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import aspect_sets

import pt_multiaspect as ma
from pt_multiaspect import Aspect, Aspects, MultiAspectError

HEALTH = {
    "relevance": Aspect(grades=[0, 1, 2], probabilities=[0, 1, 1]),
    "understandability": Aspect(grades=[0, 1, 2, 3], probabilities=[0, 0.4, 0.8, 1], threshold=2),
    "effort": Aspect(grades=[1, 2, 5], greater_is_better=False),
    "vertrauen, größe": 1,
    "reading": Aspect(threshold=3),
    "probability": Aspect(probabilities="identity"),
}
QRELS = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}


def test_a_file_holds_all_there_is(tmp_path: Path) -> None:
    path = tmp_path / "health.json"
    Aspects(HEALTH).to_file(path)
    assert Aspects.from_file(path) == Aspects(HEALTH)
    assert list(Aspects.from_file(str(path))) == list(HEALTH)
    Aspects({"relevance": 3}, name="file-with-a-name").to_file(path)
    assert Aspects.from_file(path) == Aspects({"relevance": 3}, name="file-with-a-name")


@given(aspects=st.data())
def test_any_scales_come_back(
    aspects: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    declared = aspects.draw(aspect_sets())
    path = tmp_path_factory.getbasetemp() / "any.json"
    declared.to_file(path)
    assert Aspects.from_file(path).to_json() == declared.to_json()


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    Aspects({"relevance": 4}).to_file("~/scales.json")
    assert ma.TOMA(aspects="~/scales.json") == ma.TOMA(aspects={"relevance": 4})


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "a file of aspects: "),
        ("relevance: 2", "a file of aspects: "),
        ("[" * 100_000, "a file of aspects: "),
        ("[1]", "expected a JSON object with a scale per aspect, got list"),
        ("{}", "at least one"),
        ('{"version": 1}', "got the key version"),
        ('{"aspects": {"relevance": 2}}', "got the key aspects"),
        ('{"relevance": "high"}', "aspect 'relevance'"),
        ('{"grades": 10, "threshold": 5}', 'as in {"relevance": {"grades": 10, "threshold": 5}}'),
        (
            '{"version": 2, "aspects": {"relevance": 2}}',
            "expected version 1 of a file of aspects, got 2",
        ),
        ('{"version": true, "aspects": {"relevance": 2}}', "got True"),
        ('{"version": "1", "aspects": {"relevance": 2}}', "got '1'"),
        (
            '{"version": 1, "aspects": {"relevance": 2}, "names": "x"}',
            "got names. Did you mean name",
        ),
        (
            '{"version": 1, "aspects": {"relevance": {"treshold": 2}}}',
            "got treshold. Did you mean threshold",
        ),
        (
            '{"version": 1, "aspects": {"relevance": {"grades": [0, 2, 1]}}}',
            "expected increasing grades",
        ),
        (
            '{"version": 1, "aspects": {"relevance": {"gains": "identity"}}}',
            "use probabilities='identity'",
        ),
        ('{"version": 1, "aspects": {"relevance": {"grades": [0, NaN]}}}', "finite"),
        ('{"version": 1, "aspects": {"relevance": "high"}}', "aspect 'relevance'"),
        ('{"version": 1, "aspects": {}}', "at least one"),
        ('{"version": 1, "aspects": [2]}', "mapping"),
        ('{"version": 1, "aspects": {"relevance": 2, "relevance": 3}}', "expected each key once"),
        ('{"version": 1, "aspects": {"relevance": 2}, "name": "a name"}', "'a name'"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, content: str, part: str) -> None:
    path = tmp_path / "scales.json"
    path.write_text(content)
    with pytest.raises(MultiAspectError) as caught:
        Aspects.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert part in str(caught.value)


PLAIN = [
    ('{"relevance": 2, "credibility": 3}', {"relevance": 2, "credibility": 3}),
    ('{"effort": {"grades": 10, "threshold": 5}}', {"effort": Aspect(10, threshold=5)}),
    (' \n{"label": [0, 2, 5], "probability": null}', {"relevance": [0, 2, 5], "probability": None}),
    ('{"version": 1, "aspects": {"relevance": 2}}', {"relevance": 2}),
]


@pytest.mark.parametrize(("content", "scales"), PLAIN)
def test_files_and_strings_hold_the_same_json(
    tmp_path: Path, content: str, scales: dict[str, object]
) -> None:
    path = tmp_path / "scales.json"
    path.write_text(content)
    declared = Aspects(scales)
    assert Aspects.from_file(path) == declared
    for spec in (content, path, str(path)):
        assert ma.TOMA(aspects=spec) == ma.TOMA(aspects=declared)


def test_the_keys_of_one_scale_are_no_aspects() -> None:
    """They were aspects named grades and threshold, which the qrels had no columns for."""
    with pytest.raises(
        MultiAspectError, match=r'as in {"relevance": {"grades": 10, "threshold": 5}}'
    ):
        Aspects({"grades": 10, "threshold": 5})
    assert list(Aspects({"grades": 10, "effort": 5})) == ["grades", "effort"]
    assert list(Aspects({"gains": 10})) == ["gains"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        MultiAspectError, match=r"absent\.json: no such file .*give a list of names"
    ):
        ma.TOMA(aspects="absent.json")
    with pytest.raises(MultiAspectError, match="cannot be read") as caught:
        Aspects.from_file(tmp_path)
    assert isinstance(caught.value.__cause__, OSError)
    (tmp_path / "latin.json").write_bytes(
        '{"version": 1, "aspects": {"größe": 2}}'.encode("latin-1")
    )
    with pytest.raises(MultiAspectError, match=r"latin\.json: .*UTF-8"):
        Aspects.from_file(tmp_path / "latin.json")


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_stands_for_the_scales_in_it(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "scales.json"
    scales = Aspects({"relevance": Aspect([0, 1, 2], gains=[0, 1, 5]), "credibility": 1})
    scales.to_file(path)
    measure = ma.TOMA(aspects=kind(path)) @ 5
    # The content counts, not the file, which may change or be absent where the measure is read.
    path.unlink()
    assert measure == ma.TOMA(aspects=scales) @ 5
    assert ir_measures.parse_measure(str(measure)) == measure
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert measure.calc_aggregate(QRELS, {"q1": {"d1": 1.0}}) > 0


def test_a_measure_string_may_name_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scales.json"
    Aspects({"relevance": 4, "credibility": 1}).to_file(path)
    parsed = ir_measures.parse_measure(f"CAM(aspects={path.as_posix()!r})@10")
    assert parsed == ma.CAM(aspects={"relevance": 4, "credibility": 1}) @ 10
    order = ma.DistanceOrder(path)
    assert order.aspects == Aspects({"relevance": 4, "credibility": 1})


def test_names_come_before_files_and_lists_are_never_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Aspects({"relevance": 7}).to_file("set.json")
    named = Aspects({"relevance": 2, "credibility": 1}, name="set.json")
    assert ma.TOMA(aspects="set.json") == ma.TOMA(aspects=named)
    for columns in (["set.json"], ["relevance", "set.json"], ["scales.json"], ["a", "b", "c.json"]):
        measure = ma.TOMA(aspects=columns)
        assert measure["aspects"] == tuple(columns)
        assert ir_measures.parse_measure(str(measure)) == measure


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    Aspects(HEALTH).to_file(tmp_path / "health.json")
    text = (tmp_path / "health.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["version"] == 1
    assert content["aspects"]["vertrauen, größe"] == 1
    assert "größe" in text
