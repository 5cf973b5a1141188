/** Normal forms as expressions. */
import { andTerm, substitute, symbol, symbolsIn, type Term } from "../../symbolic/term.js";
import type { Atom, Fold, Monomial, Polynomial } from "./polynomial.js";
import { noRule } from "./no-rule.js";
import {
  add,
  apply,
  choose,
  constant,
  freshName,
  INFINITE,
  input,
  integer,
  multiply,
  power,
  type Real,
  real,
  substituteReal,
  undefinedReal,
} from "./real.js";
import type { Case } from "./cases.js";
import { isOne } from "./rational.js";

/** A sum of products as an expression. */
export const toReal = (p: Polynomial): Real => add(...[...p.values()].map(monomialReal));

const monomialReal = ({ coefficient, factors }: Monomial): Real =>
  multiply(
    real(coefficient),
    ...[...factors.values()].map(({ atom, exponent }) => {
      if (atom.kind === "exp") return apply("exp", multiply(real(exponent), toReal(atom.of)));
      return isOne(exponent) ? atomReal(atom) : power(atomReal(atom), exponent);
    }),
  );

function atomReal(atom: Atom): Real {
  switch (atom.kind) {
    case "input":
      return input(atom.name, atom.index);
    case "state":
      return { kind: "state", name: atom.name, index: atom.index };
    case "integer":
      return integer(atom.term);
    case "constant":
      return constant(atom.name);
    case "base":
      return real(atom.value);
    case "exp":
      return apply("exp", toReal(atom.of));
    case "sum":
      return toReal(atom.of);
    case "function": {
      const [x, y, z] = atom.operands.map(toReal);
      if (atom.name === "maximum") return atom.operands.map(toReal).reduce((a, b) => apply("maximum", a, b));
      if (!x) return noRule("a function without operands");
      if (atom.name !== "greater" && atom.name !== "equal") return apply(atom.name, x);
      return !y || !z
        ? noRule("a comparison without results")
        : {
            kind: "comparison",
            operator: atom.name,
            x,
            y: real({ numerator: 0n, denominator: 1n }),
            then: y,
            otherwise: z,
          };
    }
    case "fold":
      return foldReal(atom.fold);
    default:
      return atom satisfies never;
  }
}

function foldReal({ kind, variables, domain, body }: Fold): Real {
  const by = new Map(variables.map((name) => [name, symbol(freshName("k"))] as const));
  const inner = substituteReal(toReal(body), by);
  const conditions = domain.map((each) => substitute(each, by));
  const names = variables.map((name) => by.get(name)?.name ?? name);
  // A condition belongs to the innermost variable that it mentions.
  const depthOf = (condition: Term): number => names.findLastIndex((name) => symbolsIn(condition).has(name));
  return names.reduceRight<Real>((result, variable, depth) => {
    const own = conditions.filter((condition) => Math.max(0, depthOf(condition)) === depth);
    return { kind: "fold", fold: kind, variable, domain: andTerm(...own), body: result };
  }, inner);
}

/** Cases as an expression. The last one is what the others leave. */
export function casesReal(cases: readonly Case[]): Real {
  const values = cases.map(({ conditions, value }) => ({ conditions, real: valueReal(value) }));
  const [last] = values.slice(-1);
  if (!last) return noRule("no case");
  return values
    .slice(0, -1)
    .reduceRight((rest, { conditions, real: value }) => choose(allOf(conditions), value, rest), last.real);
}

const allOf = (conditions: readonly Term[]): Term => andTerm(...conditions);

function valueReal(value: Case["value"]): Real {
  if (value === "infinite") return INFINITE;
  return value === "undefined" ? undefinedReal("a masked lane") : toReal(value);
}
