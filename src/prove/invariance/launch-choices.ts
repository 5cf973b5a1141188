/** What a launch chooses by a size, and in which order it updates elements. */
import type { RunsVerdict } from "../../compiled/compiled-kernel.js";
import { paramsOf, type SizeParam, type TensorParam } from "../../ir/nodes.js";
import { isInt, members } from "../../types/dtype.js";
import type { SymbolicModel } from "../model/model.js";
import { followsSize, mentionsSize } from "./elements.js";
import type { Write } from "./kernel-dependences.js";

/** The reason why the config of a launch may follow a size. */
export function choiceBy(model: SymbolicModel, size: SizeParam): string | undefined {
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
export function unorderedUpdate(writes: readonly Write[], output: TensorParam): RunsVerdict | undefined {
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
