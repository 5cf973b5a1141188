/** A launch for any shape: each parameter as a term, and what holds of them before the first program runs. */
import { tileSizes } from "../../analysis/tile-sizes.js";
import {
  type Argument,
  type ConstexprParam,
  type HostBlock,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  paramsOf,
  type SizeParam,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { typedArguments } from "../../ir/typed.js";
import { hostBlockOf } from "../../ir/walk.js";
import {
  andTerm,
  atLeast,
  atMost,
  cdiv,
  iteTerm,
  conditionsOf,
  equal,
  maxTerm,
  minTerm,
  negative,
  NEXT_POWER,
  number,
  product,
  quotient,
  remainder,
  orTerm,
  sum,
  symbol,
  symbolsIn,
  type Term,
  termsIn,
  truth,
} from "../../symbolic/term.js";
import { isInt, members } from "../../types/dtype.js";
import { readText } from "../../types/constexpr-value.js";
import type { Dim } from "../../types/shape.js";
import { configRatios, type ConstexprRatio } from "./config-ratios.js";

/** Constexprs whose value is fixed: those of one config, or those that all configs share a kind of. */
export type ConstexprAssignment = Readonly<Record<string, number | boolean | string>>;

/** A variable that each program, turn or lane has its own value of, from `from` to below `to`. */
export interface Range {
  readonly from: Term;
  readonly to: Term;
}

const ONE = () => number(1);
const ZERO = () => number(0);

/** What a case may choose for a symbol: for a tile's dimension a power of two that is at least this. */
export type SymbolDomain = "size" | "number" | "truth" | { readonly tile: number };

export class SymbolicLaunch {
  /** What holds before a launch: signs of sizes, the author's requirements, equations of derived sizes. */
  readonly facts: Term[] = [];
  /** The number of programs along each axis. */
  readonly grid: readonly Term[];
  readonly program: readonly Term[];
  /** Symbols of sizes, scalars, constexprs and what is given: what a case chooses. */
  readonly chosen = new Map<string, SymbolDomain>();
  /** Requirements as terms, in the author's order. */
  readonly requirements: readonly Term[];
  readonly #terms = new Map<Value, Term>();
  /** How many values of the host are not followed. */
  #yields = 0;
  /** The smallest tile dimensions that a caller may pass. */
  readonly #tiles: ReadonlyMap<string, number>;
  readonly #ratios: ReadonlyMap<string, ConstexprRatio>;

  /** `multiples` replaces a size by a product: of `N.mod(B).eq(0)` follows `N = B * q`. */
  constructor(
    readonly ir: KernelIR,
    readonly assigned: ConstexprAssignment,
    readonly multiples: ReadonlyMap<string, Term>,
  ) {
    this.#ratios = configRatios(ir);
    this.#tiles = new Map(tileSizes(ir).map(({ param, least }) => [param.name, least]));
    for (const param of paramsOf(ir, "tensor")) this.#bindTensor(param);
    for (const { given } of paramsOf(ir, "pointer")) if (given) this.#bindFlag(given);
    for (const param of paramsOf(ir, "scalar"))
      if (members(param.dtype).every(isInt)) this.#terms.set(param.value, this.#symbol(param.name, "number"));
    for (const { name, value } of paramsOf(ir, "device")) {
      // Every GPU has one of each, but the minor version.
      this.facts.push(atLeast(symbol(`device.${name}`), number(name === "minor" ? 0 : 1)));
      this.#terms.set(value, symbol(`device.${name}`));
    }
    this.requirements = this.host(ir.requires);
    for (const requirement of this.requirements) this.facts.push(...conditionsOf(requirement));
    this.#addNonEmpty();
    this.grid = this.host(ir.grid);
    this.program = [0, 1, 2].map((axis) => (axis < this.grid.length ? symbol(`program ${axis}`) : ZERO()));
    for (const param of [...paramsOf(ir, "size"), ...paramsOf(ir, "constexpr")]) this.term(param.value);
  }

  /** The term of a size, scalar or constexpr, of a stride, or of what the host computes; undefined for others. */
  term(argument: Argument): Term | undefined {
    if (isLiteral(argument)) return literalTerm(argument.value);
    if (!isValue(argument)) return undefined;
    const known = this.#terms.get(argument);
    if (known) return known;
    const param = this.ir.params.find(({ value }) => value === argument);
    const term =
      param?.kind === "size" ? this.#ofSize(param) : param?.kind === "constexpr" ? this.#ofConstexpr(param) : undefined;
    if (term) this.#terms.set(argument, term);
    return term;
  }

  /** The term of a tile's dimension. */
  dim(dim: Dim): Term {
    if (typeof dim === "number") return number(dim);
    try {
      return readText<Term>(dim, {
        number: (value) => whole(value),
        name: (name) => this.#named(name),
        neg: negative,
        not: unreadable,
        isWord: () => undefined,
        binary: {
          "+": (x, y) => sum(x, y),
          "-": (x, y) => sum(x, negative(y)),
          "*": (x, y) => product(x, y),
          "//": (x, y) => quotient(x, y, true),
          "%": (x, y) => remainder(x, y, true),
          "/": unreadable,
          "<": unreadable,
          "<=": unreadable,
          ">": unreadable,
          ">=": unreadable,
          "==": unreadable,
          "!=": unreadable,
        },
        call: {
          cdiv: (x, y) => cdiv(x!, y!, true),
          min: (x, y) => minTerm(x!, y!),
          max: (x, y) => maxTerm(x!, y!),
          choose: (condition, x, y) => iteTerm(condition!, x!, y!),
        },
      });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return this.#unknownDim(dim);
    }
  }

  /** A tensor's dimension; a size that no proof follows is a symbol of its own. */
  tensorDims({ dims, dimNames }: TensorParam): readonly Term[] {
    return dims.map((dim, i) => this.term(dim) ?? this.#unknownDim(String(dimNames[i])));
  }

  #unknownDim(text: string): Term {
    const name = `dim ${text}`;
    this.facts.push(atLeast(symbol(name), ZERO()));
    return symbol(name);
  }

  #named(name: string): Term {
    const param = this.ir.params.find((each) => each.name === name && !isMemoryParam(each));
    return (param && this.term(param.value)) ?? unreadable();
  }

  #symbol(name: string, choice: SymbolDomain, least?: number): Term {
    const replaced = this.multiples.get(name);
    if (replaced) {
      if (least === undefined) return replaced;
      this.facts.push(atLeast(replaced, number(least)), atLeast(symbol(`${name}/`), ZERO()));
      return replaced;
    }
    this.chosen.set(name, choice);
    if (least !== undefined) this.facts.push(atLeast(symbol(name), number(least)));
    return symbol(name);
  }

  /** A truth value that a case chooses, as a symbol that is 0 or 1. */
  #truth(name: string): Term {
    this.chosen.set(name, "truth");
    this.facts.push(atLeast(symbol(name), ZERO()), atMost(symbol(name), ONE()));
    return equal(symbol(name), ONE());
  }

  #bindFlag(given: Value): void {
    const name = `${given.parameter ?? `flag ${given.id}`} given`;
    this.#terms.set(given, this.#truth(name));
  }

  #bindTensor(param: TensorParam): void {
    if (param.given) this.#bindFlag(param.given);
    param.strides.forEach((stride, axis) => {
      if (!isValue(stride) || this.ir.params.some(({ value }) => value === stride)) return;
      const name = strideName(param, axis);
      this.facts.push(atLeast(symbol(name), ZERO()));
      this.#terms.set(stride, symbol(name));
    });
  }

  #ofSize(param: SizeParam): Term | undefined {
    if (!param.derived) return this.#symbol(param.name, "size", 0);
    const [term] = this.host(param.derived);
    if (term === undefined) return undefined;
    // The wrapper refuses others.
    this.facts.push(atLeast(term, ZERO()));
    if ([...termsIn(term)].every(({ kind }) => ["number", "symbol", "sum", "product"].includes(kind))) return term;
    this.facts.push(equal(symbol(param.name), term));
    return symbol(param.name);
  }

  #ofConstexpr(param: ConstexprParam): Term | undefined {
    const value = this.assigned[param.name];
    if (value !== undefined && param.from === "config") return literalTerm(value);
    const computed = hostBlockOf(param);
    if (computed) return this.host(computed)[0];
    if (param.of === "bool") return this.#truth(param.name);
    if (param.of !== "int") return undefined;
    if (param.from === "config") return this.#ofConfig(param.name);
    const tile = this.#tiles.get(param.name);
    if (tile !== undefined) return this.#symbol(param.name, { tile }, tile);
    return param.from === "dim" ? this.#symbol(param.name, "size", 0) : this.#symbol(param.name, "number");
  }

  #ofConfig(name: string): Term {
    const ratio = this.#ratios.get(name);
    if (ratio) return product(number(ratio.times), this.#named(ratio.of));
    const least = Math.min(1, ...this.ir.tuning.configs.map(({ values }) => Number(values[name])));
    return this.#symbol(name, "number", least);
  }

  /** What a host block yields; a value without a rule is a symbol of its own. */
  host({ block }: HostBlock): readonly Term[] {
    for (const statement of block.statements) {
      if (statement.kind !== "op") continue;
      const [result] = statement.results;
      if (!result || this.#terms.has(result)) continue;
      const { op, operands } = statement;
      const terms = operands.map((operand) => operand && this.term(operand));
      const named = Object.fromEntries(Object.keys(op.operands).map((name, i) => [name, terms[i]]));
      const isTruth = result.type.kind === "constexpr" && result.type.of === "bool";
      const context = {
        args: typedArguments(statement),
        lane: [],
        truth: isTruth,
        folded: true,
        grid: [],
        program: [],
      };
      const term = terms.every((each) => each !== undefined)
        ? op.proof.term?.(named as Record<string, Term>, context)
        : undefined;
      this.#terms.set(result, term && !Array.isArray(term) ? (term as Term) : this.#unknown(result, isTruth));
    }
    return block.yields.map((argument) => this.term(argument) ?? symbol(`host yield ${this.#yields++}`));
  }

  #unknown({ id }: Value, isTruth: boolean): Term {
    const value = symbol(`host ${id}`);
    return isTruth ? equal(value, ONE()) : value;
  }

  /** A launch where all that is written is empty never happens: the wrapper returns before it. */
  #addNonEmpty(): void {
    const written = tensorsOf(this.ir, "out", "inout");
    if (written.length === 0 || !written.every(({ dims }) => dims.some(isValue))) return;
    if (written.some(({ optional }) => optional)) return;
    const nonEmpty = written.map((param) => this.tensorDims(param).map((dim) => atLeast(dim, ONE())));
    const [first, ...others] = nonEmpty;
    this.facts.push(...first!.filter((filled) => others.every((each) => each.includes(filled))));
    // Which of several has elements makes cases, which cost more than they tell of what is updated.
    if (written.some(({ role }) => role === "out"))
      this.facts.push(...conditionsOf(orTerm(...nonEmpty.map((each) => andTerm(...each)))));
  }
}

export const strideName = ({ name }: TensorParam, axis: number): string => `${name}.stride(${axis})`;

function literalTerm(value: number | bigint | boolean | string): Term | undefined {
  if (typeof value === "boolean") return truth(value);
  if (typeof value === "bigint") return number(value);
  return typeof value === "number" && Number.isSafeInteger(value) ? number(value) : undefined;
}

class Unreadable extends Error {}
function unreadable(): never {
  throw new Unreadable();
}
const whole = (value: number): Term => (Number.isSafeInteger(value) ? number(value) : unreadable());

/** What holds of functions that the host computes. */
export function hostFacts(name: string, given: readonly Term[], value: Term): readonly Term[] {
  if (name !== NEXT_POWER) return [];
  const [x] = given;
  return [atLeast(value, x!), atLeast(value, ZERO())];
}

/**
 * The sizes that a requirement makes multiples, as products; undefined if there is none besides those known. The divisor is
 * certainly positive. Of several for one size, a block says more than a number, and a larger number more than a smaller one.
 */
export function findMultiples(launch: SymbolicLaunch): ReadonlyMap<string, Term> | undefined {
  const found = new Map(launch.multiples);
  const multiples = launch.facts.flatMap((fact) => {
    const [left, zero] = fact.parts;
    const isMultiple = fact.kind === "equal" && zero!.kind === "number" && zero!.value === 0n;
    return isMultiple && left!.kind === "floorRemainder" ? [{ size: left!.parts[0]!, divisor: left!.parts[1]! }] : [];
  });
  for (const { size, divisor } of multiples.toSorted((x, y) => rankOf(y.divisor) - rankOf(x.divisor))) {
    if (size.kind !== "symbol" || !launch.chosen.has(size.name) || found.has(size.name)) continue;
    if (symbolsIn(divisor).has(size.name) || !isPositive(divisor, launch.facts)) continue;
    if ([...found.values()].some((term) => symbolsIn(term).has(size.name))) continue;
    if ([...symbolsIn(divisor)].some((name) => found.has(name))) continue;
    found.set(size.name, product(divisor, symbol(`${size.name}/`)));
  }
  return found.size > launch.multiples.size ? found : undefined;
}

const rankOf = ({ kind, value }: Term): number => (kind === "number" ? Number(value) : Number.MAX_SAFE_INTEGER);

/** Whether the facts say outright that a number is at least 1. */
export function isPositive(term: Term, facts: readonly Term[]): boolean {
  if (term.kind === "number") return term.value >= 1n;
  if (term.kind === "product" && term.parts.every((part) => isPositive(part, facts))) return true;
  return facts.some(
    ({ kind, parts }) => kind === "atMost" && parts[1] === term && parts[0]!.kind === "number" && parts[0]!.value >= 1n,
  );
}
