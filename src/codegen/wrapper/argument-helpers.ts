/** Helper functions that check one argument of the wrapper. */
import { INT32_LIMIT_MESSAGE } from "../../analysis/preconditions.js";
import * as py from "../syntax/py-build.js";
import type { FunctionDef } from "../syntax/py.js";
import { helperFunction } from "../syntax/py-build.js";

export const CHECK_TENSOR = "_check_tensor";
export const CHECK_CHOICE = "_check_choice";
export const CHECK_TYPE = "_check_type";
export const CHECK_CONSTANT = "_check_constant";
export const CHECK_INT = "_check_int";
export const CHECK_FLOAT = "_check_float";
export const CHECK_BFLOAT16 = "_check_bfloat16";
export const INT32_OVERFLOW = "_beyond_int32";
export const INDEX_OVERFLOW = "_uncountable";
export const DESCRIPTOR_OVERFLOW = "_undescribable";
export const SAME_STRIDES = "_same_strides";

/** torch.compile cannot trace `is_neg`, and its graph inputs never have the negative bit. */
export const checkTensor = helperFunction(
  CHECK_TENSOR,
  "label tensor",
  "Refuses what does not lie in memory as its shape and strides say.",
  `if not isinstance(tensor, torch.Tensor):
    raise TypeError(f"{label} must be a tensor, got {tensor!r:.80}")
if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
    kind = type(tensor).__name__
    raise TypeError(f"{label} must be a plain tensor, got one of type {kind}")
if tensor.is_nested or tensor.layout != torch.strided:
    kind = "a nested one" if tensor.is_nested else tensor.layout
    raise TypeError(f"{label} must be a dense tensor, got {kind}")
if not torch.compiler.is_dynamo_compiling() and tensor.is_neg():
    raise ValueError(f"{label} is a lazily negated view; call .resolve_neg() first")`,
);

const checkChoice = helperFunction(
  CHECK_CHOICE,
  "label value *choices",
  "Refuses a value that is none of the choices.",
  `if type(value) is not type(choices[0]) or value not in choices:
    error = ValueError if type(value) is type(choices[0]) else TypeError
    allowed = " or ".join(map(repr, choices))
    raise error(f"{label} must be {allowed}, got {value!r:.80}")`,
);

const checkType = helperFunction(
  CHECK_TYPE,
  "label value *types",
  "Refuses a value of another type; True and False are no integers here.",
  `if type(value) not in types:
    kind = types[0].__name__
    raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")`,
);

/**
 * Triton looks up compiled kernels by equality, and -0.0 == 0.0. torch.compile cannot trace `str` of a dynamic number.
 */
const checkConstant = helperFunction(
  CHECK_CONSTANT,
  "label value",
  "Refuses what is no float, and -0.0: Triton may run what it compiled for 0.0.",
  `if type(value) not in (float, int):
    raise TypeError(f"{label} must be of type float, got {value!r:.80}")
if not torch.compiler.is_dynamo_compiling() and str(value) == "-0.0":
    raise ValueError(f"{label} must not be -0.0, which Triton takes for 0.0")`,
);

const checkInt = (types: string): FunctionDef =>
  helperFunction(
    CHECK_INT,
    "label value dtype least=None",
    "Refuses what is no integer, and what its dtype does not hold.",
    `if type(value) ${types}:
    raise TypeError(f"{label} must be of type int, got {value!r:.80}")
info = torch.iinfo(dtype)
least = info.min if least is None else least
if not least <= value <= info.max:
    raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")`,
  );

/** 65504 is the largest float16, the smallest maximum of all dtypes. */
const checkFloat = helperFunction(
  CHECK_FLOAT,
  "label value dtype",
  "Refuses what is no number, and what its dtype would make infinite.",
  `if type(value) is bool or not isinstance(value, (float, int)):
    raise TypeError(f"{label} must be of type float, got {value!r:.80}")
is_large = 65504 < abs(value) < float("inf")
if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
    raise ValueError(f"{label} must fit {dtype}, got {value}")`,
);

const checkBFloat16 = helperFunction(
  CHECK_BFLOAT16,
  "label *dtypes",
  "Refuses bfloat16 where Triton's interpreter would compute with its bits.",
  `from triton.runtime.interpreter import InterpreterBuilder

is_right = hasattr(InterpreterBuilder, "has_bfloat16")
if torch.bfloat16 in dtypes and triton.knobs.runtime.interpret and not is_right:
    raise NotImplementedError(
        f"{label}: Triton's interpreter computes bfloat16 wrongly; "
        "use another dtype, a GPU, or TileScript's runner, which corrects it"
    )`,
);

const int32OverflowError: FunctionDef = {
  ...helperFunction(INT32_OVERFLOW, "label", "The error for a tensor whose offsets do not fit int32.", ""),
  body: [
    py.returns(
      py.call(
        "ValueError",
        py.fString(
          { value: py.name("label") },
          " spans more elements than int32 offsets reach; build the kernel with { offsets: tl.int64 } for it",
        ),
      ),
    ),
  ],
};

const sizeLimitError = (helperName: string, by: keyof typeof INT32_LIMIT_MESSAGE): FunctionDef => {
  const [label, sizes, name] = [py.name("label"), py.name("sizes"), py.name("name")];
  const largest = py.call("max", sizes, py.keyword("key", py.attribute(sizes, "get")));
  const size = { value: py.subscript(sizes, name) };
  const text = py.fString({ value: label }, ": ", { value: name }, " is ", size, `, ${INT32_LIMIT_MESSAGE[by]}`);
  const subject = by === "index" ? "the kernel" : "a descriptor";
  return {
    ...helperFunction(helperName, "label **sizes", `The error for a size that ${subject} does not count up to.`, ""),
    body: [py.assign(name, largest), py.returns(py.call("ValueError", text))],
  };
};

/** An axis of one element may have any stride in PyTorch, and `.contiguous()` does not change it. */
const sameStrides = helperFunction(
  SAME_STRIDES,
  "x y",
  "Whether two tensors of one shape lie alike in memory.",
  `steps = zip(x.shape, x.stride(), y.stride())
return all(size <= 1 or a == b for size, a, b in steps)`,
);

/** The helpers that the module mentions, except {@link checkTensor}. */
export function argumentHelpers(isMentioned: (name: string) => boolean, isTraceable: boolean): readonly FunctionDef[] {
  // In a graph with dynamic shapes, sizes are `SymInt`.
  const types = isTraceable ? "not in (int, torch.SymInt)" : "is not int";
  const numbers = [checkChoice, checkType, checkConstant, checkInt(types), checkFloat, checkBFloat16];
  const limitErrors = [
    int32OverflowError,
    sizeLimitError(INDEX_OVERFLOW, "index"),
    sizeLimitError(DESCRIPTOR_OVERFLOW, "descriptor"),
  ];
  return [...numbers, sameStrides, ...limitErrors].filter(({ name }) => isMentioned(name));
}
