/** An error that the author's code catches is an error all the same: what was refused is not in the kernel. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, op, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { traceOperator, type OperatorDefinition } from "../../../src/dsl/operator.js";
import { trace } from "../../../src/dsl/trace.js";
import { errorOf, statementsOf, vector } from "./vector.js";

const anyTl = tl as any;

/** Ways in which JavaScript drops an error. */
const CAUGHT: Readonly<Record<string, (work: () => void) => void>> = {
  "a try": (work) => {
    try {
      work();
    } catch {
      // Dropped.
    }
  },
  "a finally that returns": (work) =>
    (() => {
      try {
        work();
      } finally {
        // oxlint-disable-next-line no-unsafe-finally
        return;
      }
    })(),
  "a promise": (work) => void new Promise<void>(() => work()).catch(() => undefined),
  "an iterator's end": (work) => {
    const [first] = {
      *[Symbol.iterator]() {
        try {
          yield 1;
        } finally {
          try {
            work();
          } catch {
            // Dropped.
          }
        }
      },
    };
    void first;
  },
};

/** What is refused, in a loop, an arm, a helper function and the kernel itself. */
const REFUSED: Readonly<Record<string, (args: any, caught: (work: () => void) => void) => void>> = {
  "an op of other dtypes": ({ x }, caught) => caught(() => anyTl.dot(tl.load(x.at(0)), 1)),
  "a condition": ({ s }, caught) => caught(() => void (s < 1)),
  "a loop left early": (_, caught) =>
    caught(() => {
      for (const _ of tl.range(4)) throw new Error("enough");
    }),
  "an op in a loop": ({ x }, caught) => {
    for (const k of tl.range(4)) caught(() => anyTl.dot(tl.load(x.at(k)), 1));
  },
  "an op in an arm": ({ x, FLAG }, caught) => {
    tl.when(FLAG, () => caught(() => anyTl.dot(tl.load(x.at(0)), 1)));
  },
  "a name that tl lacks": (_, caught) => caught(() => anyTl.program_id(0)),
};

describe.each(Object.entries(CAUGHT))("an error that %s drops", (_, caught) => {
  test.each(Object.entries(REFUSED))("%s", (_name, work) => {
    let dropped: unknown;
    const body = (args: any): void => {
      work(args, (inner) =>
        caught(() => {
          try {
            inner();
          } catch (error) {
            dropped = error;
            throw error;
          }
        }),
      );
    };
    const said = errorOf(body);
    expect(dropped).toBeInstanceOf(Error);
    expect(said).not.toContain("accepted");
  });
});

test("the error that ends the trace is told, whatever was caught before it", () => {
  const said = errorOf(({ x, s }) => {
    CAUGHT["a try"]!(() => void (s < 1));
    anyTl.dot(tl.load(x.at(0)), 1);
  });
  expect(said).toMatch(/^\S+: dot: /);
});

test("JavaScript's own errors may be caught", () => {
  const body = (): void => CAUGHT["a try"]!(() => JSON.parse("{"));
  expect(statementsOf(body)).toBe("");
});

test("an error of one kernel is none of the next", () => {
  expect(() => errorOf(({ s }) => CAUGHT["a try"]!(() => void (s < 1)))).not.toThrow();
  expect(() => trace(definitionOf(vector(() => undefined)))).not.toThrow();
});

test("an operator that catches the error of its kernel fails", () => {
  const broken = kernel(
    "broken",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: () => [1],
      config: { BLOCK: 16 },
    },
    ({ x, y, BLOCK }) => {
      const i = tl.arange(0, BLOCK);
      tl.store(y.at(i), tl.load(x.at(i)));
    },
  );
  const guarded = op(
    "guarded",
    { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) } },
    ({ x }: any) => {
      try {
        (broken as any).call({ z: x });
      } catch {
        // Dropped.
      }
      return { y: (broken as any).call({ x }).y };
    },
  ) as unknown as OperatorDefinition;
  expect(() => traceOperator(guarded, trace)).toThrow(/z/);
});
