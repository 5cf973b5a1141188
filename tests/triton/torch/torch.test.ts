/** Each function that references may call, against PyTorch itself: one recorded expression, emitted and evaluated. */
import { beforeAll, describe, expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { evaluateReference } from "../../../src/torch/evaluate-torch.js";
import { torchFunctions } from "../../../src/torch/functions.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import type { TorchNode } from "../../../src/torch/node.js";
import type { Torch } from "../../../src/torch/types.js";
import { runScript, requirePython } from "../../support/python.js";
import { type Author, cases, inputs, type Inputs } from "./torch-cases.js";

const kernelOf = (reference: Author) =>
  kernel(
    "k",
    {
      params: {
        x: tensor(tl.float64, [3, 4]),
        y: tensor(tl.float64, [3, 4]),
        v: tensor(tl.float64, [4]),
        c: tensor(tl.float64, [2, 4, 6]),
        i: tensor(tl.int64, [3, 4]),
        t: tensor(tl.int64, [3]),
        out: tensor.out(tl.float64, [4]),
      },
      grid: () => [1],
      reference: (given, torch) => reference(given as unknown as Inputs, torch as Torch),
    },
    ({ v, out }) => tl.store(out.at(tl.arange(0, 4)), tl.load(v.at(tl.arange(0, 4)))),
  );

interface Given {
  readonly shape?: readonly number[];
  readonly data?: readonly string[];
  readonly error?: string;
}

/** Python's words for what is not a number. */
const numberOf = (text: string): number =>
  text.endsWith("inf") ? Number(text.replace("inf", "Infinity")) : Number(text);

describe("references as PyTorch computes them", { timeout: 120_000 }, () => {
  let given: Readonly<Record<string, Given>>;
  beforeAll(async () => {
    const wire = Object.values(inputs).map(({ dtype, shape, data }) => ({
      dtype,
      shape,
      data: Array.from(data, String),
    }));
    const lines: object[] = [];
    for (const [id, author] of Object.entries(cases))
      lines.push({ id, module: compile(kernelOf(author)).python, inputs: wire });
    given = await runScript(await requirePython(), new URL("../ops/reference_cases.py", import.meta.url), lines);
  }, 120_000);

  test.each(Object.keys(cases))("%s", (id) => {
    const reference = trace(definitionOf(kernelOf(cases[id]!))).reference;
    if (reference?.kind !== "recorded") throw new Error("not recorded");
    const [result] = evaluateReference(reference.outputs, inputs);
    const { error, shape, data } = given[id]!;
    expect(error).toBeUndefined();
    expect(result!.shape).toEqual(shape);
    data!.forEach((text, i) => {
      const [is, due] = [result!.data[i]!, numberOf(text)];
      if (!Object.is(is, due)) expect(Math.abs(is - due)).toBeLessThanOrEqual(1e-13 + 1e-12 * Math.abs(due));
    });
  });

  test("every function that draws no random numbers is among the cases", () => {
    const used = new Set<string>();
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) node.forEach(visit);
      if (typeof node !== "object" || node === null || !("kind" in node)) return;
      const each = node as TorchNode;
      if (each.kind === "call" || each.kind === "method") used.add(each.name.replace("nn.functional.", ""));
      Object.values(each).forEach(visit);
    };
    for (const author of Object.values(cases)) visit((trace(definitionOf(kernelOf(author))).reference as any).outputs);
    expect(Object.keys(torchFunctions).filter((name) => !used.has(name) && !name.startsWith("rand"))).toEqual([]);
  });
});
