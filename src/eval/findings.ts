/** Collects findings: one per code and location, with a count, up to a limit. */
import type { Finding } from "../compiled/compiled-kernel.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { type Location, formatLocation } from "../diagnostics/diagnostic.js";
import type { ValueRuntime } from "../values/runtime-values.js";
import { isTile } from "../values/operands.js";
import { formatUnsetBy, formatUse, uninitialized } from "../diagnostics/catalog/finding-codes.js";
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

/** Maximum number of listed findings. Further findings are only counted. */
const LIMIT = 20;

interface Entry {
  readonly finding: Finding;
  laneCount: number;
}

/** The message of a finding, with the program and lane where it occurred. */
interface FindingDetails extends Pick<Finding, "program" | "lane"> {
  readonly message: Message<FindingCode>;
}

function findingOf({ message, program, lane }: FindingDetails, location: Location | undefined): Finding {
  return { ...partsOf(message), at: location, program, lane };
}

/** The parts of a message that a finding holds. */
export function partsOf({ code, text, remedy }: Message<FindingCode>): Pick<Finding, "code" | "message" | "remedy"> {
  return { code, message: text, ...(remedy !== "" && { remedy }) };
}

export class Findings {
  readonly #entries = new Map<string, Entry>();
  #unlisted = 0;
  /** Number of calls of `add`. */
  count = 0;

  /** Adds a finding in `laneCount` lanes. `describe` is called once per code and location. */
  add(code: FindingCode, location: Location | undefined, laneCount: number, describe: () => FindingDetails): void {
    this.count++;
    const key = `${code} ${location?.file}:${location?.line}:${location?.column}`;
    const entry = this.#entries.get(key);
    if (entry) entry.laneCount += laneCount;
    else if (this.#entries.size >= LIMIT) this.#unlisted += laneCount;
    else this.#entries.set(key, { finding: findingOf(describe(), location), laneCount });
  }

  /** The findings in the order of their first occurrence. `amend` adds information that only the whole run provides. */
  list(amend: (finding: Finding) => Finding = (finding) => finding): Finding[] {
    return [...this.#entries.values()].map(({ finding: original, laneCount }) => {
      const finding = amend(original);
      return laneCount === 1
        ? finding
        : { ...finding, message: `${finding.message} (and ${laneCount - 1} more like it)` };
    });
  }

  /** Number of lanes with findings that are not listed. */
  get unlisted(): number {
    return this.#unlisted;
  }
}

/** The indices of the element at a position in row-major order. */
export function coordinates(shape: readonly number[], position: number): readonly number[] {
  let remainder = position;
  const indices = shape.toReversed().map((size) => {
    const index = remainder % size;
    remainder = Math.floor(remainder / size);
    return index;
  });
  return indices.reverse();
}

// Collects the output of `tl.devicePrint` during evaluation: one line per element, as on a GPU.

/** Maximum number of lines of one evaluation. */
const MAX_LINES = 1000;

export class Prints {
  readonly #lines: string[] = [];
  #omittedLines = 0;

  /** The lines, with a final note on omitted lines. */
  get lines(): readonly string[] {
    return this.#omittedLines > 0 ? [...this.#lines, `${this.#omittedLines} more lines were printed`] : this.#lines;
  }

  print(
    prefix: string,
    values: readonly ValueRuntime[],
    hex: boolean,
    { program, at: location }: { readonly program: readonly number[]; readonly at: Location | undefined },
  ): void {
    const prefixText = `${location ? `${location.file.split("/").at(-1)}:${location.line} ` : ""}program (${program.join(", ")})`;
    if (values.length === 0) return this.#add(() => `${prefixText} ${prefix}`);
    values.forEach((value, operand) => {
      const name = values.length > 1 ? `${prefix}(operand ${operand})` : prefix;
      if (!isTile(value)) return this.#add(() => `${prefixText} ${name}: ${formatValue(value, hex)}`);
      for (let i = 0; i < value.data.length; i++) {
        const lane = value.shape.length > 0 ? ` lane [${coordinates(value.shape, i).join(", ")}]` : "";
        const valueText = value.poison?.[i] ? "no value" : formatValue(value.data[i], hex);
        this.#add(() => `${prefixText}${lane} ${name}: ${valueText}`);
      }
    });
  }

  #add(line: () => string): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push(line());
    else this.#omittedLines++;
  }
}

function formatValue(value: unknown, hex: boolean): string {
  if (hex && (typeof value === "bigint" || Number.isInteger(value))) return `0x${(value as number).toString(16)}`;
  return typeof value === "object" ? "an address" : String(value);
}

// Sources of the poison that a finding reports: loads, and ops whose result no device defines for these operands.

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
