/** The bits of a float64, as two 32-bit words or as one integer. */

/** Scratch memory: the high word is at byte 0, the low word at byte 4. */
const scratch = new DataView(new ArrayBuffer(8));

export function highWordOf(x: number): number {
  scratch.setFloat64(0, x);
  return scratch.getInt32(0);
}

export function lowWordOf(x: number): number {
  scratch.setFloat64(0, x);
  return scratch.getInt32(4);
}

export function fromWords(high: number, low: number): number {
  scratch.setInt32(0, high);
  scratch.setInt32(4, low);
  return scratch.getFloat64(0);
}

/** The bits as a signed integer. */
export function float64Bits(x: number): bigint {
  scratch.setFloat64(0, x);
  return scratch.getBigInt64(0);
}

export function fromFloat64Bits(bits: bigint): number {
  scratch.setBigInt64(0, bits);
  return scratch.getFloat64(0);
}
