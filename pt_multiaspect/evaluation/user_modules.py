"""The modules of a user that code refers to, found without importing anything."""

from __future__ import annotations

import ast
import builtins
import dis
import hashlib
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, all_suffixes
from pathlib import Path
from types import CodeType, ModuleType

__all__ = ["attributes_in", "imported_in", "is_installed", "sources", "version_of"]

_PACKAGE = __name__.partition(".")[0]

#: Functions that import the modules whose names they are given.
_IMPORTING = {"import_module", "__import__"}

#: The content of modules when it was first read, by name, and the module that it was read for.
_first: dict[str, tuple[ModuleSpec | None, bytes]] = {}


@cache
def is_installed(module: str) -> bool:
    """Whether a loaded module is part of Python or of an installed package, whose versions tell code apart."""
    if module.partition(".")[0] == _PACKAGE or module == builtins.__name__:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or file is None:  # a script or notebook, whatever runs it
        return module in sys.builtin_module_names
    return _place_of(file) != "user"


@cache
def version_of(package: str) -> str:
    """Return what tells the versions of an installed package apart, without importing it.

    Parameters
    ----------
    package : str
        The name that is imported, such as ``sklearn``.

    Returns
    -------
    str
        The names and versions of the distributions that install it, as in ``scikit-learn 1.6.0``; where none says
        so, a digest of its code. Empty for modules of Python and packages that are not installed.
    """
    if package in sys.stdlib_module_names:
        return ""
    return ", ".join(_distributions().get(package, ())) or _digest_of_code(package)


@cache
def _distributions() -> dict[str, list[str]]:
    """Return the names and versions of the distributions that install each top-level module.

    `importlib.metadata.packages_distributions` is not used: in Python 3.10 it knows only those with a file
    top_level.txt, which few write, and it fails if one distribution is broken.
    """
    from importlib.metadata import distributions

    found: dict[str, set[str]] = {}
    for each in distributions():
        try:
            name, version = (each.metadata[key] for key in ("Name", "Version"))
            # Not each.files, which is slow.
            paths = [line.partition(",")[0] for line in (each.read_text("RECORD") or "").splitlines()]
            modules = (each.read_text("top_level.txt") or "").split()
            modules += {path.partition("/")[0] for path in paths if path.endswith(tuple(all_suffixes()))}
        except Exception:  # without metadata, as an installation that was interrupted leaves it
            continue
        if name and version:
            for module in modules:
                found.setdefault(module.partition(".")[0], set()).add(f"{name} {version}")
    return {module: sorted(versions) for module, versions in found.items()}


def _digest_of_code(package: str) -> str:
    """Return a digest of the modules of a package, empty if there are none."""
    spec = _spec_of(package)
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in all_suffixes()]
    if not folders and spec.has_location and spec.origin is not None:
        files = [Path(spec.origin)]
    # By content only: where it is installed changes nothing.
    contents = sorted(hashlib.sha256(file.read_bytes()).digest() for file in files if file.is_file())
    return hashlib.sha256(b"".join(contents)).hexdigest() if contents else ""


@cache
def _place_of(file: str) -> str:
    """Whether a file belongs to 'Python', a 'package' that is installed, or the 'user'."""
    folders = Path(file).resolve().parents
    # Not packages that are installed in editable form: their code changes, but not their version.
    if any(folder.name in ("site-packages", "dist-packages") for folder in folders):
        return "package"
    places = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    return "Python" if places.intersection(folders) else "user"


def sources(names: Iterable[str]) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    """Return the content of modules of a user and of all that they import, directly or not.

    Parameters
    ----------
    names : iterable of str
        Modules, loaded or not. Names that are no modules are ignored.

    Returns
    -------
    contents : dict of str to list of bytes
        The content of each module of the user. If a file has changed since its module was loaded, which code is run
        is uncertain: the content from before is added to that of now.
    versions : dict of str to str
        The versions of the installed packages that they import; see `version_of`.
    """
    contents: dict[str, list[bytes]] = {}
    versions: dict[str, str] = {}
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop()
        top = name.partition(".")[0]
        if name in seen or top == _PACKAGE or name == "__main__":
            continue
        seen.add(name)
        file = _file_of(name)
        if file is None:
            continue
        place = _place_of(file)
        if place == "package":
            versions[top] = version_of(top)
        elif place == "user":
            contents[name] = _contents(name, file)
            package = name if Path(file).stem == "__init__" else name.rpartition(".")[0]
            waiting += _imported_by(contents[name][-1], package)
    return contents, versions


def _file_of(name: str) -> str | None:
    """Return the file of a module, None if there is none."""
    module = sys.modules.get(name)
    if isinstance(module, ModuleType):
        return getattr(module, "__file__", None)
    spec = _spec_of(name)
    return spec.origin if spec is not None and spec.has_location else None


def _spec_of(name: str) -> ModuleSpec | None:
    """Find a module as an import would, but without importing the packages that it is in."""
    path, found = None, None
    for end in [match.start() for match in re.finditer(r"\.|$", name)]:
        loaded = sys.modules.get(name[:end])
        found = getattr(loaded, "__spec__", None) or _found(name[:end], path)
        if found is None:
            return None
        path = list(found.submodule_search_locations or ())
    return found


def _found(name: str, path: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path)
        except Exception:  # finders are anybody's code
            continue
        if spec is not None:
            return spec
    return None


def _contents(name: str, file: str) -> list[bytes]:
    try:
        now = Path(file).read_bytes()
    except OSError:  # a module in an archive, or whose file is gone
        now = b""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    of, before = _first.get(name, (spec, now))
    if of is not None and of is not spec:  # it was loaded again since
        before = now
    _first[name] = (spec, before)
    return [now] if now == before else [before, now]


@lru_cache(maxsize=256)
def _imported_by(content: bytes, package: str) -> tuple[str, ...]:
    """Return the modules that the source of a module may import."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's code, which an import gives
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):  # a compiled module
        return ()
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += (name for alias in node.names for name in _candidates("", 0, alias.name, ()))
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            found += _candidates(package, node.level, node.module or "", names)
        elif isinstance(node, ast.Call) and _name_of(node.func) in _IMPORTING:
            found += _in_constants(getattr(each, "value", None) for each in node.args)
    return tuple(found)


def _name_of(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))


def imported_in(code: CodeType, package: str) -> list[str]:
    """Return the modules that a function may import when it is called.

    Parameters
    ----------
    code : code
        The code of the function. Functions that are defined in it count, too.
    package : str
        The package that relative imports are relative to.

    Returns
    -------
    list of str
        Their names, and names that may be those of modules.
    """
    found: list[str] = []
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
    for place, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, names = (steps[place - before].argval for before in (2, 1))
            found += _candidates(package, level, step.argval, names or ())
    if _IMPORTING.intersection(code.co_names):
        found += _in_constants(code.co_consts)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found += imported_in(inner, package)
    return found


def _candidates(package: str, level: int, name: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the modules that ``from ..name import names`` may import: packages, the module, and what is in it."""
    if level:
        parts = package.split(".")
        name = ".".join([*parts[: len(parts) - level + 1], *filter(None, [name])])
    yield from (name[: match.start()] for match in re.finditer(r"\.|$", name))
    yield from (f"{name}.{each}" for each in names if each != "*")


def _in_constants(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str) and re.fullmatch(r"\w+(\.\w+)*", value)]


def attributes_in(code: CodeType) -> list[tuple[str, ...]]:
    """Return the attributes that a function looks up of names: ``("helpers", "f")`` for ``helpers.f``.

    Parameters
    ----------
    code : code
        The code of the function. Functions that are defined in it count, too.

    Returns
    -------
    list of tuple of str
        Sorted, each once.
    """
    found: set[tuple[str, ...]] = set()
    path: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            path = (str(step.argval),)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path = (*path, str(step.argval))
            found.add(path)
        elif step.opname not in ("EXTENDED_ARG", "CACHE"):
            path = ()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found.update(attributes_in(inner))
    return sorted(found)
