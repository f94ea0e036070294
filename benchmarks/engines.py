"""Seconds and memory of Spark, Dask and Ray on a table of runs, beside one process, on one machine.

``python -m benchmarks.engines --runs 20 200 1000`` prints a table. It needs the extra *engines* and
Java 17. Each engine has a process of its own and two workers. All read the same Parquet files, and
evaluate them with the code of the page; seconds are those of the fastest evaluation after the first
one. Memory is what a process does not share with others, at its peak in any evaluation, of the
largest worker.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import pt_multiaspect as ma

from .cases import FOUR
from .collection import collection

MEASURES = ["nDCG@10", *FOUR]
RUNS_PER_FILE = 10
#: By engine, a part of the commands of its workers.
WORKERS = {
    "one process": "benchmarks.engines",
    "Spark": "pyspark.daemon",
    "Dask": "spawn_main",
    "Ray": "ray::",
}
ENGINES = list(WORKERS)
#: A part of the command of Spark's JVM, in which the table is.
JVM = "SparkSubmit"


def write_table(folder: Path, n_runs: int) -> None:
    """Write qrels of 50 topics, and files of runs of 1000 documents per topic."""
    qrels, run = collection(n_queries=50)
    qrels.rename(columns={"query_id": "qid", "doc_id": "docno"}).to_parquet(
        folder / "qrels.parquet", index=False
    )
    run = run.rename(columns={"query_id": "qid", "doc_id": "docno"})
    rng = np.random.default_rng(1)
    (folder / "table").mkdir()
    for start in range(0, n_runs, RUNS_PER_FILE):
        parts = [
            run.assign(name=f"run-{number:04d}", score=rng.normal(size=len(run)))
            for number in range(start, min(start + RUNS_PER_FILE, n_runs))
        ]
        pd.concat(parts).to_parquet(folder / "table" / f"{start:04d}.parquet", index=False)


def one_process(table: str, ev: ma.evaluation.Evaluator) -> Callable[[], object]:
    """Whole files, as a table of 1000 runs may not fit the memory; each has whole runs."""

    def work() -> object:
        return pd.concat([ev(pd.read_parquet(path)) for path in sorted(Path(table).iterdir())])

    return work


def spark(table: str, ev: ma.evaluation.Evaluator) -> Callable[[], object]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "driver.host": "127.0.0.1",
        "local.dir": os.getcwd(),
        "ui.showConsoleProgress": "false",
    }
    for name, value in {**settings, "driver.memory": "4g"}.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    return lambda: (
        session.read.parquet(table).groupBy("name").applyInPandas(ev, ev.schema).toPandas()
    )


def dask(table: str, ev: ma.evaluation.Evaluator) -> Callable[[], object]:
    import dask.dataframe
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=os.getcwd()
    )
    dask.config.set({"distributed.comm.timeouts.connect": "120s"})
    distributed.Client(cluster)
    return lambda: (
        dask.dataframe.read_parquet(table)
        .shuffle("name")
        .map_partitions(ev, meta=ev.meta)
        .compute()
    )


def ray(table: str, ev: ma.evaluation.Evaluator) -> Callable[[], object]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    return lambda: (
        ray.data.read_parquet(table)
        .groupby("name")
        .map_groups(ev, batch_format="pandas")
        .to_pandas()
    )


STARTS: dict[str, Callable[[str, ma.evaluation.Evaluator], Callable[[], object]]] = dict(
    zip(ENGINES, (one_process, spark, dask, ray), strict=True)
)


def measure(engine: str, folder: Path, rounds: int) -> dict[str, float]:
    """The seconds of the engine's start and the first evaluation, and of the fastest later one; memory in MB."""
    qrels = pd.read_parquet(folder / "qrels.parquet")
    ev = ma.evaluator(qrels, MEASURES)
    peaks: dict[str, float] = {WORKERS[engine]: 0, JVM: 0}
    ended = threading.Event()
    watching = threading.Thread(target=watch, args=(peaks, engine, ended))
    watching.start()
    try:
        seconds = []
        start = time.perf_counter()
        work = STARTS[engine](str(folder / "table"), ev)
        for _ in range(rounds + 1):
            perquery = ev.complete(work())
            seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
    finally:
        ended.set()
        watching.join()
    mean = float(np.mean(perquery["value"]))
    memory = {"memory": peaks[WORKERS[engine]], "jvm": peaks[JVM]}
    return {"cold": seconds[0], "warm": min(seconds[1:]), "mean": mean, **memory}


def watch(peaks: dict[str, float], engine: str, ended: threading.Event) -> None:
    """Keep the largest memory, in MB, of a process by a part of its command: this one, or one below it."""
    import psutil

    this = psutil.Process()
    while not ended.wait(0.3):
        for process in [this] if engine == "one process" else this.children(recursive=True):
            try:
                command = " ".join(process.cmdline())
                for part in peaks:
                    if part in command:
                        peaks[part] = max(peaks[part], process.memory_full_info().uss / 2**20)
            except psutil.Error:  # it has ended
                continue


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[20, 200], help="numbers of runs")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="evaluations after the first, of which the fastest counts",
    )
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # the folder, in a process of its own
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.engines[0], Path(given.measure), given.rounds)))
        return
    print(
        "| runs | by | seconds | with the start | MB per worker |\n|--:|---|--:|--:|--:|",
        flush=True,
    )
    for n_runs in given.runs:
        with tempfile.TemporaryDirectory(prefix="engines", dir="/tmp") as folder:
            write_table(Path(folder), n_runs)
            means = set()
            for engine in given.engines:
                found = time_in_process(engine, folder, given.rounds)
                means.add(found["mean"])
                figures = f"{found['warm']:.1f} | {found['cold']:.1f} | {found['memory']:.0f}"
                figures += f", and {found['jvm']:.0f} of the JVM" if found["jvm"] else ""
                print(f"| {n_runs} | {engine} | {figures} |", flush=True)
            if len(means) > 1:
                raise SystemExit(
                    f"expected the same values from all engines, got the means {means}"
                )


def time_in_process(engine: str, folder: str, rounds: int) -> dict[str, float]:
    """Measure an engine in a process in the folder, where engines leave files."""
    root = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-m", "benchmarks.engines", "--measure", folder, "--engines", engine]
    environment = {
        **os.environ,
        "PYTHONPATH": root,
        "RAY_USAGE_STATS_ENABLED": "0",
        "TMPDIR": folder,
    }
    done = subprocess.run(
        [*command, "--rounds", str(rounds)], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
        stderr=None if os.environ.get("VERBOSE") else subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{engine} has failed: VERBOSE=1 shows what it writes")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
