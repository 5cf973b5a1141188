/**
 * The symbolic execution of a kernel's body for every shape: each access with its index and its path condition. It runs
 * on the IR before views are lowered.
 */
import type { Precondition } from "../../analysis/preconditions.js";
import { viewBounds } from "../../analysis/in-bounds.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type IfStatement,
  isFunction,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WhileStatement,
  operandOf,
} from "../../ir/nodes.js";
import { assignedIn, callBindings } from "../../ir/walk.js";
import {
  andTerm,
  asTruth,
  atLeast,
  above,
  below,
  call,
  cdiv,
  iteTerm,
  difference,
  FALSE,
  maxTerm,
  negative,
  NEXT_POWER,
  not,
  number,
  product,
  orTerm,
  sum,
  symbol,
  type Term,
  TRUE,
} from "../../symbolic/term.js";
import {
  Environment,
  at,
  broadcastShape,
  UNKNOWN,
  scalar,
  type Symbolic,
  type TermTile,
  tileOf,
} from "./symbolic-environment.js";
import type { Event } from "./events.js";
import type { Invariant } from "./partitions.js";
import { type ConstexprAssignment, type SymbolicLaunch, symbolicLaunch } from "./launch.js";
import { stateOfLoop, stepSign } from "./loop-state.js";
import { zip } from "../algebra/zip.js";
import { applySymbolicOp, withNestedQuotients } from "./operations.js";
import { type Access, recordSymbolicAccess, type ViewMasks } from "./accesses.js";

/** A condition that the author assumes with `tl.assume`. */
export interface Claim {
  readonly statement: OpStatement;
  readonly holds: Term;
  readonly path: readonly Term[];
  readonly scope: readonly string[];
}

/** A `while` loop, and whether it is shown to end. */
export interface WhileLoop {
  readonly statement: WhileStatement;
  readonly ends: boolean;
  readonly condition: Term;
}

export interface SymbolicModel {
  readonly ir: KernelIR;
  /** The preconditions that every launch checks. */
  readonly checked: readonly Precondition[];
  readonly launch: SymbolicLaunch;
  readonly environment: Environment;
  readonly accesses: readonly Access[];
  /** The access of an event, with the terms of `accesses`. Undefined for one that no program reaches. */
  readonly modeledAccess: ReadonlyMap<Access, Access>;
  readonly claims: readonly Claim[];
  readonly whileLoops: readonly WhileLoop[];
  /** Raw Python of the author, which is not modeled. */
  readonly raw: readonly OpStatement[];
  /** The events of the execution, in order. */
  readonly flow: readonly Event[];
  /** The first call that was not executed because of the limit on calls. The model then lacks its effects. */
  readonly truncatedAt: OpStatement | undefined;
}

/** The limit on executed calls. Functions that call one another twice multiply the number of calls. */
const MAX_CALLS = 2_000;

/** The model of a kernel with these constexprs fixed. The others stay symbols. */
export function modelOf(
  ir: KernelIR,
  checked: readonly Precondition[],
  assignment: ConstexprAssignment,
): SymbolicModel {
  const launch = symbolicLaunch(ir, assignment);
  launch.facts.push(...powerOfTwoFacts(launch, checked));
  const environment = new Environment(ir, launch);
  const execution = new SymbolicExecution(environment);
  execution.block(ir.body);
  const { claims, whileLoops, raw, flow, truncatedAt } = execution;
  const accesses = withNestedQuotients(execution.accesses);
  return {
    ir,
    checked,
    launch,
    environment,
    accesses,
    modeledAccess: new Map(zip(execution.accesses, accesses)),
    claims,
    whileLoops,
    raw,
    flow,
    truncatedAt,
  };
}

/**
 * Tile dimensions that the wrapper requires to be powers of two are at least 1. The next power of two of 0 is 0, so its
 * argument is at least 1 too.
 */
function powerOfTwoFacts(launch: SymbolicLaunch, checked: readonly Precondition[]): readonly Term[] {
  return checked.flatMap((precondition) => {
    const dim = precondition.kind === "launch-power" ? launch.term(precondition.param.value) : undefined;
    if (!dim) return [];
    const args = dim.kind === "call" && dim.name === NEXT_POWER ? dim.operands : [];
    return [dim, ...args].map((size) => atLeast(size, number(1)));
  });
}

/** The symbol of a loop's iterations; inside a helper function, the enclosing calls follow. */
export const iterationName = (environment: Environment, loop: ForStatement | WhileStatement): string =>
  `iteration ${environment.nameOf(loop)}`;

interface LoopProgress {
  readonly count: Term | undefined;
  readonly condition: Term | undefined;
  /** The condition of a `while` loop in the last run of its body. */
  readonly continues?: () => Term;
}

class SymbolicExecution {
  readonly accesses: Access[] = [];
  readonly claims: Claim[] = [];
  readonly whileLoops: WhileLoop[] = [];
  readonly raw: OpStatement[] = [];
  flow: Event[] = [];
  truncatedAt: OpStatement | undefined;
  #calls = 0;
  readonly #masksOf: ViewMasks;
  /** True if this point is unreachable. */
  #hasExited = false;
  /**
   * True if this point may be skipped although its path condition is true: inside a loop with an unknown number of
   * iterations.
   */
  #mayBeSkipped = false;

  constructor(readonly environment: Environment) {
    this.#masksOf = viewBounds(environment.ir);
  }

  block({ statements }: Block): void {
    for (const statement of statements) this.#executeStatement(statement);
  }

  #executeStatement(statement: Statement): void {
    const { environment } = this;
    switch (statement.kind) {
      case "op":
        return this.#executeOp(statement);
      case "let":
        this.flow.push(statement);
        environment.state.set(statement.variable, environment.value(statement.initial));
        return;
      case "read": {
        this.flow.push(statement);
        const { result, variable } = statement;
        environment.set(result, environment.state.get(variable) ?? environment.unknown(result, `read ${result.id}`));
        return;
      }
      case "write":
        this.flow.push(statement);
        environment.state.set(statement.variable, environment.value(statement.value));
        return;
      case "exit":
        this.#hasExited = true;
        return;
      case "if":
        return this.#executeBranch(statement);
      case "for":
        return this.#executeFor(statement);
      case "while":
        return this.#executeWhile(statement);
      default:
        return statement satisfies never;
    }
  }

  #executeOp(statement: OpStatement): void {
    const { op, operands } = statement;
    const { environment } = this;
    const [callee] = operands;
    if (op.spelling.form === "apply" && isFunction(callee)) {
      if (this.#calls++ >= MAX_CALLS) {
        this.truncatedAt ??= statement;
        return;
      }
      for (const [param, argument] of callBindings(statement)) environment.set(param, environment.value(argument));
      const outerCalls = environment.calls;
      environment.calls = `${outerCalls} in ${environment.nameOf(statement)}`;
      const steps = this.#collectEvents(() => this.block(callee.function.body));
      this.flow.push({ kind: "call", statement, callee: callee.function, steps });
      environment.calls = outerCalls;
      const { yields } = callee.function.body;
      statement.results.forEach((result, i) => environment.set(result, environment.value(yields[i])));
      return;
    }
    if (op.proof.memoryOperands) {
      const access = recordSymbolicAccess(environment, statement, op.proof.memoryOperands, this.#mayBeSkipped);
      if (environment.trial === 0 && !this.#hasExited) this.accesses.push(access);
      const { path, scope } = access;
      this.flow.push({ kind: "op", statement, access, terms: [], result: undefined, path, scope });
      return;
    }
    if (op.spelling.form === "raw" && environment.trial === 0) this.raw.push(statement);
    if (op.proof.claims !== undefined) this.#recordAssumption(statement, operandOf(statement, op.proof.claims));
    const terms = operands.map((operand) => environment.terms(operand));
    const { path } = environment;
    const scope = environment.scope.map(({ name }) => name);
    applySymbolicOp(environment, statement, this.#masksOf);
    const result = environment.terms(statement.results[0]);
    this.flow.push({ kind: "op", statement, access: undefined, terms, result, path, scope });
  }

  /** The events of a run, which become part of another event. */
  #collectEvents(run: () => void): readonly Event[] {
    const outerEvents = this.flow;
    const events: Event[] = (this.flow = []);
    run();
    this.flow = outerEvents;
    return events;
  }

  #recordAssumption(statement: OpStatement, argument: Argument | undefined): void {
    const { environment } = this;
    if (environment.trial > 0 || this.#hasExited) return;
    const holds = this.#conditionOf(argument, "claim");
    const { path, scope } = environment;
    this.claims.push({ statement, holds, path, scope: scope.map(({ name }) => name) });
  }

  #conditionOf(argument: Argument | undefined, name: string): Term {
    const { environment } = this;
    const terms = environment.terms(argument);
    if (terms && terms.shape.length === 0) return asTruth(terms.at([]));
    return environment.unknownTruth(`${name} ${argument ? environment.nameOf(argument) : ""}`);
  }

  // ---- branches -------------------------------------------------------------------------------------------------------

  #executeBranch(statement: IfStatement): void {
    const { environment } = this;
    const condition = this.#conditionOf(statement.condition, "condition");
    const { path, state: initialState } = environment;
    const hadExited = this.#hasExited;
    const executeBlock = (branchCondition: Term, block: Block) => {
      environment.state = new Map(initialState);
      environment.path = [...path, branchCondition];
      this.#hasExited = branchCondition === FALSE;
      const steps = this.#collectEvents(() => branchCondition !== FALSE && this.block(block));
      const values = branchCondition === FALSE ? [] : block.yields.map((argument) => environment.value(argument));
      const innerConditions = environment.path.slice(path.length);
      return {
        state: environment.state,
        hasExited: this.#hasExited,
        values,
        steps,
        inside: andTerm(...innerConditions),
        hasInnerExit: innerConditions.length > 1,
      };
    };
    const then = executeBlock(condition, statement.then);
    const otherwise = executeBlock(not(condition), statement.otherwise);
    this.flow.push({ kind: "branch", statement, condition, then, otherwise });
    environment.state = new Map();
    for (const variable of initialState.keys()) {
      const [x, y] = [then, otherwise].map(({ hasExited, state }) => (hasExited ? undefined : state.get(variable)));
      environment.state.set(variable, this.#merge(condition, x, y, variable));
    }
    statement.results.forEach((result, i) => {
      const [x, y] = [then, otherwise].map(({ values }) => values[i]);
      environment.set(result, this.#merge(condition, x, y, result));
    });
    // Programs that exit in a branch do not reach this point.
    const branches = [then, otherwise];
    const hasExits = branches.some(({ hasExited, hasInnerExit }) => hasExited || hasInnerExit);
    const reachedBranches = orTerm(...branches.map(({ hasExited, inside: reached }) => (hasExited ? FALSE : reached)));
    environment.path = hasExits ? [...path, reachedBranches] : path;
    this.#hasExited = hadExited || branches.every(({ hasExited }) => hasExited);
  }

  /** The value after a branch: one of two, by the condition. */
  #merge(condition: Term, x: Symbolic | undefined, y: Symbolic | undefined, target: Value | Variable): Symbolic {
    if (!x || !y || x === y) return x ?? y ?? UNKNOWN;
    const merge = (a: TermTile, b: TermTile): TermTile =>
      tileOf(broadcastShape(a.shape, b.shape), [a, b], (lane) => iteTerm(condition, at(a, lane), at(b, lane)));
    if (x.kind === "terms" && y.kind === "terms") return merge(x, y);
    if (x.kind === "pointer" && y.kind === "pointer" && x.base === y.base)
      return { ...x, offsets: merge(x.offsets, y.offsets) };
    return this.#unknown(target, "merged", this.environment.scope);
  }

  /** An unknown value of a variable or a result. */
  #unknown(
    target: Value | Variable,
    name: string,
    scope: readonly Term[],
    invariants: readonly Invariant[] = [],
  ): Symbolic {
    const { environment } = this;
    const { type } = target;
    const outerScope = environment.scope;
    environment.scope = scope;
    const placeholder = { id: target.id, type } as Value;
    const value = environment.unknown(
      "kind" in target ? target : placeholder,
      `${name} ${environment.nameOf(target)}`,
      "state of a loop",
      invariants,
    );
    environment.scope = outerScope;
    return value;
  }

  // ---- loops ----------------------------------------------------------------------------------------------------------

  #executeFor(statement: ForStatement): void {
    const { environment } = this;
    const iteration = symbol(`${iterationName(environment, statement)}${environment.calls}`);
    const boundOf = (argument: Argument, name: string): Term => {
      const terms = environment.terms(argument);
      return terms ? terms.at([]) : call(`${name} ${environment.nameOf(statement)}`, ...environment.scope);
    };
    const [start, end, step] = [
      boundOf(statement.start, "start"),
      boundOf(statement.end, "end"),
      boundOf(statement.step, "step"),
    ];
    const index = sum(start, product(step, iteration));
    environment.set(statement.index, scalar(index));
    const sign = stepSign(step, environment.launch);
    const ends = {
      up: () => ({ condition: below(index, end), count: cdiv(difference(end, start), step, true) }),
      down: () => ({ condition: above(index, end), count: cdiv(difference(start, end), negative(step), true) }),
    };
    const { condition, count } = sign ? ends[sign]() : { condition: TRUE, count: undefined };
    const trip = { count: count && maxTerm(number(0), count), condition: sign && condition };
    this.#executeLoop(statement.body, iteration, trip, () => {
      environment.path = [...environment.path, condition];
      if (sign === undefined) this.#mayBeSkipped = true;
      this.block(statement.body);
    });
  }

  #executeWhile(statement: WhileStatement): void {
    const { condition, body } = statement;
    const { environment } = this;
    const iteration = symbol(`${iterationName(environment, statement)}${environment.calls}`);
    const iterationBlock = { statements: [...condition.statements, ...body.statements], yields: [] };
    let continues = TRUE;
    const progress = { count: undefined, condition: undefined, continues: () => continues };
    const ends = this.#executeLoop(iterationBlock, iteration, progress, () => {
      this.#mayBeSkipped = true;
      this.block(condition);
      const holds = this.#conditionOf(condition.yields[0], "while");
      environment.path = [...environment.path, holds];
      this.block(body);
      continues = holds;
    });
    if (environment.trial === 0 && !this.#hasExited) this.whileLoops.push({ statement, ends, condition: continues });
  }

  /**
   * Executes a loop whose iterations count from 0, with their number and the condition of each, if they are known.
   * Returns true if a loop without a number of iterations is shown to end.
   */
  #executeLoop(body: Block, iteration: Term, progress: LoopProgress, run: () => void): boolean {
    const { count: iterationCount, condition, continues } = progress;
    const { environment } = this;
    const variables = assignedIn(body).filter((variable) => environment.state.has(variable));
    const initial = new Map(environment.state);
    const { path, scope } = environment;
    const runIteration = (valueAtStart: (variable: Variable) => Symbolic, execute: () => void): void => {
      environment.state = new Map(initial);
      for (const variable of variables) environment.state.set(variable, valueAtStart(variable));
      environment.path = [...path, atLeast(iteration, number(0))];
      environment.scope = [...scope, iteration];
      const mayBeSkipped = this.#mayBeSkipped;
      execute();
      this.#mayBeSkipped = mayBeSkipped;
      environment.path = path;
      environment.scope = scope;
    };
    const runTrial = (start: (variable: Variable) => Symbolic, look: () => void): void => {
      const wasEnded = this.#hasExited;
      environment.trial++;
      this.#collectEvents(() =>
        runIteration(start, () => {
          run();
          look();
        }),
      );
      environment.trial--;
      this.#hasExited = wasEnded;
    };
    const { formulas, invariants, ends } = stateOfLoop(environment, {
      variables,
      initial,
      iteration,
      trial: runTrial,
      condition: continues,
    });
    const unknownState = (variable: Variable, name: string, scopeSeen: readonly Term[]): Symbolic =>
      this.#unknown(variable, name, scopeSeen, invariants.get(variable));
    const stateAfter = (iterations: Term, name: string, scopeSeen: readonly Term[]) => (variable: Variable) =>
      formulas.get(variable)?.(iterations) ?? unknownState(variable, name, scopeSeen);
    const hadExited = this.#hasExited;
    const events = this.#collectEvents(() =>
      runIteration(stateAfter(iteration, "iteration of", [...scope, iteration]), run),
    );
    this.flow.push({ kind: "loop", iteration, condition, variables, steps: events });
    this.#hasExited = hadExited;
    environment.state = new Map(initial);
    const finalState = iterationCount
      ? stateAfter(iterationCount, "after", scope)
      : (variable: Variable) => unknownState(variable, "after", scope);
    for (const variable of variables) environment.state.set(variable, finalState(variable));
    return ends;
  }
}
