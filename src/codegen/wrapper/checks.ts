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

/** Tells whether PyTorch is tracing, in a module that it may trace. */
export const IS_TRACED = "_is_traced";
/** Module constants that checks compare with. */
export const ROW_LIMIT = "_MAX_TILE";
export const INTERPRETED = "_INTERPRETED";

/** Words of a message, the value that an expression has, or the expression itself. */
export type MessagePart = string | { readonly value: Expression } | { readonly text: Expression };
type Part = MessagePart;

/** `raise ValueError(f"gemm: …")` */
export function messageOf(
  context: WrapperContext,
  error: "ValueError" | "TypeError",
  ...parts: readonly Part[]
): Raise {
  const text: FString["parts"] = parts.map((part) =>
    typeof part === "string" ? part : "value" in part ? { value: part.value } : printExpression(part.text),
  );
  return py.raise(py.call(error, py.fString(`${context.names.wrapper}: `, ...text)));
}

/** The caller's name of a tensor. */
export function argumentDisplayName(context: WrapperContext, param: TensorParam | PointerParam): string {
  return param.kind === "tensor" && param.role === "out"
    ? outputName(context.ir, context.names, param)
    : context.names.tensors.get(param.name)!;
}

/** An error under a condition. */
export function check(test: Expression, body: Statement): Statement {
  return { kind: "if", branches: [{ test, body: [body] }] };
}

/** Statements about an argument, under a condition if it may be None. */
export function ifNotNone(context: WrapperContext, param: TensorParam | PointerParam, body: Block): Block {
  if (!param.given || body.length === 0) return body;
  const isGiven = py.compare(context.tensor(param), ["is not", py.none]);
  const [only] = body;
  // One condition instead of two, each in the other.
  if (body.length === 1 && only?.kind === "if" && only.branches.length === 1 && !only.otherwise) {
    const [branch] = only.branches;
    return [{ ...only, branches: [{ ...branch!, test: py.boolOp("and", isGiven, branch!.test) }] }];
  }
  return [{ kind: "if", branches: [{ test: isGiven, body }] }];
}

/** Refuses what is no tensor, and tensors whose memory a kernel would misread. */
export function tensorCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  const text = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [py.expression(py.call(CHECK_TENSOR, text, context.tensor(param)))];
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

/** The rank, the sizes that other tensors bound, and new sizes as locals. */
export function shapeChecks(context: WrapperContext, param: TensorParam): Block {
  const tensor = context.tensor(param);
  const shape = py.attribute(tensor, "shape");
  const rank = param.dims.length;
  const axisOf = (axis: number) => py.subscript(shape, py.number(String(axis)));
  const bound = boundUnless(context, param, axisOf);
  const known: { axis: number; expected: Expression }[] = [];
  const repeated: { axis: number; expected: Expression }[] = [];
  const fresh: { axis: number; name: Expression }[] = [];
  param.dims.forEach((dim, axis) => {
    const label = param.dimNames[axis]!;
    const expected = context.dim(param, axis);
    // A square's second axis is compared before its size has a name.
    const first = fresh.find((each) => param.dimNames[each.axis] === label);
    if (first) repeated.push({ axis, expected: axisOf(first.axis) });
    else if (literalNumber(dim) !== undefined || context.bound.has(String(label))) known.push({ axis, expected });
    else if (!context.derived.has(String(label))) {
      fresh.push({ axis, name: expected });
      context.bound.add(String(label));
    }
  });
  // One comparison where there is nothing to bind: it is the cheapest.
  const wrong =
    known.length === rank
      ? [py.compare(shape, ["!=", py.tuple(...known.map(({ expected }) => expected))])]
      : [
          py.compare(py.attribute(tensor, "ndim"), ["!=", py.number(String(rank))]),
          ...[...known, ...repeated].map(({ axis, expected }) => py.compare(axisOf(axis), ["!=", expected])),
        ];
  const bind: Statement[] =
    fresh.length === rank && rank > 1
      ? [py.assign(py.tuple(...fresh.map(({ name }) => name)), shape)]
      : fresh.map(({ axis, name }) => py.assign(name, axisOf(axis)));
  return [
    ...bound,
    check(
      py.boolOp("or", ...wrong),
      shapeMessage(context, param, (axis) => known.some((k) => k.axis === axis)),
    ),
    ...bind,
    ...contiguousCheck(context, param),
  ];
}

/** `K = 0`: the sizes that this optional tensor is the first to have, where it is left out. */
export function absentSizeBindings(context: WrapperContext, param: TensorParam): Block {
  return optionalSizes(context.ir).flatMap(({ holders: [first] }) =>
    first?.tensor === param ? [py.assign(context.dim(param, first.axis), py.number("0"))] : [],
  );
}

/** Binds sizes that this optional tensor decides if those before it that have them are left out. */
function boundUnless(context: WrapperContext, param: TensorParam, axisOf: (axis: number) => Expression): Block {
  return optionalSizes(context.ir).flatMap(({ holders }) => {
    const place = holders.findIndex(({ tensor }) => tensor === param);
    if (place < 1) return [];
    const { axis } = holders[place]!;
    const absent = holders.slice(0, place).map(({ tensor }) => py.compare(context.tensor(tensor), ["is", py.none]));
    const hasAxis = py.compare(py.attribute(context.tensor(param), "ndim"), [
      "==",
      py.number(String(param.dims.length)),
    ]);
    return [check(py.boolOp("and", ...absent, hasAxis), py.assign(context.dim(param, axis), axisOf(axis)))];
  });
}

/** `b must have shape [K=64, N], got [65, 32]`; sizes that are known show their value. */
function shapeMessage(context: WrapperContext, param: TensorParam, isKnown: (axis: number) => boolean): Statement {
  const dims = param.dimNames.flatMap((name, axis): Part[] => {
    const comma = axis === 0 ? "" : ", ";
    if (typeof name !== "string" || !isKnown(axis)) return [`${comma}${name}`];
    return [`${comma}${name}=`, { value: context.dim(param, axis) }];
  });
  const what = `${argumentDisplayName(context, param)} must have shape [`;
  return messageOf(context, "ValueError", what, ...dims, "], got ", shapeOf(context.tensor(param)));
}

/** Compares the axes whose sizes are computed from others, once those are bound. */
export function derivedChecks(context: WrapperContext, param: TensorParam): Block {
  const shape = py.attribute(context.tensor(param), "shape");
  const wrong = param.dimNames.flatMap((name, axis) => {
    if (!context.derived.has(String(name))) return [];
    return [py.compare(py.subscript(shape, py.number(String(axis))), ["!=", context.dim(param, axis)])];
  });
  return wrong.length === 0
    ? []
    : [
        check(
          py.boolOp("or", ...wrong),
          shapeMessage(context, param, () => true),
        ),
      ];
}

function shapeOf(tensor: Expression): Part {
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

/** The kernel takes one set of strides for tensors that share them. */
export function sameStridesCheck(context: WrapperContext, { param, as }: PreconditionOf<"same-strides">): Block {
  const tensors = [param, as].map((each) => context.tensor(each));
  const [own, other] = tensors.map((tensor) => py.call(py.attribute(tensor, "stride")));
  const message = messageOf(
    context,
    "ValueError",
    `${argumentDisplayName(context, param)} must have the strides of ${argumentDisplayName(context, as)}, `,
    { value: other! },
    ", got ",
    { value: own! },
    "; call .contiguous() on both",
  );
  return [check(py.unary("not", py.call(SAME_STRIDES, ...tensors)), message)];
}

// ---- dtypes and devices ---------------------------------------------------------------------------------------------

/** A fixed dtype, one of a variable's members where the variable is first met, or the dtype that it then has. */
export function dtypeCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  const tensor = context.tensor(param);
  const got = py.attribute(tensor, "dtype");
  const { dtype } = param;
  const refuse = (test: Expression, ...expected: readonly Part[]) =>
    check(
      test,
      messageOf(context, "TypeError", `${argumentDisplayName(context, param)} must be `, ...expected, ", got ", {
        value: got,
      }),
    );
  if (typeof dtype === "string")
    return [refuse(py.compare(got, ["!=", torchDType(dtype)]), `torch.${dtypeName(dtype)}`)];
  const binder = dtypeBinder(context, dtype.name);
  if (binder !== param) {
    const other = binderDType(context, dtype.name);
    return [refuse(py.compare(got, ["!=", other]), { value: other }, ` as ${binder.name} is`)];
  }
  const members = dtype.members.map(torchDType);
  const isMember =
    members.length === 1 ? py.compare(got, ["!=", members[0]!]) : py.compare(got, ["not in", py.tuple(...members)]);
  return [refuse(isMember, dtype.members.map((name) => `torch.${dtypeName(name)}`).join(" or "))];
}

/** The source of a dtype variable: the argument that names it, else the first present input of that dtype. */
export function dtypeBinder(
  { ir, tensors }: Pick<WrapperContext, "ir" | "tensors">,
  variable: string,
): TensorParam | PointerParam | ConstexprParam {
  const named = ir.params.find((param) => param.kind === "constexpr" && param.variable?.name === variable);
  if (named?.kind === "constexpr") return named;
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

/** `torch.float16` for a dtype of the signature. */
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

/** All tensors must be on one device that Triton can use; switches to that GPU if it is not the current one. */
export function deviceChecks(context: WrapperContext, inputs: readonly (TensorParam | PointerParam)[]): Block {
  const first = inputs.find((param) => !param.given);
  if (!first) return [];
  const others = inputs.filter((param) => param !== first);
  const tensor = context.tensor(first);
  const isElsewhere = py.boolOp(
    "and",
    ...(context.traceable ? [py.unary("not", py.call(IS_TRACED, tensor))] : []),
    py.compare(py.attribute(DEVICE, "index"), ["!=", py.call("torch.cuda.current_device")]),
  );
  const there: Statement = {
    kind: "with",
    items: [{ value: py.call("torch.cuda.device", DEVICE) }],
    body: [py.returns(selfCall(context))],
  };
  const unreachable = messageOf(
    context,
    "ValueError",
    `${argumentDisplayName(context, first)} must be on a GPU, got `,
    { value: DEVICE },
    "; the CPU needs TRITON_INTERPRET=1, set before triton is imported",
  );
  const isInterpreted = py.boolOp("and", py.attribute(tensor, "is_cpu"), py.name(INTERPRETED));
  return [
    py.assign(DEVICE, py.attribute(tensor, "device")),
    ...others.flatMap((param) => ifNotNone(context, param, [sameDevice(context, param, first)])),
    {
      kind: "if",
      branches: [
        { test: py.attribute(tensor, "is_cuda"), body: [check(isElsewhere, there)] },
        { test: py.unary("not", isInterpreted), body: [unreachable] },
      ],
    },
  ];
}

/** The local that holds the device of all tensors. */
export const DEVICE = py.name("device");

/** For a wrapper without tensors that give a device. */
export const DEVICE_PARAMETER: Parameter = {
  name: "device",
  annotation: py.binary(py.binary(py.dotted("torch.device"), "|", py.name("str")), "|", py.none),
  default: py.none,
};

/** Tensors that the kernel reads, then pointers. */
function inputsOf(ir: KernelIR): readonly (TensorParam | PointerParam)[] {
  return [...tensorsOf(ir, "in", "inout"), ...ir.params.filter((param) => param.kind === "pointer")];
}

/** The source of the device: the first required tensor. */
export function deviceHolder({ ir }: Pick<WrapperContext, "ir">): TensorParam | PointerParam | undefined {
  return inputsOf(ir).find((param) => !param.given);
}

/** The device of the first of these that was given, else the one asked for, else the current GPU. */
export function defaultDevice(maybe: readonly Expression[]): Block {
  const device = py.name("device");
  const set = (test: Expression, value: Expression) => ({ test, body: [py.assign(device, value)] });
  const fallback = set(
    py.compare(device, ["is", py.none]),
    py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")),
  );
  const given = maybe.map((tensor) => set(py.compare(tensor, ["is not", py.none]), py.attribute(tensor, "device")));
  return [{ kind: "if", branches: [...given, fallback] }];
}

/** The wrapper called again with its own arguments. */
function selfCall(context: WrapperContext): Expression {
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

function sameDevice(
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

/** The dtype that a variable has in this call. */
export function binderDType(context: WrapperContext, variable: string): Expression {
  const binder = dtypeBinder(context, variable);
  if (binder.kind === "constexpr") return py.name(context.names.parameters.get(binder.value)!);
  return py.attribute(context.tensor(binder), "dtype");
}

/** The number of elements of a tensor whose sizes are bound. */
export function elements(context: WrapperContext, param: TensorParam): Expression {
  const sizes = param.dims.map((_, axis) => context.dim(param, axis));
  return sizes.slice(1).reduce((product, size) => py.binary(product, "*", size), sizes[0] ?? py.number("1"));
}

/** Whether two tensors of the wrapper have the same sizes. */
export function sameShape(context: WrapperContext, left: TensorParam, right: TensorParam): boolean {
  const sizes = (param: TensorParam) => param.dims.map((_, axis) => printExpression(context.dim(param, axis))).join();
  return left.dims.length === right.dims.length && sizes(left) === sizes(right);
}

/** Whether a number is below `least`, which is 1 or more, or no power of two. */
export function isNoPower(size: Expression, least: number): Expression {
  const isShort = py.compare(size, ["<", py.number(String(least))]);
  const isOdd = py.compare(py.binary(size, "&", py.binary(size, "-", py.number("1"))), ["!=", py.number("0")]);
  return py.boolOp("or", isShort, isOdd);
}

/** Sizes of tiles must be powers of two and large enough. Triton would only report that when it compiles. */
export function tileSizeChecks(context: WrapperContext): Block {
  return preconditionsOf(context.ir, "tile-size").map(({ param, least }) => {
    const text = context.names.parameters.get(param.value)!;
    const size = py.name(text);
    const words = ` must be a power of two${least > 1 ? ` from ${least} up` : ""}, got `;
    return check(isNoPower(size, least), messageOf(context, "ValueError", text, words, { value: size }));
  });
}
