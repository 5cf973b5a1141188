/** Implication between conditions that are constant when Triton compiles, given as canonical texts. */

/** A propositional formula: `not A`, `and(A, B)`, `or(A, B)` or an atom. */
type Formula =
  | { readonly kind: "atom"; readonly text: string }
  | { readonly kind: "not"; readonly operand: Formula }
  | { readonly kind: "and" | "or"; readonly sides: readonly [Formula, Formula] };

/** The maximum number of atoms in a truth table. */
const MAX_ATOMS = 10;

/** True if `facts` imply all of `conditions`. Returns false if the truth table would be too large. */
export function implies(conditions: readonly string[], facts: readonly string[]): boolean {
  const goals = conditions.filter((text) => !facts.includes(text)).map(formulaOf);
  if (goals.length === 0) return true;
  const premises = facts.map(formulaOf);
  const atoms = [...new Set([...premises, ...goals].flatMap(atomsOf))];
  if (atoms.length > MAX_ATOMS) return false;
  for (let row = 0; row < 2 ** atoms.length; row++) {
    const assignment = new Map(atoms.map((text, i) => [text, (row & (1 << i)) !== 0]));
    const isPossible = isConsistent(atoms, assignment) && premises.every((formula) => isTrue(formula, assignment));
    if (isPossible && !goals.every((formula) => isTrue(formula, assignment))) return false;
  }
  return true;
}

function formulaOf(text: string): Formula {
  if (text.startsWith("not ")) return { kind: "not", operand: formulaOf(text.slice("not ".length)) };
  const sides = sidesOf(text);
  if (sides) return { kind: text.startsWith("and") ? "and" : "or", sides: [formulaOf(sides[0]), formulaOf(sides[1])] };
  const [, lhs, rhs] = /^([^=!]+) != ([^=!]+)$/.exec(text) ?? [];
  return lhs !== undefined
    ? { kind: "not", operand: { kind: "atom", text: `${lhs} == ${rhs}` } }
    : { kind: "atom", text };
}

/** The operands of `and(…)` or `or(…)`, if the whole text has this form. */
function sidesOf(text: string): readonly [string, string] | undefined {
  if (!/^(?:and|or)\(.*\)$/s.test(text)) return undefined;
  const inner = text.slice(text.indexOf("(") + 1, -1);
  let [depth, comma] = [0, -1];
  for (const [i, letter] of [...inner].entries()) {
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    if (depth < 0) return undefined;
    if (letter === "," && depth === 0) {
      // A string that a flag is compared with may contain a comma; the whole text is then an atom.
      if (comma >= 0) return undefined;
      comma = i;
    }
  }
  return comma < 0 ? undefined : [inner.slice(0, comma), inner.slice(comma + 2)];
}

function atomsOf(formula: Formula): readonly string[] {
  if (formula.kind === "atom") return [formula.text];
  return formula.kind === "not" ? atomsOf(formula.operand) : formula.sides.flatMap(atomsOf);
}

function isTrue(formula: Formula, assignment: ReadonlyMap<string, boolean>): boolean {
  if (formula.kind === "atom") return assignment.get(formula.text) === true;
  if (formula.kind === "not") return !isTrue(formula.operand, assignment);
  const [lhs, rhs] = formula.sides;
  return formula.kind === "and"
    ? isTrue(lhs, assignment) && isTrue(rhs, assignment)
    : isTrue(lhs, assignment) || isTrue(rhs, assignment);
}

/** True unless the assignment makes one subject equal to two numbers. */
function isConsistent(atoms: readonly string[], assignment: ReadonlyMap<string, boolean>): boolean {
  const values = new Set<string>();
  for (const text of atoms) {
    const [, subject] = /^([^=!]+) == -?[\d.]+$/.exec(text) ?? [];
    if (subject === undefined || !assignment.get(text)) continue;
    if (values.has(subject)) return false;
    values.add(subject);
  }
  return true;
}
