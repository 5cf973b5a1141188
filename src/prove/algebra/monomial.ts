/** Products of atoms. Equal products are one object. */

export interface Monomial {
  /** The factors, sorted and with repetition. Empty for the constant monomial. */
  readonly atoms: readonly string[];
  readonly degree: number;
  /** A number in order of creation. */
  readonly id: number;
  /** A 32-bit hash. */
  readonly hash: number;
  /** The products with other monomials, by their ids. A proof multiplies the same few monomials many times. */
  readonly products: Map<number, Monomial>;
}

function make(atoms: readonly string[], text: string, id: number): Monomial {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return { atoms, degree: atoms.length, id, hash: hash | 1, products: new Map() };
}

/** The constant monomial. */
export const UNIT = make([], "", 0);

const interned = new Map<string, Monomial>();
let nextId = 1;

/**
 * Runs a function that creates monomials and clears the table afterwards, because a long-running process proves many
 * kernels.
 */
export function withMonomials<T>(run: () => T): T {
  try {
    return run();
  } finally {
    interned.clear();
    UNIT.products.clear();
    nextId = 1;
  }
}

/** The largest id plus one. */
export const monomialCount = (): number => nextId;

/** The product of these atoms, which must be sorted. */
export function monomialOf(atoms: readonly string[]): Monomial {
  if (atoms.length === 0) return UNIT;
  const text = atoms.join("*");
  let monomial = interned.get(text);
  if (monomial === undefined) interned.set(text, (monomial = make(atoms, text, nextId++)));
  return monomial;
}

/** The atom that a monomial consists of, or undefined. */
export function asAtom({ atoms }: Monomial): string | undefined {
  const [atom, ...more] = atoms;
  return more.length === 0 ? atom : undefined;
}

/** The product of two monomials. */
export function multiplyMonomials(x: Monomial, y: Monomial): Monomial {
  if (x === UNIT) return y;
  if (y === UNIT) return x;
  let product = x.products.get(y.id);
  if (product === undefined) {
    product = monomialOf([...x.atoms, ...y.atoms].sort());
    x.products.set(y.id, product);
  }
  return product;
}

/** The quotient of two monomials. Undefined if a factor of the divisor is missing. */
export function divideMonomial(dividend: Monomial, divisor: Monomial): Monomial | undefined {
  if (divisor === UNIT) return dividend;
  if (divisor.degree > dividend.degree) return undefined;
  if (divisor === dividend) return UNIT;
  const remaining = [...dividend.atoms];
  for (const atom of divisor.atoms) {
    const index = remaining.indexOf(atom);
    if (index < 0) return undefined;
    remaining.splice(index, 1);
  }
  return monomialOf(remaining);
}
