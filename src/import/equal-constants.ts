/** Constants that are equal in every call: two sizes of tiles that must be one. */
import { authorName } from "./author-name.js";
import type { HostTree, KernelTree } from "./tree.js";

/** Names of constants, each with the one whose value it has. */
export type EqualConstants = ReadonlyMap<string, string>;

/**
 * The constants that a build error for two shapes calls different, such as `add: [M, N] and [M, M] do not broadcast`.
 * Undefined if they are not equal in every call and config.
 */
export function equalConstantsIn(
  reason: string,
  tree: Pick<KernelTree, "functions" | "signatures" | "tuning">,
): readonly [replaced: string, constant: string] | undefined {
  const [[, a = ""] = [], [, b = ""] = []] = reason.matchAll(/\[([\w, ]+)\]/g);
  const [x, y] = [a.split(", "), b.split(", ")];
  const axis = x.findIndex((size, i) => size !== y[i]);
  const [kernel] = tree.functions;
  const [constant, replaced] = kernel.params
    .map(({ name }) => name)
    .filter((name) => [x[axis], y[axis]].includes(authorName(name)));
  if (x.length !== y.length || constant === undefined || replaced === undefined) return undefined;
  const configs = tree.tuning.autotune?.configs.map(({ values }) => values) ?? [{}];
  const isEqual = tree.signatures.every((signature) => {
    const valueOf = (name: string): unknown => {
      const argument = signature[name];
      return argument?.kind === "constant" && argument.value.what === "constant" ? argument.value.value : undefined;
    };
    return configs.every((values) => {
      const value = values[constant] ?? valueOf(constant);
      return value !== undefined && value === (values[replaced] ?? valueOf(replaced));
    });
  });
  return isEqual ? [replaced, constant] : undefined;
}

export const conditionsOf = (equal: EqualConstants = new Map()): readonly HostTree[] =>
  [...equal].map(([replaced, constant]) => ({ op: "eq", of: [{ param: replaced }, { param: constant }] }));
