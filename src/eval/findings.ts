/** What the sanitiser saw, kept to a readable number: one finding for each rule and place, with how often it recurred. */
import type { Finding } from "../contract/compiled.js";
import type { Location } from "../diagnostics/diagnostic.js";

/** Findings that are kept; what is wrong beyond them is only counted. */
const LIMIT = 20;

interface Kept {
  readonly finding: Finding;
  times: number;
}

export class Findings {
  readonly #kept = new Map<string, Kept>();
  #left = 0;
  /** How often anything was noted. */
  count = 0;

  /** Notes `times` lanes where the same is wrong. `describe` is asked once for each rule and place. */
  add(code: string, at: Location | undefined, times: number, describe: () => Omit<Finding, "code" | "at">): void {
    this.count++;
    const key = `${code} ${at?.file}:${at?.line}:${at?.column}`;
    const known = this.#kept.get(key);
    if (known) known.times += times;
    else if (this.#kept.size >= LIMIT) this.#left += times;
    else this.#kept.set(key, { finding: { code, at, ...describe() }, times });
  }

  /** In the order in which they were first seen. */
  list(): Finding[] {
    return [...this.#kept.values()].map(({ finding, times }) =>
      times === 1 ? finding : { ...finding, message: `${finding.message} (and ${times - 1} more like it)` },
    );
  }

  /** How often something was wrong at places beyond those that are listed. */
  get left(): number {
    return this.#left;
  }
}

/** The coordinates of an element by its place in row-major order. */
export function coordinates(shape: readonly number[], position: number): number[] {
  const result = shape.map(() => 0);
  let rest = position;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    result[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return result;
}
