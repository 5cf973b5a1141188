import { expect, test } from "vitest";
import { arange, reshape } from "../../../src/numerics/array.js";
import { buffersOf } from "../../../src/values/runtime-values.js";
import {
  mark,
  pooled,
  release,
  unpooled,
  allocateUninitialized,
  zeros,
  allocate,
} from "../../../src/numerics/buffer-pool.js";

const LENGTH = 100;

test("a buffer is used again when its scope ends, and holds zeros where zeros are asked for", () => {
  pooled(() => {
    const start = mark();
    const first = allocateUninitialized(Float32Array, LENGTH).fill(7);
    expect(allocateUninitialized(Float32Array, LENGTH)).not.toBe(first);
    release(start);
    const again = [allocateUninitialized(Float32Array, LENGTH), allocateUninitialized(Float32Array, LENGTH)];
    expect(again).toContain(first);
    again.forEach((array) => array.fill(7));
    release(start);
    expect(zeros(Float32Array, LENGTH)).toEqual(new Float32Array(LENGTH));
    expect(allocate("float32", LENGTH)).toEqual(new Float32Array(LENGTH));
  });
});

test("what lives on keeps its elements, whatever it shares them with", () => {
  pooled(() => {
    const start = mark();
    const tile = arange(0, 64);
    release(start, buffersOf([[reshape(tile, [8, 8])]]));
    for (let i = 0; i < 4; i++) allocateUninitialized(Int32Array, 64).fill(-1);
    expect(tile).toEqual(arange(0, 64));
    // It belongs to the scope around, whose end it does not outlive.
    release(start);
    const next = Array.from({ length: 6 }, () => allocateUninitialized(Int32Array, 64));
    expect(next).toContain(tile.data);
  });
});

test("outside of scopes, and where nothing belongs to one, arrays are new", () => {
  const free = allocateUninitialized(Float64Array, LENGTH);
  pooled(() => {
    const own = unpooled(() => allocateUninitialized(Float64Array, LENGTH).fill(3));
    release(0);
    expect(allocateUninitialized(Float64Array, LENGTH)).not.toBe(own);
    expect(allocateUninitialized(Float64Array, LENGTH)).not.toBe(free);
    expect(own).toEqual(new Float64Array(LENGTH).fill(3));
  });
});
