/** The remedy of a message. Each sentence says what is wrong, and what to write behind a semicolon. */
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { DiagnosticReport } from "./reports.js";

export function splitRemedy(diagnostic: Diagnostic): DiagnosticReport {
  const { message } = diagnostic;
  const end = message.indexOf("; ");
  return end < 0 ? diagnostic : { ...diagnostic, remedy: message.slice(end + 2) };
}
