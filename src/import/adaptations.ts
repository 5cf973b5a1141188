/**
 * Where a call of Triton needs more than its arguments in the op's places: TileScript casts where Triton converts on its
 * own, and has no word for what changes nothing. By the op's name.
 */
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
    delete options["other"];
    return;
  }
  const element = elementOf(mask.from);
  if (mask.value.kind === "truth") options["mask"] = replaced(mask, traced("tl.full([], 0, tl.int1)"));
  else if (element !== undefined && element !== "int1")
    options["mask"] = replaced(mask, traced(`${mask.value.text}.ne(0)`));
};

/** What is written has the dtype that the pointer has. */
const written =
  (place: number): Adaptation =>
  (given, node, context) => {
    masked(given, node, context);
    const [address, value] = [given.operands[0], given.operands[place]];
    if (!address || !value) return;
    const [to, is] = [elementOf(address.from), elementOf(value.from)];
    if (value.value.kind === "truth") given.operands[place] = replaced(value, number(Number(value.value.value), false));
    else if (to !== undefined && is !== undefined && to !== is)
      given.operands[place] = replaced(value, cast(value.value, context.kernel.dtype(to)));
  };

const load: Adaptation = (given, node, context) => {
  masked(given, node, context);
  const { options, operands } = given;
  if (!options["mask"]) delete options["other"];
  const other = options["other"];
  const [to, is] = [elementOf(operands[0]?.from), elementOf(other?.from)];
  if (other?.value.kind === "truth") options["other"] = replaced(other, number(Number(other.value.value), false));
  else if (other && to !== undefined && is !== undefined && to !== is)
    options["other"] = replaced(other, cast(other.value, context.kernel.dtype(to)));
};

const where: Adaptation = ({ operands }, node, { kernel }) => {
  const [condition, x, y] = operands;
  if (!condition || !x || !y) return;
  const asked = elementOf(condition.from);
  if (asked !== undefined && asked !== "int1")
    operands[0] = replaced(condition, traced(`${condition.value.text}.ne(0)`));
  const made = elementOf(node);
  const isNumber = ({ value }: Bound): boolean => value.kind === "number" || value.kind === "truth";
  if (made === undefined) return;
  const to = kernel.dtype(made);
  if (isNumber(x) && isNumber(y)) operands[1] = replaced(x, cast(x.value, to));
  for (const [i, side] of [x, y].entries()) {
    const element = elementOf(side.from);
    if (side.value.kind === "truth") operands[i + 1] = replaced(side, cast(side.value, to));
    // A number among integers, of which Triton makes floats.
    else if (
      side.value.kind !== "number" &&
      element !== undefined &&
      element !== made &&
      constantKind(side.from) === undefined
    )
      operands[i + 1] = replaced(side, cast(side.value, to));
  }
};

/** A shape is a list: `tl.zeros((BLOCK,), …)`, `x.reshape(2, BLOCK)`, `tl.full(BLOCK, …)`. */
const shaped =
  (place: number): Adaptation =>
  ({ operands }, node, { scope }) => {
    const shape = operands[place];
    if (!shape) return;
    if (shape.value.kind === "list") return;
    if (shape.from && kindOf(shape.from) === "constant") operands[place] = replaced(shape, list([shape.value]));
    else if (kindOf(shape.from) !== "tuple") scope.refuse("a shape that is no list", node);
  };

const dot: Adaptation = (given) => {
  const { options, others, operands } = given;
  const tf32 = others["allow_tf32"];
  if (tf32?.value.kind === "truth" || tf32?.value.kind === "none") {
    if (tf32.value.kind === "truth" && !tf32.value.value) options["inputPrecision"] = { value: string("ieee") };
    delete others["allow_tf32"];
  }
  const precision = options["inputPrecision"];
  if (precision?.value.kind === "none") delete options["inputPrecision"];
  const dtype = options["outDtype"];
  if (dtype && /\.(float32|int32|float64)$/.test(dtype.value.text)) delete options["outDtype"];
  if (operands[2]?.value.kind === "none") operands.length = 2;
};

/** Triton's `to` takes pointers too, and numbers that it knows. */
const converted: Adaptation = ({ operands, options }, node, { kernel }) => {
  const [x, dtype] = operands;
  if (!x || !dtype) return;
  for (const name of ["bitcast", "fpDowncastRounding"]) if (options[name]?.value.kind === "none") delete options[name];
  const [made] = node.types;
  if (made?.kind === "pointer") return traced(`${x.value.text}.toPointer(${kernel.dtype(elementOf(node)!)})`);
  if (x.value.kind === "number" || x.value.kind === "truth") return cast(x.value, dtype.value.text);
  const named = Object.entries(options).flatMap(([name, value]) => (value ? [`${name}: ${value.value.text}`] : []));
  const last = named.length > 0 ? `, { ${named.join(", ")} }` : "";
  return traced(`${x.value.text}.to(${dtype.value.text}${last})`);
};

/** Reductions of truth values count or compare integers. */
const reduced: Adaptation = ({ operands, options }, node, { kernel }) => {
  const [x, axis] = operands;
  const made = elementOf(node);
  if (axis?.value.kind === "none") operands.length = 1;
  for (const [name, value] of Object.entries(options)) if (value?.value.kind === "none") delete options[name];
  if (x && elementOf(x.from) === "int1" && made !== undefined && made !== "int1")
    operands[0] = replaced(x, cast(x.value, kernel.dtype(made)));
};

const truths: Adaptation = ({ operands }) => {
  const [condition] = operands;
  if (condition?.value.kind === "truth") return { kind: "nothing", text: "" };
};

/** `tl.arange(0, N)`, where N may be a number that Triton alone knows. */
const first: Adaptation = ({ operands }) => {
  if (!operands[0]) operands[0] = { value: number(0, false) };
};

/** Hints of values that are no constants of the text: the constant that Triton met. */
const hinted: Adaptation = ({ operands }, node, { scope }) => {
  const [x, values] = operands;
  if (x?.value.kind === "number") return x.value;
  if (values?.value.kind === "traced" && constantOf(values.from) === undefined)
    scope.refuse("a hint that is no constant", node);
};

/** A number that Triton knows has a dtype among the arguments of libdevice's functions. */
export const numbersTyped: Adaptation = ({ operands }, node, { kernel }) => {
  const made = elementOf(node);
  if (made === undefined) return;
  for (const [i, operand] of operands.entries())
    if (operand && (operand.value.kind === "number" || constantKind(operand.from) !== undefined))
      operands[i] = replaced(operand, cast(operand.value, kernel.dtype(made)));
};

export const adaptations: Readonly<Record<string, Adaptation | undefined>> = {
  load,
  store: written(1),
  ...Object.fromEntries(
    ["atomicAdd", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor", "atomicXchg"].map((name) => [
      name,
      written(1),
    ]),
  ),
  where,
  zeros: shaped(0),
  full: shaped(0),
  reshape: shaped(1),
  view: shaped(1),
  broadcastTo: shaped(1),
  dot,
  to: converted,
  cast: converted,
  ...Object.fromEntries(["sum", "max", "min", "xorSum"].map((name) => [name, reduced])),
  argmax: reduced,
  argmin: reduced,
  cumsum: reduced,
  cumprod: reduced,
  assume: truths,
  programId: first,
  numPrograms: first,
  multipleOf: hinted,
  maxContiguous: hinted,
  maxConstancy: hinted,
};
