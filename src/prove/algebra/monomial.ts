/** Products of atoms. Equal products are one object. */

export interface Monomial {
  /** In order, and as often as they are factors; none for the constant's. */
  readonly atoms: readonly string[];
  readonly degree: number;
  /** Counts monomials in the order in which they are met. */
  readonly id: number;
  /** Spread over 32 bits. */
  readonly hash: number;
  /** Its products with others, by their ids: a proof multiplies the same few again and again. */
  readonly products: Map<number, Monomial>;
}

function make(atoms: readonly string[], text: string, id: number): Monomial {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return { atoms, degree: atoms.length, id, hash: hash | 1, products: new Map() };
}

/** The monomial of constants. */
export const UNIT = make([], "", 0);

const known = new Map<string, Monomial>();
let nextId = 1;

/** Runs something that makes monomials, and forgets them: a process that stays proves many kernels. */
export function withMonomials<T>(run: () => T): T {
  try {
    return run();
  } finally {
    known.clear();
    UNIT.products.clear();
    nextId = 1;
  }
}

/** One more than the largest id. */
export const monomialCount = (): number => nextId;

/** The product of these atoms, which are in order. */
export function monomialOf(atoms: readonly string[]): Monomial {
  if (atoms.length === 0) return UNIT;
  const text = atoms.join("*");
  let monomial = known.get(text);
  if (monomial === undefined) known.set(text, (monomial = make(atoms, text, nextId++)));
  return monomial;
}

/** The product of two monomials. */
export function joined(x: Monomial, y: Monomial): Monomial {
  if (x === UNIT) return y;
  if (y === UNIT) return x;
  let product = x.products.get(y.id);
  if (product === undefined) {
    product = monomialOf([...x.atoms, ...y.atoms].sort());
    x.products.set(y.id, product);
  }
  return product;
}

/** What is left of a monomial without the atoms of another, or undefined if it lacks one. */
export function without(whole: Monomial, part: Monomial): Monomial | undefined {
  if (part === UNIT) return whole;
  if (part.degree > whole.degree) return undefined;
  if (part === whole) return UNIT;
  const rest = [...whole.atoms];
  for (const each of part.atoms) {
    const place = rest.indexOf(each);
    if (place < 0) return undefined;
    rest.splice(place, 1);
  }
  return monomialOf(rest);
}
