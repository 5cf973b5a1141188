/**
 * Reports expressions that nest too deeply. The parser and the lint recurse once per nesting level, and JavaScript's
 * stack overflows after some hundreds of levels.
 */
import { syntax } from "../diagnostics/catalog/command-codes.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { locate } from "./sites.js";
import { ts } from "./typescript.js";

interface DeepestNesting {
  readonly depth: number;
  readonly location: Location | undefined;
}

/** The minimum depth of an expression that can have caused a stack overflow. */
const MIN_BLAMED_DEPTH = 150;
/**
 * The minimum depth that causes a stack overflow regardless of the error: a getter of a module loader may swallow the
 * RangeError and return undefined.
 */
const MIN_OVERFLOW_DEPTH = 5_000;

/** Returns the result of `visit`. If the stack overflows, reports the expression that `findDeepest` locates. */
export function withStackGuard<Result>(visit: () => Result, findDeepest: () => DeepestNesting): Result {
  try {
    return visit();
  } catch (error) {
    const isStack = error instanceof RangeError && error.message.includes("call stack");
    if (!isStack && !(error instanceof TypeError)) throw error;
    const { depth, location } = findDeepest();
    if (depth < (isStack ? MIN_BLAMED_DEPTH : MIN_OVERFLOW_DEPTH)) throw error;
    return fail(
      syntax(`this expression nests ${depth} levels, too many to be read; name parts of it with const, or loop`),
      location,
    );
  }
}

/** Parses a file, without tsconfig, lib or program. */
export function parseSource(path: string, text: string): ts.SourceFile {
  return withStackGuard(
    () => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
    () => deepestBracket(path, text),
  );
}

/** The location with the most open brackets, for a text that cannot be parsed. */
function deepestBracket(path: string, text: string): DeepestNesting {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text);
  let open = 0;
  let [maxDepth, position] = [0, 0];
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (OPENING.has(token)) open++;
    else if (CLOSING.has(token)) open--;
    if (open > maxDepth) [maxDepth, position] = [open, scanner.getTokenStart()];
  }
  const preceding = text.slice(0, position);
  const line = preceding.split("\n").length;
  return { depth: maxDepth, location: { file: path, line, column: position - preceding.lastIndexOf("\n") } };
}

const OPENING = new Set([ts.SyntaxKind.OpenParenToken, ts.SyntaxKind.OpenBracketToken, ts.SyntaxKind.OpenBraceToken]);
const CLOSING = new Set([
  ts.SyntaxKind.CloseParenToken,
  ts.SyntaxKind.CloseBracketToken,
  ts.SyntaxKind.CloseBraceToken,
]);

/**
 * The most deeply nested node of all files. The search uses an explicit stack, because JavaScript's stack has
 * overflowed.
 */
export function deepestNode(files: readonly ts.SourceFile[]): DeepestNesting {
  let deepest: readonly [ts.Node | undefined, number] = [undefined, 0];
  const pending: (readonly [ts.Node, number])[] = files.map((file) => [file, 0]);
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [node, depth] = next;
    if (depth > deepest[1]) deepest = next;
    ts.forEachChild(node, (child) => void pending.push([child, depth + 1]));
  }
  const [node, depth] = deepest;
  return { depth, location: node && locate(node.getSourceFile(), node.getStart()) };
}
