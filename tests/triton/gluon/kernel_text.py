"""What of an emitted module the emulator runs. It needs nothing but Python."""

from __future__ import annotations

import ast


def kernel_text(module: str) -> ast.Module:
    """The functions for the GPU as they stand in the module, without decorators, and the names of copies."""
    kept: list[ast.stmt] = []
    for node in ast.parse(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id in ("_load_block", "_store_block"):
                kept.append(node)
        if isinstance(node, ast.FunctionDef):
            if any(ast.unparse(each) == "gluon.jit" for each in node.decorator_list):
                node.decorator_list = []
                kept.append(node)
    return ast.Module(kept, [])


def with_carried(text: ast.Module) -> ast.Module:
    """The same with what loops count made a number of the GPU, as Gluon makes it: it divides as C does."""
    for function in text.body:
        counted = {
            node.target.id
            for node in ast.walk(function)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
                continue
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id in counted:
                node.value = ast.Call(ast.Name("_carried", ast.Load()), [node.value], [])
    return ast.fix_missing_locations(text)
