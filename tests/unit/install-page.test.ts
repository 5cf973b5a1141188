/** The page on installing speaks of what package.json has, and its figures of the dependencies that are locked. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dependencyPurposes } from "../../docs/install-tables.js";

const root = join(import.meta.dirname, "../..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).sort();

test("the page says of each dependency what it is for", () => {
  expect(Object.keys(dependencyPurposes).sort()).toEqual(names);
});

test("the figures are of these dependencies (renew them with npm run package -- figures)", () => {
  const file = join(root, "bench/results/package.json");
  expect(existsSync(file)).toBe(true);
  const { now } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly now: { readonly dependencies: readonly { readonly name: string }[] };
  };
  expect(now.dependencies.map(({ name }) => name).sort()).toEqual(names);
});
