/** The protocol between the playground's page and its worker. */
import type { Comparison, Config } from "../../src/compiled/compiled-kernel.js";
import type { Diagnostic, Location } from "../../src/diagnostics/diagnostic.js";
import type { Drawing } from "../../src/visualize/panels.js";
import type { Selection } from "./shown-case.js";

/** A run: the texts, and the reader's choices. The worker chooses the missing parts. */
export interface Request extends Selection {
  readonly id: number;
  /** By file name; the kernel is in the first. */
  readonly files: readonly (readonly [name: string, text: string])[];
  readonly kernel?: string | undefined;
  /** Skips evaluation and proofs. */
  readonly only?: "build";
  /** A program by its ids, or the map of all. Default: the first with a mistake. */
  readonly program?: readonly number[] | "map" | undefined;
}

/** A message at a location in the reader's text. */
export interface Mark {
  /** `proof` is a gap in a proof, `refuted` a counterexample. */
  readonly kind: "error" | "warning" | "finding" | "proof" | "refuted";
  readonly code: string;
  readonly message: string;
  readonly at?: Pick<Location, "file" | "line" | "column"> | undefined;
}

export type Reply =
  | { readonly stage: "ready" }
  | { readonly stage: "failed"; readonly id: number; readonly marks: readonly Mark[] }
  | {
      readonly stage: "built";
      readonly id: number;
      readonly kernels: readonly string[];
      readonly kernel: string;
      readonly python: string;
      /** The source file and line of each line of Python. */
      readonly lines: readonly (readonly [file: string, line: number] | null)[];
      readonly ir: string;
      readonly marks: readonly Mark[];
      readonly sizes: readonly string[];
      readonly dtypes: Readonly<Record<string, readonly string[]>>;
      readonly milliseconds: number;
    }
  | {
      readonly stage: "evaluated";
      readonly id: number;
      readonly sizes: Readonly<Record<string, number>>;
      readonly dtypes: Readonly<Record<string, string>>;
      readonly config: Config["values"];
      readonly grid: readonly number[];
      /** The program that is drawn. */
      readonly program: readonly number[] | "map";
      /** The number of accesses of the drawn program, or of all programs for the map. */
      readonly accesses: number;
      readonly picture: Drawing;
      /** What the kernel wrote, as text. */
      readonly outputs: string;
      readonly comparison?: Comparison | undefined;
      readonly unchecked: readonly string[];
      readonly marks: readonly Mark[];
      readonly milliseconds: number;
    }
  /** `why` is the reason why the kernel cannot be launched with these choices. */
  | { readonly stage: "refused"; readonly id: number; readonly why: string }
  | { readonly stage: "proved"; readonly id: number; readonly summary: string; readonly marks: readonly Mark[] }
  /** What each output computes, as sentences. */
  | {
      readonly stage: "compared";
      readonly id: number;
      readonly lines: readonly string[];
      readonly marks: readonly Mark[];
    };

export function markOf({ severity, code, message, at }: Diagnostic, kind: Mark["kind"] = severity as "error"): Mark {
  return { kind, code, message, at };
}
