/** The package's declarations serve an author's project: examples compile against them, and so do their declarations. */
import { readdirSync, readFileSync, symlinkSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { inProjectFolder, root, tsc } from "../support/tsc.js";

sampledTests("declarations in a project", "src/dsl", "src/params");

const examples = readdirSync(join(root, "examples")).filter((file) => file.endsWith(".ts"));
/** What a caller does with a kernel. */
const uses = `import { NDArray, tl } from "tilescript";
import { cases, matchers } from "tilescript/testing";
import { gemm } from "./gemm.js";

const a = NDArray.randn([50, 50], tl.float16, 1);
export const evaluated: number[] = [...(await gemm.evaluate({ a, b: a }, { BLOCK_M: 32 })).outputs.c.shape];
export const findings: string[] = (await gemm.check({ a, b: a })).findings.map(({ message }) => message);
export const device: "cuda" | "hip" | "interpreter" | "eval" = (await gemm.run({ a, b: a })).device;
// @ts-expect-error: b is missing
await gemm.run({ a });
export const testing: unknown[] = [cases, matchers.toVerify];
`;
/** What an author may do with torch, and declare of it. */
const torch = `import type { Torch, TorchTensor } from "tilescript";

declare module "tilescript" {
  interface Torch {
    logcumsumexp(input: TorchTensor, dim: number): TorchTensor;
  }
  interface TorchTensor {
    trace(): TorchTensor;
  }
}
export function reference(torch: Torch, x: TorchTensor): TorchTensor {
  const [values] = torch.sort(x, { dim: 1 });
  const { indices } = x.max(1);
  const gated = torch.nn.functional.gelu(values!.add(indices), { approximate: "tanh" });
  // @ts-expect-error: a tensor
  const sum: number = torch.sum(x);
  // @ts-expect-error: an axis is a number
  x.sum("rows");
  // @ts-expect-error: gelu is a function of torch.nn.functional
  torch.gelu(x);
  return torch.logcumsumexp(gated.sum(1, { keepdim: true }).trace(), x.size(0).eq(1).choose(0, sum) as never);
}
`;
const sources = {
  ...Object.fromEntries(examples.map((file) => [file, readFileSync(join(root, "examples", file), "utf8")])),
  "uses.ts": uses,
  "torch.ts": torch,
};

test("declarations of kernels name nothing but tilescript", { timeout: 30_000 }, () => {
  // Without `paths`, `tilescript` is what the folder's node_modules hold: the package as it is published.
  const declarations = inProjectFolder(
    "declarations",
    sources,
    (folder) => {
      const installed = join(folder, "node_modules/tilescript");
      mkdirSync(installed, { recursive: true });
      symlinkSync(join(root, "package.json"), join(installed, "package.json"));
      const options = ["--emitDeclarationOnly", "--declaration", "--declarationMap", "false"];
      tsc(["-p", join(root, "tsconfig.build.json"), ...options, "--outDir", join(installed, "dist")]);
      expect(tsc(["-p", folder, "--pretty", "false"])).toBe("");
      return examples.map((file) => readFileSync(join(folder, "out", file.replace(/ts$/, "d.ts")), "utf8"));
    },
    { paths: {}, noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: "out", rootDir: "." },
  );
  const from = declarations.join("\n").matchAll(/(?:from |import\()"([^"]+)"/g);
  expect([...new Set(Array.from(from, ([, module]) => module))]).toEqual(["tilescript"]);
  expect(declarations.join("\n")).not.toMatch(/\bany\b/);
});
