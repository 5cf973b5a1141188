/** Functions of Python files in the emitted module, with exactly what they need from their file. */
import { fail, type Location } from "../../diagnostics/diagnostic.js";
import { externFile, externSource } from "../../diagnostics/catalog/extern-codes.js";
import type { FunctionIR, KernelIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import type { Names } from "./names.js";
import { freeNames, type TopLevel, topLevel } from "../syntax/source.js";
import type { FromImport, Statement } from "../syntax/py.js";

export interface Externs {
  /** What the module calls each function. */
  readonly names: ReadonlyMap<FunctionIR, string>;
  readonly definitions: readonly Statement[];
  readonly imports: readonly FromImport[];
}

export const NO_EXTERNS: Externs = { names: new Map(), definitions: [], imports: [] };

/** The kind of a statement at the top level of the author's file. */
type Part =
  | { readonly kind: "function" | "constant"; readonly statement: TopLevel }
  | { readonly kind: "import"; readonly module: string }
  /** Something that a kernel cannot use, and why. */
  | { readonly kind: "other"; readonly why: string };

/** Names that every emitted module defines itself. */
const SHARED: Readonly<Record<string, string>> = { torch: "torch", triton: "triton", tl: "triton.language" };

/** @throws TileScriptError at the author's `tl.extern` if a function or what it needs cannot be embedded. */
export function embedExterns(ir: KernelIR, source: SourceIndex, taken: Names): Externs {
  const files = new Map<string, PythonFile>();
  const names = new Map<FunctionIR, string>();
  for (const helper of ir.functions) {
    const { extern, at } = helper;
    if (!extern) continue;
    const read = at && source.beside(at, extern.file);
    if (!read) fail(externFile.notThere(extern.file), at);
    let file = files.get(read.file);
    if (!file) files.set(read.file, (file = new PythonFile(extern.file, read.file, read.text)));
    names.set(helper, file.need(extern.name, at, taken));
  }
  const all = [...files.values()];
  return {
    names,
    definitions: all.length === 0 ? [] : [{ kind: "blank" }, ...all.flatMap((file) => file.definitions())],
    imports: all.flatMap((file) => file.imports()),
  };
}

class PythonFile {
  readonly #parts = new Map<string, Part>();
  /** Embedded definitions: from the name in the file to the name in the module. */
  readonly #renamed = new Map<string, string>();
  readonly #imported = new Map<string, string>();

  constructor(
    readonly shown: string,
    readonly path: string,
    readonly text: string,
  ) {
    for (const statement of topLevel(text)) for (const [name, part] of partsOf(statement)) this.#parts.set(name, part);
  }

  /** Embeds a function with its dependencies; returns its name in the module. */
  need(name: string, at: Location | undefined, taken: Names): string {
    const refuse = (why: string): never => fail(externSource(this.shown, why), at);
    const part = this.#parts.get(name);
    if (!part) return refuse(`has no function ${name} at its top level`);
    if (part.kind === "other") return refuse(`${name} ${part.why}`);
    if (part.kind !== "function") return refuse(`${name} is no function; name a @triton.jit function`);
    return this.#take(name, part.statement, taken, refuse);
  }

  #take(name: string, statement: TopLevel, taken: Names, refuse: (why: string) => never): string {
    const known = this.#renamed.get(name);
    if (known !== undefined) return known;
    const own = taken.keep(name);
    this.#renamed.set(name, own);
    for (const { text } of freeNames(statement)) {
      const part = this.#parts.get(text);
      if (!part || text === name) continue;
      if (part.kind === "other") refuse(`${name} uses ${text}, which ${part.why}`);
      else if (part.kind !== "import") this.#take(text, part.statement, taken, refuse);
      else if (SHARED[text] !== part.module) this.#import(text, part.module, name, refuse);
    }
    return own;
  }

  #import(name: string, module: string, user: string, refuse: (why: string) => never): void {
    const [from, imported] = module.split(":");
    if (imported === name && /^triton(?:\.|$)/.test(from!)) this.#imported.set(name, from!);
    else
      refuse(
        `${user} uses ${name}, imported from ${module.replace(":", ".")}; an emitted module imports torch, triton, triton.language as tl, and names of triton by their own name`,
      );
  }

  imports(): readonly FromImport[] {
    return [...this.#imported].map(([name, module]) => ({ kind: "fromImport", module, names: [{ name }] }));
  }

  definitions(): readonly Statement[] {
    const statements = new Set<TopLevel>();
    for (const part of this.#parts.values())
      if ("statement" in part && this.#renamed.has(nameOf(part.statement))) statements.add(part.statement);
    return [...statements].map((statement) => ({
      kind: "verbatim",
      text: this.#renamedText(statement),
      isDefinition: kindOf(statement) === "function",
      origin: { file: this.path, line: statement.line, column: 1 },
    }));
  }

  #renamedText(statement: TopLevel): string {
    let text = "";
    let done = statement.start;
    for (const { text: name, start } of freeNames(statement)) {
      const renamed = this.#renamed.get(name);
      if (renamed === undefined || renamed === name) continue;
      text += this.text.slice(done, start) + renamed;
      done = start + name.length;
    }
    return (text + this.text.slice(done, statement.end)).replaceAll("\r\n", "\n").trimEnd();
  }
}

function kindOf({ tokens }: TopLevel): "function" | "class" | "import" | "assignment" | "other" {
  const [first, second] = tokens;
  if (
    tokens.some(({ begins, text, depth }) => begins && text === "def" && depth === 0) &&
    /^(?:@|def|async)$/.test(first!.text)
  )
    return "function";
  if (/^(?:@|class)$/.test(first!.text)) return "class";
  if (first!.text === "import" || first!.text === "from") return "import";
  return first!.kind === "name" && /^[:=]$/.test(second?.text ?? "") ? "assignment" : "other";
}

function nameOf(statement: TopLevel): string {
  const { tokens } = statement;
  const def = tokens.findIndex(({ begins, text }) => begins && text === "def");
  return kindOf(statement) === "function" ? tokens[def + 1]!.text : tokens[0]!.text;
}

/** The names that a statement defines, with the kind of each. */
function partsOf(statement: TopLevel): readonly (readonly [string, Part])[] {
  const { tokens } = statement;
  const name = nameOf(statement);
  switch (kindOf(statement)) {
    case "function":
      return [[name, functionPart(statement)]];
    case "class": {
      const at = tokens.findIndex(({ begins, text }) => begins && text === "class");
      return at < 0 ? [] : [[tokens[at + 1]!.text, { kind: "other", why: "is a class; a kernel cannot hold one" }]];
    }
    case "import":
      return importsOf(statement);
    case "assignment": {
      const said = tokens.map(({ text }) => text).join("");
      const isConstant = /^\w+(?::tl\.constexpr)?=tl\.constexpr\(/.test(said);
      return [
        [
          name,
          isConstant
            ? { kind: "constant", statement }
            : { kind: "other", why: `is a global that Triton cannot read; write ${name} = tl.constexpr(…)` },
        ],
      ];
    }
    default:
      return [];
  }
}

function functionPart(statement: TopLevel): Part {
  const { tokens } = statement;
  const def = tokens.findIndex(({ begins, text }) => begins && text === "def");
  const head = tokens.slice(0, def);
  const decorators = head.filter(({ begins }) => begins).length;
  const said = head.map(({ text }) => text).join("");
  if (decorators === 0) return { kind: "other", why: "is an ordinary Python function; put @triton.jit above it" };
  if (decorators > 1 || !/^@triton\.(?:jit|constexpr_function)(?:\(|$)/.test(said))
    return { kind: "other", why: `has the decorators ${said}; only @triton.jit can be embedded` };
  return { kind: "function", statement };
}

/** `module:name` for `from module import name`. */
function importsOf({ tokens }: TopLevel): readonly (readonly [string, Part])[] {
  const words = tokens.map(({ text }) => text).filter((text) => text !== "(" && text !== ")");
  const isFrom = words[0] === "from";
  const middle = words.indexOf("import");
  const module = words.slice(1, middle).join("");
  const list = words
    .slice(middle + 1)
    .join(" ")
    .split(" , ");
  return list.map((each) => {
    const [path = "", alias] = each.replaceAll(" . ", ".").split(" as ");
    const bound = alias ?? (isFrom ? path : path.split(".")[0]!);
    const whole = isFrom ? `${module}:${path}` : alias === undefined ? bound : path;
    // `from triton import language as tl` is the same module.
    return [bound, { kind: "import", module: whole === "triton:language" ? "triton.language" : whole }] as const;
  });
}
