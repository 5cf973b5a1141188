/** Mistakes in files, command lines and machines, as commands report them. */
import { defineCode, type Parts } from "../message.js";

export const imports = defineCode("import", {
  missing: (subject: string, remedy: string) => [`there is no ${subject}`, remedy],
  noExport: (module: string, name: string) => [`${module} exports no ${name}`, `check the name`],
});

export const kernelFile = defineCode("kernel-file", {
  pendingPromise: () => ["a kernel file awaits a promise that never settles", "check its awaits"],
  processExit: () => ["a kernel file ended the process", "leave process.exit to other files"],
  endless: (seconds: number) => [
    `building and proving the file takes longer than ${seconds} s`,
    "check that its loops end; `npx tilescript check` has no limit",
  ],
});

export const syntax = defineCode("syntax", (message: string) => message);

export const exception = defineCode("exception", {
  uncaught: (name: string, message: string, remedy: string) => [`${name}: ${message}`, remedy],
  internal: (text: string, version: string, location: string) => [
    `TileScript ${version} failed at ${location}: please report this line (${text})`,
    `TILESCRIPT_DEBUG=1 shows the stack`,
  ],
  notAnError: (value: unknown) => [`${String(value)} was thrown and is not an Error`, `throw new Error("why") instead`],
});

/** Formats a finding of a target compile: the affected targets and configs precede the remedy. */
type FormatFinding = (kernel: string, finding: string, targets: string, remedy: string) => Parts;
const formatFinding: FormatFinding = (kernel, finding, targets, remedy) => [
  `${kernel}: ${finding} (${targets})`,
  remedy,
];

export const compileError = defineCode("compile-error", formatFinding);
export const compileResources = defineCode("compile-resources", formatFinding);
export const compileMiscompiled = defineCode("compile-miscompiled", formatFinding);
export const compileSpill = defineCode("compile-spill", formatFinding);

export const otherTarget = defineCode("other-target", (kernel: string, targets: string, declared: string) => [
  `${kernel}: not run for ${targets}, as the kernel is for ${declared}`,
  `compile it for those, or change targets in its spec`,
]);

export const usage = defineCode("usage", (message: string) => message);
export const environment = defineCode("environment", (message: string) => message);
