/** A package's stubs beside mypy in strict mode: the package itself, and code that uses it right and wrong. */
import { copyFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { sampledCostlyTests } from "../../support/sampled-tests.js";
import { setup } from "../../../src/runtime/worker/install-environment.js";
import { examples } from "../../support/examples.js";
import { requirePython } from "../../support/python.js";
import { newFolder, packaged } from "./packaged.js";

sampledCostlyTests("packages", "src/runtime/package");

const here = import.meta.dirname;

/** What mypy says, a line each: `consumer_wrong.py:12: call-arg`. It is in an environment of its own, beside torch's. */
async function mypy(folder: string, modules: readonly string[]): Promise<readonly string[]> {
  const python = await requirePython();
  const own = await setup({ lock: join(here, "requirements.lock"), python, imports: ["mypy"] });
  const args = ["-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", join(folder, "cache")];
  const ran = await execa(own, [...args, "-p", "examples", ...modules.flatMap((name) => ["-m", name])], {
    cwd: folder,
    env: { MYPYPATH: folder },
    reject: false,
  });
  // 2 is for what could not be checked at all.
  if (ran.exitCode !== 0 && ran.exitCode !== 1) throw new Error(ran.stdout + ran.stderr);
  return Array.from(
    ran.stdout.matchAll(/^(\S+):(\d+): error: .*\[([\w-]+)\]$/gm),
    ([, file, line, code]) => `${file}:${line}: ${code}`,
  );
}

const stubOf = (root: string, name: string): string => join(root, "examples", "kernels", `${name}.pyi`);

/** `torch.Tensor | None = None`, `* int`, `-> torch.Tensor`: how a stub declares a function's parameters and its result. */
function formsOf(name: string, stub: string): ReadonlySet<string> {
  const [, params, result] = new RegExp(`^def ${name}\\(([^]*?)\\) -> (.*): \\.\\.\\.$`, "m").exec(stub)!;
  const items = params!.split(/,\s+(?=\*|\w+:)|,?\n */).filter((item) => item !== "");
  const star = items.indexOf("*");
  const forms = items.flatMap((item, i) => {
    const [, type, value] = /^\w+: (.*?)( = .*)?$/.exec(item) ?? [];
    if (type === undefined) return [];
    // Which number or text stands for one that is left out makes no other form.
    return [`${star >= 0 && i > star ? "* " : ""}${type}${value ? " = …" : ""}`];
  });
  return new Set([...forms, `-> ${result}`]);
}

test(
  "mypy in strict mode accepts the package and right calls, and refuses each wrong one",
  { timeout: 300_000 },
  async () => {
    const folder = await newFolder();
    try {
      const kernels = await Promise.all(examples.map(({ kernel }) => build(kernel)));
      const { code, err } = await packaged(join(folder, "package"), kernels, "--package-name", "examples");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      const root = join(folder, "package");
      for (const name of ["consumer.py", "consumer_wrong.py"]) await copyFile(join(here, name), join(root, name));
      const wrong = (await readFile(join(here, "consumer_wrong.py"), "utf8")).split("\n");
      const expected = wrong.flatMap((line, i) => {
        const mark = / {2}# ([\w-]+)$/.exec(line)?.[1];
        return mark === undefined ? [] : [`consumer_wrong.py:${i + 1}: ${mark}`];
      });
      expect(await mypy(root, ["consumer", "consumer_wrong"])).toEqual(expected);
      // Each form of parameters and results that a stub has is used, both ways.
      const right = await readFile(join(here, "consumer.py"), "utf8");
      const forms = new Map<string, ReadonlySet<string>>();
      for (const { signature } of kernels)
        forms.set(signature.name, formsOf(signature.name, await readFile(stubOf(root, signature.name), "utf8")));
      const all = new Set([...forms.values()].flatMap((each) => [...each]));
      for (const text of [right, wrong.join("\n")]) {
        const called = [...forms].flatMap(([name, each]) => (text.includes(`examples.${name}(`) ? [...each] : []));
        expect(new Set(called)).toEqual(all);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
