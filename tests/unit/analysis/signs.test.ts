/** Which indices a view masks below: those that may be negative by what computes them. */
import { describe, expect, test } from "vitest";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";

const M = tensor(tl.float32, ["M"]);
const y = tensor.out(tl.float32, ["M"]);

/** A kernel that reads `x` at an index, and whether the emitted mask compares that with 0. */
const isBoundBelow = (spec: object, index: (args: any) => any): boolean => {
  const params = { x: M, y, ...(spec as { params?: object }).params };
  const made = kernel(
    "indexed",
    { grid: () => [1], ...spec, params } as never,
    ((args: any) => {
      tl.store(args.y.at(tl.programId(0)), tl.load(args.x.at(index(args))));
    }) as never,
  );
  const { python } = compile(made);
  // The wrapper, which follows, checks signs of its own.
  return python.slice(python.indexOf("@triton.jit"), python.indexOf("def indexed(")).includes(">= 0");
};

const int8 = (args: any) => tl.load(args.ids.at(tl.programId(0)));
const ids = (dtype: any, options: object = { range: [0, "M"] }) => tensor(dtype, ["M"], options);

describe("an index without a lower bound", () => {
  test.each<[string, object, (args: any) => any]>([
    ["a size", {}, ({ M }) => M],
    ["a bigint literal", {}, () => tl.full([], 3n as never, tl.int64)],
    ["a launch constexpr of sizes", { params: { C: launched(({ M }) => tl.cdiv(M, 2)) } }, ({ C }) => C],
    ["a launch constexpr of one", { params: chained((C) => C.add(1)) }, ({ D }) => D],
    ["a constexpr of every config", configs(0, 4), ({ C }) => C],
    ["a heuristic of the config", { ...configs(2, 4), ...heuristic(({ C }: any) => C.mul(2)) }, ({ H }) => H],
    ["a derived size of a tensor that is there", derived(false), ({ P }) => P],
    ["a quotient of sizes on the host", { params: { C: launched(({ M }) => M.floorDiv(M)) } }, ({ C }) => C],
    ["a promised input, widened", { params: { ids: ids(tl.uint8) } }, (args) => int8(args).to(tl.int32)],
    ["a loop that counts up", {}, () => looped(0, 4, 1)],
    ["a loop that counts down to 0", {}, () => looped(4, -1, -1)],
    ["what is left of a loop", {}, ({ M }) => within([0, M, 2], (i) => M.sub(1).sub(i))],
    ["what is left of a loop to a sum", {}, ({ M }) => within([0, M.add(4), 1], (i) => M.sub(i).add(3))],
    ["programs in the other order", {}, () => tl.numPrograms(0).sub(1).sub(tl.programId(0)).mul(4)],
    ["a loop from a program id to a size, by what the caller passes", stepped(), striding],
    ["a loop by a number that is required", number(({ s }) => [s.ge(1)]), ({ M, s }) => looped(0, M, s)],
    [
      "a loop by a launch constexpr",
      { params: { C: launched(({ M }) => tl.cdiv(M, 4)) } },
      ({ M, C }) => looped(0, M, C),
    ],
    ["a number that is required", number(({ s, M }) => [s.lt(M), s.gt(-1)]), ({ s }) => s],
    ["a number that is required to equal one", number(({ s }) => [s.eq(3)]), ({ s }) => s.mul(2)],
    ["the end of a size that is required", { requires: ({ M }: any) => [M.ge(1)] }, ({ M }) => M.sub(1)],
    ["the difference of what is required in order", number(({ s, M }) => [s.le(M)]), ({ s, M }) => M.sub(s)],
    [
      "a helper that gets what is not negative",
      {},
      () =>
        tl
          .fn((i: any) => i)(tl.programId(0))
          .to(tl.int32)
          .and(7),
    ],
    ["a clamp between such", {}, ({ M }) => tl.clamp(tl.programId(0).sub(1), 0, M)],
  ])("%s", (_, spec, index) => expect(isBoundBelow(spec, index)).toBe(false));
});

describe("an index with a lower bound", () => {
  test.each<[string, object, (args: any) => any]>([
    ["a launch constexpr that may be below 0", { params: { C: launched(({ M }) => M.sub(1000)) } }, ({ C }) => C],
    ["a launch constexpr of one", { params: chained((C) => C.sub(1)) }, ({ D }) => D],
    ["a launch constexpr of a scalar", { params: { s: scalar(tl.int32), C: launched(({ s }) => s) } }, ({ C }) => C],
    ["a remainder by what may be negative, in Python", { params: { C: launched(({ M }) => M.mod(-3)) } }, ({ C }) => C],
    ["a quotient by such", { params: { C: launched(({ M }) => M.floorDiv(-3)) } }, ({ C }) => C],
    ["a constexpr of the caller", { params: { C: constexpr.int() } }, ({ C }) => C],
    ["a constexpr that one config makes negative", configs(4, -4), ({ C }) => tl.programId(0).add(C)],
    ["a heuristic below the config", { ...configs(2, 4), ...heuristic(({ C }: any) => C.sub(3)) }, ({ H }) => H],
    ["a derived size of a tensor that may be absent", derived(true), ({ P }) => P],
    ["what a kernel updates itself", { params: { ids: tensor.inout(tl.int32, ["M"], { range: [0, "M"] }) } }, int8],
    ["a promised input, narrowed", { params: { ids: ids(tl.int64) } }, (args) => int8(args).to(tl.int32)],
    ["a promised input, read with a sign", { params: { ids: ids(tl.uint32) } }, (args) => int8(args).to(tl.int32)],
    ["a loop from a program id by a number", number(() => []), ({ M, s }) => looped(tl.programId(0), M, s)],
    ["a loop from below by what the caller passes", stepped(), ({ M, C }) => looped(-1, M, C)],
    ["a loop to below by what the caller passes", stepped(), ({ M, C }) => looped(4, M.sub(9), C)],
    ["a number that is required elsewhere", number(({ M }) => [M.ge(0)]), ({ s }) => s],
    ["a number that is required to be no more", number(({ s }) => [s.le(0)]), ({ s }) => s],
    ["a number that is required to be more than below 0", number(({ s }) => [s.ge(-1)]), ({ s }) => s],
    ["a number under one of two conditions", number(({ s, M }) => [s.ge(0).or(M.ge(9))]), ({ s }) => s],
    ["a number that is only assumed", number(() => []), ({ s }) => (tl.assume(s.ge(0)), s)],
    ["the end of a size that may be 0", { requires: ({ M }: any) => [M.ge(0)] }, ({ M }) => M.sub(1)],
    ["the difference of what is required in the other order", number(({ s, M }) => [s.ge(M)]), ({ s, M }) => M.sub(s)],
    ["a loop that counts up from below", {}, () => looped(-1, 4, 1)],
    ["a loop that counts down below 0", {}, () => looped(4, -2, -1)],
    ["a loop with a step that may be negative", {}, ({ M }) => looped(4, M, M.sub(2))],
    ["less than what is left of a loop", {}, ({ M }) => within([0, M, 1], (i) => M.sub(2).sub(i))],
    ["what is left of a loop that goes further", {}, ({ M }) => within([0, M.add(1), 1], (i) => M.sub(1).sub(i))],
    ["what is left of a loop downwards", {}, ({ M }) => within([M.add(4), M, -1], (i) => M.sub(1).sub(i))],
    ["less than what is left of the programs", {}, () => tl.numPrograms(0).sub(2).sub(tl.programId(0))],
    ["programs of one axis less those of another", {}, () => tl.numPrograms(0).sub(1).sub(tl.programId(1))],
    ["a loop's index without its end", {}, ({ M }) => within([0, M, 1], (i) => i.sub(M))],
    ["state that a loop lowers", {}, () => lowered()],
    ["a helper that once gets a negative", {}, ({ y }) => called(y, tl.programId(0), tl.programId(0).sub(1))],
    ["a clamp to an end that may be negative", {}, ({ M }) => tl.clamp(tl.programId(0), 0, M.sub(1))],
  ])("%s", (_, spec, index) => expect(isBoundBelow(spec, index)).toBe(true));
});

function launched(compute: (given: any) => any): unknown {
  return constexpr.launch(compute as never);
}

/** A step that nothing decides before the launch, but Triton knows it when it compiles. */
function stepped(): object {
  return { params: { C: constexpr.int() } };
}

const striding = ({ M, C }: any) => looped(tl.programId(0), M, C);

function number(requires: (given: any) => readonly unknown[]): object {
  return { params: { s: scalar(tl.int32) }, requires };
}

function chained(next: (C: any) => any): object {
  return { C: launched(({ M }) => M), D: launched(({ C }) => next(C)) };
}

function configs(...values: readonly number[]): object {
  return {
    params: { C: constexpr() },
    autotune: { key: ["M"], configs: values.map((C) => ({ C })) },
  };
}

function heuristic(compute: (given: any) => any): object {
  return { params: { C: constexpr(), H: constexpr() }, heuristics: { H: compute } };
}

function derived(optional: boolean): object {
  const p = tensor(tl.float32, ["P"]);
  return { params: { p: optional ? p.optional() : p }, dims: { P: ({ M }: any) => M.sub(1) } };
}

function looped(start: any, end: any, step: any): any {
  const last = tl.mut(tl.full([], 0, tl.int32));
  for (const i of tl.range(start, end, step)) last.value = i;
  return last.value;
}

/** What a loop computes of its index. */
function within([start, end, step]: readonly any[], index: (i: any) => any): any {
  const last = tl.mut(tl.full([], 0, tl.int32));
  for (const i of tl.range(start, end, step)) last.value = index(i);
  return last.value;
}

function lowered(): any {
  const state = tl.mut(tl.full([], 4, tl.int32));
  for (const _ of tl.range(0, 8)) state.value = state.value.sub(1);
  return state.value;
}

/** Stores at both through one helper function. */
function called(y: any, ...indices: readonly any[]): any {
  const clear = tl.fn((i: any) => tl.store(y.at(i), 0.5));
  for (const index of indices) clear(index);
  return 0;
}
