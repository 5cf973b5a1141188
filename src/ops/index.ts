/** Every op. This list is both the author's `tl` and the table that checks, emission and documentation read. */
export * from "./arithmetic.js";
export * from "./combine.js";
export * from "./compare.js";
export * from "./create.js";
export * from "./dot.js";
export * from "./escape.js";
export * from "./integer.js";
export * from "./math.js";
export * from "./memory.js";
export * from "./reduce.js";
export * from "./select.js";
export * from "./shape.js";
