/** `python/tilescript_worker/tolerances.py`: the figures of `src/contract/tolerance.ts` for files without TileScript. */
import { elementwise, SHORT_SUM, tf32 } from "../src/contract/tolerance.js";
import type { Tolerance } from "../src/contract/compiled.js";
import { type DTypeName, dtypeTable } from "../src/types/dtype.js";

const pair = ({ rtol, atol }: Tolerance) => `(${rtol}, ${atol})`;

export function tolerancesModule(): string {
  const entries = Object.entries(elementwise).map(
    ([dtype, tolerance]) => `    torch.${dtypeTable[dtype as DTypeName].torch}: ${pair(tolerance)},`,
  );
  return `"""How far an output may be from its float64 reference: (rtol, atol) by dtype.

Generated from src/contract/tolerance.ts by \`\`npm run docs\`\`; edit that file instead.
"""

import torch

# By the dtype of the output. Every other dtype is compared exactly.
ELEMENTWISE = {
${entries.join("\n")}
}
# Products of float32 matrices run in TF32, whose inputs keep 10 bits of mantissa.
TF32 = ${pair(tf32)}
# Sums of up to this many terms are within the plain tolerances.
SHORT_SUM = ${SHORT_SUM}
`;
}
