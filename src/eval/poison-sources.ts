/** What left the lanes without a defined value that a finding is about: loads, and ops that no device defines there. */
import type { Finding } from "../compiled/compiled-kernel.js";
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { leftUnset, usedAt, uninitialized } from "../diagnostics/catalog/finding-codes.js";
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

/** Why an op left lanes without a defined value; undefined for a load. */
type Unset = ReadonlyMap<Location, Message<FindingCode> | undefined>;

/**
 * Makes findings about unset lanes name the loads. Where an op left them, the finding is that op's. `unset` has the places
 * that left some.
 */
export function attributeToLoads(ir: KernelIR, unset: Unset): (finding: Finding) => Finding {
  let origins: Origins | undefined;
  return (finding) => {
    const { at } = finding;
    if (finding.code !== uninitialized.code || !at || unset.size === 0) return finding;
    const found = (origins ??= new Origins(ir, unset.keys())).of(at);
    const [first] = found;
    if (!first) return finding;
    const from = (place: Location): string => (place.file === at.file ? `line ${place.line}` : formatLocation(place));
    const loads = found.filter((place) => !unset.get(place));
    const said = unset.get(first);
    if (said && loads.length === 0)
      return { ...finding, code: said.code, at: first, message: `${said.message}; ${usedAt(from(at))}` };
    const others = found.flatMap((place) => {
      const why = unset.get(place);
      return why ? [`; or, in ${from(place)}, ${why.message}`] : [];
    });
    return { ...finding, message: `${finding.message}; ${leftUnset([...new Set(loads.map(from))])}${others.join("")}` };
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

  /** What left lanes unset and what happens at a place depends on, in the order of their lines. */
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
