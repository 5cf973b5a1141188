/** Kernels of a small world: an int32 has 8 to 12 bits, so that launches reach every limit and can be tried. */
import { checkConfigs } from "../../../src/check/configs.js";
import { checkLimits } from "../../../src/check/limits.js";
import { preconditions } from "../../../src/analysis/preconditions.js";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import type { Certificate, Config, Evaluation, TensorData, TestCase } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { OperatorDefinition, traceOperator } from "../../../src/dsl/operator.js";
import { trace } from "../../../src/dsl/trace.js";
import { estimateWork } from "../../../src/eval/cost-estimate.js";
import { evaluateCase, inputsOf } from "../../../src/eval/evaluate-case.js";
import { refusal } from "../../../src/eval/refusal.js";
import type { Location } from "../../../src/diagnostics/diagnostic.js";
import type { KernelIR } from "../../../src/ir/nodes.js";
import { walkAll } from "../../../src/ir/walk.js";
import { lowerViews } from "../../../src/lower/views.js";
import { prove } from "../../../src/prove/prove.js";
import { offsetsOnly } from "../../../src/prove/properties/int32.js";
import { type Limits, limitsOf } from "../../../src/types/limits.js";

/** Milliseconds of one evaluation. A mistake may make a loop endless. */
const DEADLINE = 400;

export class SmallKernel {
  readonly lowered: KernelIR;
  readonly signature: ReturnType<typeof signatureOf>;
  /** Where nothing but offsets of pointers is computed. */
  readonly offsetPlaces: ReadonlySet<string>;
  /** Where several accesses are: a random kernel writes all of its stores in one place. */
  readonly sharedPlaces: ReadonlySet<string>;

  constructor(
    readonly name: string,
    readonly ir: KernelIR,
  ) {
    this.lowered = lowerViews(ir);
    this.signature = signatureOf(this.lowered);
    this.offsetPlaces = offsetPlacesOf(ir);
    this.sharedPlaces = sharedPlacesOf(ir);
  }

  proof(): Certificate {
    return prove(this.ir, preconditions(this.lowered), {
      refusal: (at) => this.refusal(at),
      lanes: (at) => this.lanes(at),
      evaluate: (at) => this.evaluate(at),
    });
  }

  refusal(testCase: TestCase): string | undefined {
    return refusal(this.lowered, testCase);
  }

  lanes(testCase: TestCase): number {
    return estimateWork(this.ir, testCase).lanes;
  }

  inputs(testCase: TestCase): Record<string, TensorData> {
    return inputsOf(this.ir, this.signature, testCase);
  }

  evaluate(testCase: TestCase, inputs?: Readonly<Record<string, TensorData>>): Evaluation {
    return evaluateCase(this.ir, this.signature, testCase, undefined, {
      lowered: this.lowered,
      until: performance.now() + DEADLINE,
      ...(inputs && { inputs }),
    });
  }
}

export const placeOf = (location: Location | undefined): string => `${location?.line}:${location?.column}`;

function offsetPlacesOf(ir: KernelIR): ReadonlySet<string> {
  const isOffset = offsetsOnly(ir);
  const [offsets, others] = [new Set<string>(), new Set<string>()];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    const [result] = statement.results;
    (result && isOffset(result) ? offsets : others).add(placeOf(statement.location));
  });
  return new Set([...offsets].filter((place) => !others.has(place)));
}

function sharedPlacesOf(ir: KernelIR): ReadonlySet<string> {
  const [places, shared] = [new Set<string>(), new Set<string>()];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !statement.op.proof.memoryOperands) return;
    const place = placeOf(statement.location);
    (places.has(place) ? shared : places).add(place);
  });
  return shared;
}

/**
 * The kernels of a definition, or of an operator, where an int32 has this width. Their blocks are smaller in proportion.
 * Empty if no config fits, such as one of tiles whose shape the source states.
 */
export function smallKernels(exported: unknown, int32Bits: number): readonly SmallKernel[] {
  const limits = limitsOf(int32Bits);
  return tracesOf(exported).flatMap((traced) => {
    const ir = withLimits(traced, limits);
    return ir ? [new SmallKernel(ir.name, ir)] : [];
  });
}

function tracesOf(exported: unknown): readonly KernelIR[] {
  if (!(exported instanceof OperatorDefinition)) return [trace(definitionOf(exported))];
  return traceOperator(exported, (part) => trace(part)).kernels;
}

/** The kernel with these limits, by the first scale of its blocks that passes the checks. */
export function withLimits(ir: KernelIR, limits: Limits, scales = scalesOf(limits)): KernelIR | undefined {
  return scales
    .map((scale) => ({ ...ir, limits, tuning: { ...ir.tuning, configs: smallConfigs(ir.tuning.configs, scale) } }))
    .find((each) => ![...checkConfigs(each), ...checkLimits(each)].some(({ severity }) => severity === "error"));
}

type Scale = (value: number) => number;

/** In proportion, then larger, for tiles whose last axis has a minimum of bytes, then as they are. */
const scalesOf = (limits: Limits): readonly Scale[] => [
  ...[1, 2, 4, 8].map((factor) => (value: number) => Math.min(value, limits.scaled(value) * factor)),
  (value) => value,
];

/** The most configs of a kernel: the small blocks of many configs are equal. */
const MAX_CONFIGS = 3;

function smallConfigs(configs: readonly Config[], scale: Scale): readonly Config[] {
  const scaled = configs.map(({ values }) => ({
    values: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, isBlock(value) ? scale(value) : value]),
    ),
  }));
  return [...new Map(scaled.map((each) => [JSON.stringify(each), each])).values()].slice(0, MAX_CONFIGS);
}

const isBlock = (value: unknown): value is number =>
  typeof value === "number" && value > 1 && Number.isInteger(Math.log2(value));
