/**
 * Emits a block of IR as Python statements. Named values keep the author's names. An unnamed value with one use is
 * inlined at that use. Statements with effects keep their order.
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
import type { SourceIndex } from "../../ir/source-index.js";
import { showType } from "../../types/types.js";
import {
  augmentedOperator,
  loopBoundNames,
  Comments,
  hintOf,
  isRepeatable,
  loopBounds,
  optionKeywords,
  bodyOrPass,
  PointerTensors,
  emitPlainWhile,
  emitRotatedWhile,
  emitBreakingWhile,
  type WhileForm,
  type DeferredExpression,
  DeferredExpressions,
  ScopedValueNumbering,
} from "./statement-rules.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, If, Name, Statement as PyStatement } from "../syntax/py.js";
import { type SyntheticOps, resultCastDType, type Helpers, printOp, type ExpressionPrinter } from "./print-op.js";
import { isResultPythonNumber, isResultWeak, type WeakTypeRules } from "./weak-literals.js";
import { hasEffect, endsWithEffect, MEMORY, type Usage, usageOf, type WriteTarget, writesOf } from "../../ir/walk.js";

export interface BodyOptions {
  readonly names: Names;
  /** The Python name of each parameter. */
  readonly parameters: ReadonlyMap<Value, Expression>;
  readonly dtype: (elem: Elem) => Expression;
  readonly helpers: Helpers;
  /** Sizes and strides. An argument of 1 becomes a weak constant in Triton. */
  readonly sizes: ReadonlySet<Value>;
  readonly isNonNegative: (argument: Argument) => boolean;
  readonly source: SourceIndex | undefined;
  /** See {@link ExpressionPrinter}. */
  readonly syntheticOps?: SyntheticOps | undefined;
}

/** The statements of a function body. It returns the values that the block yields. */
export function emitBody(block: Block, options: BodyOptions): readonly PyStatement[] {
  return new BodyEmitter(block, options).body(block);
}

/**
 * Deeper expressions are split into separate statements: Python limits nesting to 200 parentheses, and Triton's
 * compiler recurses once per level.
 */
const MAX_DEPTH = 30;

/** Maximum depth of a constexpr expression that is repeated at each of its uses. */
const MAX_REPEATED_DEPTH = 3;

/** A used result of an `if`: its index in the yields of both branches, and its Python name. */
interface BranchResult {
  readonly value: Value;
  readonly position: number;
  readonly target: Name;
}

class BodyEmitter {
  readonly #options: BodyOptions;
  readonly #usage: Usage;
  readonly #names: Names;
  readonly #source: SourceIndex | undefined;
  readonly #expressions = new Map<Value, Expression>();
  readonly #variables = new Map<Variable, Expression>();
  readonly #deferred: DeferredExpressions;
  readonly #comments: Comments;
  /** The depth of nested unrolled loops. */
  #unrollDepth = 0;
  /** A statement with an effect that may be inlined into the expression that uses it. */
  #inline: Statement | undefined;
  #out: PyStatement[] = [];
  /** Values that are weak constants if a size is 1. A value assigned to a name is never weak. */
  readonly #weakValues: Set<Value>;
  /** Loop indices, and values computed only from loop indices and constants. */
  readonly #pythonNumbers = new Set<Value>();
  readonly #numbering = new ScopedValueNumbering();
  /** Names for loop bounds that the author did not name. */
  readonly #bounds: ReadonlyMap<Value, string>;
  readonly #pointerTensors = new PointerTensors();
  readonly #weakTypes: WeakTypeRules;
  readonly #printer: ExpressionPrinter;

  constructor(block: Block, options: BodyOptions) {
    this.#options = options;
    this.#usage = usageOf(block);
    this.#deferred = new DeferredExpressions(this.#usage.uses);
    this.#names = options.names;
    this.#source = options.source;
    this.#comments = new Comments(options.source);
    this.#weakValues = new Set(options.sizes);
    this.#bounds = loopBoundNames(block);
    this.#weakTypes = {
      isWeak: (value) => this.#weakValues.has(value),
      isPythonNumber: (value) => this.#pythonNumbers.has(value),
      isNonNegative: options.isNonNegative,
    };
    const { dtype, helpers, syntheticOps } = options;
    this.#printer = {
      value: (argument) => this.#toExpression(argument),
      dtype,
      helpers,
      weakTypes: this.#weakTypes,
      syntheticOps,
    };
  }

  body(block: Block): readonly PyStatement[] {
    const statements = this.emit(block);
    if (block.yields.length === 0) return statements;
    this.#out = [...statements];
    const values = block.yields.map((argument) => this.#toExpression(argument));
    this.#push(py.returns(py.tupleOrSingle(values)), undefined);
    return this.#out;
  }

  emit(block: Block): readonly PyStatement[] {
    const outer = this.#out;
    this.#out = [];
    this.#numbering.block(() => {
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
          statement.location,
          "value",
        );
      case "let": {
        const value = this.#toExpression(statement.initial);
        const { variable } = statement;
        const type = this.#usage.outliving.has(variable) ? undefined : showType(variable.type);
        const target = py.name(this.#names.take(variable.hint ?? this.#nameAt(statement.location) ?? "state", type));
        this.#variables.set(variable, target);
        const sites = this.#deferred.takeSites(statement.location);
        // Loop-carried pointers have the loop's location, but its comment belongs to the loop itself.
        const commentSites = variable.hint === undefined ? sites : sites.filter((site) => site !== statement.location);
        return this.#pushWithComments(py.assign(target, value), statement.location, commentSites);
      }
      case "write":
        return this.#write(statement);
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      case "exit":
        return this.#push(py.returns(), statement.location);
      case "if":
        return this.#if(statement);
      default:
        return statement satisfies never;
    }
  }

  // ---- values -------------------------------------------------------------------------------------------------------

  #op(statement: OpStatement): void {
    const expression = printOp(statement, this.#printer);
    const [result] = statement.results;
    const { effect } = statement.op;
    if (effect === "write" || effect === "atomic") this.#flush(new Set([MEMORY]));
    const isUsed = statement.results.some((value) => this.#usage.uses.has(value));
    if (!result || (effect !== "pure" && !isUsed)) return this.#push(py.expression(expression), statement.location);
    if (statement.results.length > 1) return this.#unpack(statement, expression);
    if (isResultWeak(statement, this.#weakTypes)) this.#weakValues.add(result);
    if (isResultPythonNumber(statement, this.#weakTypes)) this.#pythonNumbers.add(result);
    const reads = new Set(this.#deferred.reads);
    if (effect === "read") reads.add(MEMORY);
    // An annotation op such as `tl.inBounds` gets no second variable.
    if (statement.op.spelling.form === "same" && isRepeatable(expression))
      return this.#deferred.defer(result, { expression, reads, hint: statement.op.name }, statement.location);
    this.#bind(
      result,
      expression,
      reads,
      statement.location,
      hintOf(statement, this.#pointerTensors.nameOf(statement), this.#bounds.get(result)),
      (effect === "atomic" || effect === "write") && statement !== this.#inline,
    );
  }

  #unpack(statement: OpStatement, expression: Expression): void {
    const { name, names = [] } = (statement.location && this.#source?.site(statement.location)) ?? {};
    const isUsed = (value: Value) => this.#usage.uses.has(value);
    // The name of a synthetic op lists the names of all its results.
    const resultNames = this.#options.syntheticOps?.has(statement.op) ? statement.op.name.split(", ") : [];
    const targets = statement.results.map((value, i) => {
      const preferredName = isUsed(value) ? (names[i] ?? resultNames[i] ?? name ?? statement.op.name) : "_";
      const target = py.name(this.#names.take(preferredName, showType(value.type)));
      this.#expressions.set(value, target);
      return target;
    });
    this.#push(py.assign(py.tuple(...targets), expression), statement.location);
    const [first] = statement.results;
    const [target] = targets;
    const dtype = first && isUsed(first) ? resultCastDType(statement, this.#printer) : undefined;
    if (dtype && target) this.#push(py.assign(target, py.call(py.attribute(target, "to"), dtype)), statement.location);
  }

  /** Assigns a value to a name here, or defers its expression to its uses. */
  #bind(
    value: Value,
    expression: Expression,
    reads: ReadonlySet<WriteTarget>,
    at: Location | undefined,
    hint: string,
    mustWrite = false,
  ): void {
    const isUsedOnce = this.#usage.uses.get(value) === 1;
    // A value that is only written to a variable needs no second name.
    const name = value.isAnonymous || (isUsedOnce && this.#usage.assigned.has(value)) ? undefined : this.#nameAt(at);
    // Each copy of an unrolled body would redefine a constexpr, which Triton rejects.
    const isInline = this.#unrollDepth > 0 && value.type.kind === "constexpr";
    const existing = name === undefined && reads.size === 0 ? this.#numbering.find(expression, hint, value) : undefined;
    if (existing) return this.#deferred.defer(value, { expression: existing, reads, hint }, at);
    const canDefer = !mustWrite && name === undefined && this.#deferred.depth < MAX_DEPTH;
    // Triton folds `BLOCK // 2` at compile time.
    const isFolded = value.type.kind === "constexpr" && this.#deferred.depth < MAX_REPEATED_DEPTH;
    if (isInline || (canDefer && (isUsedOnce || isFolded || isRepeatable(expression)))) {
      const authorName = value.isAnonymous ? undefined : this.#nameAt(at);
      return this.#deferred.defer(value, { expression, reads, hint: authorName ?? hint }, at);
    }
    this.#assign(value, { expression, reads, hint: name ?? hint }, at);
  }

  #assign(
    value: Value,
    { expression, reads, hint: preferredName }: Pick<DeferredExpression, "expression" | "reads" | "hint">,
    at: Location | undefined,
  ): void {
    const existing = reads.size === 0 ? this.#numbering.find(expression, preferredName, value) : undefined;
    if (existing) {
      this.#deferred.takeSites(at);
      this.#weakValues.delete(value);
      return void this.#expressions.set(value, existing);
    }
    // A constexpr cannot be redefined, so its name is never reused. Values that a later branch of the same condition
    // uses also keep their name.
    const isShared = value.type.kind !== "constexpr" && !this.#usage.outliving.has(value);
    const type = isShared ? showType(value.type) : undefined;
    const target = py.name(this.#names.take(preferredName, type));
    this.#expressions.set(value, target);
    this.#weakValues.delete(value);
    if (reads.size === 0) this.#numbering.record(expression, preferredName, value, target);
    // A constexpr bound to a plain local would become a run-time scalar in Triton.
    const annotation = value.type.kind === "constexpr" ? py.dotted("tl.constexpr") : undefined;
    this.#push(py.assign(target, expression, annotation), at);
  }

  #toExpression(argument: Argument | undefined): Expression {
    if (isList(argument)) return py.list(...argument.map((item) => this.#toExpression(item)));
    if (isLiteral(argument)) return py.constant(argument.value);
    if (!isValue(argument)) throw new Error("a block lacks a value, or has a dtype in its place");
    return (
      this.#expressions.get(argument) ??
      this.#options.parameters.get(argument) ??
      this.#deferred.takeExpression(argument)
    );
  }

  #variable(variable: Variable): Expression {
    const name = this.#variables.get(variable);
    if (!name) throw new Error("a variable is used before its declaration");
    return name;
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  #write(statement: WriteStatement): void {
    const value = this.#toExpression(statement.value);
    this.#flush(new Set([statement.variable]));
    const target = this.#variable(statement.variable);
    const augmented = augmentedOperator(value, target);
    this.#push(
      augmented ? py.augmentedAssign(target, augmented.operator, augmented.right) : py.assign(target, value),
      statement.location,
    );
  }

  #for(statement: ForStatement): void {
    const bounds = loopBounds(statement, (argument) => this.#toExpression(argument));
    const options = optionKeywords(statement.options, (argument) => this.#toExpression(argument));
    this.#flush(writesOf(statement));
    this.#materializeBeforeLoop(statement.body);
    const rangeName = options.length > 0 ? "tl.range" : "range";
    const callee = statement.unrolled ? "tl.static_range" : rangeName;
    const sites = this.#deferred.takeSites(statement.location);
    // Take the loop's comments first: the body contains statements with the loop's location, such as pointer
    // increments.
    const loopComments = this.#comments.take(statement.location ? [statement.location] : []);
    const preferredName = this.#usage.uses.has(statement.index) ? (this.#nameAt(statement.location) ?? "i") : "_";
    const type = showType(statement.index.type);
    const index = this.#names.block(statement.unrolled || this.#unrollDepth > 0, () => {
      const index = py.name(this.#names.take(preferredName, type));
      this.#expressions.set(statement.index, index);
      this.#pythonNumbers.add(statement.index);
      this.#unrollDepth += statement.unrolled ? 1 : 0;
      const body = this.emit(statement.body);
      this.#unrollDepth -= statement.unrolled ? 1 : 0;
      this.#pushWithComments(
        { kind: "for", target: index, iterable: py.call(callee, ...bounds, ...options), body: bodyOrPass(body) },
        statement.location,
        sites,
        loopComments,
      );
      return index;
    });
    this.#names.markDefined(index.id, type);
  }

  #while(statement: WhileStatement): void {
    const options = optionKeywords(statement.options, (argument) => this.#toExpression(argument));
    this.#flush(writesOf(statement));
    this.#materializeBeforeLoop(statement.condition);
    this.#materializeBeforeLoop(statement.body);
    this.#inline = endsWithEffect(statement.condition);
    const conditionStatements = this.emit(statement.condition);
    const test = this.#toExpression(statement.condition.yields[0]);
    const sites = this.#deferred.takeSites(statement.location);
    const hasEffects = statement.condition.statements.some(hasEffect);
    const form = this.#whileForm(conditionStatements, test, hasEffects);
    this.#out.push(...form.preheader);
    this.#names.block(this.#unrollDepth > 0, () => {
      const body = form.body(this.#names.block(hasEffects, () => this.emit(statement.body)));
      const condition = options.length > 0 ? py.call("tl.condition", form.test, ...options) : form.test;
      this.#pushWithComments({ kind: "while", test: condition, body: bodyOrPass(body) }, statement.location, sites);
    });
  }

  #whileForm(conditionStatements: readonly PyStatement[], test: Expression, hasEffects: boolean): WhileForm {
    if (conditionStatements.length === 0) return emitPlainWhile(test);
    const running = (type?: string) => py.name(this.#names.take("running", type));
    if (hasEffects) return emitBreakingWhile(conditionStatements, test, running());
    return emitRotatedWhile(conditionStatements, test, () => running("int1"));
  }

  #if(statement: IfStatement): void {
    const usedResults = [...statement.results.entries()].filter(([, value]) => this.#usage.uses.has(value));
    const targets = usedResults.map(([position, value]): BranchResult => {
      const site = value.location ? this.#source?.site(value.location) : undefined;
      const name = this.#names.take(site?.names?.[position] ?? site?.name ?? "result", showType(value.type));
      return { value, position, target: py.name(name) };
    });
    const sites: Location[] = [];
    // Take the comments first: a branch body may have the same location, but the comments belong to the `if`.
    const branchComments = this.#comments.take(statement.location ? [statement.location] : []);
    const emitted = this.#branches(statement, targets, sites);
    this.#pushWithComments({ kind: "if", ...emitted }, statement.location, sites, branchComments);
  }

  /** The branches of an `if`. An `else` that contains only another `if` becomes `elif`. */
  #branches(statement: IfStatement, targets: readonly BranchResult[], sites: Location[]): Omit<If, "kind"> {
    const test = this.#toExpression(statement.condition);
    this.#flush(writesOf(statement));
    sites.push(...this.#deferred.takeSites(statement.location));
    for (const { value, target } of targets) this.#expressions.set(value, target);
    const thenBranch = { test, body: bodyOrPass(this.#branchBody(statement.then, targets)) };
    const { statements, yields } = statement.otherwise;
    const live = statements.filter((each) => !this.#usage.dead.has(each));
    const [next] = live.length === 1 ? live : [];
    if (next?.kind === "if") {
      const nextTargets = targets.flatMap(({ position, target }): readonly BranchResult[] => {
        const value = next.results.find((result) => result === yields[position]);
        return value ? [{ value, position: next.results.indexOf(value), target }] : [];
      });
      if (nextTargets.length === targets.length) {
        const { branches, otherwise } = this.#branches(next, nextTargets, sites);
        return { branches: [thenBranch, ...branches], otherwise };
      }
    }
    const otherwise = this.#branchBody(statement.otherwise, targets);
    return { branches: [thenBranch], otherwise: otherwise.length > 0 ? otherwise : undefined };
  }

  #branchBody(block: Block, targets: readonly BranchResult[]): readonly PyStatement[] {
    const emitBranch = (): readonly PyStatement[] => {
      const body = [...this.emit(block)];
      const outer = this.#out;
      this.#out = body;
      targets.forEach(({ position, target }) => {
        const value = this.#toExpression(block.yields[position]);
        if (!(value.kind === "name" && value.id === target.id)) this.#push(py.assign(target, value), undefined);
      });
      // A later branch of the same condition uses these values, but their operands are local to this branch.
      this.#materialize((value) => this.#usage.outliving.get(value) === block);
      this.#out = outer;
      return body;
    };
    return this.#names.block(true, () => this.#numbering.block(emitBranch));
  }

  // ---- order, comments and names ------------------------------------------------------------------------------------

  /** Before `writes` change, materializes the deferred expressions that read them. */
  #flush(writes: ReadonlySet<WriteTarget>): void {
    this.#materialize((_, { reads }) => [...reads].some((read) => writes.has(read)));
  }

  /** Before a loop, materializes deferred expressions that would otherwise be recomputed in each iteration. */
  #materializeBeforeLoop(body: Block): void {
    const usedValues = usageOf(body).uses;
    this.#materialize(
      (value, { expression }) => usedValues.has(value) && value.type.kind !== "constexpr" && !isRepeatable(expression),
    );
  }

  #materialize(isDue: (value: Value, pending: DeferredExpression) => boolean): void {
    this.#deferred.materialize(isDue, (value, pending) => this.#assign(value, pending, pending.sites.at(-1)));
  }

  #push(statement: PyStatement, at: Location | undefined): void {
    this.#pushWithComments(statement, at, this.#deferred.takeSites(at));
  }

  #pushWithComments(
    statement: PyStatement,
    at: Location | undefined,
    sites: readonly Location[],
    statementComments?: ReturnType<Comments["take"]>,
  ): void {
    const { comments, hasBlankLine } = this.#comments.take(sites);
    if ((hasBlankLine || statementComments?.hasBlankLine) && this.#out.length > 0) this.#out.push(py.blank);
    this.#out.push(...comments, ...(statementComments?.comments ?? []));
    this.#out.push(py.withOrigin(statement, at));
  }

  #nameAt(at: Location | undefined): string | undefined {
    return at ? this.#source?.site(at)?.name : undefined;
  }
}
