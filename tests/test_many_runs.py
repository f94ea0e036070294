"""Runs are read, evaluated and dropped one by one; workers evaluate them alike."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator

import joblib
import numpy as np
import pandas as pd
import pytest
from frame_world import evaluate_in_processes, random_qrels, random_run, write_run
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import ScoredDoc
from strategies import examples

from pt_multiaspect import (
    CAM,
    TOMA,
    Aspects,
    Judgments,
    MultiAspectError,
    MultiAspectWarning,
    evaluate,
)
from pt_multiaspect.collection.run import Run
from pt_multiaspect.evaluation import plan as plans
from pt_multiaspect.evaluation.plan import Plan
from pt_multiaspect.integration.parsing import parse_all
from pt_multiaspect.strings.texts import Texts

SCALES = Aspects({"relevance": 2, "credibility": 2})
MEASURES = [TOMA(aspects=SCALES) @ 5, CAM(aspects=SCALES) @ 5, "nDCG@5", "RR@5"]


@pytest.fixture(scope="module")
def qrels() -> pd.DataFrame:
    return random_qrels(4)


# -- streaming -------------------------------------------------------------------------------------


def test_a_generator_of_named_runs_gives_what_the_dict_gives(qrels):
    runs = {f"run {seed} of ten": random_run(qrels, seed) for seed in range(10)}
    values = evaluate((pair for pair in runs.items()), qrels, MEASURES, progress=False)
    pd.testing.assert_frame_equal(
        values, evaluate(runs, qrels, MEASURES, progress=False), check_exact=True
    )
    pd.testing.assert_frame_equal(
        values, evaluate(list(runs.items()), qrels, MEASURES, progress=False), check_exact=True
    )
    pd.testing.assert_frame_equal(
        values, evaluate(runs.items(), qrels, MEASURES, progress=False), check_exact=True
    )


def test_generators_of_files_are_read_as_their_lists(qrels, tmp_path):
    """Files of the same name are told apart by their folders."""
    first, second = tmp_path / "first" / "a.run", tmp_path / "second" / "a.run"
    for seed, file in enumerate([first, second]):
        file.parent.mkdir()
        write_run(random_run(qrels, seed), file)

    values = evaluate((file for file in [first, second]), qrels, "AP", progress=False)
    assert values["name"].unique().tolist() == [str(first), str(second)]
    pd.testing.assert_frame_equal(values, evaluate([first, second], qrels, "AP", progress=False))

    of_folder = evaluate(iter([str(first.parent)]), qrels, "AP", progress=False)
    assert of_folder["name"].unique().tolist() == ["a.run"]


def test_generators_of_rows_are_read_as_their_lists(qrels):
    run = random_run(qrels, 0)
    rows = [ScoredDoc(*row) for row in run.itertuples(index=False)]
    values = evaluate(iter(rows), qrels, "AP", progress=False)
    pd.testing.assert_frame_equal(values, evaluate(rows, qrels, "AP", progress=False))
    of_frame = evaluate(run, qrels, "AP", progress=False)
    assert values["value"].tolist() == of_frame["value"].tolist()


@pytest.mark.slow
def test_no_run_is_kept(qrels):
    """When the next run is asked for, none of those before is alive: a run is dropped as it was evaluated."""
    given_runs: list[weakref.ref[pd.DataFrame]] = []
    numbers_alive = []

    def generate_runs() -> Iterator[tuple[str, pd.DataFrame]]:
        for seed in range(6):
            gc.collect()
            numbers_alive.append(sum(reference() is not None for reference in given_runs))
            run = random_run(qrels, seed)
            given_runs.append(weakref.ref(run))
            yield f"run-{seed}", run
            del run  # or this generator would keep it

    values = evaluate(generate_runs(), qrels, "AP", progress=False)
    n_runs, n_topics = 6, 4
    assert len(values) == n_runs * n_topics
    assert numbers_alive == [0] * n_runs


def test_a_mapping_is_asked_for_one_run_at_a_time(qrels):
    from collections.abc import Mapping

    class Lazy(Mapping):
        asked: list[str] = []

        def __getitem__(self, name: str) -> pd.DataFrame:
            self.asked.append(name)
            return random_run(qrels, int(name))

        def __iter__(self) -> Iterator[str]:
            return map(str, range(3))

        def __len__(self) -> int:
            return 3

    lazy = Lazy()
    values = evaluate(lazy, qrels, MEASURES, progress=False)
    # The first run once more, to tell runs by name from one run by query.
    assert lazy.asked == ["0", "0", "1", "2"]
    expected = evaluate(
        {str(seed): random_run(qrels, seed) for seed in range(3)}, qrels, MEASURES, progress=False
    )
    pd.testing.assert_frame_equal(values, expected, check_exact=True)


@pytest.mark.slow
def test_directories_and_patterns_are_their_files(qrels, tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    for seed, name in enumerate(
        ["a/one.run", "a/two.run", "b/three.run", "a/.hidden", "b/notes.txt"]
    ):
        write_run(random_run(qrels, seed), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    expected = {name: tmp_path / "a" / name for name in ("one.run", "two.run")}
    table = evaluate(expected, qrels, MEASURES, progress=False)
    for runs in ("a", tmp_path / "a", "a/*.run", ["a"], (folder for folder in ["a"])):
        pd.testing.assert_frame_equal(
            evaluate(runs, qrels, MEASURES, progress=False), table, check_exact=True
        )
    several = evaluate(["a", "b/*.run"], qrels, "AP", progress=False)
    assert several["name"].unique().tolist() == ["one.run", "two.run", "three.run"]
    assert evaluate("**/*.run", qrels, "AP", progress=False)["name"].nunique() == 3


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (lambda: [("a", {"q0": {"d0": 1.0}})] * 2, "distinct names, got several runs named a"),
        (
            lambda: iter([("a", {"q0": {"d0": 1.0}})] * 2),
            "distinct names, got several runs named a",
        ),
        (
            lambda: {1: {"q0": {"d0": 1.0}}, "1": {"q0": {"d0": 2.0}}},
            "distinct names, got several runs named 1",
        ),
        (lambda: iter([]), "expected at least one run, got none"),
        (dict, "expected at least one run, got none"),
        (list, "expected at least one run, got none"),
        (lambda: "nowhere/*.run", r"no file matches nowhere/\*.run"),
    ],
)
def test_runs_that_have_no_distinct_name_are_errors(qrels, runs, message):
    with pytest.raises(MultiAspectError, match=message):
        evaluate(runs(), qrels, "AP", progress=False)


def test_a_missing_file_is_an_error_before_the_first_run_is_evaluated(qrels, tmp_path):
    class Evaluated(dict):
        def items(self):  # type: ignore[no-untyped-def]
            raise AssertionError("evaluated before the files were looked for")

    write_run(random_run(qrels, 1), tmp_path / "there.run")
    runs = {
        "there": tmp_path / "there.run",
        "watched": Evaluated(q0={"d0": 1.0}),
        "gone": tmp_path / "gone.run",
    }
    with pytest.raises(MultiAspectError, match=r"run gone: .*gone\.run: no such file"):
        evaluate(runs, qrels, "AP", progress=False)
    with pytest.raises(
        MultiAspectError, match=r"run folder: .*expected a run file, got a directory"
    ):
        evaluate({"folder": tmp_path}, qrels, "AP", progress=False)


@pytest.mark.slow
def test_the_progress_bar_counts_runs_of_unknown_number(qrels, capsys):
    evaluate(((f"r{seed}", random_run(qrels, seed)) for seed in range(3)), qrels, "AP")
    assert "3run" in capsys.readouterr().err
    evaluate([random_run(qrels, seed) for seed in range(40)], qrels, "AP")
    assert "40/40" in capsys.readouterr().err


@pytest.mark.slow
def test_an_error_in_the_generator_of_runs_is_raised(qrels):
    def runs() -> Iterator[tuple[str, pd.DataFrame]]:
        for seed in range(100):
            yield str(seed), random_run(qrels, seed % 3)
        raise KeyError("the end of the archive")

    with pytest.raises(KeyError, match="end of the archive"):
        evaluate(runs(), qrels, "AP", progress=False)


def test_warnings_of_runs_are_given_although_a_later_run_is_an_error(qrels):
    twice = pd.concat([random_run(qrels, 3), random_run(qrels, 3).assign(score=-1.0)])
    with (
        pytest.warns(MultiAspectWarning, match="run twice: repeated documents"),
        pytest.raises(MultiAspectError, match="run broken: "),
    ):
        evaluate({"twice": twice, "broken": {"q0": 1}}, qrels, MEASURES, progress=False)


# -- workers ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing", "sequential"])
def test_every_backend_of_joblib_gives_the_same_values(qrels, backend):
    runs = {f"run {seed}": random_run(qrels, seed) for seed in range(20)}
    expected = evaluate(runs, qrels, MEASURES, progress=False)
    with joblib.parallel_config(backend=backend):
        found = evaluate_in_processes(runs, qrels, MEASURES)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_worker_restores_the_judgments_once(qrels):
    plan = Plan(Judgments(qrels), parse_all(MEASURES))
    key, content = plans.pack_plan(plan)
    restored = plans.unpack_plan(key, content)
    assert restored is not plan
    assert plans.unpack_plan(key, content) is restored
    run = random_run(qrels, 1)
    assert np.array_equal(restored.evaluate("a", run).values, plan.evaluate("a", run).values)


docnos = st.text(max_size=12) | st.sampled_from(["x" * 250, "x" * 300])
rows = st.lists(st.tuples(st.sampled_from("abc"), docnos, st.floats(-9, 9)), max_size=6)


def assert_pickling_keeps(run: Run) -> None:
    """Check that a run has the same rows after pickling, by all its parts."""
    unpickled = pickle.loads(pickle.dumps(run))
    pd.testing.assert_frame_equal(unpickled.to_pandas(), run.to_pandas())
    assert unpickled.qids.tolist() == run.qids.tolist()
    assert list(unpickled.docnos.decode()) == list(run.docnos.decode())
    assert unpickled.query.tolist() == run.query.tolist()
    assert unpickled.score.tolist() == run.score.tolist()
    assert len(unpickled) == len(run)


@examples(25)
@given(rows)
def test_pickling_keeps_every_row(given_rows):
    """Also of a run whose docnos are views of others' bytes, or which has a further column."""
    frame = pd.DataFrame(given_rows, columns=["qid", "docno", "score"])
    run = Run.of(frame.astype({"qid": object, "docno": object, "score": float}))
    assert_pickling_keeps(run)

    backwards = slice(None, None, -1)
    docnos_as_views = run.docnos.take(backwards)
    assert_pickling_keeps(Run(run.qids, run.query[backwards], docnos_as_views, run.score))

    docnos_as_strings = Texts.from_strings(run.docnos.decode()[backwards])
    further_column = frame[["docno"]]
    assert_pickling_keeps(Run(run.qids, run.query, docnos_as_strings, run.score, further_column))


def test_a_pickled_run_has_no_bytes_of_other_runs():
    """Docnos may be views of the bytes of a whole file or frame: a pickled part has only those of its own rows."""
    frame = pd.DataFrame(
        {"qid": "q1", "docno": [f"d{number:06}" for number in range(10_000)], "score": 1.0}
    )
    whole = Run.of(frame)
    every_hundredth = whole.docnos.take(slice(0, 10_000, 100))
    part = Run(whole.qids, whole.query[:100], every_hundredth, whole.score[:100])
    bytes_per_row_of_whole = len(pickle.dumps(whole)) / 10_000
    bytes_per_row_of_part = len(pickle.dumps(part)) / 100
    assert bytes_per_row_of_whole < 30
    assert bytes_per_row_of_part < 40  # with the bytes of all docnos, of 7 characters, above 700
