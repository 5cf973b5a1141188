/** The dry run of a release: versions, changelog, and addresses, which are left out while they are empty. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Addresses, addresses, withAddresses } from "../../scripts/addresses.js";
import { changelogSections, checkRelease, type Manifest, missingFiles } from "../../scripts/release-checks.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const files = {
  manifest: JSON.parse(read("package.json")) as Manifest,
  pyproject: read("python/pyproject.toml"),
  changelog: read("CHANGELOG.md"),
  addresses,
};
const none: Addresses = { repository: "", homepage: "", bugs: "", securityContact: "", conductContact: "" };
const some: Addresses = {
  repository: "https://code.example/tilescript",
  homepage: "https://tilescript.example",
  bugs: "https://code.example/tilescript/issues",
  securityContact: "security@tilescript.example",
  conductContact: "conduct@tilescript.example",
};

test("versions, changelog and addresses have no mistake", () => {
  expect(checkRelease(files).faults).toEqual([]);
});

test("the changelog is short, and starts with what is not released", () => {
  expect(files.changelog.split("\n").length).toBeLessThanOrEqual(150);
  expect([...changelogSections(files.changelog).keys()][0]).toBe("Unreleased");
});

test("a mistake in a version, the changelog or an address is named", () => {
  const wrong = {
    manifest: { ...files.manifest, version: "9.9" },
    pyproject: `version = "0.0.1"`,
    changelog: "# Changelog\n\n## Unreleased\n\nA paragraph.\n\n## 0.1.0\n",
    addresses: { ...some, repository: "http://code.example", homepage: "https://tilescript.example/" },
  };
  expect(checkRelease(wrong).faults).toEqual([
    'package.json: "9.9" is no semantic version',
    "python/pyproject.toml has version 0.0.1, package.json 9.9; write the same in both",
    'CHANGELOG.md: add a section "## 9.9"',
    "CHANGELOG.md: write one line of at most 150 characters: A paragraph.…",
    "release.json: repository is no https address",
    'release.json: homepage ends with "/" or ".git"; leave that out',
  ]);
});

test("what is left before a release is listed", () => {
  const changelog = "# Changelog\n\n## Unreleased\n\n- A change.\n\n## 1.0.0\n\nText.\n";
  const manifest = { ...files.manifest, version: "1.0.0" };
  const { faults, remaining } = checkRelease({
    manifest,
    changelog,
    pyproject: `version = "1.0.0"`,
    addresses: { ...some, bugs: "" },
  });
  expect(faults).toEqual([]);
  expect(remaining).toEqual([
    'move the lines under "Unreleased" of CHANGELOG.md to the section of the version',
    'give the section 1.0.0 of CHANGELOG.md its date, "## 1.0.0 (YYYY-MM-DD)"',
    "release.json: bugs is empty",
  ]);
});

test("a file that package.json names and the tarball lacks is named", () => {
  const packed = ["README.md", "LICENSE", "bin/tilescript.js", "package.json", "dist/index.js", "dist/index.d.ts"];
  expect(missingFiles(files.manifest, packed)).toContain("dist/vitest.js");
  expect(missingFiles({ ...files.manifest, exports: {}, bin: {} }, packed)).toEqual([]);
});

test.each(Object.entries(withAddresses))("%s has the addresses of release.json", (file, fill) => {
  expect(fill(read(file), addresses), "run npx tsx scripts/addresses.ts").toBe(read(file));
});

test.each(Object.entries(withAddresses))("%s has all of them, and nothing in place of an empty one", (file, fill) => {
  const empty = fill(read(file), none);
  expect(empty).not.toMatch(/https?:\/\/|@\w+\.|undefined/);
  const full = fill(empty, some);
  expect(full).not.toBe(empty);
  expect(fill(full, none)).toBe(empty);
});

test("package.json has the fields that npm reads", () => {
  expect(JSON.parse(withAddresses["package.json"]!("{}", some))).toEqual({
    homepage: "https://tilescript.example",
    repository: { type: "git", url: "git+https://code.example/tilescript.git" },
    bugs: "https://code.example/tilescript/issues",
  });
});

test("pages of the site name the addresses that are known", async () => {
  // The site has packages of its own, which the types of this file must not need.
  const shell: string = "../../site/shell.ts";
  const { pageOf, sitemap } = (await import(/* @vite-ignore */ shell)) as {
    pageOf: (page: object, addresses: Addresses) => string;
    sitemap: (paths: readonly string[], addresses: Addresses) => string | undefined;
  };
  const page = { path: "install", title: "Install", html: "", headings: [], description: "How to install it." };
  expect(pageOf(page, none)).not.toMatch(/Source|og:|canonical/);
  expect(sitemap(["install"], none)).toBeUndefined();
  expect(pageOf(page, some)).toContain(`<a href="https://code.example/tilescript">Source</a>`);
  expect(pageOf(page, some)).toContain(`<meta property="og:url" content="https://tilescript.example/install.html">`);
  expect(sitemap(["install"], some)).toContain("<loc>https://tilescript.example/install.html</loc>");
});
