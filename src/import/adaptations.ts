/**
 * Changes to the arguments of Triton calls. TileScript requires explicit casts where Triton converts implicitly, and it
 * has no options for arguments without effect. An op's record selects the rules that apply to it.
 */
import type { Op } from "../ir/op.js";
import { type LibdeviceName, letterOf } from "../rules/libdevice-rules.js";
import { libdeviceTable } from "../rules/libdevice-table.js";
import type { DTypeName } from "../types/dtype.js";
import { rootOf } from "./dead-code.js";
import { type Context, toStoredValue } from "./context.js";
import { type Call, type Expression, isSequence } from "./tree.js";
import {
  castTo,
  constantKind,
  constantOf,
  elementOf,
  isIntElement,
  kindOf,
  list,
  number,
  string,
  traced,
  type Value,
} from "./value.js";

/** Changes the arguments in place, or returns the translation of the whole call. */
type Adaptation = (args: OpArguments, node: Call, context: Context) => Value | void;

const withValue = (bound: BoundArgument, value: Value): BoundArgument => ({ ...bound, value });

/** Drops a mask that is always true and converts other masks to booleans. */
const adaptMask: Adaptation = ({ options }) => {
  const mask = options["mask"];
  if (!mask) return;
  if (mask.value.kind === "truth" && mask.value.value) {
    delete options["mask"];
    return;
  }
  const element = elementOf(mask.source);
  if (mask.value.kind === "truth") options["mask"] = withValue(mask, traced("tl.full([], 0, tl.int1)"));
  else if (element !== undefined && element !== "int1")
    options["mask"] = withValue(mask, traced(`${mask.value.text}.ne(0)`));
};

/** Casts a value to the pointee dtype of an address. */
function castToPointee(value: BoundArgument, address: BoundArgument, context: Context): BoundArgument {
  const { kernel, scope } = context;
  const root = address.source && rootOf(address.source);
  const parameter = root?.kind === "Name" && scope.isKernel ? kernel.elementOf(root.id) : undefined;
  const [target, source] = [elementOf(address.source) ?? parameter, elementOf(value.source)];
  if (value.value.kind === "truth") return withValue(value, number(Number(value.value.value), false));
  if (target === undefined) return value;
  const dtype = dtypeOfMixedPointers(root, target, context);
  const mayNeedCast = kernel.castsStoredValues && (dtype !== undefined || kernel.isVariable(target));
  // Expressions that Triton compiled for no call have no types.
  const needsCast =
    source === undefined
      ? value.source?.types.length === 0 && value.value.kind === "traced"
      : target !== source || mayNeedCast;
  return needsCast ? withValue(value, castTo(value.value, dtype ?? kernel.dtype(target))) : value;
}

/** `pointers.dtype`, if calls of a helper function pass pointers to several dtypes, and no dtype variable names them. */
function dtypeOfMixedPointers(
  root: Expression | undefined,
  target: string,
  { kernel, scope }: Context,
): string | undefined {
  if (scope.isKernel || !target.includes(" ") || kernel.isVariable(target)) return undefined;
  const pointers = root?.kind === "Name" && kindOf(root) === "pointer" ? scope.read(root.id) : undefined;
  return pointers && `${pointers.text}.dtype`;
}

/** Casts stored and compared values to the pointee dtype. */
const castStoredValues: Adaptation = ({ operands }, node, context) => {
  const [address, ...values] = operands;
  if (!address) return;
  for (const [i, value] of values.entries()) if (value) operands[i + 1] = castToPointee(value, address, context);
};

/** Casts the padding value to the pointee dtype. A view has its own mask, and its default padding is 0. */
const adaptOther: Adaptation = ({ options, operands }, node, context) => {
  const [address] = operands;
  const padding = options["other"]?.value;
  const isView = address?.source?.kind === "View";
  if (isView ? padding?.kind === "number" && Number(padding.value) === 0 : !options["mask"]) delete options["other"];
  if (address && options["other"]) options["other"] = castToPointee(options["other"], address, context);
};

/** Casts the operands of a select to the dtype of its result. */
const adaptSelect: Adaptation = ({ operands }, node, { kernel }) => {
  const [condition, x, y] = operands;
  if (!condition || !x || !y) return;
  const conditionDType = elementOf(condition.source);
  if (conditionDType !== undefined && conditionDType !== "int1")
    operands[0] = withValue(condition, traced(`${condition.value.text}.ne(0)`));
  const resultDType = elementOf(node);
  const isNumber = ({ value }: BoundArgument): boolean => value.kind === "number" || value.kind === "truth";
  if (resultDType === undefined) return;
  const castSide = (side: BoundArgument): BoundArgument =>
    withValue(side, castTo(side.value, kernel.dtype(resultDType)));
  if (isNumber(x) && isNumber(y)) operands[1] = castSide(x);
  for (const [i, side] of [x, y].entries()) {
    const element = elementOf(side.source);
    if (side.value.kind === "truth") operands[i + 1] = castSide(side);
    // Triton promotes integers to floats if the other operand is a float literal.
    else if (
      side.value.kind !== "number" &&
      element !== undefined &&
      element !== resultDType &&
      constantKind(side.source) === undefined
    )
      operands[i + 1] = castSide(side);
  }
};

/** Converts shapes to lists: `tl.zeros((BLOCK,), …)`, `x.reshape(2, BLOCK)`, `tl.full(BLOCK, …)`. */
const adaptShapes: Adaptation = ({ op, operands }, node, { scope }) => {
  for (const [index, kind] of Object.values(op.operands).entries()) {
    const shape = operands[index];
    if (kind !== "shape" || !shape || shape.value.kind === "list") continue;
    if (shape.source && kindOf(shape.source) === "constant") operands[index] = withValue(shape, list([shape.value]));
    else if (kindOf(shape.source) !== "tuple")
      scope.refuse("a shape that is no list", "write its sizes, [BLOCK, 2]", node);
  }
};

/** Translates `tl.full([], BLOCK, tl.float32)`, a constant as a scalar, to a cast. */
const adaptScalarFull: Adaptation = ({ operands }, node) => {
  const [shape, value, dtype] = operands;
  const isScalar = shape?.value.kind === "list" && shape.value.items.length === 0;
  const isConstant = value?.value.kind === "traced" && constantKind(value.source) !== undefined;
  if (isScalar && isConstant && dtype && node.args.length === 3) return castTo(value.value, dtype.value.text);
};

/** Translates the deprecated `allow_tf32`. Drops an `out_dtype` that is the default, or adds that of the accumulator. */
const adaptDot: Adaptation = ({ operands, options, unmatched }, node, { kernel }) => {
  const tf32 = unmatched["allow_tf32"];
  if (tf32?.value.kind === "truth" || tf32?.value.kind === "none") {
    if (tf32.value.kind === "truth" && !tf32.value.value) options["inputPrecision"] = { value: string("ieee") };
    delete unmatched["allow_tf32"];
  }
  if (!options["outDtype"] && elementOf(operands[2]?.source) === "float16")
    options["outDtype"] = { value: traced(kernel.dtype("float16")) };
  const dtype = options["outDtype"];
  if (dtype && /\.(float32|int32|float64)$/.test(dtype.value.text)) delete options["outDtype"];
};

/** Drops `can_reorder` of `tl.cat`: the order of the elements is one of those that it allows. */
const adaptCat: Adaptation = ({ unmatched }, node, { kernel }) => {
  const flag = unmatched["can_reorder"];
  if (flag?.value.kind !== "truth") return;
  if (flag.value.value)
    kernel.addTodo("can_reorder of tl.cat is left out: the file keeps the elements in order", node.line);
  delete unmatched["can_reorder"];
};

/** Drops options and trailing optional operands that are `None`. */
const omitNone: Adaptation = ({ op, operands, options }) => {
  for (const [name, value] of Object.entries(options)) if (value?.value.kind === "none") delete options[name];
  const kinds = Object.values(op.operands);
  while (operands.length > 0 && operands.at(-1)?.value.kind === "none" && kinds[operands.length - 1]?.endsWith("?"))
    operands.length--;
};

/** Translates casts of pointers and of constants, which Triton's `to` also accepts. */
const adaptCast: Adaptation = ({ op, operands, options }, node, { kernel }) => {
  const [x, dtype] = operands;
  if (!x || !dtype) return;
  const element = elementOf(node);
  if (node.types[0]?.kind === "pointer" && element !== undefined) {
    const address = elementOf(x.source) === "uint64" ? castTo(x.value, "tl.int64") : x.value;
    return traced(`${address.text}.toPointer(${kernel.dtype(element)})`);
  }
  if (x.value.kind === "number" || x.value.kind === "truth") return castTo(x.value, dtype.value.text);
  // A cast to the same dtype does not round.
  if (element !== undefined && elementOf(x.source) === element) delete options["fpDowncastRounding"];
  const optionTexts = Object.entries(options).flatMap(([name, value]) =>
    value ? [`${name}: ${value.value.text}`] : [],
  );
  const optionsText = optionTexts.length > 0 ? `, { ${optionTexts.join(", ")} }` : "";
  return op.spelling.form === "method"
    ? traced(`${x.value.text}.to(${dtype.value.text}${optionsText})`)
    : traced(`tl.${op.name}(${x.value.text}, ${dtype.value.text}${optionsText})`);
};

/** Casts boolean operands of reductions and scans, which Triton computes as integers. */
const castBooleanOperand: Adaptation = ({ operands }, node, { kernel }) => {
  const [x] = operands;
  const resultDType = elementOf(node);
  if (x && elementOf(x.source) === "int1" && resultDType !== undefined && resultDType !== "int1")
    operands[0] = withValue(x, castTo(x.value, kernel.dtype(resultDType)));
};

/** Casts the operands of minimum and maximum to the dtype of the result, as Triton does. */
const castExtrema: Adaptation = ({ operands }, node, { kernel }) => {
  const resultDType = elementOf(node);
  if (resultDType === undefined || node.types.some(({ kind }) => kind !== "tile")) return;
  const dtypes = operands.map((operand) => elementOf(operand?.source));
  const isMixed = dtypes.some((each) => each !== undefined && each !== resultDType && kernel.isVariable(resultDType));
  for (const [i, operand] of operands.entries()) {
    const dtype = dtypes[i];
    const isPromoted = dtype !== undefined && dtype !== resultDType;
    if (operand && isPromoted && (isMixed || kernel.isVariable(dtype) || dtype === "int1" || isIntElement(dtype)))
      operands[i] = withValue(operand, castTo(operand.value, kernel.dtype(resultDType)));
  }
};

/** Drops claims with a constant condition. */
const dropTrueClaims: Adaptation = ({ operands }) => {
  const [condition] = operands;
  if (condition?.value.kind === "truth") return { kind: "nothing", text: "" };
};

/** Adds axis 0, Triton's default. */
const defaultAxis: Adaptation = ({ operands }) => {
  if (!operands[0]) operands[0] = { value: number(0, false) };
};

/** Adds Triton's default axis 0 if options follow it. */
const defaultScanAxis: Adaptation = ({ operands, options }) => {
  if (!operands[1] && Object.values(options).some(Boolean)) operands[1] = { value: number(0, false) };
};

/** Casts constants among the arguments of inline assembly, and moves the operands after the dtype to the options. */
const adaptInlineAssembly: Adaptation = ({ operands, options }) => {
  const args = operands[2];
  if (args?.value.kind === "list") {
    const nodes = isSequence(args.source) ? args.source.elts : [];
    operands[2] = withValue(args, list(args.value.items.map((item, i) => toStoredValue(item, nodes[i]).typed)));
  }
  [options["isPure"], options["pack"]] = operands.splice(4);
};

/** Drops hints about literals and rejects hints whose values are not constant. */
const adaptHint: Adaptation = ({ operands }, node, { scope }) => {
  const [x, values] = operands;
  if (x?.value.kind === "number") return x.value;
  if (values?.value.kind === "traced" && constantOf(values.source) === undefined)
    scope.refuse("a hint that is no constant", "write a number or a tl.constexpr", node);
};

/**
 * Casts constant arguments of libdevice functions. A constant keeps its dtype if libdevice has that overload, such as
 * `pow` of a float and an integer. Otherwise it gets the dtype of the result.
 */
const castLibdeviceConstants: Adaptation = ({ op, operands }, node, { kernel }) => {
  const resultDType = elementOf(node);
  if (resultDType === undefined) return;
  const dtypes = operands.map((operand) =>
    operand && isConstantNumber(operand) ? constantDType(operand) : (elementOf(operand?.source) ?? ""),
  );
  const letters = dtypes.map((dtype) => letterOf(dtype as DTypeName)).join("");
  const overloads = (libdeviceTable[op.calledAs?.replace("libdevice.", "") as LibdeviceName] ?? "")
    .split(" ")
    .map((each) => each.split("->")[0]);
  const isExact = overloads.includes(letters);
  for (const [i, operand] of operands.entries())
    if (operand && isConstantNumber(operand)) {
      const dtype = isExact ? constantDType(operand) : resultDType;
      operands[i] = withValue(operand, castTo(operand.value, kernel.dtype(dtype)));
    }
};

const isConstantNumber = ({ value, source }: BoundArgument): boolean =>
  value.kind === "number" || constantKind(source) !== undefined;

/** The dtype that Triton gives a Python number. */
const constantDType = (operand: BoundArgument): string =>
  constantKind(operand.source) === "float" ? "float32" : "int32";

/** Each rule with a predicate over op records. */
const RULES: readonly (readonly [(op: Op) => boolean, Adaptation])[] = [
  [() => true, omitNone],
  [({ options }) => "mask" in options, adaptMask],
  [({ options }) => "other" in options, adaptOther],
  [({ proof }) => proof.memoryOperands?.value !== undefined, castStoredValues],
  [({ proof }) => proof.selectOperands !== undefined, adaptSelect],
  [({ operands }) => Object.values(operands).includes("shape"), adaptShapes],
  [({ operands }) => operands["shape"] === "shape" && operands["value"] === "value", adaptScalarFull],
  [({ proof }) => proof.foldSemantics?.form === "contraction", adaptDot],
  [
    ({ proof }) => proof.foldSemantics?.form === "reduction" || proof.foldSemantics?.form === "scan",
    castBooleanOperand,
  ],
  [({ facts, operands }) => facts.isIdentity === true && operands["dtype"] === "dtype", adaptCast],
  [({ facts, operands }) => facts.isIdentity === true && operands["values"] === "constants", adaptHint],
  [({ proof }) => proof.claims !== undefined, dropTrueClaims],
  [({ operands }) => operands["pack"] === "constant", adaptInlineAssembly],
  [({ name }) => name === "cat", adaptCat],
  [({ name }) => name === "minimum" || name === "maximum", castExtrema],
  [({ proof, operands }) => proof.foldSemantics?.form === "scan" && operands["axis"] === "constant?", defaultScanAxis],
  [({ facts, operands }) => facts.queries !== undefined && operands["axis"] === "constant", defaultAxis],
  [({ spelling }) => spelling.form === "call" && spelling.name.startsWith("libdevice."), castLibdeviceConstants],
];

/** Changes the arguments of a call in place, or returns the translation of the whole call. */
export function adaptCall(args: OpArguments, node: Call, context: Context): Value | undefined {
  for (const [appliesTo, adapt] of RULES) {
    const value = appliesTo(args.op) ? adapt(args, node, context) : undefined;
    if (value) return value;
  }
  return undefined;
}

/** An argument of a call: its translated value and its source expression. */
export interface BoundArgument {
  readonly value: Value;
  readonly source?: Expression;
}

/** The arguments of an op. Adaptations may change them before the call is emitted. */
export interface OpArguments {
  readonly op: Op;
  /** In the order of the op's operands. */
  readonly operands: (BoundArgument | undefined)[];
  readonly options: Record<string, BoundArgument | undefined>;
  /** Arguments that match no operand or option of the op. */
  readonly unmatched: Record<string, BoundArgument | undefined>;
}
