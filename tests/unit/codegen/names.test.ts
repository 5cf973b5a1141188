import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { isUsable, Names, snakeCase } from "../../../src/codegen/names/names.js";
import { emit } from "../../support/emit.js";

describe("snakeCase", () => {
  test.each([
    ["numPidInGroup", "num_pid_in_group"],
    ["BLOCK_M", "BLOCK_M"],
    ["HTMLParser2D", "html_parser2_d"],
    ["$index", "_index"],
    ["2d", "_2d"],
    ["été", "ete"],
    ["π", "value"],
    ["_", "_"],
    ["a b'; import os #", "a_b_import_os_"],
  ])("should write %s as %s", (author, python) => {
    expect(snakeCase(author)).toBe(python);
  });
});

describe("Names", () => {
  test("should give each value of a block a name of its own that Python takes", () => {
    const names = new Names();
    const taken = ["x", "x", "lambda", "lambda", "X", "x_1", "match", "l", "tl"].map((name) => names.take(name));
    expect(taken).toEqual(["x", "x_1", "lambda_", "lambda_1", "X", "x_1_1", "match_", "l_", "tl_"]);
    expect(taken.every(isUsable)).toBe(true);
  });

  test("should forget the names of a loop", () => {
    const names = new Names();
    expect(names.block(false, () => names.take("x", "int32"))).toBe("x");
    expect(names.take("x", "float32")).toBe("x");
    expect(names.block(false, () => names.take("x", "float32"))).toBe("x_1");
  });

  test("should give a branch's names to values of the same type only", () => {
    const names = new Names();
    names.block(true, () => names.block(true, () => names.take("x", "int32")));
    expect(names.block(true, () => names.take("x", "float32"))).toBe("x_1");
    expect(names.block(false, () => names.take("x", "int32"))).toBe("x");
    expect(names.take("x")).toBe("x_2");
  });
});

test("no parameter should take a name that its module needs", () => {
  const hostile = kernel(
    "lambda",
    {
      params: {
        torch: tensor(tl.float32, ["meta", "device"]),
        out: tensor(tl.float32, ["meta", "device"]),
        get_inputs: tensor.out(tl.float32, ["meta", "device"]),
        stride_torch_0: tensor(tl.float32, ["l"]),
        import: constexpr(),
      },
      grid: ({ meta }) => [meta],
      config: { import: 32 },
    },
    ({ torch, out, get_inputs, stride_torch_0, import: size }) => {
      const row = tl.inBounds(tl.programId(0));
      const cols = tl.arange(0, size);
      const sum = tl.load(torch.at(row, cols)).add(tl.load(out.at(row, cols)));
      tl.store(get_inputs.at(row, cols), sum.add(tl.load(stride_torch_0.at(cols))));
    },
  );
  const { text } = emit(hostile);
  expect(/^def lambda_\([^]*?\)/m.exec(text)![0]).toMatchInlineSnapshot(`
    "def lambda_(
        torch_: torch.Tensor,
        out_1: torch.Tensor,
        stride_torch_0: torch.Tensor,
        *,
        out: torch.Tensor | None = None,
    )"
  `);
  expect(/^ {4}_launch\([^]*?\n {4}\)/m.exec(text)![0]).toMatchInlineSnapshot(`
    "    _launch(
            lambda_kernel,
            (meta_1,),
            (torch_, out_1, get_inputs_1, stride_torch_0),
            (
                device_1,
                l_,
                stride_torch_meta,
                stride_torch_device,
                stride_out_meta,
                stride_out_device,
                stride_get_inputs_meta,
                stride_get_inputs_device,
                stride_stride_torch_0_l,
            ),
            device,
            meta_1,
            import_=32,
        )"
  `);
});
