#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when our Python is not as it should be.

  everywhere     it compiles; lines of at most 120 characters without blanks at their ends; the licence and a
                 docstring at the top; nothing is imported for nothing
  the command's  nothing that is newer than Python 3.7; functions of at most 40 lines; the standard library only,
                 but for what OTHERS says
"""
import ast
import os
import sys

TOP = os.environ.get("FS_SRCDIR", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.path.join("libfastsched", "tools", "python")
LONGEST_LINE, LONGEST_FUNCTION = 120, 40
LIBRARY = {
    "argparse", "array", "bisect", "collections", "dataclasses", "fnmatch", "json", "os", "re", "shlex", "shutil",
    "signal", "statistics", "struct", "subprocess", "sys", "time",
}
# What a file may need besides: it says so where it is not there.
OTHERS = {os.path.join(COMMAND, "fastsched", "trace", "otf2_archive.py"): {"otf2", "_otf2"}}


def check_text(lines):
    if not any("SPDX-License-Identifier: BSD-3-Clause" in line for line in lines[:2]):
        yield 1, "no licence"
    for k, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            yield k, f"longer than {LONGEST_LINE} characters"
        if line != line.rstrip():
            yield k, "blanks at the end"


def check_imports(tree, lines):
    """A name that is imported and not used, unless a comment says what it is for."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        for name in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if (name.asname or name.name).split(".")[0] not in used and "#" not in lines[node.lineno - 1]:
                yield node.lineno, f"{name.name} is imported for nothing"


def check_command(tree, others):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= LONGEST_FUNCTION:
            yield node.lineno, f"{node.name}() has more than {LONGEST_FUNCTION} lines"
        modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module]
        for module in modules:
            if module.split(".")[0] not in LIBRARY | others | {"fastsched"}:
                yield node.lineno, f"{module}: is it in every Python's standard library?"


def check(path):
    """Yield (line, what is wrong)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    name = os.path.relpath(path, TOP)
    is_command = name.startswith(COMMAND)
    yield from check_text(lines)
    try:
        compile(text, path, "exec")
        tree = ast.parse(text, path, feature_version=(3, 7) if is_command else None)
    except SyntaxError as error:
        yield error.lineno, error.msg
        return
    if ast.get_docstring(tree) is None:
        yield 1, "no docstring"
    yield from check_imports(tree, lines)
    if is_command:
        yield from check_command(tree, OTHERS.get(name, set()))


def files():
    for top in (COMMAND, "tests"):
        for where, _, names in os.walk(os.path.join(TOP, top)):
            yield from (os.path.join(where, name) for name in sorted(names) if name.endswith(".py"))


def main():
    wrong = [f"{os.path.relpath(path, TOP)}:{line}: {why}" for path in files() for line, why in check(path)]
    print("\n".join(wrong) or "check_python: ok")
    return len(wrong) > 0


sys.exit(main())
