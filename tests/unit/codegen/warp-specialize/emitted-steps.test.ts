/** The emitted partitions execute the steps that are proved, in their order, on their slots and phases. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attentionWithGradients } from "../../../../examples/attention-gradients.js";
import { lowerViews } from "../../../../src/lower/views.js";
import { kernelOf } from "../../../support/operator-kernels.js";
import {
  attentionPipeline,
  gemmPipeline,
  mixedPipeline,
  PACKED,
  type Pipeline,
  type PipelineStep,
  ROW_SCALES,
  scaledPipeline,
  WIDENED,
} from "../../../../src/codegen/warp-specialize/pattern/pipeline.js";
import { specialize } from "../../../../src/codegen/warp-specialize/pattern/specialize.js";
import {
  type Instruction,
  type Partition,
  partitionsOf,
  programOf,
  type Read,
} from "../../../../src/codegen/warp-specialize/protocol/program.js";

/** The pipeline of one of the operator's kernels, in whose golden file it stands. */
function streamedPipeline(file: string): Pipeline | undefined {
  const name = file.replace(".py", "").replaceAll("-", "_");
  if (!name.endsWith("_gradients")) return undefined;
  const ir = kernelOf(attentionWithGradients, name);
  const form = specialize(ir, lowerViews(ir));
  if (!("kind" in form) || form.kind !== "streamed") throw new Error(`${name} has another form`);
  return form.pipeline;
}

const FOLDER = join(import.meta.dirname, "gluon/golden");

/** A statement of Python on one line, with its indentation. */
interface Line {
  readonly depth: number;
  readonly text: string;
}

function bodyOf(python: string, suffix: string): readonly Line[] {
  const [, body = ""] = new RegExp(`\\ndef _\\w+_${suffix}\\([^]*?\\n\\):\\n([^]*?)\\n\\n\\n`).exec(python) ?? [];
  const lines: Line[] = [];
  let text = "";
  for (const line of body.split("\n").filter((each) => !each.trim().startsWith("#"))) {
    text = text === "" ? line : `${text} ${line.trim()}`;
    if (
      [...text].filter((each) => "([{".includes(each)).length > [...text].filter((each) => ")]}".includes(each)).length
    )
      continue;
    const tight = text
      .trim()
      .replaceAll(/([([]) /g, "$1")
      .replaceAll(/,? ([)\]])/g, "$1");
    if (tight !== "") lines.push({ depth: text.search(/\S/), text: tight });
    text = "";
  }
  return lines;
}

/** The lines below a line. */
function below(lines: readonly Line[], i: number): readonly Line[] {
  const end = lines.findIndex(({ depth }, j) => j > i && depth <= lines[i]!.depth);
  return lines.slice(i + 1, end < 0 ? lines.length : end);
}

/** What decides the steps of a partition's text. */
interface Case {
  readonly consumers: number;
  readonly partition: Partition;
  /** One of the consumers. */
  readonly part: number;
  /** The arm of the author's branches. */
  readonly arm: number;
  /** Products in flight. */
  readonly inFlight: number;
  readonly hasLongHeads: boolean;
}

class Steps {
  readonly steps: string[] = [];
  /** The variables that hold the slot of the iteration. */
  readonly #slots = new Set<string>();

  constructor(
    readonly barriers: readonly (readonly [emitted: string, name: string])[],
    readonly operands: readonly string[],
    readonly decided: Case,
  ) {}

  run(lines: readonly Line[], owner = String(this.decided.part)): this {
    for (let i = 0; i < lines.length; i++) {
      const { text } = lines[i]!;
      const body = below(lines, i);
      if (text.endsWith(":")) {
        this.#block(text, body, owner);
        i += body.length;
      } else this.#line(text, owner);
    }
    return this;
  }

  #block(text: string, body: readonly Line[], owner: string): void {
    if (text.includes("gl.static_range(CONSUMERS)")) {
      for (let i = 0; i < this.decided.consumers; i++) this.run(body, String(i));
    } else if (text.startsWith("for ")) {
      this.steps.push("loop");
      this.run(body, owner);
      this.steps.push("end");
    } else if (this.#isTaken(text)) this.run(body, owner);
  }

  /** True for a branch on the config that this one takes, or of the author's in the arm. */
  #isTaken(text: string): boolean {
    const { arm } = this.decided;
    if (text === "if tile < tiles:") return true;
    return this.#decides(/^if (.*):$/.exec(text)?.[1] ?? "") ?? (text === "else:" ? arm === 1 : arm === 0);
  }

  /** The truth of a condition on the config; undefined for another one. */
  #decides(condition: string): boolean | undefined {
    const { consumers, inFlight, hasLongHeads } = this.decided;
    const values: Readonly<Record<string, number>> = {
      CONSUMERS: consumers,
      IN_FLIGHT: inFlight,
      PIECES: hasLongHeads ? 2 : 1,
    };
    const isOr = condition.includes(" or ");
    const tests = condition.split(isOr ? " or " : " and ").map((each) => /^([A-Z_]+) (<|==|>) (\d)$/.exec(each));
    const truths = tests.map((test) => {
      const value = values[test?.[1] ?? ""];
      if (!test || value === undefined) return undefined;
      const difference = value - Number(test[3]);
      return test[2] === "<" ? difference < 0 : test[2] === ">" ? difference > 0 : difference === 0;
    });
    if (truths.includes(undefined)) return undefined;
    return isOr ? truths.includes(true) : !truths.includes(false);
  }

  #line(text: string, owner: string): void {
    const slot = /^(\w+) = iteration % STAGES$/.exec(text)?.[1];
    if (slot) this.#slots.add(slot);
    if (text === "iteration += 1") {
      this.#slots.clear();
      this.steps.push("advance");
    }
    const barrier = /^mbarrier\.(\w+)\((\w+)\.index\((.*?)\)(?:, (.*))?\)$/.exec(text);
    if (barrier) {
      const [, kind, emitted = "", index = "", argument] = barrier;
      const name = this.barriers.find(([each]) => each === emitted)?.[1];
      const copies = kind === "expect" ? ` of ${argument!.split(" + ").length} copies` : "";
      const detail = kind === "wait" ? ` ${this.#lag(argument!)}` : argument?.startsWith("pred=") ? " later" : "";
      this.steps.push(`${kind === "expect" ? "arrive" : kind} ${name} ${this.#place(index, owner)}${detail}${copies}`);
    }
    const copy = /^_load_block\(.*, (\w+)\.index\((\w+)\), (\w+)_blocks\.index\(([^)]+)\)\)$/.exec(text);
    if (copy) {
      const [, emitted, index = "", tensor = "", buffer = ""] = copy;
      const name = this.barriers.find(([each]) => each === emitted)?.[1];
      expect(buffer.replace(/ \* CONSUMERS \+ \w+$/, "")).toBe(index);
      const step = `copy ${this.operands.indexOf(tensor)} ${name} ${this.#place(index, owner)}`;
      if (this.steps.at(-1) !== step) this.steps.push(step);
    }
    if (text.includes(".load(gl.DotOperandLayout")) {
      const isSpilled = this.#decides(/ if (.*?) else /.exec(text)?.[1] ?? "") ?? false;
      if (!isSpilled) this.steps.push("take");
    }
    const scales = /(\w+)_blocks\.index\((\w+) \* CONSUMERS \+ part\).*\.load\(gl\.SliceLayout/.exec(text);
    const vector = /(\w+)_blocks\.index\((\w+)\)[^=]*\.load\(gl\.SliceLayout/.exec(text);
    if (scales) expect(scales[1]).toBe(this.operands[ROW_SCALES]);
    const read = scales ?? vector;
    if (read) {
      expect(this.#place(read[2] ?? "", owner)).toBe("age 0");
      this.steps.push(`take ${this.operands.indexOf(read[1] ?? "")}`);
    }
    const widened = /(\w+)_blocks\.index\((\w+)\)[^=]*\.(load\(layout\)|store\()/.exec(text);
    if (widened) {
      expect(this.#place(widened[2] ?? "", owner)).toBe("age 0");
      this.steps.push(`${widened[3] === "store(" ? "store" : "take"} ${this.operands.indexOf(widened[1] ?? "")}`);
    }
    if (text === "fence_async_shared()" && this.decided.partition === "widener") this.steps.push("fence");
    const pending = /warpgroup_mma_wait\((\d)/.exec(text)?.[1];
    if (pending) this.steps.push(`settle ${pending}`);
    else if (/warpgroup_mma\(|_add_product\(/.test(text)) {
      const blocks = [...text.matchAll(/(\w+)_blocks\.index\((\w+)[^)]*\)/g)];
      const slots = blocks.filter(([, , index]) => index !== "part");
      for (const [, , index = ""] of slots) expect(this.#place(index, owner)).toBe("age 0");
      this.steps.push(`multiply ${slots.map(([, tensor = ""]) => this.operands.indexOf(tensor)).join()}`);
      if (text.includes("_add_product(")) this.steps.push("settle 0");
    }
  }

  #place(index: string, owner: string): string {
    if (this.#slots.has(index)) return "age 0";
    if (index === "(iteration + STAGES - 1) % STAGES") return "age 1";
    const { part, consumers } = this.decided;
    if (index === "(part + 1) % CONSUMERS") return `of ${(part + 1) % consumers}`;
    return /^(part|i(_\d)?)$/.test(index) ? `of ${owner}` : `unknown ${index}`;
  }

  #lag(parity: string): string {
    if (parity === "(iteration & 1) ^ (1 if part == 0 else 0)") return this.decided.part === 0 ? "lag 1" : "lag 0";
    if (/^(\(iteration \/\/ STAGES\) & 1|i & 1|0)$/.test(parity)) return "lag 0";
    return /^(\(\(iteration \/\/ STAGES\) & 1\) \^ 1|\(i & 1\) \^ 1)$/.test(parity) ? "lag 1" : `unknown ${parity}`;
  }
}

function textOf(step: Instruction): readonly string[] {
  const place = (owner: number | undefined, age = 0) => (owner === undefined ? `age ${age}` : `of ${owner}`);
  switch (step.kind) {
    case "loop":
      return ["loop"];
    case "repeat":
      return ["end"];
    case "wait":
      return [`wait ${step.barrier} ${place(step.owner)} lag ${step.lag}`];
    case "arrive": {
      const copies = step.copies > 0 ? ` of ${step.copies} copies` : "";
      return [`arrive ${step.barrier} ${place(step.owner, step.age)}${step.isLater ? " later" : ""}${copies}`];
    }
    case "copy":
      return [`copy ${step.operand} ${step.barrier} ${place(step.owner)}`];
    case "multiply":
      return [`multiply ${slotOperands(step.reads).join()}`];
    case "settle":
      return [`settle ${step.pending}`];
    case "take":
      return [step.read.owner === undefined ? `take ${step.read.operand}` : "take"];
    case "widen":
      return [`take ${step.from}`, `store ${step.to}`];
    case "advance":
    case "fence":
      return [step.kind];
    case "compute":
    case "add":
      return [];
    default:
      return step satisfies never;
  }
}

/** The operands of which the iteration's slot has a block. */
const slotOperands = (reads: readonly Read[]) =>
  reads.flatMap(({ operand, owner }) => (owner === undefined ? [operand] : []));

/** The steps without a loop that repeats the one before it, as masks split a loop in two. */
function merged(steps: readonly string[]): string {
  return steps.join("\n").replaceAll(/(\nloop\n(?:(?!loop|end)[^\n]+\n)+end)\1/g, "$1");
}

/** A kernel whose rows attend to the same keys leaves out a loop that would have no iterations. */
function withoutIdle(pipeline: Pipeline): Pipeline {
  const isIdle = ({ kind }: PipelineStep) => kind === "idle iterations";
  const consumer = pipeline.consumer.map((step) =>
    step.kind === "tiles" ? { ...step, body: step.body.filter((each) => !isIdle(each)) } : step,
  );
  return { ...pipeline, consumer };
}

const SUFFIXES = { producer: "load", widener: "widen" } as const;

const modules = readdirSync(FOLDER).map((file) => [file, readFileSync(join(FOLDER, file), "utf8")] as const);

test.each(modules)("%s executes the steps that are proved", (file, python) => {
  const emitted = Array.from(
    python.matchAll(/(\w+) = gl\.allocate_shared_memory\(\s*gl\.int64/g),
    ([, name = ""]) => name,
  );
  const streamed = streamedPipeline(file);
  const isScaled = python.includes("IN_FLIGHT");
  const isMixed = python.includes("widened_blocks");
  const productPipeline = isScaled ? scaledPipeline : isMixed ? mixedPipeline : gemmPipeline;
  const pipeline = streamed ?? (emitted.length <= 3 ? productPipeline : attentionPipeline);
  const barriers = Object.keys(pipeline.barriers).map((name, i) => [emitted[i] ?? "", name] as const);
  const allocated = Array.from(
    python.matchAll(/(\w+)_blocks = gl\.allocate_shared_memory/g),
    ([, name = ""]) => name,
  ).slice(0, streamed ? undefined : pipeline === gemmPipeline ? 2 : 3);
  const operands = isMixed ? ["a", "widened", "", "packed"] : allocated;
  if (isMixed)
    expect([operands[WIDENED], operands[PACKED], allocated]).toEqual(["widened", "packed", ["a", "packed", "widened"]]);
  const isLong = pipeline === attentionPipeline && python.includes('"PIECES"');
  const variants: readonly Partial<Case>[] = [
    {},
    isScaled ? { inFlight: 2 } : { arm: 1 },
    ...(isLong ? [{ hasLongHeads: true }] : []),
  ];
  for (const consumers of python.includes('"CONSUMERS": 3') ? [1, 2, 3] : [1, 2])
    for (const partition of partitionsOf({ pipeline, stages: 2, consumers, isPromoted: false, mayIdle: true }))
      for (const { arm = 0, inFlight = 1, hasLongHeads = false } of variants) {
        const isConsumer = typeof partition !== "string";
        const lines = bodyOf(python, isConsumer ? "multiply" : SUFFIXES[partition]);
        const part = isConsumer ? partition.consumer : 0;
        const decided = { consumers, partition, part, arm, inFlight, hasLongHeads };
        const { steps } = new Steps(barriers, operands, decided).run(lines);
        const proved = [pipeline, withoutIdle(pipeline)].flatMap((each) =>
          [false, true].map((isPromoted) => {
            const form = { stages: 2, consumers, isPromoted, isPaired: inFlight === 2, hasLongHeads, mayIdle: true };
            return merged(programOf({ pipeline: each, ...form }, partition).flatMap(textOf));
          }),
        );
        expect(proved, merged(steps)).toContain(merged(steps));
      }
});
