"""Calls emitted wrappers with drawn arguments and says of each whether the wrapper launches the kernel."""

import importlib.util
import json
import os
import sys
from unittest import mock

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402

REFUSALS = (ValueError, TypeError)


def load(python, name):
    folder = os.path.join(os.path.dirname(sys.argv[2]), f"{name}.py")
    with open(folder, "w") as file:
        file.write(python)
    spec = importlib.util.spec_from_file_location(name, folder)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def value_of(given):
    """A tensor from its dtype, shape and views; a dtype from its name; any other value as it is."""
    if not isinstance(given, dict):
        return given
    if "torch" in given:
        return getattr(torch, given["torch"])
    if "number" in given:
        return float(given["number"])
    tensor = torch.zeros(given["shape"], dtype=getattr(torch, given["dtype"]))
    for kind, *numbers in given["views"]:
        if kind == "transpose":
            tensor = tensor.transpose(*numbers)
        else:
            axis, start, step = numbers
            places = [slice(None)] * tensor.ndim
            places[axis] = slice(start, None, step)
            tensor = tensor[tuple(places)]
    return tensor


def answer(module, name, arguments):
    """The refusal, nothing where the wrapper takes the arguments, or an error that no caller should see."""
    given = {name: value_of(each) for name, each in arguments.items()}
    with mock.patch.object(module, f"{name}_kernel", mock.MagicMock()):
        try:
            module.kernel_fn(**given)
        except REFUSALS as error:
            return {"refused": str(error)}
        except AttributeError as error:
            # Python refuses None in place of a tensor.
            is_none = None in arguments.values() and str(error).startswith("'NoneType' object has no attribute")
            return {"refused" if is_none else "crashed": str(error)}
        except Exception as error:  # noqa: BLE001
            return {"crashed": f"{type(error).__name__}: {error}"}
    return {}


def main():
    modules = {}
    answers = []
    with open(sys.argv[1]) as lines:
        for line in lines:
            case = json.loads(line)
            if "python" in case:
                modules[case["name"]] = load(case["python"], case["name"])
            else:
                answers.append(answer(modules[case["name"]], case["name"], case["arguments"]))
    with open(sys.argv[2], "w") as out:
        json.dump(answers, out)


main()
