/** Helpers that a kernel imports: the source pass reads them wherever TypeScript finds them, or says that it did not. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSourceIndex } from "../../../src/source/call-site-index.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "tilescript-imports-")));
afterAll(() => rmSync(folder, { recursive: true }));

const PICK = "export const pick = (c, a, b) => (c ? a : b);\n";
const json = (value: unknown) => JSON.stringify(value);

const FILES: Readonly<Record<string, string>> = {
  "project/tsconfig.json": `{ /* with comments */ "compilerOptions": { "paths": { "@/*": ["./lib/*"] }, "module": "nodenext" } }`,
  "project/package.json": json({ name: "project", type: "module", imports: { "#helpers": "./lib/private.ts" } }),
  "project/lib/aliased.ts": PICK,
  "project/lib/private.ts": PICK,
  "project/lib/prelude.ts": 'export { tl } from "tilescript";\n',
  "project/node_modules/plain/package.json": json({ name: "plain", type: "module", exports: { "./*": "./src/*.js" } }),
  "project/node_modules/plain/src/helpers.js": PICK,
  "project/node_modules/declared/package.json": json({ name: "declared", types: "./index.d.ts", main: "./index.node" }),
  "project/node_modules/declared/index.d.ts": "export declare const pick: (c: any, a: any, b: any) => any;\n",
  "project/node_modules/ours/package.json": json({
    name: "ours",
    main: "index.js",
    peerDependencies: { tilescript: "*" },
  }),
  "project/node_modules/ours/index.js": 'export { tl } from "tilescript";\n',
  "linked/package.json": json({ name: "linked", exports: "./main.ts" }),
  "linked/main.ts": PICK,
};

beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(join(folder, "linked"), join(folder, "project/node_modules/linked"));
});

let count = 0;

/** What the pass says of a kernel that imports this and has this body: `file:line severity code: message`. */
function said(imports: string, body = "tl.store(a, pick(n.gt(3), a, b));"): string[] {
  const path = join(folder, `project/kernel${count++}.ts`);
  const head = imports.includes("tl }") ? "kernel" : "kernel, tl";
  const text = `import { ${head} } from "tilescript";\n${imports}\nkernel("k", {}, ({ a, b, n }) => {\n${body}\n});\n`;
  writeFileSync(path, text);
  return createSourceIndex()
    .lint([path])
    .map(({ at, severity, code, message }) => {
      const file = at!.file === path ? "kernel" : at!.file.slice(folder.length + 1);
      return `${file}:${at!.line} ${severity} ${code}: ${message}`;
    });
}

describe("a helper is read", () => {
  test.each([
    ["by a path of tsconfig.json", "@/aliased", "project/lib/aliased.ts"],
    ["by an import of package.json", "#helpers", "project/lib/private.ts"],
    ["by the exports of a package", "plain/helpers", "project/node_modules/plain/src/helpers.js"],
    ["by a workspace link", "linked", "linked/main.ts"],
    ["by its relative path", "./lib/aliased.js", "project/lib/aliased.ts"],
  ])("%s", (_, from, file) => {
    const found = `${file}:1 error traced-condition: `;
    expect(said(`import { pick } from "${from}";`)).toEqual([expect.stringContaining(found)]);
    expect(said(`import * as all from "${from}";`, "tl.store(a, all.pick(n.gt(3), a, b));")).toEqual([
      expect.stringContaining(found),
    ]);
  });

  test.each(["@/prelude", "ours"])("and so is a module that hands on tl: %s", (from) => {
    expect(said(`import { tl } from "${from}";`, "if (tl.programId(0)) {}")).toEqual([
      expect.stringMatching(/^kernel:4 error traced-condition: `if`/),
    ]);
  });
});

describe("a helper that cannot be read", () => {
  test.each([
    ["of Node", 'import { isDeepStrictEqual as pick } from "node:util";', "isDeepStrictEqual", "node:util"],
    ["with declarations only", 'import { pick } from "declared";', "pick", "declared"],
    ["that is not installed", 'import { pick } from "absent";', "pick", "absent"],
  ])("%s is named where it gets a traced value", (_, imports, name, from) => {
    expect(said(imports)).toEqual([
      expect.stringMatching(`^kernel:4 warning unread-source: the source of ${name} from "${from}" cannot be read`),
    ]);
  });

  test("is not mentioned where it gets none", () => {
    expect(said('import { join } from "node:path";\nimport { f } from "absent";', 'join("a", "b"); f(3);')).toEqual([]);
  });
});
