/** Checks of the files before a release. */
import type { Addresses } from "./addresses.js";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
}

export interface ReleaseFiles {
  readonly manifest: Manifest;
  readonly pyproject: string;
  readonly changelog: string;
  readonly addresses: Addresses;
}

export interface ReleaseReport {
  /** Mistakes, at any time. */
  readonly faults: readonly string[];
  /** Remaining steps before a release. */
  readonly remaining: readonly string[];
}

const CHANGELOG_LIMIT = 150;

/** The text of each second-level section of the changelog, by its heading. */
export function changelogSections(changelog: string): ReadonlyMap<string, string> {
  const [, ...sections] = changelog.split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return [heading.trim(), lines.join("\n").trim()];
    }),
  );
}

export function checkRelease({ manifest, pyproject, changelog, addresses }: ReleaseFiles): ReleaseReport {
  const { version } = manifest;
  const sections = changelogSections(changelog);
  const unreleased = sections.get("Unreleased");
  const versionHeading = [...sections.keys()].find((heading) => heading.split(" ")[0] === version);
  const [, workerVersion] = /^version = "(.*)"$/m.exec(pyproject) ?? [];
  const faults = [
    ...(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ? [] : [`package.json: "${version}" is no semantic version`]),
    ...(workerVersion === version
      ? []
      : [`python/pyproject.toml has version ${workerVersion}, package.json ${version}; write the same in both`]),
    ...(unreleased === undefined ? ['CHANGELOG.md: add a section "## Unreleased"'] : []),
    ...(versionHeading === undefined ? [`CHANGELOG.md: add a section "## ${version}"`] : []),
    ...entryFaults(unreleased ?? ""),
    ...Object.entries(addresses).flatMap(([name, address]) => addressFaults(name, address as string)),
  ];
  const remaining = [
    ...(unreleased ? [`move the lines under "Unreleased" of CHANGELOG.md to the section of the version`] : []),
    ...(versionHeading === version
      ? [`give the section ${version} of CHANGELOG.md its date, "## ${version} (YYYY-MM-DD)"`]
      : []),
    ...Object.entries(addresses).flatMap(([name, address]) => (address ? [] : [`release.json: ${name} is empty`])),
  ];
  return { faults, remaining };
}

/** One line per change, except headings of the third level. */
function entryFaults(unreleased: string): readonly string[] {
  const lines = unreleased.split("\n").filter((line) => line !== "" && !line.startsWith("### "));
  return lines
    .filter((line) => !line.startsWith("- ") || line.length > CHANGELOG_LIMIT)
    .map((line) => `CHANGELOG.md: write one line of at most ${CHANGELOG_LIMIT} characters: ${line.slice(0, 60)}…`);
}

function addressFaults(name: string, address: string): readonly string[] {
  if (address === "") return [];
  const isMail = name.endsWith("Contact") && /^[^@\s]+@[^@\s]+\.\w+$/.test(address);
  if (isMail) return [];
  if (!URL.canParse(address) || !address.startsWith("https://")) return [`release.json: ${name} is no https address`];
  return /\/$|\.git$/.test(address) ? [`release.json: ${name} ends with "/" or ".git"; leave that out`] : [];
}

/** Files that package.json names and a tarball lacks. */
export function missingFiles({ exports, bin }: Manifest, packedFiles: readonly string[]): readonly string[] {
  const exportedFiles = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry),
  );
  const requiredFiles = [...exportedFiles, ...Object.values(bin), "README.md", "LICENSE"].map((file) =>
    file.replace(/^\.\//, ""),
  );
  return [...new Set(requiredFiles)].filter((file) => !packedFiles.includes(file));
}
