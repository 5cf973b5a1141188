/**
 * Integers of a program and of its launch as expressions, so that a size that the grid computes and one that the body
 * computes are known to be equal. In exact arithmetic: overflow is excluded as it is for signs.
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
import type { IntegerSemantics } from "../symbolic/integer-semantics.js";
import { bodiesOf, hostBlockOf, definitions, hostBlocksOf } from "../ir/walk.js";
import type { Type } from "../types/types.js";

/** An op on integers, with its operands. */
export interface IntegerOp {
  readonly means: IntegerSemantics;
  readonly operands: readonly Argument[];
}

/** The product of these, each as text; in order, so that equal products are equal lists. */
export type Factors = readonly string[];

/** What is added, what is taken away, and a number. */
export interface Sum {
  readonly plus: readonly Argument[];
  readonly minus: readonly Argument[];
  readonly constant: number;
}

const DIVIDES: ReadonlySet<IntegerSemantics> = new Set(["quotient", "remainder", "blocks"]);
/** Characters of a text that is written out, and the members of a product or sum. */
const LONGEST = 400;
const MOST = 32;
const COMMUTES: ReadonlySet<IntegerSemantics> = new Set(["sum", "least", "equal"]);

export class Integers {
  readonly #made: ReadonlyMap<Value, Statement>;
  /** What the host computes of each parameter that no caller passes. */
  readonly #computed: ReadonlyMap<Value, Argument>;
  readonly #texts = new Map<Value, string>();
  /** What stands for a text that is too long: of values that are used twice each, texts grow without end. */
  readonly #short = new Map<string, string>();
  readonly #factors = new Map<Argument, Factors>();
  readonly #sums = new Map<Argument, Sum>();
  readonly #constants = new Map<Argument, readonly number[] | undefined>();
  readonly #counts = new Map<Argument, boolean>();
  /** What the launch requires to be 0 or more. */
  readonly #required = new Set<Argument>();

  constructor(readonly ir: KernelIR) {
    this.#made = definitions(...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block));
    this.#computed = new Map(
      ir.params.flatMap((param) => {
        const [yielded] = hostBlockOf(param)?.block.yields ?? [];
        return yielded === undefined ? [] : [[param.value, yielded] as const];
      }),
    );
    const noted = new Set<Argument>();
    for (const condition of ir.requires.block.yields) this.#require(condition, noted);
  }

  #require(condition: Argument, noted: Set<Argument>): void {
    if (noted.has(condition)) return;
    noted.add(condition);
    const { means, operands = [] } = this.arithmetic(condition) ?? {};
    if (means === "both") for (const each of operands) this.#require(each, noted);
    const isRising = means === "at most" || means === "below";
    const [more, less] = isRising ? operands.toReversed() : operands;
    const isOrder = isRising || means === "at least" || means === "above";
    if (isOrder && isLiteral(less) && Number(less.value) >= 0) this.#required.add(this.#origin(more!));
  }

  /** What makes a value, with casts, claims and what the host computes seen through; undefined for what is given. */
  made(argument: Argument): Statement | undefined {
    const origin = this.#origin(argument);
    return isValue(origin) ? this.#made.get(origin) : undefined;
  }

  /** The op on integers that makes a value. */
  arithmetic(argument: Argument): IntegerOp | undefined {
    const made = this.made(argument);
    if (made?.kind !== "op" || !made.op.facts.integer || !isExact(made.results[0]!.type)) return undefined;
    return { means: made.op.facts.integer, operands: made.operands.filter((each) => each !== undefined) };
  }

  /** An expression as text: the same text is the same number. */
  text(argument: Argument): string {
    const origin = this.#origin(argument);
    if (!isValue(origin)) return isLiteral(origin) ? String(origin.value) : "?";
    let text = this.#texts.get(origin);
    if (text === undefined) this.#texts.set(origin, (text = this.#shortened(this.#write(origin))));
    return text;
  }

  #shortened(text: string): string {
    if (text.length <= LONGEST) return text;
    return memoize(this.#short, text, () => `#${this.#short.size}`);
  }

  /** A product of many is one factor. */
  factors(argument: Argument): Factors {
    return memoize(this.#factors, argument, () => {
      const factors = this.#factorsOf(argument);
      return factors && factors.length <= MOST ? factors : [this.text(argument)];
    });
  }

  #factorsOf(argument: Argument): Factors | undefined {
    const made = this.arithmetic(argument);
    return made?.means === "product" ? made.operands.flatMap((each) => this.factors(each)).sort() : undefined;
  }

  /** A sum of many is one that is added. */
  sum(argument: Argument): Sum {
    return memoize(this.#sums, argument, () => {
      const sum = this.#sumOf(argument);
      return sum.plus.length + sum.minus.length <= MOST ? sum : { plus: [argument], minus: [], constant: 0 };
    });
  }

  #sumOf(argument: Argument): Sum {
    if (isLiteral(argument)) return { plus: [], minus: [], constant: Number(argument.value) };
    const { means, operands = [] } = this.arithmetic(argument) ?? {};
    const [x, y] = operands;
    if ((means !== "sum" && means !== "difference") || x === undefined || y === undefined)
      return { plus: [argument], minus: [], constant: 0 };
    const [left, right] = [this.sum(x), this.sum(y)];
    const { plus, minus, constant } =
      means === "sum" ? right : { plus: right.minus, minus: right.plus, constant: -right.constant };
    return {
      plus: [...left.plus, ...plus],
      minus: [...left.minus, ...minus],
      constant: left.constant + constant,
    };
  }

  /** Whether two lists have the same numbers, in any order. */
  areSame(left: readonly Argument[], right: readonly Argument[]): boolean {
    const texts = (list: readonly Argument[]) => list.map((each) => this.text(each)).sort();
    return texts(left).join() === texts(right).join();
  }

  /** The number in each config, where the configs alone decide it. */
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
    const made = this.#made.get(origin);
    return made?.kind === "op" ? this.#folded(made) : undefined;
  }

  #folded({ op, operands }: OpStatement): readonly number[] | undefined {
    const { fold } = op;
    if (!fold || !op.facts.integer) return undefined;
    const given = operands.map((each) => each && this.constants(each));
    if (!given.every((each) => each !== undefined)) return undefined;
    return this.ir.tuning.configs.map((_, config) => Number(fold(...given.map((each) => each[config]!))));
  }

  #origin(argument: Argument): Argument {
    if (!isValue(argument)) return argument;
    const computed = this.#computed.get(argument);
    if (computed !== undefined) return this.#origin(computed);
    const made = this.#made.get(argument);
    if (made?.kind !== "op" || !made.op.facts.isIdentity) return argument;
    const [given] = made.operands;
    return given !== undefined && isValue(given) && isLosslessIntegerCast(argument.type, given.type)
      ? this.#origin(given)
      : argument;
  }

  /** Whether it is computed of sizes and of what is required not to be negative: it is not on the host either. */
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
    const { means, operands = [] } = this.arithmetic(argument) ?? {};
    const isSafe = means !== undefined && means !== "difference";
    return isSafe && operands.every((each) => this.#isCount(each));
  }

  #write(value: Value): string {
    const made = this.arithmetic(value);
    if (!made) return `%${value.id}`;
    const factors = this.#factorsOf(value);
    if (factors) return factors.join("·");
    // Python floors and Triton truncates, which differs below 0 alone.
    if (DIVIDES.has(made.means) && !made.operands.every((each) => this.#isCount(each))) return `%${value.id}`;
    const operands = made.operands.map((each) => this.text(each));
    return canonicalText(made.means, ...(COMMUTES.has(made.means) ? operands.sort() : operands));
  }
}

/** What `known` has for a key, or else what `find` gives. */
export function memoize<K, V>(known: Map<K, V>, key: K, find: () => V): V {
  if (known.has(key)) return known.get(key)!;
  const found = find();
  known.set(key, found);
  return found;
}

/** The text of an op on integers. */
export function canonicalText(means: IntegerSemantics, ...operands: readonly string[]): string {
  return `${means}(${operands.join(", ")})`;
}

/** Whether arithmetic of this type is that of integers. In narrow or unsigned types it wraps at small numbers. */
function isExact(type: Type): boolean {
  return type.kind === "constexpr" || (type.kind === "tile" && ["int1", "int32", "int64"].includes(String(type.dtype)));
}

/** Whether an integer of one type is the same in the other. */
export function isLosslessIntegerCast(to: Type, from: Type): boolean {
  if (to.kind !== "tile") return to.kind === from.kind;
  if (from.kind === "constexpr") return from.of === "int" && (to.dtype === "int32" || to.dtype === "int64");
  return from.kind === "tile" && (to.dtype === from.dtype || (from.dtype === "int32" && to.dtype === "int64"));
}
