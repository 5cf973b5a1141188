"""Lists the kernels that Python files launch, and finds types for which Triton compiles them.

Reads a JSON object per line from standard input, and prints one per line: for ``{"folder": …}`` the launched kernels of
each file, and for ``{"file": …, "repository": …, "kernels": […]}`` each of these kernels, as ``tilescript import --call``
reads it if tests of the repository launch it, and otherwise its types, and the kernel as ``tilescript import --types``
reads it. The types are guesses from how the kernel uses its parameters. While Triton rejects a kernel, one argument
after the other is changed, and each change is kept with which Triton gets further.
"""

import ast
import contextlib
import json
import math
import os
import re
import select
import signal
import sys
import textwrap
import time
import types
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
# PyTorch's compiler would look for a GPU in tests.
os.environ["TORCH_COMPILE_DISABLE"] = "1"

import torch  # noqa: E402
import triton.language as tl  # noqa: E402
from import_graph import source_folders, tests_of  # noqa: E402
from tilescript_worker import importing  # noqa: E402
from tilescript_worker.block_pointers import block_pointers  # noqa: E402
from tilescript_worker.call_sites import sites_in_file  # noqa: E402
from tilescript_worker.host import decorators_of, first_config  # noqa: E402
from tilescript_worker.importing import kernels_of, read_kernels  # noqa: E402
from tilescript_worker.recording import Recording, simulated_gpu  # noqa: E402
from tilescript_worker.ttir import Argument, ttir  # noqa: E402
from tilescript_worker.user_file import import_user_file  # noqa: E402
from triton._utils import canonicalize_dtype  # noqa: E402
from triton.compiler.errors import CompilationError  # noqa: E402
from triton.runtime.autotuner import Heuristics  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402

# Limits on the search for types of a kernel, and on a file.
MAX_SECONDS = 4.0
MAX_TRIALS = 50
FILE_SECONDS = 60
# Limit on the files of tests that are run for a file.
MAX_TESTS = 2

ACCESSES = {"load", "store", "make_block_ptr", "make_tensor_descriptor"}
HALF, SINGLE, INT, LONG, BOOL = "fp16", "fp32", "i32", "i64", "i1"
# Names of pointers by the dtype of their elements; float16 for all others. The first match counts.
POINTER_NAMES = (
    (r"mask(?!ed)", BOOL),
    (r"fp8", "fp8e4nv"),
    (r"lock|sem(aphore)?|sync|cu_|seq_?len|_lens?(_|$)|starts?(_|$)|ends?(_|$)|counts?(_|$)|count|table|qweight", INT),
    (r"qzeros|packed|num_|n_|offsets?", INT),
    (r"idx|ind(ex|ice)|(^|_)ids?(_|$)|_ids|labels?|target|slot|req|position|perm|loc(_|$)|token_to", LONG),
    (r"lse|mean|rstd|var|scales?|loss|delta|norm|max|sum|acc|stats|(^|_)dt|logsumexp|rms|absmax|code|cos|sin", SINGLE),
)
FLOAT_NAME = (
    r"eps|scal|alpha|beta|drop|momentum|(^|_)lr|factor|temperature|cap(_|$)|slope|theta|decay|^p$|prob|weight|"
    r"gamma|min_val|max_val|clip|limit|thresh|smooth|softcap|inv_|^std|value"
)
FLAG_NAME = r"^_?(is|has|use|allow|enable|even|no|with|do|need|apply|return|store|save|should)_|causal|varlen"
SMALL_CONSTANTS = (
    (r"stage", 2),
    (r"group.*m$|group_size_m|swizzle", 8),
    (r"split", 2),
    (r"bits", 4),
    (r"log", 6),
    (r"warps", 4),
    (r"dim|head_?size|^d$|block|^b[a-z]?$|tile|chunk|size", 64),
    (r"head|^h$|hq|num|^n_|groups?|ratio|top_?k|stride|nh", 4),
    (r"seed", 1),
)


# Reasons of Triton's that no types change: the kernel uses what this Triton, or this machine, does not have.
LACKING = (
    r"unexpected keyword argument|has no attribute|Cannot access global variable|Did you forget to add @triton\.jit"
)


class Uses(ast.NodeVisitor):
    """How a function uses its parameters."""

    def __init__(self, tree, globals_, depth=0):
        self.globals, self.depth = globals_, depth
        args = tree.args
        self.params = [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        # For each name, the parameters whose values it may hold, or whose addresses it may advance; leftmost first.
        self.roots = {name: (name,) for name in self.params}
        # For each name, the parameters from which its value was loaded.
        self.loaded = {}
        self.pointers, self.indices, self.conditions, self.dtypes, self.callees = {}, {}, {}, {}, {}
        self.compared, self.lengths, self.bits = {}, {}, {}
        self.locked, self.floats = {}, {}
        for _ in range(2):
            for each in tree.body:
                self.visit(each)

    def of(self, node):
        """The parameters that may be the base of an address."""
        match node:
            case ast.Name(id=name):
                return self.roots.get(name, ())
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return tuple(dict.fromkeys((*self.of(left), *self.of(right))))
            case ast.Subscript(value=value):
                return self.of(value)
            case ast.IfExp(body=body, orelse=orelse):
                return tuple(dict.fromkeys((*self.of(body), *self.of(orelse))))
            case ast.Call(func=ast.Attribute(attr="to" | "advance", value=ast.Name(id=owner)), args=args):
                return self.of(args[0]) if owner == "tl" and args else self.roots.get(owner, ())
            case ast.Call(func=ast.Attribute(attr="to", value=value)):
                return self.of(value)
            case ast.Call(
                func=ast.Attribute(attr="multiple_of" | "max_contiguous" | "where" | "cast"), args=[*_, first]
            ) if node.args:
                return self.of(first if node.func.attr == "where" else node.args[0])
            case ast.Call(func=ast.Attribute(attr="make_block_ptr" | "make_tensor_descriptor"), args=args):
                return self.base_of(self.address_of(node)) if args or node.keywords else ()
        return ()

    def base_of(self, node):
        """The parameter that is most likely the pointer of an address."""
        roots = self.of(node)
        named = [name for name in roots if re.search(r"ptr|pointer", name, re.IGNORECASE)]
        return tuple((named or roots)[:1])

    @staticmethod
    def address_of(call):
        named = [each.value for each in call.keywords if each.arg in ("pointer", "base")]
        return named[0] if named else call.args[0] if call.args else ast.Constant(None)

    def sources(self, node):
        """The parameters from which a value of the expression was loaded."""
        found = []
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                found += self.loaded.get(each.id, ())
            if isinstance(each, ast.Call) and getattr(each.func, "attr", "") == "load":
                found += self.base_of(self.address_of(each))
        return tuple(dict.fromkeys(found))

    def mark(self, kind, names, value=True):
        for name in names:
            kind.setdefault(name, []).append(value)

    def plain(self, node):
        """The parameter that the expression is, possibly with a dtype, a shape or a sign."""
        match node:
            case ast.Name(id=name) if name in self.params:
                return (name,)
            case ast.UnaryOp(operand=operand):
                return self.plain(operand)
        return ()

    def visit_Assign(self, node):
        self.generic_visit(node)
        for target in node.targets:
            self.bind(target, node.value)

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        if node.value is not None:
            self.bind(node.target, node.value)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        self.bind(node.target, ast.BinOp(left=ast.Name(id=getattr(node.target, "id", "")), op=node.op, right=node.value))

    def bind(self, target, value):
        if isinstance(target, ast.Name):
            self.roots[target.id] = tuple(dict.fromkeys((*self.roots.get(target.id, ()), *self.of(value))))
            is_computed = any(
                isinstance(each, ast.Call) and getattr(each.func, "attr", "") in ("dot", "sum", "exp", "log", "sqrt")
                for each in ast.walk(value)
            )
            if not is_computed:
                self.loaded[target.id] = self.sources(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for each, item in zip(target.elts, value.elts, strict=False):
                self.bind(each, item)

    def visit_If(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node):
        self.mark(self.locked, [])
        self.generic_visit(node)

    def condition(self, node):
        match node:
            case ast.BoolOp(values=values):
                for each in values:
                    self.condition(each)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.condition(operand)
            case ast.Name():
                self.mark(self.conditions, self.plain(node))

    def visit_Compare(self, node):
        for left, right in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if isinstance(right, ast.Constant):
                self.mark(self.compared, self.plain(left), right.value)
            if isinstance(right, ast.Attribute) and isinstance(right.value, ast.Name) and right.value.id == "tl":
                self.mark(self.dtypes, self.plain(left), right.attr)
            if isinstance(right, (ast.Tuple, ast.List)):
                for item in right.elts:
                    if isinstance(item, ast.Constant):
                        self.mark(self.compared, self.plain(left), item.value)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if isinstance(node.op, (ast.Mod, ast.FloorDiv, ast.LShift, ast.RShift, ast.BitXor)):
            self.mark(self.indices, (*self.sources(node.left), *self.sources(node.right)))
        self.generic_visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        attr = getattr(node.func, "attr", "")
        if attr in ACCESSES or attr.startswith("atomic_"):
            self.access(attr, node)
        if attr in ("arange", "zeros", "full", "range", "static_range"):
            for each in node.args:
                for item in ast.walk(each):
                    self.mark(self.lengths, self.plain(item))
        if (node.func.id if isinstance(node.func, ast.Name) else attr) in ("range", "static_range"):
            for each in node.args:
                self.mark(self.indices, self.sources(each))
        if attr in ("to", "zeros", "full", "cast"):
            for each in (node.args[-1:] if node.args else ()):
                self.mark(self.dtypes, self.plain(each) if attr != "cast" or len(node.args) > 1 else ())
        for each in node.keywords:
            if each.arg in ("dtype", "out_dtype", "element_ty"):
                self.mark(self.dtypes, self.plain(each.value))
            if each.arg == "input_precision":
                self.mark(self.compared, self.plain(each.value), "ieee")
            if each.arg in ("sem",):
                self.mark(self.compared, self.plain(each.value), "acq_rel")
        if isinstance(node.func, ast.Name):
            if node.func.id in self.params:
                self.mark(self.callees, [node.func.id])
            self.call_of(node, self.globals.get(node.func.id))

    def access(self, attr, node):
        address = self.address_of(node)
        self.mark(self.pointers, self.base_of(address))
        self.mark(self.indices, self.sources(address))
        if attr in ("atomic_cas", "atomic_xchg"):
            self.mark(self.locked, self.base_of(address))
        for each in node.keywords:
            if each.arg == "other" and is_float(each.value):
                self.mark(self.floats, self.base_of(address))

    def call_of(self, node, callee):
        """Takes over what a function of the file does with the arguments."""
        callee = getattr(callee, "fn", callee) if not isinstance(callee, JITFunction) else callee
        if not isinstance(callee, JITFunction) or self.depth > 4:
            return
        tree = function_tree(callee)
        inner = Uses(tree, callee.fn.__globals__, self.depth + 1)
        passed = {
            **dict(zip(inner.params, node.args, strict=False)),
            **{each.arg: each.value for each in node.keywords if each.arg},
        }
        for name, value in passed.items():
            if name in inner.pointers:
                self.mark(self.pointers, self.base_of(value))
            if name in inner.indices and name in inner.pointers:
                self.mark(self.indices, self.base_of(value))
            for mine, theirs in (
                (self.conditions, inner.conditions),
                (self.lengths, inner.lengths),
                (self.dtypes, inner.dtypes),
                (self.callees, inner.callees),
                (self.compared, inner.compared),
                (self.locked, inner.locked),
            ):
                for each in theirs.get(name, ()):
                    self.mark(mine, self.plain(value), each)


def is_float(node):
    """True for 0.5 and -float("inf"); padding 0.0 is usual for integers, too."""
    if isinstance(node, ast.UnaryOp):
        return is_float(node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "float"
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value != 0


def function_tree(kernel):
    return ast.parse(textwrap.dedent(kernel.src)).body[0]


def guesses_of(kernel, launch):
    """For each parameter without a default, possible arguments, the likeliest first."""
    uses = Uses(function_tree(kernel), kernel.fn.__globals__)
    configs = first_config(kernel)
    guesses = {}
    for param in kernel.params:
        name = param.name
        if name in configs:
            continue
        if param.is_constexpr:
            options = constants_for(name, uses, launch)
            if param.has_default:
                options = [param.default, *(each for each in options if each != param.default)]
            guesses[name] = [Argument("constant", value=each) for each in options]
        elif name in uses.pointers:
            passed = [canonicalize_dtype(each) for each in launch.get(name, ()) if isinstance(each, torch.dtype)]
            dtypes = dict.fromkeys([*passed, pointer_dtype(name, uses), HALF, SINGLE, INT, LONG, BOOL, "u8", "bf16", "i8"])
            guesses[name] = [*(Argument("pointer", each) for each in dtypes), Argument("scalar", INT)]
        else:
            guesses[name] = scalars_for(name, param, uses)
    computed = {}
    for each in decorators_of(kernel):
        if isinstance(each, Heuristics):
            computed |= each.values
    start = {name: options[0] for name, options in guesses.items()}
    for name, heuristic in computed.items():
        with contextlib.suppress(Exception):
            value = heuristic({each: example(argument) for each, argument in start.items()} | configs)
            guesses[name] = [Argument("constant", value=value), *guesses[name]]
    return guesses, configs


def example(argument):
    return torch.empty(16, 16, device="meta") if argument.kind == "pointer" else argument.value or 64


def pointer_dtype(name, uses):
    lower = name.lower()
    if name in uses.locked:
        return INT
    if name in uses.floats:
        return SINGLE if re.search(r"fp32|float32", lower) else HALF
    named = next((dtype for pattern, dtype in POINTER_NAMES if re.search(pattern, lower)), None)
    if name in uses.indices:
        return named if named in (INT, LONG) else INT
    return named or HALF


def scalars_for(name, param, uses):
    lower = name.lower()
    kinds = [Argument("scalar", INT), Argument("scalar", SINGLE), Argument("scalar", BOOL), Argument("pointer", HALF)]
    kinds += [Argument("pointer", SINGLE), Argument("pointer", INT), Argument("scalar", LONG)]
    is_float = re.search(FLOAT_NAME, lower) and name not in uses.lengths and not re.search("stride|size|num|ptr", lower)
    first = 1 if is_float or (param.has_default and isinstance(param.default, float)) else 0
    if name in uses.conditions and name not in uses.compared and first == 0 and not re.search("stride|num|len", lower):
        first = 2
    if re.search("_ptrs?$|pointer", lower):
        first = 3
    return [kinds[first], *(each for i, each in enumerate(kinds) if i != first)]


def constants_for(name, uses, launch):
    lower = name.lower()
    options = [each for each in launch.get(name, ()) if not isinstance(each, torch.dtype)]
    strings = [each for each in uses.compared.get(name, ()) if isinstance(each, str)]
    numbers = [each for each in uses.compared.get(name, ()) if type(each) is int]
    if strings:
        options += [*strings, *numbers]
    elif name in uses.dtypes or "dtype" in lower:
        named = [getattr(tl, each) for each in uses.dtypes.get(name, ()) if isinstance(each, str) and hasattr(tl, each)]
        options += [*named, tl.float16, tl.float32, tl.int32, tl.bfloat16, tl.int64]
    elif (name in uses.conditions or re.search(FLAG_NAME, lower)) and name not in uses.lengths:
        options += [True, False, *numbers]
    elif re.search("(^|_)(mode|type)", lower):
        options += [*numbers, 0, 1]
    elif re.search(FLOAT_NAME, lower) and name not in uses.lengths and not re.search("size|block|num|group|stride", lower):
        options += [0.5, 1.0, 1]
    elif any(type(each) is bool for each in uses.compared.get(name, ())):
        options += [True, False]
    elif name in uses.lengths:
        options += [next((value for pattern, value in SMALL_CONSTANTS if re.search(pattern, lower)), 64)]
    else:
        small = next((value for pattern, value in SMALL_CONSTANTS if re.search(pattern, lower)), 64)
        options += [*numbers[:1], small]
    options += [64, 16, 128, 32, 2, 4, 8, 1, *numbers, True, False, None, "ieee"]
    return list(unique(options))


def unique(values):
    seen = set()
    for each in values:
        key = (type(each).__name__, str(each))
        if key not in seen:
            seen.add(key)
            yield each


def progress(kernel, arguments):
    """The lines, from the kernel's to the innermost function's, that Triton rejects; infinite if it compiles."""
    full = {}
    for param in kernel.params:
        full[param.name] = arguments.get(param.name) or Argument("constant", value=param.default)
    try:
        ttir(kernel, full)
    except Exception as error:
        lines = []
        while error is not None:
            line = getattr(getattr(error, "node", None), "lineno", None)
            if isinstance(error, CompilationError) and line is not None:
                lines.append(float(line))
            last, error = error, error.__cause__
        text = [each for each in str(last).strip().splitlines() if each.strip() not in ("", "^")]
        return lines, f"{type(last).__name__}: {text[-1].strip() if text else ''}"
    return [math.inf], ""


def types_of(kernel, launch):
    """The arguments, or why Triton does not compile the kernel. The floats are first as guessed, then all alike."""
    guesses, configs = guesses_of(kernel, launch)
    first_reason = ""
    for dtype in (None, HALF, SINGLE):
        alike = {name: in_dtype(options, dtype) for name, options in guesses.items()}
        types, reason = search(kernel, alike, configs)
        if types is not None:
            return types, ""
        first_reason = first_reason or reason
    return None, first_reason


def in_dtype(options, dtype):
    """The same arguments, with this dtype first if the first one is a pointer to floats."""
    is_float = dtype is not None and options[0].kind == "pointer" and options[0].dtype in (HALF, SINGLE)
    first = Argument("pointer", dtype) if is_float else options[0]
    return [first, *(each for each in options if each != first)]


def search(kernel, guesses, configs):
    end = time.monotonic() + MAX_SECONDS
    current = {name: options[0] for name, options in guesses.items()}
    whole = lambda: {**{name: Argument("constant", value=value) for name, value in configs.items()}, **current}  # noqa: E731
    reached, reason = progress(kernel, whole())
    trials = 1
    lines = kernel.src.splitlines()
    rounds = 0
    while reached != [math.inf] and rounds < 12:
        rounds += 1
        named = names_at(lines, reached, guesses)
        changed = False
        for name in named:
            for option in guesses[name][1:]:
                if time.monotonic() > end or trials >= MAX_TRIALS:
                    return None, reason
                before, current[name] = current[name], option
                trials += 1
                further, why = progress(kernel, whole())
                if further > reached:
                    reached, reason, changed = further, why, True
                    break
                current[name] = before
            if changed:
                break
        if not changed:
            return None, reason
    if reached != [math.inf]:
        return None, reason
    defaults = {param.name: param.default for param in kernel.params if param.has_default}
    given = {
        name: argument
        for name, argument in current.items()
        if not (argument.kind == "constant" and name in defaults and defaults[name] is argument.value)
    }
    if any(text_of(name, argument) is None for name, argument in given.items()):
        return None, "a constant without a notation"
    return given, ""


def names_at(lines, reached, guesses):
    """The parameters to change: those of the rejected line, then those of the lines before it, then all."""
    at = int(reached[0]) if reached and math.isfinite(reached[0]) else len(lines)
    wanted = []
    names_seen = set(re.findall(r"\w+", lines[at - 1] if 0 < at <= len(lines) else ""))
    for line in reversed(lines[: at - 1]):
        target = re.match(r"\s*(\w+)\s*[-+*/]?=", line)
        if target and target[1] in names_seen:
            names_seen |= set(re.findall(r"\w+", line))
    direct = set(re.findall(r"\w+", lines[at - 1] if 0 < at <= len(lines) else ""))
    wanted = [name for name in guesses if name in direct]
    wanted += [name for name in guesses if name in names_seen and name not in wanted]
    return wanted + [name for name in guesses if name not in wanted]


def text_of(name, argument):
    if argument.kind in ("pointer", "scalar"):
        return f"{name}:{argument.type}"
    value = argument.value
    if isinstance(value, str):
        return f'{name}="{value}"'
    if isinstance(value, (bool, int, float)) or value is None:
        return f"{name}={value}"
    return f"{name}={value}" if isinstance(value, tl.dtype) else None


def launched_values(file, kernel):
    """What the launches of a kernel in its file pass: constants, and the dtypes of tensors."""
    found = {}
    for site in sites_in_file(file, kernel.__name__, list(kernel.arg_names)):
        for name in kernel.arg_names:
            for step in reversed(site.argument_steps(name)):
                found.setdefault(name, []).extend(values_of(step, kernel.fn.__globals__))
    return found


# Methods that convert a tensor, by the dtype of the result.
CONVERSIONS = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16, "int": torch.int32}
CONVERSIONS |= {"long": torch.int64, "bool": torch.bool, "double": torch.float64}
FACTORY = r"^(new_)?(empty|zeros|ones|full|arange|tensor|rand|randn|randint|empty_strided)(_like)?$|^to$"


def values_of(node, globals_):
    """The values of an expression without variables of a function; the dtype of a tensor that it makes."""
    if isinstance(node, ast.IfExp):
        return [*values_of(node.body, globals_), *values_of(node.orelse, globals_)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in CONVERSIONS:
            return [CONVERSIONS[node.func.attr]]
        dtypes = [each.value for each in node.keywords if each.arg == "dtype"]
        dtypes += node.args if node.func.attr == "to" else []
        if re.search(FACTORY, node.func.attr):
            return [value for each in dtypes for value in values_of(each, globals_) if isinstance(value, torch.dtype)]
    if any(isinstance(each, ast.Call) for each in ast.walk(node)):
        return []
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), dict(globals_))
    except Exception:
        return []
    value = getattr(value, "value", value)
    return [value] if isinstance(value, (bool, int, float, str, tl.dtype, torch.dtype)) or value is None else []


def launched_in(text):
    """The jit functions of the file that it launches itself."""
    tree = ast.parse(text)
    kernels = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(re.search(r"^(triton\.)?jit\b", ast.unparse(each)) for each in node.decorator_list)
    }
    launched = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in kernels
    }
    return [node.name for node in tree.body if getattr(node, "name", None) in launched]


def listing(folder):
    files = {}
    for path in sorted(Path(folder).rglob("*.py")):
        text = path.read_text(encoding="utf8", errors="replace")
        if "jit" in text and "[" in text:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError):
                kernels = launched_in(text)
                if kernels:
                    files[str(path)] = kernels
    return files


def read_file(file, names, way):
    """The types of the kernels of a file."""
    with block_pointers():
        with simulated_gpu(Recording()):
            module = import_statements(file) if way == WAYS[-1] else import_user_file(file)
        kernels = kernels_of(module, os.path.realpath(file))
        result = {}
        for name in names:
            kernel = kernels.get(name)
            if kernel is None:
                result[name] = {"refused": "the imported file has no such kernel", "absent": True, "lacks": True}
                continue
            try:
                types, reason = types_of(kernel, launched_values(file, kernel))
            except Exception as error:
                types, reason = None, f"{type(error).__name__}: {error}"
            if types is None:
                result[name] = {"refused": reason, "lacks": re.search(LACKING, reason) is not None}
                continue
            signature = {each: argument_json(argument) for each, argument in types.items()}
            with mock.patch.object(importing, "import_user_file", lambda _: module):
                read = read_kernels({"file": file, "kernels": [name], "types": signature})["kernels"][0]
            result[name] = {"types": ",".join(text_of(*each) for each in types.items()), "read": read}
    return {"kernels": result}


def read_by_tests(file, repository, kernels, tests):
    """The kernels of a file that tests of its repository launch."""
    os.chdir(repository)
    os.environ["TESTS"] = "\n".join(tests)
    sys.path[:0] = source_folders(repository)
    script = str(Path(__file__).resolve().parent / "run_tests.py")
    read = read_kernels({"file": file, "kernels": kernels, "call": script})
    from sitecustomize import Placeholder

    return {
        "kernels": {each["name"]: {"recorded": True, "read": each} for each in read["kernels"] if "refused" not in each},
        "placeholders": any(isinstance(each, Placeholder) for each in sys.modules.values()),
    }


def argument_json(argument):
    """An argument as requests of the worker have it."""
    if argument.kind != "constant":
        return {"kind": argument.kind, "dtype": argument.dtype}
    value = argument.value
    if isinstance(value, tl.dtype):
        return {"kind": "constant", "value": {"what": "dtype", "dtype": str(value)}}
    return {"kind": "constant", "value": {"what": "constant", "of": type(value).__name__, "value": value}}


def import_statements(path):
    """Imports a file whose top-level code fails: each statement alone. Names of failed ones are placeholders."""
    from sitecustomize import Placeholder

    folder, names = os.path.dirname(path), [Path(path).stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        names.insert(0, package)
    sys.path[:0] = [os.path.dirname(path), folder]
    for depth in range(1, len(names)):
        package = types.ModuleType(".".join(names[:depth]))
        package.__path__ = [os.path.join(folder, *names[:depth])]
        sys.modules.setdefault(package.__name__, package)
    module = sys.modules[".".join(names)] = types.ModuleType(".".join(names))
    module.__file__, module.__package__ = path, ".".join(names[:-1])
    for statement in ast.parse(Path(path).read_text(encoding="utf8", errors="replace")).body:
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = [each for each in statement.decorator_list if has_value(each, module.__dict__)]
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), module.__dict__)
        except Exception:
            for name in names_bound_by(statement):
                module.__dict__.setdefault(name, Placeholder(name))
    return module


def has_value(expression, globals_):
    """False if an expression raises, as configs that come from a package which is not installed."""
    try:
        eval(compile(ast.Expression(expression), "", "eval"), globals_)
    except Exception:
        return False
    return True


def names_bound_by(statement):
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


# Ways to import a file, each for the files that the one before it cannot import.
WAYS = ("as it is", "with placeholders", "by statements")
BY_TESTS = "by tests"


def in_fork(request):
    """Each file is read in its own process, because imported modules stay loaded."""
    tests = tests_of(request["repository"], request["file"], MAX_TESTS)
    recorded = forked({**request, "tests": tests}, BY_TESTS) if tests else {}
    recorded_kernels = recorded.get("kernels", {})
    names = [name for name in request["kernels"] if name not in recorded_kernels]
    answer = types_in_fork({**request, "kernels": names}) if names else recorded
    return {**answer, "kernels": {**recorded_kernels, **answer["kernels"]}} if "kernels" in answer else answer


def types_in_fork(request):
    for way in WAYS:
        answer = forked(request, way)
        if "kernels" in answer and (way == WAYS[-1] or not all("absent" in each for each in answer["kernels"].values())):
            return {**answer, "placeholders": way != WAYS[0]}
    return answer


def forked(request, way):
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            if way != WAYS[0]:
                sys.path.insert(0, str(Path(__file__).resolve().parent / "absent-packages"))
                sys.modules.pop("sitecustomize", None)
                __import__("sitecustomize")
                sys.path.pop(0)
            answer = read_by_tests(**request) if way == BY_TESTS else read_file(request["file"], request["kernels"], way)
        except BaseException as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:300]}
        with os.fdopen(sender, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(sender)
    chunks, end = [], time.monotonic() + FILE_SECONDS
    with os.fdopen(receiver, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            chunk = pipe.read(1 << 16) if ready else None
            if not chunk:
                break
            chunks.append(chunk)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = b"".join(chunks)
    try:
        return json.loads(text)
    except ValueError:
        return {"failed": f"no answer within {FILE_SECONDS} s" if not text else "the process ended"}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"files": listing(request["folder"])} if "folder" in request else in_fork(request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
