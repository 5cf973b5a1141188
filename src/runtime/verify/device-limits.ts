/** The amount of work that each device computes in a few seconds. */
import type { Limits } from "../cases/cases.js";
import type { Device } from "../devices/device.js";

/**
 * An op of Triton's interpreter takes tens of microseconds, independent of its lanes; an op of the evaluator takes a
 * few.
 */
export const deviceLimits: Readonly<Record<Device["kind"], Limits>> = {
  eval: { elements: 2 ** 17, work: 2 ** 25, op: 2 ** 8, exhaustive: false },
  interpreter: { elements: 2 ** 17, work: 2 ** 25, op: 2 ** 12, exhaustive: false },
  cuda: { elements: 2 ** 31, work: Infinity, op: 0, exhaustive: true },
  hip: { elements: 2 ** 31, work: Infinity, op: 0, exhaustive: true },
};
