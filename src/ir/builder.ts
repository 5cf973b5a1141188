/**
 * Builds IR: the open blocks and their statements. All IR is created by this class, so that scoping, locations and
 * value identity have one implementation.
 */
import { type Edit, fail, type Location, type MessageOfCode, type SourceFix } from "../diagnostics/diagnostic.js";
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
import type { Op } from "./op.js";
import type { Type } from "../types/types.js";
import type { BodyRetrace } from "./retrace.js";
import type { SourceIndex } from "./source-index.js";
import { resultsOf, valuesIn } from "./walk.js";

// Implication between conditions that are constant when Triton compiles, given as canonical texts.

/** A propositional formula: `not A`, `and(A, B)`, `or(A, B)` or an atom. */
type Formula =
  | { readonly kind: "atom"; readonly text: string }
  | { readonly kind: "not"; readonly operand: Formula }
  | { readonly kind: "and" | "or"; readonly sides: readonly [Formula, Formula] };

/** The maximum number of atoms in a truth table. */
const MAX_ATOMS = 10;

/** True if `facts` imply all of `conditions`. Returns false if the truth table would be too large. */
export function implies(conditions: readonly string[], facts: readonly string[]): boolean {
  const goals = conditions.filter((text) => !facts.includes(text)).map(formulaOf);
  if (goals.length === 0) return true;
  const premises = facts.map(formulaOf);
  const atoms = [...new Set([...premises, ...goals].flatMap(atomsOf))];
  if (atoms.length > MAX_ATOMS) return false;
  for (let row = 0; row < 2 ** atoms.length; row++) {
    const assignment = new Map(atoms.map((text, i) => [text, (row & (1 << i)) !== 0]));
    const isPossible = isConsistent(atoms, assignment) && premises.every((formula) => isTrue(formula, assignment));
    if (isPossible && !goals.every((formula) => isTrue(formula, assignment))) return false;
  }
  return true;
}

function formulaOf(text: string): Formula {
  if (text.startsWith("not ")) return { kind: "not", operand: formulaOf(text.slice("not ".length)) };
  const sides = sidesOf(text);
  if (sides) return { kind: text.startsWith("and") ? "and" : "or", sides: [formulaOf(sides[0]), formulaOf(sides[1])] };
  const [, lhs, rhs] = /^([^=!]+) != ([^=!]+)$/.exec(text) ?? [];
  return lhs !== undefined
    ? { kind: "not", operand: { kind: "atom", text: `${lhs} == ${rhs}` } }
    : { kind: "atom", text };
}

/** The operands of `and(…)` or `or(…)`, if the whole text has this form. */
function sidesOf(text: string): readonly [string, string] | undefined {
  if (!/^(?:and|or)\(.*\)$/s.test(text)) return undefined;
  const inner = text.slice(text.indexOf("(") + 1, -1);
  let [depth, comma] = [0, -1];
  for (const [i, letter] of [...inner].entries()) {
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    if (depth < 0) return undefined;
    if (letter === "," && depth === 0) {
      // A string that a flag is compared with may contain a comma; the whole text is then an atom.
      if (comma >= 0) return undefined;
      comma = i;
    }
  }
  return comma < 0 ? undefined : [inner.slice(0, comma), inner.slice(comma + 2)];
}

function atomsOf(formula: Formula): readonly string[] {
  if (formula.kind === "atom") return [formula.text];
  return formula.kind === "not" ? atomsOf(formula.operand) : formula.sides.flatMap(atomsOf);
}

function isTrue(formula: Formula, assignment: ReadonlyMap<string, boolean>): boolean {
  if (formula.kind === "atom") return assignment.get(formula.text) === true;
  if (formula.kind === "not") return !isTrue(formula.operand, assignment);
  const [lhs, rhs] = formula.sides;
  return formula.kind === "and"
    ? isTrue(lhs, assignment) && isTrue(rhs, assignment)
    : isTrue(lhs, assignment) || isTrue(rhs, assignment);
}

/** True unless the assignment makes one subject equal to two numbers. */
function isConsistent(atoms: readonly string[], assignment: ReadonlyMap<string, boolean>): boolean {
  const values = new Set<string>();
  for (const text of atoms) {
    const [, subject] = /^([^=!]+) == -?[\d.]+$/.exec(text) ?? [];
    if (subject === undefined || !assignment.get(text)) continue;
    if (values.has(subject)) return false;
    values.add(subject);
  }
  return true;
}

interface Frame {
  readonly scope: Scope;
  readonly statements: Statement[];
}

export class Builder {
  #nextId = 0;
  readonly #frames: Frame[] = [];
  /** The constexpr value of each canonical text, so that a dimension can be returned as a value. */
  readonly constexprs = new Map<string, Value>();

  /** The constexpr value of a canonical text that a tile's shape contains. */
  constexprOf(text: string): Value {
    const value = this.constexprs.get(text);
    if (!value) throw new Error(`no constexpr is ${text}`);
    return value;
  }

  /** `source` is the author's source, if it is available. */
  constructor(readonly source?: SourceIndex) {}

  /** The edit that fixes the call at a location, for the diagnostic that rejects the call. */
  fixFor(location: Location | undefined, fix: SourceFix): { readonly edit?: Edit | undefined } {
    return { edit: location && this.source?.fixFor(location, fix) };
  }

  /** Rejects a JavaScript comparison of a property whose value is unknown until the kernel is compiled. */
  rejectComparison(messageOf: (operator: string) => MessageOfCode): void {
    const location = this.source && captureLocation();
    const comparison = location && this.source?.comparisonAt(location);
    if (comparison) fail(messageOf(comparison.operator), comparison.at);
  }

  /** The execution space of the recorded code: the GPU, or the host before a launch. */
  executionSpace: "kernel" | "host" = "kernel";

  get scope(): Scope {
    return this.#frame.scope;
  }

  get #frame(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame) throw new Error("no block is open");
    return frame;
  }

  /** Set while creating intermediate values, which must not take the author's name. */
  isAnonymous = false;
  /** Runs `make` without assigning the author's name to its values. */
  withoutNames<T>(make: () => T): T {
    const outer = this.isAnonymous;
    this.isAnonymous = true;
    const result = make();
    this.isAnonymous = outer;
    return result;
  }

  #pinned: { readonly location: Location | undefined } | undefined;
  /** Runs `make`, which appends ops at this location instead of the author's call. Undefined: at none. */
  pinnedAt<T>(location: Location | undefined, make: () => T): T {
    const outer = this.#pinned;
    this.#pinned = { location };
    try {
      return make();
    } finally {
      this.#pinned = outer;
    }
  }

  /** Loops whose iterator has not been used yet. */
  readonly pendingLoops = new Set<{ readonly at: Location | undefined }>();

  /**
   * Boolean and string constexprs that the author's code accessed, with locations. They may decide a JavaScript branch
   * without appearing in a statement.
   */
  flags: Map<Value, Location | undefined> = new Map();

  /** Records that the author's code accessed a flag. */
  recordFlagUse(flag: Value): void {
    if (!this.flags.has(flag)) this.flags.set(flag, captureLocation());
  }

  /** Runs `body` and records the flags that it accesses in `flags`. */
  collectFlagUses<T>(flags: Map<Value, Location | undefined>, body: () => T): T {
    const outer = this.flags;
    this.flags = flags;
    try {
      return body();
    } finally {
      this.flags = outer;
    }
  }

  /** The innermost body that is being traced; undefined outside the author's bodies. */
  entry: BodyRetrace | undefined;
  /** Parts of the author's code to trace again. They must record the same statements. */
  readonly pendingRetraces: { readonly run: () => void; readonly at: Location | undefined }[] = [];

  /** Set while rewriting a traced kernel, whose values belong to closed blocks. */
  rewriting = false;

  /** The source location of the op being appended. */
  location(): Location | undefined {
    return this.#pinned ? this.#pinned.location : captureLocation();
  }

  /** Creates a value in the scope of the open block. */
  value(type: Type, location: Location | undefined, parameter?: string, definingOp?: Op): Value {
    const value = new Value(this.#nextId++, type, this.scope, location, parameter, this.isAnonymous, definingOp);
    if (type.kind === "constexpr") {
      const existing = this.constexprs.get(type.text);
      if (!existing || existing.scope.isClosed) this.constexprs.set(type.text, value);
    }
    return value;
  }

  variable(type: Type, location: Location | undefined, hint?: string): Variable {
    return new Variable(this.#nextId++, type, this.scope, location, hint);
  }

  /** Runs `body` in an outer block, at nesting `depth`, to append statements before a loop. */
  inOuterBlock<T>(depth: number, body: () => T): T {
    const inner = this.#frames.splice(depth);
    try {
      return body();
    } finally {
      this.#frames.push(...inner);
    }
  }

  append(statement: Statement): void {
    const { statements } = this.#frame;
    if (statements.at(-1)?.kind === "exit" && !this.rewriting) fail(unreachable(), statement.location);
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
    const results = types.map((type) => this.#result(op, operands, type, at));
    this.append({ kind: "op", op, operands, options, results, location: at });
    return results;
  }

  /** {@link op} with one result. */
  opWithResult(
    op: Op,
    operands: OpStatement["operands"],
    options: OpStatement["options"],
    type: Type,
    at: Location | undefined,
  ): Value {
    const result = this.#result(op, operands, type, at);
    this.append({ kind: "op", op, operands, options, results: [result], location: at });
    return result;
  }

  #result(op: Op, [first]: OpStatement["operands"], type: Type, at: Location | undefined): Value {
    const keepsClaim = op.facts.keepsClaims && isValue(first) && first.definingOp?.facts.claimsInBounds;
    return this.value(type, at, undefined, keepsClaim ? first.definingOp : op);
  }

  /** Opens a block, which `close` ends. Values of the block are out of scope after that. */
  open(
    label: string,
    location: Location | undefined,
    kind: ScopeKind = "kernel",
    conditions?: readonly string[],
  ): void {
    const parent = this.#frames.at(-1)?.scope;
    this.#frames.push({ scope: { parent, kind, label, conditions, location, isClosed: false }, statements: [] });
  }

  close(yields: readonly Argument[] = []): Block {
    const frame = this.#frame;
    this.#frames.pop();
    frame.scope.isClosed = true;
    return { statements: frame.statements, yields };
  }

  /** Closes a block of statements that were recorded outside it. */
  enclose(statements: readonly Statement[], label: string, location: Location | undefined): void {
    const scope: Scope = { parent: this.scope, kind: "branch", label, location, isClosed: true };
    for (const statement of statements)
      if (statement.kind === "op" || statement.kind === "read")
        for (const value of resultsOf(statement)) value.scope = scope;
  }

  /** The open scopes, innermost first. */
  get scopes(): readonly Scope[] {
    return this.#frames.map(({ scope }) => scope).reverse();
  }

  /** The number of unique texts so far. */
  textCount = 0;
  /** A unique text for a constexpr. The author's names never contain `@`. */
  uniqueText(base: string): string {
    return `${base}@${++this.textCount}`;
  }

  /** Returns a function that restores the counters and the list of helper functions. */
  checkpoint(): () => void {
    const [id, textCount, functions] = [this.#nextId, this.textCount, this.functions.length];
    return () => {
      this.#nextId = id;
      this.textCount = textCount;
      this.functions.length = functions;
    };
  }

  /** The helper functions traced so far, callees before callers. */
  readonly functions: FunctionIR[] = [];

  /** The number of open blocks. A loop that the author exits early leaves its block open. */
  get depth(): number {
    return this.#frames.length;
  }

  /**
   * Rejects a value whose block is closed: it is out of scope. During a retrace the comparison with the recording
   * replaces this check.
   */
  checkUse(argument: Argument, location: Location | undefined): void {
    if (this.rewriting || this.entry?.retrace) return;
    if (isList(argument) || isFunction(argument)) for (const item of valuesIn(argument)) this.checkUse(item, location);
    else if (isValue(argument)) {
      const isShared = argument.parameter !== undefined || argument.type.kind === "constexpr";
      this.#checkScope(argument.scope, argument.location, "this value", location, isShared);
    }
  }

  /** True if a value is in scope. An arm may yield a value of an arm inside it. */
  isVisible(argument: Argument): boolean {
    return !isValue(argument) || this.rewriting || this.#enclosingOpenScope(argument.scope) !== undefined;
  }

  checkVariableUse(variable: Variable, location: Location | undefined): void {
    if (this.entry?.retrace) return;
    this.#checkScope(variable.scope, variable.location, "this tl.mut", location);
  }

  /**
   * The scope itself if it is open. For a closed arm of a constexpr branch whose conditions also hold here, the
   * enclosing open scope. If Triton keeps the current statement, it also keeps that arm, and variables in Python
   * outlive the arm.
   */
  #enclosingOpenScope(scope: Scope): Scope | undefined {
    const open = new Set(this.scopes);
    const requiredConditions: string[] = [];
    for (let s: Scope | undefined = scope; s; s = s.parent) {
      if (open.has(s)) {
        const openConditions = this.scopes.flatMap(({ conditions = [] }) => conditions);
        return implies(requiredConditions, openConditions) ? s : undefined;
      }
      if (s.conditions === undefined) return undefined;
      requiredConditions.push(...s.conditions);
    }
    return undefined;
  }

  /**
   * Rejects a value from a closed scope. A helper function may use its own values, the kernel's arguments and
   * constexprs.
   */
  #checkScope(
    scope: Scope,
    definitionLocation: Location | undefined,
    label: string,
    at: Location | undefined,
    isShared = false,
  ): void {
    const openScope = this.#enclosingOpenScope(scope);
    if (openScope) {
      const helper = this.scopes.findIndex(({ kind }) => kind === "helper");
      if (isShared || helper < 0 || this.scopes.indexOf(openScope) <= helper) return;
      fail(helperCapture.value(label), at, {
        related: definitionLocation && [{ message: "made here", at: definitionLocation }],
      });
    }
    fail(scopeEscape(label, scope.label), at, {
      related: [
        ...(definitionLocation ? [{ message: "made here", at: definitionLocation }] : []),
        ...(scope.location ? [{ message: `inside ${scope.label} that starts here`, at: scope.location }] : []),
      ],
    });
  }
}

let active: Builder | undefined;

/** The builder that is recording. */
export function builder(operation: string): Builder {
  if (active) return active;
  fail(outsideKernel(operation), captureLocation());
}

/** The builder that is recording, or undefined outside a kernel. */
export function activeBuilder(): Builder | undefined {
  return active;
}

/** Runs `body` with `recorder` as the active builder. */
export function withBuilder<T>(recorder: Builder, body: () => T): T {
  const outer = active;
  active = recorder;
  try {
    return body();
  } finally {
    active = outer;
  }
}
