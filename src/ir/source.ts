/**
 * The interface to the author's source for tracing and reports. The implementation, `source/call-site-index.ts`, reads and
 * parses files, so it is loaded lazily and passed in; nothing here depends on Node.
 */
import type { FoundConfigs } from "../compiled/compiled-kernel.js";
import type { Diagnostic, Edit, Location } from "../diagnostics/diagnostic.js";

/** Facts about one call or property access in the source. */
export interface Site {
  /** The variable that holds the result: `const x = f()`, `x.value = f()`, `for (const x of f())`. */
  readonly name?: string;
  /** The variables that hold several results, in order: `const [a, b] = f()`; undefined for a skipped element. */
  readonly names?: readonly (string | undefined)[];
  /** The parameters of a function that is passed, such as those of `tl.fn((x, mask) => …)`. */
  readonly parameters?: readonly string[];
  /**
   * The comment lines above the enclosing statement and after it, without their markers. Every call of a statement has
   * them; `statement` identifies calls of one statement, so that a caller can print them once.
   */
  readonly comments: readonly string[];
  /** Whether there is a blank line above the enclosing statement and its comments. */
  readonly blankBefore?: boolean;
  /** The start of the enclosing statement, which identifies it. */
  readonly statement: Location;
}

/** The source locations of the parts of a kernel's spec. */
export interface SpecPlaces {
  /** Each config, in order; empty if the configs are computed. */
  readonly configs: readonly Location[];
  /** The value of each part, by the part's name. */
  readonly parts: Readonly<Record<string, Location>>;
  /** The kernel's function, and what it returns first. */
  readonly body?: Location | undefined;
  readonly returned?: Location | undefined;
}

/** Where JavaScript compares what a property gave, and by what: an operator or a method. */
export interface ComparisonSite {
  readonly how: string;
  readonly at: Location;
}

/** What mends a place of the source. */
export type SourceFix =
  /** The key `from` of a call's options is `to`. */
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  /** Something there is state, and its `value` is meant: an argument, the object of a method, what is assigned. */
  | { readonly kind: "value" };

/** Answers questions about the author's files. It reads and parses each file once. */
export interface SourceIndex {
  /** The call or property access at a position from a stack trace, or undefined if there is none. */
  site(at: Location): Site | undefined;
  /** The exclusive end of the call or property access at `at`, for underlining it. */
  endOf(at: Location): Location | undefined;
  /** The change that mends the call or property access at `at`; undefined where its text does not show what to change. */
  mend(at: Location, how: SourceFix): Edit | undefined;
  /** The parts of the spec of the kernel defined at `at`. */
  spec(at: Location): SpecPlaces | undefined;
  /**
   * The file with new configs for the kernel defined at `at`, as `Tunable.rewrite` says; undefined if its configs are not
   * written as lists.
   */
  withConfigs(
    at: Location,
    found: readonly FoundConfigs[],
  ): { readonly before: string; readonly text: string } | undefined;
  /** Finds code in these files that JavaScript would silently run on traced values. */
  lint(files: readonly string[]): readonly Diagnostic[];
  /** Of the property that is read at `at`, once its file has been linted. */
  compared(at: Location): ComparisonSite | undefined;
  /** The text and absolute path of a file, given by its path relative to the author's file. */
  beside(at: Location, path: string): { readonly text: string; readonly file: string } | undefined;
}
