/**
 * The padding analysis: an abstract interpretation of a kernel that finds the folds and accesses that padding can
 * change.
 */
import {
  isFunction,
  isList,
  isLiteral,
  type Argument,
  type Block,
  type OpStatement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import type { Op } from "../../../ir/op.js";
import { argumentsOf, callBindings, valuesIn, typedArguments } from "../../../ir/walk.js";
import { ANY_VALUE, type NumberClasses, EMPTY, POISON, POSITIVE } from "../../../symbolic/number-class.js";
import { FALSE, number, symbolsIn, type Term } from "../../../symbolic/term.js";
import type { Type } from "../../../types/types.js";
import type { FactScopes } from "../../model/fact-scopes.js";
import {
  type Diagram,
  DecisionDiagrams,
  dependsOn,
  pathsOf,
  unionOf,
  withDepth,
  broadcastAbstractLane,
  type AbstractTile,
  memoizedTile,
  MAX_LAZY_DEPTH,
} from "./decision-diagrams.js";
import type { Branch, BranchStep, CallStep, LoopStep, OpStep, Event } from "../../model/events.js";
import {
  genericClasses,
  abstractLane,
  type AbstractLane,
  mayBePoison,
  classesFrom,
  classifyLiteral,
  typeOfResult,
} from "./abstract-lane.js";
import { assume, entails } from "../../algebra/interpret.js";
import type { SymbolicModel } from "../../model/model.js";
import { ElementwiseTransfer, MemoryTransfer } from "./elementwise.js";
import { FoldTransfer } from "./folds.js";
import { zip } from "../../algebra/zip.js";
import {
  broadcastLane,
  broadcastShape,
  laneReplacements,
  splitLane,
  type TermTile,
} from "../../model/symbolic-environment.js";

/** Masked lanes that reach the result of a fold, or poison that reaches an access. */
export interface PaddingLeak {
  readonly statement: OpStatement;
  /** The classes of the masked lanes that change the result, or poison. */
  readonly classes: NumberClasses;
  /** The path condition of the leak, over the programs, iterations and lanes in `variables`. */
  readonly facts: readonly Term[];
  readonly variables: readonly string[];
}

/** An operand that is a value, or a literal. */
export interface Operand {
  readonly name: string;
  readonly argument: Argument;
  readonly tile: AbstractTile;
  /** The operand as terms, if it is one of integers or truth values. */
  readonly terms: TermTile | undefined;
}

/** The abstract interpreter of a kernel's model. */
export class PaddingAnalysis {
  readonly diagrams = new DecisionDiagrams();
  /** The folds and accesses that masked lanes reach. */
  readonly maskedUses = new Set<OpStatement>();
  readonly leaks = new Map<OpStatement, PaddingLeak>();
  /** The values whose padding the author accepts with `tl.trusted`, with the reason. */
  readonly waived = new Map<OpStatement, string>();
  readonly #values = new Map<Value, AbstractTile>();
  #state = new Map<Variable, AbstractTile>();
  /** The fixed point of the loop-carried state, by loop body. */
  readonly #fixpoints = new Map<readonly Event[], readonly Diagram[]>();
  /** The conditions under which a fold last combined poison with other lanes. */
  origin: Pick<PaddingLeak, "facts" | "variables"> | undefined;
  #trialDepth = 0;
  readonly #possible = new Map<string, boolean>();
  readonly #foldTransfer: FoldTransfer;
  readonly #memoryTransfer: MemoryTransfer;
  readonly #elementwiseTransfer: ElementwiseTransfer;

  constructor(
    readonly model: SymbolicModel,
    readonly contexts: FactScopes,
  ) {
    this.#foldTransfer = new FoldTransfer(this);
    this.#memoryTransfer = new MemoryTransfer(this);
    this.#elementwiseTransfer = new ElementwiseTransfer(this);
    this.#run(model.flow);
  }

  #run(events: readonly Event[]): void {
    for (const event of events)
      switch (event.kind) {
        case "op":
          this.#op(event);
          break;
        case "let":
          this.#state.set(event.variable, this.tileOf(event.initial, event.variable.type));
          break;
        case "read": {
          const tile = this.#state.get(event.variable);
          if (tile) this.#values.set(event.result, tile);
          break;
        }
        case "write":
          this.#state.set(event.variable, this.tileOf(event.value, event.variable.type));
          break;
        case "call":
          this.#call(event);
          break;
        case "branch":
          this.#branch(event);
          break;
        case "loop":
          this.#loop(event);
          break;
        default:
          event satisfies never;
      }
  }

  // ---- values ---------------------------------------------------------------------------------------------------------

  /** The abstract tile of an argument. A literal adopts the other operand's type. */
  tileOf(argument: Argument | undefined, otherType: Type): AbstractTile {
    if (isLiteral(argument))
      return this.constant([], abstractLane("constant", classifyLiteral(argument.value, otherType)));
    const value = argument !== undefined && "kind" in argument && argument.kind === "value" ? argument : undefined;
    const tile = value && this.#values.get(value);
    if (tile) return tile;
    const isSize = this.model.ir.params.some((param) => param.value === value && param.kind === "size");
    const type: Type = value?.type ?? otherType;
    return this.constant(
      this.model.environment.shape(type),
      abstractLane("constant", isSize ? POSITIVE : genericClasses(type)),
    );
  }

  constant(shape: readonly Term[], lane: AbstractLane): AbstractTile {
    const end = this.diagrams.terminal(lane);
    return { shape, depth: 0, at: () => end };
  }

  /** The programs, iterations and lanes that conditions depend on. */
  variables({ scope }: Pick<OpStep, "scope">, conditions: readonly Term[]): readonly string[] {
    const { ranges } = this.model.environment;
    return [...scope, ...[...symbolsIn(...conditions)].filter((name) => ranges.has(name) && !scope.includes(name))];
  }

  /** True unless the facts refute the conditions at this event. */
  isPossible(event: OpStep, conditions: readonly Term[]): boolean {
    const key = [...event.path, ...conditions].map(({ id }) => id).join();
    let isPossible = this.#possible.get(key);
    if (isPossible === undefined) {
      const { contexts } = this;
      contexts.budget.refill();
      const facts = contexts.onPath(event.path, event.scope).child();
      const lanes = this.variables(event, conditions).slice(event.scope.length);
      for (const fact of [...contexts.rangesOf(lanes), ...conditions]) assume(facts, fact);
      this.#possible.set(key, (isPossible = !entails(facts, FALSE)));
    }
    return isPossible;
  }

  /** True while a loop body runs only to reach the fixed point of its state. Nothing is recorded meanwhile. */
  get isTrial(): boolean {
    return this.#trialDepth > 0;
  }

  /**
   * Records masked lanes that reach a fold or an access. `conditions` is undefined if they do not change its result.
   */
  record(event: OpStep, conditions: readonly Term[] | undefined, classes: NumberClasses): void {
    const { statement } = event;
    if (conditions && (classes & POISON) !== 0 && statement.op.proof.foldSemantics)
      this.origin = { facts: [...event.path, ...conditions], variables: this.variables(event, conditions) };
    this.maskedUses.add(statement);
    if (!conditions || this.leaks.has(statement)) return;
    const facts = [...event.path, ...conditions];
    const variables = this.variables(event, conditions);
    this.leaks.set(statement, { statement, classes, facts, variables });
  }

  // ---- ops ------------------------------------------------------------------------------------------------------------

  #op(event: OpStep): void {
    const { statement, access } = event;
    const { results } = statement;
    if (access) {
      const [result] = results;
      const loaded = this.#memoryTransfer.apply(event, access);
      if (result && loaded) this.#values.set(result, loaded);
      return;
    }
    const resultTile = this.#resultOf(event);
    results.forEach((result, i) => {
      const tile = (i === 0 ? resultTile : undefined) ?? this.#unknown(event, result);
      const values = argumentsOf(statement).flatMap((argument) => valuesIn(argument));
      if (tile)
        this.#values.set(result, this.#limitDepth(result, tile, ...values.map((value) => this.#values.get(value))));
    });
  }

  /** The tile of an op's first result. */
  #resultOf(event: OpStep): AbstractTile | undefined {
    const { lowering, proof, facts } = event.statement.op;
    if (lowering?.view) return this.#view(event, lowering.view === "grid");
    if (proof.lane) return this.#permute(event, proof.lane);
    if (proof.foldSemantics) return this.#foldTransfer.fold(event, proof.foldSemantics);
    if (proof.selectOperands) return this.#elementwiseTransfer.where(event, proof.selectOperands);
    if (proof.trustedOperand) return this.#elementwiseTransfer.trusted(event);
    const isElementwise = proof.classTransfer || facts.lanewise || facts.isIdentity;
    return isElementwise ? this.#elementwiseTransfer.apply(event) : this.#unknown(event);
  }

  /** The tile of a result, with the depth of its operands. A tile that is too deep is evaluated eagerly. */
  #limitDepth(
    owner: Value | Variable,
    tile: AbstractTile,
    ...operands: readonly (AbstractTile | undefined)[]
  ): AbstractTile {
    const deeper = withDepth(tile, ...operands);
    if (deeper.depth < MAX_LAZY_DEPTH) return deeper;
    const { shape } = deeper;
    const lanes = this.model.environment.lanes(`any of ${this.model.environment.nameOf(owner)}`, shape);
    return this.#stateTile({ shape, lanes }, deeper.at(lanes));
  }

  /** The operands that are values, by name. */
  operands({ statement, terms }: OpStep): ReadonlyMap<string, Operand> {
    const type = typeOfResult(statement);
    const operands = new Map<string, Operand>();
    Object.keys(statement.op.operands).forEach((name, i) => {
      const argument = statement.operands[i];
      if (argument === undefined || isList(argument) || !hasLanes(argument)) return;
      operands.set(name, { name, argument, tile: this.tileOf(argument, type), terms: terms[i] });
    });
    return operands;
  }

  #permute(event: OpStep, laneOf: NonNullable<Op["proof"]["lane"]>): AbstractTile | undefined {
    const [operand] = this.operands(event).values();
    const [result] = event.statement.results;
    if (!operand || !result) return undefined;
    const { tile } = operand;
    const to = this.model.environment.shape(result.type);
    const context = { args: typedArguments(event.statement), from: tile.shape, to };
    if (
      laneOf(
        to.map(() => number(0)),
        context,
      ) === undefined
    )
      return undefined;
    return memoizedTile(to, (lane) => broadcastAbstractLane(tile, laneOf(lane, context)!));
  }

  /** The indices of a view. Those of a grid view span separate axes; others broadcast. */
  #view({ statement }: OpStep, isGrid: boolean): AbstractTile | undefined {
    const [, indices] = statement.operands;
    const [result] = statement.results;
    if (!isList(indices) || !result) return undefined;
    const tiles = indices.map((index) => this.tileOf(index, { kind: "none" }));
    const shapes = tiles.map((tile) => tile.shape);
    const shape = isGrid ? shapes.flat() : broadcastShape(...shapes);
    return memoizedTile(shape, (lane) => {
      const lanes = isGrid ? splitLane(shapes, lane) : shapes.map((each) => broadcastLane(each, lane));
      return this.diagrams.join(...zip(tiles, lanes).map(([tile, tileLane]) => tile.at(tileLane)));
    });
  }

  /**
   * An op without a rule: generic data, or poison if an operand may be poison. Any of its lanes may be masked if a lane
   * of an operand is.
   */
  #unknown(step: OpStep, result: Value | undefined = step.statement.results[0]): AbstractTile | undefined {
    if (!result) return undefined;
    const mayUsePoison = argumentsOf(step.statement).some(
      (argument) => this.poisonConditions(step, argument) !== undefined,
    );
    // A scan has a lane for each lane of its operand. The result of any other fold is data.
    const { foldSemantics: folds } = step.statement.op.proof;
    const masked =
      folds && folds.form !== "scan" && folds.form !== "normalization" ? EMPTY : this.#maskedClassesIn(step);
    const classes = genericClasses(result.type) | (mayUsePoison ? POISON : EMPTY);
    const padding = masked === EMPTY || step.statement.op.proof.moves ? masked : ANY_VALUE;
    return this.constant(
      this.model.environment.shape(result.type),
      abstractLane("data", classes) | abstractLane("masked", padding),
    );
  }

  /** The classes of the masked lanes of an op's operands. */
  #maskedClassesIn(step: OpStep): NumberClasses {
    const values = argumentsOf(step.statement).flatMap((argument) => valuesIn(argument));
    const paths = values.flatMap((value) => {
      const tile = this.#values.get(value);
      return tile ? pathsOf(tile.at(this.model.environment.lanes(`any ${value.id}`, tile.shape))) : [];
    });
    return paths
      .filter(({ lane, conditions }) => classesFrom(lane, "masked") !== EMPTY && this.isPossible(step, conditions))
      .reduce((classes, { lane }) => classes | (classesFrom(lane, "masked") & ~POISON), EMPTY);
  }

  /** The conditions of a poison lane in an argument, whichever of its lanes the op uses. */
  poisonConditions(step: OpStep, argument: Argument): readonly Term[] | undefined {
    for (const value of valuesIn(argument)) {
      const tile = this.#values.get(value);
      if (!tile) continue;
      const paths = pathsOf(tile.at(this.model.environment.lanes(`any ${value.id}`, tile.shape)));
      const path = paths.find(({ lane, conditions }) => mayBePoison(lane) && this.isPossible(step, conditions));
      if (path) return path.conditions;
    }
    return undefined;
  }

  // ---- control flow ---------------------------------------------------------------------------------------------------

  #call({ statement, callee, steps }: CallStep): void {
    for (const [param, argument] of callBindings(statement)) this.#values.set(param, this.tileOf(argument, param.type));
    this.#run(steps);
    statement.results.forEach((result, i) => this.#values.set(result, this.tileOf(callee.body.yields[i], result.type)));
  }

  #branch({ statement, condition, then, otherwise }: BranchStep): void {
    const initial = this.#state;
    const runBranch = ({ steps }: Branch, { yields }: Block) => {
      this.#state = new Map(initial);
      this.#run(steps);
      const values = statement.results.map((result, index) => this.tileOf(yields[index], result.type));
      return { state: this.#state, values };
    };
    const [a, b] = [runBranch(then, statement.then), runBranch(otherwise, statement.otherwise)];
    const merge = (x: AbstractTile | undefined, y: AbstractTile | undefined): AbstractTile | undefined => {
      if (!x || !y || x === y || then.hasExited || otherwise.hasExited) return then.hasExited ? (y ?? x) : (x ?? y);
      return memoizedTile(broadcastShape(x.shape, y.shape), (lane) =>
        this.diagrams.small(
          this.diagrams.branch(condition, broadcastAbstractLane(x, lane), broadcastAbstractLane(y, lane)),
        ),
      );
    };
    this.#state = new Map();
    for (const variable of initial.keys()) {
      const [x, y] = [a.state.get(variable), b.state.get(variable)];
      const tile = merge(x, y);
      if (tile) this.#state.set(variable, this.#limitDepth(variable, tile, x, y));
    }
    statement.results.forEach((result, i) => {
      const tile = merge(a.values[i], b.values[i]);
      if (tile) this.#values.set(result, this.#limitDepth(result, tile, a.values[i], b.values[i]));
    });
  }

  /** Runs a body until the abstract state reaches its fixed point, then once more with recording. */
  #loop({ iteration, variables, steps: events }: LoopStep): void {
    const symbolicState = variables.map((variable) => {
      const shape = this.model.environment.shape(variable.type);
      return { variable, shape, lanes: this.model.environment.lanes(`state ${variable.id}`, shape) };
    });
    const initial = this.#state;
    const dependsOnIteration = dependsOn(new Set([iteration.name]));
    const currentState = (): readonly Diagram[] =>
      symbolicState.map(({ variable, lanes }) => {
        const tile = this.#state.get(variable) ?? this.tileOf(undefined, variable.type);
        return this.diagrams.forget(broadcastAbstractLane(tile, lanes), dependsOnIteration);
      });
    const enter = (diagrams: readonly Diagram[]): void => {
      this.#state = new Map(initial);
      for (const [symbolic, diagram] of zip(symbolicState, diagrams))
        this.#state.set(symbolic.variable, this.#stateTile(symbolic, diagram));
    };
    const start = currentState();
    // A surrounding loop enters this loop again, with state that has only grown. Starting from the last fixed point
    // avoids rounds that multiply by each nesting level.
    const previous = this.#fixpoints.get(events);
    let current = previous ? zip(previous, start).map((pair) => this.diagrams.join(...pair)) : start;
    let last: readonly Diagram[];
    this.#trialDepth++;
    for (let round = 0; ; round++) {
      enter(current);
      this.#run(events);
      const next = (last = currentState());
      const grown = zip(current, next).map((pair) => this.#widen(...pair, round));
      const isStable = zip(grown, current).every(([x, y]) => x === y);
      current = grown;
      if (isStable) break;
    }
    this.#trialDepth--;
    this.#fixpoints.set(events, current);
    if (!this.isTrial) {
      enter(current);
      this.#run(events);
      last = currentState();
    }
    enter(zip(start, last).map((pair) => this.#afterLoop(...pair)));
  }

  #widen(previous: Diagram, next: Diagram, round: number): Diagram {
    const union = this.diagrams.join(previous, next);
    return round < 6 ? union : this.diagrams.terminal(unionOf(union));
  }

  /** The state after a loop, which is assumed to run at least once. Only poison survives from before the loop. */
  #afterLoop(initial: Diagram, after: Diagram): Diagram {
    return this.diagrams.combine((x, y) => (mayBePoison(x) ? y | abstractLane("masked", POISON) : y), [initial, after]);
  }

  #stateTile({ shape, lanes }: { shape: readonly Term[]; lanes: readonly Term[] }, diagram: Diagram): AbstractTile {
    return memoizedTile(shape, (lane) => this.diagrams.substitute(diagram, laneReplacements(lanes, lane)));
  }
}

function hasLanes(argument: Argument): boolean {
  return "kind" in argument && argument.kind !== "dtype" && !isFunction(argument);
}
