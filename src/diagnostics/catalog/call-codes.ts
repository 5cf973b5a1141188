/** Mistakes in calls of a kernel from TypeScript, and in their arrays. */
import { defineCode } from "../message.js";

export const callArgument = defineCode("call-argument", (kernel: string, reason: string) => `${kernel}: ${reason}`);

export const callRefused = defineCode(
  "call-refused",
  (kernel: string, reason: string) => `${kernel}: the kernel refuses this call: ${reason}`,
);

export const hostArray = defineCode("host-array", (reason: string) => reason);

export const deviceRun = defineCode("device-run", (kernel: string, reason: string) => `${kernel}: ${reason}`);
