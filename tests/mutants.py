"""Change the code of a room in a hundred places, one at a time, and list the changes that no test notices.

    python tests/mutants.py kernels                       # 100 mutants of one room, seed 0
    python tests/mutants.py analysis -n 20 --seed 3 --jobs 1
    python tests/mutants.py analysis --only judges.py:119 ranks.py --tests judges ranks

The last repeats survivors, with fewer tests.

A mutant exchanges an operator or comparison, changes a number, or reverses a condition. It is
*killed* if one of the tests named for its room in `TESTS` fails, and *survives* otherwise: then a
test is missing, or the mutant computes the same. Survivors that were shown to compute the same are
listed in `EQUIVALENT` with the reason.

The tests are collected once. A forked process runs all of them and notes the lines that each
executes; one per mutant replaces the code of the changed functions and runs the tests that execute
the changed line, the quickest first. Code that is executed by imports is changed before the import,
and all tests are run. Not for Windows.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pt_multiaspect"

#: What `tests/test_*.py` tests each room; its doctests are run, too.
TESTS = {
    "kernels": "values reference golden bounds explanations standard session subtopics "
    "properties intervals search_front judges displacement classic "
    "rank_biased_utility weightings orders label_extremes repeats clusters macro_means margins "
    "detectable tied_rows normalised_gain harmful_displacement",
    "measures": "values reference golden testing bounds mean_of session subtopics intents "
    "classic displacement rank_biased_utility diversity negative_gains gate strings citations "
    "definitions "
    "explanations properties label_warnings orders",
    "analysis": "weightings multiverse ranks correlation discriminative baseline judges "
    "prediction_powered quality bounds groups_of_topics "
    "docstrings missing_labels detectable robustness measures_after_runs clusters macro_means margins "
    "clustered_analyses nested_topics conclusions confidence_intervals",
    "answers": "answers cli_answers report_values",
    "integration": "values accelerating standard strings pyterrier pyterrier_datasets pipelines "
    "ir_measures rag one_experiment last_judgments lists unlabelled_relevance names aspect_files "
    "multiverse "
    "cli_suites judges cli value_tables value_files library_metrics input_columns measure_lists "
    "robustness",
    "aspects": "values aspect_files bad_input names orders properties",
    "bases": "values reference golden bases standard bounds explanations properties",
    "collection": "values join topics lists unlabelled_relevance judges subtopics swapped label_warnings "
    "bad_input frames frame_input qrels_columns input_columns run_warnings value_tables "
    "label_extremes "
    "missing_labels fill_labels answers library_metrics judges_files",
    "datasets": "datasets irds pyterrier_datasets",
    "description": "description label_warnings aspect_warnings judges value_tables",
    "evaluation": "evaluation aggregation evaluator groups_of_topics value_files topics "
    "many_runs pipelines intervals fill_labels topics_of_runs value_tables baseline correlation "
    "nested_topics clusters macro_means",
    "explanation": "explanations testing",
    "io": "io fast_reading parquet_files delimited_files comments run_headers runs_without_scores pipelines "
    "nul_ids fuzzing beir_files prediction_files json_files value_tables datasets",
    "model_selection": "scorer aspect_ranker learning_to_rank learning_input learning_checks ranking_score "
    "early_stopping library_stopping row_arguments search_front recipes learning_documents "
    "learning_arrays "
    "library_metrics repeats",
    "orders": "values orders reference testing bounds",
    "strings": "join strings nul_ids",
}

#: (file, source of the changed expression, source of the mutant): why it computes the same.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "kernels/overlap.py",
        "depth - 1.0",
        "depth - 0.0",
    ): "scores are divided by the best one, which has the same factor p",
    (
        "kernels/target.py",
        "np.max(depth, initial=0)",
        "np.max(depth, initial=1)",
    ): "a rank below the depth of every query counts nothing",
    (
        "integration/provider.py",
        "sys.version_info < (3, 14)",
        "sys.version_info <= (3, 14)",
    ): "the version has further numbers",
    (
        "description/between.py",
        "2 * block + bit_value",
        "2 * block - bit_value",
    ): "blocks are as distinct, in another order",
    (
        "answers/combining.py",
        "frame.groupby(keys, sort=False, dropna=False, observed=True)",
        "frame.groupby(keys, sort=False, dropna=False, observed=False)",
    ): "numbers of groups are those of observed ones",
    (
        "description/statistics.py",
        "gains[-1] - gains[0]",
        "gains[-1] + gains[0]",
    ): "another non-linear change of gains",
    (
        "explanation/contributions.py",
        "1e-09 * max(1.0, abs(self.value))",
        "1e-09 / max(1.0, abs(self.value))",
    ): "the scale of a tolerance for rounding",
    (
        "analysis/upper_bounds/beam_search.py",
        "2 ** n_types",
        "3 ** n_types",
    ): "the same choices, repeated",
    (
        "analysis/upper_bounds/beam_search.py",
        "effort > _MOST_EFFORT",
        "effort >= _MOST_EFFORT",
    ): "a limit of the time, which no effort equals",
    (
        "kernels/hits.py",
        "2 ** 62",
        "2 ** 63",
    ): "keys below 2 ** 63 have 64 bits, too",
    (
        "analysis/_value_matrices.py",
        "values * signs",
        "values / signs",
    ): "signs are 1 or -1",
    (
        "analysis/ranks.py",
        "means * read.signs",
        "means / read.signs",
    ): "signs are 1 or -1",
    (
        "analysis/_robustness_study.py",
        "oriented.values * oriented.signs",
        "oriented.values / oriented.signs",
    ): "signs are 1 or -1",
    (
        "measures/intents.py",
        "2 ** 53",
        "2 * 53",
    ): "whole numbers of Python are exact, too",
    (
        "measures/rank_errors.py",
        "real(name, low=0, high=1e+50)",
        "real(name, low=0, high=1e+50)",
    ): "the same number: 1 more is rounding",
    (
        "integration/accelerating.py",
        "{'d1': 1}",
        "{'d1': 0}",
    ): "only the order of the measures is read from pytrec_eval's values",
    (
        "integration/accelerating.py",
        "{'d1': 1.0}",
        "{'d1': 0.0}",
    ): "only the order of the measures is read from pytrec_eval's values",
    (
        "kernels/forms.py",
        "np.min(self.gain, initial=0.0)",
        "np.min(self.gain, initial=1.0)",
    ): "only a minimum below 0 is read",
    (
        "kernels/intervals.py",
        "_CHUNK // len(values)",
        "_CHUNK * len(values)",
    ): "all samples are drawn at once, which takes more memory",
    (
        "kernels/session.py",
        "theme * hits.n_queries + query",
        "theme * hits.n_queries - query_of_element",
    ): "other distinct numbers, of which negative ones count from the end",
    (
        "kernels/session.py",
        "usability > 0",
        "usability >= 0",
    ): "documents without usability follow the others, and add nothing",
    (
        "evaluation/value_files.py",
        "values.groupby('name', sort=False)",
        "values.groupby('name', sort=True)",
    ): "the groups are found by name",
    (
        "explanation/contributions.py",
        "self.judgments.n_queries > 1",
        "self.judgments.n_queries >= 1",
    ): "the prefixes are evaluated one by one, which takes longer",
    (
        "description/view.py",
        "fractions.iloc[0]",
        "fractions.iloc[1]",
    ): "the rows are equal where one is shown for all",
}

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
#: Calls whose arguments are words: errors, warnings and the like.
_WORDS = ("Error", "warn", "warn_once", "notice", "join", "format")
#: Comparisons with a tolerance for rounding: values at its edge may fall on either side.
_TOLERANCE = re.compile(r"rounding|tolerance|epsilon|\b1e-\d", re.IGNORECASE)
#: Whole numbers from here on are sizes of samples, blocks and searches: one more changes little but
#: the time.
_SIZE = 256
#: Fields of the syntax tree that hold types and decorators.
_TYPES = ("annotation", "returns", "decorator_list", "type_params", "bases")
#: Arguments by name that change no value: checks of lengths, copies, positions of warnings,
#: progress bars.
_INERT = ("strict", "copy", "stacklevel", "progress", "maxsize", "ignore_index")


class Mutant(NamedTuple):
    """A change of the node at an index of `code_nodes`; source and lines are those of the changed expression."""

    path: Path
    index: int
    lines: range
    old: str
    new: str
    by_import: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """The key in `EQUIVALENT`."""
        return self.path.relative_to(PACKAGE).as_posix(), self.old, self.new

    def __str__(self) -> str:
        return (
            f"{self.path.relative_to(ROOT).as_posix()}:{self.lines[0]}: {self.old}  →  {self.new}"
        )


def is_left_out(node: ast.AST) -> bool:
    """Return whether a node holds messages, annotations or strings, or nothing that changes a value."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name.endswith(_WORDS)
    if isinstance(node, ast.keyword):
        return node.arg in _INERT
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


class CodeNode(NamedTuple):
    """A node, the expression or statement that it is shown in, and whether it is executed by the import."""

    node: Any
    shown: Any
    by_import: bool


def code_nodes(
    node: ast.AST, shown: ast.AST | None = None, by_import: bool = True
) -> Iterator[CodeNode]:
    """Yield a node and its descendants, without annotations, messages and imports."""
    if is_left_out(node):
        return
    if not isinstance(node, ast.Constant | ast.keyword | ast.operator | ast.UnaryOp):
        shown = node
    yield CodeNode(node, shown, by_import)
    types = isinstance(node, ast.Call) and ast.unparse(node.func) in (
        "isinstance",
        "issubclass",
        "cast",
    )
    for name, value in ast.iter_fields(node):
        if name in _TYPES or (types and name == "args"):
            continue
        later = name == "body" and isinstance(node, ast.FunctionDef | ast.Lambda)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code_nodes(child, shown, by_import and not later)


def change(node: Any) -> bool:
    """Change a node in place; return False if nothing about it can be changed."""
    if isinstance(node, ast.Compare):
        edge = isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        if edge and _TOLERANCE.search(ast.unparse(node)):
            return False
        node.ops = [_OPERATORS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in _OPERATORS:
        if isinstance(node, ast.BinOp) and (
            is_type_or_text(node.left) or is_type_or_text(node.right)
        ):
            return False
        node.op = _OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        node.value = not node.value
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if type(node.value) is int and node.value >= _SIZE:
            return False
        node.value = 1 - node.value if node.value in (0, 1) else node.value + 1
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(
        node.test, ast.Compare
    ):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        return False
    return True


def is_type_or_text(node: ast.AST) -> bool:
    """Return whether a side of an operator is a type or text, as in `int | None` and `name + "s"`."""
    text = ast.unparse(node)
    return text in ("None", "int", "float", "str", "bool") or text.startswith(
        ("'", '"', "f'", 'f"')
    )


def all_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    for index, (node, shown, by_import) in enumerate(
        code_nodes(ast.parse(path.read_text(encoding="utf-8")))
    ):
        if isinstance(shown, ast.If | ast.While):
            shown = shown.test
        before, attributes = ast.unparse(shown), vars(node).copy()
        if change(node):
            after = ast.unparse(shown) if shown is not attributes.get("test") else f"not ({before})"
            vars(node).update(attributes)
            place = shown if hasattr(shown, "lineno") else node
            lines = range(place.lineno, place.end_lineno + 1)
            yield Mutant(path, index, lines, before, after, by_import)


def compile_mutant(mutant: Mutant) -> CodeType:
    """Return the code of the module of a mutant."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    change(
        next(found.node for index, found in enumerate(code_nodes(tree)) if index == mutant.index)
    )
    return compile(ast.fix_missing_locations(tree), str(mutant.path), "exec", dont_inherit=True)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those in it, in the order of the source."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def replace_functions(mutant: Mutant) -> None:
    """Give the functions of an imported module the code of a mutant."""
    source = compile(
        mutant.path.read_text(encoding="utf-8"), str(mutant.path), "exec", dont_inherit=True
    )
    codes = dict(zip(nested_codes(source), nested_codes(compile_mutant(mutant)), strict=True))
    gc.unfreeze()  # tests/conftest.py hides from the collector what exists before the tests
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(mutant.path):
            function.__code__ = codes.get(function.__code__, function.__code__)


class MutatedLoader(SourceFileLoader):
    """Loader of one module that compiles a mutant instead of its file."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        super().__init__(name, str(mutant.path))
        self.mutant = mutant

    def get_code(self, fullname: str) -> Any:
        return compile_mutant(self.mutant)


class MutatedFinder:
    """Finder of one module: that of a mutant."""

    def __init__(self, mutant: Mutant) -> None:
        parts = mutant.path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(part for part in parts if part != "__init__")
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        return spec_from_file_location(
            name, self.mutant.path, loader=MutatedLoader(name, self.mutant)
        )


#: The exit status of a forked process that fails otherwise than by a test.
_BROKEN = 70


def fork(work: Callable[[], bool]) -> int:
    """Do work in a forked process, whose exit status is 0 if it returns True; return its id."""
    child = os.fork()
    if child:
        return child
    status = _BROKEN
    try:
        status = 0 if work() else 1
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


#: What a mutant may allocate, in bytes: one took 18 GB.
_MOST_MEMORY = 4 << 30


def limit_resources(seconds: float) -> None:
    """End this process after a time of computing, or five times as long if it waits; limit its memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, resource.RLIM_INFINITY))
    signal.alarm(5 * int(seconds))


#: Per test, how long it takes and the lines of the room that it executes.
Record = dict[str, tuple[float, set[tuple[str, int]]]]


def by_file(items: list[Any], record: Record) -> list[Any]:
    """Return tests by file, as fixtures of files are set up once; the quickest files and tests first."""
    spent = {item: record.get(item.nodeid, (0.0, set()))[0] for item in items}
    total: Counter[str] = Counter()
    for item in items:
        total[item.location[0]] += spent[item]
    return sorted(items, key=lambda item: (total[item.location[0]], item.location[0], spent[item]))


class Runner:
    """Plugin of pytest that hands the tests that it collects over to a function instead of running them."""

    def __init__(self, work: Callable[[Runner], object]) -> None:
        self.work = work
        self.failed: str | None = None

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = session.items
        self.work(self)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = f"{report.nodeid}\n{report.longreprtext}"

    def run(self, items: list[Any]) -> bool:
        """Run tests until one fails; return whether none does."""
        for item, following in zip_longest(items, items[1:]):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return False
        return True

    def record(self, folder: Path) -> Record:
        """Run all tests without a change; return the record of the lines of a folder."""
        prefix, record, lines, calls = str(folder), {}, set(), Counter()

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            if not frame.f_code.co_filename.startswith(prefix):
                return None
            if event == "call":
                calls[frame.f_code] += 1
                if calls[frame.f_code] > 20:  # further calls rarely execute other lines
                    return None
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return trace

        for item in self.items:
            lines.clear()
            calls.clear()
            started = time.process_time()
            sys.settrace(trace)
            passed = self.run([item])
            sys.settrace(None)
            if not passed:
                print(f"a test fails without any change: {self.failed}", file=sys.__stderr__)
                os._exit(1)
            record[item.nodeid] = time.process_time() - started, set(lines)
        return record

    def test_function(self, mutant: Mutant, record: Record) -> bool:
        """Return whether all tests that execute the lines of a mutant pass on it."""
        replace_functions(mutant)
        lines = {(str(mutant.path), line) for line in mutant.lines}
        chosen = [item for item in self.items if lines & record[item.nodeid][1]]
        limit_resources(10 + 2 * sum(record[item.nodeid][0] for item in chosen))
        return self.run(by_file(chosen, record))

    def test_import(self, mutant: Mutant, record: Record) -> bool:
        """Return whether all tests pass on a mutant that was imported; those of its file are run first."""
        file = str(mutant.path)
        near = {
            nodeid.partition("::")[0]
            for nodeid, (_, lines) in record.items()
            if file in dict(lines)
        }
        ordered = by_file(self.items, record)
        return self.run(
            sorted(ordered, key=lambda item: item.nodeid.partition("::")[0] not in near)
        )


def run_pytest(room: str, work: Callable[[Runner], object]) -> bool:
    """Collect the tests of a room and hand them over; return whether they can be collected."""
    import pytest

    files = [str(ROOT / "tests" / f"test_{name}.py") for name in TESTS[room].split()]
    options = ["-n", "0", "--capture=sys", "-p", "no:terminal"]
    return pytest.main([*options, *files, str(PACKAGE / room)], plugins=[Runner(work)]) == 0


def record_tests(room: str, log: Path) -> bool:
    """Write the record of the tests of a room to a file."""
    return run_pytest(
        room, lambda runner: log.write_bytes(pickle.dumps(runner.record(PACKAGE / room)))
    )


def test_import(room: str, mutant: Mutant, record: Record) -> bool:
    """Import the package with a mutant; return whether all tests of the room pass on it, in this process."""
    limit_resources(10 + 2 * sum(spent for spent, _ in record.values()))
    sys.meta_path.insert(0, MutatedFinder(mutant))  # type: ignore[arg-type]
    passed: list[bool] = []
    return run_pytest(
        room, lambda runner: passed.append(runner.test_import(mutant, record))
    ) and passed == [True]


def survivors(drawn: list[Mutant], test: Callable[[Mutant], bool], jobs: int) -> list[Mutant]:
    """Run the tests on every mutant; return those on which all pass."""
    waiting, running, alive = drawn[::-1], {}, []
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[fork(lambda mutant=mutant: test(mutant))] = mutant, time.monotonic()  # type: ignore[misc]
        child, status = os.wait()
        mutant, started = running.pop(child)
        if os.waitstatus_to_exitcode(status) == _BROKEN:
            sys.exit(f"the tests cannot be run on {mutant}")
        label = "killed" if status else "ALIVE "
        print(
            f"{label} {time.monotonic() - started:5.1f} s  {mutant}",
            file=sys.__stdout__,
            flush=True,
        )
        alive += [] if status else [mutant]
    return alive


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("room", choices=TESTS)
    parser.add_argument("-n", type=int, default=100, help="how many mutants to draw (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="of those drawn, the ones printed with such a text"
    )
    parser.add_argument(
        "--tests", nargs="+", help="the tests to run (default: those named for the room)"
    )
    options = parser.parse_args()
    room, folder = options.room, PACKAGE / options.room
    if options.tests:
        TESTS[room] = " ".join(options.tests)
    names = [f"tests/test_{name}.py" for name in TESTS[room].split()]
    if missing := [name for name in names if not (ROOT / name).exists()]:
        sys.exit(f"expected names of tests, got files that do not exist: {', '.join(missing)}")
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    os.environ |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    # What the tests import, but nothing that imports the package: forked processes need not read it
    # again.
    for name in (
        "pytest",
        "hypothesis",
        "pandas",
        "scipy.stats",
        "scipy.optimize",
        "ir_measures",
        "pyarrow",
    ):
        importlib.import_module(name)
    every = [mutant for path in sorted(folder.rglob("*.py")) for mutant in all_mutants(path)]
    drawn = random.Random(options.seed).sample(every, min(options.n, len(every)))
    drawn = [mutant for mutant in drawn if any(text in str(mutant) for text in options.only)]
    print(f"{len(drawn)} of {len(every)} mutants of {room}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "record")
        if os.waitpid(fork(lambda: record_tests(room, log)), 0)[1]:
            sys.exit("the tests fail without any change")
        record = pickle.loads(log.read_bytes())
    executed = set().union(*(lines for _, lines in record.values()))
    # Functions that no test executes may be called by imports.
    others = [
        mutant
        for mutant in drawn
        if not mutant.by_import
        and any((str(mutant.path), line) in executed for line in mutant.lines)
    ]
    by_import = [mutant for mutant in drawn if mutant not in others]
    alive = survivors(by_import, lambda mutant: test_import(room, mutant, record), options.jobs)

    def test_functions(runner: Runner) -> None:
        alive.extend(
            survivors(others, lambda mutant: runner.test_function(mutant, record), options.jobs)
        )

    if not run_pytest(room, test_functions):
        sys.exit("the tests cannot be run")
    equal = [mutant for mutant in alive if mutant.key in EQUIVALENT]
    missed = [mutant for mutant in alive if mutant.key not in EQUIVALENT]
    print(
        f"\n{room}: {len(drawn) - len(alive)} killed, {len(equal)} compute the same, {len(missed)} "
        "survive"
    )
    print("\n".join(map(str, missed)))


if __name__ == "__main__":
    main()
