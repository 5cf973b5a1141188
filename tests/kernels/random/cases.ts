/** Random kernels with inputs and what the evaluator says of them, as `bench/agreement.py` reads them. */
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import type { DTypeName } from "../../../src/types/dtype.js";
import type { TileData } from "../../../src/numerics/numeric-int.js";
import { toBytes } from "../../../src/numerics/numeric-bits.js";
import { toWire } from "../../../src/runtime/worker/protocol.js";
import { recipeOf } from "./draw.js";
import type { Rule } from "./exactness.js";
import { inputFor } from "./inputs.js";
import { type Accepted, accept } from "./jobs.js";
import { type Unlike, unlike } from "./known-differences.js";
import type { Recipe } from "./recipe.js";

interface Encoded {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes in base 64, row-major. */
  readonly data: string;
}

/** A line of the file. */
export interface Case {
  readonly id: string;
  /** The example that it is of; otherwise it is a random kernel. */
  readonly example?: string;
  readonly module: string;
  readonly jits: readonly string[];
  readonly config?: number;
  readonly inputs: readonly Encoded[];
  /** What the wrapper gets beside tensors. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** In the order in which the wrapper returns them; None stands for one that the call leaves out. */
  readonly outputs: readonly (
    (Encoded & { readonly rule: Rule }) | { readonly name: string; readonly left_out: true }
  )[];
  readonly unlike: Unlike;
}

/** Why there is no case: a check refused the kernel, or the evaluator found behavior without a defined result. */
export interface Left {
  readonly left: "refused" | "undefined";
  readonly why: string;
}

export const encode = (name: string, { dtype, shape, data }: TensorData): Encoded => ({
  name,
  dtype,
  shape,
  data: Buffer.from(toBytes(dtype as DTypeName, data as TileData)).toString("base64"),
});

export function caseOf(seed: number, recipe: Recipe = recipeOf(seed)): Case | Left {
  let made: Accepted;
  try {
    made = accept(recipe, { values: true });
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    // Warnings stand among the errors.
    const refusal = error.diagnostics.find(({ severity }) => severity === "error");
    return { left: "refused", why: refusal?.message ?? error.message };
  }
  return caseFor(seed, made);
}

/** The case of a kernel that is built already. */
export function caseFor(seed: number, { compiled, ir, sizes, scalars, outputs }: Accepted): Case | Left {
  const { tensors, jit } = compiled.signature;
  const read = tensors.filter(({ role }) => role !== "out");
  const inputs = Object.fromEntries(read.map((tensor, i) => [tensor.name, inputFor(tensor, sizes, seed * 31 + i)]));
  const absent = outputs.flatMap(({ name, optional }) => (optional === "left out" ? [name] : []));
  // A single output is the argument `out`, however many tensors are updated beside it.
  const isSingle = tensors.filter(({ role }) => role === "out").length === 1;
  const asked = outputs.flatMap(({ name, optional }) =>
    optional === "asked for" ? [[isSingle ? "out" : name, true] as const] : [],
  );
  const evaluation = compiled.evaluate(
    { sizes, scalars, dtypes: {}, absent, config: 0, seed },
    { inputs, lowered: true },
  );
  const [finding] = evaluation.findings;
  if (finding) return { left: "undefined", why: `${finding.code}: ${finding.message}` };
  if (evaluation.unchecked.length > 0) return { left: "undefined", why: evaluation.unchecked[0]! };
  return {
    id: String(seed),
    module: compiled.python,
    jits: [jit],
    inputs: read.map((tensor) => encode(tensor.python, inputs[tensor.name]!)),
    arguments: Object.fromEntries([
      ...asked,
      ...compiled.signature.scalars.map(({ name, python }) => [python, toWire(scalars[name]!)] as const),
    ]),
    outputs: outputs.map(({ name, rule }) =>
      absent.includes(name) ? { name, left_out: true } : { ...encode(name, evaluation.outputs[name]!), rule },
    ),
    unlike: unlike(ir),
  };
}
