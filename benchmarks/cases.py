"""The rows of the table: what is measured, against what, and the goal."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytrec_eval

import pt_multiaspect as ma
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.collection import Judgments, Rankings
from pt_multiaspect.io.trec_files import load_run

from .collection import collection, lines_of, ranked, runs_of_a_track
from .measuring import printed_by, ratio, seconds

GRADES = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2}, name="benchmark")
FOUR = [measure(aspects=GRADES) for measure in (ma.TOMA, ma.CAM, ma.uRBP, ma.NLRE)]
SIX = ["nDCG@10", "AP", *FOUR]
EIGHT = (ma.MM, ma.NGRE, ma.NWCS, ma.GAM, ma.uRBPgr, ma.unDCG, ma.uERR, ma.CAM(base="AP"))
SUBTOPICS = ("alpha_nDCG@20", "ERR_IA@20", "NRBP", "StRecall@20")
TWELVE = [*FOUR, *(measure(aspects=GRADES) for measure in EIGHT)]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    against: str
    #: Returns the figure, of a small version or the full one.
    measure: Callable[[bool], float]
    goal: float
    unit: str = "ratio"
    #: Whether there is a small version.
    has_small: bool = True


CASES: list[Case] = []


def case(
    name: str, against: str, goal: float, unit: str = "ratio", *, has_small: bool = True
) -> Callable[[Callable[[bool], float]], Callable[[bool], float]]:
    """Add the decorated function to the table."""

    def add(measure: Callable[[bool], float]) -> Callable[[bool], float]:
        CASES.append(Case(name, against, measure, goal, unit, has_small))
        return measure

    return add


def _by_pytrec_eval(qrels: pd.DataFrame, runs: list[pd.DataFrame]) -> None:
    judged: dict[str, dict[str, int]] = {}
    for qid, docno, label in zip(
        qrels["query_id"], qrels["doc_id"], qrels["relevance"].tolist(), strict=True
    ):
        judged.setdefault(qid, {})[docno] = label
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"})
    for run in runs:
        retrieved: dict[str, dict[str, float]] = {}
        for qid, docno, score in zip(
            run["query_id"], run["doc_id"], run["score"].tolist(), strict=True
        ):
            retrieved.setdefault(qid, {})[docno] = score
        evaluator.evaluate(retrieved)


@case(
    "runs of 50 x 1000 in memory, six measures",
    "a loop of pytrec_eval for nDCG@10, with its dicts",
    0.25,
)
def runs_in_memory(small: bool) -> float:
    qrels, runs = runs_of_a_track(10 if small else 200)
    ma.evaluate(runs[:2], qrels, SIX, progress=False)
    return ratio(
        lambda: ma.evaluate(runs, qrels, SIX, progress=False),
        lambda: _by_pytrec_eval(qrels, runs),
        rounds=3 if small else 1,
    )


@case("run files of 100 000 lines, five measures", "read_trec_run and nDCG of ir-measures", 0.15)
def run_files(small: bool) -> float:
    qrels, runs = runs_of_a_track(2 if small else 5)
    judged = list(qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False, name="Qrel"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{place}.run" for place in range(len(runs))]
        for path, run in zip(paths, runs, strict=True):
            both = pd.concat([run, run.assign(query_id="x" + run["query_id"])])
            path.write_text(lines_of(both), encoding="utf-8")

        def original() -> None:
            for path in paths:
                ir_measures.calc_aggregate(
                    [ir_measures.nDCG], judged, ir_measures.read_trec_run(str(path))
                )

        return ratio(lambda: ma.evaluate(paths, qrels, SIX[:5], progress=False), original)


def _reading(small: bool, compress: Callable[[bytes], bytes]) -> float:
    import polars

    qrels, run = collection(n_queries=300 if small else 1000)
    content, judgments = lines_of(ranked(run)).encode(), Judgments(qrels)
    columns = ("query_id", "doc_id", "relevance")
    of_pool = polars.DataFrame({column: qrels[column].tolist() for column in columns})
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    kinds = [
        polars.String,
        polars.String,
        polars.String,
        polars.Int64,
        polars.Float64,
        polars.String,
    ]
    given = compress(content)

    def yardstick() -> object:
        frame = polars.read_csv(
            content,
            separator=" ",
            has_header=False,
            quote_char=None,
            schema=dict(zip(names, kinds, strict=True)),
        ).sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        frame = frame.with_columns(polars.int_range(polars.len()).over("query_id").alias("place"))
        return frame.join(of_pool, on=["query_id", "doc_id"], how="left")

    return ratio(lambda: Rankings(load_run(io.BytesIO(given)), judgments), yardstick, rounds=5)


@case("reading a file of 10^6 lines to joined rankings", "Polars: scan, sort, rank, join", 1.0)
def reading(small: bool) -> float:
    return _reading(small, lambda content: content)


@case("the same file compressed by gzip", "Polars on the file that is not compressed", 1.5)
def reading_gzip(small: bool) -> float:
    return _reading(small, gzip.compress)


@case("reading a run of 10^6 scores in JSON", "json.load of the file", 3.0)
def reading_json(small: bool) -> float:
    content = json.dumps(_scores(small)).encode()
    return ratio(
        lambda: load_run(io.BytesIO(content)), lambda: json.load(io.BytesIO(content)), rounds=5
    )


@case("reading predictions of sentence-transformers, 10^6 scores", "json.loads of each line", 3.0)
def reading_lines_of_json(small: bool) -> float:
    content = b"".join(
        json.dumps(
            {
                "query_id": qid,
                "query": "",
                "results": [
                    {"corpus_id": docno, "score": score} for docno, score in documents.items()
                ],
            }
        ).encode()
        + b"\n"
        for qid, documents in _scores(small).items()
    )
    return ratio(
        lambda: load_run(io.BytesIO(content)),
        lambda: [json.loads(line) for line in io.BytesIO(content)],
        rounds=5,
    )


def _scores(small: bool) -> dict[str, dict[str, float]]:
    _, run = collection(n_queries=300 if small else 1000)
    return {
        qid: dict(zip(rows["doc_id"], rows["score"].tolist(), strict=True))
        for qid, rows in run.groupby("query_id")
    }


@case("describing 10^6 judgments of three aspects", "reading them", 6.0)
def describing(small: bool) -> float:
    qrels, _ = collection(n_queries=300 if small else 1000, n_judged=1000)
    return ratio(lambda: ma.describe(qrels), lambda: Judgments(qrels))


def _twelve(small: bool, order: str) -> float:
    qrels, run = collection(n_queries=200 if small else 1000)
    run = (
        ranked(run) if order == "blocks" else run.sample(frac=1, random_state=0, ignore_index=True)
    )
    plain = qrels[["query_id", "doc_id", "relevance"]]
    return ratio(
        lambda: ir_measures.calc_aggregate(TWELVE, qrels, run),
        lambda: ir_measures.calc_aggregate([ir_measures.nDCG], plain, run),
    )


@case("twelve measures on 10^6 rows, in query blocks", "nDCG of ir-measures, same frames", 0.15)
def twelve_in_blocks(small: bool) -> float:
    return _twelve(small, "blocks")


@case("twelve measures on 10^6 rows, shuffled", "nDCG of ir-measures, same frames", 0.25)
def twelve_shuffled(small: bool) -> float:
    return _twelve(small, "shuffled")


@case(
    "seven measures of session and diversity on 10^6 rows",
    "two nDCG of ir-measures, same frames",
    0.15,
)
def beyond_aspects(small: bool) -> float:
    qrels, run = collection(n_queries=200 if small else 1000)
    run = ranked(run)
    themes = {
        "themes": "relevance,credibility",
        "usability": "understandability",
        "aspects": GRADES,
    }
    seven = [
        *(
            ma.Subtopics(base=base, aspects=GRADES)
            for base in ("alpha_nDCG@20", "ERR_IA@20", "NRBP", "StRecall@20")
        ),
        ma.RBU(aspects=GRADES),
        ma.MDCU(**themes),
        ma.nMDCU(**themes),
    ]
    plain = qrels[["query_id", "doc_id", "relevance"]]
    return ratio(
        lambda: ir_measures.calc_aggregate(seven, qrels, run),
        lambda: [ir_measures.calc_aggregate([ir_measures.nDCG], plain, run) for _ in range(2)],
    )


@case("one more measure on 10^6 rows (mean of eleven)", "the first one", 0.05)
def one_more(small: bool) -> float:
    qrels, run = collection(n_queries=200 if small else 1000)
    judgments = Judgments(qrels)
    rounds = []
    for _ in range(4):
        start = time.process_time()
        rankings = Rankings(run, judgments)
        TWELVE[0].evaluate(rankings)
        first = time.process_time() - start
        rounds.append([first, *(seconds(partial(each.evaluate, rankings)) for each in TWELVE[1:])])
    times = np.min(rounds[1:], axis=0)  # the first round prepares the judgments for each measure
    return float(times[1:].mean() / times[0])


def _experiment(small: bool) -> Callable[..., object]:
    """Return a function that evaluates the same runs of 1000 documents per topic."""
    qrels, run = collection(n_queries=50 if small else 200)
    rng = np.random.default_rng(1)
    names = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    runs = [ranked(run.assign(score=rng.normal(size=len(run)))) for _ in range(3 if small else 10)]
    systems = {
        str(number): run.rename(columns=names).assign(rank=0) for number, run in enumerate(runs)
    }
    topics = pd.DataFrame({"qid": qrels["query_id"].unique(), "query": "x"})
    return partial(pt.Experiment, systems, topics, qrels.rename(columns=names))


STANDARD = [ir_measures.nDCG @ 10, ir_measures.AP]
OF_STANDARD = "pt.Experiment, nDCG@10 and AP"


@case("pt.Experiment, five measures", OF_STANDARD, 0.25)
def experiment(small: bool) -> float:
    evaluate = _experiment(small)
    return ratio(
        lambda: evaluate([*FOUR, ma.MM(aspects=GRADES)]), lambda: evaluate(STANDARD), rounds=2
    )


@case("pt.Experiment, nDCG@10, AP and the five measures", OF_STANDARD, 1.1)
def mixed_experiment(small: bool) -> float:
    evaluate = _experiment(small)
    measures = [*STANDARD, *FOUR, ma.MM(aspects=GRADES)]
    return ratio(lambda: evaluate(measures), lambda: evaluate(STANDARD), rounds=2)


@case("pt.Experiment, nDCG@10 and AP, accelerated", OF_STANDARD, 0.15)
def accelerated_experiment(small: bool) -> float:
    evaluate = _experiment(small)

    def accelerated() -> None:
        with ma.accelerate():
            evaluate(STANDARD)

    return ratio(accelerated, lambda: evaluate(STANDARD), rounds=2)


_EVALUATING = """
import numpy as np
import pandas as pd
pd.set_option("mode.string_storage", "python")  # the figure is a ratio to strings of Python, also beside PyArrow
from benchmarks.cases import TWELVE
from benchmarks.collection import collection
from pt_multiaspect.collection import Judgments, Rankings
qrels, small = collection(n_queries=10)
for measure in TWELVE:
    measure.evaluate(Rankings(small, Judgments(qrels)))
before = present()
qrels, run = collection(n_queries=int(sys.argv[1]))
size = run.memory_usage(deep=True).sum() / 2**20
judgments = Judgments(qrels)
held = present()
rankings = Rankings(run, judgments)
for measure in TWELVE:
    measure.evaluate(rankings)
print((peak() - held) / size)
"""


@case("peak memory of twelve measures on 10^6 rows", "the run frame's own memory", 2.0)
def memory_of_evaluation(small: bool) -> float:
    return printed_by(_EVALUATING, "300" if small else "1000")[0]


_READING = """
import pt_multiaspect
from pt_multiaspect.io.trec_files import load_run
before = present()
load_run(sys.argv[1])
print(peak() - before)
"""


@case("peak memory of reading a file of 45 MB", "-", 250, "MB")
def memory_of_reading(small: bool) -> float:
    _, run = collection(n_queries=300 if small else 1000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.run"
        path.write_text(lines_of(ranked(run)), encoding="utf-8")
        return printed_by(_READING, str(path))[0]


@case("time per row, 10^7 rows", "10^5 rows (linear: 1)", 2.0, has_small=False)
def growth(small: bool) -> float:
    """Also prints the sizes between."""
    per_row = {}
    for n_queries in (10, 100, 1000, 10_000):
        qrels, run = collection(n_queries=n_queries)
        judgments = Judgments(qrels)

        def work(run: pd.DataFrame = run, judgments: Judgments = judgments) -> None:
            TWELVE[0].evaluate(Rankings(run, judgments))

        taken = min(seconds(work) for _ in range(3))
        per_row[len(run)] = taken / len(run)
        print(
            f"    TOMA on {len(run):>8} rows: {taken:7.3f} s, {1e6 * per_row[len(run)]:.3f} s for "
            "10^6",
            flush=True,
        )
    return per_row[10**7] / per_row[10**5]


_DISCRIMINATIVE = """
import numpy as np, pandas as pd
from pt_multiaspect.analysis import discriminative_power
rng = np.random.default_rng(0)
shape = (425, 50, 5)
values = rng.normal(rng.normal(0.4, 0.1, (425, 1, 1)), 0.2, shape).clip(0, 1)
axes = np.indices(shape).reshape(3, -1).astype(str)
perquery = pd.DataFrame({"name": axes[0], "qid": axes[1], "measure": axes[2], "value": values.ravel()})
for test in sys.argv[2:]:
    power = discriminative_power(perquery, test=test, n_resamples=int(sys.argv[1]))
    assert power.table["power"].between(0.02, 0.95).all()
print(peak() / 1024)
"""


@case(
    "discriminative power, 425 runs x 50 topics x 5 measures, four tests",
    "-",
    4.0,
    "GB",
    has_small=False,
)
def discriminative(small: bool) -> float:
    # Memory does not depend on the number of resamples, which are worked on in parts of the same
    # size.
    return printed_by(_DISCRIMINATIVE, "2000", "bootstrap", "permutation", "tukey", "t")[0]


@case("upper_bound of CAM, MM and uRBP, 200 000 judged documents", "-", 10.0, "s")
def bounds(small: bool) -> float:
    qrels, _ = collection(n_queries=1, n_retrieved=(n := 20_000 if small else 200_000), n_judged=n)
    judgments = Judgments(qrels)
    measures = [
        ma.CAM(aspects=GRADES),
        ma.CAM(aspects=GRADES) @ 10,
        ma.MM(aspects=GRADES),
        ma.uRBP(aspects=GRADES),
    ]
    upper_bound(judgments, measures[0] @ 1)
    return max(seconds(lambda each=each: upper_bound(judgments, each)) for each in measures)


_HIGHEST = {"relevance": 2, "understandability": 10, "credibility": 10}


def _intervals(small: bool, measure: ir_measures.Measure, baseline: str | None = None) -> float:
    """Return the ratio for 36 runs and 50 topics of 500 judged documents, of whose labels 30 % are lost."""
    n_runs, n_topics = (12, 10) if small else (36, 50)
    qrels, run = collection(n_queries=n_topics, n_retrieved=500, n_judged=500)
    rng = np.random.default_rng(1)
    for name, highest in _HIGHEST.items():
        qrels[name] = np.where(
            rng.random(len(qrels)) < 0.3, np.nan, rng.integers(0, highest + 1, len(qrels))
        )
    runs = {}
    for number in range(n_runs):
        scores = run.assign(score=run["score"] + rng.normal(scale=0.5, size=len(run)))
        runs[f"run{number}"] = ranked(scores).groupby("query_id").head(100)
    return ratio(
        lambda: ma.analysis.missing_labels(runs, qrels, measure, baseline=baseline, n_samples=0),
        lambda: ma.evaluate(runs, qrels, measure, progress=False),
        rounds=2,
    )


_SAME_RUNS = "evaluating the same runs"


@case("intervals over missing labels, CAM, all pairs of 36 runs", _SAME_RUNS, 15)
def intervals_of_pairs(small: bool) -> float:
    return _intervals(small, ma.CAM(aspects=_HIGHEST) @ 10)


@case("intervals over missing labels, CAM, 36 runs and a baseline", _SAME_RUNS, 4)
def intervals_with_baseline(small: bool) -> float:
    return _intervals(small, ma.CAM(aspects=_HIGHEST) @ 10, "run0")


@case("intervals over missing labels, TOMA, all pairs of 36 runs", _SAME_RUNS, 90)
def intervals_of_toma(small: bool) -> float:
    return _intervals(small, ma.TOMA(aspects=_HIGHEST) @ 10)


def figure(of: Case, small: bool) -> tuple[float, float]:
    """Return the figure of a case, and how many seconds it took to measure."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = of.measure(small)
    return measured, time.perf_counter() - start
