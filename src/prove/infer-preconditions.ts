/**
 * Infers preconditions that would prove unproved obligations: conditions on parameters, found by maximizing over
 * programs, iterations and lanes. They are suggestions for `requires`.
 */
import type { Precondition } from "../analysis/preconditions.js";
import type { HostExpression, MissingPrecondition, ProofProperty } from "../compiled/compiled-kernel.js";
import { type KernelIR, paramsOf } from "../ir/nodes.js";
import {
  conditionsOf,
  isNumber,
  NEXT_POWER,
  number,
  product,
  quotient,
  sum,
  symbol,
  symbolsIn,
  type Term,
  termsIn,
  withTermTable,
} from "../symbolic/term.js";
import { boundsObligations, coverageObligations } from "./properties/bounds.js";
import { Budget } from "./algebra/budget.js";
import { FactScopes } from "./model/fact-scopes.js";
import { dividendObligations } from "./properties/arithmetic.js";
import { coefficientOf, expand, maximumOver, minus, withoutTerm, splitBySign } from "./model/maximum.js";
import type { Range, SymbolicLaunch } from "./model/launch.js";
import { type SymbolicModel, modelOf } from "./model/model.js";
import { withMonomials } from "./algebra/polynomial.js";
import type { ObligationGenerator } from "./properties/obligations.js";
import type { RefutationQuery } from "./counterexample.js";

const PROPERTIES: readonly (readonly [ProofProperty, ObligationGenerator])[] = [
  ["bounds", boundsObligations],
  ["coverage", coverageObligations],
  ["dividend", dividendObligations],
];
const STEPS = { limit: 20_000, minimum: 4_000 } as const;

/** The maximum number of operands and ops of a suggested condition, so that it stays readable. */
const MAX_LENGTH = 13;

/** The unproved obligations of a kernel in its first config, each with alternative conditions, the simplest first. */
export function inferPreconditions(ir: KernelIR, checked: readonly Precondition[]): readonly MissingPrecondition[] {
  return withTermTable(() => withMonomials(() => missingPreconditions(modelOf(ir, checked, fixedValues(ir)))));
}

/** The constexprs that are not positive integers. The others stay symbols. */
function fixedValues(ir: KernelIR): Readonly<Record<string, number | boolean | string>> {
  const [first] = ir.tuning.configs;
  return Object.fromEntries(
    Object.entries(first?.values ?? {}).filter(([, value]) => !(Number.isInteger(value) && Number(value) >= 1)),
  );
}

function missingPreconditions(model: SymbolicModel): readonly MissingPrecondition[] {
  const steps = new Budget(STEPS.limit, STEPS.minimum);
  steps.refill();
  const context = { model, factScopes: new FactScopes(model, steps) };
  return PROPERTIES.flatMap(([property, dutiesOf]) =>
    dutiesOf([model]).flatMap(({ subject, prove }) => {
      steps.refill();
      const gap = prove(context);
      if (!gap) return [];
      steps.chargeShared();
      if (steps.isExhausted) context.factScopes.forget();
      const conditions = gap.refutation ? conditionsFor(gap.refutation, model) : [];
      // The signs of parameters decide a dividend's or a divisor's sign, so short conditions come first. Bounds need
      // more.
      const isSign = property === "dividend";
      return [
        {
          property,
          of: subject,
          wanted: isSign ? conditions.toSorted((a, b) => lengthOf(a) - lengthOf(b)) : conditions,
        },
      ];
    }),
  );
}

function conditionsFor(query: RefutationQuery, model: SymbolicModel): readonly HostExpression[] {
  const { goal: holds, variables } = query;
  const ranges = rangesFor(query, model);
  const goals = holds.kind === "some" ? holds.operands : [holds];
  const conditions = new Map<string, HostExpression>();
  for (const goal of goals.flatMap(conditionsOf)) {
    if (goal.kind !== "atMost") continue;
    const [x, y] = goal.operands;
    for (const excess of excesses(minus(x, y), query)) {
      const maximum = maximumOver(excess, variables, ranges);
      for (const condition of maximum ? asHostConditions(expand(maximum), model.launch) : [])
        if (lengthOf(condition) <= MAX_LENGTH) conditions.set(JSON.stringify(condition), condition);
    }
  }
  for (const name of symbolsIn(holds, ...query.facts, ...model.launch.grid)) {
    const param = nameOf(name, model.launch);
    const condition: HostExpression | undefined = param && { op: "ge", of: [param, { value: 1 }] };
    if (condition) conditions.set(JSON.stringify(condition), condition);
  }
  return [...conditions.values()];
}

/** Derives the range of a loop's iterations from the condition of its body: `start + step * iteration < stop`. */
function rangesFor({ facts, variables }: RefutationQuery, { environment }: SymbolicModel): ReadonlyMap<string, Range> {
  const ranges = new Map(environment.ranges);
  const inequalities = facts
    .flatMap(conditionsOf)
    .flatMap(({ kind, operands }) => (kind === "atMost" ? [operands] : []));
  for (const name of variables) {
    if (ranges.has(name)) continue;
    for (const [x, y] of inequalities) {
      const slack = minus(y, x);
      const coefficient = coefficientOf(slack, name);
      if (!coefficient || splitBySign(coefficient).negative === number(0)) continue;
      const step = minus(number(0), coefficient);
      const remainder = withoutTerm(slack, product(step, symbol(name)));
      ranges.set(name, { from: number(0), to: sum(quotient(remainder, step), number(1)) });
    }
  }
  return ranges;
}

const lengthOf = (tree: HostExpression): number =>
  "op" in tree ? 1 + tree.of.reduce((count, each) => count + lengthOf(each), 0) : 1;

/** Terms that must not be positive: the excess combined with each mask or branch condition, then the excess alone. */
function excesses(excess: Term, { facts, variables }: RefutationQuery): readonly Term[] {
  const conjunctions: Term[] = [];
  for (const condition of facts.flatMap(conditionsOf)) {
    if (condition.kind !== "atMost") continue;
    const slack = minus(condition.operands[1], condition.operands[0]);
    for (const name of variables) {
      const [coefficient, slackCoefficient] = [coefficientOf(excess, name), coefficientOf(slack, name)];
      if (!coefficient || slackCoefficient?.kind !== "number" || slackCoefficient.value !== -1n) continue;
      if (coefficient.kind === "number" && coefficient.value <= 0n) continue;
      conjunctions.push(withoutTerm(excess, product(coefficient, slack)));
    }
  }
  return [...conjunctions, excess];
}

/** `most <= 0` as alternative launch conditions. */
function asHostConditions(excess: Term, launch: SymbolicLaunch): readonly HostExpression[] {
  if (excess.kind === "number") return [];
  const { positive, negative } = splitBySign(excess);
  const [greater, smaller] = [toHostExpression(negative, launch), toHostExpression(positive, launch)];
  if (!greater || !smaller) return [];
  const divisibility = divisionsIn(excess).flatMap((division) => {
    const [size, block] = division.map((each) => toHostExpression(each, launch));
    return size && block ? [{ op: "eq", of: [{ op: "mod", of: [size, block] }, { value: 0 }] }] : [];
  });
  return [...divisibility, { op: "ge", of: [greater, smaller] }];
}

/** Pairs of a size and a divisor for which divisibility would suffice. */
function divisionsIn(term: Term): readonly (readonly [Term, Term])[] {
  return [...termsIn(term)].flatMap((each): (readonly [Term, Term])[] => {
    if (each.kind !== "quotient" && each.kind !== "floorQuotient") return [];
    const [x, y] = each.operands;
    const sizes = [x, minus(x, minus(y, number(1)))].filter(({ kind }) => kind === "symbol" || kind === "product");
    return sizes.map((size) => [size, y] as const);
  });
}

const OPS: Readonly<Partial<Record<Term["kind"], string>>> = {
  quotient: "floorDiv",
  floorQuotient: "floorDiv",
  remainder: "mod",
  floorRemainder: "mod",
  least: "minimum",
  greatest: "maximum",
};

/** A term of parameters as a host expression. Undefined if it depends on anything else. */
function toHostExpression(term: Term, launch: SymbolicLaunch): HostExpression | undefined {
  const convert = (each: Term): HostExpression | undefined => toHostExpression(each, launch);
  const reduceOperands = (op: string, terms: readonly Term[]): HostExpression | undefined => {
    const operands = terms.map(convert);
    return operands.every((each) => each !== undefined)
      ? operands.reduce((lhs, rhs) => ({ op, of: [lhs, rhs] }))
      : undefined;
  };
  switch (term.kind) {
    case "number":
      return { value: Number(term.value) };
    case "symbol":
      return nameOf(term.name, launch);
    case "sum": {
      const { positive, negative } = splitBySign(term);
      const [plus, less] = [positive, negative].map((each) =>
        reduceOperands("add", each.kind === "sum" ? each.operands : [each]),
      );
      if (!plus || !less) return undefined;
      return "value" in less && less.value === 0 ? plus : { op: "sub", of: [plus, less] };
    }
    case "product":
      return reduceOperands(
        "mul",
        recombineSizes(term.operands, launch).toSorted((a, b) => Number(isNumber(a)) - Number(isNumber(b))),
      );
    case "quotient":
    case "floorQuotient": {
      const [x, y] = term.operands;
      const blocks = minus(x, minus(y, number(1)));
      return summandCount(blocks) < summandCount(x)
        ? binary("cdiv", convert(blocks), convert(y))
        : binary("floorDiv", convert(x), convert(y));
    }
    case "call": {
      const [x] = term.operands;
      const operand = term.name === NEXT_POWER && x ? convert(x) : undefined;
      return operand && { op: "nextPowerOf2", of: [operand] };
    }
    case "all":
    case "atMost":
    case "choice":
    case "equal":
    case "false":
    case "floorRemainder":
    case "greatest":
    case "least":
    case "not":
    case "remainder":
    case "some":
    case "true": {
      const op = OPS[term.kind];
      return op === undefined ? undefined : reduceOperands(op, term.operands);
    }
    default:
      return term satisfies never;
  }
}

const summandCount = (term: Term): number => (term.kind === "sum" ? term.operands.length : 1);

/** Replaces factors that form a size known to be a multiple by that size. */
function recombineSizes(factors: readonly Term[], launch: Pick<SymbolicLaunch, "multiples">): readonly Term[] {
  for (const [size, { kind, operands }] of launch.multiples) {
    if (kind !== "product" || !operands.every((part) => factors.includes(part))) continue;
    return recombineSizes([...factors.filter((each) => !operands.includes(each)), symbol(size)], launch);
  }
  return factors;
}

function binary(op: string, x: HostExpression | undefined, y: HostExpression | undefined): HostExpression | undefined {
  return x && y && { op, of: [x, y] };
}

function nameOf(name: string, launch: SymbolicLaunch): HostExpression | undefined {
  const { ir } = launch;
  const params = [...paramsOf(ir, "size"), ...paramsOf(ir, "scalar"), ...paramsOf(ir, "constexpr")];
  if (params.some((param) => param.name === name)) return { param: name };
  // A size that a requirement makes a multiple of the divisor.
  const [multiple] = [...launch.multiples].filter(([size]) => `${size}/` === name);
  if (!multiple) return undefined;
  const [size, term] = multiple;
  const divisor = term.kind === "product" ? product(...term.operands.filter((part) => part.name !== name)) : undefined;
  return divisor && binary("floorDiv", { param: size }, toHostExpression(divisor, launch));
}
