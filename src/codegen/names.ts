/** Identifiers of the emitted Python: the author's, in snake_case, unique where they could meet. */

const PYTHON_KEYWORDS =
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case type";
/** Names that the emitted module uses itself, and builtins whose shadowing would change what it means. */
const USED =
  "triton tl torch libdevice range float int min max len list tuple isinstance getattr hasattr print super self";

const RESERVED: ReadonlySet<string> = new Set(`${PYTHON_KEYWORDS} ${USED}`.split(" "));

/** `numPidInGroup` → `num_pid_in_group`; names in capitals, such as `BLOCK_M`, stay. */
export function snakeCase(name: string): string {
  if (/^[A-Z0-9_]+$/.test(name)) return name;
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_");
  return /^[a-z_]/.test(words) ? words : `_${words}`;
}

/** Whether Python would take it as an identifier that is free to use. */
export function isUsable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name);
}

/**
 * The names of one Python function. Blocks nest: a name that was taken inside a block is free again after it, because
 * Triton forgets what a loop or branch defined; one that an enclosing block holds is not.
 */
export class Names {
  readonly #blocks: Set<string>[] = [new Set()];

  /** Takes `wanted`, or the first of `wanted_1`, `wanted_2`, … that is free. */
  take(wanted: string): string {
    const base = snakeCase(wanted);
    for (let i = 0; ; i++) {
      const name = i === 0 ? (isUsable(base) ? base : `${base}_`) : `${base}_${i}`;
      if (!RESERVED.has(name) && !this.#blocks.some((block) => block.has(name))) {
        this.#blocks.at(-1)!.add(name);
        return name;
      }
    }
  }

  /** Runs `body` in a block of its own. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Set());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }
}
