/**
 * A block of IR as Python statements. What the author named keeps its name; what has no name and is used once is
 * written where it is used; everything with an effect keeps its place in the program.
 */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Elem } from "../../types/dtype.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type IfStatement,
  isList,
  isLiteral,
  isValue,
  type OpStatement,
  type Statement,
  Value,
  Variable,
  type WhileStatement,
  type WriteStatement,
} from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import { showType } from "../../types/types.js";
import {
  augmentedOperator,
  boundsOfLoops,
  Comments,
  hintOf,
  isFree,
  loopBounds,
  optionKeywords,
  orPassStatement,
  PointedInto,
} from "./rules.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, If, Name, Statement as PyStatement } from "../syntax/py.js";
import { type Built, castBack, type Helpers, printOp, type ExpressionPrinter } from "./print-op.js";
import { staysCounted, isResultWeak, type WeakTypeRules } from "./weak-literals.js";
import {
  hasEffect,
  endsWithEffect,
  MEMORY,
  type Usage,
  usageOf,
  type Written,
  writesOf,
} from "../../analysis/use-counts.js";
import { ScopedValueNumbering } from "./value-numbering.js";
import { type DeferredExpression, DeferredExpressions } from "./deferred-expressions.js";
import { emitPlainWhile, emitRotatedWhile, emitBreakingWhile } from "./while-loop.js";

export interface BodyOptions {
  readonly names: Names;
  /** The Python name of each parameter. */
  readonly parameters: ReadonlyMap<Value, Expression>;
  readonly dtype: (elem: Elem) => Expression;
  readonly helpers: Helpers;
  /** Sizes and strides, which Triton turns into weak constants if they are 1. */
  readonly sizes: ReadonlySet<Value>;
  readonly isNonNegative: (argument: Argument) => boolean;
  readonly source: SourceIndex | undefined;
  /** As in {@link ExpressionPrinter}. */
  readonly built?: Built | undefined;
}

/** The statements of a function, which returns what its block yields. */
export function emitBody(block: Block, options: BodyOptions): readonly PyStatement[] {
  return new BodyEmitter(block, options).body(block);
}

/**
 * Deeper expressions get a line of their own: Python takes 200 nested parentheses, and Triton's compiler calls itself for
 * each level.
 */
const MOST_DEPTH = 30;

/** How deep expressions of constexprs are that are written at each of several uses. */
const MOST_REPEATED = 3;

/** A result of a branch that is used: its position among what the arms yield, and its name. */
interface Yielded {
  readonly position: number;
  readonly target: Name;
}

class BodyEmitter {
  readonly #options: BodyOptions;
  readonly #usage: Usage;
  readonly #names: Names;
  readonly #source: SourceIndex | undefined;
  readonly #written = new Map<Value, Expression>();
  readonly #variables = new Map<Variable, Expression>();
  readonly #waiting: DeferredExpressions;
  readonly #comments: Comments;
  /** The depth of nested unrolled loops. */
  #unrolled = 0;
  /** A statement with an effect that may stand in the expression that uses it. */
  #inline: Statement | undefined;
  #out: PyStatement[] = [];
  /** Values that are weak constants if a size is 1; a value bound to a name is not. */
  readonly #weak: Set<Value>;
  /** Indices of loops, and what is computed of them and constants alone. */
  readonly #counted = new Set<Value>();
  readonly #assigned = new ScopedValueNumbering();
  /** What loops begin with and advance by, for a name where the author gave none. */
  readonly #bounds: ReadonlyMap<Value, string>;
  readonly #pointedInto = new PointedInto();
  readonly #strength: WeakTypeRules;
  readonly #speaker: ExpressionPrinter;

  constructor(block: Block, options: BodyOptions) {
    this.#options = options;
    this.#usage = usageOf(block);
    this.#waiting = new DeferredExpressions(this.#usage.uses);
    this.#names = options.names;
    this.#source = options.source;
    this.#comments = new Comments(options.source);
    this.#weak = new Set(options.sizes);
    this.#bounds = boundsOfLoops(block);
    this.#strength = {
      isWeak: (value) => this.#weak.has(value),
      isCounted: (value) => this.#counted.has(value),
      isNonNegative: options.isNonNegative,
    };
    const { dtype, helpers, built } = options;
    this.#speaker = { value: (argument) => this.#say(argument), dtype, helpers, strength: this.#strength, built };
  }

  body(block: Block): readonly PyStatement[] {
    const statements = this.emit(block);
    if (block.yields.length === 0) return statements;
    this.#out = [...statements];
    const values = block.yields.map((argument) => this.#say(argument));
    this.#push(py.returns(py.tupled(values)), undefined);
    return this.#out;
  }

  emit(block: Block): readonly PyStatement[] {
    const outer = this.#out;
    this.#out = [];
    this.#assigned.block(() => {
      for (const statement of block.statements) if (!this.#usage.dead.has(statement)) this.#statement(statement);
    });
    const statements = this.#out;
    this.#out = outer;
    return statements;
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
      case "read":
        return this.#bind(
          statement.result,
          this.#variable(statement.variable),
          new Set([statement.variable]),
          statement.at,
          "value",
        );
      case "let": {
        const value = this.#say(statement.initial);
        const { variable } = statement;
        const type = this.#usage.outliving.has(variable) ? undefined : showType(variable.type);
        const target = py.name(this.#names.take(variable.hint ?? this.#nameAt(statement.at) ?? "state", type));
        this.#variables.set(variable, target);
        const sites = this.#waiting.takeSites(statement.at);
        // Pointers that a loop carries stand before it, and its comment is about the loop.
        const own = variable.hint === undefined ? sites : sites.filter((site) => site !== statement.at);
        return this.#pushWithComments(py.assign(target, value), statement.at, own);
      }
      case "write":
        return this.#write(statement);
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      case "exit":
        return this.#push(py.returns(), statement.at);
      case "if":
        return this.#if(statement);
      default:
        return statement satisfies never;
    }
  }

  // ---- values -------------------------------------------------------------------------------------------------------

  #op(statement: OpStatement): void {
    const expression = printOp(statement, this.#speaker);
    const [result] = statement.results;
    const { effect } = statement.op;
    if (effect === "write" || effect === "atomic") this.#flush(new Set([MEMORY]));
    const isUsed = statement.results.some((value) => this.#usage.uses.has(value));
    if (!result || (effect !== "pure" && !isUsed)) return this.#push(py.expression(expression), statement.at);
    if (statement.results.length > 1) return this.#unpack(statement, expression);
    if (isResultWeak(statement, this.#strength)) this.#weak.add(result);
    if (staysCounted(statement, this.#strength)) this.#counted.add(result);
    const reads = new Set(this.#waiting.reads);
    if (effect === "read") reads.add(MEMORY);
    // What is said about a variable is no second one.
    if (statement.op.spelling.form === "same" && isFree(expression))
      return this.#waiting.defer(result, { expression, reads, hint: statement.op.name }, statement.at);
    this.#bind(
      result,
      expression,
      reads,
      statement.at,
      hintOf(statement, this.#pointedInto.nameOf(statement), this.#bounds.get(result)),
      (effect === "atomic" || effect === "write") && statement !== this.#inline,
    );
  }

  #unpack(statement: OpStatement, expression: Expression): void {
    const { name, names = [] } = (statement.at && this.#source?.site(statement.at)) ?? {};
    const isUsed = (value: Value) => this.#usage.uses.has(value);
    // An op that emission made has the names of all its results.
    const own = this.#options.built?.has(statement.op) ? statement.op.name.split(", ") : [];
    const targets = statement.results.map((value, i) => {
      const wanted = isUsed(value) ? (names[i] ?? own[i] ?? name ?? statement.op.name) : "_";
      const target = py.name(this.#names.take(wanted, showType(value.type)));
      this.#written.set(value, target);
      return target;
    });
    this.#push(py.assign(py.tuple(...targets), expression), statement.at);
    const dtype = this.#usage.uses.has(statement.results[0]!) ? castBack(statement, this.#speaker) : undefined;
    const [first] = targets;
    if (dtype && first) this.#push(py.assign(first, py.call(py.attribute(first, "to"), dtype)), statement.at);
  }

  /** Gives a value its place: a line of its own, or where it is used. */
  #bind(
    value: Value,
    expression: Expression,
    reads: ReadonlySet<Written>,
    at: Location | undefined,
    hint: string,
    mustWrite = false,
  ): void {
    const once = this.#usage.uses.get(value) === 1;
    // A value that is only written to state already has the state's name.
    const named = value.anonymous || (once && this.#usage.written.has(value)) ? undefined : this.#nameAt(at);
    // Each copy of an unrolled body would define a constexpr again, which Triton refuses.
    const isInline = this.#unrolled > 0 && value.type.kind === "constexpr";
    const same = named === undefined && reads.size === 0 ? this.#assigned.find(expression, hint, value) : undefined;
    if (same) return this.#waiting.defer(value, { expression: same, reads, hint }, at);
    const mayWait = !mustWrite && named === undefined && this.#waiting.depth < MOST_DEPTH;
    // `BLOCK // 2` costs nothing where Triton computes it.
    const isFolded = value.type.kind === "constexpr" && this.#waiting.depth < MOST_REPEATED;
    if (isInline || (mayWait && (once || isFolded || isFree(expression)))) {
      const author = value.anonymous ? undefined : this.#nameAt(at);
      return this.#waiting.defer(value, { expression, reads, hint: author ?? hint }, at);
    }
    this.#assign(value, { expression, reads, hint: named ?? hint }, at);
  }

  #assign(
    value: Value,
    { expression, reads, hint: wanted }: Pick<DeferredExpression, "expression" | "reads" | "hint">,
    at: Location | undefined,
  ): void {
    const known = reads.size === 0 ? this.#assigned.find(expression, wanted, value) : undefined;
    if (known) {
      this.#waiting.takeSites(at);
      this.#weak.delete(value);
      return void this.#written.set(value, known);
    }
    // A constexpr cannot be defined twice, so its name is never shared.
    // Neither is one that a later branch of the same condition uses.
    const isShared = value.type.kind !== "constexpr" && !this.#usage.outliving.has(value);
    const type = isShared ? showType(value.type) : undefined;
    const target = py.name(this.#names.take(wanted, type));
    this.#written.set(value, target);
    this.#weak.delete(value);
    if (reads.size === 0) this.#assigned.record(expression, wanted, value, target);
    // A constexpr bound to a plain local would become a run-time scalar in Triton.
    const annotation = value.type.kind === "constexpr" ? py.dotted("tl.constexpr") : undefined;
    this.#push(py.assign(target, expression, annotation), at);
  }

  #say(argument: Argument): Expression {
    if (isList(argument)) return py.list(...argument.map((item) => this.#say(item)));
    if (isLiteral(argument)) return py.constant(argument.value);
    if (!isValue(argument)) throw new Error("a dtype stands where a value is needed");
    return (
      this.#written.get(argument) ?? this.#options.parameters.get(argument) ?? this.#waiting.takeExpression(argument)
    );
  }

  #variable(variable: Variable): Expression {
    return this.#variables.get(variable)!;
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  #write(statement: WriteStatement): void {
    const value = this.#say(statement.value);
    this.#flush(new Set([statement.variable]));
    const target = this.#variable(statement.variable);
    const augmented = augmentedOperator(value, target);
    this.#push(
      augmented ? py.augmentedAssign(target, augmented.operator, augmented.right) : py.assign(target, value),
      statement.at,
    );
  }

  #for(statement: ForStatement): void {
    const bounds = loopBounds(statement, (argument) => this.#say(argument));
    const options = optionKeywords(statement.options, (argument) => this.#say(argument));
    this.#flush(writesOf(statement));
    this.#settle(statement.body);
    const callee = statement.unrolled ? "tl.static_range" : options.length > 0 ? "tl.range" : "range";
    const sites = this.#waiting.takeSites(statement.at);
    // The body has statements that come from the loop's own, such as those that advance pointers.
    const own = this.#comments.of(statement.at ? [statement.at] : []);
    const wanted = this.#usage.uses.has(statement.index) ? (this.#nameAt(statement.at) ?? "i") : "_";
    const type = showType(statement.index.type);
    const index = this.#names.block(statement.unrolled || this.#unrolled > 0, () => {
      const index = py.name(this.#names.take(wanted, type));
      this.#written.set(statement.index, index);
      this.#counted.add(statement.index);
      this.#unrolled += statement.unrolled ? 1 : 0;
      const body = this.emit(statement.body);
      this.#unrolled -= statement.unrolled ? 1 : 0;
      this.#pushWithComments(
        { kind: "for", target: index, iterable: py.call(callee, ...bounds, ...options), body: orPassStatement(body) },
        statement.at,
        sites,
        own,
      );
      return index;
    });
    this.#names.leave(index.id, type);
  }

  #while(statement: WhileStatement): void {
    const options = optionKeywords(statement.options, (argument) => this.#say(argument));
    this.#flush(writesOf(statement));
    this.#settle(statement.condition);
    this.#settle(statement.body);
    this.#inline = endsWithEffect(statement.condition);
    const before = this.emit(statement.condition);
    const test = this.#say(statement.condition.yields[0]!);
    const sites = this.#waiting.takeSites(statement.at);
    const hasEffects = statement.condition.statements.some(hasEffect);
    const running = (type?: string) => py.name(this.#names.take("running", type));
    const form =
      before.length === 0
        ? emitPlainWhile(test)
        : hasEffects
          ? emitBreakingWhile(before, test, running())
          : emitRotatedWhile(before, test, () => running("int1"));
    this.#out.push(...form.ahead);
    this.#names.block(this.#unrolled > 0, () => {
      const body = form.body(this.#names.block(hasEffects, () => this.emit(statement.body)));
      const condition = options.length > 0 ? py.call("tl.condition", form.test, ...options) : form.test;
      this.#pushWithComments({ kind: "while", test: condition, body: orPassStatement(body) }, statement.at, sites);
    });
  }

  #if(statement: IfStatement): void {
    const kept = [...statement.results.keys()].filter((i) => this.#usage.uses.has(statement.results[i]!));
    const targets = kept.map((i): Yielded => {
      const value = statement.results[i]!;
      const site = value.at ? this.#source?.site(value.at) : undefined;
      const name = this.#names.take(site?.names?.[i] ?? site?.name ?? "result", showType(value.type));
      return { position: i, target: py.name(name) };
    });
    const sites: Location[] = [];
    // An arm may come from the same statement of the author; the comments belong to the branch.
    const own = this.#comments.of(statement.at ? [statement.at] : []);
    const emitted = this.#branches(statement, targets, sites);
    this.#pushWithComments({ kind: "if", ...emitted }, statement.at, sites, own);
  }

  /** The arms of a branch; an `else` that holds only another branch becomes `elif`. */
  #branches(statement: IfStatement, targets: readonly Yielded[], sites: Location[]): Omit<If, "kind"> {
    const test = this.#say(statement.condition);
    this.#flush(writesOf(statement));
    sites.push(...this.#waiting.takeSites(statement.at));
    for (const { position, target } of targets) this.#written.set(statement.results[position]!, target);
    const then = { test, body: orPassStatement(this.#arm(statement.then, targets)) };
    const { statements, yields } = statement.otherwise;
    const live = statements.filter((each) => !this.#usage.dead.has(each));
    const [next] = live.length === 1 ? live : [];
    if (next?.kind === "if") {
      const handedOn = targets.map(({ position, target }): Yielded => {
        return { position: next.results.findIndex((result) => result === yields[position]), target };
      });
      if (handedOn.every(({ position }) => position >= 0)) {
        const { branches, otherwise } = this.#branches(next, handedOn, sites);
        return { branches: [then, ...branches], otherwise };
      }
    }
    const otherwise = this.#arm(statement.otherwise, targets);
    return { branches: [then], otherwise: otherwise.length > 0 ? otherwise : undefined };
  }

  #arm(block: Block, targets: readonly Yielded[]): readonly PyStatement[] {
    const inside = (): readonly PyStatement[] => {
      const body = [...this.emit(block)];
      const outer = this.#out;
      this.#out = body;
      targets.forEach(({ position, target }) => {
        const value = this.#say(block.yields[position]!);
        if (!(value.kind === "name" && value.id === target.id)) this.#push(py.assign(target, value), undefined);
      });
      // Values that a later branch of the same condition uses are computed here, where their operands are.
      this.#writeOut((value) => this.#usage.outliving.get(value) === block);
      this.#out = outer;
      return body;
    };
    return this.#names.block(true, () => this.#assigned.block(inside));
  }

  // ---- order, comments and names ------------------------------------------------------------------------------------

  /** Before `written` changes, writes out the waiting expressions that read it. */
  #flush(written: ReadonlySet<Written>): void {
    this.#writeOut((_, { reads }) => [...reads].some((read) => written.has(read)));
  }

  /** Before a loop, writes out waiting expressions that would be computed again in each iteration. */
  #settle(body: Block): void {
    const used = usageOf(body).uses;
    this.#writeOut(
      (value, { expression }) => used.has(value) && value.type.kind !== "constexpr" && !isFree(expression),
    );
  }

  #writeOut(isDue: (value: Value, pending: DeferredExpression) => boolean): void {
    this.#waiting.writeOut(isDue, (value, pending) => this.#assign(value, pending, pending.sites.at(-1)));
  }

  #push(statement: PyStatement, at: Location | undefined): void {
    this.#pushWithComments(statement, at, this.#waiting.takeSites(at));
  }

  #pushWithComments(
    statement: PyStatement,
    at: Location | undefined,
    sites: readonly Location[],
    own?: ReturnType<Comments["of"]>,
  ): void {
    const { comments, isApart } = this.#comments.of(sites);
    if ((isApart || own?.isApart) && this.#out.length > 0) this.#out.push(py.blank);
    this.#out.push(...comments, ...(own?.comments ?? []));
    this.#out.push(py.withOrigin(statement, at));
  }

  #nameAt(at: Location | undefined): string | undefined {
    return at ? this.#source?.site(at)?.name : undefined;
  }
}
