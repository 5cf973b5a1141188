/** The records of all ops, for checks, emission, evaluation and documentation. */
import type { Op } from "../ir/op.js";
import { opOf } from "./define.js";
import * as descriptors from "./descriptor-methods.js";
import * as ops from "./index.js";
import { libdevice } from "./libdevice.js";
import { toAddress } from "./pointer.js";
import * as targetInfo from "./target.js";
import * as views from "./view.js";

const functions: readonly unknown[] = [
  ...Object.values<unknown>(ops),
  ...Object.values<unknown>(views),
  ...Object.values<unknown>(descriptors),
  toAddress,
  ...Object.values<unknown>(targetInfo),
  ...Object.values<unknown>(libdevice),
];
export const table: readonly Op[] = functions.flatMap((f) => opOf(f) ?? []);
