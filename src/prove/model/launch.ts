/** A launch with symbolic parameters, and the facts that are true before the first program runs. */
import { atAxis } from "../../types/dims.js";
import { tileSizes } from "../../analysis/dtype-bindings.js";
import {
  type Argument,
  type ConstexprParam,
  type HostBlock,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Param,
  paramsOf,
  type SizeParam,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { hostBlockOf, typedArguments } from "../../ir/walk.js";
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
import { readText } from "../../types/constexpr-text.js";
import type { Dim } from "../../types/shape.js";
import { zip } from "../algebra/zip.js";
import { cacheKey } from "../../compiled/canonical-json.js";
import type { Config } from "../../compiled/compiled-kernel.js";

// Constexprs that have a constant ratio in all configs, such as `BLOCK_N = 2 * HALF_N`. One symbol represents both.

/** A constexpr as a multiple of another. */
interface ConstexprRatio {
  readonly times: number;
  readonly of: string;
}

/**
 * The constexprs that are multiples of others, by name. Constexprs with the same value in all configs are not related.
 */
function configRatios(ir: KernelIR): ReadonlyMap<string, ConstexprRatio> {
  const { configs } = ir.tuning;
  const columns = paramsOf(ir, "constexpr")
    .filter(({ from }) => from === "config")
    .flatMap(({ name }) => {
      const values = configs.map((config) => Number(config.values[name]));
      const [first] = values;
      const isRelatable = values.every((each) => Number.isInteger(each) && each >= 1) && new Set(values).size > 1;
      return first !== undefined && isRelatable ? [{ name, first, values }] : [];
    })
    .toSorted((x, y) => x.first - y.first);
  const ratios = new Map<string, ConstexprRatio>();
  columns.forEach(({ name, first, values }, i) => {
    for (const base of columns.slice(0, i)) {
      const times = first / base.first;
      if (ratios.has(base.name) || !Number.isInteger(times)) continue;
      if (!zip(values, base.values).every(([value, baseValue]) => value === times * baseValue)) continue;
      ratios.set(name, { times, of: base.name });
      return;
    }
  });
  return ratios;
}

/** The fixed values of constexprs: those of one config, or the non-symbolic ones that a group of configs shares. */
export type ConstexprAssignment = Readonly<Record<string, number | boolean | string>>;

/** The range of a program id, a lane or an iteration: from `from` to below `to`. */
export interface Range {
  readonly from: Term;
  readonly to: Term;
}

const ONE = () => number(1);
const ZERO = () => number(0);

/**
 * The values that a test case may choose for a symbol. For a tile dimension: a power of two that is at least `tile`.
 */
export type SymbolDomain = "size" | "number" | "truth" | { readonly tile: number };

/** The end of the symbol that says whether an optional parameter is given. */
export const GIVEN = " given";

export class SymbolicLaunch {
  /** The facts before a launch: signs of sizes, the author's requirements, equations of derived sizes. */
  readonly facts: Term[] = [];
  /** The number of programs along each axis. */
  readonly grid: readonly Term[];
  readonly program: readonly Term[];
  /** The symbols that a test case chooses: sizes, scalars, constexprs and the presence of optional arguments. */
  readonly chosen = new Map<string, SymbolDomain>();
  /** The requirements as terms, in source order. */
  readonly requirements: readonly Term[];
  readonly #terms = new Map<Value, Term>();
  /** The number of host values that are not modeled. */
  #unknownYields = 0;
  /** The smallest tile dimensions that a caller may pass. */
  readonly #tiles: ReadonlyMap<string, number>;
  readonly #ratios: ReadonlyMap<string, ConstexprRatio>;

  /** `multiples` replaces sizes by products: `N.mod(B).eq(0)` implies `N = B * q`. */
  constructor(
    readonly ir: KernelIR,
    readonly assignment: ConstexprAssignment,
    readonly multiples: ReadonlyMap<string, Term>,
  ) {
    this.#ratios = configRatios(ir);
    this.#tiles = new Map(tileSizes(ir).map(({ param, least }) => [param.name, least]));
    for (const param of paramsOf(ir, "tensor")) this.#bindTensor(param);
    for (const { given: presence } of paramsOf(ir, "pointer")) if (presence) this.#bindFlag(presence);
    for (const param of paramsOf(ir, "scalar"))
      if (members(param.dtype).every(isInt)) this.#terms.set(param.value, this.#symbol(param.name, "number"));
    for (const { name, value } of paramsOf(ir, "device")) {
      // Each of these properties of a GPU is at least 1, except for the minor version.
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

  /** The term of a size, scalar, constexpr, stride or host value. Undefined for other arguments. */
  term(argument: Argument): Term | undefined {
    if (isLiteral(argument)) return literalTerm(argument.value);
    if (!isValue(argument)) return undefined;
    const cached = this.#terms.get(argument);
    if (cached) return cached;
    const term = this.#termOfParam(this.ir.params.find(({ value }) => value === argument));
    if (term) this.#terms.set(argument, term);
    return term;
  }

  /** The term of a tile dimension. */
  dim(dim: Dim): Term {
    if (typeof dim === "number") return number(dim);
    try {
      return readText<Term>(dim, {
        number: (value) => integerTerm(value),
        name: (name) => this.#termOfName(name),
        neg: negative,
        not: unreadable,
        isString: () => undefined,
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
          cdiv: (x, y) => cdiv(x, y, true),
          min: (x, y) => minTerm(x, y),
          max: (x, y) => maxTerm(x, y),
          choose: (condition, x, y) => iteTerm(condition, x, y),
        },
      });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return this.#unknownDim(dim);
    }
  }

  /** The dimensions of a tensor. A size that is not modeled becomes its own symbol. */
  tensorDims({ dims, dimNames }: TensorParam): readonly Term[] {
    return dims.map((dim, i) => this.term(dim) ?? this.#unknownDim(String(dimNames[i])));
  }

  #unknownDim(text: string): Term {
    const name = `dim ${text}`;
    this.facts.push(atLeast(symbol(name), ZERO()));
    return symbol(name);
  }

  #termOfName(name: string): Term {
    const param = this.ir.params.find((candidate) => candidate.name === name && !isMemoryParam(candidate));
    return (param && this.term(param.value)) ?? unreadable();
  }

  #symbol(name: string, domain: SymbolDomain, lowerBound?: number): Term {
    const multiple = this.multiples.get(name);
    if (multiple) {
      if (lowerBound === undefined) return multiple;
      this.facts.push(atLeast(multiple, number(lowerBound)), atLeast(symbol(`${name}/`), ZERO()));
      return multiple;
    }
    this.chosen.set(name, domain);
    if (lowerBound !== undefined) this.facts.push(atLeast(symbol(name), number(lowerBound)));
    return symbol(name);
  }

  /** A boolean that a test case chooses, as a symbol that is 0 or 1. */
  #booleanSymbol(name: string): Term {
    this.chosen.set(name, "truth");
    this.facts.push(atLeast(symbol(name), ZERO()), atMost(symbol(name), ONE()));
    return equal(symbol(name), ONE());
  }

  #bindFlag(presence: Value): void {
    const name = `${presence.parameter ?? `flag ${presence.id}`}${GIVEN}`;
    this.#terms.set(presence, this.#booleanSymbol(name));
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

  #termOfParam(param: Param | undefined): Term | undefined {
    if (param?.kind === "size") return this.#termOfSize(param);
    return param?.kind === "constexpr" ? this.#termOfConstexpr(param) : undefined;
  }

  #termOfSize(param: SizeParam): Term | undefined {
    if (!param.derived) return this.#symbol(param.name, "size", 0);
    const [term] = this.host(param.derived);
    if (term === undefined) return undefined;
    // The wrapper rejects negative derived sizes.
    this.facts.push(atLeast(term, ZERO()));
    if ([...termsIn(term)].every(({ kind }) => ["number", "symbol", "sum", "product"].includes(kind))) return term;
    this.facts.push(equal(symbol(param.name), term));
    return symbol(param.name);
  }

  #termOfConstexpr(param: ConstexprParam): Term | undefined {
    const value = this.assignment[param.name];
    if (value !== undefined && param.from === "config") return literalTerm(value);
    const computed = hostBlockOf(param);
    if (computed) return this.host(computed)[0];
    if (param.of === "bool") return this.#booleanSymbol(param.name);
    if (param.of !== "int") return undefined;
    if (param.from === "config") return this.#termOfConfigConstexpr(param.name);
    const minTile = this.#tiles.get(param.name);
    if (minTile !== undefined) return this.#symbol(param.name, { tile: minTile }, minTile);
    return param.from === "dim" ? this.#symbol(param.name, "size", 0) : this.#symbol(param.name, "number");
  }

  #termOfConfigConstexpr(name: string): Term {
    const ratio = this.#ratios.get(name);
    if (ratio) return product(number(ratio.times), this.#termOfName(ratio.of));
    const lowerBound = Math.min(1, ...this.ir.tuning.configs.map(({ values }) => Number(values[name])));
    return this.#symbol(name, "number", lowerBound);
  }

  /** The terms that a host block yields. A value without a rule becomes its own symbol. */
  host({ block }: HostBlock): readonly Term[] {
    for (const statement of block.statements) {
      if (statement.kind !== "op") continue;
      const [result] = statement.results;
      if (!result || this.#terms.has(result)) continue;
      const { op, operands } = statement;
      const terms = operands.map((operand) => operand && this.term(operand));
      const termsByName = Object.fromEntries(Object.keys(op.operands).map((name, i) => [name, terms[i]]));
      const isTruth = result.type.kind === "constexpr" && result.type.of === "bool";
      const context = {
        args: typedArguments(statement),
        lane: [],
        isTruth,
        isFolded: true,
        grid: [],
        program: [],
      };
      const term = terms.every((each) => each !== undefined)
        ? op.proof.term?.(termsByName as Record<string, Term>, context)
        : undefined;
      this.#terms.set(result, term && !Array.isArray(term) ? (term as Term) : this.#unknown(result, isTruth));
    }
    return block.yields.map((argument) => this.term(argument) ?? symbol(`host yield ${this.#unknownYields++}`));
  }

  #unknown({ id }: Value, isTruth: boolean): Term {
    const value = symbol(`host ${id}`);
    return isTruth ? equal(value, ONE()) : value;
  }

  /** Adds the fact that some output is nonempty: otherwise the wrapper returns before the launch. */
  #addNonEmpty(): void {
    const outputs = tensorsOf(this.ir, "out", "inout");
    if (outputs.length === 0 || !outputs.every(({ dims }) => dims.some(isValue))) return;
    if (outputs.some(({ optional }) => optional)) return;
    const nonEmptyConditions = outputs.map((param) => this.tensorDims(param).map((dim) => atLeast(dim, ONE())));
    this.facts.push(
      ...nonEmptyConditions.reduce((shared, conditions) => shared.filter((each) => conditions.includes(each))),
    );
    // The alternatives become case splits, which are expensive and help little with tensors that are only updated.
    if (outputs.some(({ role }) => role === "out"))
      this.facts.push(...conditionsOf(orTerm(...nonEmptyConditions.map((each) => andTerm(...each)))));
  }
}

/** The launch of a kernel with these constexprs fixed. Sizes that requirements make multiples are products. */
export function symbolicLaunch(ir: KernelIR, assignment: ConstexprAssignment): SymbolicLaunch {
  let launch = new SymbolicLaunch(ir, assignment, new Map());
  for (let multiples = findMultiples(launch); multiples; multiples = findMultiples(launch))
    launch = new SymbolicLaunch(ir, assignment, multiples);
  return launch;
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
const integerTerm = (value: number): Term => (Number.isSafeInteger(value) ? number(value) : unreadable());

/** Facts about functions that the host computes. */
export function hostFacts(name: string, args: readonly Term[], value: Term): readonly Term[] {
  if (name !== NEXT_POWER) return [];
  return [atLeast(value, atAxis(args, 0)), atLeast(value, ZERO())];
}

/**
 * The sizes that requirements make multiples, as products. Undefined if there are no new ones. The divisor must be
 * provably positive. Of several divisors of a size, a symbolic block is preferred to a number, and a larger number to a
 * smaller one.
 */
function findMultiples(launch: SymbolicLaunch): ReadonlyMap<string, Term> | undefined {
  const result = new Map(launch.multiples);
  const multiples = launch.facts.flatMap((fact) => {
    if (fact.kind !== "equal") return [];
    const [lhs, rhs] = fact.operands;
    if (lhs.kind !== "floorRemainder" || rhs.kind !== "number" || rhs.value !== 0n) return [];
    const [size, divisor] = lhs.operands;
    return [{ size, divisor }];
  });
  for (const { size, divisor } of multiples.toSorted((x, y) => preferenceOf(y.divisor) - preferenceOf(x.divisor))) {
    if (size.kind !== "symbol" || !launch.chosen.has(size.name) || result.has(size.name)) continue;
    if (symbolsIn(divisor).has(size.name) || !isPositive(divisor, launch.facts)) continue;
    if ([...result.values()].some((term) => symbolsIn(term).has(size.name))) continue;
    if ([...symbolsIn(divisor)].some((name) => result.has(name))) continue;
    result.set(size.name, product(divisor, symbol(`${size.name}/`)));
  }
  return result.size > launch.multiples.size ? result : undefined;
}

const preferenceOf = ({ kind, value }: Term): number => (kind === "number" ? Number(value) : Number.MAX_SAFE_INTEGER);

/** True if the facts state directly that a term is at least 1. */
export function isPositive(term: Term, facts: readonly Term[]): boolean {
  if (term.kind === "number") return term.value >= 1n;
  if (term.kind === "product" && term.operands.every((part) => isPositive(part, facts))) return true;
  return facts.some(
    ({ kind, operands }) =>
      kind === "atMost" && operands[1] === term && operands[0].kind === "number" && operands[0].value >= 1n,
  );
}

// The variants of a kernel that one symbolic execution each covers.

interface Variant {
  readonly assignment: ConstexprAssignment;
  readonly configs: readonly Config[];
}

/**
 * The distinct constexpr assignments of configs, without integers that are at least 1 in every config, which become
 * symbols.
 */
export function variantsOf({ tuning: { configs } }: KernelIR): readonly Variant[] {
  const isSymbol = (name: string) =>
    configs.every(({ values }) => Number.isInteger(values[name]) && Number(values[name]) >= 1);
  const variants = new Map<string, { assignment: ConstexprAssignment; configs: Config[] }>();
  for (const config of configs) {
    const assignment = Object.fromEntries(Object.entries(config.values).filter(([name]) => !isSymbol(name)));
    const key = cacheKey(assignment);
    const variant = variants.get(key);
    if (variant) variant.configs.push(config);
    else variants.set(key, { assignment, configs: [config] });
  }
  return [...variants.values()];
}
