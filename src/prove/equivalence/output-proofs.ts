/**
 * The verdict of each output: equality over the reals counts only where the certificate of the kernels holds, and only
 * the evaluator refutes.
 */
import type {
  Certificate,
  Obligation,
  OutputProof,
  OutputVerdict,
  ProofProperty,
  Comparison,
  TestCase,
} from "../../compiled/compiled-kernel.js";
import { digestOf } from "../../ir/fingerprint.js";
import {
  type KernelIR,
  type TensorParam,
  tensorsOf,
  paramsOf,
  type Composition,
  kernelsOf,
  type KernelLaunch,
  type OperatorIR,
} from "../../ir/nodes.js";
import { withTermTable, number, symbol } from "../../symbolic/term.js";
import { withMonomials } from "../algebra/polynomial.js";
import { type Computes, kernelComputes, operatorComputes } from "./computes.js";
import type { CheckedPreconditions } from "./operators.js";
import {
  type IndexedConfig,
  indexedConfigs,
  integersOf,
  LaunchSearch,
  testCaseOf,
  Valuation,
} from "../launch-search.js";
import { mayShareUpdates } from "./updates.js";
import type { TorchNode } from "../../torch/node.js";
import { symbolicLaunch } from "../model/launch.js";
// Searches for a small launch at which a kernel and its reference differ. The evaluator decides, not the terms.

/** Runs test cases of a kernel or an operator, and compares its outputs with the reference's. */
export interface ComparingRunner {
  /** The reason why a test case cannot be launched, or undefined. */
  refusal(testCase: TestCase): string | undefined;
  /** The number of lanes that a test case computes. */
  lanes(testCase: TestCase): number;
  /** Compares this output; others may be compared as well. */
  compare(testCase: TestCase, output: string): Comparison | undefined;
}

export interface DifferingLaunch {
  readonly at: TestCase;
  readonly worst: NonNullable<Comparison["worst"]>;
}

/**
 * `lanes` is of all searched cases together, `declaredLanes` of each declared shape. `incomparable` cases, in which
 * programs may wait for one another, end the search.
 */
const LIMITS = { cases: 12, incomparable: 4, tried: 200, lanes: 1e6, declaredLanes: 2e7 } as const;
/** Relative and absolute; approximations of functions may differ by less. */
const LEAST_DIFFERENCE = 1e-2;

/**
 * A launch at which an output differs from the reference's with every float in float64, so that rounding cannot be the
 * reason: of small sizes, or of a declared shape.
 */
export function findDifference(
  ir: KernelIR,
  output: string,
  configs: readonly IndexedConfig[],
  runner: ComparingRunner,
): DifferingLaunch | undefined {
  let [runs, incomparable, tried, lanes] = [0, 0, 0, 0];
  for (const config of configs) {
    const launch = symbolicLaunch(ir, config.values);
    const sizes = [...launch.chosen].flatMap(([name, domain]) => (domain === "size" ? [symbol(name)] : []));
    const constants = integersOf(config.values).map(([, value]) => number(value));
    const search = new LaunchSearch(launch, [...launch.facts, ...sizes], [...launch.facts, ...constants]);
    for (const values of search.sizes()) {
      if (runs >= LIMITS.cases || tried++ >= LIMITS.tried) return differenceAtShape(ir, output, configs, runner);
      if (!search.mayLaunch(new Valuation(values))) continue;
      const at = testCaseOf(ir, config.index, new Map([...values, ...integersOf(config.values)]));
      const needed = isDegenerate(at) ? undefined : lanesOf(at, runner);
      if (needed === undefined || lanes + needed > LIMITS.lanes) continue;
      lanes += needed;
      runs++;
      const comparison = comparisonAt(at, output, runner);
      const difference = differenceIn(comparison, at, output);
      if (difference) return difference;
      if (comparison === undefined && ++incomparable === LIMITS.incomparable) return undefined;
    }
  }
  return differenceAtShape(ir, output, configs, runner);
}

/** A declared shape in the first config, with the defaults of other arguments, at which an output differs. */
function differenceAtShape(
  ir: KernelIR,
  output: string,
  [config]: readonly IndexedConfig[],
  runner: ComparingRunner,
): DifferingLaunch | undefined {
  if (!config) return undefined;
  const defaults = [...paramsOf(ir, "constexpr"), ...paramsOf(ir, "scalar")].flatMap(({ name, default: preset }) =>
    typeof preset === "number" ? [[name, preset] as const] : [],
  );
  const cases = ir.shapes.map((shape) => {
    const numbers = Object.entries(shape).flatMap(([name, value]) =>
      typeof value === "string" ? [] : [[name, Number(value)] as const],
    );
    return testCaseOf(ir, config.index, new Map([...defaults, ...numbers, ...integersOf(config.values)]));
  });
  // Of an operator, the lanes of some launches may be unknown.
  const costOf = (at: TestCase): number =>
    Math.max(
      lanesOf(at, runner) ?? Infinity,
      Object.values(at.sizes).reduce((x, y) => x * y, 1),
    );
  const affordable = cases.filter((at) => costOf(at) <= LIMITS.declaredLanes);
  for (const at of affordable) {
    const difference = differenceIn(comparisonAt(at, output, runner), at, output);
    if (difference) return difference;
  }
  return undefined;
}

function differenceIn(
  { finds, worst }: Partial<Comparison> = {},
  at: TestCase,
  output: string,
): DifferingLaunch | undefined {
  return finds === "mistake" && worst?.output === output && isLarge(worst) ? { at, worst } : undefined;
}

/** Sizes and constexprs of 0 are often not meant, and references may refuse them. */
const isDegenerate = ({ sizes, constexprs = {} }: TestCase): boolean =>
  [...Object.values(sizes), ...Object.values(constexprs)].some((value) => typeof value === "number" && value < 1);

const isLarge = ({ got, expected }: DifferingLaunch["worst"]): boolean =>
  !(Math.abs(Number(got) - Number(expected)) <= LEAST_DIFFERENCE * (1 + Math.abs(Number(expected))));

/** The lanes of a launch, or undefined if it is refused. */
function lanesOf(testCase: TestCase, runner: ComparingRunner): number | undefined {
  try {
    return runner.refusal(testCase) === undefined ? runner.lanes(testCase) : undefined;
  } catch {
    // A host expression may fail for a candidate, such as by a division by 0.
    return undefined;
  }
}

function comparisonAt(testCase: TestCase, output: string, runner: ComparingRunner): Comparison | undefined {
  try {
    return runner.compare(testCase, output);
  } catch {
    // A reference may refuse the sizes.
    return undefined;
  }
}

export interface OutputContext {
  readonly checkedOf: CheckedPreconditions;
  readonly certificateOf: (ir: KernelIR) => Certificate;
  /** True if a kernel writes each element of a tensor that it updates, which certificates do not ask. */
  readonly overwrites: (ir: KernelIR, tensor: TensorParam) => boolean;
  readonly runner: ComparingRunner;
}

/** What equality rests on: that each element is written once, at the place that the terms say. */
const REQUIRED: ReadonlySet<ProofProperty> = new Set<ProofProperty>([
  "bounds",
  "claim",
  "coverage",
  "race",
  "order",
  "dividend",
  "overflow",
  "launch",
]);

/** The verdicts of a kernel's outputs, or of an operator's outputs and gradients, with its signature as a kernel. */
export function outputProofs(
  ir: KernelIR,
  operator: Pick<OperatorIR, "forward" | "backward"> | undefined,
  context: OutputContext,
): readonly OutputProof[] {
  const { reference } = ir;
  if (!reference) return [];
  const { checkedOf } = context;
  if (reference.kind !== "recorded") {
    const missing = "the reference is Python, which no rule reads";
    return tensorsOf(ir, "out", "inout").map((output) => proofOf(output, { kind: "unknown", missing }));
  }
  const { outputs: references } = reference;
  const about = digestOf([reference, operator?.forward, operator?.backward]);
  const proofs = withTermTable(() =>
    withMonomials((): readonly OutputProof[] => {
      if (!operator)
        return tensorsOf(ir, "out", "inout").flatMap((output, which) => {
          const node = references[which];
          if (!node) return [];
          const computed = kernelComputes(ir, output, node, checkedOf);
          return [
            proofOf(output, verdictOf(computed, [ir], context, refuting(ir, output, indexedConfigs(ir), context))),
          ];
        });
      const { forward, backward } = operator;
      const [configs, sharesUpdates] = [configsOf(forward), mayShareUpdates(forward)];
      const compared = operatorComputes({ signature: ir, forward, backward, references, checkedOf });
      return compared.map(({ tensor, isGradient, computes }) => {
        const kernels = kernelsOf(forward, ...(isGradient && backward ? [backward] : []));
        // The evaluator has no derivatives, so that it refutes no gradient.
        const isRefutable = !isGradient && !sharesUpdates;
        const refute = isRefutable ? refuting(ir, tensor, configs, context) : () => undefined;
        const proof = proofOf(tensor, verdictOf(computes, kernels, context, refute));
        return isGradient ? { ...proof, isGradient } : proof;
      });
    }),
  );
  return proofs.map((proof) => ({ ...proof, about }));
}

/** An operator runs each kernel in its first config, whose constants suggest sizes. */
const configsOf = (...compositions: readonly Composition[]): readonly IndexedConfig[] => [
  { values: Object.assign({}, ...kernelsOf(...compositions).map(({ tuning }) => tuning.configs[0]?.values)), index: 0 },
];

const proofOf = ({ name, value }: TensorParam, verdict: OutputVerdict): OutputProof => ({
  output: name,
  at: value.location,
  verdict,
});

const refuting =
  (ir: KernelIR, output: TensorParam, configs: readonly IndexedConfig[], { runner }: Pick<OutputContext, "runner">) =>
  (): DifferingLaunch | undefined =>
    findDifference(ir, output.name, configs, runner);

/** Equality counts unless a certificate of a kernel leaves open what it rests on. What is unknown may be refuted. */
function verdictOf(
  computed: Computes,
  kernels: readonly KernelIR[],
  { certificateOf, overwrites }: Pick<OutputContext, "certificateOf" | "overwrites">,
  refute: () => DifferingLaunch | undefined,
): OutputVerdict {
  if (computed.kind === "unknown") {
    const difference = refute();
    return difference ? { kind: "refuted", ...difference } : computed;
  }
  const missing = kernels
    .map((kernel) => openProperty(kernel, certificateOf(kernel), overwrites))
    .find((open) => open !== undefined);
  if (missing !== undefined) return { kind: "unknown", missing };
  return computed.kind === "equal" ? { kind: "proved" } : computed;
}

/** A kernel, or an operator with its signature as a kernel. */
export interface Side {
  readonly ir: KernelIR;
  readonly forward: Composition | undefined;
}

/** The runner compares the unrounded outputs of both in a test case of the first. */
export type AgainstContext = Omit<OutputContext, "overwrites">;

/** The verdicts of outputs against those of another kernel or operator, which takes the same arguments by name. */
export function outputsAgainst(
  { ir, ...own }: Side,
  other: Side,
  { checkedOf, certificateOf, runner }: AgainstContext,
): readonly OutputProof[] {
  const names = new Set(ir.params.map(({ name }) => name));
  const sides = [composed({ ir, ...own }, names), composed(other, names)] as const;
  const [forward, expected] = sides;
  const signature = { ...ir, body: { statements: [], yields: [] }, functions: [] };
  const context = { certificateOf, overwrites: followsUpdates };
  const configs = own.forward ? configsOf(own.forward) : indexedConfigs(ir);
  const isRefutable = !sides.some(mayShareUpdates);
  return withTermTable(() =>
    withMonomials(() =>
      operatorComputes({ signature, forward, expected, references: [], checkedOf }).map(({ tensor, computes }) => {
        if (!expected.results[tensor.name])
          return proofOf(tensor, { kind: "unknown", missing: `the other kernel has no output ${tensor.name}` });
        // Whether a kernel may overflow is asked of itself, against its reference.
        const computed: Computes = computes.kind === "unstable" ? { kind: "equal" } : computes;
        const refute = isRefutable ? refuting(ir, tensor, configs, { runner }) : () => undefined;
        return proofOf(tensor, verdictOf(computed, kernelsOf(...sides), context, refute));
      }),
    ),
  );
}

/** What a kernel of a composition leaves as it was in a tensor that it updates is part of the terms. */
const followsUpdates = (): boolean => true;

/** The outputs of a kernel or an operator, as expressions of arguments with these names. */
function composed({ ir, forward }: Side, names: ReadonlySet<string>): Composition {
  if (forward) return forward;
  const isPassed = (param: KernelIR["params"][number]): boolean => {
    if (!names.has(param.name)) return false;
    if (param.kind === "tensor") return param.role !== "out";
    return param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument");
  };
  const args = ir.params.filter(isPassed).map((param) => [param.name, passed(param)] as const);
  const launch: KernelLaunch = { kind: "launch", kernel: ir, args: Object.fromEntries(args), sizes: {}, at: ir.at };
  const results = tensorsOf(ir, "out", "inout").map(({ name }) => [name, { kind: "launched", launch, output: name }]);
  return { steps: [launch], results: Object.fromEntries(results) };
}

/** Each side updates a copy of the caller's tensor. */
function passed({ name, ...param }: KernelIR["params"][number]): TorchNode {
  const given = { kind: "input", name } as const;
  const isUpdated = param.kind === "tensor" && param.role === "inout";
  return isUpdated ? { kind: "method", name: "clone", args: [given], keywords: {} } : given;
}

/** What a certificate leaves open of the properties that equality rests on. */
function openProperty(
  ir: KernelIR,
  { obligations }: Certificate,
  overwrites: OutputContext["overwrites"],
): string | undefined {
  const isOpen = ({ property, verdict }: Obligation) => REQUIRED.has(property) && verdict.kind !== "proved";
  const open = obligations.find(isOpen);
  if (open) return `${open.property} of ${open.of} in ${ir.name} is not proved`;
  const covered = new Set(obligations.filter(({ property }) => property === "coverage").map((each) => each.of));
  const output = tensorsOf(ir, "out", "inout").find(
    (tensor) => !covered.has(tensor.name) && !(tensor.role === "inout" && overwrites(ir, tensor)),
  );
  return output && `nothing shows that ${ir.name} writes each element of ${output.name}`;
}
