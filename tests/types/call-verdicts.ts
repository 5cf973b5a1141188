/** What the build and the editor say of calls: the type of the result, or a sentence. */
import { libdevice, TileScriptError, tl } from "tilescript";
import { isHandle, valueOf } from "../../src/ir/handle.js";
import type { Op } from "../../src/ir/op.js";
import { opOf } from "../../src/ops/define.js";
import { declarations, inKernel, operandsOf } from "./call-setting.js";
import { typeText } from "./type-oracle.js";
import { inProjectFolder, tsc } from "../support/tsc.js";

/** What the build says of a call. */
export interface Built {
  readonly call: string;
  /** The op that was called last, whether it was refused or not. */
  readonly op: Op | undefined;
  /** The result's type as TypeScript writes it, or a sentence. */
  readonly result?: string;
  readonly sentence?: string;
  readonly code?: string;
}

/** A result as TypeScript writes its type. */
function resultText(value: unknown): string {
  if (value === undefined) return "void";
  if (Array.isArray(value)) return `[${value.map(resultText).join(", ")}]`;
  if (!isHandle(value)) return typeof value;
  const { type } = valueOf(value);
  // A constexpr that is known by now keeps the interface of one.
  const literals = { int: "Constexpr", float: "ConstFloat", bool: "ConstBool" };
  return type.kind === "constexpr" && type.of in literals
    ? `${literals[type.of as "int"]}<${JSON.stringify(type.text)}>`
    : typeText(type);
}

/** The op of a function of tl. */
function opCalled(call: string): Op | undefined {
  const name = /^tl\.(\w+)\(/.exec(call)?.[1];
  return name === undefined ? undefined : opOf((tl as unknown as Record<string, unknown>)[name]);
}
/** A derived op, of which the program has the parts only. */
const derivedOp = (call: string): Op | undefined => (opCalled(call)?.parts ? opCalled(call) : undefined);

export function built(calls: readonly string[]): Built[] {
  return inKernel(operandsOf(calls), (values, recorder) =>
    calls.map((call): Built => {
      const before = recorder.statements.length;
      const { depth } = recorder;
      const used = [...new Set(call.match(/\b[A-Za-z]\w*/g))].filter((name) => name in values);
      recorder.executionSpace = opCalled(call)?.needs.hostOnly ? "host" : "kernel";
      try {
        const run = new Function("tl", "libdevice", ...used, `return ${call};`) as (...args: unknown[]) => unknown;
        const result = resultText(run(tl, libdevice, ...used.map((name) => values[name])));
        const last = recorder.statements.slice(before).findLast((statement) => statement.kind === "op");
        return { call, op: derivedOp(call) ?? last?.op, result };
      } catch (error) {
        while (recorder.depth > depth) recorder.close();
        if (error instanceof TileScriptError) {
          const { message, code } = error.diagnostics[0]!;
          return { call, op: undefined, sentence: message, code };
        }
        return { call, op: undefined, sentence: String(error), code: "crash" };
      }
    }),
  );
}

/** What the editor says of a call whose result the build types so: nothing, or its errors with the lines below them. */
export function edited(name: string, answers: readonly Built[]): string[][] {
  const head = [
    ...declarations(operandsOf(answers.map(({ call }) => call))),
    // Identity of tuples as a whole looks at how they were computed.
    "type SameEach<A, B> = [A, B] extends [readonly [infer H, ...infer R], readonly [infer G, ...infer Q]]",
    "  ? Same<H, G> extends true ? (R extends readonly [] ? Q extends readonly [] ? true : false : SameEach<R, Q>) : false",
    "  : false;",
    "type Exactly<A, B> = Same<A, B> extends true ? true : SameEach<A, B> extends true ? true : { editor: A; build: B };",
  ];
  const lines = answers.flatMap(({ call, result }, i) => [
    `export const q${i} = ${call};`,
    result === undefined ? "" : `export const a${i}: Exactly<typeof q${i}, ${result}> = true;`,
  ]);
  const options = { noErrorTruncation: true };
  const output = inProjectFolder(
    name,
    { "calls.ts": [...head, ...lines].join("\n") },
    (folder) => tsc(["-p", folder, "--pretty", "false"]),
    options,
  );
  const said: string[][] = answers.map(() => []);
  let at = -1;
  for (const line of output.split("\n")) {
    const place = /calls\.ts\((\d+),\d+\): error (.*)$/.exec(line);
    if (place) at = Math.floor((Number(place[1]) - 1 - head.length) / 2);
    else if (!line.startsWith(" ")) {
      if (line.includes("error")) throw new Error(line);
      continue;
    }
    if (at < 0 && place) throw new Error(line);
    said[at]?.push(place ? place[2]! : line);
  }
  return said;
}
