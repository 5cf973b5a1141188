/** A kernel as text that two kernels share only if the same holds of both, wherever they stand in their file. */
import { formatNumber } from "../compiled/canonical-json.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Op } from "./op.js";
import { type KernelIR, Value, Variable } from "./nodes.js";

/** What of a kernel says nothing about its own steps. An author may name a constexpr so, which counts. */
const APART: ReadonlySet<string> = new Set(["reference", "providers", "flops", "shapes", "doc"]);

export function fingerprint(ir: KernelIR): string {
  const steps = Object.fromEntries(Object.entries(ir).filter(([name]) => !APART.has(name)));
  return new Writer(ir.at).text(steps);
}

/** Writes each object once, with a number where it comes again. */
class Writer {
  readonly #numbers = new Map<object, number>();

  constructor(readonly from: Location | undefined) {}

  text(of: unknown): string {
    if (typeof of === "bigint") return `${of}n`;
    if (typeof of === "function") return String(of);
    if (typeof of === "number") return formatNumber(of);
    if (typeof of !== "object" || of === null) return JSON.stringify(of) ?? String(of);
    const known = this.#numbers.get(of);
    if (known !== undefined) return `#${known}`;
    this.#numbers.set(of, this.#numbers.size);
    if (of instanceof Value)
      return `value(${this.text(of.parameter)} ${this.text(of.type)} ${of.by?.name} ${this.text(of.at)})`;
    if (of instanceof Variable) return `variable(${this.text(of.type)} ${this.text(of.at)})`;
    if (Array.isArray(of)) return `[${of.map((each) => this.text(each)).join()}]`;
    if (of instanceof Map || of instanceof Set) return `(${[...of].map((each) => this.text(each)).join()})`;
    return isLocation(of) ? this.#place(of) : this.#record(of);
  }

  #record(of: object): string {
    const texts = Object.entries(of).map(([name, each]) => `${name}:${isOp(each) ? each.name : this.text(each)}`);
    return `{${texts.join()}}`;
  }

  /** In the kernel's own file, lines count from where it stands. */
  #place({ file, line, column }: Location): string {
    const isOwn = file === this.from?.file;
    return isOwn ? `${line - this.from!.line}:${column}` : `${file}:${line}:${column}`;
  }
}

/** Ops are the same in every run, and their functions say nothing more. */
const isOp = (of: unknown): of is Op => typeof of === "object" && of !== null && "effect" in of && "infer" in of;

const isLocation = (of: object): of is Location => "file" in of && "line" in of && "column" in of;
