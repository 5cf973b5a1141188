/** How much shared memory a warp-specialized kernel may take. */
import { dtypeTable, type Elem, members } from "../../../types/dtype.js";

/** Bytes that a program may have on an H100 or H200, less what barriers and alignment take. */
export const SHARED_BYTES = 232_448 - 2048;
/** Bytes of one of two programs on a multiprocessor, likewise; the GPU keeps 1 KiB for each. */
export const HALF_SHARED_BYTES = 233_472 / 2 - 1024 - 512;

/** Bytes of an element: of the widest member of a dtype variable. */
export const bytesOf = (dtype: Elem): number => Math.max(...members(dtype).map((name) => dtypeTable[name].bits / 8));
