/** Collects findings: one per code and location, with a count, up to a limit. */
import type { Finding } from "../compiled/compiled-kernel.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";

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
