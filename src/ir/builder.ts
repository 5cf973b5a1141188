/**
 * Builds IR: the open blocks and their statements. Everything that makes IR goes through this class, so scoping,
 * locations and value identity are decided in one place.
 */
import { type Edit, fail, type Location, type MessageOfCode } from "../diagnostics/diagnostic.js";
import { helperCapture, outsideKernel, scopeEscape, unreachable } from "../diagnostics/catalog/control-codes.js";
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
import { implies } from "./implication.js";
import type { Op } from "./op.js";
import type { Type } from "../types/types.js";
import type { BodyRetrace } from "./retrace.js";
import type { SourceFix, SourceIndex } from "./source.js";
import { valuesIn } from "./walk.js";

interface Frame {
  readonly scope: Scope;
  readonly statements: Statement[];
}

export class Builder {
  #nextId = 0;
  readonly #frames: Frame[] = [];
  /** The constexpr value of each canonical text, so that a dimension can be returned as a value. */
  readonly constexprs = new Map<string, Value>();

  /** `source` has the author's text, where it can be read. */
  constructor(readonly source?: SourceIndex) {}

  /** The edit of the author's call at `at`, beside the message that refuses it. */
  mend(at: Location | undefined, how: SourceFix): { readonly edit?: Edit | undefined } {
    return { edit: at && this.source?.mend(at, how) };
  }

  /** Refuses that JavaScript compares what a property gives, which has no value before the kernel is compiled. */
  refuseCompared(say: (how: string) => MessageOfCode): void {
    const at = this.source && captureLocation();
    const compared = at && this.source?.compared(at);
    if (compared) fail(say(compared.how), compared.at);
  }

  /** Whether the recorded code runs on the GPU, or on the host before a launch. */
  place: "kernel" | "host" = "kernel";

  get scope(): Scope {
    return this.#frame.scope;
  }

  get #frame(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame) throw new Error("no block is open");
    return frame;
  }

  /** Set while making intermediate values, which must not take the author's name. */
  anonymous = false;
  /** Runs `make` without giving the author's name to its values. */
  unnamed<T>(make: () => T): T {
    const outer = this.anonymous;
    this.anonymous = true;
    const made = make();
    this.anonymous = outer;
    return made;
  }

  /** Set while appending ops for one that the author wrote elsewhere. */
  pinned: Location | undefined;

  /** The loops that nothing has iterated over yet. */
  readonly loops = new Set<{ readonly at: Location | undefined }>();

  /** The flags and words that the author's code asked for, and where: values to decide by that no statement makes. */
  flags: Map<Value, Location | undefined> = new Map();

  /** Notes that the author's code has a flag in its hands. */
  askFor(flag: Value): void {
    if (!this.flags.has(flag)) this.flags.set(flag, captureLocation());
  }

  /** Runs `body` and notes in `flags` what it asks for. */
  askingInto<T>(flags: Map<Value, Location | undefined>, body: () => T): T {
    const outer = this.flags;
    this.flags = flags;
    try {
      return body();
    } finally {
      this.flags = outer;
    }
  }

  /** The innermost body that is entered; undefined outside of the author's bodies. */
  entry: BodyRetrace | undefined;
  /** The author's code, to be run again: it must record the same. */
  readonly questions: { readonly again: () => void; readonly at: Location | undefined }[] = [];

  /** Set while rewriting a finished kernel, whose values come from closed blocks. */
  rewriting = false;

  /** The source location of the op being appended. */
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

  /** Runs `body` in an outer block, at nesting `depth`, to append statements before a loop. */
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

  /** Appends an op with known result types and returns its results. */
  op(
    op: Op,
    operands: OpStatement["operands"],
    options: OpStatement["options"],
    types: readonly Type[],
    at: Location | undefined,
  ): readonly Value[] {
    const [first] = operands;
    const by = op.facts.keepsClaims && isValue(first) && first.by?.facts.claimsInBounds ? first.by : op;
    const results = types.map((type) => this.value(type, at, undefined, by));
    this.append({ kind: "op", op, operands, options, results, at });
    return results;
  }

  /** Opens a block; `close` ends it. Values made inside cannot be used after that. */
  open(what: string, at: Location | undefined, kind: ScopeKind = "kernel", conditions?: readonly string[]): void {
    const parent = this.#frames.at(-1)?.scope;
    this.#frames.push({ scope: { parent, kind, what, conditions, at, closed: false }, statements: [] });
  }

  close(yields: readonly Argument[] = []): Block {
    const frame = this.#frame;
    this.#frames.pop();
    frame.scope.closed = true;
    return { statements: frame.statements, yields };
  }

  /** The open scopes, innermost first. */
  get scopes(): readonly Scope[] {
    return this.#frames.map(({ scope }) => scope).reverse();
  }

  /** How many unique texts there are. */
  texts = 0;
  /** A unique text for a constexpr. Authors' names never contain `@`. */
  uniqueText(base: string): string {
    return `${base}@${++this.texts}`;
  }

  /** Makes a function that forgets all that was numbered or listed since. */
  mark(): () => void {
    const [id, texts, functions] = [this.#nextId, this.texts, this.functions.length];
    return () => {
      this.#nextId = id;
      this.texts = texts;
      this.functions.length = functions;
    };
  }

  /** The helper functions made so far, callees before callers. */
  readonly functions: FunctionIR[] = [];

  /** The number of open blocks. A loop that the author left early leaves one open. */
  get depth(): number {
    return this.#frames.length;
  }

  /**
   * Refuses a value whose block is closed: it does not exist at this point of the program. A body that is entered again
   * is compared with what was recorded instead.
   */
  use(argument: Argument, at: Location | undefined): void {
    if (this.rewriting || this.entry?.again) return;
    if (isList(argument) || isFunction(argument)) for (const item of valuesIn(argument)) this.use(item, at);
    else if (isValue(argument)) {
      const isShared = argument.parameter !== undefined || argument.type.kind === "constexpr";
      this.#checkScope(argument.scope, argument.at, "this value", at, isShared);
    }
  }

  /** Whether a value exists at this point of the program; an arm may hand on what an arm inside it made. */
  sees(argument: Argument): boolean {
    return !isValue(argument) || this.rewriting || this.#openAround(argument.scope) !== undefined;
  }

  useVariable(variable: Variable, at: Location | undefined): void {
    if (this.entry?.again) return;
    this.#checkScope(variable.scope, variable.at, "this tl.mut", at);
  }

  /**
   * The scope itself if it is open. For a closed arm of a constexpr branch whose condition also holds here, the open
   * scope around it: where Triton keeps this place it keeps that arm, and Python's variables outlive the arm.
   */
  #openAround(scope: Scope): Scope | undefined {
    const open = new Set(this.scopes);
    const needed: string[] = [];
    for (let s: Scope | undefined = scope; s; s = s.parent) {
      if (open.has(s)) {
        const known = this.scopes.flatMap(({ conditions = [] }) => conditions);
        return implies(needed, known) ? s : undefined;
      }
      if (s.conditions === undefined) return undefined;
      needed.push(...s.conditions);
    }
    return undefined;
  }

  /**
   * Refuses a value from a closed scope. A helper function may use its own values, the kernel's arguments and
   * constexprs.
   */
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

/** The builder that is recording. */
export function builder(what: string): Builder {
  if (active) return active;
  fail(outsideKernel(what), captureLocation());
}

/** The builder that is recording, or undefined outside a kernel. */
export function activeBuilder(): Builder | undefined {
  return active;
}

/** Runs `body` while `next` records. */
export function recording<T>(next: Builder, body: () => T): T {
  const before = active;
  active = next;
  try {
    return body();
  } finally {
    active = before;
  }
}
