/** One function while its text is written: its variables, the blocks that are open, and its lines. */
import { authorName } from "./author-name.js";
import type { FunctionTree, Statement } from "./tree.js";
import { negated } from "./operators.js";
import { UnsupportedConstruct, traced, truth, type Value } from "./value.js";

/** What a Python variable is at a place of the text. State is read by `.value`. */
export interface Variable {
  readonly value: Value;
  readonly isState: boolean;
  /** The condition, known to Triton, under which it exists; undefined if it does anyway. */
  readonly under?: Value;
}

type Names = ReadonlySet<string>;
const NO_NAMES: Names = new Set();

/** A condition that must not hold, and the names that are made where it does. */
export interface Refuted {
  readonly condition: Value;
  readonly names: readonly string[];
  readonly why: string;
}

export class FunctionScope {
  readonly lines: string[] = [];
  /** The names that were read. */
  readonly asked = new Set<string>();
  /** Loops that are open. */
  loops = 0;
  /** How many blocks are open where the statements of the function itself stand. */
  home = 0;
  /** Variables of enclosing blocks that this block must write, since a loop or a branch hands them on. */
  linked: Names = NO_NAMES;
  /** Names that the open block must give to what follows it. */
  given: Names = NO_NAMES;
  /** Whether the open block has left the function. */
  hasLeft = false;
  /** Conditions that must not hold here, since what they lead to needs what no call gives. */
  refuted: Names = NO_NAMES;
  /** Names that only code under such conditions makes. */
  lost: Names = NO_NAMES;
  /** Of those conditions, what holds of the whole function and was asked before it was known. */
  readonly late: Refuted[] = [];
  /** Conditions that were asked, and not known. */
  readonly #open = new Set<string>();
  #variables: Map<string, Variable> = new Map();
  readonly #taken: Set<string>[];
  #lastLine: number;

  constructor(
    readonly tree: FunctionTree,
    readonly isKernel: boolean,
    taken: Iterable<string>,
  ) {
    this.#taken = [new Set(taken)];
    this.#lastLine = 1;
  }

  variable(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  read(name: string): Value | undefined {
    this.asked.add(name);
    const variable = this.#variables.get(name);
    return variable?.isState ? traced(`${variable.value.text}.value`) : variable?.value;
  }

  bind(name: string, value: Value, isState = false, under?: Value): void {
    this.#variables.set(name, { value, isState, ...(under && { under }) });
    if (this.lost.has(name)) this.lost = new Set([...this.lost].filter((each) => each !== name));
  }

  /** Makes a variable what it was. */
  restore(name: string, variable: Variable | undefined): void {
    if (variable) this.#variables.set(name, variable);
    else this.#variables.delete(name);
  }

  /** How many blocks are open. */
  get depth(): number {
    return this.#taken.length - 1;
  }

  /** A name for a new variable of the open block. */
  fresh(python: string): string {
    const base = authorName(python);
    for (let i = 0; ; i++) {
      const name = i === 0 ? base : /\d$/.test(base) ? `${base}_${i}` : `${base}${i}`;
      if (this.#taken.some((names) => names.has(name))) continue;
      this.#taken.at(-1)!.add(name);
      return name;
    }
  }

  emit(line: string): void {
    this.lines.push(line);
  }

  /** Writes a block of its own: its variables end with it. Gives what `body` gives. */
  block<T>(linked: Names, body: () => T): T {
    const [variables, before, given] = [this.#variables, this.linked, this.given];
    const [refuted, lost, hasLeft] = [this.refuted, this.lost, this.hasLeft];
    this.given = NO_NAMES;
    this.#variables = new Map(variables);
    this.#taken.push(new Set());
    this.linked = linked;
    try {
      return body();
    } finally {
      this.#variables = variables;
      this.#taken.pop();
      this.linked = before;
      this.given = given;
      [this.refuted, this.lost, this.hasLeft] = [refuted, lost, hasLeft];
    }
  }

  /** The comments and the blank line before a statement. */
  layout(statement: Statement): void {
    const { comments, blank } = this.tree;
    const before = comments.filter(({ line }) => line >= this.#lastLine && line <= statement.line);
    const first = before[0]?.own === true ? before[0].line : statement.line;
    if (blank.includes(first - 1) && this.lines.length > 0 && !this.lines.at(-1)!.endsWith("{")) this.emit("");
    for (const { line, text } of before) {
      // A blank line may stand among comments.
      if (line !== first && blank.includes(line - 1) && line !== statement.line) this.emit("");
      if (text !== "") this.emit(`// ${text}`);
    }
    this.#lastLine = statement.line + 1;
  }

  /** Says that a condition does not hold, for `names` are made under it that need what no call gives. */
  refute({ condition, names, why }: Refuted): void {
    const isOfAll = this.#taken.length === 1;
    if (isOfAll && [condition.text, negated(condition).text].some((text) => this.#open.has(text)))
      this.late.push({ condition, names, why });
    const holds = negated(condition).text;
    this.emit(`tl.staticAssert(${holds}, "${why}");`);
    this.refuted = new Set([...this.refuted, condition.text]);
    this.lost = new Set([...this.lost, ...names.filter((name) => !this.#variables.has(name))]);
  }

  /** What the open block is under. */
  assume(condition: Value): void {
    if (condition.kind === "traced") this.refuted = new Set([...this.refuted, negated(condition).text]);
  }

  /** A condition, decided where that is known. */
  decide(condition: Value): Value {
    if (this.refuted.has(condition.text)) return truth(false);
    if (this.refuted.has(negated(condition).text)) return truth(true);
    this.#open.add(condition.text);
    return condition;
  }

  refuse(reason: string, at?: { readonly line: number }): never {
    throw new UnsupportedConstruct(reason, at);
  }
}
