/**
 * Canonical integer expressions of a program and its launch, so that equal sizes in grid and body are recognized.
 * Arithmetic is exact: overflow is excluded as in the sign analysis.
 */
import {
  type Argument,
  isLiteral,
  isSizeParam,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import type { IntegerSemantics } from "../symbolic/term.js";
import { bodiesOf, hostBlockOf, definitions, hostBlocksOf, onlyResult } from "../ir/walk.js";
import type { Type } from "../types/types.js";

/** An op on integers, with its operands. */
export interface IntegerOp {
  readonly semantics: IntegerSemantics;
  readonly operands: readonly Argument[];
}

/** A product, as texts of its factors. They are sorted, so that equal products are equal lists. */
export type Factors = readonly string[];

/** The positive terms, the negative terms, and the constant of a sum. */
export interface Sum {
  readonly plus: readonly Argument[];
  readonly minus: readonly Argument[];
  readonly constant: number;
}

const DIVISIONS: ReadonlySet<IntegerSemantics> = new Set(["quotient", "remainder", "blocks"]);
/** The maximum length of an expression's text, and the maximum number of factors or terms. */
const MAX_TEXT_LENGTH = 400;
const MAX_OPERANDS = 32;
const COMMUTATIVE: ReadonlySet<IntegerSemantics> = new Set(["sum", "least", "equal"]);

export class Integers {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  /** The host expression of each computed parameter. */
  readonly #hostExpressions: ReadonlyMap<Value, Argument>;
  readonly #texts = new Map<Value, string>();
  /** Short names for texts that are too long. If each value is used twice, texts grow exponentially. */
  readonly #abbreviations = new Map<string, string>();
  readonly #factors = new Map<Argument, Factors>();
  readonly #sums = new Map<Argument, Sum>();
  readonly #constants = new Map<Argument, readonly number[] | undefined>();
  readonly #counts = new Map<Argument, boolean>();
  /** Values that the launch requires to be non-negative. */
  readonly #required = new Set<Argument>();

  constructor(readonly ir: KernelIR) {
    this.#definitions = definitions(...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block));
    this.#hostExpressions = new Map(
      ir.params.flatMap((param) => {
        const [yielded] = hostBlockOf(param)?.block.yields ?? [];
        return yielded === undefined ? [] : [[param.value, yielded] as const];
      }),
    );
    const visited = new Set<Argument>();
    for (const condition of ir.requires.block.yields) this.#require(condition, visited);
  }

  #require(condition: Argument, visited: Set<Argument>): void {
    if (visited.has(condition)) return;
    visited.add(condition);
    const { semantics, operands = [] } = this.arithmetic(condition) ?? {};
    if (semantics === "both") for (const operand of operands) this.#require(operand, visited);
    const isAscending = semantics === "at most" || semantics === "below";
    const [larger, smaller] = isAscending ? operands.toReversed() : operands;
    const isOrder = isAscending || semantics === "at least" || semantics === "above";
    if (isOrder && larger !== undefined && isLiteral(smaller) && Number(smaller.value) >= 0)
      this.#required.add(this.#origin(larger));
  }

  /**
   * The definition of a value, looking through casts, claims and host expressions. Undefined for arguments of the
   * launch.
   */
  definitionOf(argument: Argument): Statement | undefined {
    const origin = this.#origin(argument);
    return isValue(origin) ? this.#definitions.get(origin) : undefined;
  }

  /** The integer op that defines a value. */
  arithmetic(argument: Argument): IntegerOp | undefined {
    const definition = this.definitionOf(argument);
    if (definition?.kind !== "op" || !definition.op.facts.integer || !isExact(onlyResult(definition).type))
      return undefined;
    return {
      semantics: definition.op.facts.integer,
      operands: definition.operands.filter((each) => each !== undefined),
    };
  }

  /** The canonical text of an expression. Equal texts mean equal numbers. */
  text(argument: Argument): string {
    const origin = this.#origin(argument);
    if (!isValue(origin)) return isLiteral(origin) ? String(origin.value) : "?";
    let text = this.#texts.get(origin);
    if (text === undefined) this.#texts.set(origin, (text = this.#abbreviate(this.#write(origin))));
    return text;
  }

  #abbreviate(text: string): string {
    if (text.length <= MAX_TEXT_LENGTH) return text;
    return memoize(this.#abbreviations, text, () => `#${this.#abbreviations.size}`);
  }

  /** The factors of a product. A product with too many factors counts as a single factor. */
  factors(argument: Argument): Factors {
    return memoize(this.#factors, argument, () => {
      const factors = this.#factorsOf(argument);
      return factors && factors.length <= MAX_OPERANDS ? factors : [this.text(argument)];
    });
  }

  #factorsOf(argument: Argument): Factors | undefined {
    const arithmetic = this.arithmetic(argument);
    return arithmetic?.semantics === "product"
      ? arithmetic.operands.flatMap((each) => this.factors(each)).sort()
      : undefined;
  }

  /** The terms of a sum. A sum with too many terms counts as a single term. */
  sum(argument: Argument): Sum {
    return memoize(this.#sums, argument, () => {
      const sum = this.#sumOf(argument);
      return sum.plus.length + sum.minus.length <= MAX_OPERANDS ? sum : { plus: [argument], minus: [], constant: 0 };
    });
  }

  #sumOf(argument: Argument): Sum {
    if (isLiteral(argument)) return { plus: [], minus: [], constant: Number(argument.value) };
    const { semantics, operands = [] } = this.arithmetic(argument) ?? {};
    const [x, y] = operands;
    if ((semantics !== "sum" && semantics !== "difference") || x === undefined || y === undefined)
      return { plus: [argument], minus: [], constant: 0 };
    const [lhs, rhs] = [this.sum(x), this.sum(y)];
    const { plus, minus, constant } =
      semantics === "sum" ? rhs : { plus: rhs.minus, minus: rhs.plus, constant: -rhs.constant };
    return {
      plus: [...lhs.plus, ...plus],
      minus: [...lhs.minus, ...minus],
      constant: lhs.constant + constant,
    };
  }

  /** True if two lists contain equal numbers, in any order. */
  areSame(lhs: readonly Argument[], rhs: readonly Argument[]): boolean {
    const texts = (list: readonly Argument[]) => list.map((each) => this.text(each)).sort();
    return texts(lhs).join() === texts(rhs).join();
  }

  /** The number in each config, if it depends only on the config. */
  constants(argument: Argument): readonly number[] | undefined {
    return memoize(this.#constants, argument, () => this.#constantsOf(argument));
  }

  #constantsOf(argument: Argument): readonly number[] | undefined {
    const origin = this.#origin(argument);
    const { configs } = this.ir.tuning;
    if (isLiteral(origin)) return configs.map(() => Number(origin.value));
    if (!isValue(origin)) return undefined;
    const param = this.ir.params.find(({ value }) => value === origin);
    if (param?.kind === "constexpr" && param.from === "config" && param.of === "int")
      return configs.map(({ values }) => Number(values[param.name]));
    const definition = this.#definitions.get(origin);
    return definition?.kind === "op" ? this.#fold(definition) : undefined;
  }

  #fold({ op, operands }: OpStatement): readonly number[] | undefined {
    const { fold } = op;
    if (!fold || !op.facts.integer || !operands.every((each) => each !== undefined)) return undefined;
    return this.constantsOfAll(operands)?.map((numbers) => Number(fold(...numbers)));
  }

  /** The numbers in each config, if all of them depend only on the config. */
  constantsOfAll<const List extends readonly Argument[]>(
    list: List,
  ): readonly { readonly [K in keyof List]: number }[] | undefined {
    const constants = list.map((each) => this.constants(each));
    if (!constants.every((each) => each !== undefined)) return undefined;
    return this.ir.tuning.configs.map(
      (_, config) => constants.map((each) => each[config]) as { readonly [K in keyof List]: number },
    );
  }

  #origin(argument: Argument): Argument {
    if (!isValue(argument)) return argument;
    const hostExpression = this.#hostExpressions.get(argument);
    if (hostExpression !== undefined) return this.#origin(hostExpression);
    const definition = this.#definitions.get(argument);
    if (definition?.kind !== "op" || !definition.op.facts.isIdentity) return argument;
    const [source] = definition.operands;
    return source !== undefined && isValue(source) && isLosslessIntegerCast(argument.type, source.type)
      ? this.#origin(source)
      : argument;
  }

  /** True if it is computed from sizes and non-negative requirements. It is then non-negative on the host as well. */
  #isCount(argument: Argument): boolean {
    return memoize(this.#counts, argument, () => this.#isCountOf(argument));
  }

  #isCountOf(argument: Argument): boolean {
    const constants = this.constants(argument);
    if (constants) return constants.every((each) => each >= 0);
    const origin = this.#origin(argument);
    if (this.#required.has(origin)) return true;
    const param = this.ir.params.find(({ value }) => value === origin);
    if (param) return isSizeParam(param);
    const { semantics, operands = [] } = this.arithmetic(argument) ?? {};
    const isSafe = semantics !== undefined && semantics !== "difference";
    return isSafe && operands.every((each) => this.#isCount(each));
  }

  #write(value: Value): string {
    const arithmetic = this.arithmetic(value);
    if (!arithmetic) return `%${value.id}`;
    const factors = this.#factorsOf(value);
    if (factors) return factors.join("·");
    // Python's division floors and Triton's truncates, which differs only for negative numbers.
    if (DIVISIONS.has(arithmetic.semantics) && !arithmetic.operands.every((each) => this.#isCount(each)))
      return `%${value.id}`;
    const operands = arithmetic.operands.map((each) => this.text(each));
    return canonicalText(arithmetic.semantics, ...(COMMUTATIVE.has(arithmetic.semantics) ? operands.sort() : operands));
  }
}

/** The cached value of a key, computed by `compute` if it is missing. */
export function memoize<K, V>(cache: Map<K, V>, key: K, compute: () => V): V {
  if (cache.has(key)) return cache.get(key)!;
  const value = compute();
  cache.set(key, value);
  return value;
}

/** The canonical text of an integer op. */
export function canonicalText(semantics: IntegerSemantics, ...operands: readonly string[]): string {
  return `${semantics}(${operands.join(", ")})`;
}

/** True if arithmetic of this type counts as exact. Narrow and unsigned types wrap at small numbers. */
function isExact(type: Type): boolean {
  return type.kind === "constexpr" || (type.kind === "tile" && ["int1", "int32", "int64"].includes(String(type.dtype)));
}

/** True if a cast between these types preserves every integer. */
export function isLosslessIntegerCast(to: Type, from: Type): boolean {
  if (to.kind !== "tile") return to.kind === from.kind;
  if (from.kind === "constexpr") return from.of === "int" && (to.dtype === "int32" || to.dtype === "int64");
  return from.kind === "tile" && (to.dtype === from.dtype || (from.dtype === "int32" && to.dtype === "int64"));
}
