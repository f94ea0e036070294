"""The structure of the package: few places ask what a measure, order or base is, in whatever words.

What a measure has, it states, as `Measure.accepts_aspects` and `Base.has_positive` do. Run ``python
tests/test_structure.py`` to list the lines that ask.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "pt_multiaspect"

#: What only measures, orders or bases have.
ATTRIBUTES = (
    "SUPPORTED_PARAMS", "SOURCES", "CITATION", "SINGLE_ASPECT", "bases", "measure", "members", "spec",
    "on", "of_criteria", "parameters", "runtime_impl",
)  # fmt: skip

#: How lines ask another object what it is, and the number of lines that do. The numbers may only go
#: down.
QUESTIONS = {
    "class": (
        r"isinstance\([^)]*\b(Measure|Order|Base)\b|type\((TOMA|On)\)|has_kernel|is_linear",
        4,
    ),
    "name": (r"measure\.NAME (==|in|not in) ", 2),
    "parameter": (r"""["\w] (not )?in (?!self\.)\w+(\.\w+)*\.SUPPORTED_PARAMS(?!\.)""", 15),
    "attribute": (
        r"attr\([\w.]+, \"(" + "|".join(ATTRIBUTES) + r")\"",
        21,
    ),
    "package": (r"(?<!def )(?<!\.)\bsupports\(", 16),
}


@functools.cache
def lines() -> list[tuple[str, int, str]]:
    """All lines of the package, with the name of the file and the number of the line."""
    return [
        (path.relative_to(PACKAGE).as_posix(), number, line)
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module, which `ast.walk` finds in twice the time."""
    waiting: list[object] = [ast.parse(path.read_text(encoding="utf-8"))]
    found = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, ast.AST):
            found.append(value)
            waiting.extend(vars(value).values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def asking(pattern: str) -> list[str]:
    return [
        f"{file}:{number}: {line.strip()}"
        for file, number, line in lines()
        if re.search(pattern, line)
    ]


@pytest.mark.parametrize("words", QUESTIONS)
def test_no_further_place_asks_what_a_measure_is(words: str) -> None:
    pattern, most = QUESTIONS[words]
    places = asking(pattern)
    remedy = "let the class of the measure state what it has"
    assert len(places) <= most, "\n".join(
        [f"expected at most {most} places, got {len(places)}; {remedy}:", *places]
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("class", "if isinstance(value, Measure):"),
        ("name", 'if measure.NAME in ("Judged", "NumRet"):'),
        ("parameter", 'if "weights" in measure.SUPPORTED_PARAMS:'),
        ("attribute", 'if not hasattr(read, "SUPPORTED_PARAMS"):'),
        ("package", "plain = [measure for measure in measures if not supports(measure)]"),
    ],
)
def test_what_asks_is_seen(words: str, line: str) -> None:
    assert re.search(QUESTIONS[words][0], line)


#: Maximum number of lines of the body of a function, without its signature and docstring.
LONGEST = 50


def long_functions(code: Iterable[ast.AST]) -> list[tuple[str, int, int]]:
    """The functions with too long a body: names, numbers of the first lines, and numbers of lines."""
    found = []
    for node in code:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            size = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            found += [(node.name, node.lineno, size)] if size > LONGEST else []
    return found


def test_no_function_is_long() -> None:
    places = [
        f"{path.relative_to(PACKAGE).as_posix()}:{line}: {name}, {size} lines"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line, size in long_functions(nodes(path))
    ]
    assert places == [], f"expected at most {LONGEST} lines: split by what they decide"


def test_long_functions_are_seen() -> None:
    """The lines of a body count, without those of the signature, the docstring and comments."""

    def long_functions_of(lines: list[str]) -> list[tuple[str, int, int]]:
        tree = ast.parse("\n".join(lines))
        return long_functions(ast.walk(tree))  # names, lines, and lengths

    documented = ["def f(", "    a,", "):", '    """Text.', "", "    More.", '    """']
    assert long_functions_of(documented) == []
    longest_allowed = [*documented, "    # Why.", *["    a += 1"] * LONGEST]
    assert long_functions_of(longest_allowed) == []
    too_long = ["class C:", "    def f(self):", *["        a += 1"] * (LONGEST + 1)]
    assert long_functions_of(too_long) == [("f", 2, LONGEST + 1)]


#: Functions and names of whole numbers, by which lists and words may be multiplied.
NUMBERS = re.compile(r"(len|max|min|round)\(.*\)|n|n_\w+|gap")


def is_conditional(node: ast.AST) -> bool:
    """Whether a list or a word is multiplied by a truth value, or an expression is evaluated for its effect."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Call | ast.Constant | ast.Yield | ast.YieldFrom)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    is_word = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if not is_word and not isinstance(node.left, ast.List | ast.Tuple | ast.JoinedStr):
        return False
    return not isinstance(node.right, ast.BinOp | ast.BoolOp) and not NUMBERS.fullmatch(
        ast.unparse(node.right)
    )


def test_conditions_are_written_as_conditions() -> None:
    places = [
        f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in nodes(path)
        if is_conditional(node)
    ]
    assert places == []


@pytest.mark.parametrize(
    ("line", "conditional"),
    [
        ('x = ["--ci"] * ci', True), ('x = "s" * (n > 1)', True), ("x = [known] * bool(known)", True),
        ("a.append(1) if b else c.append(1)", True), ('x = [""] * len(rows)', False),
        ('x = " " * (width - 2)', False), ("x = weights * values", False), ("a.append(1)", False),
    ],
)  # fmt: skip
def test_conditions_are_seen(line: str, conditional: bool) -> None:
    assert any(map(is_conditional, ast.walk(ast.parse(line)))) == conditional


def imported_modules(path: Path, name: str, names: Iterable[str]) -> set[str]:
    """The modules among `names` that a module imports at its top, in functions or for annotations."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = (
                package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            )
            home = ".".join([*parents, *filter(None, [node.module])])
            found |= {
                member if (member := f"{home}.{alias.name}") in names else home
                for alias in node.names
            }
    return found & set(names) - {name}


def top_imports(path: Path) -> list[tuple[int, str, list[str]]]:
    """Level, module and names of the relative imports at the top of a module."""
    imports = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
    ]
    return [
        (node.level, node.module or "", [alias.name for alias in node.names])
        for node in imports
        if node.level
    ]


def behind_fronts(path: Path, shown: set[str]) -> list[str]:
    """The names that a module imports from a file of another room, although that room shows them at its front."""
    found = [
        f"{module}.{name}"
        for level, module, names in top_imports(path)
        if level > 1
        for name in names
    ]
    return [name for name in found if name in shown]


def test_what_a_room_shows_at_its_front_is_imported_from_there() -> None:
    """What the `__init__.py` of a folder imports from its files is imported from the folder."""
    shown = set()  # such as collection.judgments.Judgments
    for front in PACKAGE.glob("*/__init__.py"):
        for _, module, names in top_imports(front):
            shown |= {f"{front.parent.name}.{module}.{name}" for name in names}
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__init__.py":
            found += [f"{path.name}: {name}" for name in behind_fronts(path, shown)]
    assert found == []


def test_imports_behind_fronts_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    lines = [
        "from ..room.file import a, b",  # the folder shows a, but not b
        "from ..room import a",
        "from .file import a",  # of another folder
    ]
    path.write_text("\n".join(lines) + "\n")
    assert behind_fronts(path, {"room.file.a"}) == ["room.file.a"]


def circles(imports: dict[str, set[str]]) -> list[str]:
    """The modules that remain when those that import none, and those that none imports, are taken away."""
    rest = dict(imports)
    while leaves := [name for name, modules in rest.items() if not modules & rest.keys()]:
        for name in leaves:
            del rest[name]
    while roots := rest.keys() - set().union(*rest.values()):
        for name in roots:
            del rest[name]
    return sorted(rest)


def test_no_module_imports_itself_through_others() -> None:
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("pt_multiaspect_*.py")]
    parts = {path: path.relative_to(PACKAGE.parent).with_suffix("").parts for path in paths}
    names = {
        path: ".".join(part for part in of_path if part != "__init__")
        for path, of_path in parts.items()
    }
    imports = {name: imported_modules(path, name, names.values()) for path, name in names.items()}
    assert circles(imports) == []


def test_imported_modules_are_seen(tmp_path: Path) -> None:
    """Also those that are imported for types only, or within a function."""
    path = tmp_path / "b.py"
    lines = [
        "if TYPE_CHECKING:",
        "    from ..a import X",
        "def f():",
        "    from . import c",
    ]
    path.write_text("\n".join(lines) + "\n")
    all_modules = ["p.a", "p.q", "p.q.b", "p.q.c"]
    assert imported_modules(path, "p.q.b", all_modules) == {"p.a", "p.q.c"}


def test_circles_are_seen() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}
    assert circles(imports) == ["b", "c"]


def expressions(file: Path) -> set[str]:
    """The sources of all expressions and statements of a file."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.expr | ast.stmt)}


@functools.cache
def expressions_of(file: str) -> set[str]:
    """The expressions of a file of the package."""
    return set(expressions(PACKAGE / file))


def test_mutants_that_compute_the_same_are_of_code_that_exists() -> None:
    """EQUIVALENT lists changes of code that change no result: file, old expression, new expression."""
    pytest.importorskip("resource", reason="mutants are not made on Windows")
    from mutants import EQUIVALENT

    gone = [(file, old) for file, old, _new in EQUIVALENT if old not in expressions_of(file)]
    assert gone == []


if __name__ == "__main__":
    for words, (pattern, most) in QUESTIONS.items():
        places = asking(pattern)
        print(*places, f"{len(places)} of {most} by {words}", "", sep="\n")
