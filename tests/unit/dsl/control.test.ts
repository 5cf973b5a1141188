/** Loops, branches and the way out: what they become, and what is refused. */
import { describe, expect, test } from "vitest";
import { tl } from "tilescript";
import { type Body, errorOf, statementsOf } from "./vector.js";

describe("what is recorded", () => {
  test("a loop whose condition is computed again", () => {
    expect(
      statementsOf(({ N }) => {
        const i = tl.mut(tl.full([], 0, tl.int32));
        tl.whileLoop(
          () => i.value.lt(N),
          () => {
            i.value = i.value.add(1);
          },
          { disableLicm: true },
        );
      }),
    ).toMatchInlineSnapshot(`
      "  %0: int32 = full [], 0, int32
        let @1 = %0
        while, disableLicm=true:
          %2: int32 = @1
          %3: int1 = lt %2, N
          yield %3
        do:
          %4: int32 = @1
          %5: int32 = add %4, 1
          @1 = %5
      "
    `);
  });

  test("the options of a range, and a step that counts down", () => {
    expect(
      statementsOf(({ N, BLOCK }) => {
        for (const _ of tl.range(N, -1, -1, { numStages: 3, flatten: true })) void 0;
        for (const _ of tl.range(0, N, BLOCK, { loopUnrollFactor: BLOCK })) void 0;
      }),
    ).toMatchInlineSnapshot(`
      "  for %0 in N, -1, -1, numStages=3, flatten=true:
        for %1 in 0, N, BLOCK, loopUnrollFactor=BLOCK:
      "
    `);
  });

  test("the way out", () => {
    expect(statementsOf(({ N }) => void tl.when(tl.programId(0).ge(N), () => tl.exit()))).toMatchInlineSnapshot(`
      "  %0: int32 = programId 0
        %1: int1 = ge %0, N
        if %1:
          exit
        else:
      "
    `);
  });

  test("indices of unrolled loops have names of their own", () => {
    const text = statementsOf(() => {
      for (let turn = 0; turn < 2; turn++) for (const i of tl.staticRange(4)) tl.arange(0, i.mul(2));
    });
    expect(text.match(/int32\[.*\] = arange/g)).toEqual(["int32[index@1 * 2] = arange", "int32[index@2 * 2] = arange"]);
  });

  test("what an arm makes is there wherever conditions say that the arm runs", () => {
    const text = statementsOf(({ x, y, FLAG, BLOCK }) => {
      const isLarge = BLOCK.gt(16);
      const [one, two] = tl.when(FLAG, () => {
        const inner = tl.when(isLarge, () => tl.mut(tl.load(x.at(1)))).value;
        const plain = tl.when(isLarge, () => tl.load(x.at(2))).value;
        return [inner, plain] as const;
      }).value;
      tl.when(FLAG.and(isLarge), () => {
        one.value = one.value.add(two);
      });
      tl.when(FLAG.not().or(BLOCK.gt(16).not()).not(), () => tl.store(y.at(0), one.value));
    });
    expect(text).toContain("if %");
    expect(text.match(/store .*/g)).toHaveLength(1);
  });

  test("what an arm of a constexpr condition makes is there in later arms of it", () => {
    expect(
      statementsOf(({ x, y, FLAG, BLOCK }) => {
        const lanes = tl.arange(0, BLOCK);
        const scale = tl.when(FLAG, () => tl.load(x.at(0)));
        const other = tl.when(FLAG.not(), () => [tl.load(x.at(1))] as const);
        tl.when(FLAG, () => tl.store(y.at(lanes), scale.value)).otherwise(() => tl.store(y.at(lanes), other.value[0]));
      }),
    ).toMatchInlineSnapshot(`
      "  %0: int32[BLOCK] = arange 0, BLOCK
        if FLAG:
          %1: view<float32> = at x, [0], claimed=[false]
          %2: float32 = load %1
        else:
        %3: constexpr bool not FLAG = not FLAG
        if %3:
          %4: view<float32> = at x, [1], claimed=[false]
          %5: float32 = load %4
        else:
        if FLAG:
          %6: view<float32[BLOCK]> = at y, [%0], claimed=[false]
          store %6, %2
        else:
          %7: view<float32[BLOCK]> = at y, [%0], claimed=[false]
          store %7, %5
      "
    `);
  });

  test("an arm without a counterpart gives nothing, whatever its function returns", () => {
    const text = statementsOf(({ N, BLOCK }) => void tl.when(N.gt(0), () => tl.arange(0, BLOCK)));
    expect(text).not.toContain("yield");
  });
});

describe("what is refused", () => {
  test.each<[string, string, Body]>([
    [
      "an exit that is not under a condition",
      "misplaced-exit: exit: nothing after this would ever run; put it in tl.when(condition, () => tl.exit())",
      () => tl.exit(),
    ],
    [
      "an exit from a loop",
      "misplaced-exit: exit: Triton cannot return from inside a loop; put the rest of the loop's body in tl.when(…)",
      ({ N }) => {
        for (const i of tl.range(0, N)) tl.when(i.gt(1), () => tl.exit());
      },
    ],
    [
      "what follows an exit",
      "unreachable: this comes after tl.exit() and never runs; move it before, or in another arm",
      ({ N, BLOCK }) => {
        tl.when(N.gt(1), () => {
          tl.exit();
          tl.arange(0, BLOCK);
        });
      },
    ],
    [
      "two arms in one call",
      "arguments: when: takes 2 arguments by position, got 3; write tl.when(condition, () => { … }).otherwise(() => { … })",
      ({ N }) =>
        (tl.when as any)(
          N.gt(1),
          () => {},
          () => {},
        ),
    ],
    [
      "two functions after the last arm",
      "arguments: otherwise: takes 1 argument by position, got 2; write tl.when(condition, () => { … }).otherwise(() => { … })",
      ({ N }) =>
        (tl.when(N.gt(1), () => {}).otherwise as any)(
          () => {},
          () => {},
        ),
    ],
    [
      "an arm that is no function",
      "branch-condition: when: an arm is a function; write tl.when(condition, () => { … })",
      ({ N }) => tl.when(N.gt(1), N as never),
    ],
    [
      "state of two values",
      "arguments: mut: takes 1 argument by position, got 2; write tl.mut(initial)",
      ({ N }) => (tl.mut as any)(N, 3),
    ],
    [
      "a condition that is no function",
      "loop-functions: whileLoop: the condition is computed before each iteration; give a function, () => i.value.lt(n)",
      ({ N }) => tl.whileLoop(N.gt(1), () => {}),
    ],
    [
      "a missing body",
      "loop-functions: whileLoop: the second argument is the body; give a function",
      ({ N }) => tl.whileLoop(() => N.gt(1), undefined as never),
    ],
    [
      "a condition that never changes",
      "branch-condition: whileLoop: this condition never changes; use tl.when, or a condition on state",
      ({ FLAG }) =>
        tl.whileLoop(
          () => FLAG,
          () => {},
        ),
    ],
    [
      "a JavaScript boolean as condition",
      "branch-condition: whileLoop: this condition never changes; use tl.when, or a condition on state",
      () =>
        tl.whileLoop(
          () => true as never,
          () => {},
        ),
    ],
    [
      "a condition that is a number",
      "branch-condition: whileLoop: the condition must be int1, this is int32; compare it, .ne(0)",
      ({ N }) =>
        tl.whileLoop(
          () => N,
          () => {},
        ),
    ],
    [
      "a body that gives something",
      "loop-functions: whileLoop: the body gives nothing; hold the loop's result in tl.mut(…)",
      ({ N }) => tl.whileLoop(() => N.gt(1), (() => N) as never),
    ],
    [
      "a value of the condition in the body",
      "scope-escape: this value was made inside the loop's condition and does not exist outside it; hold it in tl.mut(…) made before the loop's condition and write its .value inside",
      ({ N }) => {
        let total: any;
        tl.whileLoop(
          () => (total = N.add(1)).gt(1),
          () => void total.add(1),
        );
      },
    ],
    [
      "an option that no loop has",
      "unknown-option: range: no option stages; it has numStages, loopUnrollFactor, disallowAccMultiBuffer, flatten, warpSpecialize, disableLicm, most",
      ({ N }) => void [...tl.range(0, N, 1, { stages: 3 } as never)],
    ],
    [
      "an option of an unrolled loop",
      "unknown-option: staticRange: no option numStages; it has none",
      () => void [...(tl.staticRange as any)(0, 4, 1, { numStages: 3 })],
    ],
    [
      "an option of another kind",
      "loop-option: range: numStages is an integer; give a constant or a constexpr",
      ({ N }) => void [...tl.range(0, N, 1, { numStages: true as never })],
    ],
    [
      "an option that is decided at run time",
      "loop-option: range: flatten is true or false; give a constant or a constexpr",
      ({ N }) => void [...tl.range(0, N, 1, { flatten: N.gt(1) })],
    ],
    ["a step of 0", "loop-bounds: range: a step of 0 never ends", ({ N }) => void [...tl.range(0, N, 0 as never)]],
    [
      "a value of another condition's arm",
      "scope-escape: this value was made inside this branch and does not exist outside it; hold it in tl.mut(…) made before this branch and write its .value inside",
      ({ x, y, FLAG, BLOCK }) => {
        const scale = tl.when(FLAG, () => tl.load(x.at(0)));
        tl.when(FLAG.not(), () => tl.store(y.at(tl.arange(0, BLOCK)), scale.value));
      },
    ],
    [
      "a value of an arm whose condition says more",
      "scope-escape: this value was made inside this branch and does not exist outside it; hold it in tl.mut(…) made before this branch and write its .value inside",
      ({ x, y, FLAG, BLOCK }) => {
        const scale = tl.when(FLAG.and(BLOCK.gt(16)), () => tl.load(x.at(0)));
        tl.when(FLAG, () => tl.store(y.at(tl.arange(0, BLOCK)), scale.value));
      },
    ],
    [
      "what an arm inside gives for all arms",
      "scope-escape: this value was made inside this branch and does not exist outside it; hold it in tl.mut(…) made before this branch and write its .value inside",
      ({ x, FLAG, BLOCK }) =>
        void tl.when(FLAG, () => tl.when(BLOCK.gt(16), () => tl.load(x.at(0))).value).otherwise(() => tl.load(x.at(1))),
    ],
    [
      "a value of an arm that the program decides",
      "scope-escape: this value was made inside this branch and does not exist outside it; hold it in tl.mut(…) made before this branch and write its .value inside",
      ({ x, y, N, BLOCK }) => {
        const more = N.gt(1);
        const scale = tl.when(more, () => tl.load(x.at(0)));
        tl.when(more, () => tl.store(y.at(tl.arange(0, BLOCK)), scale.value));
      },
    ],
    [
      "the value of a chain without an end",
      "branch-values: value: only the arm of tl.when itself has one; end the chain with otherwise",
      ({ x, FLAG, BLOCK }) =>
        void tl.when(FLAG, () => tl.load(x.at(0))).elseWhen(BLOCK.gt(1), () => tl.load(x.at(1))).value,
    ],
  ])("%s", (_, message, body) => {
    expect(errorOf(body)).toBe(message);
  });
});
