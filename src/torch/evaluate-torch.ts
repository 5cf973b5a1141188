/** Evaluates recorded torch expressions in float64. */
import type { TensorData } from "../contract/compiled.js";
import { fail } from "../diagnostics/diagnostic.js";
import { torchCall } from "../diagnostics/catalogue/reference-codes.js";
import { NotEvaluated, TorchRefuses } from "./not-evaluated.js";
import {
  isTorchNode,
  type NumberComparison,
  type NumberOperator,
  type TorchArgument,
  type TorchNode,
} from "./torch-node.js";
import { isArray, type TorchFunction, type TorchValue } from "./torch-call.js";
import { torchFunctions } from "./torch-functions.js";
import { isTruth } from "./torch-truth.js";
import { scalarArray, torchArray, transpose, type TorchArray } from "./torch-array.js";

/** Tensors, and sizes, scalars and constexprs, by name; null for a tensor that was left out. */
export type ReferenceInputs = Readonly<Record<string, TensorData | number | boolean | string | null>>;

/**
 * The values of expressions, one for each node. `random` gives uniform numbers in [0, 1) to those that draw; `given` has
 * the values of some nodes already.
 *
 * @throws NotEvaluated if a function is not known here.
 * @throws TileScriptError at the author's call of what PyTorch would refuse, such as shapes that do not fit.
 */
export function evaluateReference(
  nodes: readonly TorchNode[],
  inputs: ReferenceInputs,
  random?: () => number,
  given: ReadonlyMap<TorchNode, TensorData> = new Map(),
): readonly TorchArray[] {
  const arrays = new Map<string, TorchArray>();
  const known = new Map<TorchNode, TorchValue>(
    [...given].map(([node, tensor]) => [node, torchArray(tensor.shape, float64s(tensor))]),
  );

  function inputNamed(name: string): TorchValue {
    const given = inputs[name];
    if (given === undefined) throw new NotEvaluated(`the reference uses ${name}, which has no value here`);
    if (given === null || typeof given !== "object") return given;
    let array = arrays.get(name);
    if (!array) arrays.set(name, (array = torchArray(given.shape, float64s(given))));
    return array;
  }

  /** A node is computed once, however often it is used. */
  function value(node: TorchNode): TorchValue {
    if (known.has(node)) return known.get(node);
    const result = compute(node);
    known.set(node, result);
    return result;
  }

  function compute(node: TorchNode): TorchValue {
    switch (node.kind) {
      case "input":
        return inputNamed(node.name);
      case "dtype":
        return node.name;
      case "attribute":
        return attribute(node.of, node.name);
      case "item":
        return item(node.of, node.index);
      case "arithmetic": {
        const [x, y] = node.args.map((side) => Number(argument(side)));
        return arithmetic[node.operator](x!, y!);
      }
      case "comparison": {
        const [x, y] = node.args.map(argument);
        return comparison[node.operator](x as number, y as number);
      }
      case "choice":
        return argument(value(node.condition) ? node.then : node.otherwise);
      case "launched":
        throw new NotEvaluated("a kernel's output stands outside its operator");
      case "otherwise":
        return value(node.of) ?? argument(node.fallback);
      case "call":
      case "method":
        return located(node, () => call(node.name, node.args, node.keywords));
      default:
        return node satisfies never;
    }
  }

  function attribute(of: TorchNode, name: string): TorchValue {
    if (name === "device") return "cpu";
    if (name === "dtype" && of.kind === "input") return (inputs[of.name] as TensorData).dtype;
    const x = value(of);
    if (isArray(x) && name === "T") return transpose(x, 0, 1);
    if (isArray(x) && name === "mT") return transpose(x, -2, -1);
    if (isArray(x) && name === "shape") return x.shape;
    if (!isArray(x) && (name === "values" || name === "indices")) return item(of, name === "values" ? 0 : 1);
    throw new NotEvaluated(`the reference uses .${name}, which cannot be evaluated here`);
  }

  function item(of: TorchNode, index: number): TorchValue {
    const list = value(of);
    if (!Array.isArray(list) || index >= list.length)
      throw new NotEvaluated(`the reference takes item ${index} of what has no such item`);
    return (list as readonly TorchValue[])[index];
  }

  function argument(given: TorchArgument): TorchValue {
    if (isTorchNode(given)) return value(given);
    return typeof given === "object" && given !== null ? given.map(argument) : given;
  }

  function call(
    name: string,
    args: readonly TorchArgument[],
    keywords: Readonly<Record<string, TorchArgument>>,
  ): TorchValue {
    const key = name.replace("nn.functional.", "");
    if (!Object.hasOwn(torchFunctions, key))
      throw new NotEvaluated(`the reference uses ${name}, which cannot be evaluated here`);
    const f = torchFunctions[key]!;
    const given: Readonly<Record<string, TorchArgument | undefined>> = { ...bind(name, f, args), ...keywords };
    for (const keyword of Object.keys(keywords))
      if (!f.params.includes(keyword))
        throw new NotEvaluated(`the reference gives ${name} ${keyword}, which cannot be evaluated here`);
    const values = Object.entries(given).map(([param, x]) => [param, x === undefined ? x : argument(x)] as const);
    return f.run(Object.fromEntries(values), random ?? notRandom(name), (param) => isTruth(given[param], inputs));
  }

  return nodes.map((node) => {
    const result = value(node);
    if (isArray(result)) return result;
    if (typeof result === "number") return scalarArray(result);
    throw new NotEvaluated("the reference gives no tensor");
  });
}

function located<R>({ name, at }: Extract<TorchNode, { kind: "call" | "method" }>, compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    if (error instanceof TorchRefuses) fail(torchCall(name, error.message), at);
    throw error;
  }
}

/** Python's operators on numbers. */
const arithmetic: Readonly<Record<NumberOperator, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  floorDiv: (x, y) => Math.floor(x / y),
  mod: (x, y) => x - y * Math.floor(x / y),
  pow: (x, y) => x ** y,
};

/** Python's comparisons of numbers and of strings. */
const comparison: Readonly<Record<NumberComparison, (x: number, y: number) => boolean>> = {
  eq: (x, y) => x === y,
  ne: (x, y) => x !== y,
  lt: (x, y) => x < y,
  le: (x, y) => x <= y,
  gt: (x, y) => x > y,
  ge: (x, y) => x >= y,
};

function notRandom(name: string): () => never {
  return () => {
    throw new NotEvaluated(`the reference draws random numbers with ${name}; those belong into inputs`);
  };
}

function float64s({ data }: TensorData): Float64Array {
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  return isBig ? Float64Array.from(data, Number) : new Float64Array(data);
}

function bind(
  name: string,
  { params, rest }: TorchFunction,
  args: readonly TorchArgument[],
): Record<string, TorchArgument | undefined> {
  const bound: Record<string, TorchArgument | undefined> = {};
  params.forEach((param, i) => (bound[param] = args[i]));
  const more = args.slice(params.length);
  if (rest !== undefined) bound[rest] = more;
  else if (more.length > 0)
    throw new NotEvaluated(`the reference gives ${name} ${args.length} arguments, which cannot be evaluated here`);
  return bound;
}
