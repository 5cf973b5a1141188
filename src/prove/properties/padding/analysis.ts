/** Follows what lanes hold through a kernel, and notes where a lane that a mask left out meets others, or is stored. */
import {
  isFunction,
  isList,
  isLiteral,
  type Argument,
  type OpStatement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { argumentsOf, handedOver, valuesIn } from "../../../ir/walk.js";
import { typedArguments } from "../../../ir/typed.js";
import { ANY_VALUE, type NumberClasses, EMPTY, POISON, POSITIVE } from "../../../symbolic/number-class.js";
import { FALSE, number, symbolsIn, type Term } from "../../../symbolic/term.js";
import type { Type } from "../../../types/types.js";
import type { FactScopes } from "../../model/fact-scopes.js";
import { type Diagram, DecisionDiagrams, dependsOn, pathsOf, unionOf } from "./decision-diagrams.js";
import type { BranchStep, CallStep, LoopStep, OpStep, Event } from "../../model/events.js";
import { genericClasses, abstractLane, type AbstractLane, mayBePoison, classesFrom } from "./abstract-lane.js";
import { withDepth, broadcastAbstractLane, type AbstractTile, heldTile, MAX_LAZY_DEPTH } from "./abstract-tile.js";
import { assume, entails } from "../../algebra/interpret.js";
import type { SymbolicModel } from "../../model/model.js";
import { MemoryTransfer } from "./memory.js";
import { ElementwiseTransfer } from "./elementwise.js";
import { FoldTransfer } from "./folds.js";
import { literalKind } from "./literals.js";

import { broadcastShape, isOne } from "../../model/symbolic.js";

/** Where lanes that a mask left out meet others, or are stored. */
export interface PaddingLeak {
  readonly statement: OpStatement;
  /** What they hold that changes the result: kinds of numbers, or nothing. */
  readonly holds: NumberClasses;
  /** What must hold for it to happen, in the programs, turns and lanes that are named. */
  readonly given: readonly Term[];
  readonly variables: readonly string[];
}

/** What padding does in a model of a kernel. */
export class PaddingLanes {
  readonly diagrams = new DecisionDiagrams();
  /** The folds and accesses that lanes reach which a mask left out. */
  readonly maskedUses = new Set<OpStatement>();
  readonly leaks = new Map<OpStatement, PaddingLeak>();
  /** The values whose padding is right because the author says so. */
  readonly waived = new Map<OpStatement, string>();
  readonly #values = new Map<Value, AbstractTile>();
  #state = new Map<Variable, AbstractTile>();
  /** The state that a loop's body keeps. */
  readonly #settled = new Map<readonly Event[], ReadonlyMap<Variable, Diagram>>();
  /** Where lanes without a value were last put together with others. */
  origin: Pick<PaddingLeak, "given" | "variables"> | undefined;
  #trial = 0;
  readonly #possible = new Map<string, boolean>();
  readonly #folds: FoldTransfer;
  readonly #accesses: MemoryTransfer;
  readonly #lanewise: ElementwiseTransfer;

  constructor(
    readonly model: SymbolicModel,
    readonly contexts: FactScopes,
  ) {
    this.#folds = new FoldTransfer(this);
    this.#accesses = new MemoryTransfer(this);
    this.#lanewise = new ElementwiseTransfer(this);
    this.#follow(model.flow);
  }

  #follow(steps: readonly Event[]): void {
    for (const step of steps)
      switch (step.kind) {
        case "op":
          this.#op(step);
          break;
        case "let":
          this.#state.set(step.variable, this.held(step.initial, step.variable.type));
          break;
        case "read": {
          const tile = this.#state.get(step.variable);
          if (tile) this.#values.set(step.result, tile);
          break;
        }
        case "write":
          this.#state.set(step.variable, this.held(step.value, step.variable.type));
          break;
        case "call":
          this.#call(step);
          break;
        case "branch":
          this.#branch(step);
          break;
        case "loop":
          this.#loop(step);
          break;
        default:
          step satisfies never;
      }
  }

  // ---- values ---------------------------------------------------------------------------------------------------------

  /** What an argument holds; a literal takes the dtype beside it. */
  held(argument: Argument | undefined, beside: Type): AbstractTile {
    if (isLiteral(argument)) return this.constant([], abstractLane("plain", literalKind(argument.value, beside)));
    const value = argument !== undefined && "kind" in argument && argument.kind === "value" ? argument : undefined;
    const known = value && this.#values.get(value);
    if (known) return known;
    const isSize = this.model.ir.params.some((param) => param.value === value && param.kind === "size");
    const type: Type = value?.type ?? beside;
    return this.constant(
      this.model.environment.shape(type),
      abstractLane("plain", isSize ? POSITIVE : genericClasses(type)),
    );
  }

  constant(shape: readonly Term[], of: AbstractLane): AbstractTile {
    const end = this.diagrams.end(of);
    return { shape, depth: 0, at: () => end };
  }

  /** The programs, turns and lanes that conditions speak of. */
  variables({ scope }: Pick<OpStep, "scope">, conditions: readonly Term[]): readonly string[] {
    const { ranges } = this.model.environment;
    return [...scope, ...[...symbolsIn(...conditions)].filter((name) => ranges.has(name) && !scope.includes(name))];
  }

  /** Whether nothing shows that conditions contradict each other where a step stands. */
  isPossible(step: OpStep, conditions: readonly Term[]): boolean {
    const key = [...step.path, ...conditions].map(({ id }) => id).join();
    let possible = this.#possible.get(key);
    if (possible === undefined) {
      const { contexts } = this;
      contexts.budget.refill();
      const known = contexts.onPath(step.path, step.scope).child();
      const lanes = this.variables(step, conditions).slice(step.scope.length);
      for (const fact of [...contexts.rangesOf(lanes), ...conditions]) assume(known, fact);
      this.#possible.set(key, (possible = !entails(known, FALSE)));
    }
    return possible;
  }

  /** Whether a body is followed only to see how its state changes: nothing is noted. */
  get isTrial(): boolean {
    return this.#trial > 0;
  }

  /** Notes that left-out lanes reach a fold or an access, and what of them changes it. */
  note(step: OpStep, conditions: readonly Term[] | undefined, holds: NumberClasses): void {
    const { statement } = step;
    if (conditions && (holds & POISON) !== 0 && statement.op.proof.foldSemantics)
      this.origin = { given: [...step.path, ...conditions], variables: this.variables(step, conditions) };
    this.maskedUses.add(statement);
    if (!conditions || this.leaks.has(statement)) return;
    const given = [...step.path, ...conditions];
    const variables = this.variables(step, conditions);
    this.leaks.set(statement, { statement, holds, given, variables });
  }

  // ---- ops ------------------------------------------------------------------------------------------------------------

  #op(step: OpStep): void {
    const { statement, access } = step;
    const { op, results } = statement;
    if (access) {
      const [result] = results;
      const loaded = this.#accesses.reach(step);
      if (result && loaded) this.#values.set(result, loaded);
      return;
    }
    const made = op.lowering?.view
      ? this.#view(step)
      : op.proof.lane
        ? this.#moved(step)
        : op.proof.foldSemantics
          ? this.#folds.fold(step)
          : op.proof.selectOperands
            ? this.#lanewise.picked(step)
            : op.proof.trustedOperand
              ? this.#lanewise.trusted(step)
              : op.proof.classTransfer || op.facts.lanewise || op.facts.isIdentity
                ? this.#lanewise.lanewise(step)
                : this.#unknown(step);
    results.forEach((result, i) => {
      const tile = (i === 0 ? made : undefined) ?? this.#unknown(step, result);
      const given = argumentsOf(statement).flatMap((argument) => valuesIn(argument));
      if (tile) this.#values.set(result, this.#flat(result, tile, ...given.map((value) => this.#values.get(value))));
    });
  }

  /** The tile that these make, computed at once if it is a deep one. */
  #flat(as: Value | Variable, tile: AbstractTile, ...of: readonly (AbstractTile | undefined)[]): AbstractTile {
    const made = withDepth(tile, ...of);
    if (made.depth < MAX_LAZY_DEPTH) return made;
    const { shape } = made;
    const lanes = this.model.environment.lanes(`any of ${this.model.environment.nameOf(as)}`, shape);
    return this.#stateTile({ shape, lanes }, made.at(lanes));
  }

  /** The operands that are values, by name. */
  operands({ statement }: OpStep): ReadonlyMap<string, AbstractTile> {
    const { op, operands, results } = statement;
    const type = results[0]?.type ?? { kind: "none" };
    const found = new Map<string, AbstractTile>();
    Object.keys(op.operands).forEach((name, i) => {
      const operand = operands[i];
      if (operand !== undefined && !isList(operand) && isOfValues(operand)) found.set(name, this.held(operand, type));
    });
    return found;
  }

  #moved(step: OpStep): AbstractTile | undefined {
    const { op, results } = step.statement;
    const [operand] = this.operands(step).values();
    const [result] = results;
    if (!operand || !result) return undefined;
    const [from, to] = [operand.shape, this.model.environment.shape(result.type)];
    const context = { args: typedArguments(step.statement), from, to };
    const rule = (lane: readonly Term[]) =>
      op.proof.lane!(lane, context)?.map((each, axis) => (isOne(from[axis]!) ? number(0) : each));
    if (rule(to.map(() => number(0))) === undefined) return undefined;
    return heldTile(to, (lane) => operand.at(rule(lane)!));
  }

  /** The indices of a view: each spans axes of its own, or all broadcast. */
  #view({ statement }: OpStep): AbstractTile | undefined {
    const [, given] = statement.operands;
    const [result] = statement.results;
    if (!isList(given) || !result) return undefined;
    const tiles = given.map((index) => this.held(index, { kind: "none" }));
    const isGrid = statement.op.lowering!.view === "grid";
    let first = 0;
    const starts = tiles.map(({ shape }) => (first += shape.length) - shape.length);
    const shape = isGrid ? tiles.flatMap((each) => each.shape) : broadcastShape(...tiles.map((each) => each.shape));
    return heldTile(shape, (lane) =>
      this.diagrams.join(
        ...tiles.map((tile, i) =>
          isGrid ? tile.at(lane.slice(starts[i], starts[i]! + tile.shape.length)) : broadcastAbstractLane(tile, lane),
        ),
      ),
    );
  }

  /**
   * An op without a rule: numbers in general, or nothing if a lane of an operand holds nothing. Any lane may be one of those
   * that a mask left out of an operand.
   */
  #unknown(step: OpStep, result: Value | undefined = step.statement.results[0]): AbstractTile | undefined {
    if (!result) return undefined;
    const nothing = argumentsOf(step.statement).some((argument) => this.unsetIn(step, argument) !== undefined);
    // A scan has a lane for each of its operand's; of other folds the result is data.
    const { foldSemantics: folds } = step.statement.op.proof;
    const left = folds && folds.form !== "scan" && folds.form !== "normalization" ? EMPTY : this.#leftIn(step);
    const kinds = genericClasses(result.type) | (nothing ? POISON : EMPTY);
    const padding = left === EMPTY || step.statement.op.proof.moves ? left : ANY_VALUE;
    return this.constant(
      this.model.environment.shape(result.type),
      abstractLane("live", kinds) | abstractLane("left", padding),
    );
  }

  /** The numbers that left-out lanes of an op's operands may hold. */
  #leftIn(step: OpStep): NumberClasses {
    const values = argumentsOf(step.statement).flatMap((argument) => valuesIn(argument));
    const paths = values.flatMap((value) => {
      const tile = this.#values.get(value);
      return tile ? pathsOf(tile.at(this.model.environment.lanes(`any ${value.id}`, tile.shape))) : [];
    });
    return paths
      .filter(({ held: of, conditions }) => classesFrom(of, "left") !== EMPTY && this.isPossible(step, conditions))
      .reduce((kinds, { held: of }) => kinds | (classesFrom(of, "left") & ~POISON), EMPTY);
  }

  /** The conditions of lanes without a value in an argument, whichever of its lanes an op takes. */
  unsetIn(step: OpStep, argument: Argument): readonly Term[] | undefined {
    for (const value of valuesIn(argument)) {
      const tile = this.#values.get(value);
      if (!tile) continue;
      const paths = pathsOf(tile.at(this.model.environment.lanes(`any ${value.id}`, tile.shape)));
      const unset = paths.find(({ held: of, conditions }) => mayBePoison(of) && this.isPossible(step, conditions));
      if (unset) return unset.conditions;
    }
    return undefined;
  }

  // ---- control flow ---------------------------------------------------------------------------------------------------

  #call({ statement, callee, steps }: CallStep): void {
    for (const [param, argument] of handedOver(statement)) this.#values.set(param, this.held(argument, param.type));
    this.#follow(steps);
    statement.results.forEach((result, i) => this.#values.set(result, this.held(callee.body.yields[i], result.type)));
  }

  #branch({ statement, condition, then, otherwise }: BranchStep): void {
    const before = this.#state;
    const arms = [then, otherwise].map(({ steps, ended }, i) => {
      this.#state = new Map(before);
      this.#follow(steps);
      const { yields } = i === 0 ? statement.then : statement.otherwise;
      const values = statement.results.map((result, place) => this.held(yields[place], result.type));
      return { state: this.#state, values, ended };
    });
    const [a, b] = arms as [(typeof arms)[number], (typeof arms)[number]];
    const merge = (x: AbstractTile | undefined, y: AbstractTile | undefined): AbstractTile | undefined => {
      if (!x || !y || x === y || a.ended || b.ended) return a.ended ? (y ?? x) : (x ?? y);
      return heldTile(broadcastShape(x.shape, y.shape), (lane) =>
        this.diagrams.small(
          this.diagrams.branch(condition, broadcastAbstractLane(x, lane), broadcastAbstractLane(y, lane)),
        ),
      );
    };
    this.#state = new Map();
    for (const variable of before.keys()) {
      const [x, y] = [a, b].map(({ state }) => state.get(variable));
      const tile = merge(x, y);
      if (tile) this.#state.set(variable, this.#flat(variable, tile, x, y));
    }
    statement.results.forEach((result, i) => {
      const tile = merge(a.values[i], b.values[i]);
      if (tile) this.#values.set(result, this.#flat(result, tile, a.values[i], b.values[i]));
    });
  }

  /** Follows a body until what its state holds no longer grows, then once more for good. */
  #loop({ turn, variables, steps }: LoopStep): void {
    const own = new Map(
      variables.map((variable) => {
        const shape = this.model.environment.shape(variable.type);
        return [variable, { shape, lanes: this.model.environment.lanes(`state ${variable.id}`, shape) }];
      }),
    );
    const initial = this.#state;
    const isTurn = dependsOn(new Set([turn.name]));
    const seen = (): ReadonlyMap<Variable, Diagram> =>
      new Map(
        [...own].map(([variable, { lanes }]) => {
          const tile = this.#state.get(variable) ?? this.held(undefined, variable.type);
          return [variable, this.diagrams.forget(broadcastAbstractLane(tile, lanes), isTurn)];
        }),
      );
    const enter = (diagrams: ReadonlyMap<Variable, Diagram>): void => {
      this.#state = new Map(initial);
      for (const [variable, diagram] of diagrams)
        this.#state.set(variable, this.#stateTile(own.get(variable)!, diagram));
    };
    const start = seen();
    // A loop around it enters it again with state that has only grown. Each level would else multiply the rounds.
    const before = this.#settled.get(steps);
    let current = before
      ? new Map([...start].map(([variable, d]) => [variable, this.diagrams.join(before.get(variable)!, d)]))
      : start;
    let last: ReadonlyMap<Variable, Diagram>;
    this.#trial++;
    for (let round = 0; ; round++) {
      enter(current);
      this.#follow(steps);
      const next = (last = seen());
      const grown = new Map(
        [...current].map(([variable, d]) => [variable, this.#grown(d, next.get(variable)!, round)]),
      );
      const isStable = [...grown].every(([variable, diagram]) => diagram === current.get(variable));
      current = grown;
      if (isStable) break;
    }
    this.#trial--;
    this.#settled.set(steps, current);
    if (!this.isTrial) {
      enter(current);
      this.#follow(steps);
      last = seen();
    }
    enter(new Map([...last].map(([variable, diagram]) => [variable, this.#afterLoop(start.get(variable)!, diagram)])));
  }

  #grown(before: Diagram, next: Diagram, round: number): Diagram {
    const both = this.diagrams.join(before, next);
    return round < 6 ? both : this.diagrams.end(unionOf(both));
  }

  /** A loop is taken to run; only lanes without a value are remembered from before. */
  #afterLoop(before: Diagram, after: Diagram): Diagram {
    return this.diagrams.combine(
      ([x, y]) => (mayBePoison(x!) ? y! | abstractLane("left", POISON) : y!),
      [before, after],
    );
  }

  #stateTile({ shape, lanes }: { shape: readonly Term[]; lanes: readonly Term[] }, diagram: Diagram): AbstractTile {
    return heldTile(shape, (lane) => {
      const by = new Map(
        lanes.flatMap((own, axis) => (own.kind === "symbol" ? [[own.name, lane[axis]!] as const] : [])),
      );
      return this.diagrams.substitute(diagram, by);
    });
  }
}

function isOfValues(argument: Argument): boolean {
  return "kind" in argument && argument.kind !== "dtype" && !isFunction(argument);
}
