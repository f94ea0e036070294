"""Rerankers that sentence-transformers and transformers train: a tiny BERT, of a configuration, without downloads.

These libraries are large, so that CI skips these tests; test_rerankers.py has a stand-in.
"""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.model_selection import rerankers

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch")
st = pytest.importorskip("sentence_transformers")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

HEALTH = ma.datasets.load_health()
ASPECTS = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2}, name="trained")
TOMA = ma.TOMA(aspects=ASPECTS) @ 5
MEASURES = {"TOMA": TOMA, "nDCG": "nDCG@5", "ESL": ma.ESL(wanted=1)}
PAIRS = HEALTH.qrels.merge(HEALTH.topics, on="qid").merge(HEALTH.documents[["docno", "text"]], on="docno")
DEV = PAIRS["qid"].isin(["8", "9", "10"])
QRELS = HEALTH.qrels[HEALTH.qrels["qid"].isin(["8", "9", "10"])]
CANDIDATES = PAIRS[DEV].groupby("qid").head(8)  # some judged documents are no candidates


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT, which is not trained, and its tokenizer."""
    path = tmp_path_factory.mktemp("bert")
    words = re.findall(r"\w+|[^\w\s]", " ".join([*HEALTH.documents["text"], *HEALTH.topics["query"]]).lower())
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(words))]
    transformers.BertTokenizerFast(
        vocab={word: index for index, word in enumerate(vocabulary)}, model_max_length=64
    ).save_pretrained(path)
    torch.manual_seed(0)
    configuration = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    transformers.BertForSequenceClassification(configuration).save_pretrained(path)
    return path


def training_rows() -> Any:
    labels = ma.aggregate_labels(HEALTH.qrels, TOMA, "unit").values
    rows = PAIRS.drop(columns="label").merge(labels[["qid", "docno", "label"]])
    return datasets.Dataset.from_dict(rows.loc[~DEV, ["query", "text", "label"]].to_dict("list"))


def values_of(evaluator: Any, scores: Any) -> dict[str, float]:
    run = CANDIDATES[["qid", "docno"]].assign(score=scores)
    values = ma.aggregate(ma.evaluate(run, QRELS, MEASURES, progress=False)).iloc[0]
    return {f"dev_{label}{'_loss' * (label == 'ESL')}": values[label] for label in MEASURES}


def train(
    model: Any, kind: str, loss: Any, folder: Path, metric: str, epochs: int = 6
) -> tuple[Any, Any, pd.DataFrame]:
    evaluator = ma.RerankingEvaluator(CANDIDATES, QRELS, MEASURES, name="dev")
    arguments = getattr(st, f"{kind}TrainingArguments")(
        str(folder / metric), num_train_epochs=epochs, per_device_train_batch_size=16, learning_rate=3e-3,
        eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model=metric,
        report_to="none", disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    trainer = getattr(st, f"{kind}Trainer")(
        model=model, args=arguments, train_dataset=training_rows(), loss=loss, evaluator=evaluator,
        callbacks=[transformers.EarlyStoppingCallback(2)],
    )  # fmt: skip
    assert trainer.evaluator is evaluator  # not wrapped
    trainer.train()
    log = pd.DataFrame([row for row in trainer.state.log_history if "eval_dev_TOMA" in row])
    return trainer, evaluator, log


def cross_encoder(folder: Path, **options: Any) -> Any:
    return st.CrossEncoder(str(folder), device="cpu", **options)


@pytest.mark.parametrize("metric", ["dev_TOMA", "dev_ESL_loss"])
def test_a_cross_encoder_is_chosen_by_the_measure(folder: Path, tmp_path: Path, metric: str) -> None:
    model = cross_encoder(folder)
    loss = st.cross_encoder.losses.BinaryCrossEntropyLoss(model)
    trainer, evaluator, log = train(model, "CrossEncoder", loss, tmp_path, metric)
    values = log[f"eval_{metric}"]
    assert trainer.args.greater_is_better is (metric == "dev_TOMA")
    best = values.max() if metric == "dev_TOMA" else values.min()
    assert trainer.state.best_metric == best
    assert 2 < len(log) <= 6
    assert len(log) == min(6, int(np.flatnonzero(values == best)[0]) + 3)
    predicted = model.predict(list(CANDIDATES[["query", "text"]].itertuples(index=False, name=None)))
    results = evaluator(model)
    assert results == pytest.approx(values_of(evaluator, predicted), abs=1e-12)
    assert results[metric] == pytest.approx(best, abs=1e-12)  # the best model was loaded
    table = pd.read_csv(tmp_path / metric / "eval" / "RerankingEvaluator_dev_results.csv")
    assert table[metric].tolist() == values.tolist()
    assert copy.deepcopy(model).model_card_data is not None
    model.save_pretrained(str(tmp_path / "saved"))
    card = (tmp_path / "saved" / "README.md").read_text("utf-8")
    assert "### Metrics\n\n#### Reranking" in card
    assert "| **TOMA** " in card


def test_a_bi_encoder(folder: Path, tmp_path: Path) -> None:
    model = st.SentenceTransformer(str(folder), device="cpu")
    loss = st.sentence_transformer.losses.CosineSimilarityLoss(model)
    _, evaluator, log = train(model, "SentenceTransformer", loss, tmp_path, "dev_TOMA", epochs=20)
    similarity = model.similarity_pairwise(
        model.encode_query(CANDIDATES["query"].tolist()), model.encode_document(CANDIDATES["text"].tolist())
    )
    assert evaluator(model) == pytest.approx(values_of(evaluator, similarity.numpy()), abs=1e-12)
    values = log["eval_dev_TOMA"]
    assert evaluator(model)["dev_TOMA"] == pytest.approx(values.max(), abs=1e-12)
    assert values.iloc[-1] < values.max()  # the last model is not the best one


@pytest.mark.parametrize("kind", ["SparseEncoder", "MultiVectorEncoder"])
def test_other_encoders(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_MOST_PAIRS", 7)
    if not hasattr(st, kind):
        pytest.skip(f"this version of sentence-transformers has no {kind}")
    torch.manual_seed(0)
    model: Any
    if kind == "SparseEncoder":
        parts = st.sparse_encoder.modules
        pooling = st.sentence_transformer.modules.Pooling(32)
        sparse = parts.SparseAutoEncoder(32, 256, k=16)
        model = st.SparseEncoder(modules=[parts.Transformer(str(folder)), pooling, sparse], device="cpu")
    else:
        model = st.MultiVectorEncoder(str(folder), device="cpu")
    queries, texts = CANDIDATES["query"].tolist(), CANDIDATES["text"].tolist()
    scores = [
        float(model.similarity(model.encode_query([query]), model.encode_document([text])).item())
        for query, text in zip(queries, texts, strict=True)
    ]
    assert len({*scores}) > 1
    evaluator = ma.RerankingEvaluator(CANDIDATES, QRELS, MEASURES, name="dev")
    assert evaluator._score(model) == pytest.approx(scores, rel=1e-5)
    assert evaluator(model) == pytest.approx(values_of(evaluator, scores), abs=1e-12)


def test_several_evaluators(folder: Path) -> None:
    evaluators = [ma.RerankingEvaluator(CANDIDATES, QRELS, {"TOMA": TOMA}, name=name) for name in ("dev", "test")]
    results = st.base.evaluation.SequentialEvaluator(evaluators)(cross_encoder(folder))
    assert list(results) == ["dev_TOMA", "test_TOMA", "sequential_score"]


def test_two_labels(folder: Path) -> None:
    evaluator = ma.RerankingEvaluator(CANDIDATES, QRELS, MEASURES)
    with pytest.raises(MultiAspectError, match="got 2 columns: create the CrossEncoder with num_labels=1"):
        evaluator(cross_encoder(folder, num_labels=2, model_kwargs={"ignore_mismatched_sizes": True}))


def test_a_diverged_model(folder: Path) -> None:
    model = cross_encoder(folder)
    torch.nn.init.constant_(model.model.classifier.weight, float("nan"))
    with pytest.raises(MultiAspectError, match="24 of 24 predictions are NaN"):
        ma.RerankingEvaluator(CANDIDATES, QRELS, MEASURES)(model)


@pytest.mark.parametrize("strategy", ["random", "group_by_length"])
def test_evaluation_rows_in_another_order(folder: Path, tmp_path: Path, strategy: str) -> None:
    """The recipe for transformers' own trainer."""
    labels = PAIRS.rename(columns={"label": "relevance"}).set_index(["qid", "docno"])
    Y = labels[["relevance", "understandability", "credibility"]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = tokenizer(PAIRS["query"].tolist(), PAIRS["text"].tolist(), truncation=True, max_length=64)
    targets = {"labels": (Y["relevance"] / 2).astype("float32").tolist(), "row": list(range(len(Y)))}
    outputs = []

    def compute_metrics(output: Any) -> dict[str, float]:
        outputs.append(output)
        rows = output.label_ids[1]
        return {"TOMA": ma.ranking_score(Y.iloc[rows], output.predictions[:, 0], measure=TOMA)}

    trainer = transformers.Trainer(
        transformers.AutoModelForSequenceClassification.from_pretrained(folder),
        transformers.TrainingArguments(
            str(tmp_path), label_names=["labels", "row"], train_sampling_strategy=strategy, report_to="none",
            use_cpu=True, disable_tqdm=True,
        ),
        eval_dataset=datasets.Dataset.from_dict({**texts, **targets}), processing_class=tokenizer,
        compute_metrics=compute_metrics,
    )  # fmt: skip
    value = trainer.evaluate()["eval_TOMA"]
    (output,) = outputs
    rows, scores = output.label_ids[1], output.predictions[:, 0]
    assert (rows == np.arange(len(Y))).all() is np.bool_(strategy == "random")
    run = PAIRS[["qid", "docno"]].iloc[rows].assign(score=scores)
    assert value == pytest.approx(ma.evaluate(run, HEALTH.qrels, TOMA, progress=False)["value"].mean(), abs=1e-12)
    if strategy == "group_by_length":
        assert ma.ranking_score(Y, scores, measure=TOMA) != pytest.approx(value, abs=1e-3)  # by position
        with pytest.raises(MultiAspectError, match="in a different order"):
            ma.ranking_score(Y, pd.Series(scores, index=Y.index[rows]), measure=TOMA)


PAGE = Path(__file__).resolve().parent.parent / "docs" / "howto" / "rerankers.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code runs word for word, and does what the text says."""
    monkeypatch.chdir(tmp_path)
    page: dict[str, Any] = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if "from torchmetrics" in block:
            pytest.importorskip("torchmetrics")
        exec(compile(block, PAGE.name, "exec"), page)
    values = page["log"]["dev_TOMA@5"]
    assert page["chosen"]["dev_TOMA@5"] == pytest.approx(values.max(), abs=1e-3)
    assert values.max() > values.iloc[-1]
    assert (page["rows"] != np.arange(len(page["Y"]))).any()
    value = ma.ranking_score(page["Y"].iloc[page["rows"]], page["scores"], measure=page["TOMA"])
    assert float(page["metric"].compute()) == pytest.approx(value, abs=1e-6)
    again = (torch.tensor(page[name][:7]) for name in ("rows", "scores"))  # a sampler repeats them
    page["metric"].update(*again)
    assert float(page["metric"].compute()) == pytest.approx(value, abs=1e-6)
