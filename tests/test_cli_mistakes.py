"""Mistakes of newcomers on the command line: one line on stderr that says what to write instead."""

from __future__ import annotations

import faulthandler
import gzip
import os
import re
import shlex
import sys
import threading

import click
import pytest

from pt_multiaspect import MultiAspectError, read_run
from pt_multiaspect.cli import main
from pt_multiaspect.errors import in_shell, messages_for_shell, parameter
from pt_multiaspect.io import file_contents

RUN = "q0 Q0 d00 1 9.5 mine\nq0 Q0 d01 2 8.5 mine\n"

#: What is in the files of the mistakes.
FILES = {
    "header.csv": "query,doc,rank,score\nq0,d00,1,9.5\n",
    "headed.run": f"qid Q0 docno rank score tag\n{RUN}",
    "comma.run": RUN.replace(".", ","),
    "empty.run": "",
    "cut.run": RUN[:-12],
    "swapped.txt": RUN,
    "three.txt": "q0 0 d00 2 2 1\nq0 0 d01 0 -1 -1\n",
    "headed.qrels": "qid iteration docno label\nq0 0 d00 1\n",
    "comma.qrels": "q0 0 d00 1,5\n",
    "table.csv": "name,AP\n",
    "broken.json": "{relevance: 2}",
    "other.txt": "x9 0 d00 1\n",
    "documents.jsonl": '{"docno": "d00", "text": "a"}\n{"docno": "d01", "text": "b"}\n',
}

EVALUATE = ("evaluate", "-m", "AP")

#: Command lines and what the message says; the qrels of `cli` are given unless the line has
#: --qrels.
MISTAKES = [
    # qrels
    ("evaluate -m AP --qrels a,b runs", "no such file: a,b; write ASPECT=FILE for each aspect"),
    ("evaluate -m AP --qrels relevance:relevance.txt runs", "write ASPECT=FILE for each aspect"),
    (
        "evaluate -m AP --qrels relevance=relevance.txt,credibility=credibility.txt runs",
        "separate several ASPECT=FILE by blanks, not by commas",
    ),
    ("evaluate -m AP --qrels relevance=nothing.txt runs", "--qrels: no such file: nothing.txt"),
    (
        "evaluate -m AP --qrels relevance=swapped.txt runs",
        "looks like a run, not qrels: give runs after the",
    ),
    (
        "evaluate -m AP --qrels three.txt runs",
        (
            "got 6: 'q0 0 d00 2 2 1'; name the label columns of one file, as in --qrels "
            "relevance,credibility=FILE"
        ),
    ),
    (
        "evaluate -m AP --qrels relevance.txt credibility.txt",
        "looks like qrels, not a run: write --qrels ASPECT",
    ),
    (
        "evaluate -m AP --qrels headed.qrels runs",
        "if this is a header, delete the line: TREC files have none",
    ),
    ("evaluate -m AP --qrels comma.qrels runs", "got '1,5'"),
    (
        "evaluate -m AP --qrels documents.jsonl runs",
        "These are documents: qrels have one row per judged document",
    ),
    ("evaluate -m AP --qrels comma.qrels runs", "write decimals with a point, not with a comma"),
    ("evaluate --qrels relevance.txt --suite touche-2021 runs", "or a further --qrels ASPECT=FILE"),
    # runs
    (
        "evaluate -m AP mixed",
        "If mixed also contains other files, give a pattern in quotes, such as 'mixed/*.run'",
    ),
    (
        "evaluate -m AP header.csv",
        "commas between the fields, the first line is a header, such as qid,docno,score",
    ),
    ("evaluate -m AP headed.run", "if this is a header, delete the line: TREC files have none"),
    ("evaluate -m AP comma.run", "write decimals with a point, not with a comma"),
    ("evaluate -m AP cut.run.gz", "the file ends within a member; copy or download it again"),
    ("evaluate -m AP cut.run", "cut.run:2: expected 6 fields"),
    ("evaluate -m AP empty.run", "the file is empty; expected lines `qid Q0 docno rank score tag`"),
    ("evaluate -m AP nothing.run", "error: run nothing.run: no such file"),
    ("evaluate -m nDCG@10 --sort nDCG runs", "got nDCG. Did you mean nDCG@10?"),
    ("evaluate -m AP", "missing RUN: give run files, directories, or patterns in quotes"),
    ("compare -m AP runs", "expected two runs, got 4: alpha, beta, delta, gamma; give two files"),
    ("explain -m AP --query q0 runs", "got 4: alpha, beta, delta, gamma"),
    ("explain -m AP --query q0 runs/beta.run runs/alpha.run", "unexpected argument runs/alpha.run"),
    (
        "evaluate -m AP --baseline beta.run runs/beta.run",
        "--baseline requires a run to compare with beta.run, got no other",
    ),
    # measures
    ("evaluate -m nDGC@10 runs", "unknown measure 'nDGC'; the nearest names are NDCG, nDCG"),
    ("evaluate -m 'TOMA(aspect=[relevance])' runs", "Did you mean aspects?"),
    (
        "evaluate -m AP \"MM(base='nDCG@10')@5\" runs",
        "MM@5 has the cutoff 5, but its base is nDCG@10",
    ),
    ("evaluate -m AP \"mine=CAM(base='nothing')\" runs", "CAM: unknown base 'nothing'"),
    ("evaluate -m 'AP(rle=2)' runs", "AP: expected parameters (cutoff, rel, judged_only), got rle"),
    ("evaluate -m 'TOMA(aspects=[relevence])' runs", "Did you mean relevance?"),
    (
        "evaluate -m 'On(aspect=effort)' runs",
        "among relevance, credibility, or a further --qrels ASPECT=FILE",
    ),
    ("evaluate runs", "missing measures: give -m MEASURE or --suite NAME"),
    (
        "evaluate --suite multi-aspect runs",
        "the suite multi-aspect requires --aspects, the label scales, as in --aspects '{",
    ),
    ("evaluate --suite touche-2021 runs", "have no column for the aspect quality"),
    ("evaluate --suite touche2021 runs", "Did you mean touche-2021?"),
    (
        "evaluate --suite multi-aspect --aspects scales.json --judged runs",
        (
            "--judged: 'judged@10 relevance' is the name of a measure; omit --judged, or give it an "
            "alias"
        ),
    ),
    ("plot values relevance.txt -o x.pdf", "; read lines with their format, as in tot=FILE"),
    ("plot values nowhere.csv -o x.pdf", "nowhere.csv: no such file"),
    ("evaluate -m nDCG10 runs", "unknown measure 'nDCG10'; write nDCG@10"),
    ("evaluate -m AP cam_cut_10 runs", "unknown measure 'cam_cut_10'; write CAM@10"),
    ("evaluate -m toma runs", "unknown measure 'toma'; the nearest names are TOMA"),
    ("evaluate -measure AP runs", "no such option -measure. Did you mean --measure?"),
    ("evaluate -m suite:touche-2021 runs", "got 'suite:touche-2021'; write --suite touche-2021"),
    ("evaluate suite:touche-2021 runs", "got 'suite:touche-2021'; write --suite touche-2021"),
    (
        "evaluate -m 'TOMA(distance=cosine)' runs",
        "or a number p > 0 (Minkowski), as in 'TOMA(distance=manhattan)'",
    ),
    # scales
    ("evaluate -m TOMA --aspects broken.json runs", "expected valid JSON, got '{relevance: 2}'"),
    ("evaluate -m TOMA --aspects relevance=2 runs", 'or JSON such as \'{"relevance": 2'),
    (
        'evaluate -m TOMA --aspects \'{"relevance": {"grads": 2}, "credibility": 3}\' runs',
        "mean grades?",
    ),
    (
        'evaluate -m TOMA --aspects \'{"relevance": 1, "credibility": 3}\' runs',
        (
            "and that 1 is its top grade: 2 may belong to the grades. Declare them as codes that mean "
            "'not judged'"
        ),
    ),
    # options
    ("evaluate -m AP --ouput x.csv runs", "no such option --ouput. Did you mean --output?"),
    (
        "compare -m AP -q --top two runs/alpha.run runs/beta.run",
        "--top: expected a whole number, got 'two'",
    ),
    (
        "evaluate -m AP --baseline beta.run --correction holms runs",
        "--correction: expected one of holm, bonferroni, fdr_bh, none",
    ),
    (
        "evaluate -m AP --baseline beta.run --correction holms runs",
        "got 'holms'. Did you mean holm?",
    ),
    ("evaluate -m AP --average-over positve runs", "Did you mean positive?"),
    ("evaluate -m NLRE --average-over positive runs", "use --average-over judged"),
    ("describe --contingency relevance", "(see 'pt-multiaspect describe --help')"),
    ("answers --qrels x", "no such option --qrels"),
    ("explain -m AP runs/beta.run", "missing --query: give the id of a query"),
    # output
    ("evaluate -m AP -o x.pdf runs", "got x.pdf; write x.csv"),
    ("report -o x.pdf runs", "got x.pdf; write x.html, which browsers print as PDF"),
    (
        "evaluate -m AP -o nowhere/x.csv runs",
        "--output: there is no directory nowhere; create it first",
    ),
    ("evaluate -m AP -o runs runs", "--output: expected a file, got the directory runs"),
    ("evaluate -m AP -o new/ runs", "--output: expected a file, got the directory new/"),
    ("evaluate -m AP -o - --format csv runs", "omit the option to print"),
    (
        "evaluate -m AP -o runs/beta.run --format csv runs/beta.run",
        "runs/beta.run is read by this command",
    ),
    (
        "evaluate -m AP -o runs/../runs/beta.run --format csv 'runs/*.run'",
        "is read by this command",
    ),
    ("evaluate -m AP -o runs/beta.run --format csv new=runs/beta.run", "is read by this command"),
    ("evaluate -m AP -o relevance.txt --format csv runs", "relevance.txt is read by this command"),
    ("evaluate -m TOMA -o scales.json --aspects scales.json runs", "scales.json is read by"),
    (
        "evaluate -m AP -o runs/x.csv runs",
        "runs/x.csv would be read as a run of runs the next time",
    ),
    (
        "evaluate -m AP -o runs/x.csv 'runs/*'",
        "runs/x.csv would be read as a run of runs/* the next time",
    ),
    (
        "evaluate -m AP -o linked/x.csv 'r?ns/*'",
        "linked/x.csv would be read as a run of r?ns/* the next time",
    ),
    (
        "evaluate -m AP -o runs/x.csv 'linked/*'",
        "runs/x.csv would be read as a run of linked/* the next time",
    ),
    ("evaluate -m AP -o ./x.csv '**/*'", "./x.csv would be read as a run of **/* the next time"),
    (
        "evaluate -m AP -o ~/runs/x.csv 'runs/[!.]*'",
        "would be read as a run of runs/[!.]* the next time",
    ),
    (
        "describe --write-aspects relevance.txt",
        "--write-aspects: relevance.txt is read by this command",
    ),
    (
        "describe --write-aspects nowhere/scales.json",
        "--write-aspects: there is no directory nowhere",
    ),
    ("describe -o nowhere/x.html", "--output: there is no directory nowhere"),
    ("report -o nowhere/x.html runs", "--output: there is no directory nowhere"),
    ("explain -m AP --query q0 -o nowhere/x.html runs/beta.run", "there is no directory nowhere"),
    (
        "describe -o same.txt --write-aspects ./same.txt",
        "--output and --write-aspects are the same file, ./same.txt",
    ),
    ("describe --qrels =relevance.txt a=b", "got '=relevance.txt'; write ASPECT=relevance.txt"),
    ("datasets health -o -", "--output: expected a directory, got -"),
    ("evaluate -m Precision runs", "P requires the parameter cutoff, as in P@10"),
    ("report -o x.html --suite trec-misinfo-2021 runs", "'pt-multiaspect evaluate' evaluates it"),
    (
        "evaluate -m TOMA --qrels relevance=relevance.txt credibility=other.txt runs",
        "read them anyway with --no-check",
    ),
    ("measures 10.1145/0000000.0000000", "no measure has a paper with the DOI 10.1145/0000000"),
    ("measures TOMA CAM", "unknown measure 'TOMA CAM'; the nearest names are TOMA, CAM"),
]

#: Commands that take no qrels.
WITHOUT_QRELS = ("answers", "datasets", "measures", "plot")


@pytest.fixture
def faulty_files(trec_files, monkeypatch):
    """Files that newcomers may have, too."""
    for name, content in FILES.items():
        (trec_files / name).write_text(content)
    (trec_files / "cut.run.gz").write_bytes(gzip.compress(os.urandom(200))[:100])
    (trec_files / "linked").symlink_to("runs")
    monkeypatch.setenv("HOME", str(trec_files))
    (trec_files / "mixed").mkdir()
    (trec_files / "mixed" / "README.md").write_text("notes on these runs")
    (trec_files / "mixed" / "a.run").write_text(RUN)
    return trec_files


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.every(4)
@pytest.mark.parametrize(("line", "part"), MISTAKES)
def test_a_mistake_is_one_line_with_its_remedy(cli, faulty_files, line, part):
    """The error speaks of options, not of Python, and no file is changed."""
    before = contents(faulty_files)
    arguments = shlex.split(line)
    takes_given_qrels = arguments[0] not in WITHOUT_QRELS and "--qrels" not in arguments
    code, out, err = cli(*arguments) if takes_given_qrels else cli(*arguments, qrels=())

    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("pt-multiaspect: error: ")
    assert err.count("\n") == 1
    assert contents(faulty_files) == before

    assert "Traceback" not in err
    assert "Aspect(" not in err
    # No parameter of Python, such as ci=0.9; in measures there are dicts: aspects={'relevance': 2}.
    parameters_of_python = r"\b(aspects|average_over|ci|strategy)=(?![\[{'])"
    assert not re.search(parameters_of_python, err)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("option", "output", "runs"),
    [
        ("-o", "runs/x.csv", "runs/*.run"),
        ("-o", "runs/.x.csv", "runs"),
        ("-o", "runs/.x.csv", "runs/*"),
        ("-o", "x.csv", "runs/*"),
        ("-o", "x.csv", "runs"),
    ],
)
def test_what_is_not_read_the_next_time_may_be_written(cli, trec_files, option, output, runs):
    """The same command reads the same runs again."""
    first = cli(*EVALUATE, option, output, runs)
    assert first[0] == 0, first
    assert cli(*EVALUATE, option, output, runs) == first


def test_no_permission_to_write_is_found_before_anything_is_computed(cli, monkeypatch):
    """A new file needs a directory into which one may write."""
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != ".")
    code, out, err = cli(*EVALUATE, "-o", "x.csv", "runs")
    assert (code, out) == (2, "")
    assert "--output: no permission to write x.csv; choose another file" in err


def test_permission_to_write_is_that_of_the_file_if_there_is_one(cli, trec_files, monkeypatch):
    (trec_files / "x.csv").write_text("")

    monkeypatch.setattr("os.access", lambda path, mode: str(path) != ".")
    code, _, _ = cli(*EVALUATE, "-o", "x.csv", "runs")
    assert code == 0

    monkeypatch.setattr("os.access", lambda path, mode: str(path) != "x.csv")
    code, _, _ = cli(*EVALUATE, "-o", "x.csv", "runs")
    assert code == 2


def test_a_home_that_is_unknown_is_a_directory_that_is_not_there(cli):
    code, out, err = cli(*EVALUATE, "-o", "~nobody-of-this-name/x.csv", "runs")
    assert (code, out) == (2, "")
    assert "there is no directory ~nobody-of-this-name; create it first" in err


def test_options_that_messages_advise_do_what_they_say(cli, trec_files):
    """Qrels of credibility that have no topic in common with those of relevance are read with --no-check only."""
    (trec_files / "other.txt").write_text("x9 0 d00 1\n")
    qrels = ("relevance=relevance.txt", "credibility=other.txt")
    code, _, _ = cli("evaluate", "-m", "AP", "runs", qrels=qrels)
    assert code == 2
    code, _, _ = cli("evaluate", "-m", "AP", "--no-check", "runs", qrels=qrels)
    assert code == 0


def test_a_file_of_earlier_results_is_replaced(cli, trec_files):
    (trec_files / "table.csv").write_text("earlier")
    assert cli(*EVALUATE, "-o", "table.csv", "runs")[:2] == (0, "")
    assert (trec_files / "table.csv").read_text().startswith("name,AP\n")


@pytest.mark.slow
def test_names_with_blanks_and_other_alphabets(cli, trec_files):
    folder = trec_files / "mes résultats"
    folder.mkdir()
    (folder / "modèle τ.run").write_text((trec_files / "runs" / "beta.run").read_text())
    expected = cli(*EVALUATE, "x=runs/beta.run")[1]
    for path in ("mes résultats", "mes résultats/*.run", "mes résultats/modèle τ.run"):
        code, out, err = cli(*EVALUATE, path)
        assert (code, err) == (0, "")
        assert out == expected.replace("x\t", "modèle τ.run\t")


def test_warnings_name_options(cli):
    _, _, err = cli("evaluate", "-m", "TOMA", "runs")
    assert (
        "Declare them with --aspects FILE ('pt-multiaspect describe --write-aspects FILE' writes "
        "them)" in err
    )


#: Command lines whose messages name options, and what they say.
NAMED = [
    (
        "evaluate --suite multi-aspect runs",
        "the suite multi-aspect requires --aspects, the label scales, as in --aspects '{",
    ),
    (
        "evaluate --suite trec-misinfo-2021 --aspects scales.json runs",
        "the suite trec-misinfo-2021 declares its own label scales: omit --aspects",
    ),
    (
        (
            "evaluate --suite multi-aspect --aspects '{\"relevance\": 2}' --qrels "
            "relevance=relevance.txt runs"
        ),
        "the suite multi-aspect: expected relevance and at least one other aspect",
    ),
    (
        "evaluate -m 'On(aspect=effort)' runs",
        "expected aspects among relevance, credibility, or a further --qrels",
    ),
    (
        (
            "evaluate -m TOMA --aspects scales.json --qrels relevance=below.txt "
            "credibility=credibility.txt runs"
        ),
        'declare "unjudged": [-3] in --aspects FILE',
    ),
    (
        'evaluate -m MM(base=AP) --aspects \'{"relevance": 2, "credibility": 10}\' runs',
        'Declare the lowest positive grade, "threshold", with --aspects FILE',
    ),
    (
        "evaluate -m TOMA --qrels relevance=relevance.txt rank=credibility.txt runs",
        "(by its name). Select the aspects by their files in --qrels, or",
    ),
    (
        "evaluate -m TOMA --qrels relevance=times.txt credibility=credibility.txt runs",
        "leave its file out of --qrels; if labels, declare the grades with --aspects",
    ),
    (
        "answers judged.jsonl",
        "('pt-multiaspect describe --answers FILE --write-aspects FILE' proposes it), or select",
    ),
    (
        "describe --qrels judged.jsonl",
        "are read by the functions of answers, and by 'pt-multiaspect answers'",
    ),
    ("answers g.csv", "error: judged: expected one column name or run_id or system"),
    (
        "evaluate -m AP(rel=9) --average-over positive runs",
        "--average-over positive: no topic has a positive",
    ),
    ("correlate -m NumQ AP --rank-by query runs", "use --method rbo"),
    ("explain -m AP --query q77 runs/beta.run", "--query: expected a topic of the qrels"),
    (
        "evaluate -m AP --qrels relevance,relevance=two.txt runs",
        "error: --qrels: aspects: expected distinct aspects, got 'relevance'",
    ),
    (
        "weightings -m CAM --aspects scales.json --at-least trust=1 runs",
        "--at-least: expected aspects (relevance",
    ),
    ("weightings -m AP runs", "-m: expected a mean over aspects"),
    ("evaluate -m AP --by two.txt runs", "--by: expected a group for each topic"),
    ("weightings --values values.csv", "name those of the aspects by -m"),
    (
        "answers texts.csv",
        "if it does, declare the scales of the criteria only, with --aspects FILE\n",
    ),
    (
        "robustness -m CAM --aspects scales.json --judges judges.csv runs",
        (
            "expected a column value, got the columns qid, docno, judge, criterion, score; rename "
            "one\n"
        ),
    ),
]


@pytest.fixture
def files_of_messages(trec_files):
    """The files that the command lines of `NAMED` name."""
    relevance = (trec_files / "relevance.txt").read_text()
    judged = '{"topic": "%s", "system": "mine", "criterion": "clear", "score": 4}\n'
    contents_of_files = {
        "below.txt": f"{relevance}\nq0 0 below -3",  # a label below 0
        "times.txt": f"{relevance}\nq0 0 late 20000000",  # a label that is rather a time
        "two.txt": "q0 0 d00 1 1\n",  # two label columns
        "g.csv": "docno,group\nd00,a\n",
        "values.csv": "name,qid,measure,value\na,q0,AP,1\na,q0,RR,1\n",
        "texts.csv": "topic,system,clear,answer\nq0,mine,0.5,12\n",
        "judges.csv": "qid,docno,judge,criterion,score\nq0,d00,x,relevance,1\n",
        "judged.jsonl": judged % "q0" + judged % "q1",
    }
    for name, content in contents_of_files.items():
        (trec_files / name).write_text(content)


@pytest.mark.every(2)
@pytest.mark.parametrize(("line", "expected"), NAMED)
@pytest.mark.usefixtures("files_of_messages")
def test_messages_of_the_package_name_options(cli, line, expected):
    """Where the package advises an argument of Python, the command line advises its option."""
    arguments = shlex.split(line)
    has_own_qrels = "--qrels" in line or "--values" in line
    takes_given_qrels = arguments[0] not in WITHOUT_QRELS and not has_own_qrels
    _, _, err = cli(*arguments) if takes_given_qrels else cli(*arguments, qrels=())
    assert expected in err


def test_messages_name_the_value_of_an_option(cli, faulty_files):
    _, _, err = cli("evaluate", "-m", "NLRE", "--average-over", "positive", "runs")
    assert err.startswith("pt-multiaspect: error: --average-over positive: ")


@pytest.mark.parametrize(
    "scales", ["{}", '{"relevance": {"grads": 2}}', "broken.json", "nothing.json", "relevance.txt"]
)
def test_messages_about_scales_name_their_option_once(cli, faulty_files, scales):
    _, _, err = cli("evaluate", "-m", "TOMA", "--aspects", scales, "runs")
    assert err.startswith("pt-multiaspect: error: --aspects: ")
    assert err.count("--aspects: ") == 1
    assert "--aspects: aspects: " not in err


@pytest.mark.parametrize(
    "line",
    ["relevance.txt", "-o x.csv relevance.txt"],
)
def test_a_remedy_is_given_once(cli, line):
    _, _, err = cli(*EVALUATE, *shlex.split(line))
    assert err.count("write --qrels ASPECT=FILE for each aspect") == 1


def test_usage_errors_are_worded_alike_by_all_versions_of_click(capsys):
    """Click has worded them differently from version to version."""
    from pt_multiaspect.cli.messages import usage_message

    param = click.Option(["-c", "--colour"], type=click.Choice(["red", "blue"]))
    bad = click.BadParameter("'rde' is not one of 'red', 'blue'.", param=param)
    assert usage_message(bad) == "--colour: expected one of red, blue, got 'rde'"
    assert (
        usage_message(click.UsageError("Got unexpected extra arguments (a b)"))
        == "unexpected argument a b"
    )
    assert usage_message(click.UsageError("Missing command.")) == "missing command"
    assert main(["evaluate", "--qrels"]) == 2
    assert "requires an argument (see 'pt-multiaspect evaluate --help')" in capsys.readouterr().err


def test_hints_on_lines_are_given_where_they_fit(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 9.5 a\nq1 Q0 d2 rank score a\n")  # not in the first line
    with pytest.raises(MultiAspectError, match=r"expected.*got 'rank'") as caught:
        read_run(path)
    assert "header" not in str(caught.value)
    path.write_text("q1 Q0 a,b,c\n")  # a document with commas
    with pytest.raises(MultiAspectError, match="expected 6 fields") as caught:
        read_run(path)
    assert "commas" not in str(caught.value)


@pytest.fixture
def odd_name(trec_files):
    """A run file whose name is not UTF-8."""
    name = os.fsdecode(b"od\xff.run")
    try:
        (trec_files / "runs" / "alpha.run").rename(trec_files / "runs" / name)
    except OSError:
        pytest.skip("the file system has UTF-8 names only")
    return name


OUTPUTS = pytest.mark.parametrize(
    "options",
    [
        ("-o", "t.csv"),
        ("-o", "t.json"),
        ("-o", "t.md"),
        ("-o", "t.tex"),
        ("-q", "-o", "t.csv"),
        ("--judged",),
    ],
)


@pytest.mark.every(3)
@OUTPUTS
@pytest.mark.usefixtures("odd_name")
def test_names_of_runs_that_are_not_utf_8(cli, trec_files, options):
    """What is written or printed has the name of the run od\\xff.run in some form that is UTF-8."""
    code, out, err = cli(*EVALUATE, *options, "runs")
    assert code == 0, err
    written = "".join(file.read_text(encoding="utf-8") for file in trec_files.glob("t.*"))
    text = written or out
    assert "od" in text
    text.encode()  # is an error if a character cannot be encoded


@pytest.mark.every(3)
@OUTPUTS
def test_errors_on_runs_whose_names_are_not_utf_8(cli, odd_name, trec_files, options):
    """The error shows the byte that is not UTF-8 as \\udcff."""
    (trec_files / "runs" / odd_name).write_text("q1 Q0 d1")
    code, _, err = cli(*EVALUATE, *options, "runs")
    assert code == 2
    assert len(err.splitlines()) == 1
    with_single_backslashes = err.replace("\\\\", "\\")
    path = os.path.join("runs", r"od\udcff.run")
    assert f"{path}:1: expected 6 fields" in with_single_backslashes


@pytest.fixture
def pipe(trec_files):
    """Write a file to a named pipe, once."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("requires named pipes")

    def start(source):
        os.mkfifo(trec_files / "pipe")
        content = (trec_files / source).read_bytes()
        threading.Thread(
            target=(trec_files / "pipe").write_bytes, args=(content,), daemon=True
        ).start()
        faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)

    yield start
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("options", [("--judged",), ("-q",)])
def test_a_run_from_a_named_pipe_is_read_once(cli, pipe, options):
    expected = cli(*EVALUATE, *options, "pipe=runs/alpha.run", "runs/beta.run")
    pipe("runs/alpha.run")
    assert cli(*EVALUATE, *options, "pipe", "runs/beta.run") == expected


@pytest.mark.slow
def test_a_report_on_a_named_pipe(cli, pipe, trec_files):
    pipe("runs/alpha.run")
    code, _, err = cli("report", *EVALUATE[1:], "-o", "r.html", "pipe")
    assert (code, (trec_files / "r.html").exists()) == (0, True), err


@pytest.mark.slow
def test_qrels_from_a_named_pipe(cli, pipe):
    expected = cli(*EVALUATE, "--judged", "runs")
    pipe("relevance.txt")
    result = cli(
        *EVALUATE, "--judged", "runs", qrels=("relevance=pipe", "credibility=credibility.txt")
    )
    assert result == expected


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_no_input_is_opened_twice(cli, monkeypatch, command):
    """Two qrels and two runs are opened, each once."""
    opened = []
    read_bytes = file_contents._read_bytes

    def record_source(source):
        opened.append(str(source))
        return read_bytes(source)

    monkeypatch.setattr(file_contents, "_read_bytes", record_source)
    code, _, _ = cli(command, "-m", "nDCG@10", "-o", "x.csv", "runs/alpha.run", "runs/beta.run")
    assert code == 0
    assert len(opened) == 4
    assert len(set(opened)) == 4


def test_a_malformed_run_in_a_named_pipe(cli, pipe, trec_files):
    (trec_files / "bad").write_text("q1 Q0 d1")
    pipe("bad")
    code, _, err = cli(*EVALUATE, "pipe")
    assert code == 2
    assert err.startswith(
        "pt-multiaspect: error: run pipe: pipe:1: expected 6 fields (qid Q0 docno rank score tag)"
    )
    assert len(err.splitlines()) == 1


def test_a_damaged_parquet_file(cli, trec_files):
    pytest.importorskip("pyarrow")
    (trec_files / "bad").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    code, _, err = cli(*EVALUATE, "bad")
    assert code == 2
    assert err.startswith("pt-multiaspect: error: run bad: a damaged Parquet file: ")
    assert len(err.splitlines()) == 1


def test_a_measure_before_the_qrels_is_told_from_a_missing_one(cli, faulty_files):
    code, out, err = cli("evaluate", "nDCG@10", "relevance.txt", "runs/beta.run", qrels=())
    assert (code, out) == (2, "")
    assert "missing measures: no such file: nDCG@10, which is a measure; write it after -m" in err
    code, out, err = cli("evaluate", "relevance.txt", "runs/beta.run", qrels=())
    assert (code, out) == (2, "")
    assert "missing measures: give -m MEASURE or --suite NAME" in err


def test_parameters_are_named_as_in_python_or_as_options():
    scales = {"relevance": [1, 2]}
    in_python = (parameter("ci"), parameter("average_over", "judged"), parameter("aspects", scales))
    assert in_python == ("ci=", "average_over='judged'", "aspects={'relevance': [1, 2]}")
    with messages_for_shell({"check": "--no-check"}):
        assert in_shell()
        assert (parameter("ci"), parameter("average_over", "judged")) == (
            "--ci",
            "--average-over judged",
        )
        assert parameter("aspects", scales) == """--aspects '{"relevance": [1, 2]}'"""
        assert parameter("check", False) == "--no-check"
    assert not in_shell()
    assert parameter("check", False) == "check=False"
