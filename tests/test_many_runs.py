"""Runs are read, evaluated and dropped one by one, here or by workers."""

from __future__ import annotations

import gc
import pickle
import signal
import weakref
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from frame_world import random_qrels, random_run, write_run
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import ScoredDoc
from strategies import examples, forget_warnings

from pt_multiaspect import CAM, TOMA, Aspects, MultiAspectError, MultiAspectWarning, evaluate
from pt_multiaspect.collection.run import Run
from pt_multiaspect.evaluation import plan as plans
from pt_multiaspect.evaluation.digests import digest_of
from pt_multiaspect.evaluation.evaluating import _start_of_workers
from pt_multiaspect.strings.texts import Texts

SCALES = Aspects({"relevance": 2, "credibility": 2})
MEASURES = [TOMA(aspects=SCALES) @ 5, CAM(aspects=SCALES) @ 5, "nDCG@5", "RR@5"]


@pytest.fixture(scope="module")
def qrels() -> pd.DataFrame:
    return random_qrels(4)


# -- streaming -------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_generator_of_named_runs_gives_what_the_dict_gives(qrels, n_jobs):
    runs = {f"run {seed} of ten": random_run(qrels, seed) for seed in range(10)}
    values = evaluate((pair for pair in runs.items()), qrels, MEASURES, n_jobs=n_jobs, progress=False)
    pd.testing.assert_frame_equal(values, evaluate(runs, qrels, MEASURES, progress=False), check_exact=True)
    pd.testing.assert_frame_equal(
        values, evaluate(list(runs.items()), qrels, MEASURES, progress=False), check_exact=True
    )
    pd.testing.assert_frame_equal(values, evaluate(runs.items(), qrels, MEASURES, progress=False), check_exact=True)


def test_generators_of_files_and_of_rows_are_read_as_their_lists(qrels, tmp_path):
    files = [tmp_path / folder / "a.run" for folder in ("first", "second")]
    for seed, file in enumerate(files):
        file.parent.mkdir()
        write_run(random_run(qrels, seed), file)
    values = evaluate((file for file in files), qrels, "AP", progress=False)
    assert values["name"].unique().tolist() == [str(file) for file in files]
    pd.testing.assert_frame_equal(values, evaluate(files, qrels, "AP", progress=False))
    (folder,) = evaluate((str(folder) for folder in [files[0].parent]), qrels, "AP", progress=False)[
        "name"
    ].unique()
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


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows does not block signals")
def test_workers_start_with_ctrl_c_blocked():
    with _start_of_workers():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.slow
def test_workers_are_fed_a_bounded_number_of_runs(qrels):
    """The generator is asked for more only as results arrive."""
    started = 0

    def runs() -> Iterator[tuple[str, pd.DataFrame]]:
        nonlocal started
        for seed in range(120):
            started += 1
            yield f"run-{seed}", random_run(qrels, seed % 3)

    from pt_multiaspect.collection.judgments import Judgments
    from pt_multiaspect.evaluation.evaluating import outcomes
    from pt_multiaspect.evaluation.plan import Plan
    from pt_multiaspect.integration.parsing import parse_all
    from pt_multiaspect.io.runs import NamedRuns

    with joblib.parallel_config(backend="threading"):
        results = outcomes(Plan(Judgments(qrels), parse_all("AP")), NamedRuns.read(runs()), n_jobs=2, skip=False)
        next(results)
        first = started
        assert sum(1 for _ in results) == 119
    assert first < 120


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
    expected = evaluate({str(seed): random_run(qrels, seed) for seed in range(3)}, qrels, MEASURES, progress=False)
    pd.testing.assert_frame_equal(values, expected, check_exact=True)


@pytest.mark.slow
def test_directories_and_patterns_are_their_files(qrels, tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    for seed, name in enumerate(["a/one.run", "a/two.run", "b/three.run", "a/.hidden", "b/notes.txt"]):
        write_run(random_run(qrels, seed), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    expected = {name: tmp_path / "a" / name for name in ("one.run", "two.run")}
    table = evaluate(expected, qrels, MEASURES, progress=False)
    for runs in ("a", tmp_path / "a", "a/*.run", ["a"], (folder for folder in ["a"])):
        pd.testing.assert_frame_equal(evaluate(runs, qrels, MEASURES, progress=False), table, check_exact=True)
    several = evaluate(["a", "b/*.run"], qrels, "AP", progress=False)
    assert several["name"].unique().tolist() == ["one.run", "two.run", "three.run"]
    assert evaluate("**/*.run", qrels, "AP", progress=False)["name"].nunique() == 3


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (lambda: [("a", {"q0": {"d0": 1.0}})] * 2, "distinct names, got several runs named a"),
        (lambda: iter([("a", {"q0": {"d0": 1.0}})] * 2), "distinct names, got several runs named a"),
        (lambda: {1: {"q0": {"d0": 1.0}}, "1": {"q0": {"d0": 2.0}}}, "distinct names, got several runs named 1"),
        (lambda: iter([]), "expected at least one run, got none"),
        (dict, "expected at least one run, got none"),
        (list, "expected at least one run, got none"),
        (lambda: "nowhere/*.run", r"no file matches nowhere/\*.run"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_runs_that_have_no_distinct_name_are_errors(qrels, runs, message, n_jobs):
    with joblib.parallel_config(backend="threading"), pytest.raises(MultiAspectError, match=message):
        evaluate(runs(), qrels, "AP", n_jobs=n_jobs, progress=False)


def test_a_missing_file_is_an_error_before_the_first_run_is_evaluated(qrels, tmp_path):
    class Evaluated(dict):
        def items(self):  # type: ignore[no-untyped-def]
            raise AssertionError("evaluated before the files were looked for")

    write_run(random_run(qrels, 1), tmp_path / "there.run")
    runs = {"there": tmp_path / "there.run", "watched": Evaluated(q0={"d0": 1.0}), "gone": tmp_path / "gone.run"}
    with pytest.raises(MultiAspectError, match=r"run gone: .*gone\.run: no such file"):
        evaluate(runs, qrels, "AP", progress=False)
    with pytest.raises(MultiAspectError, match=r"run folder: .*expected a run file, got a directory"):
        evaluate({"folder": tmp_path}, qrels, "AP", progress=False)
    with pytest.warns(MultiAspectWarning, match="skipped: run gone"):
        values = evaluate(
            {"there": runs["there"], "gone": runs["gone"]}, qrels, "AP", progress=False, errors="skip"
        )
    assert values.attrs["skipped"] == ["gone"]


@pytest.mark.slow
def test_the_progress_bar_counts_runs_of_unknown_number(qrels, capsys):
    evaluate(((f"r{seed}", random_run(qrels, seed)) for seed in range(3)), qrels, "AP")
    assert "3run" in capsys.readouterr().err
    with joblib.parallel_config(backend="threading"):
        evaluate([random_run(qrels, seed) for seed in range(40)], qrels, "AP", n_jobs=2)
    assert "40/40" in capsys.readouterr().err


# -- workers ---------------------------------------------------------------------------------------


def backends() -> list[str]:
    return ["loky", "threading", "multiprocessing", "sequential"]


@pytest.fixture(scope="module")
def mixed_runs(qrels, tmp_path_factory) -> dict[str, Any]:
    """Runs as frames, dicts, files and rows, one of which causes a warning, and one of which is faulty."""
    path = tmp_path_factory.mktemp("runs") / "file.run"
    write_run(random_run(qrels, 50), path)
    frames = {f"frame {seed}": random_run(qrels, seed) for seed in range(20)}
    nested = {
        qid: dict(zip(rows["docno"], rows["score"], strict=True))
        for qid, rows in random_run(qrels, 9).groupby("qid")
    }
    twice = pd.concat([random_run(qrels, 3), random_run(qrels, 3).assign(score=-1.0)])
    return {
        **frames,
        "dict": nested,
        "file": path,
        "twice": twice,
        "foreign": {"q99": {"d0": 1.0}},
        "broken": {"q0": 1},
    }


@pytest.fixture(scope="module")
def expected(qrels, mixed_runs) -> tuple[pd.DataFrame, list[str]]:
    return evaluate_runs(qrels, mixed_runs, n_jobs=1)


def evaluate_runs(qrels: Any, runs: Any, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    forget_warnings()
    with pytest.warns(MultiAspectWarning) as caught:
        frame = evaluate(runs, qrels, MEASURES, progress=False, errors="skip", **options)
    return frame, [str(warning.message) for warning in caught]


@pytest.mark.slow
@pytest.mark.parametrize("backend", backends())
def test_every_backend_gives_the_same_values_and_warnings_in_the_same_order(qrels, mixed_runs, expected, backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        result = evaluate_runs(qrels, mixed_runs)
    pd.testing.assert_frame_equal(result[0], expected[0], check_exact=True)
    assert result[0].attrs["skipped"] == ["foreign", "broken"]
    assert result[1] == expected[1]
    assert sum("repeated documents" in message for message in result[1]) == 1


def test_n_jobs_is_that_of_parallel_config_unless_it_is_given(qrels, monkeypatch):
    used: list[Any] = []
    original = joblib.Parallel

    def parallel(*args: Any, **kwargs: Any) -> Any:
        used.append(kwargs.get("n_jobs"))
        return original(*args, **kwargs)

    monkeypatch.setattr(joblib, "Parallel", parallel)
    runs = [random_run(qrels, 1), random_run(qrels, 2)]
    evaluate(runs, qrels, "AP", progress=False)
    evaluate(runs, qrels, "AP", n_jobs=None, progress=False)
    assert used == []  # one process needs no pool
    with joblib.parallel_config(backend="threading", n_jobs=2):
        evaluate(runs, qrels, "AP", progress=False)
        evaluate(runs, qrels, "AP", n_jobs=None, progress=False)
        assert used == [None, None]
        evaluate(runs, qrels, "AP", n_jobs=1, progress=False)
        assert used == [None, None]


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2"])
def test_invalid_n_jobs(qrels, n_jobs):
    with pytest.raises(MultiAspectError, match="n_jobs: expected a number of processes, None or"):
        evaluate([random_run(qrels, 1)], qrels, "AP", n_jobs=n_jobs, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_an_error_in_the_generator_of_runs_is_raised(qrels, backend):
    """Also where a thread of joblib asks for the runs."""

    def runs() -> Iterator[tuple[str, pd.DataFrame]]:
        for seed in range(100):
            yield str(seed), random_run(qrels, seed % 3)
        raise KeyError("the end of the archive")

    with joblib.parallel_config(backend=backend, n_jobs=2), pytest.raises(KeyError, match="end of the archive"):
        evaluate(runs(), qrels, "AP", progress=False)


@pytest.mark.slow
def test_runs_and_judgments_are_sent_in_few_tasks(qrels, monkeypatch):
    from pt_multiaspect.evaluation import evaluating

    sizes: list[int] = []
    original = evaluating._evaluate_task
    monkeypatch.setattr(evaluating, "_evaluate_task", lambda *args: sizes.append(len(args[2])) or original(*args))
    with joblib.parallel_config(backend="threading", n_jobs=2):
        evaluate([random_run(qrels, seed % 5) for seed in range(100)], qrels, "AP", progress=False)
    assert sum(sizes) == 100
    assert 6 <= len(sizes) <= 20
    # So that no worker waits for the other at the start and at the end.
    assert sizes[0] == sizes[-1] == 1


def test_a_worker_restores_the_judgments_once(qrels):
    from pt_multiaspect.collection.judgments import Judgments
    from pt_multiaspect.evaluation.plan import Plan
    from pt_multiaspect.integration.parsing import parse_all

    plan = Plan(Judgments(qrels), parse_all(MEASURES))
    key, content = plans.pack_plan(plan)
    assert plans.unpack_plan(key, content) is plan  # in threads
    plans.forget_plan(key)
    restored = plans.unpack_plan(key, content)
    assert restored is not plan
    assert plans.unpack_plan(key, content) is restored
    run = random_run(qrels, 1)
    assert np.array_equal(restored.evaluate("a", run).values, plan.evaluate("a", run).values)
    plans.forget_plan(key)


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
        Run(run.qids, run.query, Texts.from_strings(run.docnos.decode()[::-1]), run.score, frame[["docno"]]),
    ):
        after = pickle.loads(pickle.dumps(before))
        pd.testing.assert_frame_equal(after.to_pandas(), before.to_pandas())
        assert digest_of(after) == digest_of(before)
        assert len(after) == len(before)


def test_a_pickled_run_has_no_bytes_of_other_runs():
    """As the docnos of a file are within its lines, and some rows of a frame within all."""
    run = Run.of(pd.DataFrame({"qid": "q1", "docno": [f"d{n:06}" for n in range(10_000)], "score": 1.0}))
    some = Run(run.qids, run.query[:100], run.docnos.take(slice(0, 10_000, 100)), run.score[:100])
    assert len(pickle.dumps(run)) < 20 * len(run)
    assert len(pickle.dumps(some)) < 30 * len(some)
