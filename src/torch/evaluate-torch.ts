/** Evaluates recorded torch expressions in float64. */
import type { TensorData } from "../compiled/compiled-kernel.js";
import { fail } from "../diagnostics/diagnostic.js";
import { torchCall } from "../diagnostics/catalog/reference-codes.js";
import { isFloat, unroundedDType } from "../numerics/numeric.js";
import type { DTypeName } from "../types/dtype.js";
import { UnsupportedByEvaluator, TorchError } from "./errors.js";
import { scalarArray, torchArray, type TorchArray } from "./array.js";
import { itemOf, torchAttributes } from "./attributes.js";
import { isArray, isDTypeName, type TorchValue } from "./call.js";
import { TorchIntegers } from "./integers.js";
import { isTruth } from "./facts.js";
import { bound, recordOf } from "./functions.js";
import {
  isTorchNode,
  type NumberComparison,
  type NumberOperator,
  type ReferenceInputs,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "./node.js";

export interface TorchEvaluation {
  /** Gives uniform numbers in [0, 1) to the functions that draw. */
  readonly random?: () => number;
  /** The values of some nodes that are known already. */
  readonly given?: ReadonlyMap<TorchNode, TensorData>;
  /** Casts to floats change nothing. */
  readonly unrounded?: boolean;
  /** Called where a cast to a float may round. */
  readonly onRounding?: () => void;
}

/**
 * The values of expressions, one for each node.
 *
 * @throws NotEvaluated if a function has no record.
 * @throws TileScriptError at the author's call of what PyTorch would refuse, such as shapes that do not fit.
 */
export function evaluateReference(
  nodes: readonly TorchNode[],
  inputs: ReferenceInputs,
  options: TorchEvaluation = {},
): readonly TorchArray[] {
  const evaluation = new Evaluation(inputs, options);
  return nodes.map((node) => evaluation.tensor(node));
}

/** The values of expressions for some inputs. A node is computed once, however often it is used. */
class Evaluation {
  readonly #inputs: ReferenceInputs;
  readonly #random: (() => number) | undefined;
  readonly #values: Map<TorchNode, TorchValue>;
  /** Inputs, which have a node wherever the author writes them. */
  readonly #arrays = new Map<string, TorchArray>();

  readonly #integers = new TorchIntegers();
  readonly #unrounded: boolean;
  readonly #onRounding: (() => void) | undefined;

  constructor(inputs: ReferenceInputs, { random, given = new Map(), unrounded = false, onRounding }: TorchEvaluation) {
    this.#inputs = inputs;
    this.#random = random;
    this.#unrounded = unrounded;
    this.#onRounding = onRounding;
    this.#values = new Map([...given].map(([node, tensor]) => [node, arrayOf(tensor)]));
  }

  tensor(node: TorchNode): TorchArray {
    const result = this.#value(node);
    if (isArray(result)) return result;
    if (typeof result === "number") return scalarArray(result);
    throw new UnsupportedByEvaluator("the reference gives no tensor");
  }

  #value(node: TorchNode): TorchValue {
    if (this.#values.has(node)) return this.#values.get(node);
    const result = this.#compute(node);
    this.#values.set(node, result);
    return result;
  }

  #argument(given: TorchArgument): TorchValue {
    if (isTorchNode(given)) return this.#value(given);
    return typeof given === "object" && given !== null ? given.map((item) => this.#argument(item)) : given;
  }

  #compute(node: TorchNode): TorchValue {
    switch (node.kind) {
      case "input":
        return this.#input(node.name);
      case "dtype":
        return this.#dtype(node.name);
      case "attribute":
        return this.#attribute(node.of, node.name);
      case "item":
        return itemOf(this.#value(node.of), node.index);
      case "arithmetic": {
        const [x, y] = node.args.map((side) => Number(this.#argument(side)));
        return arithmetic[node.operator](x!, y!);
      }
      case "comparison": {
        const [x, y] = node.args.map((side) => this.#argument(side));
        return comparison[node.operator](x as number, y as number);
      }
      case "choice":
        return this.#argument(this.#value(node.condition) ? node.then : node.otherwise);
      case "launched":
        throw new UnsupportedByEvaluator("a kernel's output stands outside its operator");
      case "otherwise":
        return this.#value(node.of) ?? this.#argument(node.fallback);
      case "call":
      case "method":
        return located(node, () => this.#call(node));
      default:
        return node satisfies never;
    }
  }

  #input(name: string): TorchValue {
    const given = this.#inputs[name];
    if (given === undefined) throw new UnsupportedByEvaluator(`the reference uses ${name}, which has no value here`);
    if (given === null || typeof given !== "object") return given;
    const known = this.#arrays.get(name) ?? this.#integers.of(arrayOf(given), given.dtype as DTypeName);
    this.#arrays.set(name, known);
    return known;
  }

  #attribute(of: TorchNode, name: string): TorchValue {
    if (name === "device") return "cpu";
    if (name === "dtype" && of.kind === "input")
      return this.#dtype((this.#inputs[of.name] as TensorData).dtype as DTypeName);
    if (!Object.hasOwn(torchAttributes, name))
      throw new UnsupportedByEvaluator(`the reference uses .${name}, which cannot be evaluated here`);
    return torchAttributes[name]!.run(this.#value(of));
  }

  #dtype(name: DTypeName): DTypeName {
    if (this.#unrounded) return unroundedDType(name);
    if (isFloat(name)) this.#onRounding?.();
    return name;
  }

  #call(call: TorchCall): TorchValue {
    const record = recordOf(call);
    if (!record) throw new UnsupportedByEvaluator(`the reference uses ${call.name}, which cannot be evaluated here`);
    const given = bound(call, record);
    const entries = Object.entries(given).map(([param, argument]) => {
      const value = argument === undefined ? undefined : this.#argument(argument);
      // A constexpr that is a dtype comes by its name.
      return [param, param === "dtype" && isDTypeName(value) ? this.#dtype(value) : value] as const;
    });
    if (record.casts && isFloat(record.casts)) {
      const [[, input]] = entries as [(typeof entries)[number]];
      if (this.#unrounded) return isArray(input!) ? this.#integers.of(input, record.casts) : input;
      this.#onRounding?.();
    }
    const values = Object.fromEntries(entries);
    const isLeftOut = (param: string): boolean =>
      values[param] === undefined || (param === record.rest && (values[param] as readonly unknown[]).length === 0);
    const missing = record.needs?.find(isLeftOut);
    if (missing !== undefined) throw new TorchError(`it needs ${missing}`);
    const random = record.draws && this.#random ? this.#random : notRandom(call.name);
    const target = record.casts ?? (record.castsTo && values[record.castsTo]);
    const cast = this.#integers.cast(values["input"], target);
    if (cast) return cast;
    const isLiteral = (param: string): boolean => !isTorchNode(given[param]);
    const operands = this.#integers.operands(record, values, isLiteral);
    const result = record.run(operands, random, (param) => isTruth(given[param], this.#inputs));
    return typeof result !== "number" && isArray(result)
      ? this.#integers.result(record, operands, isLiteral, result)
      : result;
  }
}

/** What PyTorch would refuse is an error at the author's call. */
function located<R>({ name, at }: TorchCall, compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    if (error instanceof TorchError) fail(torchCall(name, error.message), at);
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
    throw new UnsupportedByEvaluator(`the reference draws random numbers with ${name}; those belong into inputs`);
  };
}

function arrayOf({ shape, data }: TensorData): TorchArray {
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  return torchArray(shape, isBig ? Float64Array.from(data, Number) : new Float64Array(data));
}
