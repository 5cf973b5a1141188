/**
 * Changes of examples that may be faster, which only a GPU can decide: `npm run bench -- gallery --variants --only
 * softmax` times them and the unchanged example in alternation. A faster variant moves into the example; others are
 * removed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "tilescript";
import type { Example } from "../tests/support/examples.js";

export interface Variant {
  /** The part of the gallery that runs the example. */
  readonly part: string;
  /** The example's file, without `.ts`. */
  readonly example: string;
  readonly name: string;
  /** The expected effect, with its size. */
  readonly because: string;
  /** Replacements of texts that occur exactly once in the file. */
  readonly changes: readonly (readonly [from: string, to: string])[];
}

export const variants: readonly Variant[] = [
  {
    part: "int4_gemm",
    example: "int4-gemm",
    name: "wide_steps",
    because: "a step of 128 rows has one scale, as a group has: half as many barriers for the same instructions",
    changes: [
      [
        "BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3, maxnreg: 128",
        "BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, numWarps: 8, numStages: 2",
      ],
    ],
  },
  {
    part: "gemm_stream_k",
    example: "gemm-stream-k",
    name: "wide_blocks",
    because:
      "blocks of 128 × 128 read 160 bytes of shared memory a cycle where 128 is the limit, those of 128 × 256 do 128",
    changes: [["const BLOCK_N = 128;", "const BLOCK_N = 256;"]],
  },
  {
    part: "quantized_gemm",
    example: "fp8-gemm",
    name: "sixteen_warps",
    because: "256 × 128 has the registers a thread that 128 × 128 has, and loads a quarter less for each product",
    changes: [
      [
        "{ BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 1, numWarps: 8, numStages: 4 }",
        "{ BLOCK_M: 256, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 1, numWarps: 16, numStages: 4 }",
      ],
    ],
  },
  {
    part: "softmax",
    example: "softmax-long",
    name: "kept_first",
    because: "what stays in registers is not read again, so it need not take room in L2 from what is",
    changes: [
      [
        "tl.load(x.at(row, tl.arange(0, KEPT)), { other: -Infinity })",
        'tl.load(x.at(row, tl.arange(0, KEPT)), { other: -Infinity, evictionPolicy: "evict_first" })',
      ],
    ],
  },
  {
    part: "softmax",
    example: "softmax",
    name: "evict_first",
    because: "a row is read once",
    changes: [["{ other: -Infinity }", '{ other: -Infinity, evictionPolicy: "evict_first" }']],
  },
  {
    part: "softmax",
    example: "softmax",
    name: "evict_last",
    because: "RMS normalization is faster with it on an H200",
    changes: [["{ other: -Infinity }", '{ other: -Infinity, evictionPolicy: "evict_last" }']],
  },
  {
    part: "layer_norm",
    example: "layer-norm",
    name: "weights_first",
    because: "weight and bias arrive while the sums are taken; at 16 warps registers rise from 64 to 87, so 32 may win",
    changes: [
      [
        "{ numWarps: 8 }, { numWarps: 16 }] },\n    shapes: [{ M: 4096, N: 8192 }],\n  },\n  ({ x, weight, bias, y",
        "{ numWarps: 8 }, { numWarps: 16 }, { numWarps: 32 }] },\n    shapes: [{ M: 4096, N: 8192 }],\n  },\n  ({ x, weight, bias, y",
      ],
      [
        "    const w = tl.load(weight.at(cols)).to(tl.float32);\n    const b = tl.load(bias.at(cols)).to(tl.float32);\n",
        "",
      ],
      [
        "    const average = tl.sum(values, 0)",
        "    const w = tl.load(weight.at(cols));\n    const b = tl.load(bias.at(cols));\n    const average = tl.sum(values, 0)",
      ],
      ["centered.mul(scale).mul(w).add(b)", "centered.mul(scale).mul(w.to(tl.float32)).add(b.to(tl.float32))"],
    ],
  },
  {
    part: "layer_norm",
    example: "layer-norm",
    name: "evict_last",
    because: "RMS normalization is faster with it on an H200",
    changes: [
      [
        "const values = tl.load(x.at(row, cols), { other: 0 }).to(tl.float32);\n    const average",
        'const values = tl.load(x.at(row, cols), { other: 0, evictionPolicy: "evict_last" }).to(tl.float32);\n    const average',
      ],
    ],
  },
  {
    part: "adamw_stochastic",
    example: "stochastic-rounding",
    name: "twice_the_threads",
    because: "half as many programs, for the same work of each thread",
    changes: [["{ BLOCK: 512, numWarps: 4 }", "{ BLOCK: 1024, numWarps: 8 }"]],
  },
];

/** The example's source with the changes of a variant. */
export function applyVariant(source: string, { example, name, changes }: Variant): string {
  return changes.reduce((text, [from, to]) => {
    const occurrences = text.split(from).length - 1;
    if (occurrences !== 1) throw new Error(`${name} of ${example}: ${from} is there ${occurrences} times`);
    return text.replace(from, () => to);
  }, source);
}

/** The module of a variant, and its file's name. */
export async function buildVariant(
  variant: Variant,
  { file, exported }: Example,
): Promise<{ python: string; file: string }> {
  // Inside the project, so that the imports of the source resolve.
  const folder = mkdtempSync(join(import.meta.dirname, ".variant-"));
  try {
    const text = applyVariant(readFileSync(file, "utf8"), variant).replaceAll('from "./', 'from "../../examples/');
    const path = join(folder, basename(file));
    writeFileSync(path, text);
    const module = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
    const { python, file: name } = await build(module[exported]);
    return { python, file: name };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
