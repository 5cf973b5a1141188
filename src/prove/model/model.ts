/**
 * A kernel's body for any shape, followed once with terms: what every access reaches, and under which conditions. It
 * reads the IR before views are lowered.
 */
import type { Precondition } from "../../analysis/preconditions.js";
import { viewBounds } from "../../analysis/view-bounds.js";
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
import { assignedIn, handedOver } from "../../ir/walk.js";
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
import { Environment } from "./symbolic-environment.js";
import { stepSign } from "./affine-state.js";
import type { Event } from "./events.js";
import type { Invariant } from "./invariants.js";
import { type ConstexprAssignment, findMultiples, SymbolicLaunch } from "./launch.js";
import { stateOfLoop } from "./loop-state.js";
import { withNestedQuotients } from "./nested-quotients.js";
import { applySymbolicOp } from "./operations.js";
import { type Access, recordSymbolicAccess, type ViewMasks } from "./accesses.js";
import { at, broadcastShape, UNKNOWN, scalar, type Symbolic, type TermTile, tileOf } from "./symbolic.js";

/** A condition that the author claims to hold. */
export interface Claim {
  readonly statement: OpStatement;
  readonly holds: Term;
  readonly path: readonly Term[];
  readonly scope: readonly string[];
}

export interface SymbolicModel {
  readonly ir: KernelIR;
  /** What is checked before each launch. */
  readonly checked: readonly Precondition[];
  readonly launch: SymbolicLaunch;
  readonly environment: Environment;
  readonly accesses: readonly Access[];
  readonly claims: readonly Claim[];
  /** Python that the author wrote, which nothing is known of. */
  readonly raw: readonly OpStatement[];
  /** What happens, in order. */
  readonly flow: readonly Event[];
  /** The first call that is not followed, because too many were; then the model lacks what happens in it. */
  readonly truncatedAt: OpStatement | undefined;
}

/** Calls that are followed: of functions that call one another twice, each is called more often by far. */
const MOST_CALLS = 2_000;

/** The model of a kernel with these values of constexprs; others stay symbols. */
export function modelOf(ir: KernelIR, checked: readonly Precondition[], assigned: ConstexprAssignment): SymbolicModel {
  let launch = new SymbolicLaunch(ir, assigned, new Map());
  for (let more = findMultiples(launch); more; more = findMultiples(launch))
    launch = new SymbolicLaunch(ir, assigned, more);
  launch.facts.push(...powersOf(launch, checked));
  const environment = new Environment(ir, launch);
  const follower = new Follower(environment);
  follower.block(ir.body);
  const { accesses, claims, raw, flow, unfollowed } = follower;
  return {
    ir,
    checked,
    launch,
    environment,
    accesses: withNestedQuotients(accesses),
    claims,
    raw,
    flow,
    truncatedAt: unfollowed,
  };
}

/** Dimensions of tiles that the wrapper refuses where they are no power of two: the next one of 0 is 0. */
function powersOf(launch: SymbolicLaunch, checked: readonly Precondition[]): readonly Term[] {
  return checked.flatMap((each) => {
    const dim = each.kind === "launch-power" ? launch.term(each.param.value) : undefined;
    if (!dim) return [];
    const ofSize = dim.kind === "call" && dim.name === NEXT_POWER ? dim.parts : [];
    return [dim, ...ofSize].map((size) => atLeast(size, number(1)));
  });
}

class Follower {
  readonly accesses: Access[] = [];
  readonly claims: Claim[] = [];
  readonly raw: OpStatement[] = [];
  flow: Event[] = [];
  unfollowed: OpStatement | undefined;
  #calls = 0;
  readonly #masksOf: ViewMasks;
  /** Whether this place is never reached. */
  #ended = false;
  /** Whether this place may be left out though the conditions on the path hold, which is so in a loop of unknown turns. */
  #mayBeSkipped = false;

  constructor(readonly environment: Environment) {
    this.#masksOf = viewBounds(environment.ir);
  }

  block({ statements }: Block): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    const { environment } = this;
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
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
        this.#ended = true;
        return;
      case "if":
        return this.#branch(statement);
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      default:
        return statement satisfies never;
    }
  }

  #op(statement: OpStatement): void {
    const { op, operands } = statement;
    const { environment } = this;
    const [callee] = operands;
    if (op.spelling.form === "apply" && isFunction(callee)) {
      if (this.#calls++ >= MOST_CALLS) {
        this.unfollowed ??= statement;
        return;
      }
      for (const [param, argument] of handedOver(statement)) environment.set(param, environment.value(argument));
      const outer = environment.calls;
      environment.calls = `${outer} in ${environment.nameOf(statement)}`;
      const steps = this.#steps(() => this.block(callee.function.body));
      this.flow.push({ kind: "call", statement, callee: callee.function, steps });
      environment.calls = outer;
      const { yields } = callee.function.body;
      statement.results.forEach((result, i) => environment.set(result, environment.value(yields[i])));
      return;
    }
    if (op.proof.reaches) {
      const access = recordSymbolicAccess(environment, statement, this.#mayBeSkipped);
      if (environment.trial === 0 && !this.#ended) this.accesses.push(access);
      const { path, scope } = access;
      this.flow.push({ kind: "op", statement, access, terms: [], made: undefined, path, scope });
      return;
    }
    if (op.spelling.form === "raw" && environment.trial === 0) this.raw.push(statement);
    if (op.proof.claims !== undefined) this.#claim(statement, operandOf(statement, op.proof.claims));
    const terms = operands.map((operand) => environment.terms(operand));
    const { path } = environment;
    const scope = environment.scope.map(({ name }) => name);
    applySymbolicOp(environment, statement, this.#masksOf);
    const made = environment.terms(statement.results[0]);
    this.flow.push({ kind: "op", statement, access: undefined, terms, made, path, scope });
  }

  /** What happens meanwhile, which becomes part of another step. */
  #steps(run: () => void): readonly Event[] {
    const outer = this.flow;
    const steps: Event[] = (this.flow = []);
    run();
    this.flow = outer;
    return steps;
  }

  #claim(statement: OpStatement, argument: Argument | undefined): void {
    const { environment } = this;
    if (environment.trial > 0 || this.#ended) return;
    const holds = this.#condition(argument, "claim");
    const { path, scope } = environment;
    this.claims.push({ statement, holds, path, scope: scope.map(({ name }) => name) });
  }

  #condition(argument: Argument | undefined, name: string): Term {
    const { environment } = this;
    const terms = environment.terms(argument);
    if (terms && terms.shape.length === 0) return asTruth(terms.at([]));
    return environment.unknownTruth(`${name} ${argument ? environment.nameOf(argument) : ""}`);
  }

  // ---- branches -------------------------------------------------------------------------------------------------------

  #branch(statement: IfStatement): void {
    const { environment } = this;
    const condition = this.#condition(statement.condition, "condition");
    const { path, state: before } = environment;
    const wasEnded = this.#ended;
    const arm = (holds: Term, block: Block) => {
      environment.state = new Map(before);
      environment.path = [...path, holds];
      this.#ended = holds === FALSE;
      const steps = this.#steps(() => holds !== FALSE && this.block(block));
      const values = holds === FALSE ? [] : block.yields.map((each) => environment.value(each));
      const inside = environment.path.slice(path.length);
      return {
        state: environment.state,
        ended: this.#ended,
        values,
        steps,
        inside: andTerm(...inside),
        isLeft: inside.length > 1,
      };
    };
    const then = arm(condition, statement.then);
    const otherwise = arm(not(condition), statement.otherwise);
    this.flow.push({ kind: "branch", statement, condition, then, otherwise });
    environment.state = new Map();
    for (const variable of before.keys()) {
      const [x, y] = [then, otherwise].map(({ ended, state }) => (ended ? undefined : state.get(variable)));
      environment.state.set(variable, this.#merged(condition, x, y, variable));
    }
    statement.results.forEach((result, i) => {
      const [x, y] = [then, otherwise].map(({ values }) => values[i]);
      environment.set(result, this.#merged(condition, x, y, result));
    });
    // Programs that end in an arm do not get here.
    const arms = [then, otherwise];
    const isLeft = arms.some(({ ended, isLeft: within }) => ended || within);
    const rest = orTerm(...arms.map(({ ended, inside }) => (ended ? FALSE : inside)));
    environment.path = isLeft ? [...path, rest] : path;
    this.#ended = wasEnded || arms.every(({ ended }) => ended);
  }

  /** What two arms make of a value: either, by the condition. */
  #merged(condition: Term, x: Symbolic | undefined, y: Symbolic | undefined, of: Value | Variable): Symbolic {
    if (!x || !y || x === y) return x ?? y ?? UNKNOWN;
    const merge = (a: TermTile, b: TermTile): TermTile =>
      tileOf(broadcastShape(a.shape, b.shape), [a, b], (lane) => iteTerm(condition, at(a, lane), at(b, lane)));
    if (x.kind === "terms" && y.kind === "terms") return merge(x, y);
    if (x.kind === "pointer" && y.kind === "pointer" && x.base === y.base)
      return { ...x, offsets: merge(x.offsets, y.offsets) };
    return this.#unknown(of, "merged", this.environment.scope);
  }

  /** An unknown value of a variable, or of a result. */
  #unknown(of: Value | Variable, name: string, scope: readonly Term[], holds: readonly Invariant[] = []): Symbolic {
    const { environment } = this;
    const { type } = of;
    const outer = environment.scope;
    environment.scope = scope;
    const stand = { id: of.id, type } as Value;
    const value = environment.unknown(
      "kind" in of ? of : stand,
      `${name} ${environment.nameOf(of)}`,
      "state of a loop",
      holds,
    );
    environment.scope = outer;
    return value;
  }

  // ---- loops ----------------------------------------------------------------------------------------------------------

  #for(statement: ForStatement): void {
    const { environment } = this;
    const turn = symbol(`turn ${environment.nameOf(statement)}${environment.calls}`);
    const bound = (argument: Argument, name: string): Term => {
      const terms = environment.terms(argument);
      return terms ? terms.at([]) : call(`${name} ${environment.nameOf(statement)}`, ...environment.scope);
    };
    const [start, end, step] = [
      bound(statement.start, "start"),
      bound(statement.end, "end"),
      bound(statement.step, "step"),
    ];
    const index = sum(start, product(step, turn));
    environment.set(statement.index, scalar(index));
    const known = stepSign(step, environment.launch);
    const runs = known === "up" ? below(index, end) : known === "down" ? above(index, end) : TRUE;
    const blocks =
      known === "up"
        ? cdiv(difference(end, start), step, true)
        : known === "down"
          ? cdiv(difference(start, end), negative(step), true)
          : undefined;
    this.#loop(statement.body, turn, blocks && maxTerm(number(0), blocks), () => {
      environment.path = [...environment.path, runs];
      if (known === undefined) this.#mayBeSkipped = true;
      this.block(statement.body);
    });
  }

  #while(statement: WhileStatement): void {
    const { condition, body } = statement;
    const { environment } = this;
    const turn = symbol(`turn ${environment.nameOf(statement)}${environment.calls}`);
    const whole = { statements: [...condition.statements, ...body.statements], yields: [] };
    this.#loop(whole, turn, undefined, () => {
      this.#mayBeSkipped = true;
      this.block(condition);
      environment.path = [...environment.path, this.#condition(condition.yields[0], "while")];
      this.block(body);
    });
  }

  /** A loop whose turns count from 0; `turns` is how many there are, if that is known. */
  #loop(body: Block, turn: Term, turns: Term | undefined, run: () => void): void {
    const { environment } = this;
    const variables = assignedIn(body).filter((variable) => environment.state.has(variable));
    const initial = new Map(environment.state);
    const { path, scope } = environment;
    const enter = (of: (variable: Variable) => Symbolic, follow: () => void): void => {
      environment.state = new Map(initial);
      for (const variable of variables) environment.state.set(variable, of(variable));
      environment.path = [...path, atLeast(turn, number(0))];
      environment.scope = [...scope, turn];
      const mayBeSkipped = this.#mayBeSkipped;
      follow();
      this.#mayBeSkipped = mayBeSkipped;
      environment.path = path;
      environment.scope = scope;
    };
    const trial = (start: (variable: Variable) => Symbolic, look: () => void): void => {
      const wasEnded = this.#ended;
      environment.trial++;
      this.#steps(() =>
        enter(start, () => {
          run();
          look();
        }),
      );
      environment.trial--;
      this.#ended = wasEnded;
    };
    const { formulas, invariants } = stateOfLoop(environment, { variables, initial, turn, trial });
    const open = (variable: Variable, name: string, seen: readonly Term[]): Symbolic =>
      this.#unknown(variable, name, seen, invariants.get(variable));
    const after = (times: Term, name: string, seen: readonly Term[]) => (variable: Variable) =>
      formulas.get(variable)?.(times) ?? open(variable, name, seen);
    const wasEnded = this.#ended;
    const steps = this.#steps(() => enter(after(turn, "turn of", [...scope, turn]), run));
    this.flow.push({ kind: "loop", turn, variables, steps });
    this.#ended = wasEnded;
    environment.state = new Map(initial);
    const left = turns ? after(turns, "after", scope) : (variable: Variable) => open(variable, "after", scope);
    for (const variable of variables) environment.state.set(variable, left(variable));
  }
}
