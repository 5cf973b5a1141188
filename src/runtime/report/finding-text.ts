/** A finding in words, with the author's lines. */
import type { Finding } from "../../compiled/compiled-kernel.js";
import { formatLocation, type Location } from "../../diagnostics/diagnostic.js";
import { codeFrame } from "./code-frame.js";

export function findingText(finding: Finding): string {
  const said = `${finding.code}${placeText(finding)}: ${finding.message}`;
  return finding.at ? `${said}\n${frameText(finding.at)}` : said;
}

/** The program and lane of a finding; an element that was never written has none. */
function placeText({ program, lane }: Finding): string {
  return program.length > 0 ? ` in program (${program.join(", ")}), lane [${lane.join(", ")}]` : "";
}

/** A place and the author's lines around it, as far as they can be read. */
export function frameText(at: Location): string {
  return [formatLocation(at), codeFrame(at)].filter(Boolean).join("\n");
}
