/** Converts exceptions of an author's code to diagnostics at source lines. */
import { readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder, version } from "../system/files.js";
import { errorDiagnostic, type Diagnostic, type Location } from "../../diagnostics/diagnostic.js";
import { undefinedName, pythonSyntax } from "../../diagnostics/python-names.js";
import { exception, imports, syntax } from "../../diagnostics/catalog/command-codes.js";

/** One diagnostic, or one for each syntax error. */
export function thrownDiagnostics(error: unknown): readonly Diagnostic[] {
  if (!(error instanceof Error)) return [errorDiagnostic(exception.notAnError(error))];
  const syntax = syntaxErrors(error.message);
  return syntax.length > 0 ? syntax : [missingModule(error) ?? missingExport(error) ?? otherError(error)];
}

/** Parses the errors of esbuild, which tsx uses. Its columns start at 0. */
function syntaxErrors(message: string): readonly Diagnostic[] {
  return [...message.matchAll(/^(.+):(\d+):(\d+): ERROR: (.*)$/gm)].map(([, file = "", line, column, text = ""]) => {
    const problem = pythonSyntax(text, lineOf(file, Number(line))) ?? text;
    return errorDiagnostic(syntax(problem), { file, line: Number(line), column: Number(column) + 1 });
  });
}

function lineOf(file: string, line: number): string {
  try {
    return readFileSync(file, "utf8").split("\n")[line - 1] ?? "";
  } catch {
    return "";
  }
}

/** An import that cannot be resolved. Node's message names the specifier and the file, but not the line. */
function missingModule(error: Error): Diagnostic | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!/^(ERR_)?(MODULE_NOT_FOUND|PACKAGE_PATH_NOT_EXPORTED|UNSUPPORTED_DIR_IMPORT)$/.test(code)) return undefined;
  const from = /(?:imported from |^- )(.+?)(?:\?[^/]*)?$/m.exec(message)?.[1] ?? "";
  const importer = pathOf(from);
  const specifier = /'([^']*)'/.exec(message)?.[1] ?? "";
  const exporter = / in (.+)[\\/]package\.json/.exec(message)?.[1];
  const name = exporter === undefined ? specifier : `${basename(exporter)}${specifier.slice(1)}`;
  const isPath = isAbsolute(name) || name.startsWith(".");
  const displayName = isAbsolute(name) && importer ? relative(dirname(importer), name) : name;
  const installHint = `\`npm install ${name.match(/^(?:@[^/]+\/)?[^/]+/)?.[0]}\` in its folder installs it`;
  const pathRemedy = isPath ? "check the path" : installHint;
  const remedy = exporter === undefined ? pathRemedy : "check the name";
  return errorDiagnostic(imports.missing(displayName, remedy), locationOf(importer, isPath ? basename(name) : name));
}

/** An import of a name that a module does not export. Node prints the importing file above the stack. */
function missingExport({ message, stack = "" }: Error): Diagnostic | undefined {
  const [, module = "", name] = /'(.+)' does not provide an export named '(.+)'$/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const [firstLine = ""] = stack.split("\n", 1);
  const importer = /^(.+):\d+$/m.exec(firstLine)?.[1] ?? "";
  return errorDiagnostic(imports.noExport(module, name), locationOf(pathOf(importer), name));
}

function otherError(error: Error): Diagnostic {
  const internalFrame = internalFrameOf(error);
  if (internalFrame !== undefined)
    return errorDiagnostic(
      exception.internal(`${error.name}: ${error.message}`, version, internalFrame),
      authorFrame(error),
    );
  const undefinedDiagnostic = undefinedName(error);
  if (undefinedDiagnostic) return errorDiagnostic(undefinedDiagnostic, authorFrame(error));
  const isBeforeInitialization = error instanceof ReferenceError && error.message.includes("before initialization");
  const remedy = isBeforeInitialization ? "it is used before its line has run: do two files import each other?" : "";
  return errorDiagnostic(exception.uncaught(error.name, error.message, remedy), authorFrame(error));
}

/** The location of an error inside this package: a mistake of the author would have a diagnostic. */
function internalFrameOf({ stack = "", name }: Error): string | undefined {
  if (!/^(?:Type|Range|Reference)Error$/.test(name)) return undefined;
  const [innermost] = framesOf(stack);
  if (innermost === undefined || !isPackageFile(innermost.file)) return undefined;
  const { file, line, column } = innermost;
  return `${relative(packageFolder, file).replaceAll("\\", "/")}:${line}:${column}`;
}

/** The innermost stack frame outside this package and its dependencies. */
function authorFrame({ stack = "" }: Error): Location | undefined {
  return framesOf(stack).find(({ file }) => isAbsolute(file) && !file.includes("node_modules") && !isPackageFile(file));
}

/** The stack frames with a location, innermost first. */
function framesOf(stack: string): readonly Location[] {
  return stack.split("\n").flatMap((text) => {
    const [, path = "", line, column] = /^\s+at (?:.*\(|async )?(.+):(\d+):(\d+)\)?$/.exec(text) ?? [];
    return path === "" ? [] : [{ file: pathOf(path), line: Number(line), column: Number(column) }];
  });
}

function pathOf(path: string): string {
  return path.startsWith("file:") ? fileURLToPath(path) : path;
}

function isPackageFile(file: string): boolean {
  return ["src", "dist", "bin"].some((folder) => file.startsWith(join(packageFolder, folder, "/")));
}

/** The first line of a file that contains this text. */
function locationOf(file: string, text: string): Location | undefined {
  try {
    for (const [index, line] of readFileSync(file, "utf8").split("\n").entries())
      if (line.includes(text)) return { file, line: index + 1, column: line.indexOf(text) + 1 };
    return undefined;
  } catch {
    return undefined;
  }
}
