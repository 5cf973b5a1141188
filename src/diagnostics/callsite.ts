/**
 * Where the author's code called us. Node maps `Error.stack` strings back to TypeScript (under tsx, vitest and
 * `--enable-source-maps`), but that costs 20–90 µs a stack, and raw CallSite objects are not mapped. So the raw frame,
 * cheap to get, is the key of a cache, and the mapped string is read once for each call site.
 */
import type { Location } from "./diagnostic.js";

/** Tells whether a file belongs to the library rather than to the author. */
export type Inside = (file: string) => boolean;

/** How deep the stack is read. Each frame costs about 1 µs, and most calls have the author's among the first 4. */
const NEAR = 4;
const FAR = 40;

/** The innermost place in the author's code that led to this call, or undefined if there is none. */
export function captureLocation(inside: Inside = isTileScript): Location | undefined {
  for (const limit of [NEAR, 2 * NEAR, FAR]) {
    const raw = stackOf(limit, captureLocation, rawFrames);
    // An engine without CallSite objects.
    if (!Array.isArray(raw)) return withProperty(authorFrame(stackOf(FAR, captureLocation), inside));
    const index = findAuthor(raw, inside);
    if (index === undefined) continue;
    const cache = cacheOf(inside);
    const frame: NodeJS.CallSite = raw[index];
    const key = `${fileOf(frame)}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;
    // Frames below the author's are not asked for: mapping each costs.
    const at = cache.get(key) ?? authorFrame(stackOf(index + 1, captureLocation), inside);
    if (at) cache.set(key, at);
    return at;
  }
  return undefined;
}

/** The innermost place of an error in the author's code. */
export const placeThrown = ({ stack }: Error): Location | undefined => authorFrame(stack, isTileScript);

let reading: string | undefined;

/** Calls a property's getter. Engines other than V8 may not tell where the property itself is. */
export function readingProperty<T>(property: string, get: () => T): T {
  const outer = reading;
  reading = property;
  try {
    return get();
  } finally {
    reading = outer;
  }
}

const withProperty = (at: Location | undefined): Location | undefined =>
  at && reading !== undefined ? { ...at, property: reading } : at;

const rawFrames = (_error: Error, frames: NodeJS.CallSite[]): NodeJS.CallSite[] => frames;

/** The stack below `callee`; what `prepare` makes of it, else the engine's (source-mapped) string. */
function stackOf(limit: number, callee: Function, prepare?: typeof rawFrames): unknown {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = limit;
  if (prepare) Error.prepareStackTrace = prepare;
  try {
    const holder: { stack?: unknown } = {};
    if (typeof Error.captureStackTrace !== "function") return new Error().stack;
    Error.captureStackTrace(holder, callee);
    return holder.stack;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepare) Error.prepareStackTrace = prepareStackTrace!;
  }
}

/** A frame's file, or what `//# sourceURL` calls code that a page made. */
function fileOf(frame: NodeJS.CallSite): string {
  return frame.getScriptNameOrSourceURL?.() || (frame.getFileName() ?? "");
}

/** Which frame is the first outside the library, before source maps. */
function findAuthor(frames: readonly NodeJS.CallSite[], inside: Inside): number | undefined {
  const index = frames.findIndex((frame) => {
    const file = normalize(fileOf(frame));
    return file !== undefined && !inside(file);
  });
  return index < 0 ? undefined : index;
}

/** The first place outside the library. */
function authorFrame(stack: unknown, inside: Inside): Location | undefined {
  for (const line of String(stack).split("\n")) {
    const at = parseFrame(line);
    if (at && !inside(at.file)) return at;
  }
  return undefined;
}

const parsed = new Map<string, Location | undefined>();

/**
 * One line of a V8 stack: `at f (file:1:2)`, `at new X (…)`, `at Object.m [as n] (…)`, `at async f (…)`, `at file:1:2`;
 * or of one in Firefox and Safari: `f@file:1:2`.
 * Undefined for lines without a file of their own: natives, `node:` internals, evaluated code.
 */
export function parseFrame(line: string): Location | undefined {
  if (parsed.has(line)) return parsed.get(line);
  const match = line.includes("(eval at ")
    ? undefined
    : (/^\s*at (?:async )?.*? \((?<file>.+):(?<line>\d+):(?<column>\d+)\)$/.exec(line) ??
      /^\s*at (?:async )?(?<file>.+):(?<line>\d+):(?<column>\d+)$/.exec(line) ??
      /^[^@\s]*@(?<file>.+):(?<line>\d+):(?<column>\d+)$/.exec(line));
  const groups = match?.groups;
  const file = normalize(groups?.file ?? "");
  const frame =
    groups && file !== undefined ? { file, line: Number(groups.line), column: Number(groups.column) } : undefined;
  parsed.set(line, frame);
  return frame;
}

const normalized = new Map<string, string | undefined>();

/** A stack's file as a path (a URL that is no file stays one), with forward slashes; undefined if it is no file. */
function normalize(file: string): string | undefined {
  if (normalized.has(file)) return normalized.get(file);
  let path: string | undefined;
  if (file.startsWith("file://")) path = decodeURIComponent(file.slice("file://".length).replace(/[?#].*$/, ""));
  else if (/^(?:[a-zA-Z]:[\\/]|\/|https?:\/\/)/.test(file)) path = file.replace(/\?[^/]*$/, "");
  const drive = path && /^\/?([a-zA-Z]:[\\/].*)$/.exec(path);
  if (drive) path = drive[1]!.replaceAll("\\", "/");
  normalized.set(file, path);
  return path;
}

const HERE = normalize(import.meta.url);
/**
 * The package's folder, of its sources, what they were compiled to, or the modules that `npm pack` bundles. Unknown in
 * an author's bundle: then only this file, with what is bundled into it, is known to be ours.
 */
const PACKAGE =
  HERE && /^(.*\/)(?:(?:src|dist)\/diagnostics\/callsite|dist\/tilescript-modules\/[^/]+)\.[cm]?[jt]s$/.exec(HERE)?.[1];
const insideCache = new Map<string, boolean>();

/** Whether a file is the library's own. */
export function isTileScript(file: string): boolean {
  if (PACKAGE === undefined) return file === HERE;
  let known = insideCache.get(file);
  if (known === undefined) {
    known = ["src", "dist", "bin"].some((folder) => file.startsWith(`${PACKAGE}${folder}/`));
    insideCache.set(file, known);
  }
  return known;
}

const caches = new WeakMap<Inside, Map<string, Location>>();

function cacheOf(inside: Inside): Map<string, Location> {
  let cache = caches.get(inside);
  if (!cache) caches.set(inside, (cache = new Map()));
  return cache;
}
