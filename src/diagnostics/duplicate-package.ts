/** Detects several copies of this package in one program. The objects of one copy are unknown to the others. */

/** The key of the global registry of copies. */
const COPIES = Symbol.for("tilescript.copies");

const registry = globalThis as { [COPIES]?: Set<string> };

/** The folder of this copy. A bundle of several modules counts as one copy. */
const packageFolder = String(import.meta.url)
  .replace(/[?#].*$/s, "")
  .replace(/\/diagnostics\/duplicate-package\.[jt]s$/, "");

(registry[COPIES] ??= new Set()).add(packageFolder);

/** The end of a message about an object that another copy may have created. */
export function duplicatePackageHint(): string {
  const copies = [...(registry[COPIES] ?? [])];
  if (copies.length < 2) return "";
  return `; this program has ${copies.length} copies of tilescript, ${copies.join(" and ")}: import one alone (npm ls tilescript)`;
}
