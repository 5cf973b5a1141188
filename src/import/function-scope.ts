/** The state of a function's translation: its variables, open blocks and lines. */
import { authorName, splitName } from "./author-name.js";
import { lineComment } from "./host-text.js";
import type { FunctionTree, Statement } from "./tree.js";
import { UnsupportedConstruct, traced, truth, type Value, translateNot } from "./value.js";

/** The translation of a Python variable at a program point. Mutable variables are read by `.value`. */
export interface Variable {
  readonly value: Value;
  readonly isMutable: boolean;
  /** The compile-time condition under which the variable exists. Undefined if it always exists. */
  readonly condition?: Value;
}

type NameSet = ReadonlySet<string>;
const NO_NAMES: NameSet = new Set();

/** A condition that must be false, and the names that are assigned only if it is true. */
export interface RefutedCondition {
  readonly condition: Value;
  readonly names: readonly string[];
  readonly reason: string;
}

export class FunctionScope {
  readonly lines: string[] = [];
  /** The Python names that the translation has read. */
  readonly readNames = new Set<string>();
  /** The number of open loops. */
  loops = 0;
  /** The number of open blocks at the top level of the function body. */
  bodyDepth = 0;
  /** Loop-carried variables, and variables that a branch changes: assignments in this block must update them. */
  carriedNames: NameSet = NO_NAMES;
  /** Names that the open block must return to the statements after it. */
  exportedNames: NameSet = NO_NAMES;
  /** True if the open block has returned from the function. */
  hasReturned = false;
  /** Conditions that are false here, because their code needs an omitted argument. */
  refutedConditions: NameSet = NO_NAMES;
  /** Names that are assigned only under refuted conditions. */
  undefinedNames: NameSet = NO_NAMES;
  /** Conditions that are false in the whole function but were translated before they were refuted. */
  readonly lateRefutations: RefutedCondition[] = [];
  /** Conditions that were translated without a known value. */
  readonly #undecided = new Set<string>();
  readonly #translatedLines = new Set<number>();
  readonly #arms = new Map<number, string>();
  #variables: Map<string, Variable> = new Map();
  /** The names in each open block, the innermost first. */
  #usedNames: readonly [Set<string>, ...Set<string>[]];
  #lastLine: number;

  constructor(
    readonly tree: FunctionTree,
    readonly isKernel: boolean,
    usedNames: Iterable<string>,
  ) {
    this.#usedNames = [new Set(usedNames)];
    this.#lastLine = 1;
  }

  variable(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  read(name: string): Value | undefined {
    this.readNames.add(name);
    const variable = this.#variables.get(name);
    return variable?.isMutable ? traced(`${variable.value.text}.value`) : variable?.value;
  }

  bind(name: string, value: Value, isMutable = false, condition?: Value): void {
    this.#variables.set(name, { value, isMutable, ...(condition && { condition }) });
    if (this.undefinedNames.has(name))
      this.undefinedNames = new Set([...this.undefinedNames].filter((each) => each !== name));
  }

  restore(name: string, variable: Variable | undefined): void {
    if (variable) this.#variables.set(name, variable);
    else this.#variables.delete(name);
  }

  /** The number of open blocks. */
  get depth(): number {
    return this.#usedNames.length - 1;
  }

  /** A new variable name in the open block. `ending` distinguishes a part of the variable. */
  fresh(name: string, ending = ""): string {
    const { python, suffix } = splitName(name);
    const base = authorName(python + ending);
    if (!this.#isUsed(base)) return this.#use(base);
    const distinct = suffix === "" ? base : authorName(python + suffix + ending);
    for (let i = suffix === "" ? 1 : 0; ; i++) {
      const numbered = /\d$/.test(distinct) || suffix !== "" ? `${distinct}_${i}` : `${distinct}${i}`;
      const candidate = i === 0 ? distinct : numbered;
      if (!this.#isUsed(candidate)) return this.#use(candidate);
    }
  }

  #isUsed(name: string): boolean {
    return this.#usedNames.some((names) => names.has(name));
  }

  #use(name: string): string {
    this.#usedNames[0].add(name);
    return name;
  }

  emit(line: string): void {
    this.lines.push(line);
  }

  /** Opens a block scope while `body` runs, and returns the result of `body`. */
  block<T>(carriedNames: NameSet, body: () => T): T {
    const usedNames = this.#usedNames;
    const [variables, outerCarriedNames, outerExportedNames] = [this.#variables, this.carriedNames, this.exportedNames];
    const [outerRefutedConditions, outerUndefinedNames, outerHasReturned] = [
      this.refutedConditions,
      this.undefinedNames,
      this.hasReturned,
    ];
    this.exportedNames = NO_NAMES;
    this.#variables = new Map(variables);
    this.#usedNames = [new Set(), ...usedNames];
    this.carriedNames = carriedNames;
    try {
      return body();
    } finally {
      this.#variables = variables;
      this.#usedNames = usedNames;
      this.carriedNames = outerCarriedNames;
      this.exportedNames = outerExportedNames;
      [this.refutedConditions, this.undefinedNames, this.hasReturned] = [
        outerRefutedConditions,
        outerUndefinedNames,
        outerHasReturned,
      ];
    }
  }

  /** Emits the comments and the blank line before a statement. */
  layout(statement: Statement): void {
    const { comments, blank } = this.tree;
    const leadingComments = comments.filter(({ line }) => line >= this.#lastLine && line <= statement.line);
    const firstLine = leadingComments[0]?.own === true ? leadingComments[0].line : statement.line;
    if (blank.includes(firstLine - 1) && this.lines.at(-1)?.endsWith("{") === false) this.emit("");
    for (const { line, text } of leadingComments) {
      // Keeps blank lines between comments.
      if (line !== firstLine && blank.includes(line - 1) && line !== statement.line) this.emit("");
      if (text !== "") this.emit(lineComment(text));
    }
    this.#translatedLines.add(statement.line);
    this.advance(statement);
  }

  /** Records an arm that no recorded call takes. */
  leaveOutArm(body: readonly Statement[], text: string): void {
    const [first] = body;
    if (this.isKernel && first && body.some(({ kind }) => kind !== "Pass")) this.#arms.set(first.line, text);
  }

  /** The arms that are left out, by line. An arm may be left out of one copy of duplicated code only. */
  get arms(): readonly (readonly [number, string])[] {
    return [...this.#arms].filter(([line]) => !this.#translatedLines.has(line));
  }

  /** Continues after a statement. The comments before it are then not emitted. */
  advance(statement: Statement): void {
    this.#lastLine = statement.line + 1;
  }

  /** Asserts that a condition is false, because the code under it needs an omitted argument. */
  refute({ condition, names, reason }: RefutedCondition): void {
    const isFunctionLevel = this.#usedNames.length === 1;
    if (isFunctionLevel && [condition.text, translateNot(condition).text].some((text) => this.#undecided.has(text)))
      this.lateRefutations.push({ condition, names, reason });
    const assertion = translateNot(condition).text;
    this.emit(`tl.staticAssert(${assertion}, ${JSON.stringify(reason)});`);
    this.refutedConditions = new Set([...this.refutedConditions, condition.text]);
    this.undefinedNames = new Set([...this.undefinedNames, ...names.filter((name) => !this.#variables.has(name))]);
  }

  /** Records that a condition is true in the open block. */
  assume(condition: Value): void {
    if (condition.kind === "traced")
      this.refutedConditions = new Set([...this.refutedConditions, translateNot(condition).text]);
  }

  /** Replaces a condition by its value if the value is known here. */
  foldCondition(condition: Value): Value {
    if (this.refutedConditions.has(condition.text)) return truth(false);
    if (this.refutedConditions.has(translateNot(condition).text)) return truth(true);
    this.#undecided.add(condition.text);
    return condition;
  }

  refuseReturnInLoop(): never {
    return this.refuse("a return inside of a loop", "return after it");
  }

  refuse(construct: string, remedy: string, location?: { readonly line: number }): never {
    throw new UnsupportedConstruct(construct, remedy, location);
  }
}
