/**
 * The declarations that a user's types can name, of all that tsc writes. An exported name of an entry brings what it
 * names, and so on; the rest of a file is left out, and so are its comment and those of private members.
 */
import { ts } from "@ts-morph/common";
import { dirname, relative, resolve } from "node:path";

export type ReadFile = (file: string) => string;

/** Where an imported or exported name of a file comes from. */
interface Source {
  readonly file: string;
  /** `*` is the whole module. */
  readonly name: string;
}

interface Declarations {
  readonly statements: readonly ts.Statement[];
  /** Declarations by their names in the file. */
  readonly declared: ReadonlyMap<string, readonly ts.Statement[]>;
  /** Imports and exports from other files, by the name in this file. */
  readonly imported: ReadonlyMap<string, Source>;
  /** By the name that the file exports them as, where that is another. */
  readonly exported: ReadonlyMap<string, string | Source>;
  /** The files of which everything is exported. */
  readonly stars: readonly string[];
}

/** The text of each file that is needed, without what is not. */
export function declarationsOf(entries: readonly string[], read: ReadFile): ReadonlyMap<string, string> {
  const needed = new Needed(read);
  for (const entry of entries) needed.everything(entry);
  needed.augmentations();
  return needed.written(entries);
}

class Needed {
  readonly #read: ReadFile;
  readonly #files = new Map<string, Declarations>();
  readonly #kept = new Map<string, Set<ts.Statement>>();
  /** The names of each file's imports and exports that are asked for. */
  readonly #asked = new Map<string, Set<string>>();
  readonly #whole = new Set<string>();
  /** What users can write the name of. */
  readonly #public = new Set<ts.Statement>();

  constructor(read: ReadFile) {
    this.#read = read;
  }

  /** All that a file exports. */
  everything(file: string): void {
    if (this.#whole.has(file)) return;
    this.#whole.add(file);
    const { statements, exported, imported, stars } = this.#file(file);
    for (const statement of statements)
      if (isExported(statement) || ts.isExportAssignment(statement)) {
        this.#public.add(statement);
        this.#keep(file, statement);
      }
    for (const name of exported.keys()) {
      this.#declarationsOf(file, name).forEach((statement) => this.#public.add(statement));
      this.#ask(file, name);
    }
    for (const name of imported.keys()) if (exported.has(name)) this.#ask(file, name);
    stars.forEach((star) => this.everything(star));
  }

  /** What a name that a file exports stands for. */
  #declarationsOf(file: string, name: string): readonly ts.Statement[] {
    const { declared, exported, imported, stars } = this.#file(file);
    const as = exported.get(name) ?? name;
    const source = typeof as === "string" ? imported.get(as) : as;
    if (source) return source.name === "*" ? [] : this.#declarationsOf(source.file, source.name);
    const own = typeof as === "string" ? declared.get(as) : undefined;
    return own ?? stars.flatMap((star) => this.#declarationsOf(star, name));
  }

  /** What modules add to others belongs to these, whether or not a type names the module that adds it. */
  augmentations(): void {
    for (const file of reachable([...this.#files.keys()], (each) => this.#file(each)))
      for (const statement of this.#file(file).statements) if (isAugmentation(statement)) this.#keep(file, statement);
  }

  /** Imports of modules that only add to others are the first entry's. */
  written(entries: readonly string[]): ReadonlyMap<string, string> {
    const kept = [...this.#kept.keys(), ...this.#asked.keys(), ...entries, ...this.#whole];
    const texts = new Map([...new Set(kept)].map((file) => [file, this.#textOf(file)] as const));
    const found = new Set(entries);
    // Found while it is gone through, so that what they name is found too.
    for (const file of found) specifiersOf(texts.get(file) ?? "").forEach((each) => found.add(resolved(file, each)));
    const [first] = entries as [string];
    const alone = [...texts.keys()].filter((file) => !found.has(file) && this.#hasAugmentation(file));
    texts.set(first, alone.map((file) => `import ${specifier(first, file)};\n`).join("") + texts.get(first)!);
    return texts;
  }

  #hasAugmentation(file: string): boolean {
    return this.#file(file).statements.some(isAugmentation);
  }

  #file(file: string): Declarations {
    let known = this.#files.get(file);
    if (!known) this.#files.set(file, (known = parsed(file, this.#read(file))));
    return known;
  }

  #keep(file: string, statement: ts.Statement): void {
    const kept = this.#kept.get(file) ?? new Set();
    this.#kept.set(file, kept);
    if (kept.has(statement)) return;
    kept.add(statement);
    for (const name of namedIn(statement)) this.#local(file, name);
    for (const { module, name } of importTypesIn(statement))
      if (name === "*") this.everything(resolved(file, module));
      else this.#ask(resolved(file, module), name);
  }

  /** A name as the file itself uses it. */
  #local(file: string, name: string): void {
    const { declared, imported } = this.#file(file);
    for (const statement of declared.get(name) ?? []) this.#keep(file, statement);
    const source = imported.get(name);
    if (source) this.#from(file, name, source);
  }

  /** A name as others import it from the file; true if the file has it. */
  #ask(file: string, name: string): boolean {
    const { declared, exported, stars } = this.#file(file);
    const as = exported.get(name);
    if (as === undefined && !declared.get(name)?.some(isExported)) {
      const from = stars.find((star) => this.#ask(star, name));
      if (from !== undefined) this.#asking(file).add("*");
      return from !== undefined;
    }
    if (as === undefined || typeof as === "string") this.#local(file, as ?? name);
    else this.#from(file, name, as);
    if (as !== undefined) this.#asking(file).add(name);
    return true;
  }

  #from(file: string, name: string, source: Source): void {
    const asked = this.#asking(file);
    if (asked.has(name)) return;
    asked.add(name);
    if (source.name === "*") this.everything(source.file);
    else this.#ask(source.file, source.name);
  }

  #asking(file: string): Set<string> {
    const asked = this.#asked.get(file) ?? new Set();
    this.#asked.set(file, asked);
    return asked;
  }

  #textOf(file: string): string {
    const kept = this.#kept.get(file);
    const asked = this.#asked.get(file) ?? new Set();
    const lines = this.#file(file).statements.flatMap((statement) => {
      if (ts.isImportDeclaration(statement)) return importText(statement, asked);
      if (ts.isExportDeclaration(statement))
        return exportText(
          statement,
          asked,
          this.#whole.has(file),
          (star) => this.#kept.has(resolved(file, star)) || this.#asked.has(resolved(file, star)),
        );
      return kept?.has(statement) ? [documented(statement, this.#public.has(statement))] : [];
    });
    const isModule = lines.some((line) => /^(?:\/\*\*[^]*\*\/\n)?(?:im|ex)port\b/.test(line));
    return [...lines, ...(isModule ? [] : ["export {};"]), ""].join("\n");
  }
}

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/** `declare module "…"` and `declare global`. */
const isAugmentation = (statement: ts.Statement): boolean =>
  ts.isModuleDeclaration(statement) && (ts.isStringLiteral(statement.name) || statement.name.text === "global");

const resolved = (file: string, module: string): string => resolve(dirname(file), module.replace(/\.js$/, ".d.ts"));

function specifier(from: string, to: string): string {
  return `"./${relative(dirname(from), to)
    .replaceAll("\\", "/")
    .replace(/\.d\.ts$/, ".js")}"`;
}

const specifiersOf = (text: string): readonly string[] =>
  Array.from(text.matchAll(/(?:from|import\(|import)\s*"(\.[^"]+)"/g), ([, module]) => module!);

/** The files that these name, however they do, and they themselves. */
function reachable(files: readonly string[], of: (file: string) => Declarations): ReadonlySet<string> {
  const found = new Set(files);
  for (const file of found)
    for (const statement of of(file).statements)
      for (const module of specifiersOf(statement.getText())) found.add(resolved(file, module));
  return found;
}

const moduleOf = (statement: ts.ImportDeclaration | ts.ExportDeclaration): string | undefined => {
  const { moduleSpecifier } = statement;
  return moduleSpecifier && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : undefined;
};

function parsed(file: string, text: string): Declarations {
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const declared = new Map<string, ts.Statement[]>();
  const imported = new Map<string, Source>();
  const exported = new Map<string, string | Source>();
  const stars: string[] = [];
  for (const statement of statements) {
    for (const name of namesOf(statement)) declared.set(name, [...(declared.get(name) ?? []), statement]);
    if (ts.isImportDeclaration(statement)) {
      const module = moduleOf(statement)!;
      if (!module.startsWith(".")) continue;
      const from = resolved(file, module);
      const { name, namedBindings } = statement.importClause ?? {};
      if (name) imported.set(name.text, { file: from, name: "default" });
      if (namedBindings && ts.isNamespaceImport(namedBindings))
        imported.set(namedBindings.name.text, { file: from, name: "*" });
      else
        for (const each of namedBindings?.elements ?? [])
          imported.set(each.name.text, { file: from, name: (each.propertyName ?? each.name).text });
    }
    if (!ts.isExportDeclaration(statement)) continue;
    const module = moduleOf(statement);
    const from = module?.startsWith(".") ? resolved(file, module) : undefined;
    const { exportClause } = statement;
    if (!exportClause && from !== undefined) stars.push(from);
    else if (exportClause && ts.isNamespaceExport(exportClause) && from !== undefined)
      exported.set(exportClause.name.text, { file: from, name: "*" });
    else if (exportClause && ts.isNamedExports(exportClause))
      for (const { name, propertyName } of exportClause.elements) {
        const there = (propertyName ?? name).text;
        exported.set(name.text, from === undefined ? there : { file: from, name: there });
      }
  }
  return { statements: [...statements], declared, imported, exported, stars };
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = statement as { readonly name?: ts.Node };
  return name && ts.isIdentifier(name) && !isAugmentation(statement) ? [name.text] : [];
}

/** The names that a declaration may refer to; more than these do no harm. */
function namedIn(statement: ts.Statement): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    const { parent } = node;
    const isMember = (ts.isTypeElement(parent) || ts.isClassElement(parent)) && parent.name === node;
    if (ts.isIdentifier(node) && !isMember && !(ts.isQualifiedName(parent) && parent.right === node))
      found.add(node.text);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(statement, visit);
  return found;
}

/** What `import("…").T` names. */
function importTypesIn(statement: ts.Statement): readonly { readonly module: string; readonly name: string }[] {
  const found: { module: string; name: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
      const module = node.argument.literal.text;
      const first = /^\w+/.exec(node.qualifier?.getText() ?? "")?.[0] ?? "*";
      if (module.startsWith(".")) found.push({ module, name: first });
    }
    ts.forEachChild(node, visit);
  };
  visit(statement);
  return found;
}

function importText(statement: ts.ImportDeclaration, asked: ReadonlySet<string>): readonly string[] {
  const module = moduleOf(statement)!;
  const { importClause } = statement;
  if (!importClause) return [];
  const isOther = !module.startsWith(".");
  const { name, namedBindings } = importClause;
  if (isOther || (namedBindings && ts.isNamespaceImport(namedBindings)))
    return isOther || asked.has((namedBindings as ts.NamespaceImport).name.text) ? [statement.getText()] : [];
  const named = (namedBindings?.elements ?? []).filter((each) => asked.has(each.name.text));
  const parts = [
    ...(name && asked.has(name.text) ? [name.text] : []),
    ...(named.length > 0 ? [`{ ${named.map((each) => each.getText()).join(", ")} }`] : []),
  ];
  const type = importClause.isTypeOnly ? "type " : "";
  return parts.length > 0 ? [`import ${type}${parts.join(", ")} from "${module}";`] : [];
}

function exportText(
  statement: ts.ExportDeclaration,
  asked: ReadonlySet<string>,
  isWhole: boolean,
  isKept: (star: string) => boolean,
): readonly string[] {
  const module = moduleOf(statement);
  const { exportClause, isTypeOnly } = statement;
  if (isWhole) return [statement.getText()];
  if (!exportClause) return asked.has("*") && isKept(module!) ? [statement.getText()] : [];
  if (ts.isNamespaceExport(exportClause)) return asked.has(exportClause.name.text) ? [statement.getText()] : [];
  const named = exportClause.elements.filter(({ name }) => asked.has(name.text));
  const from = module === undefined ? "" : ` from "${module}"`;
  const type = isTypeOnly ? "type " : "";
  return named.length > 0 ? [`export ${type}{ ${named.map((each) => each.getText()).join(", ")} }${from};`] : [];
}

/**
 * A declaration with its own comment if an editor shows that to users, and without those of private members, which
 * nobody can read from outside.
 */
function documented(statement: ts.Statement, isPublic: boolean): string {
  const file = statement.getSourceFile().text;
  const start = statement.getStart();
  const own = isPublic && ts.getJSDocCommentsAndTags(statement).findLast(ts.isJSDoc);
  let text = file.slice(start, statement.end);
  if (ts.isClassDeclaration(statement))
    for (const member of [...statement.members].reverse()) {
      const isPrivate = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
      if (!isPrivate) continue;
      const from = member.getStart(undefined, true);
      text = text.slice(0, from - start) + text.slice(member.getStart() - start);
    }
  return own ? `${own.getText()}\n${text}` : text;
}
