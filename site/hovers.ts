/**
 * The types of names in the examples, as the editor shows them. One program checks all examples, since checking each
 * alone costs more.
 */
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";

const root = resolve(import.meta.dirname, "..");

/** A name in a text, and its type. */
export interface Hover {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Hovers = ReadonlyMap<string, readonly Hover[]>;

/**
 * The hovers of each example, by file name. A separate process computes them, because they take a core for seconds.
 * `types` is the folder with the package's declarations.
 */
export async function hoversOf(files: readonly string[], types: string): Promise<Hovers> {
  const args = ["--import", import.meta.resolve("tsx"), import.meta.filename, types, ...files];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 28 });
  return new Map(JSON.parse(stdout) as [string, Hover[]][]);
}

function computeHovers(files: readonly string[], types: string): Hovers {
  const program = ts.createProgram(
    files.map((file) => join(root, "examples", file)),
    {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      noEmit: true,
      types: [],
      paths: { tilescript: [join(types, "browser.d.ts")] },
    },
  );
  const checker = program.getTypeChecker();
  return new Map(
    files.map((file) => [file, hoversInFile(program.getSourceFile(join(root, "examples", file))!, checker)]),
  );
}

const MAX_LENGTH = 400;

function hoversInFile(file: ts.SourceFile, checker: ts.TypeChecker): readonly Hover[] {
  const hovers: Hover[] = [];
  const textOf = new Map<ts.Symbol, string>();
  const visit = (node: ts.Node): void => {
    const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
    if (symbol && isVariable(symbol)) {
      let text = textOf.get(symbol);
      if (text === undefined) {
        const type = checker.typeToString(
          checker.getTypeOfSymbolAtLocation(symbol, node),
          node,
          ts.TypeFormatFlags.NoTruncation,
        );
        const fullText = `${node.getText()}: ${type}`;
        textOf.set(symbol, (text = fullText.length > MAX_LENGTH ? `${fullText.slice(0, MAX_LENGTH)}…` : fullText));
      }
      hovers.push({ start: node.getStart(), end: node.getEnd(), text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return hovers;
}

/** A variable or parameter of the file itself. */
function isVariable({ flags, valueDeclaration }: ts.Symbol): boolean {
  if ((flags & ts.SymbolFlags.Variable) === 0 || !valueDeclaration) return false;
  return !valueDeclaration.getSourceFile().isDeclarationFile;
}

if (process.argv[1] === import.meta.filename) {
  const [types = "", ...files] = process.argv.slice(2);
  process.stdout.write(JSON.stringify([...computeHovers(files, types)]));
}
