/** What can be wrong with a call of a kernel from TypeScript, and with its arrays. */
import { defineCode } from "./define-code.js";

export const callArgument = defineCode("call-argument", (kernel: string, why: string) => `${kernel}: ${why}`);

export const callRefused = defineCode(
  "call-refused",
  (kernel: string, why: string) => `${kernel}: the kernel refuses this call: ${why}`,
);

export const hostArray = defineCode("host-array", (why: string) => why);

export const deviceRun = defineCode("device-run", (kernel: string, why: string) => `${kernel}: ${why}`);
