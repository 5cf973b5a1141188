/**
 * What the snippets use of TileScript, on numbers and truth values of JavaScript: one program, run step by step. Loops run
 * as often as they say, a branch runs the arm that its condition chooses, and state is a variable.
 */

const int = (x: unknown): number => Number(x) | 0;

const binary: Readonly<Record<string, (a: number, b: number) => unknown>> = {
  add: (a, b) => int(a + b),
  sub: (a, b) => int(a - b),
  mul: (a, b) => Math.imul(a, b),
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
};
const logical: Readonly<Record<string, (a: boolean, b: boolean) => boolean>> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
};

/** Gives numbers and truth values the methods of traced values; the result takes them away. */
function methods(): () => void {
  const added: [object, string][] = [];
  const add = (prototype: object, name: string, value: (this: unknown, other: unknown) => unknown): void => {
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
    added.push([prototype, name]);
  };
  for (const [name, of] of Object.entries(binary))
    add(Number.prototype, name, function (other) {
      return of(Number(this), Number(other));
    });
  for (const [name, of] of Object.entries(logical))
    add(Boolean.prototype, name, function (other) {
      return of(Boolean(this?.valueOf()), Boolean(other));
    });
  add(Boolean.prototype, "not", function () {
    return this?.valueOf() !== true;
  });
  for (const prototype of [Number.prototype, Boolean.prototype])
    add(prototype, "to", function () {
      return int(this);
    });
  return () => added.forEach(([prototype, name]) => Reflect.deleteProperty(prototype, name));
}

type Arm = () => unknown;

/** Arms after the one that was chosen do not run. */
function chain(isDone: boolean, value: unknown): object {
  return {
    elseWhen: (condition: boolean, body: Arm) => (isDone || !condition ? chain(isDone, value) : chain(true, body())),
    otherwise: (body: Arm) => (isDone ? value : body()),
  };
}

/** More iterations than any right snippet runs. */
const MOST = 1000;

const tl = {
  int32: "int32",
  load: ({ tensor, i }: { tensor: Int32Array; i: number }) => tensor[i],
  store: ({ tensor, i }: { tensor: Int32Array; i: number }, value: unknown) => {
    tensor[i] = Number(value);
  },
  where: (condition: boolean, a: unknown, b: unknown) => (condition ? a : b),
  maximum: Math.max,
  minimum: Math.min,
  full: (_shape: unknown, value: unknown) => int(value),
  fn: (body: unknown) => body,
  mut: (value: unknown) => ({ value }),
  range: (start: number, end?: number) =>
    Array.from({ length: end === undefined ? start : end - start }, (_, i) => (end === undefined ? i : start + i)),
  when: (condition: boolean, body: Arm) => (condition ? chain(true, body()) : chain(false, undefined)),
  whileLoop: (condition: () => boolean, body: Arm) => {
    for (let turns = 0; condition(); turns++) {
      if (turns > MOST) throw new Error("the loop does not end");
      body();
    }
  },
};

export interface Given {
  readonly x: readonly number[];
  readonly constexprs: Readonly<Record<string, number | boolean>>;
}

/** What a snippet's kernel takes and gives. */
export type ConcreteKernel = (args: object) => void;

/** The names that a snippet imports. */
export const concrete = {
  tl,
  tensor: Object.assign(() => undefined, { out: () => undefined }),
  constexpr: Object.assign(() => undefined, { bool: () => undefined }),
  kernel: (_name: string, _spec: object, body: ConcreteKernel) => body,
};

/** Runs a snippet's kernel: the number that it stores, or undefined if JavaScript fails. */
export function runConcretely(make: () => ConcreteKernel, { x, constexprs }: Given): number | undefined {
  const [input, output] = [Int32Array.from(x), new Int32Array(1)];
  const at = (tensor: Int32Array) => ({ at: (i: number) => ({ tensor, i }) });
  const restore = methods();
  try {
    make()({ x: at(input), y: at(output), ...constexprs });
    return output[0];
  } catch {
    return undefined;
  } finally {
    restore();
  }
}
