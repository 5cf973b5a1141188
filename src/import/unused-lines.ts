/** Removes unused values. TileScript would report an unused condition as evaluated in JavaScript. */

export function withoutUnused(lines: readonly string[]): readonly string[] {
  const remaining = [...lines];
  for (const [i, line] of [...lines.entries()].reverse()) {
    const [, name, value] = /^const (\w+) = (.*);$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined && isSideEffectFree(value) && !isUsed(name, remaining, i + 1))
      remaining.splice(i, 1);
  }
  return remaining;
}

/** True if the remaining lines of the enclosing block use a variable. */
function isUsed(name: string, lines: readonly string[], start: number): boolean {
  const pattern = new RegExp(`\\b${name}\\b`);
  let depth = 0;
  for (const line of lines.slice(start)) {
    if (line.startsWith("//")) continue;
    if (line.startsWith("}") && depth === 0) return false;
    if (pattern.test(line)) return true;
    depth += line.split("{").length - line.split("}").length;
  }
  return false;
}

/** False for mutable variables, memory accesses, and calls of helper functions, which may have effects. */
const isSideEffectFree = (value: string): boolean =>
  !/=>|\btl\.(mut|load|atomic\w*)\(|\.(load|atomic\w*|gather)\(/.test(value) && !/(?<![.\w])[A-Za-z_]\w*\(/.test(value);
