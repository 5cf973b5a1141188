/**
 * Lanes of one program that meet at an element. Triton divides lanes among threads; on a GPU only `tl.debugBarrier()`
 * makes these wait for each other, while the evaluator and Triton's interpreter run one line after the other.
 */
import { describe, expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { evaluate, lineOf, onlyFinding } from "../../support/evaluate.js";

const line = (mark: string) => lineOf(import.meta.url, mark);

const params = { x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]) };
type Body = Parameters<typeof kernel<"k", typeof params>>[2];
const kernelOf = (body: Body) => kernel("k", { params, grid: () => [1], config: {} }, body);
const found = (body: Body) => evaluate(kernelOf(body), { sizes: { N: 16 } });
const codes = (body: Body) => found(body).findings.map(({ code }) => code);

const lanes = () => tl.arange(0, 16);
const turned = () => lanes().xor(15);

describe("is reported", () => {
  test("where a lane reads what another stored", () => {
    const finding = onlyFinding(
      found(({ x, y }) => {
        tl.store(y.at(lanes()), tl.load(x.at(lanes())));
        const other = tl.load(y.at(turned())); // read
        tl.debugBarrier();
        tl.store(y.at(lanes()), other);
      }),
    );
    expect(finding).toMatchObject({ code: "unordered-lanes", program: [0], lane: [0] });
    expect(finding.at?.line).toBe(line("read"));
    expect(finding.message).toContain("y[15] is read here and was written before by lane (15) of a [16] tile");
    expect(finding.message).toContain("(and 15 more like it)");
  });

  test("where a lane overwrites what another still reads", () => {
    const finding = onlyFinding(found(({ y }) => tl.store(y.at(turned()), tl.load(y.at(lanes())))));
    expect(finding).toMatchObject({ code: "unordered-lanes" });
    expect(finding.message).toContain("is written here and was read before by lane (15)");
  });

  test("where several lanes read it", () => {
    const finding = onlyFinding(
      found(({ y }) =>
        tl.store(y.at(tl.arange(0, 2)), tl.sum(tl.load(y.at(lanes().shr(3))), 0).add(tl.arange(0, 2).to(tl.float32))),
      ),
    );
    expect(finding.message).toContain("was read before by several lanes");
  });

  test("where a later store of another lane gives it another value", () => {
    expect(
      codes(({ x, y }) => {
        tl.store(y.at(lanes()), tl.load(x.at(lanes())));
        tl.store(y.at(turned()), tl.load(x.at(lanes())).add(1));
      }),
    ).toEqual(["unordered-lanes"]);
  });

  test("where turns of a loop do", () => {
    expect(
      codes(({ y }) => {
        for (const i of tl.range(0, 2)) {
          const at = tl.arange(0, 8).add(i);
          tl.store(y.at(at), tl.load(y.at(at)).add(1));
        }
      }),
    ).toEqual(["unordered-lanes", "unordered-lanes"]);
  });

  test("where tiles of other shapes meet", () => {
    expect(
      codes(({ x, y }) => {
        tl.store(y.at(lanes()), tl.load(x.at(lanes())));
        const half = tl.load(y.at(tl.arange(0, 8)));
        tl.debugBarrier();
        tl.store(y.at(tl.arange(0, 8)), half.mul(2));
      }),
    ).toEqual(["unordered-lanes"]);
  });
});

describe("is reported of atomics", () => {
  const half = () => lanes().shr(1);
  test.each<[string, Body, string]>([
    [
      "where a lane reads what another changed",
      ({ x, y }) => {
        tl.atomicAdd(y.at(half()), tl.load(x.at(lanes())));
        tl.store(y.at(lanes().add(16)), tl.load(y.at(lanes())));
      },
      "y[0] is read here and was changed by an atomic before by several lanes",
    ],
    [
      "where a lane overwrites what another changed",
      ({ x, y }) => {
        tl.atomicAdd(y.at(lanes()), tl.load(x.at(lanes())));
        tl.store(y.at(turned()), tl.load(x.at(lanes())));
      },
      "y[15] is written here and was changed by an atomic before by lane (15)",
    ],
    [
      "where a lane changes what another stored",
      ({ x, y }) => {
        tl.store(y.at(lanes()), tl.zeros([16], tl.float32));
        tl.atomicAdd(y.at(half()), tl.load(x.at(lanes())));
      },
      "y[0] is changed by an atomic here and was written before by lane (0)",
    ],
    [
      "where a lane changes what another still reads",
      ({ y }) => void tl.atomicAdd(y.at(turned()), tl.load(y.at(lanes()))),
      "y[15] is changed by an atomic here and was read before by lane (15)",
    ],
  ])("%s", (_, body, says) => {
    const { findings } = evaluate(kernelOf(body), { sizes: { N: 32 } });
    expect(findings[0]?.code).toBe("unordered-lanes");
    expect(findings.map(({ message }) => message).join("\n")).toContain(says);
  });
});

describe("is not reported", () => {
  test.each<[string, Body]>([
    [
      "of an atomic and accesses of the same lane",
      ({ x, y }) => {
        tl.store(y.at(lanes()), tl.zeros([16], tl.float32));
        tl.atomicAdd(y.at(lanes()), tl.load(x.at(lanes())));
        tl.store(y.at(lanes()), tl.load(y.at(lanes())).mul(2));
      },
    ],
    [
      "of atomics alone",
      ({ x, y }) => {
        tl.atomicAdd(y.at(lanes().shr(1)), tl.load(x.at(lanes())));
        tl.atomicAdd(y.at(turned()), tl.load(x.at(lanes())));
      },
    ],
    [
      "of atomics behind a barrier, and before one",
      ({ x, y }) => {
        tl.store(y.at(lanes()), tl.zeros([16], tl.float32));
        tl.debugBarrier();
        tl.atomicAdd(y.at(lanes().shr(1)), tl.load(x.at(lanes())));
        tl.debugBarrier();
        const other = tl.load(y.at(turned()));
        tl.debugBarrier();
        tl.store(y.at(lanes()), other);
      },
    ],
    ["of the same lanes", ({ y }) => tl.store(y.at(lanes()), tl.load(y.at(lanes())).mul(2))],
    [
      "of the same lanes in turns of a loop",
      ({ y }) => {
        for (const _ of tl.range(0, 3)) tl.store(y.at(lanes()), tl.load(y.at(lanes())).mul(2));
      },
    ],
    [
      "behind a barrier",
      ({ x, y }) => {
        tl.store(y.at(lanes()), tl.load(x.at(lanes())));
        tl.debugBarrier();
        const other = tl.load(y.at(turned()));
        tl.debugBarrier();
        tl.store(y.at(lanes()), other);
      },
    ],
    ["of a scalar that a program updates", ({ y }) => tl.store(y.at(3), tl.load(y.at(3)).add(1))],
    [
      "of blocks that overlap and store the same values",
      ({ x, y }) => {
        for (const start of [0, 4]) {
          const at = tl.arange(0, 8).add(start);
          tl.store(y.at(at), tl.load(x.at(at)));
        }
      },
    ],
    [
      "of other elements",
      ({ y }) => {
        const low = tl.load(y.at(tl.arange(0, 8)));
        const high = tl.load(y.at(tl.arange(0, 8).add(8)));
        tl.store(y.at(tl.arange(0, 8)), low.sub(high));
        tl.store(y.at(tl.arange(0, 8).add(8)), low.add(high));
      },
    ],
    [
      "of several lanes that store one value",
      ({ x, y }) => tl.store(y.at(lanes().mul(0)), tl.load(x.at(lanes().mul(0)))),
    ],
  ])("%s", (_, body) => expect(codes(body)).toEqual([]));
});

test("a barrier is one of the emitted kernel", () => {
  const barred = kernelOf(({ x, y }) => {
    tl.store(y.at(lanes()), tl.load(x.at(lanes())));
    tl.debugBarrier();
  });
  expect(compile(barred).python).toContain("tl.debug_barrier()");
});
