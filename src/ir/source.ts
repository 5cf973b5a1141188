/**
 * What tracing and reports ask about the author's source. The implementation reads files and parses them
 * (`source/source-index.ts`), so it is loaded lazily and injected; nothing here depends on Node.
 */
import type { Config } from "../contract/compiled.js";
import type { Diagnostic, Location } from "../diagnostics/diagnostic.js";

/** What the source says about one call or property access. */
export interface Site {
  /** The variable that holds the result: `const x = f()`, `x.value = f()`, `for (const x of f())`. */
  readonly name?: string;
  /** The variables that hold several results, in order: `const [a, b] = f()`. An element that is skipped is absent. */
  readonly names?: readonly (string | undefined)[];
  /**
   * The comment lines above the enclosing statement and behind it, without their markers. Every call of a statement has
   * them; `statement` tells which calls belong together, so that a caller can print them once.
   */
  readonly comments: readonly string[];
  /** Whether a blank line stands above the enclosing statement and its comments. */
  readonly blankBefore?: boolean;
  /** Where the enclosing statement starts: its identity. */
  readonly statement: Location;
}

/** Where the parts of a kernel's spec stand. */
export interface SpecPlaces {
  /** Each config, in order; none where they are computed. */
  readonly configs: readonly Location[];
  /** What each part is given, by its name. */
  readonly parts: Readonly<Record<string, Location>>;
}

/** Answers questions about the author's files. Every file is read and parsed once. */
export interface SourceIndex {
  /** The call or property access at a position that a stack trace gave, or undefined if there is none. */
  site(at: Location): Site | undefined;
  /** Where the call or property access at `at` ends, exclusive: what to underline. */
  endOf(at: Location): Location | undefined;
  /** Where the parts of the kernel that is defined at `at` stand. */
  spec(at: Location): SpecPlaces | undefined;
  /** The file with other configs for the kernel that is defined at `at`; undefined where they are not a list there. */
  withConfigs(at: Location, configs: readonly Config[]): { readonly before: string; readonly text: string } | undefined;
  /** Refuses what JavaScript would do silently to traced values in these files. */
  lint(files: readonly string[]): readonly Diagnostic[];
  /** The text of a file, by its path relative to the author's file, and that file's whole path. */
  beside(at: Location, path: string): { readonly text: string; readonly file: string } | undefined;
}
