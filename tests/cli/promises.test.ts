/** `emit --checked`: wrappers that compare tensors with what their params promise, as `run` and `verify` have them. */
import { execa } from "execa";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { build, constexpr, kernel, op, scalar, tensor, tl } from "tilescript";
import { cli, expectUsageError, interpreter } from "../support/cli.js";
import { requirePython } from "../support/python.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-promises-"));
afterAll(() => rmSync(folder, { recursive: true }));

const device = interpreter();

const gather = (inputs: object = {}) =>
  kernel(
    "gather",
    {
      doc: "Gathers elements.",
      params: {
        ids: tensor(tl.int32, ["M"], { range: [0, "N"] }),
        weights: tensor(tl.float32, ["M"], { range: [0, 1] }).optional(),
        ends: tensor(tl.int64, ["R"], { partition: { ends: "N" } }),
        x: tensor(tl.float32, ["N"]),
        shift: scalar(tl.int32, { range: [0, 5] }),
        most: tensor(tl.int32, ["M"], { range: ({ shift }) => [shift, shift.add(10)] }),
        y: tensor.out(tl.float32, ["M"]),
        BLOCK: constexpr(),
      },
      grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],
      config: { BLOCK: 16 },
      reference: ({ ids, x }, torch) => torch.gather(x, 0, ids.to(tl.int64)),
      ...inputs,
    },
    ({ ids, weights, ends, x, most, y, N, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const values = tl.load(x.at(tl.inBounds(tl.load(ids.at(i), { other: 0 }))));
      const last = tl
        .load(ends.at(0))
        .to(tl.int32)
        .add(tl.load(most.at(i), { other: 0 }));
      const kept = tl.where(last.ge(0).or(N.ge(0)), values, 0);
      const scale = tl.mut(tl.full([BLOCK], 1, tl.float32));
      tl.when(weights.given, () => {
        scale.value = tl.minimum(scale.value, tl.load(weights.at(i), { other: 1 }).mul(0).add(1));
      });
      tl.store(y.at(i), kept.mul(scale.value));
    },
  );

const CALLS = `
import itertools, torch
import MODULE as module

good = dict(ids=[0, 3], weights=[0.0, 1.0], ends=[2, 4], most=[1, 10])
dtypes = dict(ids=torch.int32, weights=torch.float32, ends=torch.int64, most=torch.int32)

def call(**changes):
    values = good | changes
    tensors = {k: v if v is None else torch.tensor(v, dtype=dtypes[k]) for k, v in values.items()}
    try:
        print(CALL(x=torch.arange(4.0), shift=1, **tensors).tolist())
    except ValueError as error:
        print(error)

call()
call(weights=None)
call(ids=[0, 4])
call(ids=[-1, 0])
call(weights=[0.5, 1.5])
call(ends=[3, 2])
call(ends=[2, 3])
call(most=[0, 5])
call(most=[11, 5])
`;

async function called(module: string, python: string, call: string): Promise<readonly string[]> {
  writeFileSync(join(folder, `${module}.py`), python);
  const script = CALLS.replace("MODULE", module).replace("CALL", call);
  const env = { TRITON_INTERPRET: "1", PYTHONPATH: folder };
  return (await execa(await requirePython(), ["-c", script], { env })).stdout.split("\n");
}

const REFUSALS = [
  "[0.0, 3.0]",
  "[0.0, 3.0]",
  "gather: ids must hold numbers in [0, 4), got 4 at [1]",
  "gather: ids must hold numbers in [0, 4), got -1 at [0]",
  "gather: weights must hold numbers in [0, 1], got 1.5 at [1]",
  "gather: ends must rise to 4, got 2 after 3 at [1]",
  "gather: ends must rise to 4, got 3 last",
  "gather: most must hold numbers in [1, 11), got 0 at [0]",
  "gather: most must hold numbers in [1, 11), got 11 at [0]",
];

test("a checked module names the argument, what it must hold and what it holds", async () => {
  const built = await build(gather());
  const { python } = built.emit({ checked: true });
  expect(await called("checked_gather", python, "module.gather")).toEqual(REFUSALS);
  expect(built.python).not.toMatch(/_check_range|_check_partition/);
});

test.each(["custom_op", "triton_op"] as const)("so does a module with a registered operator: %s", async (form) => {
  const namespace = `promises_${form}`;
  const { python } = (await build(gather())).emit({ checked: true, op: { namespace, form } });
  expect(await called(`${form}_gather`, python, "module.gather")).toEqual(REFUSALS);
});

test("so does an operator", async () => {
  const picked = kernel(
    "pick",
    {
      doc: "Gathers elements.",
      params: {
        ids: tensor(tl.int32, ["M"], { range: [0, "N"] }),
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["M"]),
      },
      grid: ({ M }) => [M],
    },
    ({ ids, x, y }) => {
      const row = tl.inBounds(tl.programId(0));
      tl.store(y.at(row), tl.load(x.at(tl.inBounds(tl.load(ids.at(row))))));
    },
  );
  const picking = op(
    "picking",
    {
      doc: "Gathers elements.",
      params: {
        ids: tensor(tl.int32, ["M"], { range: [0, "N"] }),
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["M"]),
      },
      reference: ({ ids, x }, torch) => torch.gather(x, 0, ids.to(tl.int64)),
    },
    ({ ids, x }) => picked.call({ ids, x }),
  );
  const { python } = (await build(picking)).emit({ checked: true });
  const call = "(lambda ids, x, **_: module.picking(ids, x))";
  const results = await called("checked_picking", python, call);
  expect(results.slice(0, 4)).toEqual([
    REFUSALS[0],
    REFUSALS[1],
    "pick: ids must hold numbers in [0, 4), got 4 at [1]",
    "pick: ids must hold numbers in [0, 4), got -1 at [0]",
  ]);
});

test("the flag emits it, and excludes a launch cache, which goes past the checks", async () => {
  const built = await build(gather());
  const checked = await cli(built, "--emit", "--checked");
  expect(checked.out).toBe(built.emit({ checked: true }).python);
  expectUsageError(await cli(built, "--emit", "--checked", "--launch", "fast"), /--checked: a launch cache/);
  expect(built.emit({ checked: true, launch: "fast" }).python).not.toContain("# Launch cache");
});

test("what run and verify execute has the checks: inputs that break a promise do not reach the kernel", async () => {
  const described = gather({
    inputs: ({ M, N }: any, torch: any) => ({ ids: torch.randint(N, N.add(1), [M]).to(tl.int32) }),
  });
  const testCase = { sizes: { M: 5, N: 8, R: 2 }, scalars: { shift: 1 }, dtypes: {}, config: 0, seed: 1 };
  const outcome = await verifyCase(await build(described), device(), testCase);
  expect(outcome).toMatchObject({
    status: "failed",
    failure: { message: expect.stringContaining("gather: ids must hold numbers in [0, 8), got 8 at [0]") },
  });
  const right = await verifyCase(await build(gather()), device(), testCase);
  expect(right.status).toBe("passed");
});
