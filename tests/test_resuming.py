"""Values that are written as they are computed, and reused only while they are valid."""

from __future__ import annotations

import builtins
import errno
import io
import linecache
import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import ir_measures
import joblib
import numpy as np
import pandas as pd
import pytest
from frame_world import random_qrels, random_run, write_run
from strategies import forget_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA, Aspect, Aspects, MultiAspectError, MultiAspectWarning, evaluate
from pt_multiaspect.evaluation.digests import digest_of
from pt_multiaspect.evaluation.plan import Plan

ROOT = Path(__file__).resolve().parent.parent
SCALES = Aspects({"relevance": 2, "credibility": 2})
MEASURES = {"ours": TOMA(aspects=SCALES) @ 5, "CAM": CAM(aspects=SCALES) @ 5, "map": "map"}


@pytest.fixture
def qrels() -> pd.DataFrame:
    return random_qrels(4)


@pytest.fixture
def runs(qrels) -> dict[str, pd.DataFrame]:
    names = ["bm25.run", "a/b c\n*ü", "_hidden", "." * 300]
    return {name: random_run(qrels, seed) for seed, name in enumerate(names)}


@pytest.fixture
def computed_runs(monkeypatch) -> list[str]:
    """The names of the runs that are evaluated, rather than read."""
    names: list[str] = []
    original = Plan.evaluate

    def count_runs(self: Plan, name: str, run: Any, **options: Any) -> Any:
        names.append(name)
        return original(self, name, run, **options)

    monkeypatch.setattr(Plan, "evaluate", count_runs)
    return names


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.npz"))


# -- the second call -------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_second_call_reads_the_same_values(qrels, runs, tmp_path, computed_runs, n_jobs):
    expected = evaluate(runs, qrels, MEASURES, progress=False)
    computed_runs.clear()
    with joblib.parallel_config(backend="threading"):
        for times in (4, 0):
            result = evaluate(runs, qrels, MEASURES, n_jobs=n_jobs, progress=False, out=tmp_path / "out")
            pd.testing.assert_frame_equal(result, expected, check_exact=True)
            pd.testing.assert_frame_equal(ma.aggregate(result), ma.aggregate(expected))
            assert len(computed_runs) == times
            computed_runs.clear()
    more = runs | {"new": random_run(qrels, 9)}
    evaluate(more, qrels, MEASURES, progress=False, out=tmp_path / "out")
    assert computed_runs == ["new"]


@pytest.mark.parametrize("average_over", ["judged", "positive"])
def test_values_are_read_back(qrels, runs, tmp_path, average_over):
    qrels = qrels.assign(credibility=qrels["credibility"].where(qrels["qid"] != "q2", 0))
    measures = {
        "ours": CAM(aspects=SCALES, base="AP"),
        "cred": ma.On(aspect="credibility", base="AP"),
        "GMAP": "GMAP",
    }
    expected = evaluate(runs, qrels, measures, average_over=average_over, progress=False, out=tmp_path)
    assert len(files(tmp_path)) == len(runs) == len(list(tmp_path.iterdir()))
    result = ma.read_values(tmp_path)
    assert list(result.columns) == ["name", "qid", "measure", "value"]
    keys = ["name", "measure", "qid"]
    pd.testing.assert_frame_equal(
        result.sort_values(keys, ignore_index=True), expected.sort_values(keys, ignore_index=True), check_exact=True
    )
    means, others = (ma.aggregate(frame).set_index("name").sort_index() for frame in (result, expected))
    pd.testing.assert_frame_equal(means, others)
    assert result.attrs["measures"] == {
        label: str(measure) for label, measure in expected.attrs["measures"].items()
    }


def test_values_of_one_run_are_read_back(qrels, runs, tmp_path):
    expected = evaluate({"a": runs["bm25.run"]}, qrels, MEASURES, out=tmp_path, progress=False)
    pd.testing.assert_frame_equal(ma.read_values(tmp_path), expected)


def test_what_are_no_values_cannot_be_read(qrels, runs, tmp_path):
    for directory in (tmp_path, tmp_path / "none"):
        with pytest.raises(MultiAspectError, match="expected a directory with values that evaluate has written"):
            ma.read_values(directory)
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    again = files(tmp_path)[0]
    other = again.with_name(again.name.replace(again.name.split(".")[-2], "0" * 32))
    other.write_bytes(again.read_bytes())
    with pytest.raises(MultiAspectError, match="expected values of one evaluation, with one file per run"):
        ma.read_values(tmp_path)


def test_values_need_not_be_kept_in_memory(qrels, runs, tmp_path):
    for reused in (False, True):
        result = evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path, collect=False)
        assert result.to_dict("list") == {"name": list(runs), "reused": [reused] * 4}
    with pytest.raises(MultiAspectError, match="collect=False discards the values"):
        evaluate(runs, qrels, MEASURES, progress=False, collect=False)


def test_the_progress_bar_counts_reused_runs(qrels, runs, tmp_path, capsys):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    evaluate(runs, qrels, MEASURES, out=tmp_path)
    shown = capsys.readouterr().err
    assert "4/4" in shown
    assert "reused=4" in shown


# -- what is computed again ------------------------------------------------------------------------


@pytest.mark.every(6)
@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_changed_run_is_evaluated_again(qrels, tmp_path, computed_runs, as_file, n_jobs):
    def as_form(run: pd.DataFrame) -> Any:
        if not as_file:
            return run
        write_run(run, tmp_path / "x.run")
        os.utime(tmp_path / "x.run", (0, 0))  # whatever its time says
        return tmp_path / "x.run"

    out = tmp_path / "out"
    first = random_run(qrels, 1)
    other = first.assign(score=first["score"].to_numpy()[::-1])
    with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
        for run in (first, other, first):
            result = evaluate({"x": as_form(run), "y": first}, qrels, MEASURES, progress=False, out=out)
            expected = evaluate({"x": run, "y": first}, qrels, MEASURES, progress=False, n_jobs=1)
            pd.testing.assert_frame_equal(result, expected, check_exact=True)
            assert len(files(out)) == 2  # the earlier values of x are gone
    # Each loop evaluates x once for `out` and both for the comparison, and the first one also y.
    assert (computed_runs.count("x"), computed_runs.count("y")) == (6, 4)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(label=frame["label"].where(frame.index != 5, 2 - frame["label"])),
        lambda frame: frame.assign(credibility=frame["credibility"].astype(float).where(frame.index != 5)),
        lambda frame: frame.iloc[1:],
        lambda frame: frame.assign(docno=frame["docno"].replace("d3", "d99")),
        lambda frame: frame.assign(qid=frame["qid"].replace("q3", "q99")),
        lambda frame: frame.rename(columns={"label": "credibility", "credibility": "label"}),
    ],
)
def test_changed_judgments_are_noticed(qrels, runs, tmp_path, change):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    changed = change(qrels)
    expected = evaluate(runs, changed, MEASURES, progress=False)
    with pytest.warns(MultiAspectWarning, match="4 runs with other"):
        result = evaluate(runs, changed, MEASURES, progress=False, out=tmp_path)
    pd.testing.assert_frame_equal(result, expected, check_exact=True)
    assert len(files(tmp_path)) == 4
    assert len(list((tmp_path / "_superseded").iterdir())) == 4


def test_a_name_that_means_something_else_is_noticed(qrels, runs, tmp_path, computed_runs):
    """Measures print the same, but a set of scales or a distance of that name was declared again."""

    def measure() -> ma.Measure:
        return TOMA(aspects="resumed", distance="resumed") @ 5

    def declare(threshold: int, factor: float) -> None:
        Aspects({"relevance": Aspect(2, threshold=threshold), "credibility": 2}, name="resumed")
        ma.register_distance("resumed")(lambda gaps: factor * gaps[:, 0] + gaps[:, 1])

    declare(1, 2.0)
    evaluate(runs, qrels, measure(), progress=False, out=tmp_path)
    computed_runs.clear()
    declare(1, 2.0)
    evaluate(runs, qrels, measure(), progress=False, out=tmp_path)
    assert computed_runs == []
    with pytest.warns(MultiAspectWarning, match="the name 'resumed' now refers to"):
        declare(2, 2.0)
    with pytest.warns(MultiAspectWarning, match="computed again"):
        evaluate(runs, qrels, measure(), progress=False, out=tmp_path)
    assert len(computed_runs) == 4
    declare(2, 0.5)
    with pytest.warns(MultiAspectWarning, match="computed again"):
        result = evaluate(runs, qrels, measure(), progress=False, out=tmp_path)
    pd.testing.assert_frame_equal(result, evaluate(runs, qrels, measure(), progress=False), check_exact=True)


#: A measure of a notebook, whose cell is run again with another number.
CELL = """
class _UsersMeasure(ma.SingleAspectMeasure):
    SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}
    def score(self, ranking, target):
        return ranking.n_ret * float(FACTOR)
UsersMeasure = ma.register(_UsersMeasure)
"""


def run_cell(text: str, namespace: dict[str, Any]) -> None:
    """Run a cell as notebooks do, which keep its source under a name of its own."""
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), namespace)


def test_a_measure_that_is_registered_again_is_noticed_also_as_a_base(qrels):
    digests = []
    for factor in (1, 1, 2):
        namespace: dict[str, Any] = {"ma": ma, "__name__": "__main__"}
        run_cell(CELL.replace("FACTOR", str(factor)), namespace)
        measure = namespace["UsersMeasure"]
        by_name = CAM(base="UsersMeasure", aspects=SCALES)
        digests.append([digest_of(form) for form in (measure, by_name, CAM(base=measure, aspects=SCALES))])
    assert digests[0] == digests[1]
    assert all(first != second for first, second in zip(digests[1], digests[2], strict=True))


#: A module of a user, with a measure, its base class, and functions with defaults and closures.
MODULE = """
import functools
import numpy as np
FACTOR = 2
class Base:
    power = 1
    table = {"a": [1.0, 2.0]}
    itself = None
    @functools.cached_property
    def inner(self):
        return [each for each in range(3) if each in {"a", "b", 1}]
    @staticmethod
    def outer(x):
        return (lambda: np.abs(x) * FACTOR)()
class Measure(Base):
    before = Base
    def score(self, ranking, *, offset=1):
        return self.inner + offset
def factory(n):
    def made(x):
        return x + n
    return made
Measure.itself = Measure
value = [factory(1), functools.partial(factory(1), 2), functools.cache(factory(3))]
"""


def module(text: str, file: Path | None) -> Any:
    """Load a module from a file, or run a text as the cell of a notebook."""
    loaded = types.ModuleType("users_module")
    sys.modules["users_module"] = loaded
    if file is None:
        run_cell(text, loaded.__dict__)
        return loaded
    file.write_text(text)
    linecache.checkcache()
    loaded.__file__ = str(file)
    exec(compile(text, str(file), "exec"), loaded.__dict__)
    return loaded


@pytest.fixture(params=[True, False], ids=["of a file", "of a notebook"])
def digest_of_module(request, tmp_path, monkeypatch) -> Any:
    monkeypatch.setitem(sys.modules, "users_module", None)

    def digest(text: str) -> str:
        loaded = module(text, tmp_path / "users_module.py" if request.param else None)
        return digest_of(loaded.Measure, loaded.Measure(), loaded.value, loaded.Measure().score)

    return digest


CHANGES = [
    ("power = 1", "power = 2"),
    ("[1.0, 2.0]", "[1.0, 3.0]"),
    ("offset=1", "offset=2"),
    ("+ offset", "- offset"),
    ('{"a", "b", 1}', '{"a", "c", 1}'),
    ("range(3)", "range(4)"),
    ("np.abs(x)", "np.sign(x)"),
    ("factory(1), functools", "factory(2), functools"),
    ("partial(factory(1)", "partial(factory(2)"),
    ("factory(3)", "factory(4)"),
    ("x + n", "x - n"),
    ("class Measure(Base)", "class Measure(Base, dict)"),
]


@pytest.mark.slow
def test_changed_code_is_noticed(digest_of_module):
    same = digest_of_module(MODULE)
    assert digest_of_module(MODULE) == same
    for old, new in CHANGES:
        assert old in MODULE
        assert digest_of_module(MODULE.replace(old, new)) != same, new


def test_what_code_refers_to_does_not_count(digest_of_module):
    """As is documented."""
    assert digest_of_module(MODULE) == digest_of_module(MODULE.replace("FACTOR = 2", "FACTOR = 3"))


def test_a_function_without_a_source_is_an_error():
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    return x * 2\nclass C:\n    def g(self):\n        return 2", namespace)
    for value in (namespace["f"], namespace["C"], namespace["C"]()):
        with pytest.raises(MultiAspectError, match=r"out: expected functions with a source.* got none for"):
            digest_of(value)


def test_a_recursive_closure_can_be_compared():
    def outer(n: int) -> Any:
        def inner(x: int) -> int:
            return inner(x - 1) if x else n

        return inner

    assert digest_of(outer(1)) == digest_of(outer(1)) != digest_of(outer(2))


def test_packages_count_by_their_version(monkeypatch):
    package = types.ModuleType("users_package")
    package.__version__ = "1.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "users_package", package)
    run_cell("def f(x):\n    return x\n", package.__dict__)
    before = digest_of(package.f), digest_of(package)
    package.__version__ = "1.1"  # type: ignore[attr-defined]
    assert before[0] != digest_of(package.f)
    assert before[1] != digest_of(package)


def test_changed_functions_of_defined_measures_are_noticed():
    first, same, second = (
        ir_measures.define_byquery(lambda qrels, run, c=c: c, name="own") for c in (1.0, 1.0, 2.0)
    )
    assert digest_of(first) == digest_of(same) != digest_of(second)


MANY = """
import ir_measures
import pt_multiaspect as ma
from pt_multiaspect.evaluation.digests import digest_of
aspects = ma.Aspects({"relevance": 2, "credibility": ma.Aspect(3, threshold=2)}, name="digested")
qrels = ma.Judgments({"q1": {"d1": {"relevance": 1, "credibility": 0}}})
cam = ma.CAM(base={"relevance": "AP", "credibility": "P@3"}, aspects=aspects)
measures = [ma.TOMA(aspects=aspects, gate="relevance") @ 5, cam, ir_measures.nDCG @ 5]
found = digest_of(measures, qrels, {"a", "b", "c"}, frozenset({"d", "e"}))
"""


@pytest.mark.slow
def test_digests_are_the_same_in_every_process():
    here: dict[str, Any] = {}
    exec(MANY, here)
    command = [sys.executable, "-c", f"{MANY}print(found)"]
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}
    )
    assert done.stdout.strip() == here["found"]


def test_what_cannot_be_compared_is_an_error(tmp_path):
    with (
        open(tmp_path / "open", "w") as file,
        pytest.raises(MultiAspectError, match=r"cannot tell whether .* change between calls"),
    ):
        digest_of({"log": file})
    assert digest_of(1) != digest_of(1.0) != digest_of(True) != digest_of("1")
    assert digest_of([["a"], "b"]) != digest_of([["a", "b"]])
    texts = [["ab", "c"], ["a", "bc"], ["ab", "c", ""], ["ab", None], ["ab", "None"], ["ab", 1], ["ab", "1"]]
    assert len({digest_of(np.array(values, dtype=object)) for values in texts}) == len(texts)
    assert digest_of(np.arange(4)) != digest_of(np.arange(4).reshape(2, 2))
    columns = [pd.Series(values, dtype=object) for values in texts]
    assert len({digest_of(column) for column in columns}) == len(texts)
    assert digest_of(frozenset({"a", "b"})) == digest_of(frozenset({"b", "a"})) != digest_of(frozenset({"a"}))


@pytest.mark.slow
def test_a_measure_used_before_has_the_same_digest(qrels, runs):
    """Cached results of measures do not affect digests."""
    measures = [CAM(aspects=SCALES, base="AP"), TOMA(aspects=SCALES, distance="manhattan"), ir_measures.AP(rel=2)]
    before, judgments = digest_of(measures), ma.Judgments(qrels)
    content = digest_of(judgments)
    evaluate(runs, judgments, measures, progress=False)
    assert (digest_of(measures), digest_of(judgments)) == (before, content)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pd.Series([1.0, 5.0], index=["q1", "q2"]), pd.Series([1.0, 5.0], index=["q2", "q1"])),
        (pd.Series([1.0], name="a"), pd.Series([1.0], name="b")),
        (pd.Index([1], name="a"), pd.Index([1], name="b")),
        (pd.DataFrame({"a": [1]}, index=["q1"]), pd.DataFrame({"a": [1]}, index=["q2"])),
        (
            pd.Series([1.0], index=pd.MultiIndex.from_tuples([("q1", "d1")])),
            pd.Series([1.0], index=pd.MultiIndex.from_tuples([("q1", "d2")])),
        ),
        (np.ma.array([1.0, 5.0], mask=[0, 1]), np.ma.array([1.0, 5.0], mask=[1, 0])),
    ],
    ids=["index", "name", "name of an index", "index of a frame", "levels", "mask"],
)
def test_indexes_and_masks_count(first, second):
    assert digest_of(first) != digest_of(second)
    assert digest_of(first) == digest_of(first.copy())


def test_names_of_the_rows_of_qrels_do_not_count():
    qrels = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "label": [1, 0]})
    assert digest_of(ma.Judgments(qrels)) == digest_of(ma.Judgments(qrels.set_index(pd.Index([7, 9]))))


# -- damage ----------------------------------------------------------------------------------------


def _damage_bytes(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return the content of a file that was damaged in one of the ways in which disks and people damage files."""
    start, stop = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    position = int(rng.integers(len(content)))
    flipped = bytes([content[position] ^ (1 << int(rng.integers(8)))])
    return [
        content[:position] + flipped + content[position + 1 :],
        content[:position],  # cut
        b"",
        content[:start] + bytes(stop - start) + content[stop:],
        content[:stop] + content[start:],  # a block twice
        content[:start] + content[stop:],
        content[:position] + rng.bytes(int(rng.integers(1, 40))) + content[position:],
        content + rng.bytes(int(rng.integers(1, 40))),
        others[int(rng.integers(len(others)))],  # the values of another run
        rng.bytes(len(content)),
    ][int(rng.integers(10))]


@pytest.mark.slow
def test_2000_damaged_files_are_computed_again(qrels, tmp_path, computed_runs):
    qrels = qrels[qrels["qid"] == "q0"]
    runs = {f"run {seed}": random_run(qrels, seed) for seed in range(100)}
    expected = evaluate(runs, qrels, "map", progress=False, out=tmp_path)
    whole = {path: path.read_bytes() for path in files(tmp_path)}
    rng = np.random.default_rng(1)
    for _ in range(20):
        computed_runs.clear()
        forget_warnings()
        for path, content in whole.items():
            path.write_bytes(_damage_bytes(content, list(whole.values()), rng))
        damaged = [path for path, content in whole.items() if path.read_bytes() != content]
        with pytest.warns(MultiAspectWarning, match="is damaged") as caught:
            result = evaluate(runs, qrels, "map", progress=False, out=tmp_path)
        pd.testing.assert_frame_equal(result, expected, check_exact=True)
        # Resources that an earlier test has left open may be collected here, with a warning.
        told = [str(warning.message) for warning in caught if warning.category is MultiAspectWarning]
        assert len(computed_runs) == len(damaged) == len(told)
        assert all(path.name in "".join(told) for path in damaged)
        assert set(files(tmp_path)) == set(whole)
    assert sorted(ma.read_values(tmp_path)["value"]) == sorted(expected["value"])


@pytest.mark.slow
def test_every_byte_of_a_file_counts(qrels, runs, tmp_path):
    evaluate({"mine": runs["bm25.run"]}, qrels, "map", progress=False, out=tmp_path)
    (path,) = files(tmp_path)
    content = path.read_bytes()
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        forget_warnings()
        with (
            pytest.warns(MultiAspectWarning, match=rf"out: .*{path.name} is damaged: its values are not used"),
            pytest.raises(MultiAspectError, match="expected a directory with values"),
        ):
            ma.read_values(tmp_path)
    path.write_bytes(content)
    assert len(ma.read_values(tmp_path)) == 4
    assert sorted(np.load(path)) == ["about", "value"]  # still a file of NumPy


def test_values_of_another_run_are_damage(qrels, runs, tmp_path):
    expected = evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    first, second = files(tmp_path)[:2]
    second.write_bytes(first.read_bytes())
    with pytest.warns(MultiAspectWarning, match="is damaged"):
        result = evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    pd.testing.assert_frame_equal(result, expected, check_exact=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damage_is_told_once_with_any_number_of_processes(qrels, runs, tmp_path, n_jobs):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    files(tmp_path)[1].write_bytes(b"")
    with pytest.warns(MultiAspectWarning, match="is damaged") as caught:
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path, n_jobs=n_jobs)
    assert len(caught) == 1


def test_damage_is_told_in_every_call(qrels, runs, tmp_path):
    """A file that was damaged again was replaced without a warning."""
    run = {"mine": runs["bm25.run"]}
    evaluate(run, qrels, "map", progress=False, out=tmp_path)
    for _ in range(2):
        files(tmp_path)[0].write_bytes(b"")
        with pytest.warns(MultiAspectWarning, match="is damaged"):
            evaluate(run, qrels, "map", progress=False, out=tmp_path)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_values_that_are_used_again_have_the_warnings_of_their_run(qrels, runs, tmp_path, n_jobs):
    run = {"mine": pd.concat([runs["bm25.run"], runs["bm25.run"][:1]])}
    for _ in range(2):
        with pytest.warns(MultiAspectWarning, match="run mine: repeated documents"):
            result = evaluate(run, qrels, "map", progress=False, out=tmp_path, collect=False, n_jobs=n_jobs)
    assert result["reused"].all()


def test_a_run_that_can_no_longer_be_read_leaves_no_values(qrels, tmp_path):
    out = tmp_path / "out"
    paths = [tmp_path / f"{seed}.run" for seed in range(3)]
    for seed, path in enumerate(paths):
        write_run(random_run(qrels, seed), path)
    for n_jobs, backend in ((1, "sequential"), (2, "threading")):
        write_run(random_run(qrels, 1), paths[1])
        evaluate(paths, qrels, MEASURES, progress=False, out=out)
        assert len(files(out)) == 3
        paths[1].write_text("q0 Q0 d1\n")
        options: Any = {"errors": "skip", "progress": False, "out": out, "n_jobs": n_jobs}
        with (
            joblib.parallel_config(backend=backend),
            pytest.warns(MultiAspectWarning, match=r"skipped: run 1\.run"),
        ):
            result = evaluate(paths, qrels, MEASURES, **options)
        assert result.attrs["skipped"] == ["1.run"]
        assert len(files(out)) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_values_of_another_content_remain(qrels, runs, tmp_path, n_jobs):
    out, path = tmp_path / "out", tmp_path / "x.run"
    frame = runs["bm25.run"]
    write_run(frame, path)
    others = {"z": runs["_hidden"]}
    options: Any = {"errors": "skip", "progress": False, "out": out, "n_jobs": n_jobs}

    def kept_names() -> list[str]:
        return [file.name.split(".")[0] for file in files(out)]

    with joblib.parallel_config(backend="threading"):
        evaluate(others | {"x": path, "y": frame}, qrels, MEASURES, **options)
        assert kept_names() == ["x", "y", "z"]
        # Values of an earlier content, which another process has left, go when those of this content are reused.
        stale = files(out)[1]
        stale.rename(stale.with_name(stale.name.replace(stale.name.split(".")[-2], "0" * 32)))
        evaluate({"y": frame}, qrels, MEASURES, **options)
        old = files(out)[1].with_name(stale.name.replace(stale.name.split(".")[-2], "1" * 32))
        old.write_bytes(files(out)[1].read_bytes())
        result = evaluate({"y": frame}, qrels, MEASURES, collect=False, **options)
        assert result["reused"].tolist() == [True]
        assert files(out)[1] == stale
        assert kept_names() == ["x", "y", "z"]
        # A file that is gone, and a frame that lacks a column.
        path.unlink()
        with pytest.warns(MultiAspectWarning, match="skipped: run [xy]"):
            evaluate(others | {"y": frame.drop(columns="docno"), "x": path}, qrels, MEASURES, **options)
    assert kept_names() == ["z"]


# -- the directory ---------------------------------------------------------------------------------


def test_directories_are_created_with_their_parents(qrels, runs, tmp_path):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path / "new" / "deeper")
    assert len(files(tmp_path / "new" / "deeper")) == len(runs)


def test_directories_with_other_files_are_refused(qrels, runs, tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"")
    with pytest.raises(MultiAspectError, match=r"out: expected an empty directory.* contains mine\.npz"):
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    with pytest.raises(MultiAspectError, match="out: expected a directory, got the file"):
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path / "mine.npz")


@pytest.mark.slow
def test_no_extra_is_required(qrels, runs, tmp_path):
    script = (
        "import sys; sys.modules.update(polars=None, pyarrow=None)\n"
        "import pt_multiaspect as ma\n"
        "qrels, runs = {'q1': {'d1': 1}}, {'mine': {'q1': {'d1': 1.0}}}\n"
        "for _ in range(2):\n"
        "    done = ma.evaluate(runs, qrels, 'map', progress=False, out=sys.argv[1], collect=False)\n"
        "print(done['reused'].tolist(), ma.read_values(sys.argv[1])['value'].tolist())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[True] [1.0]"


@pytest.fixture
def leftovers(tmp_path) -> list[str]:
    """Files of a killed process, of a process that still writes, and of other programs, in a directory."""
    mine, fresh = (f".{digit * 32}.tmp" for digit in "af")
    others = [
        "notes.tmp",
        ".old.tmp",
        f".{'A' * 32}.tmp",
        f".{'a' * 33}.tmp",
        f"{'a' * 32}.tmp",
        f".{'b' * 32}.tmp~",
    ]
    for name in (mine, fresh, *others):
        (tmp_path / name).write_text("half")
    (tmp_path / f".{'d' * 32}.tmp").mkdir()
    for path in tmp_path.iterdir():
        if path.name != fresh:
            os.utime(path, (0, 0))
    return sorted(path.name for path in tmp_path.iterdir())


def test_only_abandoned_files_of_this_package_are_removed(qrels, runs, tmp_path, leftovers):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    # There were no values yet: the files may belong to another program.
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".npz") == leftovers
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    removed = {*leftovers} - {path.name for path in tmp_path.iterdir()}
    assert removed == {f".{'a' * 32}.tmp"}


def test_a_refused_call_removes_nothing(qrels, runs, tmp_path, leftovers):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    (tmp_path / "mine.npz").write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(MultiAspectError, match=r"out: expected an empty directory.* contains mine\.npz"):
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_an_abandoned_file_that_cannot_be_removed_is_kept(qrels, runs, tmp_path, leftovers, monkeypatch):
    evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    result = evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path, collect=False)
    assert result["reused"].all()


@pytest.mark.parametrize(
    "path", ["", "a\0b", "\ud800", b"values", 3, True, ["values"]], ids=["empty", "NUL", "surrogate", *["type"] * 4]
)
def test_what_is_no_path_is_an_error(qrels, runs, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MultiAspectError, match=r"^out: expected the path of a directory, got [^\n]*$"):
        evaluate(runs, qrels, MEASURES, progress=False, out=path)
    with pytest.raises(
        MultiAspectError, match=r"^path: expected the path of (a file or )?a directory( of values)?, got [^\n]*$"
    ):
        ma.read_values(path)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_an_error(qrels, runs, tmp_path):
    with pytest.raises(MultiAspectError, match=r"^out: cannot write [^\n]*$"):
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path / ("x" * 300))
    with pytest.raises(MultiAspectError, match="expected a directory with values"):
        ma.read_values(tmp_path / ("x" * 300))


@pytest.mark.parametrize("step", ["replace", "open", "mkdir"])
def test_a_full_disk_is_an_error_and_leaves_no_part_of_a_file(qrels, runs, tmp_path, monkeypatch, step):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "elsewhere")

    def open_or_fail(path: Any, mode: str = "r", *others: Any, **options: Any) -> Any:
        return full() if set(mode) & set("wxa") else io.open(path, mode, *others, **options)  # noqa: UP020

    owner: Any = {"replace": os, "open": builtins, "mkdir": Path}[step]
    monkeypatch.setattr(owner, step, open_or_fail if step == "open" else full)
    with pytest.raises(MultiAspectError, match=r"^out: cannot write .*: No space left on device$"):
        evaluate(runs, qrels, MEASURES, progress=False, out=tmp_path / "out" if step == "mkdir" else tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- interruptions ---------------------------------------------------------------------------------

#: Evaluates ten runs of a generator, and says so before each.
SCRIPT = """
import signal, sys, time
import numpy as np, pandas as pd
import pt_multiaspect as ma

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background processes ignore it

qrels = {f"q{q}": {f"d{d}": {"relevance": (q + d) % 3, "credibility": d % 2} for d in range(8)} for q in range(3)}

def runs():
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(8)
        print(seed, flush=True)
        yield f"run-{seed}", {f"q{q}": {f"d{d}": float(-i) for i, d in enumerate(order)} for q in range(3)}
        time.sleep(pause)

def work(out, n_jobs=1):
    measures = ma.CAM(aspects={"relevance": 2, "credibility": 1})
    return ma.evaluate(runs(), qrels, measures, out=out, n_jobs=n_jobs, progress=False)

pause = float(sys.argv[2])
if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[3]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interruption_loses_only_the_run_in_hand(tmp_path, computed_runs, monkeypatch, number):
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    command = [sys.executable, str(tmp_path / "script.py"), str(out), "0.4", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "5":
            process.send_signal(number)
            break
    process.wait(timeout=60)
    process.stdout.close()
    assert process.returncode != 0
    kept = len(files(out))
    assert kept in (5, 6)  # the sixth, if the signal came late
    assert [path for path in out.iterdir() if path.suffix not in (".npz", ".tmp")] == []

    monkeypatch.setattr(sys, "argv", ["script.py", "", "0", "1"])
    namespace: dict[str, Any] = {"__name__": "script"}
    exec(SCRIPT, namespace)
    expected = namespace["work"](tmp_path / "whole")
    computed_runs.clear()
    pd.testing.assert_frame_equal(namespace["work"](out), expected, check_exact=True)
    assert len(computed_runs) == 10 - kept


@pytest.mark.slow
def test_two_processes_may_write_to_one_directory(tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "out"), "0.01", "1"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert len(files(tmp_path / "out")) == 10


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_resumes(cli, trec_files, computed_runs, monkeypatch):
    arguments = ["-m", "CAM AP", "--aspects", "scales.json", "--format", "tsv", "runs"]
    code, expected, _ = cli("evaluate", *arguments)
    assert code == 0
    computed_runs.clear()
    assert cli("evaluate", "--resume", "values", *arguments)[:2] == (0, expected)
    assert sorted(computed_runs) == ["alpha.run", "beta.run", "delta.run", "gamma.run"]
    computed_runs.clear()
    assert cli("evaluate", "--resume", "values", *arguments)[:2] == (0, expected)
    assert computed_runs == []

    run = trec_files / "runs" / "beta.run"
    run.write_text((trec_files / "runs" / "alpha.run").read_text())
    _, table, _ = cli("evaluate", "--resume", "values", *arguments)
    assert computed_runs == ["beta.run"]
    alpha, beta = (line.split("\t") for line in table.splitlines()[1:3])
    assert beta[1:] == alpha[1:]

    def interrupt(self: Plan, name: str, run: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    run.write_text((trec_files / "runs" / "gamma.run").read_text())
    monkeypatch.setattr(Plan, "evaluate", interrupt)
    code, _, error = cli("evaluate", "--resume", "values", *arguments)
    assert code == 1
    assert "interrupted; the same command continues with the values in values" in error
    assert len(files(trec_files / "values")) == 3


@pytest.mark.parametrize(("directory", "reason"), [("", "expected the path"), ("x" * 300, "cannot write")])
def test_the_command_line_refuses_what_is_no_path(cli, trec_files, directory, reason):
    before = sorted(trec_files.iterdir())
    code, output, error = cli("evaluate", "--resume", directory, "-m", "AP", "runs")
    assert code != 0
    assert not output
    assert "--resume: " in error
    assert reason in error
    assert error.count("\n") == 1
    assert sorted(trec_files.iterdir()) == before
