/** Python text in a few shapes, as `ruff format` would write it. */

/** Text on one line, or a bracket that may have a line for each item. */
export type Term = string | { readonly open: string; readonly items: readonly Term[]; readonly close: string };

const WIDTH = 88;

/** The lines of a term; `after` follows its last character. */
export function layOut(term: Term, indent = "", after = ""): string {
  const line = `${indent}${flat(term)}${after}`;
  if (typeof term === "string" || line.length <= WIDTH) return line;
  const items = term.items.map((item) => `${layOut(item, `${indent}    `, ",")}\n`);
  return `${indent}${term.open}\n${items.join("")}${indent}${term.close}${after}`;
}

function flat(term: Term): string {
  return typeof term === "string" ? term : `${term.open}${term.items.map(flat).join(", ")}${term.close}`;
}

export function importLine(from: string, names: readonly string[]): string {
  const line = `from ${from} import ${names.join(", ")}`;
  return line.length <= WIDTH ? line : layOut({ open: `from ${from} import (`, items: names, close: ")" });
}

/** A number as Python writes it. */
export function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value).replace(/e-(\d)$/, "e-0$1");
}
