"""Leaves out, one by one, what the checks of emitted modules refuse, and says where no test fails then.

A mutant is one `raise` of one helper function, replaced by `pass` in every module that has the helper. The arguments
PART and PARTS choose every so manieth mutant.
"""

import ast
import os
import sys
import types
import unittest

import arguments
import wrappers

MODULES = [
    module
    for module in {**vars(arguments), **vars(wrappers)}.values()
    if isinstance(module, types.ModuleType) and hasattr(module, "kernel_fn")
]


def helpers(module):
    """The helper functions of a module that refuse something, by name."""
    with open(module.__file__) as file:
        body = ast.parse(file.read()).body
    private = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("_")]
    return {node.name: node for node in private if raises(node)}


def raises(function):
    """What a function raises, without what it catches itself."""
    caught = [node for each in ast.walk(function) if isinstance(each, ast.Try) for part in each.body for node in ast.walk(part)]
    return [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node not in caught]


class Without(ast.NodeTransformer):
    """Replaces the raise of this line."""

    def __init__(self, line):
        self.line = line

    def visit_Raise(self, node):
        return ast.copy_location(ast.Pass(), node) if node.lineno == self.line else node


def mutate(module, name, index):
    """Leaves out one raise, for whoever holds the helper already too; returns the code as it was."""
    helper = vars(module)[name]
    known = helper.__code__
    function = helpers(module)[name]
    mutant = Without(raises(function)[index].lineno).visit(function)
    found = {}
    exec(compile(ast.Module([mutant], []), f"{name} of {module.__name__}", "exec"), vars(module), found)
    helper.__code__ = found[name].__code__
    return helper, known


def fails():
    """Whether one of the tests fails, in a process of its own: wrappers remember launches and what was tuned."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite([loader.loadTestsFromModule(each) for each in (arguments, wrappers)])
    result = unittest.TestResult()
    result.failfast = True
    suite.run(result)
    os._exit(0 if result.wasSuccessful() else 1)


if fails():
    sys.exit("the tests fail without a mutant")
found = {(name, i) for module in MODULES for name, node in helpers(module).items() for i in range(len(raises(node)))}
survivors = []
part, parts = map(int, sys.argv[1:])
for name, index in sorted(found)[part::parts]:
    having = [module for module in MODULES if len(raises(helpers(module).get(name, ast.Pass()))) > index]
    known = [mutate(module, name, index) for module in having]
    if not fails():
        line = raises(helpers(having[0])[name])[index]
        survivors.append(f"{name}: {ast.unparse(line)}")
    for helper, code in known:
        helper.__code__ = code
if fails():
    sys.exit("the tests fail although no mutant is left")
print(f"{len(found)} mutants", *survivors, sep="\n", file=sys.stderr)
