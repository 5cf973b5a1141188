/** Every op. This list is both the author's `tl` and the table that checks, emission and documentation read. */
export * from "./arithmetic.js";
export { cast, to } from "./cast.js";
export * from "./compare.js";
export * from "./create.js";
export * from "./dot.js";
export { clamp, divRn, fdiv, fma, umulhi } from "./fused.js";
export * from "./integer.js";
export * from "./math.js";
export * from "./memory.js";
export * from "./reduce.js";
export * from "./reshape.js";
export { maximum, minimum, where } from "./select.js";
export * from "./shape.js";
