/**
 * The addresses of the project, from `release.json`, and the files that contain them. An address that is not known yet
 * is an empty string there, and is omitted everywhere. `npx tsx scripts/addresses.ts` writes them into the files.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fillMarkedParts } from "../docs/marked-parts.js";

const root = resolve(import.meta.dirname, "..");

export interface Addresses {
  /** The page of the repository, such as a GitHub address without `.git`. */
  readonly repository: string;
  /** The site with the documentation. */
  readonly homepage: string;
  /** Where to report a bug. */
  readonly bugs: string;
  /** Where to report a vulnerability: a mail address or a page. */
  readonly securityContact: string;
  /** Where to report a breach of the code of conduct. */
  readonly conductContact: string;
}

const read = (file: string): string => readFileSync(join(root, file), "utf8");

export const addresses = JSON.parse(read("release.json")) as Addresses;

/** For each file with addresses, a function that fills them in. */
export const withAddresses: Readonly<Record<string, (text: string, values: Addresses) => string>> = {
  "package.json": withManifestAddresses,
  "SECURITY.md": (text, { securityContact }) =>
    fillMarkedParts(text, { contact: securityContact && `Write to ${asLink(securityContact)}.` }),
  "CODE_OF_CONDUCT.md": (text, { conductContact }) =>
    fillMarkedParts(text, { contact: conductContact && `Write to ${asLink(conductContact)}.` }),
};

function withManifestAddresses(text: string, { repository, homepage, bugs }: Addresses): string {
  const {
    repository: _,
    homepage: _homepage,
    bugs: _bugs,
    ...otherFields
  } = JSON.parse(text) as Record<string, unknown>;
  const addressFields = {
    ...(homepage && { homepage }),
    ...(repository && { repository: { type: "git", url: `git+${repository}.git` } }),
    ...(bugs && { bugs }),
  };
  // After the license, where npm's own order has them.
  const entries = Object.entries(otherFields);
  const index = entries.findIndex(([name]) => name === "license") + 1;
  const orderedFields = [...entries.slice(0, index), ...Object.entries(addressFields), ...entries.slice(index)];
  return `${JSON.stringify(Object.fromEntries(orderedFields), undefined, 2)}\n`;
}

const asLink = (address: string): string => `<${address}>`;

if (process.argv[1] === import.meta.filename)
  for (const [file, fill] of Object.entries(withAddresses))
    writeFileSync(join(root, file), fill(read(file), addresses));
