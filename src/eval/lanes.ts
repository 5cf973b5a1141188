/** Determines the performed lanes of an access: active lanes with a valid address. */
import type { AccessKind } from "../compiled/access.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { falseInBounds, outOfBounds, uninitialized } from "../diagnostics/catalog/finding-codes.js";
import { broadcastTo, either, sizeOf, type TileArray } from "../numerics/array.js";
import { ones, zeros } from "../numerics/buffer-pool.js";
import type { Addresses } from "../values/runtime-values.js";
import type { Describe, Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";
import type { AccessLanes } from "./access-record.js";

export type Mask = TileArray | boolean | undefined;

export function lanesOf(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  kind: AccessKind,
  sanitizer: Sanitizer,
  location: Location | undefined,
): AccessLanes {
  const lanes = resolveLanes(tensor, address, mask, accessVerbs[kind], sanitizer, location);
  sanitizer.recordAccess(kind, address, lanes, location);
  return lanes;
}

const accessVerbs: Readonly<Record<AccessKind, "read" | "written">> = {
  load: "read",
  store: "written",
  atomic: "written",
  poll: "read",
};

function resolveLanes(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  verb: "read" | "written",
  sanitizer: Sanitizer,
  location: Location | undefined,
): AccessLanes {
  const { shape, inBounds, broken, poison, offsets } = address;
  const size = sizeOf(shape);
  if (inBounds && mask === undefined && !broken && !poison) return { performed: inBounds };
  const performed = ones(size);
  if (inBounds) performed.set(inBounds);
  let rejected: Uint8Array | undefined;
  const reject = (code: FindingCode, invalid: Uint8Array, describe: Describe): void => {
    const rejectedLanes = intersect(invalid, performed);
    if (!rejectedLanes) return;
    sanitizer.reportLanes(code, rejectedLanes, shape, location, describe);
    rejected = either(rejected, rejectedLanes);
    turnOff(performed, rejectedLanes, 1);
  };

  const bits = mask === undefined ? undefined : maskLanes(mask, shape);
  if (bits?.poison) {
    reject(uninitialized.code, bits.poison, () => uninitialized.mask(tensor.name, verb));
  }
  const maskedLanes = bits && turnOff(performed, bits.on, 0);
  if (poison) {
    reject(uninitialized.code, poison, () => uninitialized.address(tensor.name, verb));
  }
  if (broken) reject(falseInBounds.code, broken, (lane) => falseClaim(tensor, address, lane));
  if (!inBounds) {
    const outOfBoundsLanes = lanesOutOfBounds(tensor, offsets, performed);
    if (outOfBoundsLanes)
      reject(outOfBounds.code, outOfBoundsLanes, (lane) => outOfBoundsMessage(tensor, offsets[lane]!, verb));
  }
  return { performed, maskedLanes, rejected };
}

/** The performed lanes whose address is not that of an element. */
function lanesOutOfBounds(tensor: Tensor, offsets: Float64Array, performed: Uint8Array): Uint8Array | undefined {
  let flags: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++)
    if (performed[i] && !tensor.hasElement(offsets[i]!)) (flags ??= new Uint8Array(offsets.length))[i] = 1;
  return flags;
}

function maskLanes(
  mask: TileArray | boolean,
  shape: readonly number[],
): { on: Uint8Array; poison?: Uint8Array | undefined } {
  if (typeof mask === "boolean") return { on: mask ? ones(sizeOf(shape)) : zeros(Uint8Array, sizeOf(shape)) };
  const { data, poison } = broadcastTo(mask, shape);
  return { on: data as Uint8Array, poison };
}

/** Turns off the lanes with this flag. Returns those that were active. */
function turnOff(performed: Uint8Array, flags: Uint8Array, flag: 0 | 1): Uint8Array | undefined {
  let disabled: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++) {
    if (flags[i] !== flag || !performed[i]) continue;
    (disabled ??= zeros(Uint8Array, performed.length))[i] = 1;
    performed[i] = 0;
  }
  return disabled;
}

/** The lanes set in both masks. Undefined if there are none. */
export function intersect(a: Uint8Array, b: Uint8Array): Uint8Array | undefined {
  let intersection: Uint8Array | undefined;
  for (let i = 0; i < a.length; i++) if (a[i] && b[i]) (intersection ??= zeros(Uint8Array, a.length))[i] = 1;
  return intersection;
}

function falseClaim(tensor: Tensor, { claims }: Addresses, lane: number): Message<FindingCode> {
  const axis = claims?.axis[lane] ?? 0;
  return falseInBounds(tensor.name, axis, claims?.index[lane], tensor.shape[axis]);
}

function outOfBoundsMessage(
  { name, shape, strides }: Tensor,
  offset: number,
  verb: "read" | "written",
): Message<FindingCode> {
  return outOfBounds(name, offset, verb, [`[${shape.join(", ")}]`, `[${strides.join(", ")}]`]);
}
