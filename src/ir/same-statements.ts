/** Compares the statements of a retraced body with the recorded ones, up to the identity of values. */
import type { Location } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type FunctionIR,
  type IfStatement,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WhileStatement,
} from "./nodes.js";
import type { Elem } from "../types/dtype.js";
import { sameType } from "../types/types.js";

interface TracedBody {
  readonly params: readonly Value[];
  readonly block: Block;
}

/**
 * The location of the first statement that differs; without a location if the results differ. Undefined if all are the
 * same. `skippedResults` are results of nested bodies that the retrace skipped.
 */
export function firstDifference(
  recorded: TracedBody,
  retraced: TracedBody,
  skippedResults: ReadonlySet<Definition> = new Set(),
): { readonly at: Location | undefined } | undefined {
  const comparison = new Comparison(skippedResults);
  if (
    !comparison.pairResults(recorded.params, retraced.params) ||
    !comparison.sameBlock(recorded.block, retraced.block)
  ) {
    return { at: comparison.location };
  }
  comparison.linkToRecorded();
  return undefined;
}

export type Definition = Value | Variable;
type Arguments = readonly (Argument | undefined)[];
type Options = Readonly<Record<string, Argument>>;

const nameOf = (elem: Elem): string => (typeof elem === "string" ? elem : elem.name);

/** Equality of the values and functions inside two arguments. */
export interface ArgumentEquality {
  sameValue(recorded: Value, retraced: Value): boolean;
  sameFunction(recorded: FunctionIR, retraced: FunctionIR): boolean;
}

export function sameArguments(a: Arguments, b: Arguments, equality: ArgumentEquality): boolean {
  return a.length === b.length && a.every((argument, i) => sameArgument(argument, b[i], equality));
}

export function sameOptions(a: Options, b: Options, equality: ArgumentEquality): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => sameArgument(a[name], b[name], equality));
}

export function sameArgument(a: Argument | undefined, b: Argument | undefined, equality: ArgumentEquality): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (isValue(a)) return isValue(b) && equality.sameValue(a, b);
  if (isList(a)) return isList(b) && sameArguments(a, b, equality);
  if (isLiteral(a)) return isLiteral(b) && Object.is(a.value, b.value);
  if (isDType(a)) return isDType(b) && nameOf(a.dtype) === nameOf(b.dtype);
  return isFunction(b) && equality.sameFunction(a.function, b.function);
}

class Comparison {
  /** Maps retraced definitions to recorded ones. */
  readonly #recorded = new Map<Definition, Definition>();
  readonly #matched = new Set<Definition>();
  readonly #equality: ArgumentEquality = {
    sameValue: (a, b) => this.#sameDefinition(a, b),
    sameFunction: (a, b) => this.#sameFunction(a, b),
  };
  /** The location of the statements that are being compared. */
  location: Location | undefined;
  readonly #skippedResults: ReadonlySet<Definition>;

  constructor(skippedResults: ReadonlySet<Definition>) {
    this.#skippedResults = skippedResults;
  }

  /** Links each retraced definition to its recorded one. */
  linkToRecorded(): void {
    for (const [retraced, recorded] of this.#recorded) retraced.recorded = recorded as never;
  }

  sameBlock(a: Block, b: Block): boolean {
    // Identical statements: the body was skipped.
    if (a.statements === b.statements) return true;
    return this.#sameStatements(a.statements, b.statements) && this.#sameArguments(a.yields, b.yields);
  }

  #sameStatements(a: readonly Statement[], b: readonly Statement[]): boolean {
    const outer = this.location;
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const [x, y] = [a[i], b[i]];
      this.location = y?.location ?? x?.location;
      if (!x || !y || !this.#sameStatement(x, y)) return false;
    }
    this.location = outer;
    return true;
  }

  #sameStatement(a: Statement, b: Statement): boolean {
    // The statement is part of a skipped body.
    if (a === b) return true;
    switch (a.kind) {
      case "op":
        return b.kind === "op" && this.#sameOp(a, b);
      case "let":
        return (
          b.kind === "let" && this.#sameArgument(a.initial, b.initial) && this.#pairVariables(a.variable, b.variable)
        );
      case "read":
        return (
          b.kind === "read" && this.#sameDefinition(a.variable, b.variable) && this.pairResults([a.result], [b.result])
        );
      case "write":
        return (
          b.kind === "write" && this.#sameDefinition(a.variable, b.variable) && this.#sameArgument(a.value, b.value)
        );
      case "for":
        return b.kind === "for" && this.#sameFor(a, b);
      case "while":
        return b.kind === "while" && this.#sameWhile(a, b);
      case "if":
        return b.kind === "if" && this.#sameIf(a, b);
      case "exit":
        return b.kind === "exit";
      default:
        return a satisfies never;
    }
  }

  #sameOp(a: OpStatement, b: OpStatement): boolean {
    return (
      a.op === b.op &&
      this.#sameArguments(a.operands, b.operands) &&
      this.#sameOptions(a.options, b.options) &&
      this.pairResults(a.results, b.results)
    );
  }

  #sameFor(a: ForStatement, b: ForStatement): boolean {
    return (
      this.#sameArguments([a.start, a.end, a.step], [b.start, b.end, b.step]) &&
      this.#sameOptions(a.options, b.options) &&
      (a.index === b.index || this.pairResults([a.index], [b.index])) &&
      this.sameBlock(a.body, b.body)
    );
  }

  #sameWhile(a: WhileStatement, b: WhileStatement): boolean {
    return (
      this.#sameOptions(a.options, b.options) &&
      this.sameBlock(a.condition, b.condition) &&
      this.sameBlock(a.body, b.body)
    );
  }

  #sameIf(a: IfStatement, b: IfStatement): boolean {
    return (
      this.#sameArgument(a.condition, b.condition) &&
      this.sameBlock(a.then, b.then) &&
      this.sameBlock(a.otherwise, b.otherwise) &&
      this.pairResults(a.results, b.results)
    );
  }

  /** Pairs the results of two statements. Returns false if their types differ. */
  pairResults(a: readonly Value[], b: readonly Value[]): boolean {
    if (a.length !== b.length) return false;
    for (const [i, recorded] of a.entries()) {
      const retraced = b[i];
      if (!retraced || !sameType(recorded.type, retraced.type)) return false;
      this.#pair(recorded, retraced);
    }
    return true;
  }

  #pairVariables(a: Variable, b: Variable): boolean {
    if (!sameType(a.type, b.type)) return false;
    this.#pair(a, b);
    return true;
  }

  #pair(recorded: Definition, retraced: Definition): void {
    this.#recorded.set(retraced, recorded);
    this.#matched.add(recorded);
  }

  /**
   * True if the definitions correspond. A definition of the body must be the retraced one: JavaScript may have stored
   * the recorded one.
   */
  #sameDefinition(a: Definition, b: Definition): boolean {
    return this.#recorded.get(b) === a || (a === b && (!this.#matched.has(a) || this.#skippedResults.has(b)));
  }

  #sameArguments(a: Arguments, b: Arguments): boolean {
    return sameArguments(a, b, this.#equality);
  }

  #sameOptions(a: Options, b: Options): boolean {
    return sameOptions(a, b, this.#equality);
  }

  #sameArgument(a: Argument | undefined, b: Argument | undefined): boolean {
    return sameArgument(a, b, this.#equality);
  }

  #sameFunction(a: FunctionIR, b: FunctionIR): boolean {
    if (a === b) return true;
    const hasSameAttributes =
      a.noinline === b.noinline && a.extern?.file === b.extern?.file && a.extern?.name === b.extern?.name;
    return hasSameAttributes && this.pairResults(a.params, b.params) && this.sameBlock(a.body, b.body);
  }
}
