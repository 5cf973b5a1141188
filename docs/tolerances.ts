/** `python/tilescript_worker/tolerances.py`: the figures of `src/compiled/tolerance.ts` for files without TileScript. */
import {
  dotPrecision,
  MAX_RMS_TOLERANCE,
  relative,
  MAX_MISMATCHED_FRACTION,
  SHORT_SUM,
  smallestSubnormal,
  unitRoundoff,
  UNITS_PER_ROUNDING,
} from "../src/compiled/tolerance.js";
import { type DTypeName, dtypeTable } from "../src/types/dtype.js";

const byDType = (name: string, comment: string, figures: Readonly<Record<string, number>>): string[] => {
  const comparedFigures = Object.entries(figures).filter(([dtype]) => dtypeTable[dtype as DTypeName].torch !== "uint8");
  const rows = comparedFigures.map(
    ([dtype, figure]) => `    torch.${dtypeTable[dtype as DTypeName].torch}: ${figure},`,
  );
  return [`# ${comment}`, `${name} = {`, ...rows, "}"];
};

export function tolerancesModule(): string {
  return `"""How far an output may be from its float64 reference.

Generated from src/compiled/tolerance.ts by \`\`npm run docs\`\`; edit that file instead.
"""

import torch

${[
  ...byDType(
    "RELATIVE",
    "Relative to the element, by the output's dtype. Every other dtype is compared exactly.",
    relative,
  ),
  ...byDType("UNIT_ROUNDOFF", "What one rounding changes at most, relative to the value.", unitRoundoff),
  ...byDType("SMALLEST", "The smallest numbers that a dtype tells apart.", smallestSubnormal),
].join("\n")}
# What rounding the operands of a product of float32 matrices to TF32 costs.
TF32 = ${dotPrecision["tf32"]}
# Units of rounding on the way, of the output's root mean square.
UNITS = ${UNITS_PER_ROUNDING}
# No more than this part of the root mean square is taken for rounding.
MOST = ${MAX_RMS_TOLERANCE}
# Sums of up to this many terms are within the plain tolerances.
SHORT_SUM = ${SHORT_SUM}
# No more than this part of the integers may differ where any may.
SHARE = ${MAX_MISMATCHED_FRACTION}
`;
}
