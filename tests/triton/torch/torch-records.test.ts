/**
 * The record of each torch function against PyTorch, on drawn inputs: its value at every place that it names, with
 * positional and with keyword arguments; and its facts. All of this is generated from the table and from one expression
 * that uses the function.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { tl } from "tilescript";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { recordReference } from "../../../src/dsl/record-spec.js";
import { normal, seedOf, shuffled, uniform } from "../../../src/numerics/random.js";
import { evaluateReference } from "../../../src/torch/evaluate-torch.js";
import {
  bindArguments,
  type ListedFunction,
  recordOf,
  torchFunctions,
  isTruth,
  aliasedTensors,
} from "../../../src/torch/functions.js";
import {
  isTorchNode,
  torchOperands,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "../../../src/torch/node.js";
import type { TorchArray } from "../../../src/torch/array.js";
import type { CallForm } from "../../../src/torch/record.js";
import type { Torch } from "../../../src/torch/types.js";
import { type DTypeName, dtypeTable } from "../../../src/types/dtype.js";
import { runScript, requirePython } from "../../support/python.js";
import { type Author, cases, float, inputs as shapes, int, type Inputs } from "./torch-cases.js";

type Tensors = Readonly<Record<keyof Inputs, TensorData>>;

/** Inputs that fit the expressions: see their list. */
function drawn(seed: number): Tensors {
  const random = uniform(seedOf(seed, "torch records"));
  const floats = (name: "x" | "y" | "v" | "c", next: () => number) => float(shapes[name].shape, next);
  const below = (end: number) => Math.floor(random() * end);
  // Lengths of segments of three rows stand in the first column.
  const lengths = shuffled(3, random);
  return {
    x: floats("x", normal(random)),
    y: floats("y", () => 0.1 + 2 * random()),
    v: floats("v", () => 2 * random() - 1),
    c: floats("c", normal(random)),
    i: int([3, 4], ...Array.from({ length: 12 }, (_, at) => (at % 4 === 0 ? lengths[at / 4]! : below(3)))),
    t: int([3], ...Array.from(shuffled(4, random)).slice(0, 3)),
  };
}

/** The same as truth values. */
function truths(tensors: Tensors): Tensors {
  const truth = ({ shape, data }: TensorData): TensorData => ({
    dtype: "int1",
    shape,
    data: Uint8Array.from(data as ArrayLike<number | bigint>, (x) => Number(Number(x) > 0)),
  });
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, truth(tensor)])) as never;
}

/** Expressions that draw: `inputs` may, references may not. */
const drawing: Readonly<Record<string, Author>> = {
  rand: (_, torch) => torch.rand([3, 4]),
  randn: (_, torch) => torch.randn([3, 4]),
  randint: (_, torch) => torch.randint(2, 9, [3, 4]),
  randperm: (_, torch) => torch.randperm(7),
};

/** Expressions that PyTorch takes for tensors of truth values, where those of the list it does not. */
const ofTruths: Readonly<Record<string, Author>> = {
  bitwise_and: ({ x, y }) => x.bitwise_and(y),
  bitwise_or: ({ x, y }) => x.bitwise_or(y),
  bitwise_xor: ({ x, y }) => x.bitwise_xor(y),
  index_select: ({ x, i }) => x.index_select(0, i.long().flatten()),
  gather: ({ x, i }) => x.gather(0, i.long()),
  take_along_dim: ({ x, i }, torch) => torch.take_along_dim(x, i.long(), 0),
  scatter: ({ x, y }, torch) => x.scatter(0, torch.zeros_like(x, { dtype: tl.int64 }), y),
  scatter_add: ({ x, y }, torch) => x.scatter_add(0, torch.zeros_like(x, { dtype: tl.int64 }), y),
  full: (_, torch) => torch.full([2], true as never),
  full_like: ({ x }, torch) => torch.full_like(x, 1),
};

function recorded(author: Author): TorchNode {
  const given = { subject: "the reference", tensors: Object.keys(shapes), numbers: [] };
  const reference = recordReference(
    (tensors, torch) => author(tensors as unknown as Inputs, torch as Torch),
    given,
    ["out"],
    undefined,
  );
  if (reference?.kind !== "recorded") throw new Error("not recorded");
  return reference.outputs[0]!;
}

/** The calls within an expression, by the function's name. */
function callsIn(root: TorchNode): readonly (readonly [string, TorchCall])[] {
  const below = torchOperands(root).flatMap((part) =>
    (Array.isArray(part) ? (part as readonly TorchArgument[]) : [part]).flatMap((each) =>
      isTorchNode(each) ? callsIn(each) : [],
    ),
  );
  const isCall = root.kind === "call" || root.kind === "method";
  return isCall ? [...below, [root.name.replace("nn.functional.", ""), root]] : below;
}

const truthCalls = new Map(
  Object.entries(ofTruths).map(
    ([name, author]) => [name, callsIn(recorded(author)).flatMap(([of, call]) => (of === name ? [call] : []))] as const,
  ),
);
const calls = Object.values({ ...cases, ...drawing }).flatMap((author) => callsIn(recorded(author)));
const callsOf = (name: string): readonly TorchCall[] => calls.filter(([of]) => of === name).map(([, call]) => call);

/** The call as it is written at a place, with its arguments by their names if that is wanted. */
function respelled(call: TorchCall, name: string, record: ListedFunction, place: CallForm, byName: boolean): TorchCall {
  const kind = place === "method" ? "method" : "call";
  const path = place === "functional" ? `nn.functional.${name}` : name;
  const whole = { ...call, kind, name: path } as const;
  if (!byName) return whole;
  const first = kind === "method" ? 1 : 0;
  const named = record.params.slice(first).flatMap((param, i) => {
    const given = call.args[first + i];
    return given === undefined ? [] : [[param, given] as const];
  });
  return { ...whole, args: call.args.slice(0, first), keywords: { ...Object.fromEntries(named), ...call.keywords } };
}

/** A node as Python's script takes it. */
function wire(node: TorchArgument): unknown {
  if (Array.isArray(node)) return node.map(wire);
  if (!isTorchNode(node)) return node;
  if (node.kind === "dtype") return { kind: "dtype", name: dtypeTable[node.name].torch };
  const { at: _, ...rest } = node as TorchCall;
  const own = Object.entries(rest).map(([key, value]) => [
    key,
    key === "keywords"
      ? Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, wire(each)]))
      : wire(value as TorchArgument),
  ]);
  return Object.fromEntries(own);
}

const wireInputs = (tensors: Tensors) =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => [
      name,
      { dtype: dtypeTable[dtype as "int1"].torch, shape, data: Array.from(data as ArrayLike<number>, String) },
    ]),
  );

interface Answer {
  readonly error?: string;
  readonly results: readonly { readonly shape: readonly number[]; readonly data: readonly string[]; dtype: string }[];
  readonly shares: boolean;
  readonly number: boolean;
}

interface Trial {
  readonly id: string;
  readonly call: TorchCall;
  readonly tensors: Tensors;
}

const SEEDS = [1, 2];
/** Where PyTorch has another name for a parameter than the record, such as `end` for the only number of `arange`. */
const BY_POSITION: ReadonlySet<string> = new Set(["split method", "arange torch"]);

function trialsOf(name: string, record: ListedFunction): readonly Trial[] {
  return callsOf(name).flatMap((call, i) =>
    record.places.flatMap((place) =>
      [false, true].flatMap((byName) => {
        if (byName && (record.variadic !== undefined || BY_POSITION.has(`${name} ${place}`))) return [];
        const spelled = respelled(call, name, record, place, byName);
        return SEEDS.map((seed) => ({
          id: `${name} ${i} ${place} ${byName ? "by name" : "by position"} ${seed}`,
          call: spelled,
          tensors: drawn(seed),
        }));
      }),
    ),
  );
}

/** Calls with truth values for all inputs. Functions that take none are refused by PyTorch. */
const truthTrialsOf = (name: string): readonly Trial[] =>
  [...callsOf(name), ...(truthCalls.get(name) ?? [])].flatMap((call, i) =>
    SEEDS.map((seed) => ({ id: `${name} ${i} of truth values ${seed}`, call, tensors: truths(drawn(seed)) })),
  );

/** The same with an axis of no elements: the first one of each, or the last. */
function emptied(tensors: Tensors, which: "first" | "last"): Tensors {
  const empty = ([name, tensor]: [string, TensorData]): [string, TensorData] => {
    if (which === "first" && name === "v") return [name, tensor];
    const shape = tensor.shape.with(which === "first" ? 0 : -1, 0);
    return [name, { ...tensor, shape, data: tensor.data.slice(0, 0) }];
  };
  return Object.fromEntries(Object.entries(tensors).map(empty)) as never;
}

/** Calls on tensors without elements, which verification draws too. */
const emptyTrialsOf = (name: string): readonly Trial[] =>
  callsOf(name).flatMap((call, i) =>
    (["first", "last"] as const).map((which) => ({
      id: `${name} ${i} where the ${which} axis is empty`,
      call,
      tensors: emptied(drawn(1), which),
    })),
  );

/** Calls that leave something out, by position or by name. */
const shorterTrialsOf = (name: string): readonly Trial[] =>
  callsOf(name).flatMap((call, i) => {
    const tensors = drawn(1);
    const byPosition = call.args.map((_, count) => ({ ...call, args: call.args.slice(0, count) })).slice(1);
    const byName = Object.keys(call.keywords).map((left) => {
      const { [left]: _, ...keywords } = call.keywords;
      return { ...call, keywords };
    });
    return [...byPosition, ...byName].map((shorter, j) => ({
      id: `${name} ${i} shorter ${j}`,
      call: shorter,
      tensors,
    }));
  });

const numberOf = (text: string): number =>
  text.endsWith("inf") ? Number(text.replace("inf", "Infinity")) : Number(text);

function expectSame(
  found: TorchArray,
  { shape, data }: Answer["results"][number],
  { id, compares }: { readonly id: string; readonly compares: boolean },
): void {
  expect(found.shape, id).toEqual(shape);
  if (!compares) return;
  data.forEach((text, i) => {
    const [is, due] = [found.data[i]!, numberOf(text)];
    if (!Object.is(is, due)) expect(Math.abs(is - due), id).toBeLessThanOrEqual(1e-13 + 1e-12 * Math.abs(due));
  });
}

/** Whether a function gives a list, also of one tensor. */
const isList = (name: string): boolean => ["chunk", "split"].includes(name);

describe("records of torch functions", { timeout: 120_000 }, () => {
  const names = Object.keys(torchFunctions);
  // The size of an axis is a number, and all sizes are no tensor.
  const drawless = names.filter((name) => !torchFunctions[name]!.isRandom && name !== "size");
  let answers: Readonly<Record<string, Answer>>;
  beforeAll(async () => {
    const trials = names.flatMap((name) => [
      ...trialsOf(name, torchFunctions[name]!),
      ...truthTrialsOf(name),
      ...emptyTrialsOf(name),
      ...shorterTrialsOf(name),
    ]);
    const lines = trials.map(({ id, call, tensors }) => {
      // A tensor of none is made on the device that Python names.
      const made = recordOf(call)?.isFactory ? { ...call, keywords: { ...call.keywords, device: "cpu" } } : call;
      return { id, node: wire(made), inputs: wireInputs(tensors) };
    });
    answers = await runScript(await requirePython(), new URL("../ops/torch_record_cases.py", import.meta.url), lines);
  }, 120_000);

  test.each(names)("%s: values, at each of its places", (name) => {
    const record = torchFunctions[name]!;
    const trials = trialsOf(name, record);
    expect(trials.length, `${name} has no case in torch-cases.ts`).toBeGreaterThan(0);
    for (const { id, call, tensors } of trials) {
      const { error, results } = answers[id]!;
      expect(error, id).toBeUndefined();
      const nodes = results.map((_, index): TorchNode =>
        results.length > 1 ? { kind: "item", of: call, index } : call,
      );
      if (record.isRandom) expect(() => evaluateReference(nodes, tensors), id).toThrow("draws random numbers");
      const found = evaluateReference(nodes, tensors, { random: uniform(3) });
      const compares = !record.isRandom && !record.isUninitialized;
      results.forEach((due, at) => expectSame(found[at]!, due, { id, compares }));
    }
  });

  test.each(drawless)("%s: arguments that are left out, and tensors without elements", (name) => {
    for (const { id, call, tensors } of [...emptyTrialsOf(name), ...shorterTrialsOf(name)]) {
      const { error, results } = answers[id]!;
      if (error !== undefined) {
        expect(() => evaluateReference([call], tensors), `${id}: PyTorch says ${error}`).toThrow();
        continue;
      }
      // Another function of the same name, which the evaluator does not have.
      if (call.args.length === 1 && ["to", "where"].includes(name)) {
        expect(() => evaluateReference([call], tensors), id).toThrow();
        continue;
      }
      const nodes = results.map((_, index): TorchNode =>
        results.length > 1 || isList(name) ? { kind: "item", of: call, index } : call,
      );
      const found = evaluateReference(nodes, tensors);
      results.forEach((due, at) =>
        expectSame(found[at]!, due, { id, compares: !torchFunctions[name]!.isUninitialized }),
      );
    }
  });

  test.each(names)("%s: truth values", (name) => {
    const { truth } = torchFunctions[name]!;
    const shown = [...trialsOf(name, torchFunctions[name]!), ...truthTrialsOf(name)].filter(
      ({ id }) => answers[id]!.error === undefined,
    );
    const is = shown.map(({ id }) => answers[id]!.results[0]!.dtype === "bool");
    shown.forEach(({ id, call, tensors }, i) => expect(isTruth(call, tensors), id).toBe(is[i]));
    if (truth !== undefined) expect(is, `${name} never gives truth values`).toContain(true);
  });

  test.each(names)("%s: memory, numbers, devices", (name) => {
    const record = torchFunctions[name]!;
    const trials = trialsOf(name, record);
    const shares = trials.filter(({ id }) => answers[id]!.shares);
    for (const { id, call, tensors } of [...trials, ...truthTrialsOf(name)]) {
      if (!answers[id]!.shares) continue;
      const [owner] = aliasedTensors(call, (of) =>
        of.kind === "input" ? (tensors[of.name as keyof Tensors].dtype as DTypeName) : undefined,
      );
      expect(owner!.kind, `${id} has its input's memory`).toBe("input");
    }
    if (record.isView) expect(shares, `${name} never has its input's memory`).not.toEqual([]);
    for (const { id, call } of trials) {
      expect(answers[id]!.number, id).toBe(record.isPythonNumber === true);
      const hasTensor = Object.values(bindArguments(call, record))
        .flat()
        .some((each) => isTorchNode(each) && each.kind !== "dtype");
      expect(hasTensor, `${id}: whether it makes a tensor of none`).toBe(record.isFactory !== true);
    }
  });
});
