"""Finds the tests of a repository that import a file, directly or through other files."""

import ast
import contextlib
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

TEST_NAME = r"^test_.*\.py$|_test\.py$"
# Folders of a repository that tests find modules in, besides its own.
SOURCE_FOLDERS = ("src", "python")


def tests_of(repository, file, most):
    """The tests that import a file: those with words of its path in their names first, then those with fewer imports."""
    importers = importers_in(repository)
    reached = [file]
    for path in reached:
        reached += sorted(importers[path] - set(reached))
    words = words_of(os.path.relpath(file, repository))
    tests = [path for path in reached[1:] if re.search(TEST_NAME, os.path.basename(path))]
    return sorted(tests, key=lambda path: -len(words & words_of(os.path.basename(path))))[:most]


def words_of(path):
    return set(re.findall("[a-z0-9]+", path.removesuffix(".py").lower()))


def source_folders(repository):
    return [repository, *(os.path.join(repository, each) for each in SOURCE_FOLDERS)]


@cache
def importers_in(repository):
    """For each file of a repository, the files that import it."""
    files = [str(path) for path in Path(repository).rglob("*.py")]
    by_name = {}
    for path in files:
        for folder in (package_folder(path), *source_folders(repository)):
            if path.startswith(f"{folder}{os.sep}"):
                by_name.setdefault(module_name(path, folder), path)
    importers = defaultdict(set)
    for path in files:
        for name in imports_of(path):
            if name in by_name:
                importers[by_name[name]].add(path)
    return importers


def package_folder(path):
    """The folder that contains the outermost package of a file."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def module_name(path, folder):
    return os.path.relpath(path, folder).removesuffix(".py").removesuffix("/__init__").replace(os.sep, ".")


def imports_of(path):
    """The names of the modules that a file imports, and of members that may be modules."""
    tree = ast.Module([], [])
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        tree = ast.parse(Path(path).read_text(encoding="utf8", errors="replace"))
    package = module_name(path, package_folder(path)).split(".")
    package = package if os.path.basename(path) == "__init__.py" else package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = [*(package[: len(package) - node.level + 1] if node.level else ()), *(node.module or "").split(".")]
            module = ".".join(each for each in parts if each)
            yield from (module, *(f"{module}.{each.name}" for each in node.names))
