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


def test_generators_of_files_and_of_rows_are_read_as_their_lists(qrels, tmp_path):
    files = [tmp_path / folder / "a.run" for folder in ("first", "second")]
    for seed, file in enumerate(files):
        file.parent.mkdir()
        write_run(random_run(qrels, seed), file)
    values = evaluate((file for file in files), qrels, "AP", progress=False)
    assert values["name"].unique().tolist() == [str(file) for file in files]
    pd.testing.assert_frame_equal(values, evaluate(files, qrels, "AP", progress=False))
    (folder,) = evaluate(
        (str(folder) for folder in [files[0].parent]), qrels, "AP", progress=False
    )["name"].unique()
    assert folder == "a.run"
    rows = [ScoredDoc(*row) for row in random_run(qrels, 0).itertuples(index=False)]
    one = evaluate(iter(rows), qrels, "AP", progress=False)
    pd.testing.assert_frame_equal(one, evaluate(rows, qrels, "AP", progress=False))
    assert one["value"].tolist() == values["value"].tolist()[:4]


@pytest.mark.slow
def test_no_run_is_kept(qrels):
    """Neither in the caller's generator, nor in ours: at most the one that is evaluated is alive."""
    alive: list[weakref.ref[pd.DataFrame]] = []
    most = 0

    def runs() -> Iterator[tuple[str, pd.DataFrame]]:
        nonlocal most
        for seed in range(6):
            gc.collect()
            most = max(most, sum(reference() is not None for reference in alive))
            run = random_run(qrels, seed)
            alive.append(weakref.ref(run))
            yield f"run-{seed}", run
            del run

    assert len(evaluate(runs(), qrels, "AP", progress=False)) == 6 * 4
    assert most == 0


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


@examples(25)
@given(rows)
def test_pickling_keeps_every_row(given_rows):
    frame = pd.DataFrame(given_rows, columns=["qid", "docno", "score"])
    run = Run.of(frame.astype({"qid": object, "docno": object, "score": float}))
    for before in (
        run,
        Run(run.qids, run.query[::-1], run.docnos.take(slice(None, None, -1)), run.score),
        Run(
            run.qids,
            run.query,
            Texts.from_strings(run.docnos.decode()[::-1]),
            run.score,
            frame[["docno"]],
        ),
    ):
        after = pickle.loads(pickle.dumps(before))
        pd.testing.assert_frame_equal(after.to_pandas(), before.to_pandas())
        assert after.qids.tolist() == before.qids.tolist()
        assert list(after.docnos.decode()) == list(before.docnos.decode())
        assert after.query.tolist() == before.query.tolist()
        assert after.score.tolist() == before.score.tolist()
        assert len(after) == len(before)


def test_a_pickled_run_has_no_bytes_of_other_runs():
    """As the docnos of a file are within its lines, and some rows of a frame within all."""
    run = Run.of(
        pd.DataFrame({"qid": "q1", "docno": [f"d{n:06}" for n in range(10_000)], "score": 1.0})
    )
    some = Run(run.qids, run.query[:100], run.docnos.take(slice(0, 10_000, 100)), run.score[:100])
    assert len(pickle.dumps(run)) < 30 * len(run)
    assert len(pickle.dumps(some)) < 40 * len(some)
