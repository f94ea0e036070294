"""Runs in JSON and Parquet that other tools write: MTEB, sentence-transformers, ranx, pytrec_eval, BEIR."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frame_world import write_file

import pt_multiaspect as ma
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning
from pt_multiaspect.io.runs import run_of

RUN = {"q1": {"d1": 1.5, "d2": 0.5}, "q2": {"d2": 3.0, "d9": 2.0}, "none": {}}
QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2"],
        "docno": ["d1", "d2", "d9"],
        "label": [0, 1, 2],
        "credibility": [1, 0, 1],
    }
)
META = {"mteb_model_meta": {"model_name": "tests/echo", "revision": "1"}}
LINES = [
    {
        "query_id": "q1",
        "query": "?",
        "results": [{"corpus_id": "d1", "score": 1.5}, {"corpus_id": "d2", "score": 0.5}],
    },
    {
        "query_id": "q2",
        "query": "?",
        "results": [{"corpus_id": "d2", "score": 3.0}, {"corpus_id": "d9", "score": 2}],
    },
    {"query_id": "none", "query": "?", "results": []},
]


def jsonl(*lines: Any) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


#: The same run as different tools write it.
TEXTS = {
    "pytrec_eval.json": json.dumps(RUN),
    "indented.json": json.dumps(RUN, indent=2),
    "mark.json": "\ufeff" + json.dumps(RUN),
    "mteb_predictions.json": json.dumps({**META, "default": {"test": RUN}}),
    "sorted_predictions.json": json.dumps({**META, "default": {"test": RUN}}, sort_keys=True),
    "sentences.jsonl": jsonl(*LINES),
    "a run": json.dumps(RUN),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_every_form_is_the_same_run(name, compress, tmp_path):
    path = write_file(tmp_path / name, compress(TEXTS[name].encode()))
    frame = ma.read_run(path)
    assert frame[["qid", "docno", "score"]].values.tolist() == [
        ["q1", "d1", 1.5],
        ["q1", "d2", 0.5],
        ["q2", "d2", 3.0],
        ["q2", "d9", 2.0],
    ]
    assert frame["score"].dtype == np.float64
    scales = ma.Aspects({"relevance": 2, "credibility": 1})
    measures = ["nDCG@10", ma.CAM(aspects=scales) @ 10, ma.TOMA(aspects=scales) @ 10]
    expected = ma.evaluate({"x": RUN}, QRELS, measures)
    for run in (path, str(path), frame):
        pd.testing.assert_frame_equal(ma.evaluate({"x": run}, QRELS, measures), expected)
    with path.open("rb") as file:
        pd.testing.assert_frame_equal(ma.evaluate({"x": file}, QRELS, measures), expected)


def test_a_query_without_documents_is_left_out_as_in_a_dict():
    for run in (io.StringIO(json.dumps(RUN)), io.StringIO(jsonl(*LINES))):
        assert run_of("x", run).qids.tolist() == ["q1", "q2"]


def test_the_name_of_predictions_of_mteb_is_the_model(tmp_path):
    other = json.dumps(
        {
            "mteb_model_meta": {"model_name": "tests/other", "revision": "1"},
            "default": {"test": RUN},
        }
    )
    for folder, text in {"a": TEXTS["mteb_predictions.json"], "b": other}.items():
        (tmp_path / folder).mkdir()
        write_file(tmp_path / folder / "Tiny_predictions.json", text)
        write_file(tmp_path / folder / "Tiny_predictions.json.gz", gzip.compress(text.encode()))
    for pattern in ("*/*.json", "*/*.gz"):
        values = ma.evaluate(tmp_path / pattern, QRELS, ["AP"])
        assert list(dict.fromkeys(values["name"])) == ["tests/echo", "tests/other"]
    assert ma.read_run(tmp_path / "a" / "Tiny_predictions.json")["name"].unique().tolist() == [
        "tests/echo"
    ]
    # Two tasks of one model: the files tell them apart.
    paths = [
        str(tmp_path / "a" / name) for name in ("Tiny_predictions.json", "Tiny_predictions.json.gz")
    ]
    assert ma.evaluate(paths, QRELS, ["AP"])["name"].unique().tolist() == paths


@pytest.mark.parametrize(
    "meta", [{}, {"model_name": None}, {"revision": "1", "model_name": ""}, {"model_name": 3}]
)
def test_predictions_of_a_model_without_a_name(meta, tmp_path):
    path = write_file(
        tmp_path / "x.json", json.dumps({"mteb_model_meta": meta, "default": {"test": RUN}})
    )
    assert list(ma.read_run(path).columns) == ["qid", "docno", "score"]
    assert ma.evaluate(path, QRELS, ["AP"])["name"].unique().tolist() == ["x.json"]


@pytest.mark.parametrize(
    "name", [b'"a\\x"', b'"a\nb"', b'"\xff"'], ids=["escape", "line end", "no UTF-8"]
)
def test_a_malformed_name_of_a_model_is_an_error_of_the_file(name, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(
        b'{"mteb_model_meta": {"model_name": '
        + name
        + b'}, "default": {"test": {"q1": {"d1": 1}}}}'
    )
    for read in (ma.read_run, lambda file: ma.evaluate(file, QRELS, ["AP"])):
        with pytest.raises(ma.MultiAspectError, match=r"x\.json"):
            read(path)


PARTS = {**META, "en": {"test": RUN, "dev": {"q1": {"d2": 1}}}, "de": {"test": {"q2": {"d9": 1}}}}


def test_predictions_of_mteb_with_several_parts(tmp_path):
    path = write_file(tmp_path / "parts.json", json.dumps(PARTS))
    there = re.escape(
        "got (subset, split): (en, test), (en, dev), (de, test); evaluate one of them, as in "
        "json.load"
    )
    for read in (ma.read_run, lambda file: ma.evaluate({"x": file}, QRELS, ["AP"])):
        with pytest.raises(
            MultiAspectError, match=f"expected predictions of one subset and split, {there}"
        ):
            read(path)
    # The remedy of the message.
    with path.open() as file:
        part = json.load(file)["en"]["test"]
    expected = ma.evaluate({"x": RUN}, QRELS, ["AP"])
    pd.testing.assert_frame_equal(ma.evaluate({"x": part}, QRELS, ["AP"]), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps({"task_name": "T", "mteb_version": "2", "scores": {}}),
            "expected a run, got results of MTEB",
        ),
        (
            json.dumps(META),
            "expected predictions of one subset and split, got (subset, split): none",
        ),
        (json.dumps({**META, "default": [1]}), "{split: predictions} for default, got [1]"),
        (
            json.dumps({**META, "default": {"test": [1, 2]}}),
            "expected {qid: {docno: score}}, got [1, 2]",
        ),
        (
            '{"mteb_model_meta": {}, "a": {"test": {}, "test": {}}}',
            "expected distinct keys, got test several times",
        ),
        (
            '{"mteb_model_meta": {}, "a": {}, "a": {}}',
            "expected distinct keys, got a several times",
        ),
        (
            '{"mteb_model_meta": {}, "a": {"t": {"q": {"d": 1, "d": 2}}}}',
            "document d several times for query q",
        ),
        (
            jsonl(LINES[0], LINES[1], LINES[0]),
            "x:3: expected one line per query, got a second one of query q1",
        ),
        (
            jsonl({**LINES[0], "results": LINES[0]["results"] * 2}),
            "document d1 several times for query q1",
        ),
        (jsonl({**LINES[0], "results": [{"corpus_id": "d1"}]}), "x:1: expected a line"),
        (jsonl({**LINES[0], "results": ["d1"]}), "x:1: expected a line"),
        (jsonl({**LINES[0], "results": 1}), "x:1: expected a line"),
        (jsonl({**LINES[0], "results": [{"corpus_id": 1.5, "score": 1}]}), "x:1: expected a line"),
        (jsonl({**LINES[0], "query_id": True}), "x:1: expected a line"),
        (jsonl(LINES[0], {"_id": "d1", "text": "…"}), "x:2: expected a line"),
        (jsonl(LINES[0], [1]), "x:2: expected a line"),
        (
            jsonl({**LINES[0], "results": [{"corpus_id": "d1", "score": "1"}]}),
            "got '1' (query q1, document d1)",
        ),
        (
            '{"query_id": "q", "results": [{"corpus_id": "a", "corpus_id": "b", "score": 1}]}',
            "expected distinct keys",
        ),
        ('{"query_id": "q", "query_id": "r", "results": []}', "expected distinct keys"),
        (jsonl(*LINES)[:-10], "x: not valid JSON, or an incomplete file: "),
        (
            jsonl({"_id": "d1", "text": "a"}, {"_id": "d2", "text": "b"}),
            "got 2 JSON values, the first of which is",
        ),
        (
            jsonl({"_id": "d1", "text": "a"}),
            "expected {qid: {docno: score}}, got 'd1' for query _id",
        ),
        ("{}", "with at least one document, got none"),
    ],
)
def test_json_that_is_no_run(text, message, tmp_path):
    source = io.StringIO(text)
    source.name = "x"
    for read in (ma.read_run, lambda run: run_of("x", run)):
        source.seek(0)
        with pytest.raises(MultiAspectError, match=re.escape(message)):
            read(source)


def test_ids_that_are_numbers_in_lines_are_text():
    line = {
        "query_id": 7,
        "results": [{"corpus_id": 7, "score": 1}, {"corpus_id": "x", "score": 0}],
    }
    assert ma.read_run(io.StringIO(jsonl(line)))[["qid", "docno"]].values.tolist() == [
        ["7", "7"],
        ["7", "x"],
    ]


def test_predictions_of_sentence_transformers_keep_their_order_when_scores_tie(tmp_path):
    """Tied scores are lowered by as little as makes them distinct, the first of each tie stays."""
    scores = {
        "b": 0.5,  # ties with a
        "a": 0.5,
        "z": 0.50000001,  # equals 0.5 as a 32-bit float
        "d": 0.25,
        "y": 0.0,  # ties with x and w
        "x": -0.0,
        "w": 0.0,
        "c": -1.0,  # ties with e
        "e": -1.0,
    }
    results = [{"corpus_id": docno, "score": score} for docno, score in scores.items()]
    lines = [{"query_id": qid, "results": results} for qid in ("q1", "q2")]
    path = write_file(tmp_path / "x.jsonl", jsonl(*lines))

    run = ma.read_run(path)

    expected_order = ["z", "b", "a", "d", "y", "x", "w", "c", "e"]
    for qid, rows in run.groupby("qid"):
        score = rows.set_index("docno")["score"].astype(np.float32)
        assert score.is_unique
        assert score.sort_values(ascending=False).index.tolist() == expected_order
        ideal = pd.DataFrame({"qid": qid, "docno": expected_order, "label": range(9, 0, -1)})
        (ndcg_value,) = ma.evaluate({"x": path}, ideal, ["nDCG"])["value"]
        assert ndcg_value == 1.0
        unchanged = rows.set_index("docno")["score"][["z", "d", "y", "c"]]
        assert unchanged.tolist() == [0.50000001, 0.25, 0.0, -1.0]


@pytest.mark.parametrize("score", [1e39, -1e39, 3.4028234663852886e38, 1e-45, 0])
def test_extreme_scores_that_tie_stay_finite(score):
    line = {"query_id": "q", "results": [{"corpus_id": docno, "score": score} for docno in "cba"]}
    scores = ma.read_run(io.StringIO(jsonl(line)))["score"]
    assert np.isfinite(scores).all()


def test_frames_and_parquet_of_ranx(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"q_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1.5, 0.5]})
    frame.to_parquet(tmp_path / "run.parquet", index=False)
    expected = ma.evaluate({"x": {"q1": RUN["q1"]}}, QRELS, ["AP"])
    for run in (frame, tmp_path / "run.parquet"):
        pd.testing.assert_frame_equal(ma.evaluate({"x": run}, QRELS, ["AP"]), expected)
    assert list(ma.read_run(tmp_path / "run.parquet").columns) == ["qid", "docno", "score"]


# -- documents with the id of their query --------------------------------------------------------

#: Three queries that retrieve themselves first and their relevant document second.
OWN = {qid: {qid: 2.0, f"answer {qid}": 1.0, "other": 0.1} for qid in ("a", "b", "c")}
OWN_QRELS = pd.DataFrame({"qid": list(OWN), "docno": [f"answer {qid}" for qid in OWN], "label": 1})
AS_WRITTEN = 1 / math.log2(3)


def ndcg(run: Any) -> float:
    return float(ma.evaluate({"x": run}, OWN_QRELS, ["nDCG@10"])["value"].mean())


@pytest.fixture
def own(tmp_path) -> Path:
    return write_file(
        tmp_path / "Tiny_predictions.json", json.dumps({**META, "default": {"test": OWN}})
    )


def without_own_ids(run: pd.DataFrame) -> pd.DataFrame:
    """The remedy of the warning: drop the rows whose docno is the qid."""
    return run[run["qid"] != run["docno"]]


def test_dropping_gives_the_figure_of_mteb(own):
    remedy = "To get their values, drop the rows whose docno is the qid"
    with pytest.warns(MultiAspectWarning, match=f"3 of 3 queries .* own id, such as a.* {remedy}"):
        assert ndcg(own) == pytest.approx(AS_WRITTEN, abs=1e-12)
    with pytest.warns(MultiAspectWarning, match="Tiny_predictions.json: 3 of 3 queries"):
        run = ma.read_run(own)
    assert ndcg(run) == pytest.approx(AS_WRITTEN, abs=1e-12)
    assert ndcg(without_own_ids(run)) == 1.0


def test_only_some_queries_retrieve_themselves(tmp_path):
    run = {"a": OWN["a"], "b": {"answer b": 1.0}, "c": {"c": 1}}
    path = write_file(tmp_path / "x.json", json.dumps({**META, "default": {"test": run}}))
    with pytest.warns(MultiAspectWarning, match="2 of 3 queries"):
        dropped = without_own_ids(ma.read_run(path))
    assert dropped[["qid", "docno"]].values.tolist() == [
        ["a", "answer a"],
        ["a", "other"],
        ["b", "answer b"],
    ]
    assert ndcg(dropped) == pytest.approx(2 / 3)


def trec(run: dict[str, dict[str, float]]) -> str:
    return "".join(
        f"{qid} Q0 {d} 1 {score} x\n".replace("answer ", "answer-")
        for qid, docs in run.items()
        for d, score in docs.items()
    )


#: Runs in which the document with the id of the query is not the first one of most queries.
BY_CHANCE = {
    "further down": {qid: {**OWN[qid], qid: 1.5, "other": 3.0} for qid in OWN},
    "of one query": {**{qid: {"other": 1} for qid in OWN}, "a": OWN["a"]},
    "of the only query": {"a": OWN["a"]},
    "constant scores": {qid: dict.fromkeys(docs, 1.0) for qid, docs in OWN.items()},
}


def read_by_command_line(path: Path) -> Any:
    """Read a file as the command line reads runs."""
    return run_of("x", path)


@pytest.mark.parametrize("read", [ma.read_run, read_by_command_line])
@pytest.mark.parametrize("write_text", [json.dumps, trec], ids=["JSON", "TREC"])
def test_most_queries_of_any_run_rank_themselves_first(write_text, read, tmp_path):
    """OWN is a run of three queries, of which each retrieves a document with its own id first."""
    path = write_file(tmp_path / "run", write_text(OWN))
    message = "3 of 3 queries rank .* own id first, such as a. BEIR, .* docno is the qid"
    with pytest.warns(MultiAspectWarning, match=message):
        read(path)


@pytest.mark.parametrize("case", BY_CHANCE)
@pytest.mark.parametrize("write_text", [json.dumps, trec])
def test_own_ids_elsewhere_are_silent(case, write_text, tmp_path):
    path = write_file(tmp_path / "run", write_text(BY_CHANCE[case]))
    ma.read_run(path)
    run_of("x", path)


def test_one_warning_is_about_all_runs(own, tmp_path):
    other = write_file(tmp_path / "y.json", own.read_text().replace("tests/echo", "tests/other"))
    with pytest.warns(MultiAspectWarning) as caught:
        ma.evaluate([own, other], OWN_QRELS, ["AP"], progress=False)
    (message,) = [str(warning.message) for warning in caught]
    assert "run tests/echo: 3 of 3" in message
    assert "run tests/other: 3 of 3" in message


@pytest.fixture
def mteb_files(trec_files, own):
    """Qrels, predictions of MTEB and a run of TREC in the directory of the command line."""
    write_file(
        trec_files / "own.txt",
        "".join(f"{qid} 0 {docno} 1\n" for qid, docno, _ in OWN_QRELS.values),
    )
    write_file(trec_files / "parts.json", json.dumps({**META, "en": {"test": OWN, "dev": RUN}}))
    lines = [
        f"{qid} Q0 {d} 1 {s} x\n"
        for qid, docs in OWN.items()
        for d, s in docs.items()
        if " " not in d
    ]
    write_file(trec_files / "bm25.run", "".join(lines))
    text = own.read_text().replace("answer ", "answer-")
    write_file(own, text)
    write_file(
        trec_files / "own.txt", (trec_files / "own.txt").read_text().replace("answer ", "answer-")
    )
    return own


def test_the_command_line_reads_predictions(cli, mteb_files):
    code, out, err = cli("evaluate", "-m", "nDCG@10", str(mteb_files), qrels=["own.txt"])
    assert code == 0
    name, figure = out.splitlines()[-1].split()
    assert (name, float(figure)) == ("tests/echo", pytest.approx(AS_WRITTEN, abs=1e-4))
    assert "run tests/echo: 3 of 3 queries" in err
    assert "drop the rows whose docno is the qid" in err


def test_the_command_line_names_the_parts_of_predictions(cli, mteb_files):
    code, _, err = cli("evaluate", "-m", "AP", "parts.json", "bm25.run", qrels=["own.txt"])
    assert code == 2
    assert (
        "expected predictions of one subset and split, got (subset, split): (en, test), (en, dev)"
        in err
    )


@pytest.mark.parametrize(
    "command", ["describe", "compare -m AP", "report -m AP -o page.html", "explain -m AP --query a"]
)
def test_other_commands_read_predictions(cli, mteb_files, command):
    files = [str(mteb_files)] if command.startswith("explain") else [str(mteb_files), "bm25.run"]
    code, _, err = cli(*command.split(), *files, qrels=["relevance=own.txt"])
    assert code == 0, err


# -- files written by the libraries --------------------------------------------------------------


def test_predictions_of_the_real_mteb(tmp_path):
    """A model ranks each query, which is also a document, first; MTEB leaves these documents out.

    The remedy of the warning gives the values of MTEB, and the file of its results is refused.
    """
    mteb = pytest.importorskip("mteb")
    datasets = pytest.importorskip("datasets")
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.model_meta import ModelMeta

    optional = "date domains task_subtypes license annotations_creators dialect sample_creation bibtex_citation"
    queries = [{"id": qid, "text": qid} for qid in ("a", "b", "c")]
    documents = [
        {"id": docno, "title": "", "text": docno}
        for docno in ("a", "b", "c", "answer a", "answer b", "answer c")
    ]

    class Task(AbsTaskRetrieval):  # type: ignore[misc]
        ignore_identical_ids = True
        metadata = TaskMetadata(
            name="TinyArguments", description="x", dataset={"path": "none/none", "revision": "1"},
            type="Retrieval", category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"],
            main_score="ndcg_at_10", reference=None, **dict.fromkeys(optional.split()),
        )  # fmt: skip

        def load_data(self, num_proc: Any = None, **_: Any) -> None:
            test_split = {
                "corpus": datasets.Dataset.from_list(documents),
                "queries": datasets.Dataset.from_list(queries),
                "relevant_docs": {qid: {f"answer {qid}": 1} for qid in ("a", "b", "c")},
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": test_split}}
            self.data_loaded = True

    class Model:
        mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "tests/echo", "revision": "1"})

        def index(self, corpus: Any, **_: Any) -> None:
            self.docnos = list(corpus["id"])

        def search(self, queries: Any, **_: Any) -> dict[str, dict[str, float]]:
            scores = {}
            for qid in queries["id"]:
                others = dict.fromkeys(self.docnos, 0.1)
                scores[qid] = {**others, qid: 2.0, f"answer {qid}": 1.0}
            return scores

    result = mteb.evaluate(
        Model(), Task(), prediction_folder=tmp_path, cache=None, show_progress_bar=False
    )

    path = tmp_path / "TinyArguments_predictions.json"
    with pytest.warns(MultiAspectWarning, match="3 of 3 queries"):
        assert ndcg(path) == pytest.approx(1 / math.log2(2 + 1), abs=1e-12)  # of rank 2
    with pytest.warns(MultiAspectWarning, match="3 of 3 queries"):
        dropped = without_own_ids(ma.read_run(path))
    perquery = ma.evaluate({"x": dropped}, OWN_QRELS, ["nDCG@10", "AP@10", "R@5", "P@1"])
    (values,) = ma.aggregate(perquery).to_dict("records")
    reported = result.task_results[0].scores["test"][0]
    assert reported["ndcg_at_10"] == 1.0
    assert values["nDCG@10"] == pytest.approx(reported["ndcg_at_10"], abs=1e-5)
    assert values["AP@10"] == pytest.approx(reported["map_at_10"], abs=1e-5)
    assert values["R@5"] == pytest.approx(reported["recall_at_5"], abs=1e-5)
    assert values["P@1"] == pytest.approx(reported["precision_at_1"], abs=1e-5)

    result.task_results[0].to_disk(tmp_path / "result.json")
    message = r"result\.json: expected a run, got results of MTEB"
    with pytest.raises(MultiAspectError, match=message):
        ma.read_run(tmp_path / "result.json")


def test_predictions_of_the_real_sentence_transformers(tmp_path):
    """The file that its evaluator writes has the nDCG that it reports."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    class Card:
        """The card of a model, in which evaluators leave their values."""

        def set_evaluation_metrics(self, *_: Any) -> None: ...

    class Model:
        """An encoder of text by its letters, with the attributes that the evaluator reads."""

        similarity_fn_name = "cosine"
        similarity = None
        model_card_data = Card()

        def encode(self, texts: Any, **_: Any) -> Any:
            counts = [[float(text.count(letter)) for letter in "abcdefgh"] for text in texts]
            return torch.tensor(counts) + 0.01

        encode_query = encode_document = encode

    def cosine(queries: Any, documents: Any) -> Any:
        return torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(documents).T

    evaluator = InformationRetrievalEvaluator(
        queries={"q1": "abcd", "q2": "eeg"},
        corpus={"d1": "abc", "d2": "abcd", "d9": "efgh"},
        relevant_docs={"q1": {"d2"}, "q2": {"d9"}},
        write_predictions=True,
        ndcg_at_k=[10],
        score_functions={"cosine": cosine},
    )
    reported = evaluator(Model(), output_path=str(tmp_path))

    (path,) = tmp_path.glob("*.jsonl")
    assert len(ma.read_run(path)) == 2 * 3  # queries, documents
    qrels = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["d2", "d9"], "label": 1})
    values = ma.evaluate(path, qrels, ["nDCG@10"])["value"]
    (expected,) = [value for key, value in reported.items() if key.endswith("ndcg@10")]
    assert float(values.mean()) == pytest.approx(float(expected))


@pytest.mark.parametrize("suffix", ["json", "parquet", "lz4", "trec"])
def test_runs_of_the_real_ranx(suffix, tmp_path):
    ranx = pytest.importorskip("ranx")
    run = ranx.Run({qid: docs for qid, docs in RUN.items() if docs}, name="x")
    path = tmp_path / f"run.{suffix}"
    run.save(str(path))
    if suffix == "lz4":
        with pytest.raises(MultiAspectError, match=r"Run\.save\('run\.json'\)"):
            ma.read_run(path)
        return
    expected = ma.evaluate({"x": RUN}, QRELS, ["AP", "nDCG@10"])
    for source in (path, run.to_dataframe(), run.to_dict()):
        pd.testing.assert_frame_equal(
            ma.evaluate({"x": source}, QRELS, ["AP", "nDCG@10"]), expected
        )


def test_the_call_of_the_page_gives_the_figure_of_beir():
    """As in BEIR's EvaluateRetrieval.evaluate, with pytrec_eval, which drops documents that are the query."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {"missing": {"d": 1}, **{qid: {f"answer {qid}": 1, qid: 0} for qid in "abc"}}
    run = {
        "a": {"a": 2.0, "answer a": 1.0, "other": 0.1},
        "b": {"b": 2.0, "other": 1.0},  # does not retrieve the answer
        "c": {"c": 2.0, "answer c": 1.0, "other": 0.1},
        "not judged": {"d": 1.0},
    }

    with pytest.warns(MultiAspectWarning, match="own id first"):
        read = without_own_ids(ma.read_run(io.StringIO(json.dumps(run))))
    judged = ma.read_qrels(io.StringIO(json.dumps(qrels)))
    retrieved_topics = judged[judged["qid"].isin(read["qid"])]
    values = ma.evaluate({"x": read}, retrieved_topics, ["nDCG@10"])["value"]

    by_beir = {}
    for qid, scores in run.items():
        by_beir[qid] = {docno: score for docno, score in scores.items() if docno != qid}
    evaluated = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(by_beir)
    expected = np.mean([query["ndcg_cut_10"] for query in evaluated.values()])
    assert values.mean() == expected
    assert expected == (1 + 0 + 1) / 3
