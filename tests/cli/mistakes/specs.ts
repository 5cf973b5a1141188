/** Specs of another form than their types, each at its own line. */
import { add, type Mistake } from "./mistake.js";

type Parts = Parameters<typeof add>[0];

const at = (line: number, title: string, parts: Parts, says: string): Mistake => ({
  title,
  args: "check FILE",
  file: add(parts),
  code: 1,
  says,
  line,
});

/** Autotuning in place of the config. */
const only: Parts = { config: "undefined" };
const tuned = (key: string, configs: string): string => `autotune: { key: ${key}, configs: ${configs} },`;

/** `add` with a part of its spec replaced by what its type refuses, or by what no type can tell. */
export const specs: readonly Mistake[] = [
  at(9, "a reference that is no function", { reference: "3 as any" }, "reference must be a function, such as"),
  at(
    9,
    "a reference of an unknown input",
    { reference: "({ x, q }: any) => x.add(q)" },
    "there is no input q; there are x, ",
  ),
  at(
    9,
    "a reference of two",
    { reference: "({ x }) => [x, x] as any" },
    "gives 2 results, the kernel has 1 output (z)",
  ),
  at(10, "inputs that are no function", { spec: "inputs: 3 as any," }, "inputs must be a function, such as"),
  at(
    10,
    "inputs of a later time",
    { spec: "inputs: (async () => ({})) as any," },
    "return an object of tensors by name",
  ),
  at(
    10,
    "inputs of a dtype of torch's",
    { spec: "inputs: ({ N }: any, torch: any) => ({ x: torch.rand([N], { dtype: torch.float64 }) })," },
    "torch.float64 is not a value here; write tl.float64",
  ),
  at(10, "shapes without a size", { spec: "shapes: [{}] as any," }, "shapes[0] has no N; give each size a number"),
  at(
    10,
    "shapes of what configs choose",
    { spec: "shapes: [{ N: 3, BLOCK: 4 }] as any," },
    "gives BLOCK, which callers do not pass",
  ),
  at(
    10,
    "a negative size among shapes",
    { spec: "shapes: [{ N: 3 }, { N: -1 }]," },
    "shapes[1]: N is -1; it is a whole",
  ),
  at(10, "half a size among shapes", { spec: "shapes: [{ N: 1.5 }]," }, "N is 1.5; it is a whole number from 0 up"),
  at(10, "a size of letters", { spec: 'shapes: [{ N: "3" }] as any,' }, 'N is \\"3\\"; it is a whole number'),
  at(10, "shapes that are no list", { spec: "shapes: { N: 3 } as any," }, "shapes must be a list of objects"),
  at(10, "nothing among shapes", { spec: "shapes: [null] as any," }, "shapes must be a list of objects"),
  at(
    3,
    "a negative tolerance",
    { spec: "tolerance: { rtol: -1 }," },
    "it is { rtol: 1e-3, atol: 1e-3 }, numbers from 0 up",
  ),
  at(
    3,
    "a tolerance by dtype",
    { spec: "tolerance: { float32: 1 } as any," },
    "it is { rtol: 1e-3, atol: 1e-3 }, numbers from 0 up",
  ),
  at(10, "a doc of digits", { spec: "doc: 3 as any," }, "doc must be a string"),
  at(10, "heuristics that are none", { spec: "heuristics: 3 as any," }, "heuristics must be an object of functions"),
  at(
    8,
    "a config beside autotune",
    { spec: tuned('["N"]', "[{ BLOCK: 64 }]") },
    "config and autotune both give configs",
  ),
  at(8, "a config of a BigInt", { config: "{ BLOCK: 64n } as any" }, "config must be an object of numbers"),
  at(
    10,
    "a key that is no list",
    { ...only, spec: tuned('"N" as any', "[{ BLOCK: 64 }]") },
    "autotune must be an object",
  ),
  at(
    10,
    "configs that are no list",
    { ...only, spec: tuned('["N"]', "{ BLOCK: 64 } as any") },
    "autotune must be an object",
  ),
  at(10, "a config of nothing", { ...only, spec: tuned('["N"]', "[null] as any") }, "autotune must be an object"),
  at(7, "a grid of no axes", { grid: "() => []" }, "grid: has 0 axes; give one, two or three"),
  at(7, "a negative grid", { grid: "() => [-1]" }, "grid: -1 programs compute nothing; give 1 or more"),
  at(7, "half a program", { grid: "() => [1.5]" }, "an axis is a number of programs, an integer"),
  at(
    7,
    "a grid of a later time",
    { grid: "(async () => [1]) as any" },
    "this is a promise, and a kernel does not wait; remove async and await",
  ),
  at(3, "a name of 300 letters", { name: "x".repeat(300) }, "a name of 300 letters is too long for a file's"),
  at(
    3,
    "a size with a tensor's name",
    {
      params: `x: tensor(tl.float32, ["y"]), y: tensor(tl.float32, ["N"]), z: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(),`,
    },
    "y is a tensor and a size of a tensor; rename one",
  ),
  at(
    3,
    "a param with a name of JavaScript's",
    {
      params: `constructor: tensor(tl.float32, ["N"]), y: tensor(tl.float32, ["N"]), z: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(),`,
    },
    "every JavaScript object has a constructor of its own; rename the param",
  ),
  ...(
    [
      ["nothing", "return None", "it returns None; it must give z"],
      ["a number", "return 3", "it returns a value of type int, no tensor; it must give z"],
      ["two tensors", "return x, y", "it returns 2 values; it must give z"],
      ["bad Python", "return (x + y", "'(' was never closed"],
    ] as const
  ).map(([what, body, says]): Mistake => ({
    title: `a reference of Python that gives ${what}`,
    args: "run FILE --device interpreter --shape N=3",
    file: add({
      imports: `import { constexpr, kernel, python, tensor, tl } from "tilescript";`,
      reference: `python\`\n      ${body}\n    \``,
    }),
    code: 1,
    says: `${says}`,
    line: 9,
  })),
];
