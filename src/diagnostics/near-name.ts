/** The name that an author may have meant. */

/** The one of `names` that is spelt like `name`, apart from case, `_` and a letter or two; undefined if none is. */
export function nearName(name: string, names: readonly string[]): string | undefined {
  const plain = plainOf(name);
  const same = names.find((each) => plainOf(each) === plain);
  if (same !== undefined) return same;
  const most = plain.length < 5 ? 1 : 2;
  const distances = names.map((each) => [distance(plain, plainOf(each)), each] as const);
  return distances.filter(([far]) => far <= most).toSorted(([a], [b]) => a - b)[0]?.[1];
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
