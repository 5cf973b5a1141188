/** The remedy of a message. Each sentence says what is wrong, and what to write behind a semicolon. */
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { Told } from "./reports.js";

export function withRemedy(diagnostic: Diagnostic): Told {
  const { message } = diagnostic;
  const end = message.indexOf("; ");
  return end < 0 ? diagnostic : { ...diagnostic, remedy: message.slice(end + 2) };
}
