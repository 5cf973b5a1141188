/** Names of torch that an author writes: an identifier goes into Python as it is, anything else is refused at its line. */
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { requirePython } from "../../support/python.js";
import { fc } from "../../support/property.js";

/** Where a name can be written. */
const places: Readonly<Record<string, (name: string, x: any, torch: any) => unknown>> = {
  "a function": (name, x, torch) => torch[name](x),
  "a function of a module": (name, x, torch) => torch.nn.functional[name](x),
  "a module": (name, x, torch) => torch[name].exp(x),
  "a method": (name, x) => x[name](),
  "an attribute": (name, x) => x[name].add(1),
  "a method of a result": (name, x) => x.exp()[name](2),
  "a keyword of a function": (name, x, torch) => torch.exp(x, { [name]: 1 }),
  "a keyword of a method": (name, x) => x.exp({ [name]: 1 }),
};

function python(place: string, name: string): string {
  const k = kernel(
    "k",
    {
      params: { x: tensor(tl.float32, [4]), out: tensor.out(tl.float32, [4]) },
      grid: () => [1],
      reference: ({ x }, torch) => places[place]!(name, x, torch) as never,
    },
    ({ x, out }) => tl.store(out.at(tl.arange(0, 4)), tl.load(x.at(tl.arange(0, 4)))),
  );
  return compile(k).python;
}

/** The module, or the message that refuses it. */
function outcome(place: string, name: string): { readonly module: string } | { readonly refused: TileScriptError } {
  try {
    return { module: python(place, name) };
  } catch (error) {
    if (error instanceof TileScriptError) return { refused: error };
    throw error;
  }
}

const payloads = [
  "",
  " ",
  "sum(); import os; os.system('true')",
  "sum()\n    import os",
  "sum\n",
  "a b",
  "a.b",
  "a-b",
  "a=1, b",
  "a#",
  "a'",
  'a"',
  "a\\",
  "a)",
  "(a",
  "[0]",
  "1a",
  "-1",
  "1.5",
  "a;b",
  "a:b",
  "a\u0000b",
  "a\u2028b",
  "ä",
  "ｅｘｐ",
  "a\u202Eb",
  "*",
  "**kwargs",
  "lambda",
  "class",
  "None",
  "True",
  "await",
  "import",
  "__debug__",
  "f'{1}'",
  "@a",
  "$",
  "9".repeat(400),
];
const harmless = ["exp", "_private", "__class__", "B2", "match", "type", "constructor", "toString", "hasOwnProperty"];

describe("names of torch in Python", () => {
  test.each(Object.keys(places))("%s that is no identifier is refused at the author's line", (place) => {
    for (const name of payloads) {
      const found = outcome(place, name);
      if (!("refused" in found)) throw new Error(`${JSON.stringify(name)} was recorded:\n${found.module}`);
      const { code, message, at } = found.refused.diagnostics[0]!;
      expect(code).toBe("python-name");
      expect(message).toContain(`${JSON.stringify(name)} cannot be the name of a `);
      expect(at?.file).toMatch(/torch-names\.test\.ts$/);
      const line = Object.keys(places).indexOf(place);
      const first = Object.keys(places)[0]!;
      expect(at!.line - line).toBe(firstLine(first));
    }
  });

  test("torch itself is not a function", () => {
    const k = () =>
      kernel(
        "k",
        {
          params: { x: tensor(tl.float32, [4]), out: tensor.out(tl.float32, [4]) },
          grid: () => [1],
          reference: ({ x }, torch) => (torch as any)(x),
        },
        ({ x, out }) => tl.store(out.at(tl.arange(0, 4)), tl.load(x.at(tl.arange(0, 4)))),
      );
    expect(() => compile(k())).toThrow("torch is not a function; call one of its functions");
  });

  test("what is recorded is a module that Python parses, with the name as it was written", async () => {
    const modules: [name: string, module: string][] = [];
    const take = (place: string, name: string): void => {
      const found = outcome(place, name);
      if ("module" in found) modules.push([name, found.module]);
    };
    const words = fc.oneof(fc.string({ maxLength: 6 }), fc.stringMatching(/^[A-Za-z_]\w{0,5}$/));
    const drawn = fc.sample(words, { numRuns: 8 * harmless.length, seed: 7 });
    Object.keys(places).forEach((place, i) => {
      harmless.forEach((name, j) => [name, drawn[i * harmless.length + j]!].forEach((each) => take(place, each)));
    });
    expect(modules.length).toBeGreaterThan(harmless.length * Object.keys(places).length);
    const check = `import ast, json, sys
for name, module in json.load(sys.stdin):
    found = {node.attr for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Attribute)}
    found |= {node.arg for node in ast.walk(ast.parse(module)) if isinstance(node, ast.keyword)}
    assert name in found, name`;
    await execa(await requirePython(), ["-c", check], { input: JSON.stringify(modules) });
  });
});

/** The line of the first place in this file. */
function firstLine(place: string): number {
  const at = (outcome(place, "a b") as { refused: TileScriptError }).refused.diagnostics[0]!.at!;
  return at.line;
}
