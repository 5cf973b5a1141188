/**
 * What bounds the sizes of a launch: the reach of int32, which the wrapper checks, GPUs' limits on grids, and Triton's on
 * tiles. 2^31 is a symbol, which keeps numbers small.
 */
import { compiledOps } from "../../analysis/compiled-ops.js";
import { type KernelIR, paramsOf, type TensorParam } from "../../ir/nodes.js";
import { resultsOf } from "../../ir/walk.js";
import { atLeast, atMost, below, number, product, sum, symbol, type Term } from "../../symbolic/term.js";
import { INT32_REACH, MAX_GRID, MAX_NUMEL } from "../../types/limits.js";
import { Budget } from "../algebra/budget.js";
import { FactScopes } from "../model/fact-scopes.js";
import type { OpStep } from "../model/events.js";
import type { FactSet } from "../algebra/facts.js";
import { isPositive } from "../model/launch.js";
import type { SymbolicModel } from "../model/model.js";
import { LIMIT } from "../algebra/products.js";
import { CONTENTS } from "../model/input-elements.js";

const END = 2 ** 31;
/** What 2^31 is far above, as tiles and the numbers of configs are. */
const FAR = 2 ** 23;
/** More elements than the memory of any GPU holds, as a multiple of 2^31. */
const MOST_WRITTEN = 2 ** 40 / END;

const limit = () => symbol(LIMIT);
const reach = () => sum(limit(), number(INT32_REACH - END));

export class Int32 {
  /** Apart from that of other properties, which do not suffer from numbers that nothing bounds. */
  readonly #budget = new Budget(32_000, 5_000);
  readonly #contexts: FactScopes;

  constructor(model: SymbolicModel) {
    this.#contexts = new FactScopes(model, this.#budget, limitsOf(model), (name, given, value, inProgram) => [
      ...model.environment.factsOf(name, given, value, inProgram),
      ...(name.startsWith(CONTENTS) ? [atMost(value, reach()), atLeast(sum(value, reach()), number(0))] : []),
    ]);
  }

  /** Starts with another line; what was looked at with no steps left is looked at again. */
  begin(): void {
    if (this.#budget.spent) this.#contexts.forget();
    this.#budget.refill();
  }

  /** Says that the line stays open. */
  end(): void {
    this.#budget.lose();
  }

  /** What holds where a step stands, of any lane. */
  onPath({ path, scope }: OpStep, lanes: readonly string[]): FactSet {
    return this.#contexts.onPath(path, scope, lanes);
  }
}

function limitsOf({ ir, checked, launch, environment }: SymbolicModel): readonly Term[] {
  const reached = new Set(checked.flatMap((each) => (each.kind === "reach" ? [each.param.name] : [])));
  const ofTensor = (param: TensorParam): readonly Term[] => {
    // What is not given has no size that a launch compares.
    if (param.optional) return [];
    const dims = launch.tensorDims(param);
    const isReached = reached.has(param.name);
    const most = isReached ? reach() : product(number(MOST_WRITTEN), limit());
    // Elements of what is written lie apart from each other; those of an input may be one, with a stride of 0.
    const isDense = param.role !== "in" || (isReached && param.contiguous === true);
    const axes = isReached ? dims.map((dim) => atMost(dim, reach())) : [];
    // Where no axis is empty, the last of them have no more elements than all.
    const isFilled = dims.every((dim) => isPositive(dim, launch.facts));
    const inner = isFilled ? dims.slice(1, -1).map((_, axis) => dims.slice(axis + 1)) : [];
    return [...axes, ...(isDense ? [dims, ...inner].map((each) => atMost(product(...each), most)) : [])];
  };
  const counted = checked.flatMap((each) => {
    const size = each.kind === "count" && typeof each.size !== "number" ? launch.term(each.size) : undefined;
    return size ? [atMost(size, reach())] : [];
  });
  const types = [...compiledOps(ir)].flatMap((statement) => resultsOf(statement).map(({ type }) => type));
  const tiles = new Set(types.flatMap((type) => (type.kind === "tile" ? environment.shape(type) : [])));
  return [
    atLeast(limit(), number(FAR)),
    ...paramsOf(ir, "tensor").flatMap(ofTensor),
    ...counted,
    ...launch.grid.map((size, axis) => (axis === 0 ? below(size, limit()) : atMost(size, number(MAX_GRID[axis]!)))),
    ...[...tiles].map((size) => atMost(size, number(MAX_NUMEL))),
    ...configLimits(ir),
    ...launch.facts.flatMap(inTermsOfLimit),
  ];
}

/** A bound of the author's that is not small: of `x <= 2**30 - 5` follows `2 * x <= 2**31 - 10`. */
function inTermsOfLimit({ kind, parts: [x, most] }: Term): readonly Term[] {
  if (kind !== "atMost" || most?.kind !== "number" || most.value < FAR / 2 || most.value > END) return [];
  const times = BigInt(END) / most.value;
  const room = BigInt(END) - times * most.value;
  const less = room < FAR ? room : BigInt(FAR);
  return [atMost(product(number(times), x!), sum(limit(), number(-less)))];
}

/** The smallest and the largest value that configs choose. */
function configLimits({ tuning, params }: KernelIR): readonly Term[] {
  return params.flatMap((param) => {
    if (param.kind !== "constexpr" || param.from !== "config" || param.of !== "int") return [];
    const values = tuning.configs.map((config) => Number(config.values[param.name]));
    const it = symbol(param.name);
    return [atLeast(it, number(Math.min(...values))), atMost(it, number(Math.max(...values)))];
  });
}
