/**
 * The interface to the author's source for tracing and reports. The implementation, `source/call-site-index.ts`, reads and
 * parses files, so it is loaded lazily and passed in; nothing here depends on Node.
 */
import type { FoundConfigs } from "../compiled/compiled-kernel.js";
import type { Diagnostic, Edit, Location, SourceFix } from "../diagnostics/diagnostic.js";

/** Facts about one call or property access in the source. */
export interface Site {
  /** The variable that holds the result: `const x = f()`, `x.value = f()`, `for (const x of f())`. */
  readonly name?: string;
  /** The variables that hold several results, in order: `const [a, b] = f()`; undefined for a skipped element. */
  readonly names?: readonly (string | undefined)[];
  /** The parameters of a function that is passed, such as those of `tl.fn((x, mask) => …)`. */
  readonly parameters?: readonly string[];
  /**
   * The comment lines above the enclosing statement and after it, without comment markers. All calls of a statement
   * have the same ones; `statement` identifies it, so that a caller can print them once.
   */
  readonly comments: readonly string[];
  /** True if there is a blank line above the enclosing statement and its comments. */
  readonly hasBlankLineAbove?: boolean;
  /** The start of the enclosing statement, which identifies it. */
  readonly statement: Location;
}

/** The source locations of the parts of a kernel's spec. */
export interface SpecLocations {
  /** The configs, in order; empty if they are computed. */
  readonly configs: readonly Location[];
  /** The values of the spec's fields, by field name. */
  readonly parts: Readonly<Record<string, Location>>;
  /** The kernel's function, and its first return. */
  readonly body?: Location | undefined;
  readonly firstReturn?: Location | undefined;
}

/** A JavaScript comparison of a property, by an operator or a method. */
export interface ComparisonSite {
  readonly operator: string;
  readonly at: Location;
}

/** The text of a file before and after a rewrite. */
export interface RewrittenText {
  readonly before: string;
  readonly text: string;
}

/** Queries on the author's files. Each file is read and parsed once. */
export interface SourceIndex {
  /** The call or property access at a position from a stack trace, or undefined if there is none. */
  site(location: Location): Site | undefined;
  /** The exclusive end of the call or property access at a location, for underlining it. */
  endOf(location: Location): Location | undefined;
  /**
   * The edit that fixes the call or property access at a location; undefined if its text does not show what to change.
   */
  fixFor(location: Location, fix: SourceFix): Edit | undefined;
  /** The locations of the spec of the kernel defined at this location. */
  spec(location: Location): SpecLocations | undefined;
  /**
   * The original text of the file, and the text with new configs for the kernel defined at this location. Undefined if
   * its configs are not list literals.
   */
  withConfigs(location: Location, results: readonly FoundConfigs[]): Promise<RewrittenText | undefined>;
  /** Finds code in these files that JavaScript would silently run on traced values. */
  lint(files: readonly string[]): readonly Diagnostic[];
  /** The comparison of the property that is read at this location, if its file has been linted. */
  comparisonAt(location: Location): ComparisonSite | undefined;
  /** The text and absolute path of a file, from its path relative to the author's file. */
  readRelative(location: Location, path: string): { readonly text: string; readonly file: string } | undefined;
}
