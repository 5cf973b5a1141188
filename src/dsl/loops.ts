/** Loops of the kernel: counted, unrolled, and as long as a condition holds. */
import { typeOfArgument } from "../ir/typed.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { earlyExit, loopBounds, loopFunctions, loopOption } from "../diagnostics/catalog/control-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Constexpr, ConstLike } from "../types/constexpr.js";
import type { Elem } from "../types/dtype.js";
import { traceBodyTwice, type BodyResult, runBody } from "../ir/retrace.js";
import { Handle, isHandle, isState } from "../ir/handle.js";
import { repeatParams } from "../ir/retrace-matcher.js";
import type { Argument, ForStatement } from "../ir/nodes.js";
import type { Validate } from "../types/rule-error.js";
import {
  type EndOrOptions,
  type RangeElement,
  rangeElement,
  type RangeOptions,
  type StepOrOptions,
  whyRangeBound,
  type WhyRangeBound,
  whyStep,
  whyWhile,
  type WhyWhile,
} from "../rules/control-rules.js";
import type { Scalar } from "../types/tile.js";
import type { Type } from "../types/types.js";
import { failOnUnknownOption } from "../ops/define.js";
import { argumentOf, literal, failIf, checkArity } from "./argument.js";

/**
 * A loop of the kernel: `for (const k of tl.range(0, K, BLOCK_K)) { … }`. `k` stands for every iteration: tracing records
 * the body once, and runs it again only to see that JavaScript does nothing else the second time. It stops before the
 * end, as Python's; with one argument, it starts at 0. A negative step counts down, and must be a number or a constexpr.
 * Options are Triton's, and come last: `tl.range(0, K, BLOCK_K, { numStages: 3 })`, `tl.range(N, { numStages: 3 })`.
 */
export const range = ((...args: unknown[]) => loop("range", args, false)) as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Validate<Lo, WhyRangeBound<Lo>>,
  end?: EndOrOptions<Hi>,
  step?: StepOrOptions<Step, Hi>,
  options?: RangeOptions,
) => Iterable<Scalar<RangeElement<Lo, Hi, Step>>>;

type ConstBound<X> = X extends undefined | number | ConstLike<any, "int">
  ? ""
  : "staticRange: bounds are constexprs or numbers";

/** A loop that Triton unrolls: its index is a constexpr in each copy of the body. */
export const staticRange = ((...args: unknown[]) => loop("staticRange", args, true)) as unknown as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Validate<Lo, ConstBound<Lo>>,
  end?: Validate<Hi, ConstBound<Hi>>,
  step?: Validate<Step, ConstBound<Step>>,
) => Iterable<Constexpr<string>>;

function loop(name: string, args: unknown[], unrolled: boolean): Iterable<Handle> {
  const at = captureLocation();
  const recorder = builder(`tl.${name}`);
  const last = args.at(-1);
  const hasOptions = isOptions(last);
  const given = hasOptions ? args.slice(0, -1) : args;
  if (given.some(isOptions)) fail(loopBounds.optionsLast(name), at);
  const bounds = given.map((bound) => argumentOf(recorder, bound, `${name}: a bound is an integer`, at));
  if (bounds.length < 1 || bounds.length > 3) fail(loopBounds.count(name), at);
  for (const bound of bounds) {
    failIf(whyRangeBound(typeOfArgument(bound), name), at);
    if (unrolled && typeOfArgument(bound).kind !== "constexpr") fail(loopBounds.static(), at);
  }
  if (bounds[2]) failIf(whyStep(typeOfArgument(bounds[2]), name), at);
  const [start, end, step] =
    bounds.length === 1 ? [literal(0), bounds[0], literal(1)] : [bounds[0], bounds[1], bounds[2] ?? literal(1)];
  const options = optionsOf(recorder, name, hasOptions ? last : {}, unrolled ? {} : RANGE_OPTIONS, at);
  const dtype = unrolled ? undefined : rangeElement(...bounds.map(typeOfArgument));
  return new Loop(recorder, { start: start!, end: end!, step: step!, options, unrolled, at }, dtype);
}

const isOptions = (argument: unknown): argument is object =>
  typeof argument === "object" &&
  argument !== null &&
  !isHandle(argument) &&
  !isState(argument) &&
  !Array.isArray(argument);

/** The values that each option of a loop takes. */
const RANGE_OPTIONS = {
  numStages: "int",
  loopUnrollFactor: "int",
  disallowAccMultiBuffer: "bool",
  flatten: "bool",
  warpSpecialize: "bool",
  disableLicm: "bool",
} as const;
const WHILE_OPTIONS = { disableLicm: "bool" } as const;

function optionsOf(
  recorder: Builder,
  name: string,
  given: object,
  known: Readonly<Record<string, "int" | "bool">>,
  at: Location | undefined,
): Readonly<Record<string, Argument>> {
  const options: Record<string, Argument> = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const kind = known[key];
    if (!kind) {
      failOnUnknownOption(recorder, name, key, Object.keys(known), at);
    }
    const argument = argumentOf(recorder, value, `${name}: ${key} cannot be this`, at);
    const type = typeOfArgument(argument);
    if (type.kind !== "constexpr" || type.of !== kind)
      fail(loopOption(name, key, kind === "int" ? "an integer" : "true or false"), at);
    options[key] = argument;
  }
  return options;
}

type LoopHead = Omit<ForStatement, "kind" | "index" | "body">;

/** What `tl.range` gives. Each iteration over it is a loop of the program. */
class Loop implements Iterable<Handle> {
  readonly #recorder: Builder;
  readonly #head: LoopHead;
  /** The dtype of the index; undefined if Triton unrolls the loop. */
  readonly #dtype: Elem | undefined;

  constructor(recorder: Builder, head: LoopHead, dtype: Elem | undefined) {
    this.#recorder = recorder;
    this.#head = head;
    this.#dtype = dtype;
    recorder.loops.add(this);
  }

  get at(): Location | undefined {
    return this.#head.at;
  }

  /** Yields a symbolic index. What runs before the next request is the loop's body. */
  *[Symbol.iterator](): Generator<Handle, void> {
    const [recorder, head, dtype] = [this.#recorder, this.#head, this.#dtype];
    recorder.loops.delete(this);
    const type: Type = dtype
      ? { kind: "tile", dtype, shape: [] }
      : { kind: "constexpr", of: "int", text: recorder.uniqueText("index") };
    for (const bound of [head.start, head.end, head.step]) recorder.use(bound, head.at);
    const { params, block } = yield* traceBodyTwice(
      recorder,
      { what: "the loop", kind: "loop", at: head.at },
      function* () {
        const index = recorder.value(type, head.at);
        repeatParams(recorder, [index]);
        let complete = false;
        try {
          yield new Handle(index);
          complete = true;
        } finally {
          if (!complete) fail(earlyExit.leftHere(), head.at);
        }
        return { params: [index], yields: [], form: "nothing" };
      },
    );
    recorder.append({ kind: "for", ...head, index: params[0]!, body: block });
  }
}

/**
 * A loop that runs as long as its condition holds: `tl.whileLoop(() => i.value.lt(n), () => { … })`. Both functions are
 * traced once; the kernel computes the condition again before each iteration.
 */
export const whileLoop = ((
  condition: () => unknown,
  body: () => unknown,
  given: object = {},
  ...more: unknown[]
): void => {
  const at = captureLocation();
  const recorder = builder("tl.whileLoop");
  checkArity("whileLoop", 3, more, "tl.whileLoop(() => condition, () => { … }, { disableLicm })");
  if (typeof condition !== "function") fail(loopFunctions.condition(), at);
  if (typeof body !== "function") fail(loopFunctions.body(), at);
  const options = optionsOf(recorder, "whileLoop", given, WHILE_OPTIONS, at);
  const asking = (): BodyResult => {
    const asked = condition();
    if (typeof asked === "boolean") failIf(whyWhile({ kind: "constexpr", of: "bool", text: String(asked) }), at);
    const test = argumentOf(recorder, asked, "whileLoop: the condition is a scalar of int1", at);
    failIf(whyWhile(typeOfArgument(test)), at);
    return { yields: [test], form: "one" };
  };
  const working = (): BodyResult => {
    if (body() !== undefined) fail(loopFunctions.result(), at);
    return { yields: [], form: "nothing" };
  };
  // One body holds both, since the condition is computed again after the work.
  const { block } = runBody(recorder, { what: "the loop", kind: "loop", at }, () => {
    const asked = runBody(recorder, { what: "the loop's condition", kind: "loop", at }, asking);
    const worked = runBody(recorder, { what: "the loop", kind: "loop", at }, working);
    recorder.append({ kind: "while", condition: asked.block, options, body: worked.block, at });
    return { yields: [], form: "nothing" };
  });
  block.statements.forEach((statement) => recorder.append(statement));
}) as unknown as <const C>(
  condition: () => Validate<C, WhyWhile<C>>,
  body: () => void,
  options?: { disableLicm?: boolean | undefined },
) => void;
