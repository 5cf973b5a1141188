/** Extern functions: functions of Python files, embedded in the emitted module with their dependencies. */
import { fail, type Location } from "../../diagnostics/diagnostic.js";
import { externFile, externSource } from "../../diagnostics/catalog/extern-codes.js";
import type { FunctionIR, KernelIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import type { Names } from "./names.js";
import type { FromImport, Statement } from "../syntax/py.js";

/** A minimal Python parser to extract functions from a file: tokens, and top-level statements. */

interface Token {
  readonly kind: "name" | "string" | "number" | "operator";
  readonly text: string;
  /** Offset in the text. */
  readonly start: number;
  /** True for the first token of a logical line. */
  readonly isLineStart: boolean;
  /** The number of open brackets before the token. */
  readonly depth: number;
}

/** A top-level statement, including its decorators and the comments directly above it. */
interface TopLevelStatement {
  readonly start: number;
  readonly end: number;
  /** Counts from 1. */
  readonly line: number;
  readonly tokens: Tokens;
}

type Tokens = readonly [Token, ...Token[]];

const TOKEN = new RegExp(
  [
    String.raw`(?<space>[ \t\f]+|\\\r?\n|#[^\n]*)`,
    String.raw`(?<newline>\r?\n)`,
    String.raw`(?<string>(?:[rRbBuUfF]{0,2})(?:"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'))`,
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)`,
    String.raw`(?<operator>\*\*=|//=|>>=|<<=|:=|->|[-+*/%&|^@=!<>]=|\*\*|//|<<|>>|[^\s\w])`,
  ].join("|"),
  "uy",
);

/** The kinds that the expression distinguishes. Any other token is an operator. */
const GROUP_KINDS = ["name", "string", "number"] as const;

function tokenize(text: string): readonly Token[] {
  const result: Token[] = [];
  let depth = 0;
  let isLineStart = true;
  for (const match of text.matchAll(new RegExp(TOKEN, "uyg"))) {
    const { groups = {} } = match;
    const { space, newline, operator } = groups;
    if (space !== undefined) continue;
    if (newline !== undefined) {
      isLineStart ||= depth === 0;
      continue;
    }
    if (operator !== undefined && ")]}".includes(operator)) depth--;
    const kind = GROUP_KINDS.find((each) => groups[each] !== undefined) ?? "operator";
    result.push({ kind, text: match[0], start: match.index, isLineStart, depth });
    isLineStart = false;
    if (operator !== undefined && "([{".includes(operator)) depth++;
  }
  return result;
}

/** The statements of a file, in order. */
function parseTopLevel(text: string): readonly TopLevelStatement[] {
  const isTopLevelStart = (token: Token) => token.isLineStart && (token.start === 0 || text[token.start - 1] === "\n");
  const groups: [Token, ...Token[]][] = [];
  for (const token of tokenize(text)) {
    const group = groups.at(-1);
    const isDecorated =
      group?.[0].text === "@" && !group.some((each) => each.isLineStart && /^(?:def|class|async)$/.test(each.text));
    const isContinuation = /^(?:else|elif|except|finally)$/.test(token.text);
    if (!group || (isTopLevelStart(token) && !isDecorated && !isContinuation)) groups.push([token]);
    else group.push(token);
  }
  return groups.map((group) => {
    const [first, ...others] = group;
    const last = others.at(-1) ?? first;
    // Include a trailing comment after the last token.
    const lineEnd = text.indexOf("\n", last.start + last.text.length);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const [comments = ""] = /(?:^#[^\n]*\n)*$/m.exec(text.slice(0, first.start)) ?? [];
    const start = first.start - comments.length;
    return { start, end, line: text.slice(0, start).split("\n").length, tokens: group };
  });
}

/** Names that a function binds: parameters, assignment targets, and loop targets. */
function boundNames(statement: TopLevelStatement): ReadonlySet<string> {
  const { tokens } = statement;
  const def = tokens.findIndex(({ text, isLineStart }) => isLineStart && text === "def");
  const bracket = tokens[def + 2];
  if (def < 0 || !bracket) return new Set();
  const signature = tokens.slice(def + 3);
  const end = signature.findIndex(({ depth }) => depth <= bracket.depth);
  const body = end < 0 ? [] : signature.slice(end);
  return new Set([
    ...parameterNames(bracket, end < 0 ? signature : signature.slice(0, end)),
    ...body.flatMap((token, i) => {
      if (token.kind !== "name") return [];
      if (token.text === "for") return loopTargets(body, i + 1);
      return token.isLineStart ? assignmentTargets(token, body, i) : [];
    }),
  ]);
}

function parameterNames(bracket: Token, parameters: readonly Token[]): readonly string[] {
  return parameters.flatMap((token, i) => {
    const previous = parameters[i - 1] ?? bracket;
    const isParameter = token.depth === bracket.depth + 1 && /^(?:\(|,|\*|\*\*)$/.test(previous.text);
    return isParameter && token.kind === "name" ? [token.text] : [];
  });
}

function loopTargets(tokens: readonly Token[], start: number): readonly string[] {
  const end = tokens.findIndex(({ text }, i) => i >= start && text === "in");
  return namesIn(tokens.slice(start, end < 0 ? undefined : end));
}

/** The names before `x = …`, `x: T = …`, `x, y = …`, `x += …`. */
function assignmentTargets(first: Token, tokens: readonly Token[], start: number): readonly string[] {
  let end = start + 1;
  while (tokens[end]?.text === "," && tokens[end + 1]?.kind === "name") end += 2;
  const operator = tokens[end];
  const isAssignment =
    operator?.depth === first.depth && /^(?:[-+*/%&|^@]?=|\/\/=|\*\*=|>>=|<<=|:)$/.test(operator.text);
  return isAssignment ? namesIn(tokens.slice(start, end)) : [];
}

const namesIn = (tokens: readonly Token[]): readonly string[] =>
  tokens.flatMap(({ kind, text }) => (kind === "name" ? [text] : []));

/** The tokens that refer to names of the file: no locals, attributes or keyword argument names. */
function freeNames(statement: TopLevelStatement): readonly Token[] {
  const bound = boundNames(statement);
  return statement.tokens.filter((token, i) => {
    if (token.kind !== "name" || bound.has(token.text)) return false;
    if (statement.tokens[i - 1]?.text === ".") return false;
    return !(token.depth > 0 && statement.tokens[i + 1]?.text === "=");
  });
}

export interface Externs {
  /** The module's name of each function. */
  readonly names: ReadonlyMap<FunctionIR, string>;
  readonly definitions: readonly Statement[];
  readonly imports: readonly FromImport[];
}

export const NO_EXTERNS: Externs = { names: new Map(), definitions: [], imports: [] };

/** A top-level name of the author's Python file. */
type FileEntry =
  | { readonly kind: "function" | "constant"; readonly statement: TopLevelStatement }
  | { readonly kind: "import"; readonly module: string }
  /** A name that a kernel cannot use. */
  | { readonly kind: "other"; readonly reason: string };

/** The imports of every emitted module: from name to module. */
const MODULE_IMPORTS: Readonly<Record<string, string>> = { torch: "torch", triton: "triton", tl: "triton.language" };

/** @throws TileScriptError at the author's `tl.extern` if a function or one of its dependencies cannot be embedded. */
export function embedExterns(ir: KernelIR, source: SourceIndex, reserved: Names): Externs {
  const files = new Map<string, PythonFile>();
  const names = new Map<FunctionIR, string>();
  for (const helper of ir.functions) {
    const { extern, at } = helper;
    if (!extern) continue;
    const pythonSource = at && source.readRelative(at, extern.file);
    if (!pythonSource) fail(externFile.notThere(extern.file), at);
    let file = files.get(pythonSource.file);
    if (!file) files.set(pythonSource.file, (file = new PythonFile(extern.file, pythonSource.file, pythonSource.text)));
    names.set(helper, file.embed(extern.name, at, reserved));
  }
  const pythonFiles = [...files.values()];
  return {
    names,
    definitions:
      pythonFiles.length === 0 ? [] : [{ kind: "blank" }, ...pythonFiles.flatMap((file) => file.definitions())],
    imports: pythonFiles.flatMap((file) => file.imports()),
  };
}

class PythonFile {
  readonly #entries = new Map<string, FileEntry>();
  /** Embedded definitions: from the name in the file to the name in the module. */
  readonly #moduleNames = new Map<string, string>();
  readonly #importedFrom = new Map<string, string>();

  constructor(
    readonly displayPath: string,
    readonly path: string,
    readonly text: string,
  ) {
    for (const statement of parseTopLevel(text))
      for (const [name, entry] of entriesOf(statement)) this.#entries.set(name, entry);
  }

  /** Embeds a function with its dependencies. Returns its name in the module. */
  embed(name: string, at: Location | undefined, reserved: Names): string {
    const failWith = (reason: string): never => fail(externSource(this.displayPath, reason), at);
    const entry = this.#entries.get(name);
    if (!entry) return failWith(`has no function ${name} at its top level`);
    if (entry.kind === "other") return failWith(`${name} ${entry.reason}`);
    if (entry.kind !== "function") return failWith(`${name} is no function; name a @triton.jit function`);
    return this.#embedStatement(name, entry.statement, reserved, failWith);
  }

  #embedStatement(
    name: string,
    statement: TopLevelStatement,
    reserved: Names,
    failWith: (reason: string) => never,
  ): string {
    const existing = this.#moduleNames.get(name);
    if (existing !== undefined) return existing;
    const moduleName = reserved.reserve(name);
    this.#moduleNames.set(name, moduleName);
    for (const { text } of freeNames(statement)) {
      const entry = this.#entries.get(text);
      if (!entry || text === name) continue;
      if (entry.kind === "other") failWith(`${name} uses ${text}, which ${entry.reason}`);
      else if (entry.kind !== "import") this.#embedStatement(text, entry.statement, reserved, failWith);
      else if (MODULE_IMPORTS[text] !== entry.module) this.#import(text, entry.module, name, failWith);
    }
    return moduleName;
  }

  #import(name: string, module: string, user: string, failWith: (reason: string) => never): void {
    const [fromModule = "", importedName] = module.split(":");
    if (importedName === name && /^triton(?:\.|$)/.test(fromModule)) this.#importedFrom.set(name, fromModule);
    else
      failWith(
        `${user} uses ${name}, imported from ${module.replace(":", ".")}; an emitted module imports torch, triton, triton.language as tl, and names of triton by their own name`,
      );
  }

  imports(): readonly FromImport[] {
    return [...this.#importedFrom].map(([name, module]) => ({ kind: "fromImport", module, names: [{ name }] }));
  }

  definitions(): readonly Statement[] {
    const statements = new Set<TopLevelStatement>();
    for (const [name, entry] of this.#entries)
      if ("statement" in entry && this.#moduleNames.has(name)) statements.add(entry.statement);
    return [...statements].map((statement) => ({
      kind: "verbatim",
      text: this.#textWithRenames(statement),
      isDefinition: kindOf(statement) === "function",
      origin: { file: this.path, line: statement.line, column: 1 },
    }));
  }

  #textWithRenames(statement: TopLevelStatement): string {
    let text = "";
    let offset = statement.start;
    for (const { text: name, start } of freeNames(statement)) {
      const newName = this.#moduleNames.get(name);
      if (newName === undefined || newName === name) continue;
      text += this.text.slice(offset, start) + newName;
      offset = start + name.length;
    }
    return (text + this.text.slice(offset, statement.end)).replaceAll("\r\n", "\n").trimEnd();
  }
}

function kindOf({ tokens }: TopLevelStatement): "function" | "class" | "import" | "assignment" | "other" {
  const [first, second] = tokens;
  if (
    tokens.some(({ isLineStart, text, depth }) => isLineStart && text === "def" && depth === 0) &&
    /^(?:@|def|async)$/.test(first.text)
  )
    return "function";
  if (/^(?:@|class)$/.test(first.text)) return "class";
  if (first.text === "import" || first.text === "from") return "import";
  return first.kind === "name" && /^[:=]$/.test(second?.text ?? "") ? "assignment" : "other";
}

/** The name after a keyword at the start of a line. */
function nameAfter(keyword: string, { tokens }: TopLevelStatement): string | undefined {
  const index = tokens.findIndex(({ isLineStart, text }) => isLineStart && text === keyword);
  return index < 0 ? undefined : tokens[index + 1]?.text;
}

/** The names that a top-level statement defines. */
function entriesOf(statement: TopLevelStatement): readonly (readonly [string, FileEntry])[] {
  const { tokens } = statement;
  const kind = kindOf(statement);
  switch (kind) {
    case "function": {
      const name = nameAfter("def", statement);
      return name === undefined ? [] : [[name, functionEntry(statement)]];
    }
    case "class": {
      const name = nameAfter("class", statement);
      return name === undefined ? [] : [[name, { kind: "other", reason: "is a class; a kernel cannot hold one" }]];
    }
    case "import":
      return importsOf(statement);
    case "assignment": {
      const name = tokens[0].text;
      const code = tokens.map(({ text }) => text).join("");
      const isConstant = /^\w+(?::tl\.constexpr)?=tl\.constexpr\(/.test(code);
      return [
        [
          name,
          isConstant
            ? { kind: "constant", statement }
            : { kind: "other", reason: `is a global that Triton cannot read; write ${name} = tl.constexpr(…)` },
        ],
      ];
    }
    case "other":
      return [];
    default:
      return kind satisfies never;
  }
}

function functionEntry(statement: TopLevelStatement): FileEntry {
  const { tokens } = statement;
  const def = tokens.findIndex(({ isLineStart, text }) => isLineStart && text === "def");
  const head = tokens.slice(0, def);
  const decorators = head.filter(({ isLineStart }) => isLineStart).length;
  const decoratorText = head.map(({ text }) => text).join("");
  if (decorators === 0) return { kind: "other", reason: "is an ordinary Python function; put @triton.jit above it" };
  if (decorators > 1 || !/^@triton\.(?:jit|constexpr_function)(?:\(|$)/.test(decoratorText))
    return { kind: "other", reason: `has the decorators ${decoratorText}; only @triton.jit can be embedded` };
  return { kind: "function", statement };
}

/** `module:name` for `from module import name`. */
function importsOf({ tokens }: TopLevelStatement): readonly (readonly [string, FileEntry])[] {
  const texts = tokens.map(({ text }) => text).filter((text) => text !== "(" && text !== ")");
  const isFrom = texts[0] === "from";
  const importIndex = texts.indexOf("import");
  const module = texts.slice(1, importIndex).join("");
  const items = texts
    .slice(importIndex + 1)
    .join(" ")
    .split(" , ");
  return items.map((item): readonly [string, FileEntry] => {
    const [path = "", alias] = item.replaceAll(" . ", ".").split(" as ");
    if (!isFrom) {
      const [root = ""] = path.split(".");
      return [alias ?? root, { kind: "import", module: alias === undefined ? root : path }];
    }
    // `from triton import language as tl` is the same module.
    const isLanguage = module === "triton" && path === "language";
    return [alias ?? path, { kind: "import", module: isLanguage ? "triton.language" : `${module}:${path}` }];
  });
}
