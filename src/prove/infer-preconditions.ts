/**
 * What a launch would have to meet so that what stands open is shown: conditions on parameters, found by taking each
 * program, turn and lane to its end. They are suggestions for `requires`.
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
import { boundsObligations } from "./properties/bounds.js";
import { Budget } from "./algebra/budget.js";
import { FactScopes } from "./model/fact-scopes.js";
import { coverageObligations } from "./properties/coverage.js";
import { dividendObligations } from "./properties/dividends.js";
import { coefficientOf, expanded, maximumOver, minus, withoutTerm, sides } from "./model/maximum.js";
import type { Range, SymbolicLaunch } from "./model/launch.js";
import { type SymbolicModel, modelOf } from "./model/model.js";
import { withMonomials } from "./algebra/monomial.js";
import type { ObligationGenerator } from "./properties/obligations.js";
import type { RefutationQuery } from "./counterexample.js";

const PROPERTIES: readonly (readonly [ProofProperty, ObligationGenerator])[] = [
  ["bounds", boundsObligations],
  ["coverage", coverageObligations],
  ["dividend", dividendObligations],
];
const STEPS = { each: 20_000, rest: 4_000 } as const;

/** How many operands and ops a condition may have: what is longer says nothing to a reader. */
const LONGEST = 13;

/** What is open of a kernel in its first config, each with the conditions of which one would do, the plainest first. */
export function inferPreconditions(ir: KernelIR, checked: readonly Precondition[]): readonly MissingPrecondition[] {
  return withTermTable(() => withMonomials(() => lacks(modelOf(ir, checked, fixedValues(ir)))));
}

/** Constexprs that are no positive integers; the others stay names. */
function fixedValues(ir: KernelIR): Readonly<Record<string, number | boolean | string>> {
  const [first] = ir.tuning.configs;
  return Object.fromEntries(
    Object.entries(first?.values ?? {}).filter(([, value]) => !(Number.isInteger(value) && Number(value) >= 1)),
  );
}

function lacks(model: SymbolicModel): readonly MissingPrecondition[] {
  const steps = new Budget(STEPS.each, STEPS.rest);
  steps.refill();
  const stand = { model, contexts: new FactScopes(model, steps) };
  return PROPERTIES.flatMap(([property, dutiesOf]) =>
    dutiesOf([model]).flatMap(({ of, prove: asks }) => {
      steps.refill();
      const open = asks(stand);
      if (!open) return [];
      steps.lose();
      if (steps.spent) stand.contexts.forget();
      const wanted = open.question ? conditionsFor(open.question, model) : [];
      // A divisor or a dividend is what it is by its parameters' signs; where an index ends takes more.
      const isSign = property === "dividend";
      return [{ property, of, wanted: isSign ? wanted.toSorted((a, b) => lengthOf(a) - lengthOf(b)) : wanted }];
    }),
  );
}

function conditionsFor(question: RefutationQuery, model: SymbolicModel): readonly HostExpression[] {
  const { holds, variables } = question;
  const ranges = rangesFor(question, model);
  const goals = holds.kind === "some" ? holds.parts : [holds];
  const texts = new Map<string, HostExpression>();
  for (const goal of goals.flatMap(conditionsOf)) {
    if (goal.kind !== "atMost") continue;
    const [x, y] = goal.parts;
    for (const excess of excesses(minus(x!, y!), question)) {
      const most = maximumOver(excess, variables, ranges);
      for (const each of most ? asHostConditions(expanded(most), model.launch) : [])
        if (lengthOf(each) <= LONGEST) texts.set(JSON.stringify(each), each);
    }
  }
  for (const name of symbolsIn(holds, ...question.given, ...model.launch.grid)) {
    const param = nameOf(name, model.launch);
    const each: HostExpression | undefined = param && { op: "ge", of: [param, { value: 1 }] };
    if (each) texts.set(JSON.stringify(each), each);
  }
  return [...texts.values()];
}

/** Turns of loops have their ranges from what holds in a turn: `start + step * turn < stop`. */
function rangesFor({ given, variables }: RefutationQuery, { environment }: SymbolicModel): ReadonlyMap<string, Range> {
  const ranges = new Map(environment.ranges);
  const rooms = given.flatMap(conditionsOf).flatMap(({ kind, parts }) => (kind === "atMost" ? [parts] : []));
  for (const name of variables) {
    if (ranges.has(name)) continue;
    for (const [x, y] of rooms) {
      const room = minus(y!, x!);
      const own = coefficientOf(room, name);
      if (!own || sides(own).negative === number(0)) continue;
      const step = minus(number(0), own);
      const rest = withoutTerm(room, product(step, symbol(name)));
      ranges.set(name, { from: number(0), to: sum(quotient(rest, step), number(1)) });
    }
  }
  return ranges;
}

const lengthOf = (tree: HostExpression): number =>
  "op" in tree ? 1 + tree.of.reduce((count, each) => count + lengthOf(each), 0) : 1;

/** What must not be above 0: first with what a mask or a branch says of it, then by itself. */
function excesses(excess: Term, { given, variables }: RefutationQuery): readonly Term[] {
  const found: Term[] = [];
  for (const condition of given.flatMap(conditionsOf)) {
    if (condition.kind !== "atMost") continue;
    const room = minus(condition.parts[1]!, condition.parts[0]!);
    for (const name of variables) {
      const [own, limited] = [coefficientOf(excess, name), coefficientOf(room, name)];
      if (!own || limited?.kind !== "number" || limited.value !== -1n) continue;
      if (own.kind === "number" && own.value <= 0n) continue;
      found.push(withoutTerm(excess, product(own, room)));
    }
  }
  return [...found, excess];
}

/** `most <= 0` as conditions of a launch, of which each may do. */
function asHostConditions(most: Term, launch: SymbolicLaunch): readonly HostExpression[] {
  if (most.kind === "number") return [];
  const { positive, negative } = sides(most);
  const [greater, smaller] = [hostOf(negative, launch), hostOf(positive, launch)];
  if (!greater || !smaller) return [];
  const whole = divisionsIn(most).flatMap((division) => {
    const [size, block] = division.map((each) => hostOf(each, launch));
    return size && block ? [{ op: "eq", of: [{ op: "mod", of: [size, block] }, { value: 0 }] }] : [];
  });
  return [...whole, { op: "ge", of: [greater, smaller] }];
}

/** Sizes and what they are divided by, of which a whole number of blocks would do. */
function divisionsIn(term: Term): readonly (readonly [Term, Term])[] {
  return [...termsIn(term)].flatMap((each): (readonly [Term, Term])[] => {
    if (each.kind !== "quotient" && each.kind !== "floorQuotient") return [];
    const [x, y] = each.parts;
    const sizes = [x!, minus(x!, minus(y!, number(1)))].filter(({ kind }) => kind === "symbol" || kind === "product");
    return sizes.map((size) => [size, y!] as const);
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

/** A term of parameters alone. */
function hostOf(term: Term, launch: SymbolicLaunch): HostExpression | undefined {
  const of = (each: Term): HostExpression | undefined => hostOf(each, launch);
  const folded = (op: string, parts: readonly Term[]): HostExpression | undefined => {
    const made = parts.map(of);
    return made.every((each) => each !== undefined)
      ? made.reduce((left, right) => ({ op, of: [left, right] }))
      : undefined;
  };
  switch (term.kind) {
    case "number":
      return { value: Number(term.value) };
    case "symbol":
      return nameOf(term.name, launch);
    case "sum": {
      const { positive, negative } = sides(term);
      const [plus, less] = [positive, negative].map((each) => folded("add", each.kind === "sum" ? each.parts : [each]));
      if (!plus || !less) return undefined;
      return "value" in less && less.value === 0 ? plus : { op: "sub", of: [plus, less] };
    }
    case "product":
      return folded(
        "mul",
        withSizes(term.parts, launch).toSorted((a, b) => Number(isNumber(a)) - Number(isNumber(b))),
      );
    case "quotient":
    case "floorQuotient": {
      const [x, y] = term.parts;
      const blocks = minus(x!, minus(y!, number(1)));
      return countOf(blocks) < countOf(x!) ? binary("cdiv", of(blocks), of(y!)) : binary("floorDiv", of(x!), of(y!));
    }
    case "call": {
      const [x] = term.parts;
      const given = term.name === NEXT_POWER && x ? of(x) : undefined;
      return given && { op: "nextPowerOf2", of: [given] };
    }
    default: {
      const op = OPS[term.kind];
      return op === undefined ? undefined : folded(op, term.parts);
    }
  }
}

const countOf = (term: Term): number => (term.kind === "sum" ? term.parts.length : 1);

/** Factors that are a size which a requirement makes a multiple, as this size. */
function withSizes(factors: readonly Term[], launch: Pick<SymbolicLaunch, "multiples">): readonly Term[] {
  for (const [size, { kind, parts }] of launch.multiples) {
    if (kind !== "product" || !parts.every((part) => factors.includes(part))) continue;
    return withSizes([...factors.filter((each) => !parts.includes(each)), symbol(size)], launch);
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
  // A size that a requirement makes a multiple of something.
  const [whole] = [...launch.multiples].filter(([size]) => `${size}/` === name);
  if (!whole) return undefined;
  const [size, term] = whole;
  const divisor = term.kind === "product" ? product(...term.parts.filter((part) => part.name !== name)) : undefined;
  return divisor && binary("floorDiv", { param: size }, hostOf(divisor, launch));
}
