/** Shared memory limits of a warp-specialized kernel. */
import { dtypeTable, type Elem, members } from "../../../types/dtype.js";

/** Bytes available to a program on an H100 or H200, minus space for barriers and alignment. */
export const SHARED_BYTES = 232_448 - 2048;
/** Bytes available to each of two programs on a multiprocessor, likewise. The GPU reserves 1 KiB for each. */
export const HALF_SHARED_BYTES = 233_472 / 2 - 1024 - 512;

/** Bytes of an element. For a dtype variable, those of the widest member. */
export const bytesOf = (dtype: Elem): number => Math.max(...members(dtype).map((name) => dtypeTable[name].bits / 8));
