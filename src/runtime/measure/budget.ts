/** `--budget`: when a search or a verification stops. */
import { UsageError } from "../system/errors.js";

/** `all` has no limit. */
export interface Budget {
  readonly seconds?: number;
  /** A number without a unit: configs of a search, seconds of a verification. */
  readonly count?: number;
  readonly all?: true;
}

/** Parses `60s`, `5m`, a number, or `all`. */
export function parseBudget(text: string): Budget {
  if (text === "all") return { all: true };
  const match = /^([1-9]\d*)(s|m|)$/.exec(text);
  if (!match) throw new UsageError(`--budget: ${text} is not a budget; write 60s, 5m, a number, or all`);
  const count = Number(match[1]);
  if (match[2] === "") return { count };
  return { seconds: match[2] === "m" ? 60 * count : count };
}
