"""Topics whose ids look nested: sets of qids that do and that do not, and what is said of them."""

from __future__ import annotations

import ast
import re
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frame_world import array_frame
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect.cli import main
from pt_multiaspect.errors import messages_for_shell
from pt_multiaspect.evaluation import interval_columns
from pt_multiaspect.evaluation.nested_topics import cluster_argument, nested_levels, nested_topics


def number(start: int, stop: int, form: str = "{}") -> list[str]:
    return [form.format(index) for index in range(start, stop)]


def join(heads: list[str], tails: list[str], separator: str = "_") -> list[str]:
    return [f"{head}{separator}{tail}" for head in heads for tail in tails]


#: Sets of qids, with the number of groups and the pattern that is proposed.
NESTED = {
    "CAsT, 19 dialogues": (join(number(106, 125), number(1, 9)), 19, r"(\d+)_.*"),
    "CAsT, some turns are judged": (["31_1", "31_4", "31_7", "32_2", "32_3", "33_1", "33_9"], 3, r"(\d+)_.*"),
    "iKAT, dialogues of topics": (join(number(9, 14), ["1-1", "1-2", "2-1", "2-2"], "-"), 5, r"(\d+)-.*"),
    "iKAT, turns of dialogues": (join(number(9, 14), ["1_1", "1_2", "2_1"], "-"), 5, r"(\d+)-.*"),
    "variants": (join(number(1, 12), list("abc"), ""), 11, r"(\d+)[A-Za-z]"),
    "variants after a separator": (join(["flu", "cold", "pain", "acne"], list("abc"), "-"), 4, r"([^-]+)-.*"),
    "numbered variants": (join(number(1, 94), ["v1", "v2", "v3"]), 93, r"(\d+)_.*"),
    "turns by name": (join(["a7f", "b2c", "d9d", "e0e"], number(0, 4, "turn{}"), "/"), 4, r"([^/]+)/.*"),
    "questions of documents": (join(["x.pdf", "y.pdf", "z.pdf"], number(1, 6, "q{}"), "#"), 3, r"([^#]+)#.*"),
    "heads with the separator": (join(["msd_1_a", "msd_2_b", "lcm_3_c"], number(1, 5), "."), 3, r"([^.]+)\..*"),
    "outer heads with the separator": (
        join(["war_peace", "war_fare", "tea_time"], number(1, 5)), 3, r"(.+)_[^_]+",
    ),
    "padded": (join(number(1, 8, "T{:02}"), number(1, 5, "{:02}"), ":"), 7, r"([^:]+):.*"),
    "separators of two kinds": (["1_1", "1-2", "2_1", "2-2", "3_1", "3-2"], 3, r"(\d+)[_-].*"),
    "one id in ten without a turn": ([*join(number(1, 7), number(1, 4)), "extra"], 7, r"([^_]+)(?:_.*)?"),
    "CLEF's six digits": (join(number(101, 121), number(1, 7, "{:03}"), ""), 20, r"(\d{3})\d{3}"),
}  # fmt: skip

RNG = np.random.default_rng(0)

#: Sets of qids of independent topics.
INDEPENDENT = {
    "TREC 301 to 450": number(301, 451),
    "numbers": number(1, 94),
    "six digits": number(100_000, 100_400),
    "MS MARCO": [str(qid) for qid in RNG.integers(2, 1_185_869, 300)],
    "MS MARCO, six digits": [str(qid) for qid in RNG.integers(100_000, 999_999, 300)],
    "DL 2022": [str(qid) for qid in RNG.integers(2_000_000, 2_060_000, 76)],
    "RAG 2024": [f"2024-{qid}" for qid in RNG.integers(10_000, 230_000, 90)],
    "uuid": [str(uuid.UUID(bytes=RNG.bytes(16))) for _ in range(100)],
    "hexadecimal": [RNG.bytes(8).hex() for _ in range(100)],
    "q_1": number(1, 151, "q_{}"),
    "q1": number(1, 151, "q{}"),
    "test-1": number(1, 301, "test-{}"),
    "PLAIN-12": [f"PLAIN-{qid}" for qid in RNG.integers(1, 3_400, 323)],
    "data sets": join(["scifact", "nfcorpus", "fiqa"], number(1, 51), "/"),
    "parts of DBpedia": [
        *[f"INEX_LD-20{year}{qid:03}" for year in ("09", "10") for qid in RNG.choice(150, 50)],
        *join(
            ["QALD2_tr", "QALD2_te", "SemSearch_ES", "SemSearch_LS"],
            [str(qid) for qid in range(1, 141, 3)],
            "-",
        ),
    ],
    "topics drawn from several sets": [
        f"{name}-{qid}"
        for name in ("ES", "LS", "tr", "te", "XER")
        for qid in RNG.choice(np.arange(20, 400), 8)
    ],
    "dates": [f"2024-{month:02}-{day:02}" for month in range(1, 5) for day in range(1, 8)],
    "dates after a word": [
        f"news_2024-{month}-{day}" for month in range(1, 5) for day in range(1, 8)
    ],
    "months": [f"{year}-{month:02}" for year in range(2019, 2024) for month in range(1, 13)],
    "quarters": [f"{year}-Q{quarter}" for year in range(2015, 2024) for quarter in range(1, 5)],
    "years and numbers": [f"{year}_{qid}" for year in range(2019, 2024) for qid in range(1, 16)],
    "decimals": number(1, 50, "{}.0"),
    "decimals of distinct numbers": [f"{qid}.{qid % 10}" for qid in range(1, 50)],
    "passages": [f"{document}#0" for document in RNG.integers(10_000_000, 20_000_000, 100)],
    "ArguAna": [
        f"test-law-{RNG.bytes(3).hex()}-{side}0{part}a"
        for side in ("pro", "con")
        for part in range(1, 5)
    ],
    "words": ["boots", "jackets", "tents", "stoves"],
    "two groups": join(["1", "2"], number(1, 9)),
    "one group": join(["31"], number(1, 9)),
    "one topic": ["31_1"],
    "one topic per group": join(number(1, 40), ["1"]),
    "most topics alone": [*join(["1", "2", "3"], ["1", "2"]), *join(number(4, 20), ["1"])],
    "large groups": join(number(1, 6), number(1, 61)),
    "late numbers": join(number(1, 9), number(51, 56)),
    "sparse numbers": join(number(1, 9), ["1", "400", "900"]),
}


def test_golden_nested_qids() -> None:
    """For each level of nesting, the number of groups and the name of the first."""
    (case,) = [case for case in golden("clusters.json")["cases"] if case["kind"] == "nested"]
    assert len(case["given"]) >= 6
    for name, qids in case["given"].items():
        levels = [[groups.nunique(), groups.iloc[0]] for groups in nested_levels(qids)]
        assert levels == case["expected"][name], name


def test_golden_qids_that_are_not_nested() -> None:
    (case,) = [case for case in golden("clusters.json")["cases"] if case["kind"] == "not nested"]
    assert len(case["given"]) >= 13
    for name, qids in case["given"].items():
        assert nested_levels(qids) == [], name


@pytest.mark.parametrize("name", NESTED)
def test_nested_qids_are_found_in_any_order(name: str) -> None:
    qids, n_groups, pattern = NESTED[name]
    shuffled = np.random.default_rng(1).permutation([*qids, *qids])
    for given in (qids, shuffled):
        nested = nested_topics(given)
        assert nested is not None
        assert nested.groups.nunique() == n_groups
        assert set(nested.groups.index) == set(qids)
        assert nested.pattern == pattern
        assert cluster_argument(nested) == f'cluster=r"{pattern}"'
    for qid, group in nested.groups.items():
        match = re.fullmatch(pattern, str(qid))
        assert match is not None
        assert match.groups() == (group,)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_qids_of_independent_topics_are_not_nested(name: str) -> None:
    assert nested_topics(INDEPENDENT[name]) is None


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("clef2015/qrels.graded.txt.gz", 0),
        ("clef2015/runs.top100.tsv.gz", 1),
        ("clef2018/qrel.txt.gz", 0),
        ("clef2018/runs.top100.tsv.gz", 1),
        ("vaswani/qrels.gz", 0),
    ],
)
def test_qids_of_real_collections_are_not_nested(path: str, column: int) -> None:
    frame = pd.read_csv(
        shared_path("data") / path, sep=r"\s+", header=None, usecols=[column], dtype=str
    )
    qids = frame[column].unique()
    assert len(qids) >= 50
    assert nested_topics(qids) is None


def test_groups_that_are_tested_separately_are_no_clusters() -> None:
    """With `by=`, groups are tested separately, and topics may only be nested within them."""
    topics = [
        f"{collection}/{number}"
        for collection in ("scifact", "nfcorpus", "fiqa")
        for number in range(1, 9)
    ]
    assert nested_topics(topics) is not None
    by_collection = {qid: qid.split("/")[0].upper() for qid in topics}
    assert nested_topics(topics, by_collection) is None
    # One group has two collections.
    science_and_rest = {qid: "a" if qid.startswith("scifact") else "b" for qid in topics}
    assert nested_topics(topics, science_and_rest) is not None


def test_dialogues_within_groups_are_clusters() -> None:
    turns = [f"{topic}-{turn}" for topic in range(9, 14) for turn in ("1_1", "1_2", "2_1")]
    by_topic = {qid: qid.split("-")[0] for qid in turns}
    nested = nested_topics(turns, by_topic)
    assert nested is not None
    assert nested.groups["9-1_2"] == "9-1"


def test_a_pattern_is_proposed_only_if_it_gives_all_groups() -> None:
    nested = nested_topics([*join(number(1, 9), number(1, 5)), "12a", "12b"])
    assert nested is not None
    assert nested.pattern is None
    assert cluster_argument(nested) == "cluster={qid: group}"
    with messages_for_shell({}):
        assert cluster_argument(nested) == "--cluster FILE"


# -- describe -----------------------------------------------------------------------------


def judge(qids: list[str]) -> pd.DataFrame:
    """Qrels of a few documents per topic."""
    rows = [(qid, f"d{index}x", index % 3) for qid in qids for index in range(6)]
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


def test_describe_finds_nested_topics() -> None:
    qids = join(number(106, 125), number(1, 9))
    description = ma.describe(judge(qids))
    (finding,) = description.findings.to_dict("records")
    assert finding["severity"] == "note"
    assert finding["finding"].startswith(
        "152 topics look like 19 groups (106_1, 106_2, …); tests and intervals treat"
    )
    assert finding["remedy"] == r'cluster=r"(\d+)_.*"'
    ast.parse(finding["remedy"])
    assert finding["remedy"] in str(description)
    assert ma.describe(judge(number(106, 200))).findings.empty


def test_the_shell_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qids = join(number(106, 110), number(1, 9))
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{qid} 0 d{index}x {index}\n" for qid in qids for index in range(3))
    )
    assert main(["describe", "--qrels", str(tmp_path / "qrels.txt")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "32 topics look like 4 groups (106_1, 106_2, …)" in out
    assert r"--cluster '(\d+)_.*'" in out


def test_describe_finds_nested_topics_of_answers() -> None:
    qids = [f"T{dialogue:02}:{turn:02}" for dialogue in range(1, 8) for turn in range(1, 5)]
    rows = []
    for number, qid in enumerate(qids):
        rows.append(("first", qid, number % 4 != 3))
        rows.append(("second", qid, number % 4 != 2))
    judged = pd.DataFrame(rows, columns=["run_id", "qid", "faithful"])
    findings = ma.describe(judged).findings["finding"]
    beginning = "28 topics look like 7 groups (T01:01, T01:02, …)"
    assert findings.str.startswith(beginning).sum() == 1


# -- tests and intervals ------------------------------------------------------------------


def value_frame(qids: list[str]) -> pd.DataFrame:
    """Values of three runs."""
    values = np.random.default_rng(0).random((3, len(qids), 1)).round(2)
    frame = array_frame(values, ["AP"])
    names = dict(zip(sorted(frame["qid"].unique()), qids, strict=True))
    return frame.assign(qid=frame["qid"].map(names))


TURNS = join(number(106, 125), number(1, 9))

DOORS = {
    "compare_with_baseline": lambda frame, **given: ma.analysis.compare_with_baseline(
        frame, "run 0", **given
    ).to_string(),
    "aggregate": lambda frame, **given: ma.aggregate(frame, ci=0.95, **given).to_string(),
    "discriminative_power": lambda frame, **given: ma.analysis.discriminative_power(
        frame, n_resamples=200, **given
    ),
    "detectable_difference": lambda frame, **given: ma.analysis.detectable_difference(
        frame, **given
    ),
}

SAYS = (
    r"152 topics look like 19 groups (106_1, 106_2, …) and are treated as independent: "
    r"""pass cluster=r"(\d+)_.*", or cluster='qid' if they are"""
)


@pytest.mark.parametrize("door", DOORS)
def test_one_warning_where_topics_look_nested(door: str) -> None:
    frame = value_frame(TURNS)
    with pytest.warns(ma.MultiAspectWarning) as caught:
        expected = DOORS[door](frame)
    assert [str(warning.message) for warning in caught] == [SAYS]
    independent = DOORS[door](frame, cluster="qid")
    assert str(independent) == str(expected)
    clustered = DOORS[door](frame, cluster=r"(\d+)_.*")
    assert str(clustered) != str(expected)


@pytest.mark.parametrize("door", DOORS)
def test_no_warning_where_topics_look_independent(door: str) -> None:
    DOORS[door](value_frame(number(301, 453)))


def test_no_warning_without_tests_and_intervals() -> None:
    ma.aggregate(value_frame(TURNS))


def test_no_warning_where_groups_are_tested_separately() -> None:
    frame = value_frame(join(["scifact", "nfcorpus", "fiqa"], number(1, 9), "/"))
    frame["collection"] = frame["qid"].str.partition("/")[0]
    ma.analysis.compare_with_baseline(frame, "run 0", by="collection")
    with pytest.warns(ma.MultiAspectWarning, match="24 topics look like 3 groups"):
        ma.analysis.compare_with_baseline(frame, "run 0")


def test_the_shell_warns_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qids = [f"{dialogue}_{turn}" for dialogue in range(106, 116) for turn in range(1, 5)]
    pairs = [(qid, index) for qid in qids for index in range(6)]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{qid} 0 d{index} {index % 2}\n" for qid, index in pairs))
    rng = np.random.default_rng(0)
    for run in ("a", "b"):
        lines = [f"{qid} Q0 d{index} 0 {rng.random()} {run}\n" for qid, index in pairs]
        (tmp_path / run).write_text("".join(lines))
    options = ["--qrels", str(qrels), "-m", "AP", "--interval", "mean", "--baseline", "a"]

    assert main(["evaluate", *options, str(tmp_path / "a"), str(tmp_path / "b")]) == 0

    err = capsys.readouterr().err
    assert err.count("look like") == 1
    assert "40 topics look like 10 groups (106_1, 106_2, …) and are treated as independent" in err
    assert r"--cluster '(\d+)_.*', or --cluster qid if they are" in err


def test_intervals_of_plots_take_clusters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    frame = value_frame(TURNS)
    pattern = r"(\d+)_.*"
    for baseline in (None, "run 0"):
        with pytest.warns(ma.MultiAspectWarning, match="152 topics look like 19 groups"):
            ma.plots.values(frame, baseline=baseline)
    ax = ma.plots.values(frame, cluster=pattern)
    (bars,) = ax.collections
    expected = ma.aggregate(frame, ci=0.95, cluster=pattern).sort_values("AP", ascending=False)
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    assert ends == pytest.approx(expected[list(interval_columns("AP", 0.95))].to_numpy())
    path, figure = tmp_path / "values.csv", str(tmp_path / "figure.svg")
    frame.to_csv(path, index=False)
    for kind in ("values", "asl_curves"):
        command = ["plot", kind, str(path), "-o", figure]
        assert main(command) == 0
        assert (
            capsys.readouterr().err.count(r"--cluster '(\d+)_.*', or --cluster qid if they are")
            == 1
        )
        for cluster in (pattern, "qid"):
            assert main([*command, "--cluster", cluster]) == 0
            assert "look like" not in capsys.readouterr().err
    assert main(["plot", "correlation_heatmap", str(path), "-o", figure, "--cluster", pattern]) == 2
    assert "--cluster: correlation_heatmap takes none; omit it" in capsys.readouterr().err
