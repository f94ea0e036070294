"""Rerankers that sentence-transformers and transformers train: a tiny BERT, of a configuration, without downloads.

These libraries are large, so that CI skips these tests; test_recipes.py has a stand-in.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

HEALTH = ma.datasets.load_health()
ASPECTS = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2}, name="trained")
TOMA = ma.TOMA(aspects=ASPECTS) @ 5
PAIRS = HEALTH.qrels.merge(HEALTH.topics, on="qid").merge(
    HEALTH.documents[["docno", "text"]], on="docno"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT, which is not trained, and its tokenizer."""
    path = tmp_path_factory.mktemp("bert")
    words = re.findall(
        r"\w+|[^\w\s]", " ".join([*HEALTH.documents["text"], *HEALTH.topics["query"]]).lower()
    )
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


@pytest.mark.parametrize(
    ("strategy", "keeps_order"), [("random", True), ("group_by_length", False)]
)
def test_evaluation_rows_in_another_order(
    folder: Path, tmp_path: Path, strategy: str, keeps_order: bool
) -> None:
    """The recipe for transformers' own trainer, which may evaluate rows by the length of their texts.

    Each row has its number as a second label, by which the labels of the predictions are found.
    """
    labels = PAIRS.rename(columns={"label": "relevance"}).set_index(["qid", "docno"])
    Y = labels[["relevance", "understandability", "credibility"]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = tokenizer(
        PAIRS["query"].tolist(), PAIRS["text"].tolist(), truncation=True, max_length=64
    )
    targets = {
        "labels": (Y["relevance"] / 2).astype("float32").tolist(),
        "row": list(range(len(Y))),
    }
    outputs = []

    def compute_metrics(output: Any) -> dict[str, float]:
        outputs.append(output)
        _relevance, rows = output.label_ids
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
    _relevance, rows = output.label_ids
    scores = output.predictions[:, 0]
    is_in_order = bool((rows == np.arange(len(Y))).all())
    assert is_in_order == keeps_order
    run = PAIRS[["qid", "docno"]].iloc[rows].assign(score=scores)
    values = ma.evaluate(run, HEALTH.qrels, TOMA, progress=False)["value"]
    assert value == pytest.approx(values.mean(), abs=1e-12)
    if not keeps_order:
        # Labels matched by position are those of other rows; with names, they are refused.
        assert ma.ranking_score(Y, scores, measure=TOMA) != pytest.approx(value, abs=1e-3)
        with pytest.raises(MultiAspectError, match="in a different order"):
            ma.ranking_score(Y, pd.Series(scores, index=Y.index[rows]), measure=TOMA)


PAGE = Path(__file__).resolve().parent.parent / "docs" / "howto" / "rerankers.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code runs word for word, and does what the text says."""
    monkeypatch.chdir(tmp_path)
    page: dict[str, Any] = {"__name__": "__main__"}  # the names that the code defines
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if "from torchmetrics" in block:
            pytest.importorskip("torchmetrics")
        exec(compile(block, PAGE.name, "exec"), page)

    # The model of the best epoch is chosen, which is not the last one.
    values_by_epoch = page["log"]["eval_TOMA@5"]
    assert page["chosen"]["TOMA@5"] == pytest.approx(values_by_epoch.max(), abs=1e-3)
    assert values_by_epoch.max() > values_by_epoch.iloc[-1]

    # Rows are evaluated in another order; labels are found by their numbers.
    rows, scores, metric = page["rows"], page["scores"], page["metric"]
    assert (rows != np.arange(len(page["Y"]))).any()
    value = ma.ranking_score(page["Y"].iloc[rows], scores, measure=page["TOMA"])
    assert float(metric.compute()) == pytest.approx(value, abs=1e-6)
    # A sampler may repeat rows, so that all processes have as many: they count once.
    metric.update(torch.tensor(rows[:7]), torch.tensor(scores[:7]))
    assert float(metric.compute()) == pytest.approx(value, abs=1e-6)
