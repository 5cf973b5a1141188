/** The language server, over standard input and output, as an editor drives it. */
import { mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  CancellationTokenSource,
  CodeActionRequest,
  type Diagnostic,
  DidChangeConfigurationNotification,
  ExecuteCommandRequest,
  HoverRequest,
  InlayHintRequest,
  type TextEdit,
} from "vscode-languageserver-protocol/node";
import { tilescript } from "../support/resident-cli.js";
import { installInto, project } from "../support/installed.js";
import { LspClient } from "../support/lsp-client.js";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("answers of the language server", "src/runtime/language-server");

const ADD = `import { constexpr, kernel, tensor, tl } from "tilescript";

export const add = kernel(
  "add",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }) => x.add(1),
    shapes: [{ N: 100 }],
  },
  ({ x, y, BLOCK }) => {
    const size: number = 1;
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets));
    tl.store(y.at(offsets), values.add(size));
  },
);
`;

/** Its columns are in bounds in some launches. */
const ROWS = `import { constexpr, kernel, tensor, tl } from "tilescript";
export const rows = kernel(
  "rows",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    config: { BLOCK: 64 },
    shapes: [{ M: 4, N: 64 }],
  },
  ({ x, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.inBounds(tl.arange(0, BLOCK));
    tl.store(y.at(row), tl.sum(tl.load(x.at(row, cols)), 0));
  },
);
`;

/** Nothing is known of the ids. */
const GATHER = `import { constexpr, kernel, tensor, tl } from "tilescript";
export const gather = kernel(
  "gather",
  {
    params: {
      x: tensor(tl.float32, ["M"]),
      ids: tensor(tl.uint16, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
  },
  ({ x, ids: list, y, BLOCK }) => {
    const rows = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const ids = tl.load(list.at(rows)).to(tl.int32);
    tl.store(y.at(rows), tl.load(x.at(tl.inBounds(ids))));
  },
);
`;

let folder: string;
let file: string;
let client: LspClient;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "tilescript-lsp-")));
  installInto(folder, "tsx");
  file = join(folder, "add.ts");
  // The server reads the editor's text, so the text on disk has a mistake that no test expects.
  await writeFile(file, ADD.replace('"add"', "7"));
  client = new LspClient(folder);
});

afterEach(() => {
  client.connection.dispose();
  client.child.kill("SIGKILL");
});

const messages = (diagnostics: readonly Diagnostic[]): readonly unknown[] =>
  diagnostics.map(({ code, range: { start }, severity }) => [code, start.line + 1, start.character + 1, severity]);

const textDocument = (path: string) => ({ uri: pathToFileURL(path).href });
const ERROR = 1;

describe("the language server", { timeout: 120_000 }, () => {
  test("reports mistakes of the text that is typed, and takes them back", async () => {
    const { capabilities } = await client.initialize();
    expect(capabilities).toMatchObject({ hoverProvider: true, inlayHintProvider: true });
    expect(await client.diagnostics(client.open(file, ADD))).toEqual([]);

    const build = await client.diagnostics(client.change(file, ADD.replace("values.add", "valeus.add")));
    expect(messages(build)).toEqual([["unknown-name", 20, 29, ERROR]]);
    expect(build[0]?.message).toMatch(/^valeus is not defined here; /);

    const proof = await client.diagnostics(client.change(file, ADD.replace("cdiv(N, BLOCK)", "cdiv(N, BLOCK).sub(1)")));
    expect(messages(proof)).toEqual([["never-written", 11, 48, ERROR]]);

    const syntax = await client.diagnostics(client.change(file, ADD.replace("(offsets), v", "(offsets, v")));
    expect(messages(syntax)).toEqual([["syntax", 20, 45, ERROR]]);

    expect(await client.diagnostics(client.change(file, ADD))).toEqual([]);
    expect(await client.end()).toBe(0);
  });

  test("reads unsaved texts of imported files, in a CommonJS package too", async () => {
    await writeFile(join(folder, "package.json"), `{ "type": "commonjs" }`);
    const sizes = join(folder, "size.ts");
    await writeFile(sizes, "export const size = 1;\n");
    const text = ADD.replace("const size: number = 1;", "").replace("import", 'import { size } from "./size";\nimport');
    await client.initialize();
    expect(await client.diagnostics(client.open(file, text))).toEqual([]);
    client.open(sizes, "export const size = 1;\n");
    const count = client.published.length;
    client.change(sizes, "export const sise: number = 1;\n");
    await expect
      .poll(() => client.published.slice(count).findLast(({ uri }) => uri.endsWith("add.ts"))?.diagnostics[0], {
        timeout: 20_000,
      })
      .toBeDefined();
    expect(client.published.at(-1)?.diagnostics).toMatchObject([
      { message: expect.stringMatching(/^add: y is missing/) },
    ]);
  });

  test("offers the edits of messages, which leave a kernel that checks clean", async () => {
    await client.initialize();
    let text = ADD.replace(
      "tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK))",
      "tl.programId(0) * BLOCK + tl.arange(0, BLOCK)",
    );
    let diagnostics = await client.diagnostics(client.open(file, text));
    expect(diagnostics.length).toBeGreaterThan(0);
    const [first] = diagnostics;
    const context = { diagnostics: [...diagnostics] };
    const range = first?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
    const request = { textDocument: textDocument(file), range, context };
    const actions = (await client.connection.sendRequest(CodeActionRequest.type, request)) ?? [];
    expect(actions.map((action) => ("kind" in action ? action.kind : undefined))).toEqual([
      "quickfix",
      "quickfix",
      "source.fixAll.tilescript",
    ]);
    for (let rounds = 0; diagnostics.length > 0 && rounds < 5; rounds++) {
      const only = { ...request, context: { ...context, only: ["source.fixAll"] } };
      const [action] = (await client.connection.sendRequest(CodeActionRequest.type, only)) ?? [];
      const edits = action && "edit" in action ? action.edit?.changes?.[pathToFileURL(file).href] : undefined;
      text = applyEdits(text, edits ?? []);
      diagnostics = await client.diagnostics(client.change(file, text));
    }
    expect(text).toBe(ADD);
    await writeFile(file, text);
    const { exitCode } = await tilescript({ cwd: folder, env: process.env, args: ["check", "add.ts"] });
    expect(exitCode).toBe(0);
  });

  test.each([
    ["a new requirement", ROWS, "requires: ({ N, BLOCK }) => [N.ge(BLOCK)],\n    grid"],
    [
      "one more requirement",
      ROWS.replace("grid:", "requires: ({ M }) => [M.ge(1)],\n    grid:"),
      "requires: ({ M, N, BLOCK }) => [M.ge(1), N.ge(BLOCK)],\n    grid",
    ],
    ["the range that a claim needs", GATHER, 'ids: tensor(tl.uint16, ["N"], { range: [0, "M"] })'],
  ])("offers %s that completes a proof", async (_, text, addition) => {
    await client.initialize();
    const diagnostics = await client.diagnostics(client.open(file, text));
    expect(diagnostics).toHaveLength(1);
    const range = { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } };
    const request = { textDocument: textDocument(file), range, context: { diagnostics: [] } };
    // The choice between a requirement and a mask is the author's, so no action applies it with others.
    const [action, ...others] = (await client.connection.sendRequest(CodeActionRequest.type, request)) ?? [];
    expect(others).toEqual([]);
    const edits = action && "edit" in action ? action.edit?.changes?.[pathToFileURL(file).href] : undefined;
    const fixed = applyEdits(text, edits ?? []);
    expect(fixed).toContain(addition);
    expect(await client.diagnostics(client.change(file, fixed))).toEqual([]);
  });

  test("shows the proof, the mask and the Python of an access", async () => {
    await client.initialize();
    client.open(file, ADD);
    const hover = (line: number, character: number) =>
      client.connection.sendRequest(HoverRequest.type, {
        textDocument: textDocument(file),
        position: { line: line - 1, character },
      });
    expect((await hover(19, 24))?.contents).toEqual({
      kind: "markdown",
      value: [
        "- the load from x: proved in bounds for all shapes and 1 config",
        "",
        "Mask: `offsets < N`",
        "",
        "```python",
        "mask = offsets < N",
        "values = tl.load(x_ptr + offsets * stride_xn, mask=mask, other=0.0)",
        "```",
      ].join("\n"),
    });
    expect(await hover(7, 8)).toBeNull();
  });

  test("shows the types of tiles if a setting says so", async () => {
    await client.initialize();
    client.open(file, ADD);
    const hints = () =>
      client.connection.sendRequest(InlayHintRequest.type, {
        textDocument: textDocument(file),
        range: { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } },
      });
    expect(await hints()).toEqual([]);
    const settings = { tilescript: { inlayHints: { shapes: true } } };
    await client.connection.sendNotification(DidChangeConfigurationNotification.type, { settings });
    expect(await hints()).toEqual([
      { position: { line: 17, character: 17 }, label: ": int32[BLOCK]", kind: 1 },
      { position: { line: 18, character: 16 }, label: ": float32[BLOCK]", kind: 1 },
    ]);
  });

  test("returns the Python of every kernel", async () => {
    await client.initialize();
    const example = join(project, "examples/softmax.ts");
    client.open(example, await readFile(example, "utf8"));
    const uri = pathToFileURL(example).href;
    const command = "tilescript.showPython";
    expect(
      await client.connection.sendRequest(ExecuteCommandRequest.type, { command, arguments: [uri] }),
    ).toMatchObject([
      { kernel: "softmax", file: "softmax.py", python: expect.stringContaining("def softmax_kernel(") },
    ]);
    await expect(client.connection.sendRequest(ExecuteCommandRequest.type, { command })).rejects.toThrow(/URI/);
  });

  test("ends a kernel that never ends when its text changes, and answers a cancelled request", async () => {
    await client.initialize();
    const endless = client.open(file, ADD.replace("const size", "for (;;);\n    const size"));
    const params = { textDocument: textDocument(file), position: { line: 19, character: 24 } };
    const source = new CancellationTokenSource();
    const hover = client.connection.sendRequest(HoverRequest.type, params, source.token);
    source.cancel();
    await expect(hover).rejects.toMatchObject({ code: -32800 });
    expect(await client.diagnostics(client.change(file, ADD))).toEqual([]);
    expect(client.published.some(({ version }) => version === endless)).toBe(false);
  });

  test("reports a kernel that never ends", async () => {
    await client.initialize();
    const diagnostics = await client.diagnostics(
      client.open(file, ADD.replace("const size", "for (;;);\n    const size")),
    );
    expect(diagnostics).toMatchObject([{ code: "kernel-file", message: expect.stringMatching(/longer than 20 s/) }]);
    expect(await client.end()).toBe(0);
  });

  test("runs no file that defines no kernel", async () => {
    await client.initialize();
    const script = join(folder, "script.ts");
    await writeFile(script, "");
    const text =
      'import { tl } from "tilescript";\nimport { writeFileSync } from "node:fs";\nwriteFileSync("ran", "");\n';
    expect(await client.diagnostics(client.open(script, text))).toEqual([]);
    await expect(readFile(join(folder, "ran"))).rejects.toThrow(/ENOENT/);
    client.close(script);
    await expect.poll(() => client.published.length).toBe(2);
  });
});

test("the command names the package that it needs", { timeout: 60_000 }, async () => {
  const hook = `export const resolve = (specifier, context, next) => {
    if (specifier.startsWith("vscode-")) throw Object.assign(new Error(specifier), { code: "ERR_MODULE_NOT_FOUND" });
    return next(specifier, context);
  };`;
  const url = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
  const preload = url(`import { register } from "node:module"; register(${JSON.stringify(url(hook))});`);
  const without = new LspClient(folder, { ...process.env, NODE_OPTIONS: `--import ${preload}` });
  const [code] = await new Promise<unknown[]>((resolve) => without.child.once("exit", (...args) => resolve(args)));
  expect({ code, stderr: without.stderr }).toEqual({
    code: 3,
    stderr:
      "error environment: the language server needs vscode-languageserver-protocol; `npm install --save-dev vscode-languageserver-protocol` installs it\n",
  });
});

function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const lines = text.split("\n");
  const offset = ({ line, character }: TextEdit["range"]["start"]): number =>
    lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, character);
  let result = text;
  for (const { range, newText } of [...edits].reverse())
    result = result.slice(0, offset(range.start)) + newText + result.slice(offset(range.end));
  return result;
}
