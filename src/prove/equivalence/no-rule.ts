/** What no rule covers. It ends the comparison of an output, whose verdict is unknown. */
export class NoRule extends Error {}

export function noRule(what: string): never {
  throw new NoRule(what);
}
