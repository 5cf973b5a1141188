/** A canonical text of a kernel, independent of its position in the file. Kernels with equal text have equal proofs. */
import { formatNumber } from "../compiled/canonical-json.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Op } from "./op.js";
import { type KernelIR, Value, Variable } from "./nodes.js";

/** Fields of a kernel that do not affect its proofs. A constexpr with one of these names is not omitted. */
const OMITTED_FIELDS: ReadonlySet<string> = new Set(["reference", "providers", "flops", "shapes", "doc"]);

export function fingerprint(ir: KernelIR): string {
  const steps = Object.fromEntries(Object.entries(ir).filter(([name]) => !OMITTED_FIELDS.has(name)));
  return new Writer(ir.at).text(steps);
}

/** Writes each object once. Later occurrences are written as its number. */
class Writer {
  readonly #numbers = new Map<object, number>();

  constructor(readonly kernelLocation: Location | undefined) {}

  text(subject: unknown): string {
    if (typeof subject === "bigint") return `${subject}n`;
    if (typeof subject === "function") return String(subject);
    if (typeof subject === "number") return formatNumber(subject);
    if (typeof subject !== "object" || subject === null) return JSON.stringify(subject) ?? String(subject);
    const number = this.#numbers.get(subject);
    if (number !== undefined) return `#${number}`;
    this.#numbers.set(subject, this.#numbers.size);
    if (subject instanceof Value)
      return `value(${this.text(subject.parameter)} ${this.text(subject.type)} ${subject.definingOp?.name} ${this.text(subject.location)})`;
    if (subject instanceof Variable) return `variable(${this.text(subject.type)} ${this.text(subject.location)})`;
    if (Array.isArray(subject)) return `[${subject.map((each) => this.text(each)).join()}]`;
    if (subject instanceof Map || subject instanceof Set)
      return `(${[...subject].map((each) => this.text(each)).join()})`;
    return isLocation(subject) ? this.#locationText(subject) : this.#record(subject);
  }

  #record(record: object): string {
    const texts = Object.entries(record).map(([name, each]) => `${name}:${isOp(each) ? each.name : this.text(each)}`);
    return `{${texts.join()}}`;
  }

  /** A location. Lines in the kernel's file are relative to the kernel. */
  #locationText({ file, line, column }: Location): string {
    const start = this.kernelLocation;
    return file === start?.file ? `${line - start.line}:${column}` : `${file}:${line}:${column}`;
  }
}

/** Detects ops, which are written by name: they are the same in every run. */
const isOp = (subject: unknown): subject is Op =>
  typeof subject === "object" && subject !== null && "effect" in subject && "infer" in subject;

const isLocation = (subject: object): subject is Location =>
  "file" in subject && "line" in subject && "column" in subject;
