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


@pytest.mark.parametrize("strategy", ["random", "group_by_length"])
def test_evaluation_rows_in_another_order(folder: Path, tmp_path: Path, strategy: str) -> None:
    """The recipe for transformers' own trainer."""
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
    assert value == pytest.approx(
        ma.evaluate(run, HEALTH.qrels, TOMA, progress=False)["value"].mean(), abs=1e-12
    )
    if strategy == "group_by_length":
        assert ma.ranking_score(Y, scores, measure=TOMA) != pytest.approx(
            value, abs=1e-3
        )  # by position
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
    values = page["log"]["eval_TOMA@5"]
    assert page["chosen"]["TOMA@5"] == pytest.approx(values.max(), abs=1e-3)
    assert values.max() > values.iloc[-1]
    assert (page["rows"] != np.arange(len(page["Y"]))).any()
    value = ma.ranking_score(page["Y"].iloc[page["rows"]], page["scores"], measure=page["TOMA"])
    assert float(page["metric"].compute()) == pytest.approx(value, abs=1e-6)
    again = (torch.tensor(page[name][:7]) for name in ("rows", "scores"))  # a sampler repeats them
    page["metric"].update(*again)
    assert float(page["metric"].compute()) == pytest.approx(value, abs=1e-6)
