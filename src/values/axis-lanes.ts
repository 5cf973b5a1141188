/** Lanes of an access, axis by axis, for views and for descriptor blocks. */
import type { Spread } from "../numerics/array.js";
import type { NumberData } from "../numerics/numeric.js";
import { allocateUninitialized } from "../numerics/buffer-pool.js";

/** The positions of lanes along one axis of a tensor. */
export interface AxisLanes {
  readonly positions: NumberData;
  /** The lanes of each position. */
  readonly along: Spread;
  /** The tensor's stride along this axis, in elements. */
  readonly stride: number;
}

/** An axis of a tensor, and the positions of lanes along it. */
export interface TensorAxis extends AxisLanes {
  readonly axis: number;
}

/** Writes the position of each lane along an axis. */
export function stepsAlong(target: Float64Array, { positions, along }: AxisLanes): void {
  setSteps(target, { positions, along, stride: 1 }, 0);
}

/** `start + Σ position * stride` of every lane. */
export function offsetsOf(axes: readonly AxisLanes[], size: number, start = 0): Float64Array {
  const offsets = allocateUninitialized(Float64Array, size);
  let constant = start;
  for (const { along, positions, stride } of axes)
    if (along.count === 1) for (const position of positions) constant += position * stride;
  let isFirst = true;
  for (const axis of axes) {
    if (axis.along.count === 1) continue;
    if (isFirst) setSteps(offsets, axis, constant);
    else addSteps(offsets, axis);
    isFirst = false;
  }
  return isFirst ? offsets.fill(constant) : offsets;
}

function setSteps(offsets: Float64Array, { positions, stride, along }: AxisLanes, start: number): void {
  const { outer, count, inner } = along;
  for (let j = 0, lane = 0; j < count; j++) {
    const offset = start + positions[j]! * stride;
    for (const end = lane + inner; lane < end; lane++) offsets[lane] = offset;
  }
  const row = count * inner;
  for (let filled = row; filled < outer * row; filled *= 2) offsets.copyWithin(filled, 0, filled);
}

function addSteps(offsets: Float64Array, { positions, stride, along }: AxisLanes): void {
  const { outer, count, inner } = along;
  for (let repeat = 0, lane = 0; repeat < outer; repeat++)
    if (inner === 1) for (let j = 0; j < count; j++, lane++) offsets[lane] = offsets[lane]! + positions[j]! * stride;
    else
      for (let j = 0; j < count; j++) {
        const step = positions[j]! * stride;
        for (const end = lane + inner; lane < end; lane++) offsets[lane] = offsets[lane]! + step;
      }
}

/** Flags the positions outside `[0, limit)`, except unknown positions. Undefined if there are none. */
export function outOfBoundsLanes(positions: NumberData, limit: number, unknown?: Uint8Array): Uint8Array | undefined {
  let flags: Uint8Array | undefined;
  for (let i = 0; i < positions.length; i++) {
    const position = positions[i]!;
    if (!(position >= 0 && position < limit) && !unknown?.[i]) (flags ??= new Uint8Array(positions.length))[i] = 1;
  }
  return flags;
}

/** Turns off the lanes whose position is flagged. */
export function maskLanes(lanes: Uint8Array, flags: Uint8Array, { outer, count, inner }: Spread): void {
  for (let repeat = 0, lane = 0; repeat < outer; repeat++)
    if (inner === 1) {
      for (let j = 0; j < count; j++, lane++) if (flags[j]) lanes[lane] = 0;
    } else for (let j = 0; j < count; j++, lane += inner) if (flags[j]) lanes.fill(0, lane, lane + inner);
}
