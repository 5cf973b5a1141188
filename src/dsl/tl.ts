/** Triton's language as authors write it: `tl.load`, `tl.float16`, `tl.range`, … */
import { dtypes } from "../types/dtype.js";
import "./methods.js";

export * from "../ops/index.js";
export * as targetInfo from "../ops/target.js";
export { dtype } from "../types/dtype.js";
export { exit, when } from "./branches.js";
export { range, staticRange, whileLoop, mut } from "./loops.js";
export { extern } from "../ops/extern.js";
export { fn } from "../ops/helper.js";

export const {
  int1,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float8e5,
  float8e4nv,
  float8e4b15,
  float8e4b8,
  float8e5b16,
  float16,
  bfloat16,
  float32,
  float64,
} = dtypes;
