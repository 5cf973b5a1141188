/** Every op's record: what checks, emission, evaluation and documentation read. */
import type { Op } from "../ir/op.js";
import { opOf } from "./define.js";
import * as ops from "./index.js";
import { toAddress } from "./pointer.js";
import * as views from "./view.js";

export const table: readonly Op[] = [...Object.values(ops), ...Object.values(views), toAddress].flatMap(
  (f) => opOf(f) ?? [],
);
