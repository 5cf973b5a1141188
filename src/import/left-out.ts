/** The parts of a Triton kernel that its TypeScript file has no place for. */

export interface LeftOut {
  readonly what: "arm" | "config" | "default" | "heuristic" | "key" | "option" | "parameter";
  readonly text: string;
  /** The line in the Python file. */
  readonly line: number;
}
