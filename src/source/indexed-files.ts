/** A source index over files, independent of whether they are read from disk or from memory. */
import { type Location, fail } from "../diagnostics/diagnostic.js";
import type { FoundConfigs } from "../compiled/compiled-kernel.js";
import type { ComparisonSite, RewrittenText, SourceIndex } from "../ir/source-index.js";
import { type Files, resolveFile, resolvePath } from "./author-modules.js";
import { lintFiles } from "./lint.js";
import { fixCall } from "./replacements.js";
import { findSite, locate, siteIndex, type SiteIndex } from "./sites.js";
import { specLocations } from "./spec-locations.js";
import { ts } from "./typescript.js";
import { syntax } from "../diagnostics/catalog/command-codes.js";

/**
 * Creates the index. `readRelative` reads a file of any kind by its path relative to another file. Files in memory have
 * no `rewriteConfigs`.
 */
export function indexFiles(
  files: Files,
  readRelative: SourceIndex["readRelative"],
  rewriteConfigs?: (call: ts.Node, results: readonly FoundConfigs[]) => Promise<RewrittenText | undefined>,
): SourceIndex {
  const comparisons = new Map<ts.Node, ComparisonSite>();
  const indexes = new Map<ts.SourceFile, SiteIndex>();
  const find = (location: Location) => {
    const file = files.read(location.file);
    if (!file) return undefined;
    let index = indexes.get(file);
    if (!index) {
      index = withStackGuard(
        () => siteIndex(file),
        () => deepestNode([file]),
      );
      indexes.set(file, index);
    }
    return findSite(index, location);
  };
  return {
    site: (location) => find(location)?.site,
    endOf(location) {
      const match = find(location);
      return match && locate(match.node.getSourceFile(), match.node.getEnd());
    },
    fixFor(location, fix) {
      const match = find(location);
      return match && fixCall(match.node, fix);
    },
    readRelative,
    spec(location) {
      const match = find(location);
      return match && specLocations(match.node);
    },
    async withConfigs(location, results) {
      const match = find(location);
      return match && rewriteConfigs?.(match.node, results);
    },
    lint: (paths) =>
      withStackGuard(
        () => lintFiles(paths, files, comparisons),
        () => deepestNode(paths.flatMap((path) => files.read(path) ?? [])),
      ),
    comparisonAt(location) {
      const match = find(location);
      return match && comparisons.get(match.node);
    },
  };
}

// Reports expressions that nest too deeply. The parser and the lint recurse once per nesting level, and JavaScript's
// stack overflows after some hundreds of levels.

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
function deepestNode(files: readonly ts.SourceFile[]): DeepestNesting {
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

// The source index over texts in memory, for web pages.

/** Creates a source index from texts, keyed by the paths in stack traces. Imports are resolved among these texts. */
export function indexTexts(texts: ReadonlyMap<string, string>): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    const text = texts.get(path);
    if (text === undefined) return undefined;
    let file = files.get(path);
    if (!file) files.set(path, (file = parseSource(path, text)));
    return file;
  };
  const moduleFile = (importer: ts.SourceFile, specifier: string) => {
    const file = resolveFile(importer, specifier, read);
    return file && { file, isForeign: false };
  };
  return indexFiles({ read, moduleFile }, (location, path) => {
    const file = resolvePath(location.file, path);
    const text = texts.get(file);
    return text === undefined ? undefined : { text, file };
  });
}
