/**
 * Rolls up the declarations that a user's types can name, from all that tsc writes, into one file per entry. An
 * exported name of an entry brings the names that it refers to, transitively. Everything else is omitted, also comments
 * that no editor shows. The declarations that the first entry needs are in a separate file, from which all entries
 * import.
 */
import { ts } from "@ts-morph/common";
import { dirname, join, relative } from "node:path";
import { type Binding, type Declaration, DeclaredFiles, fileOf, namesOf, type ReadFile } from "./declared-files.js";
import { type Reference, referencesIn } from "./references.js";

const SHARED = "declarations.d.ts";

/** The text of each file, by its path. */
export function declarationsOf(entries: readonly string[], read: ReadFile): ReadonlyMap<string, string> {
  const rollup = new DeclarationRollup(entries, read);
  return rollup.written();
}

/** A declaration in the output. */
interface KeptDeclaration extends Declaration {
  /** The output file. */
  home: string;
  readonly references: readonly (Reference & { readonly binding: Binding | undefined })[];
}

class DeclarationRollup {
  readonly #files: DeclaredFiles;
  readonly #entries: readonly string[];
  readonly #shared: string;
  readonly #kept = new Map<ts.Statement, KeptDeclaration>();
  /** Files that are imported as a whole, as by `import * as names`. */
  readonly #modules = new Set<string>();
  /** Names in the output, by the binding that they stand for. */
  readonly #names = new Map<string, string>();
  /** The statements whose names users can write. */
  readonly #public = new Set<ts.Statement>();

  constructor(entries: readonly string[], read: ReadFile) {
    this.#files = new DeclaredFiles(read);
    this.#entries = entries;
    this.#shared = join(dirname(entries[0]!), SHARED);
    entries.forEach((entry, i) => this.#entry(entry, i === 0 ? this.#shared : entry));
    this.#nameAll();
  }

  #entry(entry: string, home: string): void {
    const reachable = this.#files.reachable(entry);
    for (const { binding } of this.#files.exports(entry).values()) {
      this.#declarations(binding).forEach(({ statement }) => this.#public.add(statement));
      this.#need(binding, home);
    }
    for (const file of reachable) for (const addition of this.#files.file(file).additions) this.#keep(addition, home);
  }

  #declarations(binding: Binding): readonly Declaration[] {
    return binding.kind === "declared" ? this.#files.file(binding.file).declared.get(binding.name)! : [];
  }

  #need(binding: Binding, home: string): void {
    this.#declarations(binding).forEach((each) => this.#keep(each, home));
    if (binding.kind !== "module" || this.#modules.has(binding.file)) return;
    this.#modules.add(binding.file);
    for (const exportedName of this.#files.exports(binding.file).values()) {
      this.#need(exportedName.binding, home);
      // An editor shows no comments of members of a module from another file.
      for (const { statement } of this.#declarations(exportedName.binding)) {
        this.#public.add(statement);
        this.#kept.get(statement)!.home = binding.file;
      }
    }
  }

  #keep({ statement, scopes }: Declaration, home: string): void {
    if (this.#kept.has(statement)) return;
    const references = referencesIn(statement).map((reference) => {
      const module = reference.module === undefined ? undefined : fileOf(scopes.at(-1)!, reference.module);
      const { name } = reference;
      const binding = module === undefined ? this.#files.inScope(scopes, name) : this.#files.export(module, name);
      return { ...reference, binding };
    });
    this.#kept.set(statement, { statement, scopes, home, references });
    for (const { binding } of references) if (binding) this.#need(binding, home);
  }

  /** Declarations of several files may have the same name: the exported one keeps it. */
  #nameAll(): void {
    const takenNames = new Set<string>();
    const references = [...this.#kept.values()].flatMap(({ references }) => references);
    for (const { name, binding } of references) if (!binding || binding.kind === "package") takenNames.add(name);
    const assignName = (binding: Binding | undefined, preferredName: string): void => {
      if (!binding || binding.kind === "package" || this.#names.has(keyOf(binding))) return;
      let name = preferredName;
      for (let i = 1; takenNames.has(name); i++) name = `${preferredName}$${i}`;
      takenNames.add(name);
      this.#names.set(keyOf(binding), name);
    };
    for (const entry of this.#entries)
      for (const [name, { binding }] of this.#files.exports(entry)) assignName(binding, name);
    for (const { name, binding } of references) assignName(binding, binding?.kind === "declared" ? binding.name : name);
  }

  written(): ReadonlyMap<string, string> {
    const files = [this.#shared, ...this.#entries, ...this.#modules];
    return new Map(files.map((file) => [file, this.#written(file)]));
  }

  #written(home: string): string {
    const declarations = [...this.#kept.values()].filter((each) => each.home === home);
    const imports = this.#imports(
      home,
      declarations.flatMap(({ references }) => references),
    );
    const files = [...new Set(declarations.map(({ scopes }) => scopes.at(-1)!))];
    const sorted = files.flatMap((file) =>
      declarations.filter(({ scopes }) => scopes.at(-1) === file).sort((a, b) => a.statement.pos - b.statement.pos),
    );
    const exports = home === this.#shared ? [] : this.#exports(home);
    return [...imports, ...sorted.map((each) => this.#textOf(each)), ...exports, ""].join("\n");
  }

  #imports(home: string, references: KeptDeclaration["references"]): readonly string[] {
    const lines = new Set<string>();
    const importedNames = new Map<string, Set<string>>();
    for (const { binding } of references) {
      if (binding?.kind === "package") lines.add(binding.statement.getText());
      if (!binding || binding.kind === "package") continue;
      const name = this.#names.get(keyOf(binding))!;
      if (binding.kind === "module") lines.add(`import * as ${name} from ${specifier(home, binding.file)};`);
      const sourceHome = this.#declarations(binding).map(({ statement }) => this.#kept.get(statement)!.home)[0] ?? home;
      if (sourceHome !== home) importedNames.set(sourceHome, (importedNames.get(sourceHome) ?? new Set()).add(name));
    }
    const lists = [...importedNames].map(
      ([source, names]) => `import type { ${[...names].join(", ")} } from ${specifier(home, source)};`,
    );
    return [...lines, ...lists];
  }

  /** The exports of a file, except declarations with an `export` modifier. */
  #exports(home: string): readonly string[] {
    const lines: string[] = [];
    const lists = new Map<string, string[]>();
    for (const [name, { binding, isType }] of this.#files.exports(home)) {
      if (binding.kind === "module") lines.push(`export * as ${name} from ${specifier(home, binding.file)};`);
      if (binding.kind !== "declared") continue;
      const declaration = this.#kept.get(this.#declarations(binding)[0]!.statement)!;
      if (declaration.home === home && this.#isExported(declaration)) continue;
      const localName = this.#names.get(keyOf(binding))!;
      const fromClause = declaration.home === home ? "" : ` from ${specifier(home, declaration.home)}`;
      const list = `${isType ? "type " : ""}\n${fromClause}`;
      lists.set(list, [...(lists.get(list) ?? []), localName === name ? name : `${localName} as ${name}`]);
    }
    for (const [list, names] of lists) lines.push(`export ${list.replace("\n", `{ ${names.join(", ")} }`)};`);
    // Without a list every declaration is exported.
    return lists.size > 0 ? lines : [...lines, "export {};"];
  }

  /** True if it is exported under its local name. */
  #isExported({ statement, scopes, home }: KeptDeclaration): boolean {
    if (ts.isModuleDeclaration(statement)) return false;
    const exports = this.#files.exports(home);
    return namesOf(statement).every((name) => {
      const localName = this.#names.get(keyOf({ kind: "declared", file: scopes[0]!, name }));
      const binding = localName === undefined ? undefined : exports.get(localName)?.binding;
      return binding?.kind === "declared" && binding.file === scopes[0] && binding.name === name;
    });
  }

  /** The text of a declaration, with renamed references. */
  #textOf(declaration: KeptDeclaration): string {
    const { statement, references, home } = declaration;
    const start = statement.getStart();
    const renames = references.flatMap(({ start: from, end, binding }) => {
      const to = binding && binding.kind !== "package" ? this.#names.get(keyOf(binding))! : undefined;
      return to === undefined ? [] : [{ from, end, to }];
    });
    const edits = [...renames, ...privateComments(statement)].sort((a, b) => b.from - a.from);
    let text = statement.getSourceFile().text.slice(start, statement.end);
    for (const { from, end, to } of edits) text = text.slice(0, from - start) + to + text.slice(end - start);
    const undecorated = text.replace(/^export /, "").replace(/^(?=const |let |function |class |abstract )/, "declare ");
    const comment = this.#public.has(statement) && ts.getJSDocCommentsAndTags(statement).findLast(ts.isJSDoc);
    const isExported = home === this.#shared ? !ts.isModuleDeclaration(statement) : this.#isExported(declaration);
    return `${comment ? `${comment.getText()}\n` : ""}${isExported ? "export " : ""}${undecorated}`;
  }
}

const keyOf = (binding: Exclude<Binding, { kind: "package" }>): string =>
  `${binding.file}\n${binding.kind === "declared" ? binding.name : "*"}`;

const specifier = (fromFile: string, toFile: string): string => {
  const path = relative(dirname(fromFile), toFile)
    .replaceAll("\\", "/")
    .replace(/\.d\.ts$/, ".js");
  return path.startsWith(".") ? `"${path}"` : `"./${path}"`;
};

/** Edits that remove the comments of private members. */
function privateComments(statement: ts.Statement): readonly { from: number; end: number; to: string }[] {
  if (!ts.isClassDeclaration(statement)) return [];
  return statement.members
    .filter((member) => (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0)
    .map((member) => ({ from: member.getStart(undefined, true), end: member.getStart(), to: "" }));
}
