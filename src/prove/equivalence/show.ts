/** Normal forms as text, in the author's names. */
import type { Term } from "../../symbolic/term.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import type { Case } from "./cases.js";
import type { Atom, Factor, Monomial, Polynomial } from "./polynomial.js";
import { isOne, textOf } from "./rational.js";

const NARY = { sum: " + ", product: "·", all: " and ", some: " or " } as const;
const BINARY = {
  atMost: "≤",
  equal: "=",
  quotient: "//",
  floorQuotient: "//",
  remainder: "%",
  floorRemainder: "%",
} as const;

export function termText(term: Term): string {
  const operands = term.operands.map(termText);
  switch (term.kind) {
    case "number":
      return String(term.value);
    case "symbol":
      return term.name;
    case "true":
    case "false":
      return term.kind;
    case "sum":
    case "product":
    case "all":
    case "some":
      return `(${operands.join(NARY[term.kind])})`;
    case "atMost":
    case "equal":
    case "quotient":
    case "floorQuotient":
    case "remainder":
    case "floorRemainder":
      return `(${operands.join(` ${BINARY[term.kind]} `)})`;
    case "not":
      return `not ${operands.join("")}`;
    case "least":
      return `min(${operands.join(", ")})`;
    case "greatest":
      return `max(${operands.join(", ")})`;
    case "choice":
      return `choose(${operands.join(", ")})`;
    case "call":
      return term.name.startsWith(ELEMENT_PREFIX)
        ? `${term.name.slice(ELEMENT_PREFIX.length)}[${operands.join(", ")}]`
        : `${term.name}(${operands.join(", ")})`;
    default:
      return term satisfies never;
  }
}

export const polynomialText = (p: Polynomial): string => [...p.values()].map(monomialText).join(" + ") || "0";

function monomialText({ coefficient, factors }: Monomial): string {
  const parts = [...factors.values()].map(factorText);
  if (!isOne(coefficient) || parts.length === 0) parts.unshift(textOf(coefficient));
  return parts.join("·");
}

function factorText({ atom, exponent }: Factor): string {
  if (atom.kind === "exp") return `exp(${isOne(exponent) ? "" : `${textOf(exponent)}·`}${polynomialText(atom.of)})`;
  return isOne(exponent) ? atomText(atom) : `${atomText(atom)}^${textOf(exponent)}`;
}

function atomText(atom: Atom): string {
  switch (atom.kind) {
    case "input":
    case "state":
      return atom.index.length === 0 ? atom.name : `${atom.name}[${atom.index.map(termText).join(", ")}]`;
    case "integer":
      return termText(atom.term);
    case "constant":
      return atom.name;
    case "base":
      return textOf(atom.value);
    case "exp":
      return `exp(${polynomialText(atom.of)})`;
    case "sum":
      return `(${polynomialText(atom.of)})`;
    case "function":
      return `${atom.name}(${atom.operands.map(polynomialText).join(", ")})`;
    case "fold": {
      const { kind, variables, domain, body } = atom.fold;
      return `${kind}[${variables.join(", ")}: ${domain.map(termText).join(" and ")}](${polynomialText(body)})`;
    }
    default:
      return atom satisfies never;
  }
}

export function caseText({ conditions, value }: Case): string {
  const condition = conditions.length === 0 ? "" : ` where ${conditions.map(termText).join(" and ")}`;
  return `${typeof value === "string" ? value : polynomialText(value)}${condition}`;
}
