/** Determines which lanes of an access are performed: those that no mask turns off and whose address is valid. */
import type { AccessKind } from "../compiled/access.js";
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { falseInBounds, outOfBounds, uninitialized } from "../diagnostics/catalog/finding-codes.js";
import { broadcastTo, either, sizeOf, type TileArray } from "../numerics/array.js";
import { ones, zeros } from "../numerics/buffer-pool.js";
import type { Addresses } from "../values/runtime-values.js";
import type { Describe, Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";

export type Mask = TileArray | boolean | undefined;

export interface AccessLanes {
  readonly performed: Uint8Array;
  /** Lanes that an explicit mask turns off, except those that the view masks itself. */
  readonly masked?: Uint8Array | undefined;
  /** Lanes with a finding, which are not performed. */
  readonly refused?: Uint8Array | undefined;
}

export function lanesOf(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  kind: AccessKind,
  sanitizer: Sanitizer,
  at: Location | undefined,
): AccessLanes {
  const lanes = decided(tensor, address, mask, does[kind], sanitizer, at);
  sanitizer.recordAccess(kind, address, lanes, at);
  return lanes;
}

const does: Readonly<Record<AccessKind, "read" | "written">> = {
  load: "read",
  store: "written",
  atomic: "written",
  poll: "read",
};

function decided(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  does: "read" | "written",
  sanitizer: Sanitizer,
  at: Location | undefined,
): AccessLanes {
  const { shape, inside, broken, poison, offsets } = address;
  const size = sizeOf(shape);
  if (inside && mask === undefined && !broken && !poison) return { performed: inside };
  const performed = ones(size);
  if (inside) performed.set(inside);
  let refused: Uint8Array | undefined;
  const refuse = (code: FindingCode, wrong: Uint8Array, describe: Describe): void => {
    const marked = bothOn(wrong, performed);
    if (!marked) return;
    sanitizer.lanes(code, marked, shape, at, describe);
    refused = either(refused, marked);
    turnOff(performed, marked, 1);
  };

  const bits = mask === undefined ? undefined : maskLanes(mask, shape);
  if (bits?.poison) {
    refuse(uninitialized.code, bits.poison, () => uninitialized.mask(tensor.name, does));
  }
  const masked = bits && turnOff(performed, bits.on, 0);
  if (poison) {
    refuse(uninitialized.code, poison, () => uninitialized.address(tensor.name, does));
  }
  if (broken) refuse(falseInBounds.code, broken, (lane) => falseClaim(tensor, address, lane));
  if (!inside) {
    const beside = outside(tensor, offsets, performed);
    if (beside) refuse(outOfBounds.code, beside, (lane) => beyond(tensor, offsets[lane]!, does));
  }
  return { performed, masked, refused };
}

/** The performed lanes whose address is not that of an element. */
function outside(tensor: Tensor, offsets: Float64Array, performed: Uint8Array): Uint8Array | undefined {
  let marks: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++)
    if (performed[i] && !tensor.holds(offsets[i]!)) (marks ??= new Uint8Array(offsets.length))[i] = 1;
  return marks;
}

function maskLanes(
  mask: TileArray | boolean,
  shape: readonly number[],
): { on: Uint8Array; poison?: Uint8Array | undefined } {
  if (typeof mask === "boolean") return { on: mask ? ones(sizeOf(shape)) : zeros(Uint8Array, sizeOf(shape)) };
  const { data, poison } = broadcastTo(mask, shape);
  return { on: data as Uint8Array, poison };
}

/** Turns off the lanes that have this mark. Returns those that were on. */
function turnOff(performed: Uint8Array, marks: Uint8Array, mark: 0 | 1): Uint8Array | undefined {
  let turned: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++) {
    if (marks[i] !== mark || !performed[i]) continue;
    (turned ??= zeros(Uint8Array, performed.length))[i] = 1;
    performed[i] = 0;
  }
  return turned;
}

/** The lanes marked in both, or undefined if there are none. */
function bothOn(a: Uint8Array, b: Uint8Array): Uint8Array | undefined {
  let both: Uint8Array | undefined;
  for (let i = 0; i < a.length; i++) if (a[i] && b[i]) (both ??= zeros(Uint8Array, a.length))[i] = 1;
  return both;
}

function falseClaim(tensor: Tensor, { claims }: Addresses, lane: number): Message<FindingCode> {
  const axis = claims?.axis[lane] ?? 0;
  return falseInBounds(tensor.name, axis, claims?.index[lane], tensor.shape[axis]);
}

function beyond({ name, shape, strides }: Tensor, offset: number, does: "read" | "written"): Message<FindingCode> {
  return outOfBounds(name, offset, does, [`[${shape.join(", ")}]`, `[${strides.join(", ")}]`]);
}
