/**
 * Where a call of Triton needs more than its arguments in the op's places: TileScript casts where Triton converts on its
 * own, and has no word for what changes nothing. Which rule concerns an op follows from its record.
 */
import type { Op } from "../ir/op.js";
import { type LibdeviceName, letterOf } from "../rules/libdevice-rules.js";
import { libdeviceTable } from "../rules/libdevice-table.js";
import type { DTypeName } from "../types/dtype.js";
import { rootOf } from "./dead-code.js";
import type { Context } from "./context.js";
import type { Bound, GivenArguments } from "./op-calls.js";
import type { Call } from "./tree.js";
import {
  cast,
  constantKind,
  constantOf,
  elementOf,
  kindOf,
  list,
  number,
  string,
  traced,
  type Value,
} from "./value.js";

/** Changes the arguments in place, or gives the whole call. */
type Adaptation = (given: GivenArguments, node: Call, context: Context) => Value | void;

const replaced = (bound: Bound, value: Value): Bound => ({ ...bound, value });

/** A mask is one of truth values; one that is always true says nothing. */
const masked: Adaptation = ({ options }) => {
  const mask = options["mask"];
  if (!mask) return;
  if (mask.value.kind === "truth" && mask.value.value) {
    delete options["mask"];
    return;
  }
  const element = elementOf(mask.from);
  if (mask.value.kind === "truth") options["mask"] = replaced(mask, traced("tl.full([], 0, tl.int1)"));
  else if (element !== undefined && element !== "int1")
    options["mask"] = replaced(mask, traced(`${mask.value.text}.ne(0)`));
};

/** A value as the memory behind an address has it. */
function stored(value: Bound, address: Bound, { kernel, scope }: Context): Bound {
  const root = address.from && rootOf(address.from);
  const parameter = root?.kind === "Name" && scope.isKernel ? kernel.elementOf(root.id) : undefined;
  const [to, is] = [elementOf(address.from) ?? parameter, elementOf(value.from)];
  if (value.value.kind === "truth") return replaced(value, number(Number(value.value.value), false));
  // Code that no call reaches has no types.
  const isOther = is === undefined ? value.from?.types.length === 0 && value.value.kind === "traced" : to !== is;
  return to !== undefined && isOther ? replaced(value, cast(value.value, kernel.dtype(to))) : value;
}

/** What is written or compared has the dtype that the pointer has. */
const written: Adaptation = ({ operands }, node, context) => {
  const [address, ...values] = operands;
  if (!address) return;
  for (const [i, value] of values.entries()) if (value) operands[i + 1] = stored(value, address, context);
};

/** What a masked lane holds has the dtype that the pointer has. A view has a mask of its own, and 0 behind it. */
const besides: Adaptation = ({ options, operands }, node, context) => {
  const [address] = operands;
  const other = options["other"]?.value;
  const isView = address?.from?.kind === "View";
  if (isView ? other?.kind === "number" && Number(other.value) === 0 : !options["mask"]) delete options["other"];
  if (address && options["other"]) options["other"] = stored(options["other"], address, context);
};

/** The sides of a choice. */
const chosen: Adaptation = ({ operands }, node, { kernel }) => {
  const [condition, x, y] = operands;
  if (!condition || !x || !y) return;
  const asked = elementOf(condition.from);
  if (asked !== undefined && asked !== "int1")
    operands[0] = replaced(condition, traced(`${condition.value.text}.ne(0)`));
  const made = elementOf(node);
  const isNumber = ({ value }: Bound): boolean => value.kind === "number" || value.kind === "truth";
  if (made === undefined) return;
  const converted = (side: Bound): Bound => replaced(side, cast(side.value, kernel.dtype(made)));
  if (isNumber(x) && isNumber(y)) operands[1] = converted(x);
  for (const [i, side] of [x, y].entries()) {
    const element = elementOf(side.from);
    if (side.value.kind === "truth") operands[i + 1] = converted(side);
    // A number among integers, of which Triton makes floats.
    else if (
      side.value.kind !== "number" &&
      element !== undefined &&
      element !== made &&
      constantKind(side.from) === undefined
    )
      operands[i + 1] = converted(side);
  }
};

/** A shape is a list: `tl.zeros((BLOCK,), …)`, `x.reshape(2, BLOCK)`, `tl.full(BLOCK, …)`. */
const shaped: Adaptation = ({ op, operands }, node, { scope }) => {
  for (const [place, kind] of Object.values(op.operands).entries()) {
    const shape = operands[place];
    if (kind !== "shape" || !shape || shape.value.kind === "list") continue;
    if (shape.from && kindOf(shape.from) === "constant") operands[place] = replaced(shape, list([shape.value]));
    else if (kindOf(shape.from) !== "tuple") scope.refuse("a shape that is no list", node);
  }
};

/** `tl.full([], BLOCK, tl.float32)` is a constant as a number of the program, which has a method for that. */
const filled: Adaptation = ({ operands }, node) => {
  const [shape, value, dtype] = operands;
  const isScalar = shape?.value.kind === "list" && shape.value.items.length === 0;
  const isConstant = value?.value.kind === "traced" && constantKind(value.from) !== undefined;
  if (isScalar && isConstant && dtype && node.args.length === 3) return cast(value.value, dtype.value.text);
};

/** Triton's older name of a precision, and what its products give anyway. */
const product: Adaptation = (given) => {
  const { options, others } = given;
  const tf32 = others["allow_tf32"];
  if (tf32?.value.kind === "truth" || tf32?.value.kind === "none") {
    if (tf32.value.kind === "truth" && !tf32.value.value) options["inputPrecision"] = { value: string("ieee") };
    delete others["allow_tf32"];
  }
  const dtype = options["outDtype"];
  if (dtype && /\.(float32|int32|float64)$/.test(dtype.value.text)) delete options["outDtype"];
};

/** `None` where an operand may be left out leaves it out. */
const absent: Adaptation = ({ op, operands, options }) => {
  for (const [name, value] of Object.entries(options)) if (value?.value.kind === "none") delete options[name];
  const kinds = Object.values(op.operands);
  while (operands.length > 0 && operands.at(-1)?.value.kind === "none" && kinds[operands.length - 1]?.endsWith("?"))
    operands.length--;
};

/** Triton's `to` takes pointers too, and numbers that it knows. */
const converted: Adaptation = ({ op, operands, options }, node, { kernel }) => {
  const [x, dtype] = operands;
  if (!x || !dtype) return;
  const [made] = node.types;
  if (made?.kind === "pointer") return traced(`${x.value.text}.toPointer(${kernel.dtype(elementOf(node)!)})`);
  if (x.value.kind === "number" || x.value.kind === "truth") return cast(x.value, dtype.value.text);
  // A cast to the same dtype rounds nothing.
  if (elementOf(x.from) !== undefined && elementOf(x.from) === elementOf(node)) delete options["fpDowncastRounding"];
  const named = Object.entries(options).flatMap(([name, value]) => (value ? [`${name}: ${value.value.text}`] : []));
  const last = named.length > 0 ? `, { ${named.join(", ")} }` : "";
  return op.spelling.form === "method"
    ? traced(`${x.value.text}.to(${dtype.value.text}${last})`)
    : traced(`tl.${op.name}(${x.value.text}, ${dtype.value.text}${last})`);
};

/** Reductions of truth values count or compare integers. */
const reduced: Adaptation = ({ operands }, node, { kernel }) => {
  const [x] = operands;
  const made = elementOf(node);
  if (x && elementOf(x.from) === "int1" && made !== undefined && made !== "int1")
    operands[0] = replaced(x, cast(x.value, kernel.dtype(made)));
};

/** A claim that is true anyway. */
const truths: Adaptation = ({ operands }) => {
  const [condition] = operands;
  if (condition?.value.kind === "truth") return { kind: "nothing", text: "" };
};

/** Axis 0 may be left out in Triton. */
const first: Adaptation = ({ operands }) => {
  if (!operands[0]) operands[0] = { value: number(0, false) };
};

/** Options stand behind the axis, which Triton takes to be 0. */
const along: Adaptation = ({ operands, options }) => {
  if (!operands[1] && Object.values(options).some(Boolean)) operands[1] = { value: number(0, false) };
};

/** Assembly takes what follows the dtype as options. */
const packed: Adaptation = ({ operands, options }) => {
  [options["isPure"], options["pack"]] = operands.splice(4);
};

/** Hints of values that are no constants of the text: the constant that Triton met. */
const hinted: Adaptation = ({ operands }, node, { scope }) => {
  const [x, values] = operands;
  if (x?.value.kind === "number") return x.value;
  if (values?.value.kind === "traced" && constantOf(values.from) === undefined)
    scope.refuse("a hint that is no constant", node);
};

/**
 * A number that Triton knows has a dtype among the arguments of libdevice's functions: its own where there is such a
 * function, as `pow` of a float and an integer, else that of the result.
 */
const numbersTyped: Adaptation = ({ op, operands }, node, { kernel }) => {
  const made = elementOf(node);
  if (made === undefined) return;
  const own = operands.map((operand) =>
    isKnownNumber(operand) ? ownDType(operand!) : (elementOf(operand?.from) ?? ""),
  );
  const letters = own.map((dtype) => letterOf(dtype as DTypeName)).join("");
  const overloads = (libdeviceTable[op.called?.replace("libdevice.", "") as LibdeviceName] ?? "")
    .split(" ")
    .map((each) => each.split("->")[0]);
  const isExact = overloads.includes(letters);
  for (const [i, operand] of operands.entries())
    if (operand && isKnownNumber(operand))
      operands[i] = replaced(operand, cast(operand.value, kernel.dtype(isExact ? own[i]! : made)));
};

const isKnownNumber = (operand: Bound | undefined): boolean =>
  operand !== undefined && (operand.value.kind === "number" || constantKind(operand.from) !== undefined);

/** What Triton makes of a number by itself. */
const ownDType = (operand: Bound): string => (constantKind(operand.from) === "float" ? "float32" : "int32");

/** Each rule with the records that it concerns. */
const RULES: readonly (readonly [(op: Op) => boolean, Adaptation])[] = [
  [() => true, absent],
  [({ options }) => "mask" in options, masked],
  [({ options }) => "other" in options, besides],
  [({ proof }) => proof.reaches?.value !== undefined, written],
  [({ proof }) => proof.selectOperands !== undefined, chosen],
  [({ operands }) => Object.values(operands).includes("shape"), shaped],
  [({ operands }) => operands["shape"] === "shape" && operands["value"] === "value", filled],
  [({ proof }) => proof.foldSemantics?.form === "contraction", product],
  [({ proof }) => proof.foldSemantics?.form === "reduction" || proof.foldSemantics?.form === "scan", reduced],
  [({ facts, operands }) => facts.isIdentity === true && operands["dtype"] === "dtype", converted],
  [({ facts, operands }) => facts.isIdentity === true && operands["values"] === "constants", hinted],
  [({ proof }) => proof.claims !== undefined, truths],
  [({ operands }) => operands["pack"] === "constant", packed],
  [({ proof, operands }) => proof.foldSemantics?.form === "scan" && operands["axis"] === "constant?", along],
  [({ facts, operands }) => facts.queries !== undefined && operands["axis"] === "constant", first],
  [({ spelling }) => spelling.form === "call" && spelling.name.startsWith("libdevice."), numbersTyped],
];

/** Changes the arguments of a call in place, or gives the whole call. */
export function adaptCall(given: GivenArguments, node: Call, context: Context): Value | undefined {
  for (const [concerns, adapt] of RULES) {
    const value = concerns(given.op) ? adapt(given, node, context) : undefined;
    if (value) return value;
  }
  return undefined;
}
