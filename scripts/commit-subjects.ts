/** The form of a commit message: `scope: imperative …`, at most 72 characters, then an empty line before any body. */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { folders } from "../docs/folders.js";

const MAX_LENGTH = 72;

const root = resolve(import.meta.dirname, "..");

/** Scopes: folders of the repository and of `src`, and names for changes that concern several of them. */
export const scopes: ReadonlySet<string> = new Set([
  ...readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() && /^[a-z]/.test(entry.name) && !["dist", "node_modules"].includes(entry.name)
      ? [entry.name]
      : [],
  ),
  ...Object.keys(folders),
  "all",
  "ci",
  "deps",
  "release",
]);

/**
 * Exceptions for first words: some that look like an imperative but are not, and some imperatives that do not look like
 * one.
 */
const IMPERATIVE_ENDINGS = /(?:ss|ias|[^aeiou]us|eed|bed|shed|wed|bring|string|ring|ping)$/;
const OTHER_FORMS = /(?:ed|ing|s)$/;

/** The faults of a message. Merges and reverts keep the subject that git writes. */
export function messageFaults(message: string): readonly string[] {
  const [subject = "", second = ""] = message.split("\n");
  if (/^(?:Merge |Revert ")/.test(subject)) return [];
  const faults: string[] = [];
  if (subject.length > MAX_LENGTH)
    faults.push(
      `the subject has ${subject.length} characters; write at most ${MAX_LENGTH}, and the reason in the body`,
    );
  if (second !== "") faults.push("the second line is not empty; separate the body with an empty line");
  const [, scope, text] = /^([^:\s]+): (\S.*)$/.exec(subject) ?? [];
  if (scope === undefined || text === undefined)
    return [...faults, 'the subject has no scope; write "scope: imperative …"'];
  const firstFolder = scope.split("/")[0]!;
  if (!scopes.has(firstFolder))
    faults.push(`"${firstFolder}" is no scope; write one of ${[...scopes].sort().join(", ")}`);
  const [verb = ""] = text.split(/\s/);
  if (!/^[a-z]/.test(verb)) faults.push(`"${verb}" does not start with a small letter`);
  else if (OTHER_FORMS.test(verb) && !IMPERATIVE_ENDINGS.test(verb))
    faults.push(`"${verb}" is no imperative; write "add", not "adds", "added" or "adding"`);
  if (text.endsWith(".")) faults.push("the subject ends with a full stop; leave it out");
  return faults;
}
