/**
 * The identities of real arithmetic that normal forms rest on, with an instance of each: both sides have one normal
 * form, and a test evaluates them to many digits.
 */
import {
  andTerm,
  atLeast,
  below,
  equal,
  iteTerm,
  not,
  number,
  product,
  quotient,
  remainder,
  sum,
  symbol,
  type Term,
} from "../../src/symbolic/term.js";
import { GIVEN } from "../../src/prove/model/launch.js";
import { compared } from "../../src/prove/equivalence/functions.js";
import {
  add,
  apply,
  choose,
  constant,
  divide,
  type FoldKind,
  freshName,
  INFINITE,
  input,
  integer,
  multiply,
  negate,
  one,
  power,
  type Real,
  real,
  reciprocal,
  squareRoot,
  subtract,
  zero,
  square,
} from "../../src/prove/equivalence/real.js";
import { HALF, rational } from "../../src/prove/equivalence/rational.js";

export interface Rule {
  readonly identity: string;
  /** When it holds, and what it asks. */
  readonly when: string;
  readonly left: Real;
  readonly right: Real;
}

const [x, y] = [input("x", []), input("y", [])];
const exp = (argument: Real): Real => apply("exp", argument);
const log = (argument: Real): Real => apply("log", argument);
const two = real(rational(2n));
const [n, m] = [symbol("N"), symbol("M")];
const given = equal(symbol(`bias${GIVEN}`), number(1));
const element = (...index: readonly Term[]): Real => input("v", index);

/** A fold over the integers that meet conditions. */
function over(kind: FoldKind, domain: (k: Term) => Term, body: (k: Term) => Real): Real {
  const variable = freshName("k");
  return { kind: "fold", fold: kind, variable, domain: domain(symbol(variable)), body: body(symbol(variable)) };
}

const upTo =
  (end: Term) =>
  (k: Term): Term =>
    andTerm(atLeast(k, number(0)), below(k, end));
const half = (k: Term, isFirst: boolean): Term => {
  const condition = below(k, number(3));
  return andTerm(upTo(n)(k), isFirst ? condition : not(condition));
};

export const rules: readonly Rule[] = [
  {
    identity: "(x + y)·z = x·z + y·z",
    when: "always: products of sums are multiplied out",
    left: multiply(add(x, y), x),
    right: add(multiply(x, x), multiply(y, x)),
  },
  {
    identity: "x^a·x^b = x^(a+b)",
    when: "x is not 0 for a negative exponent, and not negative for a fraction",
    left: multiply(power(x, HALF), power(x, HALF)),
    right: x,
  },
  {
    identity: "(c·x^a·y^b)^n = c^n·x^(a·n)·y^(b·n)",
    when: "n is an integer; a fraction n splits only over factors that are certainly positive",
    left: power(multiply(two, square(x), y), rational(-1n)),
    right: multiply(real(HALF), power(x, rational(-2n)), reciprocal(y)),
  },
  {
    identity: "x/(x + y) + y/(x + y) = 1",
    when: "denominators are multiplied out at the end; a kernel may divide only by divisors of its reference, or by values that are certainly not 0",
    left: add(divide(x, add(x, y)), divide(y, add(x, y))),
    right: one,
  },
  {
    identity: "exp(x + y) = exp(x)·exp(y) and exp(c·x) = exp(x)^c",
    when: "always",
    left: exp(subtract(x, multiply(two, y))),
    right: divide(exp(x), square(exp(y))),
  },
  {
    identity: "exp(c·log x) = x^c",
    when: "x is positive",
    left: exp(multiply(two, log(x))),
    right: square(x),
  },
  {
    identity: "exp(c·ln 2) = 2^c",
    when: "always",
    left: exp(multiply(real(rational(3n)), constant("ln 2"))),
    right: real(rational(8n)),
  },
  {
    identity: "log(exp(x)·y) = x + log y",
    when: "y is positive",
    left: log(multiply(exp(x), y)),
    right: add(x, log(y)),
  },
  {
    identity: "log(c·x) = log c + log x",
    when: "the number c is positive",
    left: log(multiply(two, x)),
    right: add(constant("ln 2"), log(x)),
  },
  {
    identity: "sigmoid x = 1/(1 + exp(-x))",
    when: "always",
    left: apply("sigmoid", x),
    right: reciprocal(add(one, exp(negate(x)))),
  },
  {
    identity: "tanh x = 2·sigmoid(2·x) - 1",
    when: "always",
    left: apply("tanh", x),
    right: subtract(multiply(two, apply("sigmoid", multiply(two, x))), one),
  },
  ...(["erf", "sin", "asin"] as const).map((name) => ({
    identity: `${name}(-x) = -${name} x`,
    when: "always",
    left: apply(name, negate(multiply(real(HALF), x))),
    right: negate(apply(name, multiply(real(HALF), x))),
  })),
  { identity: "cos(-x) = cos x", when: "always", left: apply("cos", negate(x)), right: apply("cos", x) },
  {
    identity: "|c·x| = |c|·|x|",
    when: "always",
    left: apply("abs", multiply(real(rational(-3n)), x)),
    right: multiply(real(rational(3n)), apply("abs", x)),
  },
  {
    identity: "max(x, y) = max(y, x) and min(x, y) = -max(-x, -y)",
    when: "always; nested maxima are flattened",
    left: apply("minimum", x, y),
    right: negate(apply("maximum", negate(y), negate(x))),
  },
  { identity: "max(x, -x) = |x|", when: "always", left: apply("maximum", x, negate(x)), right: apply("abs", x) },
  {
    identity: "(x > y ? a : b) = max(a, b)",
    when: "a - b is x - y; it is the minimum if a - b is y - x",
    left: compared({ operator: "greater" }, x, y, add(x, one), add(y, one)),
    right: apply("maximum", add(x, one), add(y, one)),
  },
  {
    identity: "(c·x > c·y ? a : b) = (x > y ? a : b)",
    when: "the number c is positive",
    left: compared({ operator: "greater" }, multiply(two, x), y, x, square(y)),
    right: compared({ operator: "greater" }, x, multiply(real(HALF), y), x, square(y)),
  },
  {
    identity: "Σ c·a[k] = c·Σ a[k]",
    when: "c does not depend on k",
    left: over("sum", upTo(n), (k) => multiply(x, element(k))),
    right: multiply(
      x,
      over("sum", upTo(n), (k) => element(k)),
    ),
  },
  {
    identity: "Σ[k] Σ[j] a[k, j] = Σ[j] Σ[k] a[k, j]",
    when: "always: the two domains are merged",
    left: over("sum", upTo(n), (k) => over("sum", upTo(m), (j) => element(k, j))),
    right: over("sum", upTo(m), (j) => over("sum", upTo(n), (k) => element(k, j))),
  },
  {
    identity: "Σ[t < T] Σ[l < B] a[B·t + l] = Σ[k < T·B] a[k]",
    when: "indices contain t and l only as B·t + l, and 0 ≤ l < B and t ≥ 0 are proved; each other condition depends only on k, or is implied",
    left: over("sum", upTo(n), (k) => over("sum", upTo(m), (j) => element(sum(product(m, k), j)))),
    right: over("sum", upTo(product(n, m)), (k) => element(k)),
  },
  {
    identity: "Σ[k: a ≤ k < b] x[k - a] = Σ[k < b - a] x[k]",
    when: "always: the variable starts at 0 in the first index",
    left: over(
      "sum",
      (k) => andTerm(atLeast(k, number(2)), below(k, sum(n, number(2)))),
      (k) => element(sum(k, number(-2))),
    ),
    right: over("sum", upTo(n), (k) => element(k)),
  },
  {
    identity: "Σ[k: k = e] a[k] = a[e]",
    when: "e is proved to satisfy the other conditions",
    left: over(
      "sum",
      (k) => andTerm(atLeast(k, number(0)), below(k, number(9)), equal(k, number(4))),
      (k) => element(k),
    ),
    right: element(number(4)),
  },
  {
    identity: "Σ[k: D and c] a[k] + Σ[k: D and not c] a[k] = Σ[k: D] a[k]",
    when: "the other conditions of both are proved to agree",
    left: add(
      over(
        "sum",
        (k) => half(k, true),
        (k) => element(k),
      ),
      over(
        "sum",
        (k) => half(k, false),
        (k) => element(k),
      ),
    ),
    right: over("sum", upTo(n), (k) => element(k)),
  },
  {
    identity: "Σ[k < N] 1 = N",
    when: "N is proved to be non-negative",
    left: over("sum", upTo(n), () => one),
    right: integer(n),
  },
  {
    identity: "Σ[k: D] (c ? a[k] : 0) = Σ[k: D and c] a[k]",
    when: "always",
    left: over("sum", upTo(n), (k) => choose(below(k, number(3)), element(k), zero)),
    right: over(
      "sum",
      (k) => half(k, true),
      (k) => element(k),
    ),
  },
  {
    identity: "max[k] c·a[k] = c·max[k] a[k]",
    when: "the number c is positive",
    left: over("maximum", upTo(number(5)), (k) => multiply(two, element(k))),
    right: multiply(
      two,
      over("maximum", upTo(number(5)), (k) => element(k)),
    ),
  },
  {
    identity: "max[k: D and c] a[k] and max[k: D and not c] a[k] have the maximum max[k: D] a[k]",
    when: "the other conditions of both are proved to agree",
    left: apply(
      "maximum",
      over(
        "maximum",
        (k) => half(k, true),
        (k) => element(k),
      ),
      over(
        "maximum",
        (k) => half(k, false),
        (k) => element(k),
      ),
    ),
    right: over("maximum", upTo(n), (k) => element(k)),
  },
  {
    identity: "max(a[e], max[k: D] a[k]) = max[k: D] a[k]",
    when: "e is proved to be in D",
    left: apply(
      "maximum",
      element(number(1), number(1)),
      over("maximum", upTo(n), (k) => element(k, k)),
    ),
    right: over("maximum", upTo(n), (k) => element(k, k)),
  },
  {
    identity: "max[k] max(a[k], b[k]) = max(max[k] a[k], max[k] b[k])",
    when: "always",
    left: over("maximum", upTo(n), (k) => apply("maximum", element(k), element(k, k))),
    right: apply(
      "maximum",
      over("maximum", upTo(n), (k) => element(k)),
      over("maximum", upTo(n), (k) => element(k, k)),
    ),
  },
  {
    identity: "(max[k: D] a[k] = -∞ ? x : y) = (D has an element ? y : x)",
    when: "each condition of D is a lower bound of k, or is also true for smaller k; D then has an element if its smallest k is one",
    left: {
      kind: "comparison",
      operator: "equal",
      x: over("maximum", upTo(n), (k) => element(k)),
      y: INFINITE,
      then: x,
      otherwise: y,
    },
    right: y,
  },
  {
    identity: "Σ[k < N] a[k // B, k % B] = Σ[t] Σ[l < B: B·t + l < N] a[t, l]",
    when: "B is proved to be positive and k non-negative",
    left: over("sum", upTo(n), (k) => element(quotient(k, m), remainder(k, m))),
    right: over("sum", upTo(n), (t) =>
      over(
        "sum",
        (l) => andTerm(upTo(m)(l), below(sum(product(m, t), l), n)),
        (l) => element(t, l),
      ),
    ),
  },
  {
    identity: "(c ? x : y) = y + (x - y)·[c]",
    when: "c is true if the caller passes an optional input; [c] is 1 or 0 and equals its square",
    left: choose(given, square(x), y),
    right: add(y, multiply(subtract(square(x), y), integer(iteTerm(given, number(1), number(0))))),
  },
  {
    identity: "√(2·2) = 2 and 2^(3/2) = 2·2^(1/2)",
    when: "always: rational roots of numbers are computed",
    left: power(two, rational(3n, 2n)),
    right: multiply(two, squareRoot(two)),
  },
];
