/** Suggestions for misspelled names. */

/**
 * The name that is closest to `name`, ignoring case and `_`, within an edit distance of one or two letters. Undefined
 * if none is close enough.
 */
export function suggestName(name: string, names: readonly string[]): string | undefined {
  return nearestNames(name, names)[0];
}

/** `did you mean NAME?`, or another remedy if no name is close enough. */
export function didYouMean(name: string, names: readonly string[], otherwise: string): string {
  const suggestion = suggestName(name, names);
  return suggestion === undefined ? otherwise : `did you mean ${suggestion}?`;
}

/** Like {@link suggestName}, but only if no other name is equally close. */
export function suggestUniqueName(name: string, names: readonly string[]): string | undefined {
  const [suggestion, ...others] = nearestNames(name, names);
  return others.length === 0 ? suggestion : undefined;
}

function nearestNames(name: string, names: readonly string[]): readonly string[] {
  const plain = normalizeName(name);
  const distances = names.map((candidate) => [editDistance(plain, normalizeName(candidate)), candidate] as const);
  const minimum = Math.min(maxDistance(plain), ...distances.map(([editDistance]) => editDistance));
  return distances.flatMap(([editDistance, candidate]) => (editDistance === minimum ? [candidate] : []));
}

/** A change in a name of three letters makes it another name: `N` is not `ne`, nor `dim` `div`. */
function maxDistance({ length }: string): number {
  if (length < 4) return 0;
  return length < 6 ? 1 : 2;
}

const normalizeName = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** The Damerau–Levenshtein distance: letters to insert, remove, replace, or swap with the next one. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const distance = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + cost];
      row.push(Math.min(...steps, isSwap ? distance(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY));
    }
  }
  return distance(a.length, b.length);
}
