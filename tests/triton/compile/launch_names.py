"""Prints the names that a launch of the installed Triton takes for itself, as a JSON list."""

import dataclasses
import inspect
import json
import re

from triton.backends.amd.compiler import HIPOptions
from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime import jit
from triton.runtime.autotuner import Autotuner, Config, Heuristics

names = {field.name for options in (CUDAOptions, HIPOptions) for field in dataclasses.fields(options)}
for function in (jit.JITFunction.run, Autotuner.run, Autotuner._bench, Heuristics.run, jit.KernelInterface.warmup):
    parameters = inspect.signature(function).parameters.values()
    names |= {each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
names |= set(inspect.signature(Config.__init__).parameters)
# Options that were dropped, and those that a launch sets.
names |= set(re.findall(r'assert "(\w+)" not in kwargs', inspect.getsource(jit)))
names |= set(re.findall(r'kwargs\["(\w+)"\]', inspect.getsource(jit.JITFunction.run)))
# The generated function that binds arguments: what it assigns, takes and finds in its namespace.
binder = inspect.getsource(jit.create_function_from_signature)
body = binder.split('func_body = f"""')[1].split('"""')[0]
names |= set(re.findall(r"^    (\w+) =", body, re.MULTILINE)) | set(re.findall(r"\*\*(\w+)", binder))
names |= set(re.findall(r'func_namespace\["(\w+)"\]', binder))
print(json.dumps(sorted(name for name in names if name == name.lower())))
