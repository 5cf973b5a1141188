/**
 * The block that is being written. Authoring appends statements here; nothing else makes IR, so scoping, locations and
 * value identity are decided in one place.
 */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { helperCapture, outsideKernel, scopeEscape, unreachable } from "../diagnostics/catalogue/control-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  isFunction,
  isList,
  isValue,
  type OpStatement,
  type Scope,
  type ScopeKind,
  type Statement,
  Value,
  Variable,
} from "./nodes.js";
import type { Op } from "./op.js";
import type { Type } from "../types/types.js";
import { valuesIn } from "./walk.js";

interface Frame {
  readonly scope: Scope;
  readonly statements: Statement[];
}

export class Builder {
  #nextId = 0;
  readonly #frames: Frame[] = [];
  /** The constexpr value of each canonical text, so that a dimension can be handed back as a value. */
  readonly constexprs = new Map<string, Value>();

  /** Where the code runs that is being recorded: on the GPU, or on the host before a launch. */
  place: "kernel" | "host" = "kernel";

  get scope(): Scope {
    return this.#frame.scope;
  }

  get #frame(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame) throw new Error("no block is open");
    return frame;
  }

  /** Set while values are made on the way to what the author wrote: they do not take the author's name. */
  anonymous = false;
  /** Set while ops are appended on behalf of one that the author wrote elsewhere. */
  pinned: Location | undefined;

  /** Set while a finished kernel is rewritten: its values come from blocks that are complete. */
  rewriting = false;

  /** Where the op that is being appended stands in the author's source. */
  location(): Location | undefined {
    return this.pinned ?? captureLocation();
  }

  /** A new value that lives in the open block. */
  value(type: Type, at: Location | undefined, parameter?: string, by?: Op): Value {
    const value = new Value(this.#nextId++, type, this.scope, at, parameter, this.anonymous, by);
    if (type.kind === "constexpr") {
      const known = this.constexprs.get(type.text);
      if (!known || known.scope.closed) this.constexprs.set(type.text, value);
    }
    return value;
  }

  variable(type: Type, at: Location | undefined, hint?: string): Variable {
    return new Variable(this.#nextId++, type, this.scope, at, hint);
  }

  /** Runs `body` in the block that was open when `depth` blocks were: what a loop needs before it starts. */
  outside<T>(depth: number, body: () => T): T {
    const inner = this.#frames.splice(depth);
    try {
      return body();
    } finally {
      this.#frames.push(...inner);
    }
  }

  append(statement: Statement): void {
    const { statements } = this.#frame;
    if (statements.at(-1)?.kind === "exit" && !this.rewriting) fail(unreachable(), statement.at);
    statements.push(statement);
  }

  /** The statements of the open block so far. */
  get statements(): Statement[] {
    return this.#frame.statements;
  }

  /** Appends an op whose result types are known, and gives its results. */
  op(
    op: Op,
    operands: OpStatement["operands"],
    options: OpStatement["options"],
    types: readonly Type[],
    at: Location | undefined,
  ): readonly Value[] {
    const [first] = operands;
    const by = op.keepsClaims && isValue(first) && first.by?.claimsInBounds ? first.by : op;
    const results = types.map((type) => this.value(type, at, undefined, by));
    this.append({ kind: "op", op, operands, options, results, at });
    return results;
  }

  /** Opens a block; `close` ends it. What is made inside can't be used after. */
  open(what: string, at: Location | undefined, kind: ScopeKind = "kernel", condition?: string): void {
    const parent = this.#frames.at(-1)?.scope;
    this.#frames.push({ scope: { parent, kind, what, condition, at, closed: false }, statements: [] });
  }

  close(yields: readonly Argument[] = []): Block {
    const frame = this.#frame;
    this.#frames.pop();
    frame.scope.closed = true;
    return { statements: frame.statements, yields };
  }

  /** The scopes that are open, innermost first. */
  get scopes(): readonly Scope[] {
    return this.#frames.map(({ scope }) => scope).reverse();
  }

  #texts = 0;
  /** A text for a constexpr that no other has. Authors' names have no `@`. */
  uniqueText(base: string): string {
    return `${base}@${++this.#texts}`;
  }

  /** Helper functions so far, callees before callers. */
  readonly functions: FunctionIR[] = [];

  /** How many blocks are open. A loop that was left early leaves one open. */
  get depth(): number {
    return this.#frames.length;
  }

  /** Refuses a value whose block is complete: at this point of the program it does not exist. */
  use(argument: Argument, at: Location | undefined): void {
    if (this.rewriting) return;
    if (isList(argument) || isFunction(argument)) for (const item of valuesIn(argument)) this.use(item, at);
    else if (isValue(argument)) {
      const isShared = argument.parameter !== undefined || argument.type.kind === "constexpr";
      this.#checkScope(argument.scope, argument.at, "this value", at, isShared);
    }
  }

  useVariable(variable: Variable, at: Location | undefined): void {
    this.#checkScope(variable.scope, variable.at, "this tl.mut", at);
  }

  /**
   * The scope itself if it is open; if it is an arm of a constexpr branch, complete, and the same condition holds here,
   * the open scope around it: Triton keeps both arms or none, and Python's variables outlive the arm.
   */
  #openAround(scope: Scope): Scope | undefined {
    const open = new Set(this.scopes);
    const holds = new Set(this.scopes.map(({ condition }) => condition));
    for (let s: Scope | undefined = scope; s; s = s.parent) {
      if (open.has(s)) return s;
      if (s.condition === undefined || !holds.has(s.condition)) return undefined;
    }
    return undefined;
  }

  /** A helper function sees what it makes and what is shared: the kernel's own arguments, and constexprs. */
  #checkScope(
    scope: Scope,
    made: Location | undefined,
    what: string,
    at: Location | undefined,
    isShared = false,
  ): void {
    const around = this.#openAround(scope);
    if (around) {
      const helper = this.scopes.findIndex(({ kind }) => kind === "helper");
      if (isShared || helper < 0 || this.scopes.indexOf(around) <= helper) return;
      fail(helperCapture.value(what), at, { related: made && [{ message: "made here", at: made }] });
    }
    fail(scopeEscape(what, scope.what), at, {
      related: [
        ...(made ? [{ message: "made here", at: made }] : []),
        ...(scope.at ? [{ message: `inside ${scope.what} that starts here`, at: scope.at }] : []),
      ],
    });
  }
}

let active: Builder | undefined;

/** The builder that records the code which is running now. */
export function builder(what: string): Builder {
  if (active) return active;
  fail(outsideKernel(what), captureLocation());
}

/** The same, or undefined outside a kernel. */
export function activeBuilder(): Builder | undefined {
  return active;
}

/** Runs `body` with `next` recording. */
export function recording<T>(next: Builder, body: () => T): T {
  const before = active;
  active = next;
  try {
    return body();
  } finally {
    active = before;
  }
}
