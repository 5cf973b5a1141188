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
} from "../../compiled/compiled-kernel.js";
import { type KernelIR, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import type { Composition, KernelLaunch } from "../../ir/operator-ir.js";
import { withTermTable } from "../../symbolic/term.js";
import { withMonomials } from "../algebra/monomial.js";
import { kernelComputes, operatorComputes } from "./computes.js";
import type { CheckedPreconditions } from "./operators.js";
import { type ComparingRunner, findDifference } from "./refute.js";

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

/** The verdicts of a kernel's outputs, or of an operator's with its signature as a kernel. */
export function outputProofs(
  ir: KernelIR,
  forward: Composition | undefined,
  context: OutputContext,
): readonly OutputProof[] {
  if (!ir.reference) return [];
  return withTermTable(() =>
    withMonomials(() =>
      tensorsOf(ir, "out", "inout").map((output, which) => ({
        output: output.name,
        at: output.value.location,
        verdict: verdictOf(ir, forward, output, which, context),
      })),
    ),
  );
}

function verdictOf(
  ir: KernelIR,
  forward: Composition | undefined,
  output: TensorParam,
  which: number,
  { checkedOf, certificateOf, overwrites, runner }: OutputContext,
): OutputVerdict {
  const node = ir.reference?.kind === "recorded" ? ir.reference.outputs[which] : undefined;
  if (!node) return { kind: "unknown", missing: "the reference is Python, which no rule reads" };
  const computed = forward
    ? operatorComputes(ir, forward, output, node, checkedOf)
    : kernelComputes(ir, output, node, checkedOf);
  if (computed.kind === "unknown") {
    const configs = forward
      ? [{ values: {}, index: 0 }]
      : ir.tuning.configs.map(({ values }, index) => ({ values, index }));
    const difference = findDifference(ir, output.name, configs, runner);
    return difference ? { kind: "refuted", ...difference } : { kind: "unknown", missing: computed.missing };
  }
  const kernels = forward ? kernelsOf(forward) : [ir];
  const missing = kernels
    .map((kernel) => openProperty(kernel, certificateOf(kernel), overwrites))
    .find((open) => open !== undefined);
  if (missing !== undefined) return { kind: "unknown", missing };
  const { kind } = computed;
  return kind === "equal" ? { kind: "proved" } : computed;
}

const kernelsOf = ({ steps }: Composition): readonly KernelIR[] => [
  ...new Set(steps.filter((step): step is KernelLaunch => "kernel" in step).map(({ kernel }) => kernel)),
];

/** A kernel, or an operator with its signature as a kernel. */
export interface Side {
  readonly ir: KernelIR;
  readonly forward: Composition | undefined;
}

export interface AgainstContext extends Omit<OutputContext, "runner" | "overwrites"> {
  /** Compares the unrounded outputs of both in a test case of the first. */
  readonly runner: ComparingRunner | undefined;
}

/** The verdicts of outputs against those of another kernel or operator, which takes the same arguments by name. */
export function outputsAgainst(own: Side, other: Side, context: AgainstContext): readonly OutputProof[] {
  const names = new Set(own.ir.params.map(({ name }) => name));
  const sides = [composed(own, names), composed(other, names)] as const;
  return withTermTable(() =>
    withMonomials(() =>
      tensorsOf(own.ir, "out", "inout").map((output) => ({
        output: output.name,
        at: output.value.location,
        verdict: verdictAgainst(own.ir, sides, output, context),
      })),
    ),
  );
}

function verdictAgainst(
  ir: KernelIR,
  [own, other]: readonly [Composition, Composition],
  output: TensorParam,
  { checkedOf, certificateOf, runner }: AgainstContext,
): OutputVerdict {
  const { name } = output;
  const [written, wanted] = [own.results[name], other.results[name]];
  if (!written || !wanted) return { kind: "unknown", missing: `the other kernel has no output ${name}` };
  const both: Composition = { steps: [...own.steps, ...other.steps], results: { [name]: written } };
  const launch = { ...ir, body: { statements: [], yields: [] }, functions: [] };
  const computed = operatorComputes(launch, both, output, wanted, checkedOf);
  if (computed.kind === "unknown") {
    const configs = ir.tuning.configs.map(({ values }, index) => ({ values, index }));
    const difference = runner && findDifference(ir, name, configs, runner);
    return difference ? { kind: "refuted", ...difference } : { kind: "unknown", missing: computed.missing };
  }
  const missing = kernelsOf(both)
    .map((kernel) => openProperty(kernel, certificateOf(kernel), () => false))
    .find((open) => open !== undefined);
  // Whether a kernel may overflow is asked of itself, against its reference.
  return missing === undefined ? { kind: "proved" } : { kind: "unknown", missing };
}

/** The outputs of a kernel or an operator, as expressions of arguments with these names. */
function composed({ ir, forward }: Side, names: ReadonlySet<string>): Composition {
  if (forward) return forward;
  const isPassed = (param: KernelIR["params"][number]): boolean => {
    if (!names.has(param.name)) return false;
    if (param.kind === "tensor") return param.role !== "out";
    return param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument");
  };
  const args = ir.params.filter(isPassed).map(({ name }) => [name, { kind: "input", name }] as const);
  const launch: KernelLaunch = { kind: "launch", kernel: ir, args: Object.fromEntries(args), sizes: {}, at: ir.at };
  const results = tensorsOf(ir, "out", "inout").map(({ name }) => [name, { kind: "launched", launch, output: name }]);
  return { steps: [launch], results: Object.fromEntries(results) };
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
