/** Persistent kernels: one program computes several tiles of the author's grid, in sequence. */
import type { KernelIR } from "../../../ir/nodes.js";
import { argumentsOf, valuesIn, walk } from "../../../ir/walk.js";
import { checkLanguage } from "./gluon-language.js";
import { axisOf, isProgram } from "./tile-schedule.js";
import { NotSpecializable, notSpecializable } from "./not-specializable.js";

/**
 * @throws {@link NotSpecializable} if the grid depends on the device, or if the program id is not just a tile index.
 */
export function checkTiles({ params, grid, body, at }: KernelIR): void {
  const deviceValues = params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  const gridValues = grid.block.statements.flatMap(argumentsOf).concat(grid.block.yields).flatMap(valuesIn);
  if (gridValues.some((value) => deviceValues.includes(value)))
    notSpecializable("its grid depends on the GPU, and its body has no loop over tiles", at);
  walk(body, (statement) => {
    if (statement.kind === "op" && statement.op.facts.queries === "grid")
      notSpecializable(
        "it asks for the number of programs, which is another where each computes several tiles",
        statement.location,
      );
    if (isProgram(statement) && axisOf(statement) === undefined)
      notSpecializable("it asks for its number on an axis that is no literal", statement.location);
  });
  for (const statement of grid.block.statements) if (statement.kind === "op") checkLanguage(statement);
}

/** True if a program may compute several tiles of the grid. */
export function isPersistent(ir: KernelIR): boolean {
  try {
    checkTiles(ir);
    return true;
  } catch (error) {
    if (error instanceof NotSpecializable) return false;
    throw error;
  }
}
