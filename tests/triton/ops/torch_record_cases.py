"""Computes torch expressions, which it is given as data, and says what PyTorch gives.

Reads JSON lines {"id", "node", "inputs"} from the file named first and writes one JSON object, id to answer, to the second.
An answer is {"results": [{"shape", "data", "dtype"}], "shares", "number"}, or {"error"} where PyTorch refuses.
"""

import json
import operator
import sys

import torch

OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floorDiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def tensor(given):
    data = [float(x) for x in given["data"]]
    return torch.tensor(data, dtype=torch.float64).to(getattr(torch, given["dtype"])).reshape(given["shape"])


def value(node, inputs):
    if isinstance(node, list):
        return [value(item, inputs) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node["kind"]
    if kind == "input":
        return inputs[node["name"]]
    if kind == "dtype":
        return getattr(torch, node["name"])
    if kind == "attribute":
        return getattr(value(node["of"], inputs), node["name"])
    if kind == "item":
        return value(node["of"], inputs)[node["index"]]
    if kind == "choice":
        return value(node["then" if value(node["condition"], inputs) else "otherwise"], inputs)
    args = [value(arg, inputs) for arg in node["args"]]
    if kind in ("arithmetic", "comparison"):
        return OPERATORS[node["operator"]](*args)
    keywords = {name: value(arg, inputs) for name, arg in node["keywords"].items()}
    if kind == "method":
        return getattr(args[0], node["name"])(*args[1:], **keywords)
    function = torch
    for part in node["name"].split("."):
        function = getattr(function, part)
    return function(*args, **keywords)


def described(result):
    data = [repr(float(x)) for x in result.flatten().tolist()]
    return {"shape": list(result.shape), "data": data, "dtype": str(result.dtype).removeprefix("torch.")}


def answer(case):
    inputs = {name: tensor(given) for name, given in case["inputs"].items()}
    result = value(case["node"], inputs)
    if isinstance(result, int | float):
        return {"results": [described(torch.tensor(result, dtype=torch.float64))], "shares": False, "number": True}
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    memory = {x.untyped_storage().data_ptr() for x in inputs.values()}
    shares = any(x.untyped_storage().data_ptr() in memory for x in results)
    return {"results": [described(x) for x in results], "shares": shares, "number": False}


def main():
    found = {}
    with open(sys.argv[1]) as file:
        for case in map(json.loads, file):
            try:
                found[case["id"]] = answer(case)
            except Exception as error:
                found[case["id"]] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    with open(sys.argv[2], "w") as out:
        json.dump(found, out)


main()
