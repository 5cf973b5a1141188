/** Evaluates recorded torch expressions in float64. */
import type { TensorData } from "../compiled/compiled-kernel.js";
import { fail } from "../diagnostics/diagnostic.js";
import { torchCall } from "../diagnostics/catalog/reference-codes.js";
import { type DTypeName, dtypeTable, type IntName, isInt, isSigned } from "../types/dtype.js";
import {
  scalarArray,
  torchArray,
  type TorchArray,
  type TorchValue,
  UnsupportedByEvaluator,
  TorchError,
  type Args,
} from "./array.js";
import { isArray, isDTypeName, type TorchFunction } from "./record.js";
import { bindArguments, recordOf, itemOf, torchAttributes, isTruth } from "./functions.js";
import {
  isTorchNode,
  type NumberComparison,
  type NumberOperator,
  type ReferenceInputs,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "./node.js";
import { wrapInteger, isFloat, unroundedDType } from "../numerics/numeric-int.js";

// Integers in references. References are evaluated in float64, where integers do not wrap and are exact only up to
// 2^53. This module tracks integer dtypes by PyTorch's promotion rules, and wraps results that leave their dtype.

/** True if an argument is a literal of the author. */
type IsLiteral = (param: string) => boolean;

class TorchIntegers {
  readonly #dtypes = new WeakMap<TorchArray, IntName>();

  /**
   * Marks an array as integers of a dtype, if its values are integers. Values out of range wrap.
   *
   * @throws UnsupportedByEvaluator if the integers are not exact.
   */
  withDType(x: TorchArray, dtype: DTypeName): TorchArray {
    if (!isInt(dtype)) return this.#dtypes.has(x) ? torchArray(x.shape, x.data) : x;
    // NaN, such as the remainder of a division by 0, is not an integer.
    if (!x.data.every(Number.isInteger)) return x;
    const wrap = wrapInteger(dtype);
    const wrapped = x.data.map((value) => Number(wrap(value)));
    // A negative number wraps to a large uint64.
    if (![x.data, wrapped].every((data) => data.every(Number.isSafeInteger)))
      throw new UnsupportedByEvaluator(`the reference computes ${dtype} beyond 2^53, which only PyTorch does exactly`);
    const fits = wrapped.every((value, i) => value === x.data[i]);
    // An array has one dtype, so another dtype needs a copy.
    const result = fits && (this.#dtypes.get(x) ?? dtype) === dtype ? x : torchArray(x.shape, wrapped);
    this.#dtypes.set(result, dtype);
    return result;
  }

  /**
   * The arguments of a function, with integers in their promoted dtype. Zero-dimensional tensors do not affect
   * promotion.
   */
  promoteOperands({ integers = [] }: TorchFunction, args: Args, isLiteral: IsLiteral): Args {
    const dtype = this.#promotedDType(integers, args, isLiteral);
    if (!dtype) return args;
    const cast = (value: TorchValue): TorchValue =>
      this.#isNarrowed(value, dtype) ? this.withDType(value, dtype) : value;
    return { ...args, ...Object.fromEntries(integers.map((param) => [param, cast(args[param])])) };
  }

  /** A cast between integer dtypes, which drops high bits. Undefined for other casts. */
  cast(x: TorchValue, dtype: TorchValue): TorchArray | undefined {
    const isIntegerCast = isArray(x) && this.#dtypes.has(x) && isDTypeName(dtype) && isInt(dtype) && dtype !== "int1";
    return isIntegerCast ? this.withDType(x, dtype) : undefined;
  }

  /** The result of a call with PyTorch's integer dtype. If the dtype is unknown, the result stays as computed. */
  result(record: TorchFunction, args: Args, isLiteral: IsLiteral, x: TorchArray): TorchArray {
    // An array that a function returns unchanged may now be floats.
    return this.withDType(x, this.#dtypeOf(record, args, isLiteral) ?? "float64");
  }

  #dtypeOf(record: TorchFunction, args: Args, isLiteral: IsLiteral): DTypeName | undefined {
    const { params, castDType, isView, truth, integers, isWidening } = record;
    if (castDType) return castDType;
    if (isDTypeName(args["dtype"])) return args["dtype"];
    if (truth === "always") return "int1";
    const promoted = this.#promotedDType(isView ? params.slice(0, 1) : (integers ?? []), args, isLiteral);
    return isWidening && (promoted || integers?.length === 0) ? "int64" : promoted;
  }

  #promotedDType(params: readonly string[], args: Args, isLiteral: IsLiteral): IntName | undefined {
    // A fraction promotes integers to floats. So does a caller's float, even without a fraction.
    const isFloat = (param: string) =>
      typeof args[param] === "number" && !(isLiteral(param) && Number.isInteger(args[param]));
    if (params.some(isFloat)) return undefined;
    const arrays = params.flatMap((param) => arraysIn(args[param]));
    return promote(arrays.map((each) => ({ rank: each.shape.length, dtype: this.#dtypes.get(each) })));
  }

  #isNarrowed(value: TorchValue, dtype: IntName): value is TorchArray {
    const currentDType = isArray(value) ? this.#dtypes.get(value) : undefined;
    return currentDType !== undefined && currentDType !== "int1" && currentDType !== dtype;
  }
}

function arraysIn(value: TorchValue): readonly TorchArray[] {
  if (isArray(value)) return [value];
  return Array.isArray(value) ? value.flatMap(arraysIn) : [];
}

interface Operand {
  readonly rank: number;
  readonly dtype: IntName | undefined;
}

/** PyTorch's promotion of integers. Undefined if a dtype is unknown, or if PyTorch has no common dtype. */
function promote(operands: readonly Operand[]): IntName | undefined {
  if (operands.some(({ dtype }) => dtype === undefined)) return undefined;
  // Zero-dimensional tensors do not widen others.
  const decidingOperands = operands.some(({ rank }) => rank > 0) ? operands.filter(({ rank }) => rank > 0) : operands;
  const dtypes = [
    ...new Set(decidingOperands.flatMap(({ dtype }) => (dtype === undefined || dtype === "int1" ? [] : [dtype]))),
  ];
  if (dtypes.length <= 1) return dtypes[0];
  const signed = dtypes.filter(isSigned).sort((a, b) => dtypeTable[b].bits - dtypeTable[a].bits);
  const [widest, ...others] = signed;
  const unsigned = dtypes.filter((dtype) => !isSigned(dtype));
  if (!widest || unsigned.some((dtype) => dtype !== "uint8")) return undefined;
  return unsigned.length > 0 && widest === "int8" && others.length === 0 ? "int16" : widest;
}

export interface EvaluationOptions {
  /** Returns uniform numbers in [0, 1), for random functions. */
  readonly random?: () => number;
  /** Values of nodes that are already computed. */
  readonly values?: ReadonlyMap<TorchNode, TensorData>;
  /** True if casts to floats have no effect. */
  readonly unrounded?: boolean;
  /** Called for each cast to a float that may round. */
  readonly onRounding?: () => void;
}

/**
 * The values of expressions, one per node.
 *
 * @throws UnsupportedByEvaluator if a function is not in the table.
 * @throws TileScriptError at the author's call if PyTorch would reject it, for example because shapes do not match.
 */
export function evaluateReference(
  nodes: readonly TorchNode[],
  inputs: ReferenceInputs,
  options: EvaluationOptions = {},
): readonly TorchArray[] {
  const evaluation = new TorchEvaluation(inputs, options);
  return nodes.map((node) => evaluation.tensor(node));
}

/** Evaluates expressions for given inputs. Each node is evaluated once. */
export class TorchEvaluation {
  readonly #inputs: ReferenceInputs;
  readonly #random: (() => number) | undefined;
  readonly #values: Map<TorchNode, TorchValue>;
  /** Arrays of inputs by name, because each use of an input has its own node. */
  readonly #arrays = new Map<string, TorchArray>();

  readonly #integers = new TorchIntegers();
  readonly #unrounded: boolean;
  readonly #onRounding: (() => void) | undefined;

  constructor(
    inputs: ReferenceInputs,
    { random, values = new Map(), unrounded = false, onRounding }: EvaluationOptions,
  ) {
    this.#inputs = inputs;
    this.#random = random;
    this.#unrounded = unrounded;
    this.#onRounding = onRounding;
    this.#values = new Map([...values].map(([node, tensor]) => [node, arrayOf(tensor)]));
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

  #argument(argument: TorchArgument): TorchValue {
    if (isTorchNode(argument)) return this.#value(argument);
    return typeof argument === "object" && argument !== null ? argument.map((item) => this.#argument(item)) : argument;
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
        const [x, y] = node.args;
        return arithmetic[node.operator](Number(this.#argument(x)), Number(this.#argument(y)));
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
        return withLocation(node, () => this.#call(node));
      default:
        return node satisfies never;
    }
  }

  #input(name: string): TorchValue {
    const input = this.#inputs[name];
    if (input === undefined) throw new UnsupportedByEvaluator(`the reference uses ${name}, which has no value here`);
    if (input === null || typeof input !== "object") return input;
    const tensor = this.#arrays.get(name) ?? this.#integers.withDType(arrayOf(input), input.dtype as DTypeName);
    this.#arrays.set(name, tensor);
    return tensor;
  }

  #attribute(node: TorchNode, name: string): TorchValue {
    if (name === "device") return "cpu";
    if (name === "dtype" && node.kind === "input")
      return this.#dtype((this.#inputs[node.name] as TensorData).dtype as DTypeName);
    const attribute = Object.hasOwn(torchAttributes, name) ? torchAttributes[name] : undefined;
    if (!attribute) throw new UnsupportedByEvaluator(`the reference uses .${name}, which cannot be evaluated here`);
    return attribute.run(this.#value(node));
  }

  #dtype(name: DTypeName): DTypeName {
    if (this.#unrounded) return unroundedDType(name);
    if (isFloat(name)) this.#onRounding?.();
    return name;
  }

  #call(call: TorchCall): TorchValue {
    const record = recordOf(call);
    if (!record) throw new UnsupportedByEvaluator(`the reference uses ${call.name}, which cannot be evaluated here`);
    const args = bindArguments(call, record);
    const entries = Object.entries(args).map(([param, argument]) => {
      const value = argument === undefined ? undefined : this.#argument(argument);
      // The value of a dtype constexpr is its name.
      return [param, param === "dtype" && isDTypeName(value) ? this.#dtype(value) : value] as const;
    });
    if (record.castDType && isFloat(record.castDType)) {
      const [[, input]] = entries as [(typeof entries)[number]];
      if (this.#unrounded) return isArray(input) ? this.#integers.withDType(input, record.castDType) : input;
      this.#onRounding?.();
    }
    const values = Object.fromEntries(entries);
    const isOmitted = (param: string): boolean =>
      values[param] === undefined || (param === record.variadic && (values[param] as readonly unknown[]).length === 0);
    const missing = record.required?.find(isOmitted);
    if (missing !== undefined) throw new TorchError(`it needs ${missing}`);
    const random = record.isRandom && this.#random ? this.#random : notRandom(call.name);
    const target = record.castDType ?? (record.dtypeParam && values[record.dtypeParam]);
    const cast = this.#integers.cast(values["input"], target);
    if (cast) return cast;
    const isLiteral = (param: string): boolean => !isTorchNode(args[param]);
    const operands = this.#integers.promoteOperands(record, values, isLiteral);
    const result = record.run(operands, random, (param) => isTruth(args[param], this.#inputs));
    return typeof result !== "number" && isArray(result)
      ? this.#integers.result(record, operands, isLiteral, result)
      : result;
  }
}

/** Reports calls that PyTorch would reject at the author's location. */
function withLocation<R>({ name, at: location }: TorchCall, compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    if (error instanceof TorchError) fail(torchCall(name, error.message), location);
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
