/** The types of helper functions' parameters, from the build of the kernel file. */
import type { HelperSignature } from "../compiled/compiled-kernel.js";
import type { HelperTypes } from "./kernel-text.js";

/** Omits parameters whose types differ between calls. */
export function helperTypes(text: string, helpers: readonly HelperSignature[]): HelperTypes {
  const lines = text.split("\n");
  const typesByHelper = new Map<string, Map<string, string | undefined>>();
  for (const { at: location, params } of helpers) {
    const [, name] =
      /^const (\w+) = tl\.fn\(/.exec(location === undefined ? "" : (lines[location.line - 1] ?? "")) ?? [];
    if (name === undefined) continue;
    const types = typesByHelper.get(name) ?? new Map<string, string | undefined>();
    typesByHelper.set(name, types);
    for (const { name: param, type } of params)
      types.set(param, types.has(param) && types.get(param) !== type ? undefined : type);
  }
  return new Map(
    [...typesByHelper].map(([name, types]) => [
      name,
      new Map([...types].flatMap(([param, type]) => (type === undefined ? [] : [[param, type] as const]))),
    ]),
  );
}
