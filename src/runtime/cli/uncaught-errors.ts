/** What an author's code threw, as messages at their own lines instead of a stack. */
import { readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder, version } from "../system/package-folder.js";
import { errorDiagnostic, type Diagnostic, type Location } from "../../diagnostics/diagnostic.js";
import { undefinedName } from "../../diagnostics/python-names.js";
import { pythonSyntax } from "../../diagnostics/python-syntax.js";
import { exception, imports, syntax } from "../../diagnostics/catalog/command-codes.js";

/** One message, or one for each error of syntax. */
export function thrownDiagnostics(error: unknown): readonly Diagnostic[] {
  if (!(error instanceof Error)) return [errorDiagnostic(exception.notAnError(error))];
  const syntax = syntaxErrors(error.message);
  return syntax.length > 0 ? syntax : [missingModule(error) ?? missingExport(error) ?? otherError(error)];
}

/** esbuild, which reads TypeScript for tsx, counts columns from 0. */
function syntaxErrors(message: string): readonly Diagnostic[] {
  return [...message.matchAll(/^(.+):(\d+):(\d+): ERROR: (.*)$/gm)].map(([, file, line, column, text]) => {
    const said = pythonSyntax(text!, lineOf(file!, Number(line))) ?? text!;
    return errorDiagnostic(syntax(said), { file: file!, line: Number(line), column: Number(column) + 1 });
  });
}

function lineOf(file: string, line: number): string {
  try {
    return readFileSync(file, "utf8").split("\n")[line - 1] ?? "";
  } catch {
    return "";
  }
}

/** An import of something that is not there: Node says which, and in which file, but not on which line. */
function missingModule(error: Error): Diagnostic | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!/^(ERR_)?(MODULE_NOT_FOUND|PACKAGE_PATH_NOT_EXPORTED|UNSUPPORTED_DIR_IMPORT)$/.test(code)) return undefined;
  const from = /(?:imported from |^- )(.+?)(?:\?[^/]*)?$/m.exec(message)?.[1] ?? "";
  const importer = pathOf(from);
  const wanted = /'([^']*)'/.exec(message)?.[1] ?? "";
  const exporter = / in (.+)[\\/]package\.json/.exec(message)?.[1];
  const name = exporter === undefined ? wanted : `${basename(exporter)}${wanted.slice(1)}`;
  const isPath = isAbsolute(name) || name.startsWith(".");
  const shown = isAbsolute(name) && importer ? relative(dirname(importer), name) : name;
  const installs = `\`npm install ${name.match(/^(?:@[^/]+\/)?[^/]+/)?.[0]}\` in its folder installs it`;
  const remedy = exporter !== undefined ? "check the name" : isPath ? "check the path" : installs;
  return errorDiagnostic(imports.missing(shown, remedy), lineWith(importer, isPath ? basename(name) : name));
}

/** A name that a module does not export: Node puts the importing file above the stack. */
function missingExport({ message, stack = "" }: Error): Diagnostic | undefined {
  const [, module, name] = /'(.+)' does not provide an export named '(.+)'$/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const importer = /^(.+):\d+$/m.exec(stack.split("\n", 1)[0]!)?.[1] ?? "";
  return errorDiagnostic(imports.noExport(module!, name), lineWith(pathOf(importer), name));
}

function otherError(error: Error): Diagnostic {
  const own = ownFrame(error);
  if (own !== undefined)
    return errorDiagnostic(exception.ours(`${error.name}: ${error.message}`, version, own), authorFrame(error));
  const undefinedHere = undefinedName(error);
  if (undefinedHere) return errorDiagnostic(undefinedHere, authorFrame(error));
  const early = error instanceof ReferenceError && error.message.includes("before initialization");
  const remedy = early ? "; it is used before its line has run: do two files import each other?" : "";
  return errorDiagnostic(exception.thrown(error.name, error.message, remedy), authorFrame(error));
}

/** Where our own code broke: a mistake of its author's would have a message. */
function ownFrame({ stack = "", name }: Error): string | undefined {
  if (!/^(?:Type|Range|Reference)Error$/.test(name)) return undefined;
  const [innermost] = framesOf(stack);
  if (innermost === undefined || !isOurs(innermost.file)) return undefined;
  const { file, line, column } = innermost;
  return `${relative(packageFolder, file).replaceAll("\\", "/")}:${line}:${column}`;
}

/** The innermost line of the stack that is neither ours nor a dependency's. */
function authorFrame({ stack = "" }: Error): Location | undefined {
  return framesOf(stack).find(({ file }) => isAbsolute(file) && !file.includes("node_modules") && !isOurs(file));
}

/** The lines of a stack that have a place, innermost first. */
function framesOf(stack: string): readonly Location[] {
  return stack.split("\n").flatMap((text) => {
    const [, place = "", line, column] = /^\s+at (?:.*\(|async )?(.+):(\d+):(\d+)\)?$/.exec(text) ?? [];
    return place === "" ? [] : [{ file: pathOf(place), line: Number(line), column: Number(column) }];
  });
}

function pathOf(place: string): string {
  return place.startsWith("file:") ? fileURLToPath(place) : place;
}

function isOurs(file: string): boolean {
  return ["src", "dist", "bin"].some((folder) => file.startsWith(join(packageFolder, folder, "/")));
}

/** The first line of a file that has these words. */
function lineWith(file: string, words: string): Location | undefined {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    const index = lines.findIndex((line) => line.includes(words));
    return index < 0 ? undefined : { file, line: index + 1, column: lines[index]!.indexOf(words) + 1 };
  } catch {
    return undefined;
  }
}
