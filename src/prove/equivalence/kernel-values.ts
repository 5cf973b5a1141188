/** What each store of a kernel writes, as a real expression of the lane, from the events of the symbolic execution. */
import { atAxis } from "../../types/dims.js";
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  operandOf,
  type OpStatement,
  type Value,
  type Variable,
} from "../../ir/nodes.js";
import { isInt, members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import { callBindings, typedArguments } from "../../ir/walk.js";
import {
  asInteger,
  asTruth,
  atLeast,
  below,
  conditionsOf,
  difference,
  equal,
  iteTerm,
  not,
  number,
  product,
  quotient,
  substitute,
  sum,
  symbol,
  type Term,
  TRUE,
} from "../../symbolic/term.js";
import { Budget } from "../algebra/budget.js";
import { type Access, mayWrite } from "../model/accesses.js";
import { type BranchStep, type Event, type LoopStep, opEvents, type OpStep, repeatedValues } from "../model/events.js";
import { readsOldElements } from "../model/written-elements.js";
import { FactScopes } from "../model/fact-scopes.js";
import { inputElement } from "../model/input-elements.js";
import type { SymbolicModel } from "../model/model.js";
import {
  broadcastLane,
  broadcastShape,
  isOne,
  laneReplacements,
  type TermTile,
} from "../model/symbolic-environment.js";
import {
  binaryRules,
  compared,
  comparisonRules,
  exp2Of,
  type ReductionRule,
  reductionRules,
  unaryRules,
} from "./functions.js";
import { canonical, exactQuotient, mentions, STEPS } from "./integer-form.js";
import { solveLoop, stateName } from "./loops.js";
import type { Normalizer } from "./normalizer.js";
import type { Computed } from "./stability.js";
import {
  add,
  choose,
  fold,
  input,
  integer,
  multiply,
  negate,
  type Real,
  real,
  subtract,
  undefinedReal,
  zero,
  at,
  attempt,
  isIntegerType,
  lanewise,
  literalOf,
  located,
  type RealTile,
  scalarTile,
  tileOf,
  type TruthTile,
  unknownTile,
} from "./real.js";
import { ONE, rational, noRule } from "./rational.js";

/** True if tiles of a type have values: floats, and integers that do not wrap. */
const isFollowed = (type: Type, tile: RealTile | undefined): boolean =>
  tile !== undefined && (!isIntegerType(type) || tile.largest !== undefined);

/** The largest absolute value of a product of two int8. */
const LARGEST_PRODUCT = number(2 ** 14);

const isInt8 = (argument: Argument | undefined): boolean =>
  isValue(argument) && argument.type.kind === "tile" && argument.type.dtype === "int8";

const isTruthType = (type: Type): boolean => type.kind === "tile" && type.dtype === "int1";

/** Truth values of two others. */
const connectives: Readonly<Record<string, (x: TruthTile, y: TruthTile) => TruthTile>> = {
  and: (x, y) => joined(x, y, (lane, then, otherwise) => x.pick(lane, y.pick(lane, then, otherwise), otherwise)),
  or: (x, y) => joined(x, y, (lane, then, otherwise) => x.pick(lane, then, y.pick(lane, then, otherwise))),
};

const joined = (x: TruthTile, y: TruthTile, pick: TruthTile["pick"]): TruthTile => {
  const shape = broadcastShape(x.shape, y.shape);
  return { shape, pick: (lane, then, otherwise) => pick(broadcastLane(shape, lane), then, otherwise) };
};

export interface StoredValue {
  readonly access: Access;
  readonly value: RealTile;
}

export class KernelValues {
  readonly stores: StoredValue[] = [];
  /** What loops compute before the stores that were evaluated so far. */
  readonly iterations: Computed[] = [];
  state = new Map<Variable, RealTile>();
  /** The conditions of the iterations of enclosing loops. */
  #path: readonly Term[] = [];
  /** The accesses of enclosing loops. */
  #loopAccesses: readonly Access[] = [];
  readonly #values = new Map<Value, RealTile>();
  /** Integers and truth values. */
  readonly #terms = new Map<Value, TermTile>();
  readonly #comparisons = new Map<Value, TruthTile>();
  /** How large the integers of variables of loops are, by the names of their states. */
  readonly #sizes = new Map<string, Term>();
  readonly #repeated: ReadonlySet<Value>;
  /** For questions about what updated tensors hold. */
  #scopes: FactScopes | undefined;

  constructor(
    readonly model: SymbolicModel,
    readonly normalizer: () => Normalizer,
  ) {
    this.#repeated = repeatedValues(model.flow);
  }

  run(): this {
    this.events(this.model.flow);
    return this;
  }

  events(events: readonly Event[]): void {
    for (const event of events) this.#event(event);
  }

  #event(event: Event): void {
    switch (event.kind) {
      case "let":
        this.state.set(event.variable, this.tile(event.initial));
        return;
      case "read": {
        const tile = this.state.get(event.variable);
        if (tile && isFollowed(event.result.type, tile)) this.#values.set(event.result, tile);
        return;
      }
      case "write":
        this.state.set(event.variable, this.tile(event.value));
        return;
      case "op":
        return this.#op(event);
      case "call": {
        for (const [param, argument] of callBindings(event.statement)) this.#bind(param, argument);
        this.events(event.steps);
        const { yields } = event.callee.body;
        event.statement.results.forEach((result, i) => this.#bind(result, yields[i]));
        return;
      }
      case "branch":
        return this.#branch(event);
      case "loop":
        return this.#loop(event);
      default:
        return event satisfies never;
    }
  }

  #bind(target: Value, argument: Argument | undefined): void {
    this.#values.set(target, this.tile(argument));
    const comparison = isValue(argument) ? this.#comparisons.get(argument) : undefined;
    if (comparison) this.#comparisons.set(target, comparison);
    const terms = this.#termsOf(argument);
    if (terms) this.#terms.set(target, terms);
  }

  /** The integers or truth values of an argument. */
  #termsOf(argument: Argument | undefined): TermTile | undefined {
    if (!isValue(argument)) return this.model.environment.terms(argument);
    const own = this.#terms.get(argument);
    return own ?? (this.#repeated.has(argument) ? undefined : this.model.environment.terms(argument));
  }

  // ---- operands -------------------------------------------------------------------------------------------------------

  /** An argument as real values. */
  tile(argument: Argument | undefined): RealTile {
    if (argument === undefined || isList(argument)) return unknownTile("an operand that is not followed");
    if (isLiteral(argument)) return scalarTile(literalOf(argument.value));
    if (!isValue(argument)) return unknownTile("an operand that is not followed");
    const known = this.#values.get(argument);
    if (known) return known;
    const terms = this.#termsOf(argument);
    if (terms) return { shape: terms.shape, at: (lane) => integer(asInteger(terms.at(lane))) };
    if (argument.parameter !== undefined && argument.type.kind !== "pointer")
      return scalarTile(input(argument.parameter, []));
    return unknownTile("a value that is not followed");
  }

  #truth(argument: Argument | undefined): TruthTile {
    const comparison = isValue(argument) ? this.#comparisons.get(argument) : undefined;
    if (comparison) return comparison;
    const terms = this.#termsOf(argument);
    if (!terms) return { shape: [], pick: () => noRule("a condition that is not followed") };
    return {
      shape: terms.shape,
      pick: (lane, then, otherwise) => choose(asTruth(terms.at(broadcastLane(terms.shape, lane))), then, otherwise),
    };
  }

  // ---- branches and loops ---------------------------------------------------------------------------------------------

  #branch({ statement, condition, then, otherwise }: BranchStep): void {
    const before = this.state;
    const arm = (isReached: boolean, steps: readonly Event[], yields: readonly Argument[]) => {
      this.state = new Map(before);
      if (!isReached) return undefined;
      this.events(steps);
      return { state: this.state, values: yields.map((each) => this.tile(each)) };
    };
    const isFalse = (term: Term) => term.kind === "false";
    const first = arm(!isFalse(condition), then.steps, statement.then.yields);
    const second = arm(!isFalse(not(condition)), otherwise.steps, statement.otherwise.yields);
    const merge = (x: RealTile | undefined, y: RealTile | undefined): RealTile => {
      if (x && y && x !== y) return lanewise([x, y], (a, b) => choose(condition, a, b));
      return x ?? y ?? unknownTile("a branch that is never taken");
    };
    this.state = new Map(
      [...before.keys()].map((variable) => [
        variable,
        merge(
          then.hasExited ? undefined : first?.state.get(variable),
          otherwise.hasExited ? undefined : second?.state.get(variable),
        ),
      ]),
    );
    statement.results.forEach((result, i) => {
      if (!isIntegerType(result.type)) this.#values.set(result, merge(first?.values[i], second?.values[i]));
    });
  }

  #loop(loop: LoopStep): void {
    const { environment } = this.model;
    const initial = new Map(this.state);
    const variables = loop.variables.filter((each) => isFollowed(each.type, initial.get(each)));
    for (const variable of loop.variables) {
      const name = stateName(variable, loop.iteration);
      const shape = environment.shape(variable.type);
      const at = (index: readonly Term[]): Real => ({ kind: "state", name, index });
      const start: RealTile = { shape, at, largest: isIntegerType(variable.type) ? symbol(name) : undefined };
      this.state.set(variable, variables.includes(variable) ? start : unknownTile("integer state of a loop"));
    }
    const [path, loopAccesses] = [this.#path, this.#loopAccesses];
    this.#loopAccesses = [...loopAccesses, ...opEvents(loop.steps).flatMap(({ access }) => access ?? [])];
    this.#path = [...path, atLeast(loop.iteration, number(0)), ...conditionsOf(loop.condition ?? TRUE)];
    this.events(loop.steps);
    [this.#path, this.#loopAccesses] = [path, loopAccesses];
    const next = this.state;
    this.state = new Map(initial);
    const after = new Map<Variable, RealTile>();
    const largest = number(this.model.ir.limits.int32End - 1);
    for (const variable of loop.variables) {
      const shape = environment.shape(variable.type);
      const { at } = tileOf(shape, (lane) => {
        const observe = (value: Real, given: readonly Term[]) =>
          this.iterations.push({ value, given, iterations: [loop.iteration.name] });
        const solved = { loop, variables, initial, next, after, path, normalizer: this.normalizer(), observe };
        return solveLoop(solved, variable, lane);
      });
      const isInteger = isIntegerType(variable.type);
      const final: RealTile = { shape, at, largest: isInteger ? largest : undefined };
      after.set(variable, final);
      const isExact = !isInteger || this.#grows(variable, loop.iteration, initial.get(variable), next.get(variable));
      const isKnown = variables.includes(variable) && isExact;
      this.state.set(variable, isKnown ? final : unknownTile("integer state after a loop"));
    }
  }

  /** True if each iteration adds as much at most to the integers of a variable, which are then known to be small. */
  #grows(variable: Variable, iteration: Term, initial: RealTile | undefined, next: RealTile | undefined): boolean {
    const name = stateName(variable, iteration);
    const growth = next?.largest && canonical(difference(next.largest, symbol(name)));
    if (!growth || !initial?.largest || mentions(growth, name)) return false;
    this.#sizes.set(name, sum(initial.largest, product(iteration, growth)));
    return true;
  }

  // ---- ops ------------------------------------------------------------------------------------------------------------

  #op(event: OpStep): void {
    const { statement, access, result: terms } = event;
    if (access) return this.#access(statement, access);
    const [result] = statement.results;
    if (!result) return;
    if (terms && !this.#comparesReals(statement)) {
      this.#terms.set(result, terms);
      const exact = isIntegerType(result.type) ? this.#exactIntegers(statement, result) : undefined;
      if (exact) this.#values.set(result, exact);
      return;
    }
    statement.results.forEach((each, i) => {
      const connective = connectives[statement.op.name];
      if (connective && isTruthType(each.type)) {
        this.#comparisons.set(each, connective(this.#truth(statement.operands[0]), this.#truth(statement.operands[1])));
        return;
      }
      if (isIntegerType(each.type) && !(statement.op.name in comparisonRules)) {
        this.#values.set(each, unknownTile(`integers of tl.${statement.op.name}`));
        return;
      }
      this.#values.set(
        each,
        located(
          statement,
          attempt(() => this.#result(statement, each, i)),
        ),
      );
    });
  }

  /** True for a comparison of values that are no integers, and for what combines such. */
  #comparesReals({ op: { name }, operands }: OpStatement): boolean {
    const isReal = (argument: Argument | undefined) =>
      isValue(argument) && argument.type.kind === "tile" && !isIntegerType(argument.type);
    const isComparison = (argument: Argument | undefined) => isValue(argument) && this.#comparisons.has(argument);
    return (
      operands.slice(0, 2).some(name in connectives ? isComparison : isReal) &&
      name in { ...comparisonRules, ...connectives }
    );
  }

  #result(statement: OpStatement, result: Value, which: number): RealTile {
    const { op, operands } = statement;
    const { name } = op;
    const unary = unaryRules[name];
    if (unary) return lanewise([this.tile(operands[0])], unary);
    const binary = binaryRules[name];
    if (binary) return lanewise([this.tile(operands[0]), this.tile(operands[1])], binary);
    const comparison = comparisonRules[name];
    if (comparison) {
      const [x, y] = [this.tile(operands[0]), this.tile(operands[1])];
      const shape = broadcastShape(x.shape, y.shape);
      this.#comparisons.set(result, {
        shape,
        pick: (lane, then, otherwise) => {
          const own = broadcastLane(shape, lane);
          return compared(comparison, at(x, own), at(y, own), then, otherwise);
        },
      });
      return { shape, at: (lane) => compared(comparison, at(x, lane), at(y, lane), real(ONE), zero) };
    }
    const reduction = reductionRules[name];
    if (reduction) return this.#reduction(statement, result, reduction);
    if (op.facts.isIdentity === true) return this.#cast(statement);
    return this.#structural(statement, result, which);
  }

  /** A cast is the identity for real numbers. */
  #cast({ operands: [x], options }: OpStatement): RealTile {
    const { bitcast } = options;
    return bitcast === undefined || (isLiteral(bitcast) && bitcast.value === false)
      ? this.tile(x)
      : noRule("a bitcast");
  }

  #structural(statement: OpStatement, { type }: Value, which: number): RealTile {
    const { op, operands } = statement;
    const shape = this.model.environment.shape(type);
    const rulesByName: Readonly<Record<string, () => RealTile>> = {
      fma: () =>
        lanewise(
          operands.slice(0, 3).map((each) => this.tile(each)),
          (x = zero, y = zero, z = zero) => add(multiply(x, y), z),
        ),
      zeros: () => ({ shape, at: () => zero }),
      zerosLike: () => ({ shape, at: () => zero }),
      full: () => {
        const value = this.tile(operandOf(statement, "value"));
        return { shape, at: () => value.at([]) };
      },
      where: () => this.#where(statement),
      dot: () =>
        this.#dot(statement, shape, this.#operand(operandOf(statement, "a")), this.#operand(operandOf(statement, "b"))),
      dotScaled: () => this.#dot(statement, shape, this.#scaled(statement, "lhs"), this.#scaled(statement, "rhs")),
      split: () => {
        const x = this.#operand(operands[0]);
        return tileOf(shape, (lane) => x.at([...lane, number(which)]));
      },
      join: () => {
        const [x, y] = [this.#operand(operands[0]), this.#operand(operands[1])];
        return tileOf(shape, (lane) => {
          const [rest, side] = [lane.slice(0, -1), atAxis(lane, lane.length - 1)];
          return choose(equal(side, number(0)), x.at(rest), y.at(rest));
        });
      },
    };
    const rule = Object.hasOwn(rulesByName, op.name) ? rulesByName[op.name] : undefined;
    return rule ? rule() : this.#moved(statement, shape);
  }

  #where({ operands: [condition, then, otherwise] }: OpStatement): RealTile {
    const truth = this.#truth(condition);
    const [x, y] = [this.tile(then), this.tile(otherwise)];
    return tileOf(broadcastShape(truth.shape, x.shape, y.shape), (lane) => truth.pick(lane, at(x, lane), at(y, lane)));
  }

  #reduction(statement: OpStatement, { type }: Value, rule: ReductionRule): RealTile {
    if (statement.results.length > 1) noRule("the indices of a reduction");
    const { environment } = this.model;
    const x = this.#operand(operandOf(statement, "x"));
    const axisArgument = operandOf(statement, "axis");
    const axisValue = isLiteral(axisArgument) ? Number(axisArgument.value) : undefined;
    const axis = axisValue !== undefined && axisValue < 0 ? axisValue + x.shape.length : axisValue;
    const keepDims = statement.options["keepDims"];
    const isKept = isLiteral(keepDims) && keepDims.value === true;
    const folded = (dims: readonly Term[], value: (lane: readonly Term[]) => Real): Real => {
      if (rule === "minimum") return negate(fold("maximum", dims, (lane) => negate(value(lane))));
      return fold(rule, dims, value);
    };
    return tileOf(environment.shape(type), (lane) => {
      if (axis === undefined) return folded(x.shape, (inner) => x.at(inner));
      const rest = isKept ? lane.toSpliced(axis, 1) : lane;
      return folded([atAxis(x.shape, axis)], ([k = number(0)]) => x.at(rest.toSpliced(axis, 0, k)));
    });
  }

  #dot(statement: OpStatement, shape: readonly Term[], x: RealTile, y: RealTile): RealTile {
    const accArgument = operandOf(statement, "acc");
    const acc = accArgument === undefined ? undefined : this.tile(accArgument);
    const rank = shape.length;
    return tileOf(shape, (lane) => {
      const lead = lane.slice(0, rank - 2);
      const [row, column] = [atAxis(lane, rank - 2), atAxis(lane, rank - 1)];
      const sum = fold("sum", [atAxis(x.shape, rank - 1)], ([k = number(0)]) =>
        multiply(x.at([...lead, row, k]), y.at([...lead, k, column])),
      );
      return acc ? add(sum, at(acc, lane)) : sum;
    });
  }

  /** Integers of which a sum may consist. */
  #exactIntegers(statement: OpStatement, result: Value): RealTile | undefined {
    if (statement.op.name === "dot") return attempt(() => this.#integerDot(statement, result));
    const shape = this.model.environment.shape(result.type);
    return statement.op.name === "zeros" ? { shape, at: () => zero, largest: number(0) } : undefined;
  }

  /** A product of integers, which is exact if no sum of absolute products reaches the end of int32. */
  #integerDot(statement: OpStatement, { type }: Value): RealTile {
    const [a, b, acc] = ["a", "b", "acc"].map((name) => operandOf(statement, name));
    const start = acc === undefined ? number(0) : this.tile(acc).largest;
    if (!start || !isInt8(a) || !isInt8(b)) return noRule("a sum of integers that may wrap");
    const shape = this.model.environment.shape(type);
    const [x, y] = [this.#operand(a), this.#operand(b)];
    const largest = sum(start, product(atAxis(x.shape, x.shape.length - 1), LARGEST_PRODUCT));
    const dot = this.#dot(statement, shape, x, y);
    const path = this.#path.map(canonical);
    const isExact = (): boolean => {
      const bound = canonical(substitute(largest, this.#sizes));
      return this.normalizer().entailment.proves(path, canonical(below(bound, number(this.model.ir.limits.int32End))));
    };
    return {
      shape,
      largest,
      at: (lane) => (isExact() ? dot.at(lane) : noRule("a sum of integers that may wrap")),
    };
  }

  /** An operand of a product with a power of two for each group of elements along K. */
  #scaled(statement: OpStatement, side: "lhs" | "rhs"): RealTile {
    const x = this.#operand(operandOf(statement, side));
    const scale = operandOf(statement, `${side}Scale`);
    const format = operandOf(statement, `${side}Format`);
    if (!isLiteral(format) || format.value === "e2m1") return noRule("packed elements of tl.dotScaled");
    if (!isValue(scale)) return x;
    if (scale.type.kind !== "tile" || scale.type.dtype !== "uint8") return noRule("scales that are no powers of two");
    const codes = this.#operand(scale);
    const rank = x.shape.length;
    const axis = side === "lhs" ? rank - 1 : rank - 2;
    const group = exactQuotient(canonical(atAxis(x.shape, axis)), canonical(atAxis(codes.shape, rank - 1)));
    if (!group) return noRule("the size of a group of tl.dotScaled");
    return tileOf(x.shape, (lane) => {
      const row = atAxis(lane, side === "lhs" ? rank - 2 : rank - 1);
      const code = codes.at([...lane.slice(0, rank - 2), row, quotient(atAxis(lane, axis), group)]);
      return multiply(x.at(lane), { ...exp2Of(subtract(code, real(rational(127n)))), origin: "scale" });
    });
  }

  /** An operand in the shape of its type. */
  #operand(argument: Argument | undefined): RealTile {
    const tile = this.tile(argument);
    if (!isValue(argument)) return tile;
    return { shape: this.model.environment.shape(argument.type), at: (lane) => at(tile, lane) };
  }

  /** An op that moves lanes, by the rule of its record. */
  #moved(statement: OpStatement, to: readonly Term[]): RealTile {
    const { op, operands } = statement;
    const rule = op.proof.lane;
    if (!rule) return noRule(`tl.${op.name} has no rule`);
    const x = this.#operand(operands[0]);
    const context = { args: typedArguments(statement), from: x.shape, to };
    const probe = to.map((_, axis) => symbol(`any lane ${axis}`));
    if (!rule(probe, context)) noRule(`tl.${op.name} has no rule for these shapes`);
    return tileOf(to, (lane) => {
      const from = rule(lane, context) ?? noRule(`tl.${op.name} has no rule for these shapes`);
      return x.at(from.map((index, axis) => (isOne(atAxis(x.shape, axis)) ? number(0) : index)));
    });
  }

  // ---- accesses -------------------------------------------------------------------------------------------------------

  #access(statement: OpStatement, access: Access): void {
    const { missing } = access;
    if (access.accessKind !== "load") {
      const isPlain = access.accessKind === "store" && missing === undefined;
      const value = isPlain
        ? this.tile(operandOf(statement, access.memoryOperands.value))
        : unknownTile(missing ?? "an atomic update");
      this.stores.push({ access, value });
      for (const each of statement.results) this.#values.set(each, unknownTile("the result of an atomic"));
      return;
    }
    for (const result of statement.results) {
      const tile = missing === undefined ? this.#loaded(statement, access, result) : unknownTile(missing);
      this.#values.set(result, tile);
    }
  }

  /** The reason why an element that is loaded may no longer be what it was before the launch. */
  #whyChanged(load: Access): string | undefined {
    const { tensor } = load;
    if (
      tensor?.kind !== "tensor" ||
      tensor.role === "out" ||
      (tensor.role === "inout" && members(tensor.dtype).some(isInt))
    )
      return `${tensor?.name ?? "memory"} is read and written`;
    if (tensor.role === "in") return undefined;
    const above = this.stores.map(({ access }) => access);
    const earlier = [...new Set([...above, ...this.#loopAccesses])].filter((access) => mayWrite([access], tensor));
    const isOld =
      earlier.length === 0 ||
      readsOldElements(
        (this.#scopes ??= new FactScopes(this.model, new Budget(...STEPS))),
        load,
        earlier.map((write) => ({ write, isAbove: above.includes(write) })),
      );
    return isOld ? undefined : `nothing shows that a program has not yet written what it reads of ${tensor.name}`;
  }

  #loaded(statement: OpStatement, access: Access, result: Value): RealTile {
    const { tensor, axes, mask, lane: ownLane } = access;
    const shape = this.model.environment.shape(result.type);
    const changed = this.#whyChanged(access);
    if (tensor?.kind !== "tensor" || changed !== undefined) return unknownTile(changed ?? "memory");
    const other = statement.options["other"];
    const otherTile = other === undefined ? undefined : this.tile(other);
    const otherTerms = other === undefined ? undefined : this.#termsOf(other);
    const isZero = statement.op.lowering?.maskedLanes === 0 || tensor.block !== undefined;
    const isPadded = statement.options["mask"] === undefined && isZero && tensor.padding !== "nan";
    const replacementsAt = (lane: readonly Term[]) =>
      laneReplacements(ownLane, lane.slice(lane.length - ownLane.length));
    const indexAt = (by: ReadonlyMap<string, Term>) => axes.map(({ index }) => substitute(index, by));
    if (isIntegerType(result.type)) {
      const contents = inputElement(this.model.environment, tensor);
      const unknown = this.model.environment.terms(result);
      const loadedAt = (lane: readonly Term[]): Term => {
        const by = replacementsAt(lane);
        const padding = otherTerms?.at(broadcastLane(otherTerms.shape, lane)) ?? (isPadded ? number(0) : undefined);
        const value = contents(indexAt(by));
        return iteTerm(substitute(mask, by), value, padding ?? unknown?.at(lane) ?? value);
      };
      if (result.type.kind === "tile" && result.type.dtype !== "int1" && !this.#repeated.has(result))
        this.#terms.set(result, { kind: "terms", shape, depth: 0, at: loadedAt });
    }
    return tileOf(shape, (lane) => {
      const by = replacementsAt(lane);
      const outside = otherTile ? at(otherTile, lane) : undefined;
      const padding = outside ?? (isPadded ? zero : undefinedReal("a masked lane"));
      return choose(substitute(mask, by), input(tensor.name, indexAt(by)), padding);
    });
  }
}
