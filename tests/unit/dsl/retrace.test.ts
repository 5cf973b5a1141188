/** Bodies are entered again while a kernel is traced: JavaScript state that they change is no state of the kernel. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { tl } from "tilescript";
import { errorOf, placeOfError, statementsOf } from "./vector.js";

/** The line of this file that the error of a body names. */
function lineOfError(body: (args: any) => void): string {
  const at = placeOfError(body);
  return readFileSync(at.file, "utf8").split("\n")[at.line - 1]!;
}

/** The types of the bodies are not what these tests are about. */
const mut = tl.mut as (initial: any) => { value: any };

interface Counter {
  next(): number;
  readonly n: number;
}

/** Counters that keep their state where no reader of one expression sees it. */
const COUNTERS: Readonly<Record<string, () => Counter>> = {
  "a closure": () => {
    let n = 0;
    return { next: () => ++n, get n() { return n; } }; // prettier-ignore
  },
  "an object": () => {
    const box = { n: 0 };
    return { next: () => ++box.n, get n() { return box.n; } }; // prettier-ignore
  },
  "an array": () => {
    const list: number[] = [];
    return { next: () => list.push(0), get n() { return list.length; } }; // prettier-ignore
  },
  "a map": () => {
    const map = new Map([["n", 0]]);
    return { next: () => map.set("n", map.get("n")! + 1).get("n")!, get n() { return map.get("n")!; } }; // prettier-ignore
  },
  "a class": () =>
    new (class {
      #n = 0;
      next = () => ++this.#n;
      get n() {
        return this.#n;
      }
    })(),
  Reflect: () => {
    const box = { n: 0 };
    return { next: () => (Reflect.set(box, "n", box.n + 1), box.n), get n() { return box.n; } }; // prettier-ignore
  },
};

const WHERE: Readonly<Record<string, (count: Counter, args: any) => void>> = {
  "read inside the loop that counts": (count, { s }) => {
    const sum = mut(s);
    for (const _ of tl.range(4)) sum.value = sum.value.add(count.next());
  },
  "read after the loop that counts": (count, { s }) => {
    for (const _ of tl.range(4)) count.next();
    mut(s.add(count.n));
  },
  "read after an inner loop that counts": (count, { s }) => {
    const sum = mut(s);
    for (const _ of tl.range(4)) {
      const start = count.n;
      for (const __ of tl.range(4)) count.next();
      sum.value = sum.value.add(count.n - start);
    }
  },
  "read inside an inner loop that runs before it counts": (count, { s }) => {
    const sum = mut(s);
    for (const _ of tl.range(4)) {
      for (const __ of tl.range(4)) sum.value = sum.value.add(count.n);
      count.next();
    }
  },
  "read after the branch that counts": (count, { s }) => {
    tl.when(s.gt(0), () => void count.next());
    mut(s.add(count.n));
  },
  "read in the other arm": (count, { s }) => {
    const sum = mut(s);
    tl.when(s.gt(0), () => void count.next()).otherwise(() => {
      sum.value = sum.value.add(count.n);
    });
  },
  "counted in both arms, to different numbers": (count, { s }) => {
    tl.when(s.gt(0), () => void count.next()).otherwise(() => void (count.next(), count.next()));
    mut(s.add(count.n));
  },
  "counted in all but the middle arm": (count, { s }) => {
    const once = () => {
      if (count.n === 0) count.next();
    };
    const chain = tl.when(s.gt(2), once).elseWhen(s.gt(1), () => undefined);
    chain.otherwise(once);
    mut(s.add(count.n));
  },
  "counted in the condition of a loop": (count, { s }) => {
    const sum = mut(s);
    tl.whileLoop(
      () => sum.value.lt(count.next()),
      () => {
        sum.value = sum.value.add(1);
      },
    );
  },
  "read in a loop's condition": (count, { s }) => {
    const sum = mut(s);
    tl.whileLoop(
      () => sum.value.lt(count.n),
      () => {
        sum.value = sum.value.add(1);
        count.next();
      },
    );
  },
  "read in a helper function that counts": (count, { s }) => {
    const helper = tl.fn((x: any) => x.add(count.next()));
    mut(helper(helper(s)));
  },
  "read after a helper function that counts": (count, { s }) => {
    const helper = tl.fn((x: any) => {
      count.next();
      return x.add(1);
    });
    mut(helper(helper(s)).add(count.n));
  },
  "counted in a combine function": (count, { BLOCK }) => {
    mut(tl.reduce(tl.arange(0, BLOCK).to(tl.float32), 0, (a: any, b: any) => a.add(b).add(count.next())));
  },
};

describe.each(Object.entries(WHERE))("a counter, %s", (_where, body) => {
  test.each(Object.entries(COUNTERS))("in %s", (_kind, make) => {
    expect(errorOf((args) => body(make(), args))).toMatch(/^changed-state: /);
  });
});

describe("state of JavaScript", () => {
  const error = (body: (args: any) => void) => errorOf(body);

  test("a flag that one arm sets and the other clears", () => {
    expect(
      error(({ s }) => {
        const flag = { hit: false };
        tl.when(s.gt(0), () => {
          flag.hit = true;
        }).otherwise(() => {
          flag.hit = false;
        });
        mut(flag.hit ? s.add(1) : s);
      }),
    ).toBe(
      "changed-state: JavaScript behaves differently here when the kernel is traced a second time, or without the loops and branches in it: a JavaScript variable is not state of the kernel; hold it in tl.mut(…)",
    );
  });

  test("a module's variable, and a random number", () => {
    let calls = 0;
    expect(error(({ s }) => void mut(s.add(calls++)))).toMatch(/^changed-state/);
    expect(error(({ s }) => void mut(s.add(Math.random())))).toMatch(/^changed-state/);
  });

  test("a value of the first iteration that JavaScript keeps", () => {
    expect(
      error(({ x, BLOCK }) => {
        const kept: { first?: any } = {};
        const sum = mut(tl.zeros([BLOCK], tl.float32));
        for (const k of tl.range(4)) {
          const loaded = tl.load(x.at(tl.arange(0, BLOCK).add(k)));
          kept.first ??= loaded;
          sum.value = sum.value.add(kept.first);
        }
      }),
    ).toMatch(/^changed-state/);
  });

  test("what an arm returns", () => {
    expect(
      error(({ s }) => {
        const seen: number[] = [];
        for (const _ of tl.range(4)) {
          const a = s.add(1);
          mut(tl.when(s.gt(0), () => (seen.push(1) > 1 ? a : s)).otherwise(() => s));
        }
      }),
    ).toMatch(/^changed-state: this branch returns something else when it is traced a second time/);
  });

  test("an error that comes only when a body is entered again says so", () => {
    expect(
      error(({ s }) => {
        const queue = [s];
        for (const _ of tl.range(4)) mut(queue.pop().add(1));
      }),
    ).toMatch(/^changed-state: JavaScript fails when the loop is traced a second time \(TypeError: .*add.*\)/);
  });

  test("leaving a loop at a later iteration", () => {
    expect(
      error(() => {
        let turns = 0;
        for (const _ of tl.range(4)) if (turns++ > 0) break;
      }),
    ).toMatch(/^changed-state: .* cannot be left early/);
  });
});

test("a loop behind a call that records a helper function of the module, which has a loop too", () => {
  const moved = tl.fn((given: any, COUNT: any) => {
    const sum = mut(given);
    for (const i of tl.staticRange(COUNT)) sum.value = sum.value.add(i);
    return sum.value;
  });
  expect(() =>
    statementsOf(({ x, s, BLOCK }) => {
      const sum = mut(tl.load(x.at(tl.arange(0, BLOCK))));
      for (const _ of tl.range(s.to(tl.int32))) sum.value = moved(sum.value, BLOCK);
      for (const i of tl.staticRange(BLOCK)) sum.value = moved(sum.value, i);
    }),
  ).not.toThrow();
});

describe("the line that is reported is the one", () => {
  test.each<[string, (args: any, n: () => number) => void]>([
    [
      "of a call with other arguments, of the same op in the same position",
      ({ s }, next) => {
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          if (first) mut(s.add(1));
          else mut(s.add(2)); // reported
        }
      },
    ],
    [
      "of a call that only a later iteration makes",
      ({ s }, next) => {
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          const sum = s.add(1);
          if (!first) sum.mul(2); // reported
          mut(sum);
        }
      },
    ],
    [
      "of a call that fails at a later iteration, at the place of another one",
      ({ s, BLOCK }, next) => {
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          if (first) mut(s.add(1));
          else mut(s.add(tl.arange(0, BLOCK), [tl.float32])); // reported
        }
      },
    ],
    [
      "of a write of another value",
      ({ s }, next) => {
        const [sum, other] = [mut(s), s.mul(2)];
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          if (first) sum.value = s;
          else sum.value = other; // reported
        }
      },
    ],
    [
      "of a read of another variable",
      ({ s }, next) => {
        const [a, b] = [mut(s), mut(s)];
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          if (first) mut(a.value);
          else mut(b.value); // reported
        }
      },
    ],
    [
      "of state with another initial value",
      ({ s }, next) => {
        const other = s.mul(2);
        for (const _ of tl.range(4)) {
          const first = next() === 1;
          if (first) mut(s);
          else mut(other); // reported
        }
      },
    ],
    [
      "of an operation on a value that JavaScript kept, among operations that are repeated",
      ({ s }, next) => {
        let kept: any;
        for (const _ of tl.range(4)) {
          const sum = s.add(1);
          kept ??= sum;
          const first = next() === 1;
          if (first) mut(sum.mul(2));
          else mut(kept.mul(2)); // reported
        }
      },
    ],
  ])("%s", (_what, body) => {
    let n = 0;
    expect(lineOfError((args) => body(args, () => ++n))).toMatch(/ \/\/ reported$/);
  });
});

describe("what the build accepts", () => {
  test("state that a body makes anew, and values of JavaScript that no statement depends on", () => {
    let traced = 0;
    const text = statementsOf(({ s }) => {
      traced++;
      const sum = mut(s);
      for (const k of tl.range(4)) {
        const parts = [];
        for (let i = 0; i < 2; i++) parts.push(k.add(i));
        for (const part of parts) sum.value = sum.value.add(part);
      }
    });
    expect(traced).toBeGreaterThan(1);
    expect(text.match(/add/g)).toHaveLength(4);
  });

  test("a value that an arm of a constexpr branch leaves for another arm of the same condition", () => {
    const text = statementsOf(({ s, FLAG }) => {
      const left: { doubled?: any } = {};
      tl.when(FLAG, () => {
        left.doubled = s.mul(2);
      });
      tl.when(FLAG, () => void mut(left.doubled.add(1)));
    });
    expect(text).toMatchInlineSnapshot(`
      "  if FLAG:
          %0: float32 = mul s, 2
        else:
        if FLAG:
          %1: float32 = add %0, 1
          let @2 = %1
        else:
      "
    `);
  });

  test("a value from outside that an arm gives", () => {
    const text = statementsOf(({ s, FLAG }) => {
      const outer = s.mul(2);
      const [same] = tl.when(FLAG.not(), () => [outer] as const).value;
      mut(tl.when(FLAG, () => s).otherwise(() => same));
    });
    expect(text).toContain("yield %0");
  });

  test("indices of unrolled loops in arms that are left out", () => {
    const turns = (s: any) => {
      for (const i of tl.staticRange(4)) mut(s.add(i));
    };
    expect(
      statementsOf(({ s, FLAG }) => {
        for (const _ of tl.range(2)) {
          tl.when(FLAG, () => turns(s)).otherwise(() => turns(s));
          turns(s);
        }
      }).match(/unrolled/g),
    ).toHaveLength(3);
  });

  test("a function that is made anew with each iteration", () => {
    const text = statementsOf(({ BLOCK }) => {
      for (const _ of tl.range(2)) {
        const twice = tl.fn((x: any) => x.mul(2));
        mut(tl.reduce(twice(tl.arange(0, BLOCK)), 0, (a: any, b: any) => a.add(b)));
      }
    });
    expect(text.match(/^function/gm)).toHaveLength(2);
  });
});

describe("a tl.range", () => {
  test("that nothing iterates over is refused", () => {
    const unused = /^loop-bounds: nothing iterates over this, so the kernel has no such loop; write for \(const i of /;
    expect(errorOf(() => void tl.range(4))).toMatch(unused);
    expect(
      errorOf(({ s }) => {
        // oxlint-disable-next-line guard-for-in
        for (const _ in tl.range(4)) mut(s);
      }),
    ).toMatch(unused);
  });

  test("that is iterated over twice is two loops", () => {
    const text = statementsOf(({ s }) => {
      const turns = tl.range(4);
      for (const _ of turns) mut(s);
      for (const _ of turns) mut(s);
    });
    expect(text.match(/^ *for/gm)).toHaveLength(2);
  });
});
