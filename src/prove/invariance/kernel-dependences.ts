/** What each store of a kernel writes, as dependences of its lanes, from the events of the symbolic execution. */
import { indexValues } from "../../analysis/index-values.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import {
  type Argument,
  isFunction,
  isList,
  isLiteral,
  isValue,
  operandOf,
  type OpStatement,
  type TensorParam,
  type Value,
  type Variable,
} from "../../ir/nodes.js";
import { callBindings, capturesOf } from "../../ir/walk.js";
import { asTruth, substitute, type Term } from "../../symbolic/term.js";
import { type Access, mayWrite } from "../model/accesses.js";
import { type BranchStep, type Event, type LoopStep, opEvents, type OpStep, repeatedValues } from "../model/events.js";
import type { SymbolicModel } from "../model/model.js";
import { broadcastShape, laneReplacements, scalar, type TermTile } from "../model/symbolic-environment.js";
import { type DependentTile, type LoopValues, NOTHING } from "./dependences.js";
import { visitOp } from "./op-dependences.js";

/** A write of a tensor, with the value that it stores or combines. */
export interface Write {
  readonly access: Access;
  readonly value: DependentTile;
}

const unknownTile = (
  why: string,
  at: Location | undefined,
  kind: "unknown" | "undetermined" = "unknown",
): DependentTile => ({
  ...NOTHING,
  at,
  visit: (_, __, collection) => collection.unknown(why, at, kind),
});

export class KernelDependences {
  readonly writes: Write[] = [];
  #state = new Map<Variable, DependentTile>();
  /** The accesses of enclosing loops. */
  #loopAccesses: readonly Access[] = [];
  readonly #values = new Map<Value, DependentTile>();
  /** The integers whose arithmetic `overflow` shows to be exact. */
  readonly #exact: ReadonlySet<Value>;
  readonly #repeated: ReadonlySet<Value>;

  constructor(readonly model: SymbolicModel) {
    this.#exact = indexValues(model.ir);
    this.#repeated = repeatedValues(model.flow);
  }

  run(): this {
    this.#events(this.model.flow);
    return this;
  }

  #events(events: readonly Event[]): void {
    for (const event of events) this.#event(event);
  }

  #event(event: Event): void {
    switch (event.kind) {
      case "let":
        this.#state.set(event.variable, this.tile(event.initial));
        return;
      case "read":
        this.#read(event.result, this.#state.get(event.variable));
        return;
      case "write":
        this.#state.set(event.variable, this.tile(event.value));
        return;
      case "op":
        return this.#op(event);
      case "call": {
        for (const [param, argument] of callBindings(event.statement)) this.#values.set(param, this.tile(argument));
        this.#events(event.steps);
        const { callee, statement } = event;
        statement.results.forEach((result, i) => {
          const own = this.tile(callee.body.yields[i]);
          this.#values.set(
            result,
            callee.extern ? unknownTile("a function of a Python file", statement.location) : own,
          );
        });
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

  #read(result: Value, state: DependentTile | undefined): void {
    const tile = state ?? unknownTile("a variable without a value", result.location);
    this.#values.set(result, { ...tile, terms: this.#termsOf(result) });
  }

  /** An integer's terms, if they are exact. */
  #termsOf(value: Value, terms = this.model.environment.terms(value)): TermTile | undefined {
    const isExact = value.type.kind === "constexpr" || this.#exact.has(value);
    return isExact && !this.#repeated.has(value) ? terms : undefined;
  }

  // ---- operands -------------------------------------------------------------------------------------------------------

  tile(argument: Argument | undefined): DependentTile {
    if (argument === undefined || isLiteral(argument)) return NOTHING;
    if (isList(argument)) return this.#tiles(argument);
    if (!isValue(argument)) return NOTHING;
    const own = this.#values.get(argument) ?? this.#param(argument);
    const shape = this.model.environment.shape(argument.type);
    if (own.shape.length === shape.length) return own;
    return { ...own, shape, visit: (lane, point, collection) => collection.visit(own, lane, point) };
  }

  /** Several values, each of which is needed. */
  #tiles(items: readonly Argument[]): DependentTile {
    const tiles = items.map((item) => this.tile(item)).filter((tile) => tile !== NOTHING);
    if (tiles.length === 0) return NOTHING;
    return {
      ...NOTHING,
      shape: broadcastShape(...tiles.map(({ shape }) => shape)),
      visit: (lane, point, collection) => tiles.forEach((tile) => collection.visit(tile, lane, point)),
    };
  }

  /** A param, or the index of a loop. */
  #param(value: Value): DependentTile {
    const { environment } = this.model;
    const terms = environment.terms(value);
    if (terms) return { ...NOTHING, shape: terms.shape, terms };
    const isFloat = value.parameter !== undefined && (value.type.kind === "tile" || value.type.kind === "constexpr");
    return isFloat ? NOTHING : unknownTile("a value that is not followed", value.location);
  }

  // ---- branches and loops ---------------------------------------------------------------------------------------------

  #branch({ statement, condition, then, otherwise }: BranchStep): void {
    const before = this.#state;
    const test = { ...this.tile(statement.condition), terms: scalar(condition) };
    const arm = (steps: readonly Event[], yields: readonly Argument[]) => {
      this.#state = new Map(before);
      this.#events(steps);
      return { state: this.#state, values: yields.map((each) => this.tile(each)) };
    };
    const first = arm(then.steps, condition.kind === "false" ? [] : statement.then.yields);
    const second = arm(otherwise.steps, condition.kind === "true" ? [] : statement.otherwise.yields);
    const merge = (x: DependentTile | undefined, y: DependentTile | undefined): DependentTile => {
      if (!x || !y || x === y) return x ?? y ?? unknownTile("a branch that is never taken", statement.location);
      return {
        ...NOTHING,
        shape: broadcastShape(x.shape, y.shape),
        at: statement.location,
        visit: (lane, point, collection) =>
          collection.choose(
            { tile: test, lane },
            point,
            (inner) => collection.visit(x, lane, inner),
            (inner) => collection.visit(y, lane, inner),
          ),
      };
    };
    this.#state = new Map(
      [...before.keys()].map((variable) => [
        variable,
        merge(
          then.hasExited ? undefined : first.state.get(variable),
          otherwise.hasExited ? undefined : second.state.get(variable),
        ),
      ]),
    );
    statement.results.forEach((result, i) => {
      this.#values.set(result, { ...merge(first.values[i], second.values[i]), terms: this.#termsOf(result) });
    });
  }

  #loop({ iteration, condition, variables, steps }: LoopStep): void {
    const { environment } = this.model;
    const initial = new Map(this.#state);
    const loop: LoopValues = { iteration, condition, initial, next: new Map() };
    const stateTile = (variable: Variable, visit: DependentTile["visit"]): DependentTile => ({
      shape: environment.shape(variable.type),
      terms: undefined,
      at: variable.location,
      visit,
    });
    for (const variable of variables)
      this.#state.set(
        variable,
        stateTile(variable, (lane, point, collection) => {
          collection.integer("iterations", substitute(iteration, point.iterations), variable.location);
          collection.state(loop, variable, lane, point);
        }),
      );
    const loopAccesses = this.#loopAccesses;
    this.#loopAccesses = [...loopAccesses, ...opEvents(steps).flatMap(({ access }) => access ?? [])];
    this.#events(steps);
    this.#loopAccesses = loopAccesses;
    loop.next = this.#state;
    this.#state = new Map(initial);
    for (const variable of variables)
      this.#state.set(
        variable,
        stateTile(variable, (lane, point, collection) => {
          collection.iterations(loop, point, variable.location);
          collection.state(loop, variable, lane, point);
        }),
      );
  }

  // ---- ops ------------------------------------------------------------------------------------------------------------

  #op({ statement, access, result: terms }: OpStep): void {
    if (access) return this.#access(statement, access);
    const { environment } = this.model;
    const captured = statement.operands.flatMap((each) => this.#captures(each));
    // The dims of a result decide how many lanes there are, and not what they hold.
    const operands = Object.fromEntries(
      Object.entries(statement.op.operands).map(([name, kind], i) => [
        name,
        kind.startsWith("shape") ? NOTHING : this.tile(statement.operands[i]),
      ]),
    );
    const options = this.#tiles([...Object.values(statement.options), ...captured]);
    statement.results.forEach((result, which) => {
      const shape = environment.shape(result.type);
      this.#values.set(result, {
        shape,
        terms: which === 0 ? this.#termsOf(result, terms) : undefined,
        at: statement.location,
        visit: (lane, point, collection) =>
          visitOp({ statement, result, which, shape, operands, options, terms, environment }, lane, point, collection),
      });
    });
  }

  /** The values that a function takes from around it. */
  #captures(argument: Argument | undefined): readonly Value[] {
    return isFunction(argument) ? capturesOf(argument.function) : [];
  }

  // ---- accesses -------------------------------------------------------------------------------------------------------

  #access(statement: OpStatement, access: Access): void {
    if (access.accessKind !== "load") {
      this.writes.push({ access, value: this.tile(operandOf(statement, access.memoryOperands.value)) });
      for (const each of statement.results)
        this.#values.set(each, unknownTile("the result of an atomic", statement.location, "undetermined"));
      return;
    }
    const { missing, tensor } = access;
    const why =
      missing ?? (tensor && this.#isOld(tensor) ? undefined : `${tensor?.name ?? "memory"} is read and written`);
    for (const result of statement.results)
      this.#values.set(
        result,
        why === undefined ? this.#loaded(statement, access, result) : unknownTile(why, statement.location),
      );
  }

  /**
   * True if a tensor still holds what it held before the launch. That no other program writes what this one reads is
   * what `race` shows.
   */
  #isOld(tensor: NonNullable<Access["tensor"]>): boolean {
    if (tensor.kind !== "tensor" || tensor.role === "out") return false;
    return !mayWrite([...this.writes.map(({ access }) => access), ...this.#loopAccesses], tensor);
  }

  #loaded(statement: OpStatement, access: Access, result: Value): DependentTile {
    const { axes, mask, lane: ownLane } = access;
    const tensor = access.tensor as TensorParam;
    const shape = this.model.environment.shape(result.type);
    const other = this.#padding(statement, tensor);
    return {
      shape,
      terms: this.#termsOf(result),
      at: statement.location,
      visit: (lane, point, collection) => {
        const by = laneReplacements(ownLane, lane.slice(lane.length - ownLane.length));
        const replacements = new Map([...point.iterations, ...by]);
        const at = (term: Term): Term => substitute(term, replacements);
        const element = { kind: "element", tensor, index: axes.map(({ index }) => at(index)) } as const;
        collection.decide(
          asTruth(at(mask)),
          point,
          statement.location,
          () => collection.add(element, statement.location),
          (inner) => collection.visit(other, lane, inner),
        );
      },
    };
  }

  /** What a masked lane holds. */
  #padding({ options, op, location }: OpStatement, { block, padding }: TensorParam): DependentTile {
    if (options["other"] !== undefined) return this.tile(options["other"]);
    const isPadded = options["mask"] === undefined && (op.lowering?.maskedLanes !== undefined || block !== undefined);
    return isPadded || padding === "nan" ? NOTHING : unknownTile("a lane without a value", location, "undetermined");
  }
}
