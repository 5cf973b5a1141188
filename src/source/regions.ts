/** The regions of the traced program in which variables are declared and assigned. */

/**
 * A part of the traced program. A `function` is the author's kernel or helper. A `loop` or `branch` is a body that
 * tracing runs once, regardless of how often the program executes it.
 */
export interface Region {
  readonly id: number;
  readonly kind: "function" | "loop" | "branch";
  readonly parent: Region | undefined;
}

let nextId = 0;

export function region(kind: Region["kind"], parent: Region | undefined): Region {
  return { id: nextId++, kind, parent };
}

/**
 * The kind of the innermost loop or branch around an assignment that does not contain the variable's declaration.
 * Undefined for a variable of the module or of a function around the kernel: plain JavaScript owns it.
 */
export function boundaryBetween(
  assignmentRegion: Region | undefined,
  declarationRegion: Region | undefined,
): "loop" | "branch" | undefined {
  let boundary: "loop" | "branch" | undefined;
  for (let ancestor = assignmentRegion; ancestor; ancestor = ancestor.parent) {
    if (ancestor === declarationRegion) return boundary;
    if (ancestor.kind !== "function") boundary ??= ancestor.kind;
  }
  return undefined;
}
