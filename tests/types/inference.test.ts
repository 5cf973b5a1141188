/** `inference.ts` says which types come out; here, how an editor writes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Project, SyntaxKind } from "ts-morph";
import { describe, expect, test } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { typeErrors, root } from "../support/tsc.js";

sampledTests("types in an editor", "src/dsl", "src/types", "src/rules");

describe("types that come out", () => {
  const text = readFileSync(join(import.meta.dirname, "inference.ts"), "utf8");

  test("are exactly those written down", () => {
    expect(typeErrors("inference", { "inference.ts": text })).toEqual([]);
  });

  test("are compared exactly", () => {
    const wrong = text.replace(
      'same<typeof rm, Tile<"int32", ["BLOCK_M"]>>()',
      'same<typeof rm, Tile<"int32", [any]>>()',
    );
    expect(typeErrors("inference-control", { "inference.ts": wrong }).map(({ code }) => code)).toEqual(["TS2554"]);
  });
});

describe("hovering over the matrix product", () => {
  const project = new Project({ tsConfigFilePath: join(root, "tsconfig.json"), skipAddingFilesFromTsConfig: true });
  const source = project.addSourceFileAtPath(join(root, "examples/gemm.ts"));
  const service = project.getLanguageService().compilerObject;

  /** The text over the first declaration of `name`. */
  function hover(name: string): string {
    const declaration = source.getDescendantsOfKind(SyntaxKind.Identifier).find((node) => {
      const parent = node.getParentOrThrow().getKind();
      return (
        node.getText() === name && (parent === SyntaxKind.VariableDeclaration || parent === SyntaxKind.BindingElement)
      );
    })!;
    const info = service.getQuickInfoAtPosition(source.getFilePath(), declaration.getStart());
    return (info?.displayParts ?? []).map(({ text }) => text).join("");
  }

  test.each([
    ["T", 'const T: DType<OneOf<"T", ["float16", "bfloat16"]>>'],
    ["numPidM", 'const numPidM: Tile<"int32", []>'],
    ["rm", 'const rm: Tile<"int32", ["BLOCK_M"]>'],
    ["x", 'const x: Tile<OneOf<"T", ["float16", "bfloat16"]>, ["BLOCK_M", "BLOCK_K"]>'],
    ["acc", 'const acc: Mut<"float32", ["BLOCK_M", "BLOCK_N"]>'],
    ["k", 'const k: Scalar<"int32">'],
  ])("%s", (name, text) => {
    expect(hover(name)).toBe(text);
  });
});

describe("hovering over torch's functions", () => {
  const project = new Project({ tsConfigFilePath: join(root, "tsconfig.json"), skipAddingFilesFromTsConfig: true });
  const source = project.createSourceFile(
    join(root, "examples/hover.ts"),
    `import type { Torch, TorchTensor } from "tilescript";
export const f = (torch: Torch, x: TorchTensor) => [torch.sum(x, 1), x.amax(0), torch.nn.functional.glu(x), x.sort(0)];
`,
  );
  const service = project.getLanguageService().compilerObject;

  test.each([
    ["sum", "sum: (input: TorchTensor, dim?: TorchAxis", "The sum over the given axes. The default is all axes."],
    ["amax", "amax: (dim?: TorchAxis", "The maximum. NaN if any element is NaN."],
    [
      "glu",
      "glu: (input: TorchTensor, dim?: number",
      "The first half of an axis, multiplied by the sigmoid of the second half.",
    ],
    ["sort", "sort: (dim?: number", "The sorted elements along an axis"],
  ])("%s", (name, type, comment) => {
    const info = service.getQuickInfoAtPosition(source.getFilePath(), source.getFullText().indexOf(`.${name}(`) + 1)!;
    expect(info.displayParts!.map(({ text }) => text).join("")).toContain(type);
    expect(info.documentation!.map(({ text }) => text).join("")).toContain(comment);
  });
});
