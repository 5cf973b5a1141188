/** Whether a body that was entered again gave the statements that were recorded, up to the identity of values. */
import type { Location } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type Statement,
  type Value,
  type Variable,
} from "./nodes.js";
import type { Elem } from "../types/dtype.js";
import { sameType } from "../types/types.js";

interface Entered {
  readonly params: readonly Value[];
  readonly block: Block;
}

/**
 * The place of the first statement that differs, none for what the body returns; undefined if all are the same. `given`
 * is what bodies inside it gave that were not entered again.
 */
export function firstDifference(
  known: Entered,
  again: Entered,
  given: ReadonlySet<Made> = new Set(),
): { readonly at: Location | undefined } | undefined {
  const compared = new Comparison(given);
  if (!compared.makes(known.params, again.params) || !compared.block(known.block, again.block)) {
    return { at: compared.at };
  }
  compared.settle();
  return undefined;
}

export type Made = Value | Variable;
type Arguments = readonly (Argument | undefined)[];
type Options = Readonly<Record<string, Argument>>;

const nameOf = (elem: Elem): string => (typeof elem === "string" ? elem : elem.name);

/** When the values and the functions among two arguments are the same. */
export interface ArgumentEquality {
  values(recorded: Value, again: Value): boolean;
  functions(recorded: FunctionIR, again: FunctionIR): boolean;
}

export function sameArguments(a: Arguments, b: Arguments, alike: ArgumentEquality): boolean {
  return a.length === b.length && a.every((argument, i) => sameArgument(argument, b[i], alike));
}

export function sameOptions(a: Options, b: Options, alike: ArgumentEquality): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => sameArgument(a[name], b[name], alike));
}

export function sameArgument(a: Argument | undefined, b: Argument | undefined, alike: ArgumentEquality): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (isValue(a)) return isValue(b) && alike.values(a, b);
  if (isList(a)) return isList(b) && sameArguments(a, b, alike);
  if (isLiteral(a)) return isLiteral(b) && Object.is(a.value, b.value);
  if (isDType(a)) return isDType(b) && nameOf(a.dtype) === nameOf(b.dtype);
  return isFunction(b) && alike.functions(a.function, b.function);
}

class Comparison {
  /** What was made again, to what was recorded. */
  readonly #recorded = new Map<Made, Made>();
  readonly #again = new Set<Made>();
  readonly #alike: ArgumentEquality = {
    values: (a, b) => this.#same(a, b),
    functions: (a, b) => this.#function(a, b),
  };
  /** The statement that is compared. */
  at: Location | undefined;
  readonly #given: ReadonlySet<Made>;

  constructor(given: ReadonlySet<Made>) {
    this.#given = given;
  }

  /** From now on, what was made again stands for what was recorded. */
  settle(): void {
    for (const [again, recorded] of this.#recorded) again.recorded = recorded as never;
  }

  block(a: Block, b: Block): boolean {
    // The recorded statements themselves: the block was not entered.
    if (a.statements === b.statements) return true;
    return this.#statements(a.statements, b.statements) && this.#arguments(a.yields, b.yields);
  }

  #statements(a: readonly Statement[], b: readonly Statement[]): boolean {
    const outer = this.at;
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const [x, y] = [a[i], b[i]];
      this.at = y?.at ?? x?.at;
      if (!x || !y || !this.#statement(x, y)) return false;
    }
    this.at = outer;
    return true;
  }

  #statement(a: Statement, b: Statement): boolean {
    // Part of a body that was not entered.
    if (a === b) return true;
    switch (a.kind) {
      case "op":
        return (
          b.kind === "op" &&
          a.op === b.op &&
          this.#arguments(a.operands, b.operands) &&
          this.#options(a.options, b.options) &&
          this.makes(a.results, b.results)
        );
      case "let":
        return b.kind === "let" && this.#argument(a.initial, b.initial) && this.#declares(a.variable, b.variable);
      case "read":
        return b.kind === "read" && this.#same(a.variable, b.variable) && this.makes([a.result], [b.result]);
      case "write":
        return b.kind === "write" && this.#same(a.variable, b.variable) && this.#argument(a.value, b.value);
      case "for":
        return (
          b.kind === "for" &&
          this.#arguments([a.start, a.end, a.step], [b.start, b.end, b.step]) &&
          this.#options(a.options, b.options) &&
          (a.index === b.index || this.makes([a.index], [b.index])) &&
          this.block(a.body, b.body)
        );
      case "while":
        return (
          b.kind === "while" &&
          this.#options(a.options, b.options) &&
          this.block(a.condition, b.condition) &&
          this.block(a.body, b.body)
        );
      case "if":
        return (
          b.kind === "if" &&
          this.#argument(a.condition, b.condition) &&
          this.block(a.then, b.then) &&
          this.block(a.otherwise, b.otherwise) &&
          this.makes(a.results, b.results)
        );
      case "exit":
        return b.kind === "exit";
      default:
        return a satisfies never;
    }
  }

  /** Pairs values that two statements make. */
  makes(a: readonly Value[], b: readonly Value[]): boolean {
    if (a.length !== b.length || !a.every((value, i) => sameType(value.type, b[i]!.type))) return false;
    a.forEach((value, i) => this.#pair(value, b[i]!));
    return true;
  }

  #declares(a: Variable, b: Variable): boolean {
    if (!sameType(a.type, b.type)) return false;
    this.#pair(a, b);
    return true;
  }

  #pair(recorded: Made, again: Made): void {
    this.#recorded.set(again, recorded);
    this.#again.add(recorded);
  }

  /** What the body made must be made again: a recorded value that JavaScript kept is another one. */
  #same(a: Made, b: Made): boolean {
    return this.#recorded.get(b) === a || (a === b && (!this.#again.has(a) || this.#given.has(b)));
  }

  #arguments(a: Arguments, b: Arguments): boolean {
    return sameArguments(a, b, this.#alike);
  }

  #options(a: Options, b: Options): boolean {
    return sameOptions(a, b, this.#alike);
  }

  #argument(a: Argument | undefined, b: Argument | undefined): boolean {
    return sameArgument(a, b, this.#alike);
  }

  #function(a: FunctionIR, b: FunctionIR): boolean {
    if (a === b) return true;
    const isAlike = a.noinline === b.noinline && a.extern?.file === b.extern?.file && a.extern?.name === b.extern?.name;
    return isAlike && this.makes(a.params, b.params) && this.block(a.body, b.body);
  }
}
