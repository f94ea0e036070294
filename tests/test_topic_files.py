"""Texts of topics, from files in formats of TREC and from frames, are shown in reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from report_world import Page, world

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.io.topic_files import read_topic_texts

#: Of files in the formats of several tracks: their content and what is read.
FORMATS = {
    "tsv": ("q1\tcat & dog\nq2\ttwo  words\tmore\n", {"q1": "cat & dog", "q2": "two words"}),
    "blanks": (
        "301 international crime\n302 polio\n",
        {"301": "international crime", "302": "polio"},
    ),
    "header": ("\ufeffqid\tquery\n1\ta b\n\n", {"qid": "query", "1": "a b"}),
    "ad hoc": (
        (
            "<top>\n<num> Number: 301 \n<title> International\nOrganized Crime \n<desc> "
            "Description: \nIt\n</top>\n"
            "<top><num> Number: 302<title> Topic: Polio &amp; others<desc> x</top>"
        ),
        {"301": "International Organized Crime", "302": "Polio & others"},
    ),
    "web": (
        (
            '<webtrack2012><topic number="151" '
            'type="single"><query>403b</query><description>What?</description>'
            '<subtopic number="1" type="nav">x</subtopic></topic></webtrack2012>'
        ),
        {"151": "403b"},
    ),
    "misinformation": (
        (
            '<?xml version="1.0"?>\n<!-- <topic>none</topic> '
            "-->\n<topics><topic>\n<number>101</number>\n"
            "<query><![CDATA[ankle < brace]]></query>\n<description>Does it "
            "help?</description></topic></topics>"
        ),
        {"101": "ankle < brace"},
    ),
    "ehealth": (
        (
            "<queries><query><id>101001</id><title>headaches</title></query>"
            "<query><id>101002</id><title>radial nerve</title></query></queries>"
        ),
        {"101001": "headaches", "101002": "radial nerve"},
    ),
    "trials": (
        '<topics><topic number="1">A 40-year-old man.</topic></topics>',
        {"1": "A 40-year-old man."},
    ),
    "without a title": ("<top><num>7</num><desc>Only this</desc></top>", {"7": "Only this"}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str, tmp_path: Path) -> None:
    content, expected = FORMATS[name]
    (tmp_path / "topics").write_text(content, encoding="utf-8")
    assert read_topic_texts(tmp_path / "topics") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "q1\tcats\nq2\n",
            r"topics:2: expected a query id, a tab and the text of the topic, got 'q2'",
        ),
        ("q1\tcats\nq1\tdogs\n", r"expected one text of topic q1, got 'cats' and 'dogs'"),
        ("<html><p>1</p></html>", r"expected topics of TREC \(<top> or <topic>\), got none"),
        (
            "<top><num>1</num></top>",
            r"expected a text, such as <title> in each topic, got none in topic 1",
        ),
        (
            "<top><title>x</title></top>",
            r"expected an id, such as <num> in each topic, got none in topic 1",
        ),
    ],
)
def test_what_is_no_file_of_topics(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(content, encoding="utf-8")
    with pytest.raises(MultiAspectError, match=message):
        read_topic_texts(tmp_path / "topics")


def test_reports_show_the_texts_of_the_topics_of_pipelines() -> None:
    runs, qrels = world(("one", "other"), n_topics=2)
    topics = pd.DataFrame({"qid": ["q0<i>", "q1<i>"], "query": ["cats </script>", None]})
    report = ma.report(
        runs, qrels, ["AP"], topics=topics, aspects={"relevance": 2, "<b>cred": 3}, progress=False
    )
    assert report._data["texts"] == ["cats </script>", ""]
    without = ma.report(runs, qrels, ["AP"], aspects={"relevance": 2, "<b>cred": 3}, progress=False)
    assert without._data["texts"] == ["", ""]
    assert without._data["means"] == report._data["means"]


def test_reports_show_the_questions_of_answers() -> None:
    rows = [
        {
            "qid": qid,
            "name": name,
            "user_input": f"What is {qid}?",
            "prompt": "Be kind.",
            "faithful": value,
        }
        for name, values in {"a": (0.5, 0.25), "b": (0.75, 1.0)}.items()
        for qid, value in zip(("t1", "t2"), values, strict=True)
    ]
    frame = pd.DataFrame(rows)
    values = ma.answers.from_criteria(frame[["qid", "name", "faithful"]])
    assert ma.report(values, answers=frame)._data["texts"] == ["What is t1?", "What is t2?"]
    same = frame.drop(columns="user_input")
    assert ma.report(values, answers=same)._data["texts"] == ["", ""]


REPORT = ["report", "--qrels", "relevance=qrels.txt", "-m", "AP", "-o", "r.html"]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch, capsys) -> Any:
    """Run a report of two runs on the topics 1, 12 and 3, and return the exit code, what it prints and its data."""
    pytest.importorskip("vl_convert")
    from pt_multiaspect.cli.program import main

    monkeypatch.chdir(tmp_path)
    judgments = []
    up = []
    down = []
    for qid in (1, 12, 3):
        for number in range(4):
            judgments.append(f"{qid} 0 d{number} {number % 2}\n")
            up.append(f"{qid} Q0 d{number} 1 {number} x\n")
            down.append(f"{qid} Q0 d{number} 1 {-number} x\n")
    Path("qrels.txt").write_text("".join(judgments))
    Path("up.run").write_text("".join(up))
    Path("down.run").write_text("".join(down))

    def run(*options: str) -> tuple[int, str, str, dict[str, Any] | None]:
        code = main([*REPORT, *options, "up.run", "down.run"])
        out, err = capsys.readouterr()
        data = Page(Path("r.html").read_text(encoding="utf-8")).data if code == 0 else None
        return code, out, err, data

    return run


@pytest.mark.parametrize(
    "topics",
    [
        "1\tcats and dogs\n12\tno cat\n",
        (
            "<top><num> Number: 001\n<title> cats and dogs\n</top><top><num> Number: 012<title> no "
            "cat</top>"
        ),
    ],
    ids=["tsv", "trec"],
)
def test_the_shell_shows_topics_and_says_what_it_wrote(topics: str, shell) -> None:
    """Topic 3 has no text, and counts all the same."""
    Path("topics").write_text(topics)
    code, out, err, data = shell("--topics", "topics")
    assert (code, out) == (0, "")
    assert err.splitlines()[-1] == "pt-multiaspect: wrote r.html"
    texts = dict(zip(data["queries"], data["texts"], strict=True))
    assert texts == {"1": "cats and dogs", "12": "no cat", "3": ""}

    code, _, _, data_without_texts = shell()
    assert code == 0
    assert data["values"] == data_without_texts["values"]


def test_the_shell_refuses_texts_of_other_topics(shell) -> None:
    Path("other").write_text("q1\tcats\n")
    code, _, err, _ = shell("--topics", "other")
    assert code == 2
    message = (
        "--topics: expected the topics of the qrels, such as 1, 12, 3, got q1; check the query ids"
    )
    assert message in err

    code, _, err, _ = shell("--topics", "no such file")
    assert code == 2
    assert "--topics" in err
