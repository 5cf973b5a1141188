/** Which loads left the lanes unset that a finding is about. */
import type { Finding } from "../contract/compiled.js";
import { leftUnset, uninitialised } from "../diagnostics/catalogue/finding-codes.js";
import { formatLocation, type Location } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  isFunction,
  isList,
  isValue,
  type KernelIR,
  type Statement,
  Value,
  Variable,
} from "../ir/nodes.js";
import { argumentsOf, handedOver, resultsOf, walkAll } from "../ir/walk.js";

const keyOf = (at: Location | undefined): string => (at ? `${at.file}:${at.line}:${at.column}` : "");

/** Makes findings about unset lanes name the loads. `unset` has the places of loads that left some. */
export function namingLoads(ir: KernelIR, unset: ReadonlySet<Location>): (finding: Finding) => Finding {
  let origins: Origins | undefined;
  return (finding) => {
    if (finding.code !== uninitialised.code || !finding.at || unset.size === 0) return finding;
    const loads = (origins ??= new Origins(ir, unset)).of(finding.at);
    if (loads.length === 0) return finding;
    const places = loads.map((at) => (at.file === finding.at?.file ? `line ${at.line}` : formatLocation(at)));
    return { ...finding, message: `${finding.message}; ${leftUnset([...new Set(places)])}` };
  };
}

/** Where the values of a program come from. */
class Origins {
  readonly #loads: ReadonlyMap<string, Location>;
  /** The statements at each place. */
  readonly #at = new Map<string, Statement[]>();
  /** What each value and variable gets its lanes from. */
  readonly #from = new Map<Value | Variable, (Argument | Variable)[]>();
  readonly #made = new Map<Value, Statement>();

  constructor(ir: KernelIR, unset: Iterable<Location>) {
    this.#loads = new Map([...unset].map((at) => [keyOf(at), at]));
    walkAll(ir, (statement) => {
      push(this.#at, keyOf(statement.at), statement);
      for (const value of resultsOf(statement)) this.#made.set(value, statement);
      for (const [param, given] of handedOver(statement)) push(this.#from, param, given);
      if (statement.kind === "let") push(this.#from, statement.variable, statement.initial);
      if (statement.kind === "write") push(this.#from, statement.variable, statement.value);
      if (statement.kind === "read") push(this.#from, statement.result, statement.variable);
      if (statement.kind === "if")
        statement.results.forEach((result, i) => {
          for (const { yields } of [statement.then, statement.otherwise]) push(this.#from, result, yields[i]!);
        });
    });
  }

  /** The loads that left lanes unset and that what happens at a place depends on, in the order of their lines. */
  of(at: Location): readonly Location[] {
    const found = new Set<Location>();
    const seen = new Set<unknown>();
    const visit = (source: Argument | Variable): void => {
      if (source instanceof Variable || isValue(source)) {
        if (seen.has(source)) return;
        seen.add(source);
        const statement = source instanceof Variable ? undefined : this.#made.get(source);
        const load = this.#loads.get(keyOf(statement?.at));
        if (load) found.add(load);
        else if (statement?.kind === "op") argumentsOf(statement).forEach(visit);
        this.#from.get(source)?.forEach(visit);
      } else if (isList(source)) source.forEach(visit);
      else if (isFunction(source)) source.function.body.yields.forEach(visit);
    };
    for (const statement of this.#at.get(keyOf(at)) ?? []) argumentsOf(statement).forEach(visit);
    return [...found].sort((a, b) => a.line - b.line || a.column - b.column);
  }
}

function push<K, V>(lists: Map<K, V[]>, key: K, item: V): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
