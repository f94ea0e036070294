"""JSON files of runs and judgments: what is read, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pt_multiaspect.errors import MultiAspectError
from pt_multiaspect.io.file_contents import as_text
from pt_multiaspect.io.json_files import is_json, json_table, read_json, read_json_judgments


def table(text: str, what: str = "score"):
    ((_, content),) = read_json(as_text("run.json", text.encode("utf-8", "surrogatepass")))
    return json_table("run.json", content, what)


def test_numbers_by_query_and_document():
    read = table(
        '{"q2": {"d 1": 1.5, "d2": 2}, "empty": {}, "q1": {"d\\u00e9": -1e-3, "d\\u0000": 0}}'
    )
    assert read.qids.tolist() == ["q2", "q1"]
    assert read.query.tolist() == [0, 0, 1, 1]
    assert read.docnos.decode().tolist() == ["d 1", "d2", "dé", "d\0"]
    assert read.score.tolist() == [1.5, 2.0, -0.001, 0.0]
    assert read.score.dtype == np.float64


def test_the_last_bit_of_a_number_is_kept():
    assert table('{"q": {"d": 0.1, "e": 12345678901234567890}}').score.tolist() == [
        0.1,
        12345678901234567890.0,
    ]


FORM = "expected {qid: {docno: score}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", f"{FORM} with at least one document, got none"),
        ('{"q1": {}}', f"{FORM} with at least one document, got none"),
        ("[]", f"{FORM}, got []"),
        ('[{"q1": {"d1": 1}}]', f"{FORM}, got [{{'q1': {{'d1': 1}}}}]"),
        ('{"q1": 1}', f"{FORM}, got 1 for query q1"),
        ('{"q1": ["d1", "d2"]}', f"{FORM}, got ['d1', 'd2'] for query q1"),
        (
            '{"q1": {"d1": "1.5"}}',
            "expected a finite number as score, got '1.5' (query q1, document d1)",
        ),
        ('{"q0": {}, "q1": {"d1": 1, "d2": true}}', "as score, got True (query q1, document d2)"),
        ('{"q1": {"d1": null}}', "as score, got None (query q1, document d1)"),
        ('{"q1": {"d1": {"d2": 1}}}', "as score, got {'d2': 1} (query q1, document d1)"),
        ('{"q1": {"d1": 2, "d2": NaN}}', "as score, got nan (query q1, document d2)"),
        ('{"q1": {"d1": Infinity}}', "as score, got inf (query q1, document d1)"),
        ('{"q1": {"d1": -1e999}}', "as score, got -inf (query q1, document d1)"),
        (
            f'{{"q1": {{"d1": 1{"0" * 400}}}}}',
            "got an integer of 1329 bits (query q1, document d1)",
        ),
        (
            f'{{"q1": {{"d1": 1{"0" * 5000}}}}}',
            "not valid JSON, or an incomplete file: Exceeds the limit",
        ),
        ("[" * 200_000, "run.json: not valid JSON, or an incomplete file: it is nested too deeply"),
        ('{"q1": {"d1": 1, "d2": 2, "d1": 3}}', "got document d1 several times for query q1"),
        ('{"q1": {"d1": 1}, "q2": {}, "q1": {"d1": 1}}', "got several entries of query q1"),
        (
            '{"q1":\n {"d1": 1',
            "not valid JSON, or an incomplete file: Expecting ',' delimiter: line 3 column 1",
        ),
        ('{"q1": {"d1": 1}}\n}', "an incomplete file: Expecting value: line 2 column 1"),
        ('{"q1": {"\\ud800": 1}}', "run.json: expected text that UTF-8 can represent"),
        ('{"\\ud800": {"d": 1}}', "run.json: expected text that UTF-8 can represent"),
    ],
)
def test_bad_input(text, message):
    with pytest.raises(MultiAspectError, match=re.escape(message)) as caught:
        table(text)
    assert str(caught.value).startswith("run.json:")


def test_judgments_are_one_object():
    with pytest.raises(
        MultiAspectError, match=re.escape("run.json: expected one JSON object, got 2 values")
    ):
        read_json_judgments(as_text("run.json", b'{"q1": {"d1": 1}} {"q2": {"d1": 1}}'))


def test_errors_name_what_the_numbers_are():
    with pytest.raises(
        MultiAspectError, match=re.escape("{qid: {docno: label}}, got 1 for query q1")
    ):
        table('{"q1": 1}', "label")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"q1": {}}', True),
        (b'\xef\xbb\xbf \r\n{ "q1"', True),
        (b"{}", True),
        (b"{", True),
        (b"[[1]]", True),
        (b"", False),
        (b"q1 Q0 d1 1 1.5 run", False),
        (b"{q1} Q0 d1 1 1.5 run", False),
        (b"[q1] Q0 d1 1 1.5 run", False),
        (b"PAR1", False),
    ],
)
def test_json_is_recognised_by_its_content(data, expected):
    assert is_json(data) is expected
