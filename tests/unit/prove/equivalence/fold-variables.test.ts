/** Changes of the variables of folds. */
import { expect, test } from "vitest";
import { shiftIndices } from "../../../../src/prove/equivalence/fold-variables.js";
import { canonical } from "../../../../src/prove/equivalence/integer-form.js";
import {
  atomOf,
  atomPolynomial,
  multiplyPolynomials,
  withAtoms,
} from "../../../../src/prove/equivalence/polynomial.js";
import { atLeast, atMost, number, symbol, sum, type Term } from "../../../../src/symbolic/term.js";

const element = (name: string, index: Term) => atomPolynomial(atomOf({ kind: "input", name, index: [index] }));
const [k, inner] = [symbol("k~outer"), symbol("k1.0")];

/** The values that replace the variable of a sum of `x[index]` times the sum of `w[i]` for i up to k. */
const replaced = (index: Term): readonly (Term | undefined)[] =>
  withAtoms(() => {
    const domain = [atLeast(inner, number(0)), atMost(inner, k)].map(canonical);
    const fold = { kind: "sum", variables: ["k1.0"], domain, body: element("w", inner) } as const;
    const body = multiplyPolynomials(atomPolynomial(atomOf({ kind: "fold", fold })), element("x", index));
    const values: (Term | undefined)[] = [];
    shiftIndices(
      () => ({ variables: [k.name], domain: [canonical(atLeast(k, number(0)))], body }),
      (_variables, _domain, by) => values.push(by.get(k.name)),
    );
    return values;
  });

test("a variable is counted from where its first index starts", () =>
  expect(replaced(canonical(sum(k, number(3))))).toEqual([canonical(sum(k, number(-3)))]));

test("a variable is not counted from one of a sum inside", () => expect(replaced(k)).toEqual([]));
