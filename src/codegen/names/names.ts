/** Identifiers of the emitted Python: the author's names in snake_case, unique within their scope. */
import { PYTHON_KEYWORDS } from "../../torch/python-identifiers.js";

/** Python's keywords and soft keywords. */
const KEYWORDS: readonly string[] = [...PYTHON_KEYWORDS, "match", "case", "type"];
/** Names that the emitted module uses itself, and builtins whose shadowing would change what it means. */
const USED =
  "triton tl torch libdevice range float int min max len list tuple isinstance getattr hasattr print super self";
/** Names by which Python knows a module, and one that nothing may be assigned to. */
const SPECIAL = "__builtins__ __debug__ __name__ __file__ __doc__ __spec__ __loader__ __package__ __path__ __cached__";
/** Python's builtins, which a name inside a function would hide from whoever reads or extends it. */
const BUILTINS =
  "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright " +
  "credits delattr dict dir divmod enumerate eval exec exit filter format frozenset globals hash help hex id input " +
  "issubclass iter license locals map memoryview next object oct open ord pow property quit repr reversed round set " +
  "setattr slice sorted staticmethod str sum vars zip";
/** Letters that look like digits, which linters refuse. */
const AMBIGUOUS = "l I O";

const RESERVED: ReadonlySet<string> = new Set([...KEYWORDS, ...`${USED} ${SPECIAL} ${AMBIGUOUS}`.split(" ")]);

/**
 * `numPidInGroup` → `num_pid_in_group`; names in capitals, such as `BLOCK_M`, stay. Letters that Python's style guide
 * keeps out of identifiers lose their accents or become `_`; a name of nothing else becomes `fallback`.
 */
export function snakeCase(name: string, fallback = "value"): string {
  if (/^[A-Z][A-Z0-9_]*$/.test(name)) return name;
  const words = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_");
  if (words !== name && /^[_]*$/.test(words)) return fallback;
  return /^[a-z_]/.test(words) ? words : `_${words}`;
}

/** Whether the word is a keyword, so that it cannot stand after a dot. */
export function isKeyword(word: string): boolean {
  return KEYWORDS.includes(word);
}

/** Whether it is a valid identifier that is free to use. */
export function isUsable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name);
}

const BUILTIN: ReadonlySet<string> = new Set(BUILTINS.split(" "));

interface Scope {
  /** Names of this block, each with its type. */
  readonly held: Map<string, string | undefined>;
  /** Names that completed inner blocks left defined. */
  readonly left: Map<string, string | undefined>;
}

/**
 * The names of one Python function. Blocks nest, and a name that an enclosing block holds is taken. Triton forgets what
 * a loop defined, so its names are free after it; but not the loop's index. What a branch or an unrolled loop defined,
 * a loop inside the unrolled one included, may stay defined, and a
 * name that then changes its type in a loop or in the other branch is an error to Triton: such a name is free only for
 * values of the same type.
 */
export class Names {
  readonly #blocks: Scope[] = [scope()];
  readonly #isLocal: boolean;

  /** The names of a function's body are local: none hides a builtin of Python's. Arguments keep the author's names. */
  constructor(of: "module" | "body" = "module") {
    this.#isLocal = of === "body";
  }

  /** Takes `wanted`, or the first of `wanted_1`, `wanted_2`, … that is free for a value of this type. */
  take(wanted: string, type?: string): string {
    const base = snakeCase(wanted);
    for (let i = 0; ; i++) {
      const numbered = base === "_" ? `_${i}` : `${base}_${i}`;
      const name = i === 0 ? (this.#isUsable(base) ? base : `${base}_`) : numbered;
      if (RESERVED.has(name) || !this.isFree(name, type)) continue;
      this.#blocks.at(-1)!.held.set(name, type);
      return name;
    }
  }

  #isUsable(name: string): boolean {
    return isUsable(name) && !(this.#isLocal && BUILTIN.has(name));
  }

  /** Takes `name` as it is, or with a number behind it. */
  keep(name: string): string {
    for (let i = 0; ; i++) {
      const own = i === 0 ? name : `${name}_${i}`;
      if (RESERVED.has(own) || !this.isFree(own)) continue;
      this.#blocks.at(-1)!.held.set(own, undefined);
      return own;
    }
  }

  /** Whether a value of this type can take the name. */
  isFree(name: string, type?: string): boolean {
    return this.#blocks.every(
      ({ held, left }) => !held.has(name) && (!left.has(name) || (type !== undefined && left.get(name) === type)),
    );
  }

  /** Marks a name that stays defined after its block. */
  leave(name: string, type: string): void {
    this.#blocks.at(-1)!.left.set(name, type);
  }

  /** Runs `body` in a block of its own. `leaves` says that Triton may keep its names defined. */
  block<T>(leaves: boolean, body: () => T): T {
    this.#blocks.push(scope());
    try {
      return body();
    } finally {
      const { held, left } = this.#blocks.pop()!;
      if (leaves) for (const [name, type] of [...left, ...held]) this.#blocks.at(-1)!.left.set(name, type);
    }
  }
}

function scope(): Scope {
  return { held: new Map(), left: new Map() };
}
