/** Matchers for kernels, for any `expect.extend` compatible with Jest; `vitest.ts` adds them to vitest's `expect`. */
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
import { textReport } from "../runtime/report/verify-report.js";
import { verify, summarize } from "../runtime/verify/plan-cases.js";
import { describeErrorKind } from "../compiled/errors.js";
import { toleranceOfSum, declaredToleranceFor } from "../compiled/tolerance.js";

/** Options for the verification. As on the command line, omitted ones have defaults. */
export interface VerifyMatcherOptions extends RunOptions {
  /** Sizes by name, in place of the default ones. */
  readonly shape?: Readonly<Record<string, number>>;
  /** One dtype for each dtype variable. */
  readonly dtype?: Readonly<Record<string, string>>;
  /** Index of the only config to run. */
  readonly config?: number;
  /** The seed of the inputs. Default: 0. */
  readonly seed?: number;
}

/** Expected values of outputs by name: arrays, or plain numbers in nested lists. */
export type Expected<P> = { readonly [K in keyof Outputs<P>]?: NDArray | TypedArray | Nested };

export interface KernelMatchers<P, R> {
  /** Verifies the kernel against its reference, over shapes, dtypes, layouts and configs, as `tilescript run` does. */
  toVerify(options?: VerifyMatcherOptions): Promise<R>;
  /**
   * Evaluates the kernel and compares its outputs with the expected values, within the tolerance of each dtype. A
   * finding of the sanitizer or a mismatch with the reference also fails the test.
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
    { shape, dtype, config, seed = 0, device: requestedDevice = "auto", python, ...unknown }: VerifyMatcherOptions = {},
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
    const device = await sharedDevice(requestedDevice, python);
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
    const hasExpected = Object.keys(expected ?? {}).length > 0;
    if (!hasExpected) throw new UsageError("toEvaluate: nothing is expected; name an output, such as { y: [1, 2, 3] }");
    const evaluation = await (kernel as Kernel<string, any>).evaluate(inputs, options);
    const failures = findMismatches(evaluation, expected, options);
    const outputs = Object.keys(expected).join(", ");
    return {
      pass: failures.length === 0,
      message: () =>
        failures.length > 0 ? failures.join("\n") : `${outputs}: the kernel gives what was not expected of it`,
    };
  },
};

function findMismatches(
  { outputs, findings, correct, comparison }: KernelEvaluation,
  expected: Expected<any>,
  { tolerance }: CallOptions,
): string[] {
  const findingMessages = findings.map(({ code, message, at: location }) =>
    formatDiagnostic({ code, severity: "error", message, at: location }),
  );
  const referenceMismatch =
    correct === false && comparison
      ? [`${comparison.wrong} of ${comparison.total} elements are not the reference's${describeErrorKind(comparison)}`]
      : [];
  const outputMismatches = Object.entries(expected).flatMap(([name, values]) => {
    const got = outputs[name];
    if (!got) return [`there is no output ${name}; the kernel writes ${Object.keys(outputs).join(", ")}`];
    const expectedOutput = toExpectedOutput(values as NDArray | TypedArray | Nested);
    if (expectedOutput.shape.join() !== got.shape.join())
      return [`${name} has shape [${got.shape.join(", ")}], expected [${expectedOutput.shape.join(", ")}]`];
    const limits = toleranceOfSum(got.dtype, 1, 0, declaredToleranceFor(tolerance, name));
    const { correct: isCorrect, wrong, total, worst } = compareOutput(name, tensorData(got), expectedOutput, limits);
    if (isCorrect) return [];
    const element = worst ? `; ${name}[${worst.index.join(", ")}] is ${worst.got}, expected ${worst.expected}` : "";
    return [`${name}: ${wrong} of ${total} elements are wrong${element}`];
  });
  return [...findingMessages, ...referenceMismatch, ...outputMismatches];
}

/** The expected values in the form of a reference's output; bigints stay exact. */
function toExpectedOutput(values: NDArray | TypedArray | Nested): ExpectedOutput {
  if (values instanceof NDArray) return values;
  if (dtypeOf(values)) return toExpectedOutput(NDArray.of(values as TypedArray));
  const shape: number[] = [];
  for (let level: unknown = values; Array.isArray(level); level = level[0]) shape.push(level.length);
  const elements = ([values] as readonly unknown[]).flat(Infinity);
  return { shape, data: elements.map((value) => (typeof value === "bigint" ? value : Number(value))) };
}
