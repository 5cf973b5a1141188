/**
 * Upper limits on the sizes of a launch: int32 addressing, which the wrapper checks, CUDA's limits on grids, and
 * Triton's on tiles. 2^31 is a symbol, which keeps coefficients small.
 */
import { compiledOps } from "../../analysis/compiled-ops.js";
import { type KernelIR, paramsOf, type TensorParam } from "../../ir/nodes.js";
import { resultsOf } from "../../ir/walk.js";
import { atLeast, atMost, below, number, product, sum, symbol, type Term } from "../../symbolic/term.js";
import type { Limits } from "../../types/limits.js";
import { Budget } from "../algebra/budget.js";
import { FactScopes } from "../model/fact-scopes.js";
import type { OpStep } from "../model/events.js";
import type { FactSet } from "../algebra/facts.js";
import { isPositive } from "../model/launch.js";
import { zip } from "../algebra/zip.js";
import type { SymbolicModel } from "../model/model.js";
import { LIMIT } from "../algebra/products.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";

/** A lower bound of the symbol for 2^31, above every tile size and constexpr of a config. */
const limitLowerBound = (limits: Limits): number => limits.scaled(2 ** 23);

const limit = () => symbol(LIMIT);
const addressable = ({ int32Reach, int32End }: Limits) => sum(limit(), number(int32Reach - int32End));

export class Int32 {
  /** A separate budget, so that unbounded numbers in overflow proofs do not exhaust that of other properties. */
  readonly #budget = new Budget(32_000, 5_000);
  readonly #factScopes: FactScopes;

  constructor(model: SymbolicModel) {
    this.#factScopes = new FactScopes(model, this.#budget, limitFacts(model), (name, isGiven, value, inProgram) => [
      ...model.environment.factsOf(name, isGiven, value, inProgram),
      ...(name.startsWith(ELEMENT_PREFIX) ? [below(value, limit()), atLeast(sum(value, limit()), number(0))] : []),
    ]);
  }

  /** Starts another line. Facts that were computed with an exhausted budget are computed again. */
  begin(): void {
    if (this.#budget.isExhausted) this.#factScopes.forget();
    this.#budget.refill();
  }

  /** Records that the line stays unproved. */
  end(): void {
    this.#budget.chargeShared();
  }

  /** The facts at an event, for a symbolic lane. */
  onPath({ path, scope }: OpStep, lanes: readonly string[]): FactSet {
    return this.#factScopes.onPath(path, scope, lanes);
  }
}

/** Facts about the largest sizes. The symbol {@link LIMIT} is the end of int32. */
export function limitFacts({ ir, ir: { limits }, checked, launch, environment }: SymbolicModel): readonly Term[] {
  const addressed = new Set(checked.flatMap((each) => (each.kind === "reach" ? [each.param.name] : [])));
  const tensorLimits = (param: TensorParam): readonly Term[] => {
    // The launch does not check the sizes of an absent tensor.
    if (param.optional) return [];
    const dims = launch.tensorDims(param);
    const isAddressed = addressed.has(param.name);
    const elementLimit = isAddressed
      ? addressable(limits)
      : product(number(limits.maxOutput / limits.int32End), limit());
    // Elements of an output are distinct in memory. An input may have a stride of 0.
    const isDense = param.role !== "in" || (isAddressed && param.contiguous === true);
    const axes = isAddressed ? dims.map((dim) => atMost(dim, addressable(limits))) : [];
    // If no axis is empty, the last axes together have no more elements than the tensor.
    const isFilled = dims.every((dim) => isPositive(dim, launch.facts));
    const inner = isFilled ? dims.slice(1, -1).map((_, axis) => dims.slice(axis + 1)) : [];
    return [...axes, ...(isDense ? [dims, ...inner].map((each) => atMost(product(...each), elementLimit)) : [])];
  };
  const countLimits = checked.flatMap((each) => {
    const size = each.kind === "count" && typeof each.size !== "number" ? launch.term(each.size) : undefined;
    return size ? [atMost(size, addressable(limits))] : [];
  });
  const types = [...compiledOps(ir)].flatMap((statement) => resultsOf(statement).map(({ type }) => type));
  const tiles = new Set(types.flatMap((type) => (type.kind === "tile" ? environment.shape(type) : [])));
  return [
    atLeast(limit(), number(limitLowerBound(limits))),
    ...paramsOf(ir, "tensor").flatMap(tensorLimits),
    ...countLimits,
    ...zip(launch.grid, limits.maxGrid.slice(0, launch.grid.length)).map(([size, maximum], axis) =>
      axis === 0 ? below(size, limit()) : atMost(size, number(maximum)),
    ),
    ...[...tiles].map((size) => atMost(size, number(limits.maxNumel))),
    ...configLimits(ir),
    ...launch.facts.flatMap((fact) => inTermsOfLimit(fact, limits)),
  ];
}

/** Scales an author's large bound to 2^31: `x <= 2**30 - 5` implies `2 * x <= 2**31 - 10`. */
function inTermsOfLimit({ kind, operands }: Term, limits: Limits): readonly Term[] {
  if (kind !== "atMost") return [];
  const [x, bound] = operands;
  const [lowerBound, end] = [limitLowerBound(limits), limits.int32End];
  if (bound.kind !== "number" || bound.value < lowerBound / 2 || bound.value > end) return [];
  const factor = BigInt(end) / bound.value;
  const slack = BigInt(end) - factor * bound.value;
  const offset = slack < lowerBound ? slack : BigInt(lowerBound);
  return [atMost(product(number(factor), x), sum(limit(), number(-offset)))];
}

/** The smallest and the largest value among the configs. */
function configLimits({ tuning, params }: KernelIR): readonly Term[] {
  return params.flatMap((param) => {
    if (param.kind !== "constexpr" || param.from !== "config" || param.of !== "int") return [];
    const values = tuning.configs.map((config) => Number(config.values[param.name]));
    const constexpr = symbol(param.name);
    return [atLeast(constexpr, number(Math.min(...values))), atMost(constexpr, number(Math.max(...values)))];
  });
}
