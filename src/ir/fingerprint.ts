/** Canonical texts of a kernel and of its parts. Kernels with equal texts have equal proofs. */
import { formatNumber } from "../compiled/canonical-json.js";
import type { Fingerprint } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Op } from "./op.js";
import { type KernelIR, type Param, Value, Variable } from "./nodes.js";

/** SHA-256 (FIPS 180-4) of a text in UTF-8, as hex digits. Browsers have no synchronous function for it. */
export function sha256(text: string): string {
  const bytes = padded(new TextEncoder().encode(text));
  const blocks = new DataView(bytes.buffer);
  const state = Uint32Array.from(INITIAL);
  for (let start = 0; start < bytes.length; start += 64) compress(state, blocks, start);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The message with a 1 bit, zeros and its length in bits, in whole blocks of 64 bytes. */
function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  new DataView(bytes.buffer).setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return bytes;
}

function compress(state: Uint32Array, blocks: DataView, start: number): void {
  const words = new Uint32Array(64);
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      words[i] = blocks.getUint32(start + 4 * i);
      continue;
    }
    const [early, late] = [at(words, i - 15), at(words, i - 2)];
    words[i] =
      at(words, i - 16) +
      (rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)) +
      at(words, i - 7) +
      (rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10));
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + at(ROUNDS, i) + at(words, i)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = at(state, i) + word));
}

const at = (words: ArrayLike<number>, i: number): number => words[i] ?? 0;
const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);

/** The first 32 bits of the fractions of roots of the first primes. Doubles hold them exactly enough. */
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32);
const INITIAL = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime)));

/** Fields of a kernel that do not affect its proofs. A constexpr with one of these names is not omitted. */
const OMITTED_FIELDS: ReadonlySet<string> = new Set(["reference", "providers", "flops", "shapes", "doc"]);

/** A text that is independent of the kernel's position in its file. */
export function proofKey(ir: KernelIR): string {
  const steps = Object.fromEntries(Object.entries(ir).filter(([name]) => !OMITTED_FIELDS.has(name)));
  return new Writer({ at: ir.at }).text(steps);
}

type Part = keyof Fingerprint["parts"];

/** The part to which a field belongs; undefined if no verdict depends on it. */
const PARTS: Readonly<Record<keyof KernelIR, Part | undefined>> = {
  params: "params",
  requires: "requirements",
  grid: "grid",
  tuning: "configs",
  inputs: "inputs",
  limits: "limits",
  functions: "body",
  body: "body",
  name: undefined,
  doc: undefined,
  flags: undefined,
  coercionError: undefined,
  launch: undefined,
  triton: undefined,
  targets: undefined,
  warpSpecialize: "configs",
  reference: undefined,
  providers: undefined,
  flops: undefined,
  shapes: undefined,
  tolerance: undefined,
  counted: undefined,
  at: undefined,
};

/** A SHA-256 of a part of an operator or a reference. Locations do not count. */
export const digestOf = (subject: unknown): string => sha256(new Writer({}).text(subject));

/** What a certificate of a kernel is about. Locations and the names of local variables do not count. */
export function fingerprintOf(ir: KernelIR): Fingerprint {
  const names = parameterNames(ir.params);
  const digest = (part: Part): string => {
    const fields = Object.entries(ir).filter(([field]) => PARTS[field as keyof KernelIR] === part);
    // A value of a param is written in the params with its type, and elsewhere by its name.
    const writer = new Writer({ ...(part !== "params" && { names }) });
    return sha256(writer.text(Object.fromEntries(fields)));
  };
  const parts = [...new Set(Object.values(PARTS))].filter((part) => part !== undefined);
  return {
    kernel: ir.name,
    parts: Object.fromEntries(parts.map((part) => [part, digest(part)])) as Fingerprint["parts"],
  };
}

/** Names of the values that params declare: `x.strides.0`. */
function parameterNames(params: readonly Param[]): ReadonlyMap<object, string> {
  const names = new Map<object, string>();
  for (const param of params)
    for (const [field, member] of Object.entries(param) as [string, unknown][])
      [member].flat().forEach((value, i) => {
        if (value instanceof Value && !names.has(value)) names.set(value, `${param.name}.${field}.${i}`);
      });
  return names;
}

interface WriterOptions {
  /** The location of the kernel, to which lines are relative; absent if locations are left out. */
  readonly at?: Location | undefined;
  /** Values that are written as their names. */
  readonly names?: ReadonlyMap<object, string>;
}

/** Writes each object once. Later occurrences are written as its number. */
class Writer {
  readonly #numbers = new Map<object, number>();

  constructor(readonly options: WriterOptions) {}

  text(subject: unknown): string {
    if (typeof subject === "bigint") return `${subject}n`;
    if (typeof subject === "function") return String(subject);
    if (typeof subject === "number") return formatNumber(subject);
    if (typeof subject !== "object" || subject === null) return JSON.stringify(subject) ?? String(subject);
    if (isLocation(subject)) return this.#place(subject);
    const parameter = this.options.names?.get(subject);
    if (parameter !== undefined) return parameter;
    const number = this.#numbers.get(subject);
    if (number !== undefined) return `#${number}`;
    this.#numbers.set(subject, this.#numbers.size);
    if (subject instanceof Value)
      return `value(${this.text(subject.parameter)} ${this.text(subject.type)} ${subject.definingOp?.name} ${this.#place(subject.location)})`;
    if (subject instanceof Variable) return `variable(${this.text(subject.type)} ${this.#place(subject.location)})`;
    if (Array.isArray(subject)) return `[${subject.map((each) => this.text(each)).join()}]`;
    if (subject instanceof Map || subject instanceof Set)
      return `(${[...subject].map((each) => this.text(each)).join()})`;
    return this.#record(subject);
  }

  #record(record: object): string {
    // Locations are undefined without the author's source, and the text of a function depends on the bundle.
    const isSkipped = (each: unknown) => isLocation(each) || typeof each === "function";
    const texts = Object.entries(record)
      .filter(([, each]) => each !== undefined && ("at" in this.options || !isSkipped(each)))
      .map(([name, each]) => `${name}:${isOp(each) ? each.name : this.text(each)}`);
    return `{${texts.join()}}`;
  }

  /** A location. Lines in the kernel's file are relative to the kernel. */
  #place(location: Location | undefined): string {
    if (!location || !("at" in this.options)) return "";
    const { file, line, column } = location;
    const start = this.options.at;
    return file === start?.file ? `${line - start.line}:${column}` : `${file}:${line}:${column}`;
  }
}

/** Detects ops, which are written by name: they are the same in every run. */
const isOp = (subject: unknown): subject is Op =>
  typeof subject === "object" && subject !== null && "effect" in subject && "infer" in subject;

const isLocation = (subject: unknown): subject is Location =>
  typeof subject === "object" && subject !== null && "file" in subject && "line" in subject && "column" in subject;
