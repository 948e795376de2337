"""The house rules that no linter knows: heads of files, lengths of files, functions and lines."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 700
LINE_LENGTH_MAX = 100

LONG_FILES = {
    "tests/cpp/test_columns.cc": "one test per operator and type of the predicate programs",
    "tests/python/test_oracle.py": "one case per construct of the language",
}


def tracked(*endings: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(endings)]


SOURCES = tracked(".py", ".pyx", ".pyi", ".h", ".cc", ".lark")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_file_says_what_it_is_and_is_not_too_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    heads = ('"""', "//", "# ") if path.suffix != ".cc" else ('"""', "//", "#include")
    assert lines and lines[0].startswith(heads), "the first line says what the file is"
    assert len(lines) <= FILE_LINES_MAX or name_of(path) in LONG_FILES
    long = [i for i, line in enumerate(lines, 1) if len(line) > LINE_LENGTH_MAX]
    assert not long or path.suffix == ".lark", f"lines {long} are too long"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".py"], ids=name_of)
def test_python_functions_are_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix in (".cc", ".h")], ids=name_of)
def test_cpp_functions_are_short(path: Path) -> None:
    """A function's body ends with a brace at the indentation of its first line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if re.match(r"[A-Za-z].*\) (const )?(noexcept )?\{$", line):
            opened = number
        if line == "}" and opened is not None:
            assert number - opened <= FUNCTION_LINES_MAX, f"{lines[opened]} is too long"
            opened = None


def test_folders_include_only_folders_above_them() -> None:
    order = ["base", "columns", "automaton", "matches", "engine", "algebra"]
    for path in tracked(".h", ".cc"):
        folder = path.parent.name
        if path.parent.parent.name != "cpp" or folder not in order:
            continue
        for included in re.findall(r'#include "(\w+)/', path.read_text(encoding="utf-8")):
            assert order.index(included) <= order.index(folder), f"{name_of(path)}: {included}"


def test_the_package_prints_only_where_it_should() -> None:
    allowed = {"cli.py", "progress.py", "report.py", "bench_report.py"}
    for path in (ROOT / "python").rglob("*.py"):
        if path.name not in allowed:
            code = re.sub(r'"""(.|\n)*?"""', "", path.read_text(encoding="utf-8"))
            assert not re.search(r"(?<!\w)print\(", code), name_of(path)
