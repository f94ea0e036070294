"""Files and tables evaluated by joblib, Polars, Spark, Dask and Ray: the code of the page, and workers that die.

`.ci/engines` runs this file where all engines are installed; elsewhere, tests of an absent engine
are skipped.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from frame_world import random_qrels

import pt_multiaspect as ma

#: Evaluators by query warn about runs that lack topics when they are completed, and those by run do
#: not.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*no documents for:pt_multiaspect.MultiAspectWarning"
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "howto" / "engines.md").read_text(encoding="utf-8")
SCALES = ma.Aspects({"relevance": 2, "credibility": 2})
MEASURES = {
    "ours": ma.TOMA(aspects=SCALES) @ 5,
    "CAM": ma.CAM(aspects=SCALES) @ 5,
    "nDCG@5": "nDCG@5",
    "AP": "AP",
}


def block_with(text: str, page: str = PAGE) -> str:
    """The one code block of a page that contains a text and that the build of the page does not execute."""
    (block,) = [
        block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if text in block
    ]
    return block


#: The code of the page for a table, by engine.
BLOCKS = {
    "polars": block_with("frame.group_by("),
    "spark": block_with("applyInPandas"),
    "dask": block_with("map_partitions"),
    "ray": block_with("map_groups(ev, batch"),
}


#: The code of the page for files: the function of a file, and what each engine does with it.
OF_A_FILE = block_with("def evaluate_file")
FILE_BLOCKS = {
    "joblib": block_with("joblib.Parallel"),
    "spark": block_with("sparkContext"),
    "dask": block_with("client.map"),
    "ray": block_with("ray.remote"),
}


def code_for(engine: str, by: str) -> str:
    """The code of the page, word for word, or with the two changes that its section on parts by query asks for."""
    if by == "run":
        return BLOCKS[engine]
    code = BLOCKS[engine].replace(
        "evaluator(qrels, measures)", 'evaluator(qrels, measures, by="query")'
    )
    code = code.replace('"name"', '"name", "qid"' if engine == "polars" else '["name", "qid"]')
    assert code.count('by="query"') == code.count('"qid"') == 1
    return code


@pytest.fixture(scope="module", params=["run", "query"])
def by(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def qrels() -> pd.DataFrame:
    return random_qrels(5)


def some_run(qrels: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    run = qrels.sample(frac=0.7, random_state=seed)[["qid", "docno"]]
    run = run.assign(name=name, score=rng.normal(size=len(run)).round(1))  # with ties
    if name == "lacks two":
        run = run[~run["qid"].isin(["q0", "q3"])]
    if name == "not judged":
        run = run.replace({"qid": {"q4": "x1"}})
    if name == "skewed":  # a thousand times as long as the others, most of it in one query
        deep = [(f"q{int(row % 50 == 0)}", f"u{row}") for row in range(40_000)]
        more = pd.DataFrame(deep, columns=["qid", "docno"])
        run = pd.concat([run, more.assign(name=name, score=rng.normal(size=len(more)))])
    return run[["name", "qid", "docno", "score"]]


@pytest.fixture(scope="module")
def runs(qrels: pd.DataFrame) -> pd.DataFrame:
    """Rows of seven runs, shuffled."""
    names = ["skewed", "lacks two", "not judged", "d", "e", "f", "g"]
    table = pd.concat([some_run(qrels, name, seed) for seed, name in enumerate(names)])
    return table.sample(frac=1, random_state=1, ignore_index=True)


@pytest.fixture(scope="module")
def expected(qrels: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The values of one process."""
    return ma.evaluate(dict(list(runs.groupby("name"))), qrels, MEASURES, progress=False)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory, as engines leave files in it, and the paths on which workers find package and tests."""
    path = tmp_path_factory.mktemp("engines")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield path


@pytest.fixture(scope="module")
def parquet(folder: Path, runs: pd.DataFrame) -> str:
    """The runs as engines find them: a table of three files, of which no run is in one only."""
    pytest.importorskip("pyarrow")
    (folder / "table").mkdir()
    for part in range(3):
        runs.iloc[part::3].to_parquet(folder / "table" / f"{part}.parquet", index=False)
    return str(folder / "table")


# -- the engines -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Any]:
    """Spark with two threads that try tasks again: ``local[2]`` gives up at once."""
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "4",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Any]:
    """Dask with two processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(folder)
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def ray(folder: Path) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20
    )
    ray.data.DataContext.get_current().default_hash_shuffle_parallelism = (
        4  # of 200, for seven runs
    )
    yield ray
    ray.shutdown()


def read(engine: str, parquet: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The table as an engine reads it, by its name on the page."""
    if engine == "polars":
        return {"frame": pl.read_parquet(f"{parquet}/*.parquet")}
    if engine == "spark":
        return {"table": request.getfixturevalue("session").read.parquet(parquet)}
    if engine == "dask":
        dataframe = pytest.importorskip("dask.dataframe")
        request.getfixturevalue("client")
        return {"table": dataframe.read_parquet(parquet)}
    return {"dataset": request.getfixturevalue("ray").data.read_parquet(parquet)}


ENGINES = [
    "polars",
    *(pytest.param(engine, marks=pytest.mark.slow) for engine in ("spark", "dask", "ray")),
]
CLUSTERS = ENGINES[1:]


def check(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    bits = [frame["value"].to_numpy().view(np.int64) for frame in (found, expected)]
    np.testing.assert_array_equal(*bits)
    pd.testing.assert_frame_equal(ma.aggregate(found), ma.aggregate(expected), check_exact=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_code_of_the_page_gives_the_values_of_one_process(
    engine, by, qrels, parquet, expected, request
):
    names = {"ma": ma, "qrels": qrels, "measures": MEASURES, **read(engine, parquet, request)}
    exec(code_for(engine, by), names)
    check(names["perquery"], expected)


@pytest.mark.parametrize("engine", CLUSTERS)
def test_a_worker_that_is_killed_is_replaced(engine, by, qrels, parquet, expected, folder, request):
    """The first part that is evaluated ends the process of its worker, as the system does without memory."""
    pid_file = folder / f"killed {engine} {by}"

    def evaluator(*arguments: Any, **options: Any) -> Any:
        return killing_once(ma.evaluator(*arguments, **options), str(pid_file))

    # The code of the page, with this evaluator instead of that of the package.
    names = {"ma": SimpleNamespace(evaluator=evaluator), "qrels": qrels, "measures": MEASURES}
    names |= read(engine, parquet, request)
    exec(code_for(engine, by), names)

    pid_of_killed_worker = int(pid_file.read_text())
    assert pid_of_killed_worker != os.getpid()
    check(names["perquery"], expected)


def killing_once(ev: Any, marker: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """An evaluator in the first call of which the process dies; the file `marker` then holds its number."""

    def kill_or_evaluate(frame: pd.DataFrame) -> pd.DataFrame:
        try:
            with open(marker, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return ev(frame)
        return os.kill(os.getpid(), signal.SIGKILL)

    for name in ("schema", "meta", "complete"):
        setattr(kill_or_evaluate, name, getattr(ev, name))
    return kill_or_evaluate


@pytest.mark.parametrize("engine", CLUSTERS)
def test_what_is_wrong_is_said_by_the_engine_too(engine, qrels, folder, request):
    """By run, a run without a judged query is an error of a worker; by query, `complete` raises it."""
    path = folder / f"unjudged {engine}"
    path.mkdir()
    table = pd.concat([some_run(qrels, "d", 3), some_run(qrels, "e", 4).assign(qid="x2")])
    table.to_parquet(path / "0.parquet", index=False)
    for by in ("run", "query"):
        names = {"ma": ma, "qrels": qrels, "measures": MEASURES, **read(engine, str(path), request)}
        with pytest.raises(Exception, match=r"run e and the qrels have no query in common"):
            exec(code_for(engine, by), names)


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run_files(folder: Path, runs: pd.DataFrame) -> None:
    """The runs as files of the directory that the page names."""
    (folder / "runs").mkdir()
    for name, run in runs.groupby("name"):
        lines = [f"{row.qid} Q0 {row.docno} 1 {row.score!r} tag\n" for row in run.itertuples()]
        (folder / "runs" / name).write_text("".join(lines), encoding="utf-8")


def find_engine(engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the page takes for granted of an engine, by its name there."""
    if engine == "spark":
        return {"spark": request.getfixturevalue("session")}
    if engine == "dask":
        pytest.importorskip("distributed")
        return {"client": request.getfixturevalue("client")}
    if engine == "ray":
        request.getfixturevalue("ray")
    return {}


FILE_ENGINES = ["joblib", "spark", "dask", "ray"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_the_code_for_files_gives_the_values_of_one_process(
    engine, qrels, run_files, expected, request
):
    names = {"__name__": "__main__", "ma": ma, "pd": pd, "qrels": qrels, "measures": MEASURES}
    names |= find_engine(engine, request)
    exec(OF_A_FILE + FILE_BLOCKS[engine], names)
    check(names["perquery"], expected)
    check(names["perquery"], ma.evaluate("runs", qrels, MEASURES, progress=False))


@pytest.mark.slow
@pytest.mark.parametrize("engine", FILE_ENGINES[1:])
def test_a_worker_that_is_killed_while_it_evaluates_a_file(
    engine, qrels, run_files, expected, folder, request
):
    """The first file that is evaluated ends the process of its worker; the engine evaluates it again."""
    pid_file = folder / f"killed file {engine}"

    def evaluator(*arguments: Any) -> Any:
        return killing_once(ma.evaluator(*arguments), str(pid_file))

    # The code of the page, with this evaluator instead of that of the package.
    package = SimpleNamespace(evaluator=evaluator, read_run=ma.read_run)
    names = {"__name__": "__main__", "ma": package, "pd": pd, "qrels": qrels, "measures": MEASURES}
    names |= find_engine(engine, request)
    exec(OF_A_FILE + FILE_BLOCKS[engine], names)

    pid_of_killed_worker = int(pid_file.read_text())
    assert pid_of_killed_worker != os.getpid()
    check(names["perquery"], expected)


def test_every_block_of_the_page_is_executed():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    assert sorted(blocks) == sorted([*BLOCKS.values(), OF_A_FILE, *FILE_BLOCKS.values()])
