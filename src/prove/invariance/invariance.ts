/**
 * Whether an element's bits depend on the size of an axis or on other rows, and whether they are equal in every run.
 * Both follow from what the element depends on, for one compiled kernel. They rest on other obligations: on bounds,
 * coverage, races and overflow.
 */
import type {
  AxisVerdict,
  Certificate,
  InvarianceProof,
  Obligation,
  ProofProperty,
  RunsVerdict,
} from "../../compiled/compiled-kernel.js";
import { type KernelIR, paramsOf, type SizeParam, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { withTermTable } from "../../symbolic/term.js";
import { Budget } from "../algebra/budget.js";
import { withMonomials } from "../algebra/polynomial.js";
import { sizeFacts } from "../equivalence/compare.js";
import { STEPS } from "../equivalence/integer-form.js";
import { NoRule } from "../equivalence/rational.js";
import type { CheckedPreconditions } from "../equivalence/operators.js";
import { withAtoms } from "../equivalence/polynomial.js";
import { FactScopes } from "../model/fact-scopes.js";
import { modelOf, type SymbolicModel } from "../model/model.js";
import { variantsOf } from "../model/launch.js";
import type { Dependence, Role } from "./dependences.js";
import { mentionsSize, type Question, type Reached, WrittenElement, followsSize } from "./elements.js";
import { KernelDependences, type Write } from "./kernel-dependences.js";
import { isInt, members } from "../../types/dtype.js";

// What a launch chooses by a size, and in which order it updates elements.

/** The reason why the config of a launch may follow a size. */
function choiceBy(model: SymbolicModel, size: SizeParam): string | undefined {
  const { ir, launch } = model;
  const { tuning } = ir;
  const key = tuning.key?.find((name) =>
    paramsOf(ir, "size").some((param) => param.name === name && followsSize(model, param, size)),
  );
  if (key !== undefined && tuning.configs.length > 1) return `${key} in the autotuner's key chooses the config`;
  const option = Object.entries(tuning.options ?? {}).find(([, block]) =>
    launch.host(block).some((term) => mentionsSize(model, term, size)),
  );
  return option && `${option[0]} is computed from ${size.name}`;
}

/** Atomics of integers that give one result in any order, if nobody looks at what they return. */
const COMMUTATIVE: ReadonlySet<string> = new Set([
  "atomicAdd",
  "atomicMax",
  "atomicMin",
  "atomicAnd",
  "atomicOr",
  "atomicXor",
]);

/** Why the updates of an output may give other bits in another run. */
function unorderedUpdate(writes: readonly Write[], output: TensorParam): RunsVerdict | undefined {
  const kinds = new Set<string>();
  for (const { access } of writes) {
    if (access.tensor !== output) continue;
    const { name } = access.statement.op;
    kinds.add(name);
    if (access.accessKind !== "atomic" || (COMMUTATIVE.has(name) && isExact(name, output))) continue;
    const at = access.statement.location;
    return { kind: "dependent", why: `programs update it with tl.${name} in any order`, ...(at && { at }) };
  }
  const atomic = [...kinds].find((name) => COMMUTATIVE.has(name));
  if (atomic === undefined || kinds.size === 1) return undefined;
  return { kind: "unknown", missing: `tl.${atomic} and other writes meet in any order` };
}

const isExact = (name: string, { dtype }: TensorParam): boolean =>
  members(dtype).every(isInt) || name === "atomicMax" || name === "atomicMin";

export interface InvarianceContext {
  readonly checked: ReturnType<CheckedPreconditions>;
  readonly certificate: Certificate;
}

/** What the verdicts rest on: that each element is written once, at the place that the terms say. */
const REQUIRED: ReadonlySet<ProofProperty> = new Set<ProofProperty>([
  "bounds",
  "claim",
  "race",
  "order",
  "dividend",
  "overflow",
  "launch",
]);

/** The verdicts of each output: for the sizes of its axes, and for runs. */
export function invarianceProofs(ir: KernelIR, context: InvarianceContext): readonly InvarianceProof[] {
  return withTermTable(() =>
    withMonomials(() => {
      const kernel = new InvarianceOfKernel(ir, context);
      return tensorsOf(ir, "out", "inout").map((output) => kernel.proofOf(output));
    }),
  );
}

/** The sizes of an output's axes that callers choose, in the order of the axes. */
function sizesOf(ir: KernelIR, { dims }: TensorParam): readonly SizeParam[] {
  const sizes = paramsOf(ir, "size").filter(({ derived }) => !derived);
  return [...new Set(dims.flatMap((dim) => sizes.find(({ value }) => value === dim) ?? []))];
}

interface Variant {
  readonly model: SymbolicModel;
  readonly writes: readonly Write[];
}

/** What to ask first, because a dependence of it is certain, and what takes most of the prover. */
const QUESTIONS: readonly (readonly (Dependence["kind"] | Role)[])[] = [
  ["order", "block", "iterations"],
  ["value", "element", "atomic", "unknown", "undetermined"],
  ["condition"],
];

class InvarianceOfKernel {
  readonly #open: Reached | undefined;
  readonly #variants: readonly Variant[];

  constructor(
    readonly ir: KernelIR,
    readonly context: InvarianceContext,
  ) {
    this.#variants = variantsOf(ir).map(({ assignment }) => {
      const model = modelOf(ir, context.checked, assignment);
      return { model, writes: new KernelDependences(model).run().writes };
    });
    this.#open = this.#openPart();
  }

  /** What is left open of the properties that all verdicts rest on. */
  #openPart(): Reached | undefined {
    const models = this.#variants.map(({ model }) => model);
    const raw = models.flatMap((model) => model.raw)[0];
    if (raw) return { kind: "unknown", cause: "open", why: "it has raw Python", at: raw.location };
    const truncated = models.find(({ truncatedAt }) => truncatedAt)?.truncatedAt;
    if (truncated)
      return { kind: "unknown", cause: "open", why: "it has more calls than are followed", at: truncated.location };
    if (this.ir.warpSpecialize !== "never")
      return {
        kind: "unknown",
        cause: "open",
        why: "the module may launch its warp-specialized kernel",
        at: this.ir.at,
      };
    const isOpen = ({ property, verdict }: Obligation) => REQUIRED.has(property) && verdict.kind !== "proved";
    const open = this.context.certificate.obligations.find(isOpen);
    return open && { kind: "unknown", cause: "open", why: `${open.property} of ${open.of} is not proved`, at: open.at };
  }

  proofOf(output: TensorParam): InvarianceProof {
    const elements = this.#open ? this.#open : this.#elementsOf(output);
    const sizes = sizesOf(this.ir, output);
    return {
      kernel: this.ir.name,
      output: output.name,
      at: output.value.location,
      sizes: sizes.map((size) => ({
        size: size.name,
        verdict: this.#verdictOf(elements, size),
        ...(this.ir.launch.invariant.includes(size.name) && { required: true as const }),
      })),
      runs: this.#runsOf(elements, output),
    };
  }

  /** What the elements of an output depend on, or what is left open. */
  #elementsOf(output: TensorParam): readonly WrittenElement[] | Reached {
    try {
      const elements = this.#variants.flatMap(({ model, writes }) =>
        withAtoms(() => this.#written(model, writes, output)),
      );
      return elements.length > 0
        ? elements
        : { kind: "unknown", cause: "open", why: "no store to it is known", at: output.value.location };
    } catch (error) {
      if (error instanceof NoRule)
        return { kind: "unknown", cause: "open", why: error.message, at: output.value.location };
      throw error;
    }
  }

  #written(model: SymbolicModel, writes: readonly Write[], output: TensorParam): readonly WrittenElement[] {
    const own = writes.filter(({ access: { tensor } }) => tensor === output || tensor === undefined);
    const budget = new Budget(...STEPS);
    const scopes = new FactScopes(model, budget, sizeFacts(model));
    const isCovered = this.context.certificate.obligations.some(
      ({ property, of, verdict }) => property === "coverage" && of === output.name && verdict.kind === "proved",
    );
    return own.flatMap((write) => {
      const element = new WrittenElement(model, scopes, budget, write);
      const { access } = write;
      const at = access.statement.location;
      if (access.missing !== undefined || access.tensor === undefined)
        element.collection.unknown(access.missing ?? "a store to unknown memory", at);
      else if (access.accessKind === "atomic") element.collection.add({ kind: "atomic" }, at);
      if (!element.isReached()) return [];
      element.collect();
      const isAlways = own.length === 1 && isCovered;
      return isAlways
        ? [element]
        : [element, new WrittenElement(model, scopes, budget, write, false).collectConditions()];
    });
  }

  // ---- sizes ----------------------------------------------------------------------------------------------------------

  #verdictOf(elements: readonly WrittenElement[] | Reached, size: SizeParam): AxisVerdict {
    if ("kind" in elements) return verdictOf(elements);
    try {
      const reached = withAtoms(() => this.#reaches(elements, size));
      return reached ? verdictOf(reached) : { kind: "invariant" };
    } catch (error) {
      if (error instanceof NoRule) return { kind: "unknown", missing: error.message, cause: "open" };
      throw error;
    }
  }

  /** A way in which a size reaches an element, a certain one before others. */
  #reaches(elements: readonly WrittenElement[], size: SizeParam): Reached | undefined {
    let open: Reached | undefined;
    for (const kinds of QUESTIONS)
      for (const element of elements) {
        const question: Question = { size, choice: choiceBy(element.model, size) };
        for (const dependence of element.found) {
          const kind = dependence.kind === "integer" ? dependence.role : dependence.kind;
          if (!kinds.includes(kind) || (open && kind === "condition")) continue;
          const reached = element.reaches(dependence, question);
          if (reached?.kind === "dependent") return reached;
          open ??= reached;
        }
      }
    return open ?? this.#reachesByRounding(elements, size);
  }

  /** What the compiler may do in another way for another size: fuse products, and sum in another layout. */
  #reachesByRounding(elements: readonly WrittenElement[], size: SizeParam): Reached | undefined {
    const isOrdered = elements.some(({ found }) => found.some(({ kind }) => kind === "order"));
    const fused = this.#fusedAt(elements);
    if (!isOrdered && !fused) return undefined;
    for (const { model } of elements) {
      const choice = choiceBy(model, size);
      if (choice !== undefined && fused)
        return {
          kind: "unknown",
          cause: "fusion",
          why: `${choice}, and a product may be fused with a sum in one of them`,
          at: fused.at,
        };
      const strided = stridedBy(model, size);
      if (strided)
        return {
          kind: "unknown",
          cause: "strides",
          why: `a stride of ${strided.name} may follow ${size.name}, and with it the order in which a program sums`,
          at: strided.value.location,
        };
    }
    return undefined;
  }

  /** A product that a compiler may fuse with a sum, so that it rounds once. */
  #fusedAt(elements: readonly WrittenElement[]): Dependence | undefined {
    if (this.ir.launch.options["enableFpFusion"] === false) return undefined;
    const all = elements.flatMap(({ found }) => found);
    const product = all.find(({ kind }) => kind === "product");
    return all.some(({ kind }) => kind === "sum") ? product : undefined;
  }

  // ---- runs -----------------------------------------------------------------------------------------------------------

  #runsOf(elements: readonly WrittenElement[] | Reached, output: TensorParam): RunsVerdict {
    for (const { writes } of this.#variants) {
      const update = unorderedUpdate(writes, output);
      if (update) return update;
    }
    if ("kind" in elements) return { kind: "unknown", missing: elements.why, ...(elements.at && { at: elements.at }) };
    for (const { found, collection } of elements)
      for (const each of found) {
        if (each.kind !== "undetermined" && each.kind !== "unknown") continue;
        if (collection.isImpossible(each.given)) continue;
        return { kind: "unknown", missing: `it depends on ${each.why}`, ...(each.at && { at: each.at }) };
      }
    const found = elements.flatMap((element) => element.found);
    const isRounded = found.some(({ kind }) => kind === "order") || this.#fusedAt(elements) !== undefined;
    return { kind: isRounded && this.ir.tuning.configs.length > 1 ? "per-config" : "proved" };
  }
}

const verdictOf = ({ kind, why, cause, at }: Reached): AxisVerdict =>
  kind === "dependent" ? { kind, why, cause, ...(at && { at }) } : { kind, missing: why, cause, ...(at && { at }) };

/** A tensor with a stride that may follow a size: it has an axis of that size behind another one. */
function stridedBy(model: SymbolicModel, size: SizeParam): TensorParam | undefined {
  return tensorsOf(model.ir, "in", "out", "inout").find(
    ({ contiguous, dims }) =>
      !contiguous &&
      dims.some((dim, axis) => axis > 0 && mentionsSize(model, model.launch.term(dim) ?? model.launch.dim("?"), size)),
  );
}
