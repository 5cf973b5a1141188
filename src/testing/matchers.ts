/** Matchers for kernels, for any `expect` that Jest's `extend` describes; `vitest.ts` adds them to vitest's. */
import pc from "picocolors";
import { build } from "../pipeline/build.js";
import { dtypeOf, NDArray, type Nested, type TypedArray } from "../host-call/ndarray.js";
import { tensorData } from "../host-call/bind.js";
import type { CallOptions, Constexprs, Inputs, KernelEvaluation, Outputs, RunOptions } from "../host-call/types.js";
import { formatDiagnostic } from "../diagnostics/diagnostic.js";
import { definitionOf } from "../dsl/definition.js";
import { compareOutput, type Expected as ExpectedOutput } from "../eval/compare-outputs.js";
import type { Kernel } from "../params/kernel.js";
import { sharedDevice } from "../runtime/devices/devices.js";
import { selectionFor } from "../runtime/invocation/options.js";
import { UsageError } from "../runtime/system/errors.js";
import { textReport } from "../runtime/report/text.js";
import { summarize } from "../runtime/verify/summary.js";
import { verify } from "../runtime/verify/plan-cases.js";
import { describeErrorKind } from "../compiled/error-kind.js";
import { declaredToleranceFor } from "../compiled/declared-tolerance.js";
import { toleranceOfSum } from "../compiled/tolerance.js";

/** What is verified, and where: as on the command line, everything that is left out is chosen. */
export interface VerifyMatcherOptions extends RunOptions {
  /** Sizes by name, instead of the kernel's own and ours. */
  readonly shape?: Readonly<Record<string, number>>;
  /** One dtype for each variable. */
  readonly dtype?: Readonly<Record<string, string>>;
  /** Index of the only config to try. */
  readonly config?: number;
  /** Default 0. */
  readonly seed?: number;
}

/** Values of outputs by name: arrays, or plain numbers in nested lists. */
export type Expected<P> = { readonly [K in keyof Outputs<P>]?: NDArray | TypedArray | Nested };

export interface KernelMatchers<P, R> {
  /**
   * Verifies the kernel against its reference, over shapes, dtypes, layouts and configs: what `tilescript run` does.
   */
  toVerify(options?: VerifyMatcherOptions): Promise<R>;
  /**
   * Evaluates the kernel and compares what it writes with values written down, within the tolerance of each dtype. A
   * finding of the sanitizer fails it, and so does a reference that disagrees.
   */
  toEvaluate(inputs: Inputs<P>, expected: Expected<P>, options?: Constexprs<P> & CallOptions): Promise<R>;
}

interface Verdict {
  readonly pass: boolean;
  readonly message: () => string;
}

export const matchers = {
  async toVerify(
    kernel: unknown,
    { shape, dtype, config, seed = 0, device: wanted = "auto", python, ...unknown }: VerifyMatcherOptions = {},
  ): Promise<Verdict> {
    for (const name of Object.keys(unknown))
      throw new UsageError(
        `toVerify: there is no option ${name}; the options are shape, dtype, config, seed, device, python`,
      );
    const compiled = await build(kernel);
    const selection = selectionFor(
      compiled,
      {
        seed,
        ...(shape && { shape: Object.fromEntries(Object.entries(shape).map(([name, size]) => [name, String(size)])) }),
        ...(dtype && { dtype }),
        ...(config !== undefined && { config }),
      },
      { shape: "toVerify: shape", dtype: "toVerify: dtype", config: "toVerify: config" },
    );
    const device = await sharedDevice(wanted, python);
    const verification = await verify(compiled, device, { selection });
    const report = textReport(verification, device, pc.createColors(false), false);
    return { pass: summarize(verification, device).correct, message: () => report };
  },

  async toEvaluate(
    kernel: unknown,
    inputs: Inputs<any>,
    expected: Expected<any>,
    options: Constexprs<any> & CallOptions = {},
  ): Promise<Verdict> {
    definitionOf(kernel);
    const expects = Object.keys(expected ?? {}).length > 0;
    if (!expects) throw new UsageError("toEvaluate: nothing is expected; name an output, such as { y: [1, 2, 3] }");
    const evaluation = await (kernel as Kernel<string, any>).evaluate(inputs, options);
    const wrong = complaints(evaluation, expected, options);
    const outputs = Object.keys(expected).join(", ");
    return {
      pass: wrong.length === 0,
      message: () => (wrong.length > 0 ? wrong.join("\n") : `${outputs}: the kernel gives what was not expected of it`),
    };
  },
};

function complaints(
  { outputs, findings, correct, comparison }: KernelEvaluation,
  expected: Expected<any>,
  { tolerance }: CallOptions,
): string[] {
  const seen = findings.map(({ code, message, at }) => formatDiagnostic({ code, severity: "error", message, at }));
  const disagrees =
    correct === false
      ? [
          `${comparison!.wrong} of ${comparison!.total} elements are not the reference's${describeErrorKind(comparison!)}`,
        ]
      : [];
  const differing = Object.entries(expected).flatMap(([name, values]) => {
    const got = outputs[name];
    if (!got) return [`there is no output ${name}; the kernel writes ${Object.keys(outputs).join(", ")}`];
    const due = dueOf(values as NDArray | TypedArray | Nested);
    if (due.shape.join() !== got.shape.join())
      return [`${name} has shape [${got.shape.join(", ")}], expected [${due.shape.join(", ")}]`];
    const limits = toleranceOfSum(got.dtype, 1, 0, declaredToleranceFor(tolerance, name));
    const { correct: agrees, wrong, total, worst } = compareOutput(name, tensorData(got), due, limits);
    if (agrees) return [];
    const element = worst ? `; ${name}[${worst.index.join(", ")}] is ${worst.got}, expected ${worst.expected}` : "";
    return [`${name}: ${wrong} of ${total} elements are wrong${element}`];
  });
  return [...seen, ...disagrees, ...differing];
}

/** Expected values as a reference has them; bigints stay exact. */
function dueOf(values: NDArray | TypedArray | Nested): ExpectedOutput {
  if (values instanceof NDArray) return values;
  if (dtypeOf(values)) return dueOf(NDArray.of(values as TypedArray));
  const shape: number[] = [];
  for (let level: unknown = values; Array.isArray(level); level = level[0]) shape.push(level.length);
  const elements = ([values] as readonly unknown[]).flat(Infinity);
  return { shape, data: elements.map((value) => (typeof value === "bigint" ? value : Number(value))) };
}
