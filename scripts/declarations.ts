/**
 * The declarations that a user's types can name, of all that tsc writes, in a file for each entry. An exported name of
 * an entry brings what it names, and so on; the rest is left out, and so are comments that no editor shows. What the
 * first entry needs lies in a file of its own, of which that entry and the others take what they export or name.
 */
import { ts } from "@ts-morph/common";
import { dirname, join, relative } from "node:path";
import { type Binding, type Declaration, DeclaredFiles, fileOf, namesOf, type ReadFile } from "./declared-files.js";
import { type Reference, referencesIn } from "./references.js";

const SHARED = "declarations.d.ts";

/** The text of each file, by its path. */
export function declarationsOf(entries: readonly string[], read: ReadFile): ReadonlyMap<string, string> {
  const rolled = new RolledUp(entries, read);
  return rolled.written();
}

/** A declaration that is kept. */
interface Kept extends Declaration {
  /** The file that it is written into. */
  home: string;
  readonly references: readonly (Reference & { readonly binding: Binding | undefined })[];
}

class RolledUp {
  readonly #files: DeclaredFiles;
  readonly #entries: readonly string[];
  readonly #shared: string;
  readonly #kept = new Map<ts.Statement, Kept>();
  /** Files that are named as a whole, as `import * as names` does. */
  readonly #modules = new Set<string>();
  /** Names in what is written, by what they stand for. */
  readonly #names = new Map<string, string>();
  /** What users can write the name of. */
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
    for (const file of reachable) for (const each of this.#files.file(file).additions) this.#keep(each, home);
  }

  #declarations(binding: Binding): readonly Declaration[] {
    return binding.kind === "declared" ? this.#files.file(binding.file).declared.get(binding.name)! : [];
  }

  #need(binding: Binding, home: string): void {
    this.#declarations(binding).forEach((each) => this.#keep(each, home));
    if (binding.kind !== "module" || this.#modules.has(binding.file)) return;
    this.#modules.add(binding.file);
    for (const exported of this.#files.exports(binding.file).values()) {
      this.#need(exported.binding, home);
      // An editor shows no comments of members of a module that it has from elsewhere.
      for (const { statement } of this.#declarations(exported.binding)) {
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

  /** Declarations of several files may have one name: that which is exported keeps it. */
  #nameAll(): void {
    const taken = new Set<string>();
    const all = [...this.#kept.values()].flatMap(({ references }) => references);
    for (const { name, binding } of all) if (!binding || binding.kind === "package") taken.add(name);
    const give = (binding: Binding | undefined, wanted: string): void => {
      if (!binding || binding.kind === "package" || this.#names.has(keyOf(binding))) return;
      let name = wanted;
      for (let i = 1; taken.has(name); i++) name = `${wanted}$${i}`;
      taken.add(name);
      this.#names.set(keyOf(binding), name);
    };
    for (const entry of this.#entries)
      for (const [name, { binding }] of this.#files.exports(entry)) give(binding, name);
    for (const { name, binding } of all) give(binding, binding?.kind === "declared" ? binding.name : name);
  }

  written(): ReadonlyMap<string, string> {
    const files = [this.#shared, ...this.#entries, ...this.#modules];
    return new Map(files.map((file) => [file, this.#written(file)]));
  }

  #written(home: string): string {
    const kept = [...this.#kept.values()].filter((each) => each.home === home);
    const imports = this.#imports(
      home,
      kept.flatMap(({ references }) => references),
    );
    const files = [...new Set(kept.map(({ scopes }) => scopes.at(-1)!))];
    const inOrder = files.flatMap((file) =>
      kept.filter(({ scopes }) => scopes.at(-1) === file).sort((a, b) => a.statement.pos - b.statement.pos),
    );
    const exports = home === this.#shared ? [] : this.#exports(home);
    return [...imports, ...inOrder.map((each) => this.#textOf(each)), ...exports, ""].join("\n");
  }

  #imports(home: string, references: Kept["references"]): readonly string[] {
    const lines = new Set<string>();
    const named = new Map<string, Set<string>>();
    for (const { binding } of references) {
      if (binding?.kind === "package") lines.add(binding.statement.getText());
      if (!binding || binding.kind === "package") continue;
      const name = this.#names.get(keyOf(binding))!;
      if (binding.kind === "module") lines.add(`import * as ${name} from ${specifier(home, binding.file)};`);
      const from = this.#declarations(binding).map(({ statement }) => this.#kept.get(statement)!.home)[0] ?? home;
      if (from !== home) named.set(from, (named.get(from) ?? new Set()).add(name));
    }
    const lists = [...named].map(
      ([from, names]) => `import type { ${[...names].join(", ")} } from ${specifier(home, from)};`,
    );
    return [...lines, ...lists];
  }

  /** What a file exports, but for declarations that say so themselves. */
  #exports(home: string): readonly string[] {
    const lines: string[] = [];
    const lists = new Map<string, string[]>();
    for (const [name, { binding, isType }] of this.#files.exports(home)) {
      if (binding.kind === "module") lines.push(`export * as ${name} from ${specifier(home, binding.file)};`);
      if (binding.kind !== "declared") continue;
      const kept = this.#kept.get(this.#declarations(binding)[0]!.statement)!;
      if (kept.home === home && this.#isExported(kept)) continue;
      const written = this.#names.get(keyOf(binding))!;
      const from = kept.home === home ? "" : ` from ${specifier(home, kept.home)}`;
      const list = `${isType ? "type " : ""}\n${from}`;
      lists.set(list, [...(lists.get(list) ?? []), written === name ? name : `${written} as ${name}`]);
    }
    for (const [list, names] of lists) lines.push(`export ${list.replace("\n", `{ ${names.join(", ")} }`)};`);
    // Without a list every declaration is exported.
    return lists.size > 0 ? lines : [...lines, "export {};"];
  }

  /** Whether it is exported under the name that it has where it is written. */
  #isExported({ statement, scopes, home }: Kept): boolean {
    if (ts.isModuleDeclaration(statement)) return false;
    const exports = this.#files.exports(home);
    return namesOf(statement).every((name) => {
      const own = this.#names.get(keyOf({ kind: "declared", file: scopes[0]!, name }));
      const binding = own === undefined ? undefined : exports.get(own)?.binding;
      return binding?.kind === "declared" && binding.file === scopes[0] && binding.name === name;
    });
  }

  /** A declaration with the names that those have here that it names. */
  #textOf(kept: Kept): string {
    const { statement, references, home } = kept;
    const start = statement.getStart();
    const renamed = references.flatMap(({ start: from, end, binding }) => {
      const to = binding && binding.kind !== "package" ? this.#names.get(keyOf(binding))! : undefined;
      return to === undefined ? [] : [{ from, end, to }];
    });
    const edits = [...renamed, ...privateComments(statement)].sort((a, b) => b.from - a.from);
    let text = statement.getSourceFile().text.slice(start, statement.end);
    for (const { from, end, to } of edits) text = text.slice(0, from - start) + to + text.slice(end - start);
    const bare = text.replace(/^export /, "").replace(/^(?=const |let |function |class |abstract )/, "declare ");
    const own = this.#public.has(statement) && ts.getJSDocCommentsAndTags(statement).findLast(ts.isJSDoc);
    const isExported = home === this.#shared ? !ts.isModuleDeclaration(statement) : this.#isExported(kept);
    return `${own ? `${own.getText()}\n` : ""}${isExported ? "export " : ""}${bare}`;
  }
}

const keyOf = (binding: Exclude<Binding, { kind: "package" }>): string =>
  `${binding.file}\n${binding.kind === "declared" ? binding.name : "*"}`;

const specifier = (from: string, to: string): string => {
  const path = relative(dirname(from), to)
    .replaceAll("\\", "/")
    .replace(/\.d\.ts$/, ".js");
  return path.startsWith(".") ? `"${path}"` : `"./${path}"`;
};

/** Comments of members that nobody can read from outside. */
function privateComments(statement: ts.Statement): readonly { from: number; end: number; to: string }[] {
  if (!ts.isClassDeclaration(statement)) return [];
  return statement.members
    .filter((member) => (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0)
    .map((member) => ({ from: member.getStart(undefined, true), end: member.getStart(), to: "" }));
}
