import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, op, scalar, tensor, tl } from "tilescript";
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
  expect(/^ {8}lambda_kernel\[[^]*?\n {8}\)/m.exec(text)![0]).toMatchInlineSnapshot(`
    "        lambda_kernel[(meta_1,)](
                *tensors.values(), device_1, l_, *_strides(tensors), import_=32
            )"
  `);
});

test("a name that the author wrote as Python has it should never belong to another parameter", async () => {
  const confused = kernel(
    "confused",
    {
      params: {
        camelCase: tensor(tl.float32, ["N"]),
        x: tensor(tl.float32, ["N"]),
        xPtr: scalar(tl.float32),
        x_ptr: scalar(tl.float32),
        camel_case: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
    },
    ({ camelCase, x, xPtr, x_ptr, camel_case, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const sum = tl
        .load(camelCase.at(i))
        .sub(tl.load(camel_case.at(i)))
        .add(tl.load(x.at(i)));
      tl.store(y.at(i), sum.mul(x_ptr).div(xPtr));
    },
  );
  const { python } = await build(confused);
  const signature = python.slice(python.indexOf("def confused("));
  const names = Array.from(signature.slice(0, signature.indexOf(")")).matchAll(/(\w+): /g), ([, name]) => name);
  expect(names).toEqual(["camel_case_1", "x", "camel_case", "x_ptr_1", "x_ptr", "out"]);
  expect(python).toContain("tl.load(x_ptr_2 + ");
});

test("a kernel with the name of an operator's gradient keeps its own function", async () => {
  const x = tensor(tl.float32, ["N"]);
  const named = (name: string) =>
    kernel(name, { params: { x, y: tensor.out(tl.float32, ["N"]) }, grid: ({ N }) => [N] }, ({ x: values, y }) => {
      const i = tl.inBounds(tl.programId(0));
      tl.store(y.at(i), tl.load(values.at(i)).mul(2));
    });
  const [forward, backward, context] = [named("twice"), named("twice_backward"), named("twice_setup_context")];
  const twice = op(
    "twice",
    { params: { x, y: tensor.out(tl.float32, ["N"]) }, reference: ({ x: values }) => values.mul(2) },
    ({ x: values }) => forward.call({ x: context.call({ x: values }).y.div(2) }),
    (_, { y: dy }) => ({ x: backward.call({ x: dy }).y }),
  );
  const { python } = await build(twice);
  const functions = Array.from(python.matchAll(/^def (\w{2,})\(/gm), ([, name]) => name!);
  expect(functions.filter((name, i) => functions.indexOf(name) !== i)).toEqual([]);
  expect(functions).toContain("_twice_backward_1");
});
