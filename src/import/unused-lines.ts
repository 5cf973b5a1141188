/** Values that only code which is left out reads: TileScript would take such a condition for one that JavaScript decided. */

/** The lines of a function without them. */
export function withoutUnused(lines: readonly string[]): readonly string[] {
  const left = [...lines];
  for (let i = left.length - 1; i >= 0; i--) {
    const [, name, value] = /^const (\w+) = (.*);$/s.exec(left[i]!) ?? [];
    if (name !== undefined && value !== undefined && onlyComputes(value) && !isUsed(name, left, i + 1))
      left.splice(i, 1);
  }
  return left;
}

/** Whether the rest of the block that is open at a line names a variable. */
function isUsed(name: string, lines: readonly string[], from: number): boolean {
  const use = new RegExp(`\\b${name}\\b`);
  let depth = 0;
  for (const line of lines.slice(from)) {
    if (line.startsWith("//")) continue;
    if (line.startsWith("}") && depth === 0) return false;
    if (use.test(line)) return true;
    depth += line.split("{").length - line.split("}").length;
  }
  return false;
}

/** No state, no access to memory, and no call of a helper function, which may have an effect. */
const onlyComputes = (value: string): boolean =>
  !/=>|\btl\.(mut|load|atomic\w*)\(|\.(load|atomic\w*|gather)\(/.test(value) && !/(?<![.\w])[A-Za-z_]\w*\(/.test(value);
