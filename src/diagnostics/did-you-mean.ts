/** The name that an author may have meant. */

/** The one of `names` that is spelt like `name`, apart from case, `_` and a letter or two; undefined if none is. */
export function suggestName(name: string, names: readonly string[]): string | undefined {
  return nearest(name, names)[0];
}

/** The same, if no other name is as near: what the author must have meant. */
export function suggestUniqueName(name: string, names: readonly string[]): string | undefined {
  const [near, ...others] = nearest(name, names);
  return others.length === 0 ? near : undefined;
}

function nearest(name: string, names: readonly string[]): readonly string[] {
  const plain = plainOf(name);
  // Of three letters another one is another name: `N` is not `ne`, nor `dim` `div`.
  const most = plain.length < 4 ? 0 : plain.length < 6 ? 1 : 2;
  const distances = names.map((each) => [distance(plain, plainOf(each)), each] as const);
  const least = Math.min(most, ...distances.map(([far]) => far));
  return distances.flatMap(([far, each]) => (far === least ? [each] : []));
}

const plainOf = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** Letters to insert, remove, replace or swap with the next one (Damerau and Levenshtein). */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + cost];
      row.push(Math.min(...steps, ...(swapped ? [rows[i - 2]![j - 2]! + 1] : [])));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
