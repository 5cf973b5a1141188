/** Which conditions that Triton knows when it compiles follow from others, by their texts. */

/** `not A`, `and(A, B)` and `or(A, B)`; anything else is true or false by itself. */
type Formula =
  | { readonly kind: "atom"; readonly text: string }
  | { readonly kind: "not"; readonly of: Formula }
  | { readonly kind: "and" | "or"; readonly sides: readonly [Formula, Formula] };

/** A truth table of more atoms costs more than it is worth. */
const MOST_ATOMS = 10;

/** Whether all of `conditions` hold wherever all of `known` hold. Where that is too much to find out, it says no. */
export function implies(conditions: readonly string[], known: readonly string[]): boolean {
  const wanted = conditions.filter((text) => !known.includes(text)).map(formulaOf);
  if (wanted.length === 0) return true;
  const given = known.map(formulaOf);
  const atoms = [...new Set([...given, ...wanted].flatMap(atomsOf))];
  if (atoms.length > MOST_ATOMS) return false;
  for (let row = 0; row < 2 ** atoms.length; row++) {
    const holds = new Map(atoms.map((text, i) => [text, (row & (1 << i)) !== 0]));
    const isPossible = isConsistent(atoms, holds) && given.every((formula) => isTrue(formula, holds));
    if (isPossible && !wanted.every((formula) => isTrue(formula, holds))) return false;
  }
  return true;
}

function formulaOf(text: string): Formula {
  if (text.startsWith("not ")) return { kind: "not", of: formulaOf(text.slice("not ".length)) };
  const sides = sidesOf(text);
  if (sides) return { kind: text.startsWith("and") ? "and" : "or", sides: [formulaOf(sides[0]), formulaOf(sides[1])] };
  const [, one, other] = /^([^=!]+) != ([^=!]+)$/.exec(text) ?? [];
  return one !== undefined ? { kind: "not", of: { kind: "atom", text: `${one} == ${other}` } } : { kind: "atom", text };
}

/** The arguments of `and(…)` or `or(…)`, if that is the whole text. */
function sidesOf(text: string): readonly [string, string] | undefined {
  if (!/^(?:and|or)\(.*\)$/s.test(text)) return undefined;
  const inner = text.slice(text.indexOf("(") + 1, -1);
  let [depth, comma] = [0, -1];
  for (const [i, letter] of [...inner].entries()) {
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    if (depth < 0) return undefined;
    if (letter === "," && depth === 0) {
      // A word that a flag is compared with may have a comma: such a text is taken as it stands.
      if (comma >= 0) return undefined;
      comma = i;
    }
  }
  return comma < 0 ? undefined : [inner.slice(0, comma), inner.slice(comma + 2)];
}

function atomsOf(formula: Formula): readonly string[] {
  if (formula.kind === "atom") return [formula.text];
  return formula.kind === "not" ? atomsOf(formula.of) : formula.sides.flatMap(atomsOf);
}

function isTrue(formula: Formula, holds: ReadonlyMap<string, boolean>): boolean {
  if (formula.kind === "atom") return holds.get(formula.text)!;
  if (formula.kind === "not") return !isTrue(formula.of, holds);
  const [one, other] = formula.sides;
  return formula.kind === "and"
    ? isTrue(one, holds) && isTrue(other, holds)
    : isTrue(one, holds) || isTrue(other, holds);
}

/** Nothing equals two numbers. */
function isConsistent(atoms: readonly string[], holds: ReadonlyMap<string, boolean>): boolean {
  const values = new Set<string>();
  for (const text of atoms) {
    const [, what] = /^([^=!]+) == -?[\d.]+$/.exec(text) ?? [];
    if (what === undefined || !holds.get(text)) continue;
    if (values.has(what)) return false;
    values.add(what);
  }
  return true;
}
