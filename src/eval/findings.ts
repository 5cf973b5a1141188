/** Collects findings: one for each code and source location, with a count, and no more than a reader can use. */
import type { Finding } from "../compiled/compiled-kernel.js";
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";

/** How many findings to keep; further ones are only counted. */
const LIMIT = 20;

interface Kept {
  readonly finding: Finding;
  times: number;
}

/** What is wrong, in which program and lane. */
interface Found extends Pick<Finding, "program" | "lane"> {
  readonly said: Message<FindingCode>;
}

function findingOf({ said: { code, message }, program, lane }: Found, at: Location | undefined): Finding {
  return { code, at, message, program, lane };
}

export class Findings {
  readonly #kept = new Map<string, Kept>();
  #left = 0;
  /** Number of calls of `add`. */
  count = 0;

  /** Adds `times` lanes with the same mistake. `describe` is called once for each code and location. */
  add(code: FindingCode, at: Location | undefined, times: number, describe: () => Found): void {
    this.count++;
    const key = `${code} ${at?.file}:${at?.line}:${at?.column}`;
    const known = this.#kept.get(key);
    if (known) known.times += times;
    else if (this.#kept.size >= LIMIT) this.#left += times;
    else this.#kept.set(key, { finding: findingOf(describe(), at), times });
  }

  /** The kept findings, in the order of their first occurrence. `told` adds what only the whole run shows. */
  list(told: (finding: Finding) => Finding = (finding) => finding): Finding[] {
    return [...this.#kept.values()].map(({ finding: kept, times }) => {
      const finding = told(kept);
      return times === 1 ? finding : { ...finding, message: `${finding.message} (and ${times - 1} more like it)` };
    });
  }

  /** How many lanes had findings that are not kept. */
  get left(): number {
    return this.#left;
  }
}

/** The coordinates of the element at a row-major position. */
export function coordinates(shape: readonly number[], position: number): number[] {
  const result = shape.map(() => 0);
  let rest = position;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    result[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return result;
}
