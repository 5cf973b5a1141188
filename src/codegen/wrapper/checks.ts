import {
  type ConstexprParam,
  type KernelIR,
  type PointerParam,
  type TensorParam,
  tensorsOf,
  type SizeParam,
  type Value,
} from "../../ir/nodes.js";
import { optionalSizes } from "../../analysis/launch-facts.js";
import { type PreconditionOf, preconditionsOf } from "../../analysis/preconditions.js";
import { outputName, type KernelNames, literalNumber } from "../names/kernel-names.js";
import { flatText as printExpression } from "../syntax/layout-expression.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FString, Parameter, Raise, Statement } from "../syntax/py.js";
import { hostExpressions } from "../body/print-op.js";

/** Functions of the library. */
export const CHECK_TENSORS = "_check_tensors";
/** The check of an operator's tensors, which may be traced. */
export const CHECK_OPERANDS = "_check_operands";
export const CHECK_DTYPES = "_check_dtypes";
export const CHECK_CONTIGUOUS = "_check_contiguous";
export const CHECK_REACH = "_check_reach";
/** Returns a grid whose long axes it checked. */
export const CHECKED_GRID = "_checked_grid";
/** The checks of a written tensor: if all tensors are contiguous, and in general. */
export const CHECK_WRITTEN = "_check_written";
export const CHECK_STRIDED = "_check_strided";
export const IS_TRACED = "_is_traced";
const SAME_STRIDES = "_same_strides";
/** A module constant: a flag for Triton's interpreter. */
export const INTERPRETED = "_INTERPRETED";

/** Literal text, the value of an expression, or the source text of an expression. */
export type MessagePart = string | { readonly value: Expression } | { readonly text: Expression };

/** True unless PyTorch is making a graph of the call. */
export const isNotTraced = (tensor: Expression): Expression => py.unary("not", py.call(IS_TRACED, tensor));

/** `raise ValueError(f"gemm: …")` */
export function messageOf(
  context: WrapperContext,
  error: "ValueError" | "TypeError",
  ...messageParts: readonly MessagePart[]
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

// ---- shapes ---------------------------------------------------------------------------------------------------------

/** `K = 0`: the initial value of sizes whose first holder is this optional tensor. */
export function absentSizeBindings(context: WrapperContext, param: TensorParam): Block {
  return optionalSizes(context.ir).flatMap(({ holders: [first] }) =>
    first?.tensor === param ? [py.assign(context.dim(param, first.axis), py.number("0"))] : [],
  );
}

/** Binds sizes from this optional tensor if all earlier optional tensors with that size are None. */
export function conditionalBindings(context: WrapperContext, param: TensorParam): Block {
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
    return [
      check(
        py.boolOp("and", ...isAbsent, hasAxis),
        py.assign(context.dim(param, axis), sizeAt(context.tensor(param), axis)),
      ),
    ];
  });
}

/** `x.shape[0]` */
export const sizeAt = (tensor: Expression, axis: number): Expression =>
  py.subscript(py.attribute(tensor, "shape"), py.number(String(axis)));

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

/** The device of the launch: that of the first required input, or the wrapper's `device`. */
export function deviceOf(context: Pick<WrapperContext, "ir" | "tensor">): Expression {
  const holder = deviceHolder(context);
  return holder ? py.attribute(context.tensor(holder), "device") : py.name("device");
}

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

/** The dtype of a variable in the current call. */
export function binderDType(context: WrapperContext, variable: string): Expression {
  const binder = dtypeBinder(context, variable);
  if (binder.kind === "constexpr") return py.name(context.names.parameters.get(binder.value)!);
  return py.attribute(context.tensor(binder), "dtype");
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

// The state of wrapper emission: names, and the sizes that are already bound.

/** The names and bound sizes that emitters of wrapper statements share. */
export interface WrapperContext {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly tensors: readonly TensorParam[];
  /** Sizes that an earlier statement binds to a local. */
  readonly bound: Set<string>;
  /** Sizes that are computed from other sizes. Shapes are compared with them. */
  readonly derived: ReadonlySet<string>;
  /** True if PyTorch traces the kernel into its graphs (`torch.library.wrap_triton`). */
  readonly isTraceable: boolean;
  /** True after the statement with a table of all tensors, by the caller's names. */
  readonly hasTensorTable: boolean;
  /** The name of a tensor in the wrapper. */
  tensor(param: TensorParam | PointerParam): Expression;
  /** A parameter of the launch as an expression: its name, or its value in the only config. */
  local(value: Value): Expression;
  /** The name of a parameter of the launch. */
  localText(value: Value): string;
  /** The expression of a bound dimension. */
  dim(param: TensorParam, axis: number): Expression;
}

export class WrapperScope implements WrapperContext {
  readonly tensors: readonly TensorParam[];
  readonly bound = new Set<string>();
  readonly derived: ReadonlySet<string>;
  hasTensorTable = false;

  constructor(
    readonly ir: KernelIR,
    readonly names: KernelNames,
    readonly isTraceable: boolean,
  ) {
    this.tensors = ir.params.filter((param) => param.kind === "tensor");
    this.derived = new Set(
      ir.params.flatMap((param) => (param.kind === "size" && param.derived !== undefined ? [param.name] : [])),
    );
  }

  tensor(param: TensorParam | PointerParam): Expression {
    return py.name(this.names.tensors.get(param.name)!);
  }

  dim(param: TensorParam, axis: number): Expression {
    const dim = param.dims[axis]!;
    const number = literalNumber(dim);
    return number === undefined ? this.local(dim as Value) : py.numberLiteral(number, "int");
  }

  /** Assignments of the derived sizes that are not bound yet. */
  derivedSizes(): Block {
    const derivedParams = this.ir.params.filter(
      (param): param is SizeParam => param.kind === "size" && param.derived !== undefined,
    );
    return derivedParams.flatMap((param) => {
      if (this.bound.has(param.name)) return [];
      this.bound.add(param.name);
      const [value] = hostExpressions(param.derived!, (v) => this.local(v));
      return [py.assign(this.local(param.value), value!)];
    });
  }

  local(value: Value): Expression {
    return py.name(this.localText(value));
  }

  localText(value: Value): string {
    return this.names.parameters.get(value)!;
  }
}
