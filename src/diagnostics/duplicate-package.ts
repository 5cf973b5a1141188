/** Copies of this package in one program: what one of them made is unknown to the others. */

/** Where all copies write themselves down. */
const COPIES = Symbol.for("tilescript.copies");

const all = globalThis as { [COPIES]?: Set<string> };

/** The folder of this copy; a bundle of several modules is one place, too. */
const own = String(import.meta.url)
  .replace(/[?#].*$/s, "")
  .replace(/\/diagnostics\/duplicate-package\.[jt]s$/, "");

(all[COPIES] ??= new Set()).add(own);

/** The end of a message about something that another copy may have made. */
export function duplicatePackageHint(): string {
  const places = [...(all[COPIES] ?? [])];
  if (places.length < 2) return "";
  return `; this program has ${places.length} copies of tilescript, ${places.join(" and ")}: import one alone (npm ls tilescript)`;
}
