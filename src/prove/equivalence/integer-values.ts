/** Integer terms as real values. */
import type { Term } from "../../symbolic/term.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { integerMonomials } from "./integer-form.js";
import {
  addPolynomials,
  type Atom,
  atomOf,
  atomPolynomial,
  constantPolynomial,
  multiplyPolynomials,
  type Polynomial,
} from "./polynomial.js";
import { rational } from "./rational.js";

/** An integer term as a sum of products. */
export function integerPolynomial(term: Term): Polynomial {
  const monomials = integerMonomials(term).map(({ factor, atoms }) =>
    atoms.reduce(
      (result, atom) => multiplyPolynomials(result, atomPolynomial(integerAtom(atom))),
      constantPolynomial(rational(factor)),
    ),
  );
  return addPolynomials(...monomials);
}

function integerAtom(term: Term): Atom {
  return term.kind === "call" && term.name.startsWith(ELEMENT_PREFIX)
    ? atomOf({ kind: "input", name: term.name.slice(ELEMENT_PREFIX.length), index: term.operands })
    : atomOf({ kind: "integer", term });
}
