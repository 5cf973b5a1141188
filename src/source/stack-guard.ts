/**
 * Expressions that nest too deep to be read: the parser and the lint call themselves for each level, and JavaScript's
 * stack ends after some hundreds of them.
 */
import { syntax } from "../diagnostics/catalog/command-codes.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { locate } from "./sites.js";
import { ts } from "./typescript.js";

interface Deepest {
  readonly depth: number;
  readonly at: Location | undefined;
}

/** Less than this is not what ended the stack. */
const DEEP = 150;
/** From here on a stack has ended whatever is thrown: a getter of a module loader may swallow it and give undefined. */
const BEYOND = 5_000;

/** What `visit` gives. Where the stack ends, the expression that `deepest` finds is refused. */
export function withStackGuard<Result>(visit: () => Result, deepest: () => Deepest): Result {
  try {
    return visit();
  } catch (error) {
    const isStack = error instanceof RangeError && error.message.includes("call stack");
    if (!isStack && !(error instanceof TypeError)) throw error;
    const { depth, at } = deepest();
    if (depth < (isStack ? DEEP : BEYOND)) throw error;
    return fail(
      syntax(`this expression nests ${depth} levels, too many to be read; name parts of it with const, or loop`),
      at,
    );
  }
}

/** Parses a file. It is only parsed: no tsconfig, no lib, no program. */
export function parseSource(path: string, text: string): ts.SourceFile {
  return withStackGuard(
    () => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
    () => deepestBracket(path, text),
  );
}

/** Where most brackets are open, in a text that cannot be parsed. */
function deepestBracket(path: string, text: string): Deepest {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text);
  let open = 0;
  let [most, position] = [0, 0];
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (OPENING.has(token)) open++;
    else if (CLOSING.has(token)) open--;
    if (open > most) [most, position] = [open, scanner.getTokenStart()];
  }
  const before = text.slice(0, position).split("\n");
  return { depth: most, at: { file: path, line: before.length, column: before.at(-1)!.length + 1 } };
}

const OPENING = new Set([ts.SyntaxKind.OpenParenToken, ts.SyntaxKind.OpenBracketToken, ts.SyntaxKind.OpenBraceToken]);
const CLOSING = new Set([
  ts.SyntaxKind.CloseParenToken,
  ts.SyntaxKind.CloseBracketToken,
  ts.SyntaxKind.CloseBraceToken,
]);

/** The node of all files with most nodes around it. It is sought with a list, for the stack has ended. */
export function deepestNode(files: readonly ts.SourceFile[]): Deepest {
  let found: readonly [ts.Node | undefined, number] = [undefined, 0];
  const rest: (readonly [ts.Node, number])[] = files.map((file) => [file, 0]);
  for (let next = rest.pop(); next; next = rest.pop()) {
    const [node, depth] = next;
    if (depth > found[1]) found = next;
    ts.forEachChild(node, (child) => void rest.push([child, depth + 1]));
  }
  const [node, depth] = found;
  return { depth, at: node && locate(node.getSourceFile(), node.getStart()) };
}
