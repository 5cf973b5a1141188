/** Identifiers of the emitted Python: the author's names in snake_case, unique within their scope. */
import { PYTHON_KEYWORDS } from "../../torch/node.js";

/** Python's keywords and soft keywords. */
const KEYWORDS: readonly string[] = [...PYTHON_KEYWORDS, "match", "case", "type"];
/** Names that the emitted module uses itself, and builtins whose shadowing would change its meaning. */
const MODULE_GLOBALS =
  "triton tl torch libdevice range float int min max len list tuple isinstance getattr hasattr print super self";
/** Module attributes, and `__debug__`, to which Python allows no assignment. */
const SPECIAL = "__builtins__ __debug__ __name__ __file__ __doc__ __spec__ __loader__ __package__ __path__ __cached__";
/** Python's other builtins, which a local name should not shadow. */
const BUILTINS =
  "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright " +
  "credits delattr dict dir divmod enumerate eval exec exit filter format frozenset globals hash help hex id input " +
  "issubclass iter license locals map memoryview next object oct open ord pow property quit repr reversed round set " +
  "setattr slice sorted staticmethod str sum vars zip";
/** Letters that look like digits, which linters reject. */
const AMBIGUOUS = "l I O";

const RESERVED: ReadonlySet<string> = new Set([...KEYWORDS, ...`${MODULE_GLOBALS} ${SPECIAL} ${AMBIGUOUS}`.split(" ")]);

/**
 * `numPidInGroup` → `num_pid_in_group`. Names in capitals, such as `BLOCK_M`, stay. Non-ASCII letters lose their
 * accents or become `_`. A name without any other characters becomes `fallback`.
 */
export function snakeCase(name: string, fallback = "value"): string {
  if (/^[A-Z][A-Z0-9_]*$/.test(name)) return name;
  const identifier = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_");
  if (identifier !== name && /^[_]*$/.test(identifier)) return fallback;
  return /^[a-z_]/.test(identifier) ? identifier : `_${identifier}`;
}

/** True for a Python keyword, which cannot be an attribute name. */
export function isKeyword(name: string): boolean {
  return KEYWORDS.includes(name);
}

/** True for a valid identifier that is not reserved. */
export function isUsable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name);
}

const BUILTIN_NAMES: ReadonlySet<string> = new Set(BUILTINS.split(" "));

interface Scope {
  readonly parent: Scope | undefined;
  /** The names of this block, with their types. */
  readonly names: Map<string, string | undefined>;
  /** The names that remain defined after completed inner blocks, with their types. */
  readonly stillDefined: Map<string, string | undefined>;
}

/**
 * The names of one Python function, in nested blocks. A name of an enclosing block is not free. In Triton, names that a
 * loop defines, except its index, are undefined after it, so they become free. Names that a branch or an unrolled loop
 * defines may remain defined, also those of loops inside an unrolled loop. Triton rejects a name that then changes its
 * type in a loop or in the other branch, so the name is free only for values of the same type.
 */
export class Names {
  /** The innermost block. */
  #block = scope(undefined);
  readonly #isLocal: boolean;

  /** In a `body`, no name shadows a builtin of Python. In a `module`, arguments keep the author's names. */
  constructor(kind: "module" | "body" = "module") {
    this.#isLocal = kind === "body";
  }

  /** Takes `hint`, or the first of `hint_1`, `hint_2`, … that is free for a value of this type. */
  take(hint: string, type?: string): string {
    const base = snakeCase(hint);
    const unnumberedName = this.#isUsable(base) ? base : `${base}_`;
    for (let i = 0; ; i++) {
      const numberedName = base === "_" ? `_${i}` : `${base}_${i}`;
      const name = i === 0 ? unnumberedName : numberedName;
      if (RESERVED.has(name) || !this.isFree(name, type)) continue;
      this.#block.names.set(name, type);
      return name;
    }
  }

  #isUsable(name: string): boolean {
    return isUsable(name) && !(this.#isLocal && BUILTIN_NAMES.has(name));
  }

  /** Takes `name` unchanged, or with a number appended. */
  reserve(name: string): string {
    for (let i = 0; ; i++) {
      const candidate = i === 0 ? name : `${name}_${i}`;
      if (RESERVED.has(candidate) || !this.isFree(candidate)) continue;
      this.#block.names.set(candidate, undefined);
      return candidate;
    }
  }

  /** True if a value of this type can take the name. */
  isFree(name: string, type?: string): boolean {
    for (let block: Scope | undefined = this.#block; block; block = block.parent) {
      const { names, stillDefined } = block;
      if (names.has(name)) return false;
      if (stillDefined.has(name) && (type === undefined || stillDefined.get(name) !== type)) return false;
    }
    return true;
  }

  /** Marks a name that remains defined after its block. */
  markDefined(name: string, type: string): void {
    this.#block.stillDefined.set(name, type);
  }

  /** Runs `body` in a new block. `mayStayDefined`: the names of the block may remain defined in Triton. */
  block<T>(mayStayDefined: boolean, body: () => T): T {
    const outer = this.#block;
    const { names, stillDefined } = (this.#block = scope(outer));
    try {
      return body();
    } finally {
      this.#block = outer;
      if (mayStayDefined) for (const [name, type] of [...stillDefined, ...names]) outer.stillDefined.set(name, type);
    }
  }
}

function scope(parent: Scope | undefined): Scope {
  return { parent, names: new Map(), stillDefined: new Map() };
}
