/** The text report of `tilescript import`. */
import type { ImportReport } from "./reports.js";

type Kernel = ImportReport["kernels"][number];

/** One line per kernel, followed by the reason if it is not equal. */
export function importText({ kernels, file, stopped }: ImportReport): string {
  const note = stopped === undefined ? [] : [`note: the script stopped before its end: ${stopped}`];
  const lines = kernels.flatMap((kernel) => [
    `${kernel.kernel}: ${kernel.status}${formatLeftOut(kernel)}${formatCalls(kernel)}`,
    ...details(kernel, file),
  ]);
  return [...lines, ...note].join("\n");
}

/** "1 arm and 2 keys left out" */
function countLeftOut(parts: NonNullable<Kernel["leftOut"]>): string {
  const counts = new Map<string, number>();
  for (const { what } of parts) counts.set(what, (counts.get(what) ?? 0) + 1);
  const texts = [...counts].map(([what, count]) => `${count} ${what}${count > 1 ? "s" : ""}`);
  const last = texts.pop() ?? "nothing";
  return `${texts.length > 0 ? `${texts.join(", ")} and ${last}` : last} left out`;
}

const formatLeftOut = ({ leftOut = [] }: Kernel): string => (leftOut.length > 0 ? `; ${countLeftOut(leftOut)}` : "");

const formatCalls = ({ calls }: Kernel): string =>
  calls
    ? ` (for ${calls.compared} of ${calls.noted} calls; the others pass other dtypes, flags or kinds of arguments)`
    : "";

function details(kernel: Kernel, file: string): readonly string[] {
  const views = (kernel.accesses ?? []).filter(({ why }) => why === undefined).length;
  const accesses = kernel.accesses
    ? [
        `  ${views} of ${kernel.accesses.length} accesses are views`,
        ...kernel.accesses.flatMap(({ line, of: subject, why: reason }) =>
          reason === undefined ? [] : [`  ${file}:${line}: the ${subject} stays as it is: ${reason}`],
        ),
      ]
    : [];
  const compared = kernel.blockPointers
    ? ["  its block pointers are compared as the addresses and masks that Triton 3.6 makes of them"]
    : [];
  const todos = [...(kernel.todos ?? []), ...(kernel.leftOut ?? [])].map(
    ({ text, line }) => `  ${file}:${line}: TODO: ${text}`,
  );
  const writtenLines = kernel.path === undefined ? [] : [`  wrote ${kernel.path}`];
  switch (kernel.status) {
    case "equal":
    case "equal for the traced calls":
      return [...writtenLines, ...compared, ...accesses, ...todos];
    case "equal for the traced flags":
      return [...writtenLines, `  fixed: ${kernel.fixed.join(", ")}`, ...compared, ...accesses, ...todos];
    case "differs":
      return [
        ...writtenLines,
        `  the original has: ${kernel.original}`,
        `  the imported has: ${kernel.imported}`,
        ...todos,
      ];
    case "not imported":
      return [...writtenLines, `  ${file}:${kernel.line}: ${kernel.reason}`];
    default:
      return kernel satisfies never;
  }
}
