/** The table of `docs/performance.md` with the known faults of compilers and GPUs. */
import { type KnownFault, knownFaults } from "../src/check/known-faults.js";
import { tableLines } from "./markdown-table.js";

const REPORTED = {
  build: "every command that builds the kernel",
  wrapper: "the wrapper, at the call",
  compile: "`compile`",
} as const;

export function faultTable(): string {
  const rows = knownFaults.map((fault) => [fault.effect, affected(fault), reported(fault), fault.remedy]);
  const head = ["fault", "affects", "reported by", "what to do"];
  return ["", ...tableLines(head, rows), ""].join("\n");
}

function affected({ affects: { triton, ptxas, gpus }, reference }: KnownFault): string {
  const versions = [triton && `Triton ${triton.oldest} to ${triton.newest}`, ptxas && `ptxas ${ptxas}`];
  const text = [...versions, gpus === "all" ? "all GPUs" : gpus].filter((part) => part !== undefined).join(", ");
  return reference === undefined ? text : `${text} ([report](${reference}))`;
}

function reported({ reportedBy, code }: KnownFault): string {
  return code === undefined ? REPORTED[reportedBy] : `${REPORTED[reportedBy]}: [${code}](diagnostics.md#${code})`;
}
