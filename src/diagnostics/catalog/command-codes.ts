/** What can be wrong with a file, a command line or a machine: what commands say. */
import { defineCode } from "./define-code.js";

export const imports = defineCode("import", {
  missing: (what: string, remedy: string) => `there is no ${what}; ${remedy}`,
  noExport: (module: string, name: string) => `${module} exports no ${name}; check the name`,
});

export const kernelFile = defineCode("kernel-file", {
  waits: () => "a kernel file awaits a promise that never settles; check its awaits",
  exits: () => "a kernel file ended the process; leave process.exit to other files",
});

export const syntax = defineCode("syntax", (message: string) => message);

export const exception = defineCode("exception", {
  thrown: (name: string, message: string, remedy: string) => `${name}: ${message}${remedy}`,
  ours: (thrown: string, version: string, place: string) =>
    `TileScript ${version} failed at ${place}: please report this line (${thrown}); TILESCRIPT_DEBUG=1 shows the stack`,
  notAnError: (value: unknown) => `${String(value)} was thrown and is not an Error; throw new Error("why") instead`,
});

/** What compiling for a target showed: the targets and configs where it is so stand before the remedy. */
type Compiled = (kernel: string, what: string, where: string, remedy: string) => string;
const compiled: Compiled = (kernel, what, where, remedy) => `${kernel}: ${what} (${where})${remedy}`;

export const compileError = defineCode("compile-error", compiled);
export const compileResources = defineCode("compile-resources", compiled);
export const compileMiscompiled = defineCode("compile-miscompiled", compiled);
export const compileSpill = defineCode("compile-spill", compiled);

export const otherTarget = defineCode(
  "other-target",
  (kernel: string, targets: string, declared: string) =>
    `${kernel}: not run for ${targets}, as the kernel is for ${declared}; compile it for those, or change targets in its spec`,
);

export const usage = defineCode("usage", (message: string) => message);
export const environment = defineCode("environment", (message: string) => message);
