/** The environment of the symbolic execution: values, state, path condition and scope at the current point. */
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import {
  type Argument,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Value,
  type Variable,
  type PointerParam,
  type TensorParam,
} from "../../ir/nodes.js";
import { dtypeTable, type Elem, isInt, isUnsigned, members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import { atLeast, atMost, call, equal, number, symbol, type Term, substitute } from "../../symbolic/term.js";
import type { CallFacts } from "../algebra/facts.js";
import { zip } from "../algebra/zip.js";
import { hostFacts, type Range, type SymbolicLaunch } from "./launch.js";
import { atAxis } from "../../types/dims.js";

// Symbolic values: a term for each lane of a kernel's values.

/** A tile, or a scalar, of integers or truth values. */
export interface TermTile {
  readonly kind: "terms";
  readonly shape: readonly Term[];
  /** The length of the chain of tiles that evaluating a lane may recurse through. */
  readonly depth: number;
  at(lane: readonly Term[]): Term;
}

/**
 * The limit on {@link TermTile.depth}. A deeper tile is evaluated eagerly, for a symbolic lane, because lazy evaluation
 * recurses on JavaScript's stack.
 */
const MAX_LAZY_DEPTH = 200;

/** Offsets from the first element of an argument. */
export interface PointerTile {
  readonly kind: "pointer";
  readonly base: TensorParam | PointerParam;
  readonly offsets: TermTile;
}

export interface SymbolicTensor {
  readonly kind: "tensor";
  readonly param: TensorParam;
  /** The tensor's axis for each axis after permutations. */
  readonly order: readonly number[];
}

export interface SymbolicView {
  readonly kind: "view";
  readonly param: TensorParam;
  readonly shape: readonly Term[];
  /** The index of a lane on each axis of the tensor. */
  index(lane: readonly Term[]): readonly Term[];
  /** The author's reason, from `tl.trusted`. */
  readonly trusted?: string;
  /** The bounds that the view masks, for each axis of the tensor. */
  readonly masks: readonly { readonly lower: boolean; readonly upper: boolean; readonly claimed: boolean }[];
}

export interface SymbolicDescriptor {
  readonly kind: "descriptor";
  readonly param: TensorParam;
  readonly order: readonly number[];
  readonly block: readonly Term[];
}

/** `none` is a value that proofs do not model, such as a float. */
export type Symbolic =
  TermTile | PointerTile | SymbolicTensor | SymbolicView | SymbolicDescriptor | { readonly kind: "none" };

export const UNKNOWN: Symbolic = { kind: "none" };

/** A tile that memoizes its lanes. */
export function tile(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Term): TermTile {
  const cache = new Map<string, Term>();
  return {
    kind: "terms",
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let term = cache.get(key);
      if (term === undefined) cache.set(key, (term = laneAt(lane)));
      return term;
    },
  };
}

/** A tile that evaluates its operands' lanes. */
export function tileOf(shape: readonly Term[], operands: readonly TermTile[], laneAt: TermTile["at"]): TermTile {
  const depth = 1 + Math.max(0, ...operands.map((operand) => operand.depth));
  if (depth < MAX_LAZY_DEPTH) return { ...tile(shape, laneAt), depth };
  const symbolicLane = shape.map((_, axis) => symbol(`any lane ${axis}`));
  const term = laneAt(symbolicLane);
  return tile(shape, (lane) => substitute(term, laneReplacements(symbolicLane, lane)));
}

export const scalar = (term: Term): TermTile => ({ kind: "terms", shape: [], depth: 0, at: () => term });

export const isOne = (dim: Term): boolean => dim.kind === "number" && dim.value === 1n;

/** The replacements that make a symbolic lane another lane. */
export const laneReplacements = (symbolicLane: readonly Term[], lane: readonly Term[]): ReadonlyMap<string, Term> =>
  new Map(
    symbolicLane.flatMap(({ kind, name }, axis) => (kind === "symbol" ? [[name, atAxis(lane, axis)] as const] : [])),
  );

/** The names of the lanes that are symbols. */
export const namesOf = (lane: readonly Term[]): readonly string[] =>
  lane.flatMap(({ kind, name }) => (kind === "symbol" ? [name] : []));

/** The lane of an operand of this shape, for a lane of the broadcast result. */
export function broadcastLane(shape: readonly Term[], lane: readonly Term[]): readonly Term[] {
  return shape.map((dim, axis) => (isOne(dim) ? number(0) : atAxis(lane, lane.length - shape.length + axis)));
}

/** The parts of a lane that belong to each of these shapes, one after the other. */
export function splitLane(shapes: readonly (readonly Term[])[], lane: readonly Term[]): readonly (readonly Term[])[] {
  let end = 0;
  return shapes.map(({ length }) => lane.slice(end, (end += length)));
}

/** The shape that shapes broadcast to. */
export function broadcastShape(...shapes: readonly (readonly Term[])[]): readonly Term[] {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => {
    const dims = shapes.flatMap((shape) => shape[axis - (rank - shape.length)] ?? []);
    return dims.find((dim) => !isOne(dim)) ?? atAxis(dims, 0);
  });
}

export const at = (x: TermTile, lane: readonly Term[]): Term => x.at(broadcastLane(x.shape, lane));

/** The facts about a value of an uninterpreted function, from its arguments. `inProgram` is true inside a program. */
type ValueFacts = (value: Term, args: readonly Term[], inProgram: boolean) => readonly Term[];

export class Environment {
  readonly #values = new Map<Value, Symbolic>();
  readonly #names = new Map<object, number>();
  state = new Map<Variable, Symbolic>();
  /** Conditions of the enclosing branches and loops. */
  path: readonly Term[] = [];
  /** The program ids and iterations that a value may depend on. */
  scope: readonly Term[];
  /** A suffix for names that identifies the enclosing calls of helper functions. */
  calls = "";
  /** The nesting depth of trial executions. */
  trial = 0;
  /** Ranges of program ids and lanes, by symbol. */
  readonly ranges = new Map<string, Range>();
  readonly #facts = new Map<string, ValueFacts>();
  /** Invariants of loop state. Another execution of the loop may replace them. */
  readonly #invariants = new Map<string, ValueFacts>();
  /** A description of each uninterpreted function, as the author reads it. */
  readonly unknowns = new Map<string, string>();
  readonly #isNonNegative: (argument: Argument) => boolean;

  constructor(
    readonly ir: KernelIR,
    readonly launch: SymbolicLaunch,
  ) {
    this.#isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
    this.scope = launch.program.slice(0, launch.grid.length);
    for (const [{ name }, to] of zip(this.scope, launch.grid)) this.ranges.set(name, { from: number(0), to });
    for (const param of ir.params) this.#bindParam(param);
  }

  #bindParam(param: KernelIR["params"][number]): void {
    if (param.kind === "tensor") {
      const order = param.dims.map((_, axis) => axis);
      const block = param.block?.map((dim) => this.launch.term(dim) ?? this.launch.dim("unknown"));
      this.set(param.value, block ? { kind: "descriptor", param, order, block } : { kind: "tensor", param, order });
      if (!block) this.set(param.pointer, { kind: "pointer", base: param, offsets: scalar(number(0)) });
    } else if (param.kind === "pointer") {
      this.set(param.value, { kind: "pointer", base: param, offsets: scalar(number(0)) });
    }
  }

  /** A symbol for the lanes of an axis of this size. */
  lane(name: string, size: Term): Term {
    if (isOne(size)) return number(0);
    this.ranges.set(name, { from: number(0), to: size });
    return symbol(name);
  }

  /** A symbol for each axis of a shape. */
  lanes(name: string, shape: readonly Term[]): readonly Term[] {
    return shape.map((size, axis) => this.lane(`${name} ${axis}`, size));
  }

  /** A symbolic lane of a statement's first result. */
  resultLane(statement: OpStatement): readonly Term[] {
    const [result] = statement.results;
    return this.lanes(`lane ${this.nameOf(statement)}`, result ? this.shape(result.type) : []);
  }

  /** A number for a statement, a variable or a value, in the order of first use. */
  nameOf(entity: object): number {
    let index = this.#names.get(entity);
    if (index === undefined) this.#names.set(entity, (index = this.#names.size));
    return index;
  }

  set(value: Value, symbolicValue: Symbolic): void {
    this.#values.set(value, symbolicValue);
  }

  /** The value of an argument. An argument without a rule is unknown. */
  value(argument: Argument | undefined): Symbolic {
    if (argument === undefined) return UNKNOWN;
    if (isValue(argument)) {
      const cached = this.#values.get(argument);
      if (cached) return cached;
    }
    const term = this.launch.term(argument);
    if (term) return scalar(term);
    return isValue(argument) ? this.unknown(argument, `value ${argument.id}`) : UNKNOWN;
  }

  /** An argument as a tile of terms. Undefined for other values. */
  terms(argument: Argument | undefined): TermTile | undefined {
    const value = this.value(argument);
    return value.kind === "terms" ? value : undefined;
  }

  literal(argument: Argument | undefined): unknown {
    return isLiteral(argument) ? argument.value : undefined;
  }

  shape(type: Type): readonly Term[] {
    return "shape" in type ? type.shape.map((dim) => this.launch.dim(dim)) : [];
  }

  /**
   * A value without a rule: an uninterpreted function of the program ids, iterations and lanes that it may depend on.
   */
  unknown(
    value: Value,
    name: string,
    description = "a value that proofs do not follow",
    invariants: readonly ((value: Term) => Term)[] = [],
  ): Symbolic {
    const { type } = value;
    if (type.kind === "constexpr") {
      if (type.of !== "int" && type.of !== "bool") return UNKNOWN;
      const term = symbol(`constexpr ${type.text}`);
      return scalar(type.of === "bool" ? equal(term, number(1)) : term);
    }
    if (type.kind !== "tile" || !members(type.dtype).every(isInt)) return UNKNOWN;
    const key = `${name}${this.calls}`;
    const { scope } = this;
    this.declare(key, type.dtype, this.#isNonNegative(value), description);
    this.#invariants.set(key, (result) => invariants.map((invariant) => invariant(result)));
    const isTruth = type.dtype === "int1";
    return tile(this.shape(type), (lane) => {
      const term = call(key, ...scope, ...lane);
      return isTruth ? equal(term, number(1)) : term;
    });
  }

  /** An unknown truth value at this point. */
  unknownTruth(name: string): Term {
    const key = `${name}${this.calls}`;
    this.declare(key, "int1", true, "a condition that proofs do not follow");
    return equal(call(key, ...this.scope), number(1));
  }

  /** Declares an uninterpreted function with values of a dtype. */
  declare(key: string, dtype: Elem, isNonNegative: boolean, description: string): void {
    if (this.#facts.has(key)) return;
    const upperBound = Math.max(...members(dtype).map((name) => (isInt(name) ? maxOfDtype(name) : Infinity)));
    const isNonNegativeDtype =
      isNonNegative || members(dtype).every((name) => isInt(name) && (isUnsigned(name) || name === "int1"));
    this.constrain(key, (value) => [
      ...(isNonNegativeDtype ? [atLeast(value, number(0))] : []),
      ...(upperBound < 2 ** 16 ? [atMost(value, number(upperBound))] : []),
    ]);
    this.unknowns.set(key, description);
  }

  /**
   * Sets the facts about a function that represents loop state, replacing those from a previous execution of the loop.
   */
  setInvariants(key: string, facts: ValueFacts): void {
    this.#invariants.set(key, facts);
  }

  /** Adds facts about the values of an uninterpreted function, such as a declared range. */
  constrain(key: string, facts: ValueFacts): void {
    const previous = this.#facts.get(key);
    this.#facts.set(key, (...args) => [...(previous?.(...args) ?? []), ...facts(...args)]);
  }

  /** The facts about an uninterpreted function's value. */
  factsOf: CallFacts = (name, args, value, inProgram) => [
    ...hostFacts(name, args, value),
    ...(this.#facts.get(name)?.(value, args, inProgram) ?? []),
    ...(this.#invariants.get(name)?.(value, args, inProgram) ?? []),
  ];

  /** A pointer with other offsets. */
  pointer(base: PointerTile, offsets: TermTile): PointerTile {
    return { ...base, offsets };
  }
}

function maxOfDtype(name: keyof typeof dtypeTable): number {
  const { bits } = dtypeTable[name];
  return 2 ** (bits > 1 && !isUnsigned(name) ? bits - 1 : bits) - 1;
}
