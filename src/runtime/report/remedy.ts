/** Extracts the remedy of a message. Messages state the problem, a semicolon, and the remedy. */
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { DiagnosticReport } from "./reports.js";

export function splitRemedy(diagnostic: Diagnostic): DiagnosticReport {
  const { message } = diagnostic;
  const end = message.indexOf("; ");
  return end < 0 ? diagnostic : { ...diagnostic, remedy: message.slice(end + 2) };
}
