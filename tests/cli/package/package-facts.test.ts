/** What a package is called and says of itself; and that its wheel works where nothing else of it is. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build, type CompiledKernel } from "tilescript";
import { distributionOf, nameProblem } from "../../../src/runtime/package/files.js";
import { vectorAdd } from "../../../examples/vector-add.js";
import { isInFullRun } from "../../support/sampled-tests.js";
import { newFolder, packaged, python } from "./packaged.js";

let folder: string;
let kernel: CompiledKernel;
beforeAll(async () => {
  [folder, kernel] = [await newFolder(), await build(vectorAdd)];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the name of a package", () => {
  it.each([
    ["torch", /a package that the kernels need/],
    ["triton", /a package that the kernels need/],
    ["typing_extensions", /a package that the kernels need/],
    ["typing__extensions", /a package that the kernels need/],
    ["jinja2", /a package that the kernels need/],
    ["tilescript_worker", /a package that the kernels need/],
    ["os", /a module of Python's standard library/],
    ["asyncio", /a module of Python's standard library/],
    ["class", /a word of Python's grammar/],
    ["aten", /belongs to PyTorch/],
    ["tests", /a folder that building or testing/],
    ["__init__", /cannot be the name/],
    ["_kernels", /cannot be the name/],
    ["kernels_", /cannot be the name/],
    ["Torch", /cannot be the name/],
    ["my.kernels", /cannot be the name/],
    ["größe", /cannot be the name/],
    ["", /cannot be the name/],
  ])("%s is refused", async (name, why) => {
    expect(nameProblem(name)).toMatch(why);
    const ran = await packaged(join(folder, "out"), [kernel], `--package-name=${name}`);
    expect(ran).toMatchObject({ code: 2, files: [] });
    expect(ran.err).toMatch(why);
  });

  it.each(["my_kernels", "k", "kernels2", "match", "torch_kernels"])("%s is taken", (name) => {
    expect(nameProblem(name)).toBeUndefined();
  });

  it("is none that this Python knows", async () => {
    const list = "import json, keyword, sys; print(json.dumps([*sys.stdlib_module_names, *keyword.kwlist]))";
    const { stdout } = await execa("python3", ["-c", list]);
    const known = JSON.parse(stdout) as string[];
    expect(known.filter((name) => nameProblem(name) === undefined)).toEqual([]);
  });

  it("is one to pip, however it is written", () => {
    expect(["A-b", "a_b", "a.B", "a-_b"].map(distributionOf)).toEqual(["a-b", "a-b", "a-b", "a-b"]);
  });
});

describe("a package", () => {
  it.each([
    ["--package-version", "one", /must be a version/],
    ["--package-version", '1"', /must be a version/],
    ["--license", 'MIT"\nname = "x', /must be an SPDX expression/],
    ["--license", "", /must be an SPDX expression/],
  ])("%s %j is refused", async (option, value, why) => {
    const ran = await packaged(join(folder, "out"), [kernel], `${option}=${value}`);
    expect(ran).toMatchObject({ code: 2, files: [] });
    expect(ran.err).toMatch(why);
  });

  it.each(["README.md", "pyproject.toml"])("leaves the %s of someone else alone", async (name) => {
    const out = join(folder, `other ${name}`);
    await mkdir(out);
    await writeFile(join(out, name), "mine");
    const ran = await packaged(out, [kernel], "--package-name", "mine");
    expect(ran).toMatchObject({ code: 2, files: [] });
    expect(ran.err).toContain(`${name} was not written by this command and was not changed`);
    expect(await readFile(join(out, name), "utf8")).toBe("mine");
  });

  it("is written again into its own folder, with its version and license", async () => {
    const out = join(folder, "own_kernels");
    await packaged(out, [kernel]);
    const ran = await packaged(out, [kernel], "--package-version", "1.2.0rc1", "--license", "MIT OR Apache-2.0");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const project = await readFile(join(out, "pyproject.toml"), "utf8");
    for (const line of [
      `name = "own-kernels"`,
      `version = "1.2.0rc1"`,
      `license = "MIT OR Apache-2.0"`,
      `readme = "README.md"`,
      `requires = ["setuptools>=77"]`,
      `dependencies = ["torch>=2.11,<2.16", "triton>=3.6,<3.10"]`,
    ])
      expect(project).toContain(`${line}\n`);
    const readme = await readFile(join(out, "README.md"), "utf8");
    expect(readme).toMatch(/^# own-kernels$/m);
    expect(readme).toContain("def vector_add(\n");
    expect(readme).toContain("from kernel_cases import vector_add\n");
  });
});

it("a license that cannot be read is refused", async () => {
  const ran = await packaged(join(folder, "out"), [kernel], "--license-file", "LICENSES");
  expect(ran).toMatchObject({ code: 2, files: [] });
  expect(ran.err).toMatch(/--license-file LICENSES cannot be read; name a text file/);
});

describe.runIf(isInFullRun("wheels"))("a wheel", { timeout: 240_000 }, () => {
  it("is installed in a fresh environment, where its README holds", async () => {
    const out = join(folder, "wheel-kernels");
    const license = ["--license", "MIT", "--license-file", "LICENSE"];
    const ran = await packaged(out, [kernel], "--package-version", "2.0", ...license);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const options = ["--no-index", "--no-deps", "--no-build-isolation"];
    const wheel = await python(["-m", "pip", "wheel", ...options, "-w", folder, out], {});
    expect(wheel.exitCode, wheel.all).toBe(0);
    const file = (await readdir(folder)).find((name) => name.endsWith(".whl"))!;
    expect(file).toBe("wheel_kernels-2.0-py3-none-any.whl");
    const venv = join(folder, "venv");
    expect((await python(["-m", "venv", "--without-pip", venv], {})).exitCode).toBe(0);
    const fresh = join(venv, "bin", "python");
    const pip = await python(
      ["-m", "pip", "--python", fresh, "install", ...options.slice(0, 2), join(folder, file)],
      {},
    );
    expect(pip.exitCode, pip.all).toBe(0);
    // torch and triton are those of the tests.
    const { all: site } = await python(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], {});
    const readme = await readFile(join(out, "README.md"), "utf8");
    const [, example] = /```python\n(from [^]*?)```/.exec(readme)!;
    const script = `${example}
from importlib.metadata import files, metadata
about = metadata("wheel-kernels")
print(*(file.read_text().split("\\n")[0] for file in files("wheel-kernels") if file.name == "LICENSE"))
print(tuple(result.shape), about["Version"], about["License-Expression"], "README" if "## Call" in str(about) else "")
`;
    const { stdout } = await execa(fresh, ["-c", script], {
      cwd: folder,
      env: { PYTHONPATH: `${site}:${join(out, "tests")}`, TRITON_INTERPRET: "1", CUDA_VISIBLE_DEVICES: "" },
    });
    expect(stdout).toMatch(/^MIT License\n\(\d+,\) 2\.0 MIT README$/);
  });
});
