/** Where one program may compute several tiles of the author's grid, one after another. */
import type { KernelIR } from "../../../ir/nodes.js";
import { argumentsOf, valuesIn, walk } from "../../../ir/walk.js";
import { checkLanguage } from "./gluon-language.js";
import { axisOf, isProgram } from "./tile-schedule.js";
import { NotSpecializable, notSpecializable } from "./not-specializable.js";

/** @throws Unsuited where the GPU does not know the grid, or where a program's number is more than that of its tile. */
export function checkTiles({ params, grid, body, at }: KernelIR): void {
  const known = params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  const asked = grid.block.statements.flatMap(argumentsOf).concat(grid.block.yields).flatMap(valuesIn);
  if (asked.some((value) => known.includes(value)))
    notSpecializable("its grid depends on the GPU, and its body has no loop over tiles", at);
  walk(body, (statement) => {
    if (statement.kind === "op" && statement.op.facts.queries === "grid")
      notSpecializable(
        "it asks for the number of programs, which is another where each computes several tiles",
        statement.at,
      );
    if (isProgram(statement) && axisOf(statement) === undefined)
      notSpecializable("it asks for its number on an axis that is no literal", statement.at);
  });
  for (const statement of grid.block.statements) if (statement.kind === "op") checkLanguage(statement);
}

/** Whether a program may compute several of the grid's tiles. */
export function isPersistent(ir: KernelIR): boolean {
  try {
    checkTiles(ir);
    return true;
  } catch (error) {
    if (error instanceof NotSpecializable) return false;
    throw error;
  }
}
