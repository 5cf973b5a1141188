/** Formats findings with the author's lines. */
import type { Finding } from "../../compiled/compiled-kernel.js";
import { formatLocation, type Location } from "../../diagnostics/diagnostic.js";
import { codeFrame } from "./code-frame.js";

export function formatFinding(finding: Finding): string {
  const text = `${finding.code}${formatProgram(finding)}: ${finding.message}`;
  return finding.at ? `${text}\n${formatFrame(finding.at)}` : text;
}

/** The program and lane of a finding. Empty for an element that was never written. */
function formatProgram({ program, lane }: Finding): string {
  return program.length > 0 ? ` in program (${program.join(", ")}), lane [${lane.join(", ")}]` : "";
}

/** A location and the author's lines around it, if the file is readable. */
export function formatFrame(location: Location): string {
  return [formatLocation(location), codeFrame(location)].filter(Boolean).join("\n");
}
