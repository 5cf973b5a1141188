import {
  type ConstexprParam,
  isMemoryParam,
  type KernelIR,
  type PointerParam,
  type TensorParam,
  tensorsOf,
} from "../../ir/nodes.js";
import { optionalSizes } from "../../analysis/optional-sizes.js";
import { callOrder } from "../names/call-order.js";
import { type PreconditionOf, preconditionsOf } from "../../analysis/preconditions.js";
import { literalNumber, outputName } from "../names/kernel-names.js";
import { flatText as printExpression } from "../syntax/layout-expression.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FString, Parameter, Raise, Statement } from "../syntax/py.js";
import { CHECK_TENSOR, SAME_STRIDES } from "./argument-helpers.js";
import type { WrapperContext } from "./scope.js";

/** The helper that tests if PyTorch is tracing the call. */
export const IS_TRACED = "_is_traced";
/** Module constants: the maximum number of elements of a tile, and a flag for Triton's interpreter. */
export const ROW_LIMIT = "_MAX_TILE";
export const INTERPRETED = "_INTERPRETED";

/** Literal text, the value of an expression, or the source text of an expression. */
export type MessagePart = string | { readonly value: Expression } | { readonly text: Expression };
type TextPart = MessagePart;

/** `raise ValueError(f"gemm: …")` */
export function messageOf(
  context: WrapperContext,
  error: "ValueError" | "TypeError",
  ...messageParts: readonly TextPart[]
): Raise {
  const text: FString["parts"] = messageParts.map((part) =>
    typeof part === "string" ? part : "value" in part ? { value: part.value } : printExpression(part.text),
  );
  return py.raise(py.call(error, py.fString(`${context.names.wrapper}: `, ...text)));
}

/** The name of a tensor argument as the caller writes it. */
export function argumentDisplayName(context: WrapperContext, param: TensorParam | PointerParam): string {
  return param.kind === "tensor" && param.role === "out"
    ? outputName(context.ir, context.names, param)
    : context.names.tensors.get(param.name)!;
}

/** `if test: body`, usually with a `raise` as the body. */
export function check(test: Expression, body: Statement): Statement {
  return { kind: "if", branches: [{ test, body: [body] }] };
}

/** Guards statements about an argument with `is not None` if the argument is optional. */
export function ifNotNone(context: WrapperContext, param: TensorParam | PointerParam, body: Block): Block {
  if (!param.given || body.length === 0) return body;
  const isPresent = py.compare(context.tensor(param), ["is not", py.none]);
  const [single] = body;
  // Merge the guard into a single `if` instead of nesting two.
  if (body.length === 1 && single?.kind === "if" && single.branches.length === 1 && !single.otherwise) {
    const [branch] = single.branches;
    return [{ ...single, branches: [{ ...branch!, test: py.boolOp("and", isPresent, branch!.test) }] }];
  }
  return [{ kind: "if", branches: [{ test: isPresent, body }] }];
}

/** Rejects arguments that are not tensors, and tensors whose memory layout kernels cannot read. */
export function tensorCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  const text = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [py.expression(py.call(CHECK_TENSOR, text, context.tensor(param)))];
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

/** Checks the rank and the sizes that are already bound, then binds new sizes to locals. */
export function shapeChecks(context: WrapperContext, param: TensorParam): Block {
  const tensor = context.tensor(param);
  const shape = py.attribute(tensor, "shape");
  const rank = param.dims.length;
  const axisOf = (axis: number) => py.subscript(shape, py.number(String(axis)));
  const optionalBindings = conditionalBindings(context, param, axisOf);
  const boundAxes: { axis: number; expected: Expression }[] = [];
  const repeatedAxes: { axis: number; expected: Expression }[] = [];
  const newAxes: { axis: number; name: Expression }[] = [];
  param.dims.forEach((dim, axis) => {
    const label = param.dimNames[axis]!;
    const expected = context.dim(param, axis);
    // The second axis of a square tensor is compared before its size is bound.
    const first = newAxes.find((each) => param.dimNames[each.axis] === label);
    if (first) repeatedAxes.push({ axis, expected: axisOf(first.axis) });
    else if (literalNumber(dim) !== undefined || context.bound.has(String(label))) boundAxes.push({ axis, expected });
    else if (!context.derived.has(String(label))) {
      newAxes.push({ axis, name: expected });
      context.bound.add(String(label));
    }
  });
  // If all sizes are bound, one comparison of whole shapes is cheapest.
  const mismatches =
    boundAxes.length === rank
      ? [py.compare(shape, ["!=", py.tuple(...boundAxes.map(({ expected }) => expected))])]
      : [
          py.compare(py.attribute(tensor, "ndim"), ["!=", py.number(String(rank))]),
          ...[...boundAxes, ...repeatedAxes].map(({ axis, expected }) => py.compare(axisOf(axis), ["!=", expected])),
        ];
  const bindings: Statement[] =
    newAxes.length === rank && rank > 1
      ? [py.assign(py.tuple(...newAxes.map(({ name }) => name)), shape)]
      : newAxes.map(({ axis, name }) => py.assign(name, axisOf(axis)));
  return [
    ...optionalBindings,
    check(
      py.boolOp("or", ...mismatches),
      shapeMessage(context, param, (axis) => boundAxes.some((k) => k.axis === axis)),
    ),
    ...bindings,
    ...contiguousCheck(context, param),
  ];
}

/** `K = 0`: the initial value of sizes whose first holder is this optional tensor. */
export function absentSizeBindings(context: WrapperContext, param: TensorParam): Block {
  return optionalSizes(context.ir).flatMap(({ holders: [first] }) =>
    first?.tensor === param ? [py.assign(context.dim(param, first.axis), py.number("0"))] : [],
  );
}

/** Binds sizes from this optional tensor if all earlier optional tensors with that size are None. */
function conditionalBindings(context: WrapperContext, param: TensorParam, axisOf: (axis: number) => Expression): Block {
  return optionalSizes(context.ir).flatMap(({ holders }) => {
    const position = holders.findIndex(({ tensor }) => tensor === param);
    if (position < 1) return [];
    const { axis } = holders[position]!;
    const isAbsent = holders
      .slice(0, position)
      .map(({ tensor }) => py.compare(context.tensor(tensor), ["is", py.none]));
    const hasAxis = py.compare(py.attribute(context.tensor(param), "ndim"), [
      "==",
      py.number(String(param.dims.length)),
    ]);
    return [check(py.boolOp("and", ...isAbsent, hasAxis), py.assign(context.dim(param, axis), axisOf(axis)))];
  });
}

/** `b must have shape [K=64, N], got [65, 32]`: bound sizes are shown with their value. */
function shapeMessage(context: WrapperContext, param: TensorParam, isKnown: (axis: number) => boolean): Statement {
  const sizes = param.dimNames.flatMap((name, axis): TextPart[] => {
    const comma = axis === 0 ? "" : ", ";
    if (typeof name !== "string" || !isKnown(axis)) return [`${comma}${name}`];
    return [`${comma}${name}=`, { value: context.dim(param, axis) }];
  });
  const prefix = `${argumentDisplayName(context, param)} must have shape [`;
  return messageOf(context, "ValueError", prefix, ...sizes, "], got ", shapeOf(context.tensor(param)));
}

/** Compares the axes with derived sizes, after those sizes are computed. */
export function derivedChecks(context: WrapperContext, param: TensorParam): Block {
  const shape = py.attribute(context.tensor(param), "shape");
  const mismatches = param.dimNames.flatMap((name, axis) => {
    if (!context.derived.has(String(name))) return [];
    return [py.compare(py.subscript(shape, py.number(String(axis))), ["!=", context.dim(param, axis)])];
  });
  return mismatches.length === 0
    ? []
    : [
        check(
          py.boolOp("or", ...mismatches),
          shapeMessage(context, param, () => true),
        ),
      ];
}

function shapeOf(tensor: Expression): TextPart {
  return { value: py.call("list", py.attribute(tensor, "shape")) };
}

export function contiguousCheck(context: WrapperContext, param: TensorParam): Block {
  if (!preconditionsOf(context.ir, "contiguous").some((each) => each.param === param)) return [];
  const tensor = context.tensor(param);
  return [
    check(
      py.unary("not", py.call(py.attribute(tensor, "is_contiguous"))),
      messageOf(
        context,
        "ValueError",
        `${argumentDisplayName(context, param)} must be contiguous, got strides `,
        { value: py.call(py.attribute(tensor, "stride")) },
        "; call .contiguous() first",
      ),
    ),
  ];
}

/** Tensors that share strides must have equal strides, because the kernel receives only one set. */
export function sameStridesCheck(context: WrapperContext, { param, as }: PreconditionOf<"same-strides">): Block {
  const tensors = [param, as].map((each) => context.tensor(each));
  const [strides, expectedStrides] = tensors.map((tensor) => py.call(py.attribute(tensor, "stride")));
  const message = messageOf(
    context,
    "ValueError",
    `${argumentDisplayName(context, param)} must have the strides of ${argumentDisplayName(context, as)}, `,
    { value: expectedStrides! },
    ", got ",
    { value: strides! },
    "; call .contiguous() on both",
  );
  return [check(py.unary("not", py.call(SAME_STRIDES, ...tensors)), message)];
}

// ---- dtypes and devices ---------------------------------------------------------------------------------------------

/** Checks a fixed dtype, membership in a dtype variable at its binder, or equality with the binder's dtype. */
export function dtypeCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  const tensor = context.tensor(param);
  const got = py.attribute(tensor, "dtype");
  const { dtype } = param;
  const failUnless = (test: Expression, ...expected: readonly TextPart[]) =>
    check(
      test,
      messageOf(context, "TypeError", `${argumentDisplayName(context, param)} must be `, ...expected, ", got ", {
        value: got,
      }),
    );
  if (typeof dtype === "string")
    return [failUnless(py.compare(got, ["!=", torchDType(dtype)]), `torch.${dtypeName(dtype)}`)];
  const binder = dtypeBinder(context, dtype.name);
  if (binder !== param) {
    const expected = binderDType(context, dtype.name);
    return [failUnless(py.compare(got, ["!=", expected]), { value: expected }, ` as ${binder.name} is`)];
  }
  const members = dtype.members.map(torchDType);
  const isMismatch =
    members.length === 1 ? py.compare(got, ["!=", members[0]!]) : py.compare(got, ["not in", py.tuple(...members)]);
  return [failUnless(isMismatch, dtype.members.map((name) => `torch.${dtypeName(name)}`).join(" or "))];
}

/** The binder of a dtype variable: the argument that names it, else the first required input of that dtype. */
export function dtypeBinder(
  { ir, tensors }: Pick<WrapperContext, "ir" | "tensors">,
  variable: string,
): TensorParam | PointerParam | ConstexprParam {
  const argument = ir.params.find((param) => param.kind === "constexpr" && param.variable?.name === variable);
  if (argument?.kind === "constexpr") return argument;
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  const holders = [...tensors, ...pointers].filter(
    (param) => typeof param.dtype !== "string" && param.dtype.name === variable,
  );
  const present = holders.filter((param) => !param.given);
  return present.find((param) => param.kind === "pointer" || param.role !== "out") ?? present[0] ?? holders[0]!;
}

function dtypeName(name: string): string {
  return printExpression(torchDType(name)).replace("torch.", "");
}

/** The PyTorch dtype, such as `torch.float16`. */
export function torchDType(name: string): Expression {
  const special: Readonly<Record<string, string>> = {
    int1: "bool",
    float8e5: "float8_e5m2",
    float8e4nv: "float8_e4m3fn",
    float8e4b8: "float8_e4m3fnuz",
    float8e5b16: "float8_e5m2fnuz",
    float8e4b15: "uint8",
  };
  return py.dotted(`torch.${special[name] ?? name}`);
}

/**
 * All tensors must be on one device that Triton supports. If that GPU is not the current one, the wrapper switches to
 * it.
 */
export function deviceChecks(context: WrapperContext, inputs: readonly (TensorParam | PointerParam)[]): Block {
  const first = inputs.find((param) => !param.given);
  if (!first) return [];
  const others = inputs.filter((param) => param !== first);
  const tensor = context.tensor(first);
  const isElsewhere = py.boolOp(
    "and",
    ...(context.isTraceable ? [py.unary("not", py.call(IS_TRACED, tensor))] : []),
    py.compare(py.attribute(DEVICE, "index"), ["!=", py.call("torch.cuda.current_device")]),
  );
  const callOnDevice: Statement = {
    kind: "with",
    items: [{ value: py.call("torch.cuda.device", DEVICE) }],
    body: [py.returns(recursiveCall(context))],
  };
  const deviceError = messageOf(
    context,
    "ValueError",
    `${argumentDisplayName(context, first)} must be on a GPU, got `,
    { value: DEVICE },
    "; the CPU needs TRITON_INTERPRET=1, set before triton is imported",
  );
  const isInterpreted = py.boolOp("and", py.attribute(tensor, "is_cpu"), py.name(INTERPRETED));
  return [
    py.assign(DEVICE, py.attribute(tensor, "device")),
    ...others.flatMap((param) => ifNotNone(context, param, [sameDeviceCheck(context, param, first)])),
    {
      kind: "if",
      branches: [
        { test: py.attribute(tensor, "is_cuda"), body: [check(isElsewhere, callOnDevice)] },
        { test: py.unary("not", isInterpreted), body: [deviceError] },
      ],
    },
  ];
}

/** The local variable for the device of all tensors. */
export const DEVICE = py.name("device");

/** The parameter of a wrapper without a required input that determines the device. */
export const DEVICE_PARAMETER: Parameter = {
  name: "device",
  annotation: py.binary(py.binary(py.dotted("torch.device"), "|", py.name("str")), "|", py.none),
  default: py.none,
};

/** Input tensors, then pointers. */
function inputsOf(ir: KernelIR): readonly (TensorParam | PointerParam)[] {
  return [...tensorsOf(ir, "in", "inout"), ...ir.params.filter((param) => param.kind === "pointer")];
}

/** The first required input, which determines the device. */
export function deviceHolder({ ir }: Pick<WrapperContext, "ir">): TensorParam | PointerParam | undefined {
  return inputsOf(ir).find((param) => !param.given);
}

/**
 * Sets `device` to that of the first tensor that is not None, else keeps the caller's device, else uses the current
 * GPU.
 */
export function defaultDevice(tensors: readonly Expression[]): Block {
  const device = py.name("device");
  const set = (test: Expression, value: Expression) => ({ test, body: [py.assign(device, value)] });
  const fallback = set(
    py.compare(device, ["is", py.none]),
    py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")),
  );
  const branches = tensors.map((tensor) =>
    set(py.compare(tensor, ["is not", py.none]), py.attribute(tensor, "device")),
  );
  return [{ kind: "if", branches: [...branches, fallback] }];
}

/** A recursive call of the wrapper with the same arguments. */
function recursiveCall(context: WrapperContext): Expression {
  const { ir, names, tensors } = context;
  const positional = callOrder(ir).map((param) =>
    isMemoryParam(param) ? context.tensor(param) : py.name(names.parameters.get(param.value)!),
  );
  const outputs = tensors.filter((param) => param.role === "out");
  const device = deviceHolder(context) ? [] : [py.keyword("device", DEVICE)];
  return py.call(
    names.wrapper,
    ...positional,
    ...outputs.map((param) =>
      py.keyword(argumentDisplayName(context, param), py.name(argumentDisplayName(context, param))),
    ),
    ...device,
  );
}

function sameDeviceCheck(
  context: WrapperContext,
  param: TensorParam | PointerParam,
  first: TensorParam | PointerParam,
): Statement {
  const device = py.attribute(context.tensor(param), "device");
  return check(
    py.compare(device, ["!=", DEVICE]),
    messageOf(
      context,
      "ValueError",
      `${argumentDisplayName(context, param)} must be on `,
      { value: DEVICE },
      ` as ${first.name} is, got `,
      { value: device },
    ),
  );
}

/** The dtype of a variable in the current call. */
export function binderDType(context: WrapperContext, variable: string): Expression {
  const binder = dtypeBinder(context, variable);
  if (binder.kind === "constexpr") return py.name(context.names.parameters.get(binder.value)!);
  return py.attribute(context.tensor(binder), "dtype");
}

/** The number of elements of a tensor. Its sizes must be bound. */
export function elementCount(context: WrapperContext, param: TensorParam): Expression {
  const sizes = param.dims.map((_, axis) => context.dim(param, axis));
  return sizes.slice(1).reduce((product, size) => py.binary(product, "*", size), sizes[0] ?? py.number("1"));
}

/** True if two tensors have the same size expressions. */
export function hasSameShape(context: WrapperContext, x: TensorParam, y: TensorParam): boolean {
  const sizes = (param: TensorParam) => param.dims.map((_, axis) => printExpression(context.dim(param, axis))).join();
  return x.dims.length === y.dims.length && sizes(x) === sizes(y);
}

/** A condition that is true if the size is below `minimum` (at least 1) or is not a power of two. */
export function isNotPowerOfTwo(size: Expression, minimum: number): Expression {
  const isShort = py.compare(size, ["<", py.number(String(minimum))]);
  const isOdd = py.compare(py.binary(size, "&", py.binary(size, "-", py.number("1"))), ["!=", py.number("0")]);
  return py.boolOp("or", isShort, isOdd);
}

/** Tile sizes must be powers of two and large enough. Without this check, Triton reports it only when it compiles. */
export function tileSizeChecks(context: WrapperContext): Block {
  return preconditionsOf(context.ir, "tile-size").map(({ param, least }) => {
    const text = context.names.parameters.get(param.value)!;
    const size = py.name(text);
    const suffix = ` must be a power of two${least > 1 ? ` from ${least} up` : ""}, got `;
    return check(isNotPowerOfTwo(size, least), messageOf(context, "ValueError", text, suffix, { value: size }));
  });
}
