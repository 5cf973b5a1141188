/** The types of helper functions' parameters in the text of a kernel file, which its build shows. */
import type { HelperSignature } from "../compiled/compiled-kernel.js";
import type { HelperTypes } from "./kernel-text.js";

/** A parameter that calls give several types has none. */
export function helperTypes(text: string, helpers: readonly HelperSignature[]): HelperTypes {
  const lines = text.split("\n");
  const found = new Map<string, Map<string, string | undefined>>();
  for (const { at, params } of helpers) {
    const [, name] = /^const (\w+) = tl\.fn\(/.exec(at === undefined ? "" : (lines[at.line - 1] ?? "")) ?? [];
    if (name === undefined) continue;
    const types = found.get(name) ?? new Map<string, string | undefined>();
    found.set(name, types);
    for (const { name: param, type } of params)
      types.set(param, types.has(param) && types.get(param) !== type ? undefined : type);
  }
  return new Map(
    [...found].map(([name, types]) => [
      name,
      new Map([...types].flatMap(([param, type]) => (type === undefined ? [] : [[param, type] as const]))),
    ]),
  );
}
