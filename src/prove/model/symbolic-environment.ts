/** What the values and the state of a kernel are while its body is followed, and where in it that is. */
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import { type Argument, isLiteral, isValue, type KernelIR, type Value, type Variable } from "../../ir/nodes.js";
import { dtypeTable, type Elem, isInt, isUnsigned, members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import { atLeast, atMost, call, equal, number, symbol, type Term } from "../../symbolic/term.js";
import type { CallFacts } from "../algebra/facts.js";
import { hostFacts, type Range, type SymbolicLaunch } from "./launch.js";
import { isOne, UNKNOWN, type PointerTile, scalar, type Symbolic, type TermTile, tile } from "./symbolic.js";

/** What holds of a value of an unknown function, given its arguments, and whether that is where a program runs. */
type ValueFacts = (value: Term, given: readonly Term[], inProgram: boolean) => readonly Term[];

export class Environment {
  readonly #values = new Map<Value, Symbolic>();
  readonly #names = new Map<object, number>();
  state = new Map<Variable, Symbolic>();
  /** Conditions of the enclosing branches and loops. */
  path: readonly Term[] = [];
  /** The programs and turns that a value may depend on. */
  scope: readonly Term[];
  /** Which calls of helper functions led here. */
  calls = "";
  /** Whether a body is followed only to see how its state changes. */
  trial = 0;
  /** Ranges of program ids and lanes, by symbol. */
  readonly ranges = new Map<string, Range>();
  readonly #facts = new Map<string, ValueFacts>();
  /** What holds besides of state in all turns of its loop. A loop that is followed again may say more of it. */
  readonly #invariants = new Map<string, ValueFacts>();
  /** What each unknown function stands for, in words. */
  readonly unknowns = new Map<string, string>();
  readonly #isNonNegative: (argument: Argument) => boolean;

  constructor(
    readonly ir: KernelIR,
    readonly launch: SymbolicLaunch,
  ) {
    this.#isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
    this.scope = launch.program.slice(0, launch.grid.length);
    launch.grid.forEach((to, axis) => this.ranges.set(launch.program[axis]!.name, { from: number(0), to }));
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

  /** A number for a statement, a variable or a value, in the order in which they are met. */
  nameOf(of: object): number {
    let name = this.#names.get(of);
    if (name === undefined) this.#names.set(of, (name = this.#names.size));
    return name;
  }

  set(value: Value, to: Symbolic): void {
    this.#values.set(value, to);
  }

  /** An argument's value; what has no rule is unknown. */
  value(argument: Argument | undefined): Symbolic {
    if (argument === undefined) return UNKNOWN;
    if (isValue(argument)) {
      const known = this.#values.get(argument);
      if (known) return known;
    }
    const term = this.launch.term(argument);
    if (term) return scalar(term);
    return isValue(argument) ? this.unknown(argument, `value ${argument.id}`) : UNKNOWN;
  }

  /** An argument as a tile of terms, if it is one. */
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

  /** A value without a rule: a function of the programs, turns and lanes that it may depend on. */
  unknown(
    value: Value,
    name: string,
    words = "a value that proofs do not follow",
    holds: readonly ((value: Term) => Term)[] = [],
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
    this.declare(key, type.dtype, this.#isNonNegative(value), words);
    this.#invariants.set(key, (found) => holds.map((each) => each(found)));
    const isTruth = type.dtype === "int1";
    return tile(this.shape(type), (lane) => {
      const term = call(key, ...scope, ...lane);
      return isTruth ? equal(term, number(1)) : term;
    });
  }

  /** An unknown truth value of this place. */
  unknownTruth(name: string): Term {
    const key = `${name}${this.calls}`;
    this.declare(key, "int1", true, "a condition that proofs do not follow");
    return equal(call(key, ...this.scope), number(1));
  }

  /** Names an unknown function, whose values have a dtype. */
  declare(key: string, dtype: Elem, isNonNegative: boolean, words: string): void {
    if (this.#facts.has(key)) return;
    const most = Math.max(...members(dtype).map((name) => (isInt(name) ? mostOf(name) : Infinity)));
    const natural =
      isNonNegative || members(dtype).every((name) => isInt(name) && (isUnsigned(name) || name === "int1"));
    this.constrain(key, (value) => [
      ...(natural ? [atLeast(value, number(0))] : []),
      ...(most < 2 ** 16 ? [atMost(value, number(most))] : []),
    ]);
    this.unknowns.set(key, words);
  }

  /** Says what holds of an unknown function that stands for state, in place of what was said when its loop was followed before. */
  hold(key: string, facts: ValueFacts): void {
    this.#invariants.set(key, facts);
  }

  /** Says what holds of the values of an unknown function, for instance because a parameter declares it. */
  constrain(key: string, facts: ValueFacts): void {
    const before = this.#facts.get(key);
    this.#facts.set(key, (...of) => [...(before?.(...of) ?? []), ...facts(...of)]);
  }

  /** What holds of an unknown function's value. */
  factsOf: CallFacts = (name, given, value, inProgram) => [
    ...hostFacts(name, given, value),
    ...(this.#facts.get(name)?.(value, given, inProgram) ?? []),
    ...(this.#invariants.get(name)?.(value, given, inProgram) ?? []),
  ];

  /** A pointer with other offsets. */
  pointer(to: PointerTile, offsets: TermTile): PointerTile {
    return { ...to, offsets };
  }
}

function mostOf(name: keyof typeof dtypeTable): number {
  const { bits } = dtypeTable[name];
  return 2 ** (bits > 1 && !isUnsigned(name) ? bits - 1 : bits) - 1;
}
