/**
 * Loads that a pipelined loop executes before stores of earlier iterations. A load is safe if it reads no element that
 * the loop wrote in as many of the last iterations as there are stages.
 */
import { type PipelinedLoop, pipelinedLoops } from "../../analysis/pipelined-loops.js";
import type { Precondition } from "../../analysis/preconditions.js";
import type { Config } from "../../compiled/compiled-kernel.js";
import type { ForStatement, KernelIR, OpStatement } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  atMost,
  difference,
  equal,
  FALSE,
  number,
  substitute,
  symbol,
  sum,
  type Term,
  withTermTable,
} from "../../symbolic/term.js";
import { dtypeTable, members } from "../../types/dtype.js";
import { assume, entails } from "../algebra/interpret.js";
import { Budget } from "../algebra/budget.js";
import type { FactSet } from "../algebra/facts.js";
import { withMonomials } from "../algebra/polynomial.js";
import { zip } from "../algebra/zip.js";
import { isSatisfiable } from "../counterexample.js";
import type { Access } from "../model/accesses.js";
import { FactScopes } from "../model/fact-scopes.js";
import { primed, sameElementFacts, variablesOf } from "../model/written-elements.js";
import { iterationName, modelOf, type SymbolicModel } from "../model/model.js";
import { variantsOf } from "../model/launch.js";

/** A load that may execute before a write that the author's code executes first. */
export interface MovedLoad {
  readonly load: OpStatement;
  readonly write: OpStatement;
  /** The names of the arguments that are read and written, if they are known. */
  readonly read: string | undefined;
  readonly written: string | undefined;
  /** Undefined if nothing shows that the load reads what the write stores. */
  readonly distance: number | undefined;
}

/** The number of stages of a loop in a config. Undefined if only the launch determines it. */
export type StagesOf = (loop: ForStatement, config: Config) => number | undefined;

/** For each moved load that is not shown to be safe, the first write that makes it unsafe. */
export function movedLoads(
  ir: KernelIR,
  checked: () => readonly Precondition[],
  stagesOf: StagesOf,
): readonly MovedLoad[] {
  const loops = pipelinedLoops(ir);
  if (loops.length === 0) return [];
  return withTermTable(() =>
    withMonomials(() => {
      const found = new Map<OpStatement, MovedLoad>();
      for (const { assignment, configs } of variantsOf(ir)) {
        const pipelined = loops.flatMap((loop) => {
          const counts = configs.map((config) => stagesOf(loop.loop, config));
          const stages = counts.includes(undefined) ? undefined : Math.max(...counts.map((count) => count ?? 0));
          return stages !== undefined && stages < 2 ? [] : [{ ...loop, stages }];
        });
        if (pipelined.length === 0) continue;
        const analysis = new LoopAnalysis(modelOf(ir, checked(), assignment));
        for (const loop of pipelined)
          for (const each of analysis.movedLoads(loop)) {
            const known = found.get(each.load);
            if (!known || (known.distance === undefined && each.distance !== undefined)) found.set(each.load, each);
          }
      }
      return [...found.values()];
    }),
  );
}

interface StagedLoop extends PipelinedLoop {
  readonly stages: number | undefined;
}

/** A load and a write of one loop. */
interface Pair {
  readonly load: Access;
  readonly write: Access;
  /** The symbol of the iterations, which both scopes contain. */
  readonly iteration: string;
  readonly isWrittenFirst: boolean;
}

class LoopAnalysis {
  readonly #scopes: FactScopes;
  readonly #budget = new Budget(20_000, 4_000);

  constructor(readonly model: SymbolicModel) {
    this.#scopes = new FactScopes(model, this.#budget);
  }

  movedLoads(loop: StagedLoop): readonly MovedLoad[] {
    const { environment, accesses } = this.model;
    const name = iterationName(environment, loop.loop);
    const isIteration = (each: string) => each === name || each.startsWith(`${name} in `);
    return accesses.flatMap((load, i): readonly MovedLoad[] => {
      const iteration = load.scope.find(isIteration);
      if (iteration === undefined || load.accessKind !== "load" || !loop.moved.has(load.statement)) return [];
      for (const [j, write] of accesses.entries()) {
        if (write.accessKind === "load" || !write.scope.includes(iteration)) continue;
        const pair = { load, write, iteration, isWrittenFirst: j < i };
        this.#budget.refill();
        if (this.#isSafe(pair, loop.stages)) continue;
        const distance = this.#staleDistance(pair, loop);
        if (distance === undefined && (load.trusted ?? write.trusted) !== undefined) continue;
        const [read, written] = [load.tensor?.name, write.tensor?.name];
        return [{ load: load.statement, write: write.statement, read, written, distance }];
      }
      return [];
    });
  }

  /** True if the load reads nothing that the write stores in this or one of the last iterations. */
  #isSafe(pair: Pair, stages: number | undefined): boolean {
    const { load, write, iteration } = pair;
    if (load.tensor && write.tensor && load.tensor !== write.tensor) return !mayOverlap(load, write);
    if (!load.tensor || !write.tensor || load.missing !== undefined || write.missing !== undefined) return false;
    const [now, before] = [symbol(iteration), symbol(`${iteration}'`)];
    const earlier = this.#sameElement(pair, [atLeast(difference(now, before), number(1))]);
    // On Blackwell the product has a stage of its own.
    if (stages !== undefined) assume(earlier, atMost(difference(now, before), number(stages)));
    if (!entails(earlier, FALSE)) return false;
    // Accesses of one iteration of the loop are in the order of the iterations of its unrolled loops, then of the code.
    const inner = innerScope(load, iteration).filter((name) => write.scope.includes(name));
    const isOrdered = inner.length === 0 && !pair.isWrittenFirst;
    if (isOrdered) return true;
    const same = this.#sameElement(pair, [equal(now, before)]);
    const [first] = inner;
    if (pair.isWrittenFirst || first === undefined) return entails(same, FALSE);
    const inOrder = inner.length > 1 ? equal : atMost;
    return entails(same, andTerm(...inner.map((name) => inOrder(symbol(name), symbol(`${name}'`)))));
  }

  /** The facts if both access one element. The variables of the write have other names. */
  #sameElement({ load, write, iteration }: Pair, order: readonly Term[]): FactSet {
    const outer = load.scope.slice(0, load.scope.indexOf(iteration));
    const renamed = primed(variablesOf(write).filter((name) => !outer.includes(name)));
    return sameElementFacts(this.#scopes, load, write, renamed, order);
  }

  /**
   * The number of iterations after which the load reads, in some launch, an element that the write stores, although it
   * executes first. Undefined if none is found.
   */
  #staleDistance(pair: Pair, { stages, fullyMoved, unconditional }: StagedLoop): number | undefined {
    const { load, write, iteration } = pair;
    if (stages === undefined || load.tensor === undefined || load.tensor !== write.tensor) return undefined;
    const isModeled = load.missing === undefined && write.missing === undefined && !write.mayBeSkipped;
    if (!isModeled || !fullyMoved.has(load.statement) || !this.#isWide(load)) return undefined;
    // The loads of the last stage follow all stores but those in branches.
    const end = unconditional.has(write.statement) ? stages - 1 : stages;
    const isWrittenFirst = pair.isWrittenFirst && load.scope.at(-1) === iteration && write.scope.at(-1) === iteration;
    for (let distance = isWrittenFirst ? 0 : 1; distance < Math.min(end, MAX_DISTANCE); distance++)
      if (this.#isStale(pair, distance)) return distance;
    return undefined;
  }

  /** True if the load's copies have 4 bytes in a launch of aligned tensors. Triton moves no narrower ones. */
  #isWide({ tensor, axes, lane }: Access): boolean {
    if (tensor === undefined) return false;
    if (members(tensor.dtype).every((dtype) => dtypeTable[dtype].bits >= 32)) return true;
    const [index, last] = [axes.at(-1)?.index, lane.at(-1)];
    if (index === undefined || last?.kind !== "symbol") return false;
    const next = substitute(index, new Map([[last.name, sum(last, number(1))]]));
    return entails(this.#scopes.launch().child(), equal(next, sum(index, number(1))));
  }

  /** True if in some launch a lane reads what the same lane stores that many iterations earlier. */
  #isStale({ load, write, iteration }: Pair, distance: number): boolean {
    if (load.lane.length !== write.lane.length) return false;
    const earlier = difference(symbol(iteration), number(distance));
    const sameLane = zip(write.lane, load.lane).flatMap(([lane, other]) =>
      lane.kind === "symbol" ? [[lane.name, other] as const] : [],
    );
    const replacements = new Map<string, Term>([[iteration, earlier], ...sameLane]);
    const replaced = (term: Term) => substitute(term, replacements);
    const facts = [
      ...load.path,
      load.mask,
      atLeast(earlier, number(0)),
      ...[...write.path, write.mask].map(replaced),
      ...zip(load.axes, write.axes).map(([read, written]) => equal(read.index, replaced(written.index))),
    ];
    const variables = [...new Set([...load.scope, ...write.scope, ...load.lanes])];
    return isSatisfiable(this.model, { facts, variables }, new Budget(20_000));
  }
}

/** The search for a launch tries the first four iterations. */
const MAX_DISTANCE = 4;

const innerScope = ({ scope }: Access, iteration: string): readonly string[] =>
  scope.slice(scope.indexOf(iteration) + 1);

/** The wrapper checks that arguments do not overlap, except for two pointers of which one has no declared extent. */
function mayOverlap({ tensor: x }: Access, { tensor: y }: Access): boolean {
  return (
    [x, y].every((each) => each?.kind === "pointer") &&
    [x, y].some((each) => each?.kind === "pointer" && each.numel === undefined)
  );
}
