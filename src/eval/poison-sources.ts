/** Sources of the poison that a finding reports: loads, and ops whose result no device defines for these operands. */
import type { Finding } from "../compiled/compiled-kernel.js";
import type { Message } from "../diagnostics/message.js";
import { partsOf } from "./findings.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { formatUnsetBy, formatUse, uninitialized } from "../diagnostics/catalog/finding-codes.js";
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
import { argumentsOf, callBindings, resultsOf, walkAll } from "../ir/walk.js";

const keyOf = (location: Location | undefined): string =>
  location ? `${location.file}:${location.line}:${location.column}` : "";

/** The location of each source of poison, with the message of an op. A load has no message. */
type PoisonMessages = ReadonlyMap<Location, Message<FindingCode> | undefined>;

/**
 * Adds the responsible loads to findings about poison. If the source is an op, the finding becomes the op's finding.
 * `poisonSources` contains the locations of all sources in the run.
 */
export function attributeToLoads(ir: KernelIR, poisonSources: PoisonMessages): (finding: Finding) => Finding {
  let origins: Origins | undefined;
  return (finding) => {
    const { at: findingLocation } = finding;
    if (finding.code !== uninitialized.code || !findingLocation || poisonSources.size === 0) return finding;
    const sources = (origins ??= new Origins(ir, poisonSources.keys())).sourcesAt(findingLocation);
    const [first] = sources;
    if (!first) return finding;
    const formatLine = (location: Location): string =>
      location.file === findingLocation.file ? `line ${location.line}` : formatLocation(location);
    const loads = sources.filter((location) => !poisonSources.get(location));
    const message = poisonSources.get(first);
    if (message && loads.length === 0)
      return {
        ...finding,
        ...partsOf(message),
        at: first,
        message: `${message.text}; ${formatUse(formatLine(findingLocation))}`,
      };
    const alternatives = sources.flatMap((location) => {
      const message = poisonSources.get(location);
      return message ? [`; or, in ${formatLine(location)}, ${message.text}`] : [];
    });
    return {
      ...finding,
      message: `${finding.message}; ${formatUnsetBy([...new Set(loads.map(formatLine))])}${alternatives.join("")}`,
    };
  };
}

/** Data dependences of a program. */
class Origins {
  readonly #loads: ReadonlyMap<string, Location>;
  readonly #statementsByLocation = new Map<string, Statement[]>();
  /** The operands from which each value and variable gets its lanes. */
  readonly #operands = new Map<Value | Variable, (Argument | Variable)[]>();
  readonly #definitions = new Map<Value, Statement>();

  constructor(ir: KernelIR, poisonSources: Iterable<Location>) {
    this.#loads = new Map([...poisonSources].map((at) => [keyOf(at), at]));
    walkAll(ir, (statement) => {
      push(this.#statementsByLocation, keyOf(statement.location), statement);
      for (const value of resultsOf(statement)) this.#definitions.set(value, statement);
      for (const [param, argument] of callBindings(statement)) push(this.#operands, param, argument);
      if (statement.kind === "let") push(this.#operands, statement.variable, statement.initial);
      if (statement.kind === "write") push(this.#operands, statement.variable, statement.value);
      if (statement.kind === "read") push(this.#operands, statement.result, statement.variable);
      if (statement.kind === "if")
        statement.results.forEach((result, i) => {
          for (const { yields } of [statement.then, statement.otherwise]) push(this.#operands, result, yields[i]!);
        });
    });
  }

  /** The sources of poison that the statements at a location depend on, in source order. */
  sourcesAt(location: Location): readonly Location[] {
    const sources = new Set<Location>();
    const visited = new Set<unknown>();
    const visit = (source: Argument | Variable): void => {
      if (source instanceof Variable || isValue(source)) {
        if (visited.has(source)) return;
        visited.add(source);
        const statement = source instanceof Variable ? undefined : this.#definitions.get(source);
        const load = this.#loads.get(keyOf(statement?.location));
        if (load) sources.add(load);
        else if (statement?.kind === "op") argumentsOf(statement).forEach(visit);
        this.#operands.get(source)?.forEach(visit);
      } else if (isList(source)) source.forEach(visit);
      else if (isFunction(source)) source.function.body.yields.forEach(visit);
    };
    for (const statement of this.#statementsByLocation.get(keyOf(location)) ?? [])
      argumentsOf(statement).forEach(visit);
    return [...sources].sort((a, b) => a.line - b.line || a.column - b.column);
  }
}

function push<K, V>(lists: Map<K, V[]>, key: K, item: V): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
