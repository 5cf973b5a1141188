/** What someone tries who knows Triton and has never seen a tile in TypeScript, and what the build says. */
import { type First, line } from "./first-contact.js";

const traced = "is JavaScript's and cannot compute with a traced value";
const reassigned = "is reassigned inside a traced loop, which runs once while the kernel is traced";
const insideOr = "declare it inside, or hold it in tl.mut(…) and write";

/** Lines of a kernel's body that are one error in the editor. */
export const triedLines: readonly First[] = [
  // Memory
  line(
    "c.at(rm, rn).store(f);",
    "tl.store(c.at(rm, rn), f.to(tl.float16));",
    "store: this view has none; write tl.store(x.at(i, j), value)",
  ),
  line(
    "c.store(f);",
    "tl.store(c.at(rm, rn), f.to(tl.float16));",
    "store: this tensor has none; write tl.store(x.at(i, j), value), one index for each axis",
  ),
  line("p.load();", "tl.load(p.add(0));", "load: this pointer has none; write tl.load(x.add(i))"),
  line(
    "p.add(rm).store(1);",
    "tl.store(p.add(rm), 1);",
    "store: this pointer has none; write tl.store(x.add(i), value)",
  ),
  line(
    "total.at(rm, rn).add(f);",
    "tl.load(total.at(rm, rn)).add(f);",
    "add: this is an address; load it first, tl.load(…)",
  ),
  line("tl.exp(p);", "tl.exp(tl.load(p));", "exp: this is an address; load it first, tl.load(…)"),
  line(
    "f.item();",
    "f.sum();",
    "item: needs a tile of one element, this is [BLOCK_M, BLOCK_N]; reduce it first, tl.sum(x)",
  ),
  // State
  line(
    "acc = f;",
    "acc.value = f;",
    "a const cannot be assigned; assign state with acc.value = x; declare other variables with let",
  ),
  line("acc + f;", "acc.value.add(f);", `\`+\` ${traced}; write acc.value.add(f)`),
  line("acc == f;", "acc.value.eq(f);", "`==` compares handles, not values; write acc.value.eq(f)"),
  // Functions that are none, and none that are
  line("f.T();", "f.T;", "T: this is not a function; write x.T"),
  line("rm.col();", "rm.col;", "col: this is not a function; write x.col"),
  line(
    "const pid = tl.programId; pid.mul(2);",
    "const pid = tl.programId(0); pid.mul(2);",
    "mul: pid is no value of the program; if it is a function, call it first, as in tl.programId(0).mul(…)",
  ),
  // Choices
  line(
    "if (tl.programId(0) === 0) tl.store(p, 1);",
    "tl.when(tl.programId(0).eq(0), () => tl.store(p, 1));",
    "`===` compares handles, not values; write tl.when(tl.programId(0).eq(0), () => …)",
  ),
  line(
    "if (M > 3) tl.store(p, 1);",
    "tl.when(M.gt(3), () => tl.store(p, 1));",
    `\`>\` ${traced}; write tl.when(M.gt(3), () => …)`,
  ),
  line(
    "const g = (3 < M) ? f : f.mul(2); g;",
    "const g = tl.where(M.gt(3), f, f.mul(2)); g;",
    `\`<\` ${traced}; write tl.where(M.gt(3), …, …)`,
  ),
  line(
    "assert(BLOCK_M);",
    "tl.staticAssert(BLOCK_M.gt(0));",
    "assert: Python's name, not JavaScript's; write tl.staticAssert(condition) for constexprs, or tl.deviceAssert(condition, \"text\")",
  ),
];

/** Lines for which the editor has no words, or more than one error. */
export const triedLinesOfTheBuild: readonly First[] = [
  line("acc = acc + f;", "", `\`+\` ${traced}; write acc.value.add(f)`),
  line("f.sub(1) - acc;", "", `\`-\` ${traced}; write f.sub(1).sub(acc.value)`),
  line("tl.max(f, 0, keepDims = true);", "", "keepDims is not defined here; write { keepDims: true } at the end"),
  line(
    "tl.max(f, 0, return_indices = true);",
    "",
    "return_indices: Python's name, not JavaScript's; write options in an object at the end, { returnIndices: true }",
  ),
  line(
    "tl.dot(x, y, inputPrecision = 'ieee');",
    "",
    'inputPrecision is not defined here; write { inputPrecision: "ieee" } at the end',
  ),
  line(
    "let tile; for (const k of tl.range(M)) { tile = tl.load(ids.at(k)); tl.store(ids.at(k), tile); }",
    "",
    `\`tile\` ${reassigned}; ${insideOr} tile.value`,
  ),
  line(
    "let sum = f; for (const k of tl.range(M)) sum = sum.add(k);",
    "",
    `\`sum\` ${reassigned}; ${insideOr} sum.value`,
  ),
  line(
    "let q = p; for (const k of tl.range(M)) { q = q.add(1); tl.store(q, k); }",
    "",
    `\`q\` ${reassigned}; ${insideOr} q.value`,
  ),
  // Python's arguments by name, tuples, division and products
  line(
    "const mask = rm.lt(M); tl.load(p.add(rm), mask=mask, other=0.0);",
    "",
    "mask: Python's name, not JavaScript's; write options in an object at the end, { mask: i.lt(N), other: 0 }",
  ),
  line(
    "let start = 0; tl.arange(start=0, BLOCK_M); start;",
    "",
    "`start = ` is Python's keyword argument, and JavaScript assigns to start; write 0 at its place, or { start: 0 } in an object at the end",
  ),
  line(
    "tl.zeros((BLOCK_M, BLOCK_N), tl.float32);",
    "",
    "`(a, b)` is Python's tuple, and JavaScript takes its last item alone; write [BLOCK_M, BLOCK_N]",
  ),
  line("const half = M // 2;", "", "`//` begins a comment in JavaScript, and 2 is not divided by; write M.floorDiv(2)"),
  // What JavaScript makes of values
  line(
    "f.mul(Number(M));",
    "",
    "`Number` takes numbers of JavaScript, and a traced value is a number only while the kernel runs; write M itself, or M.to(tl.int32) for an integer",
  ),
  line(
    "console.log('M is ' + M);",
    "",
    "a string cannot hold a traced value, which is a number only while the kernel runs; print it with tl.devicePrint(…)",
  ),
  line(
    "console.log(String(M));",
    "",
    "a string cannot hold a traced value, which is a number only while the kernel runs; print it with tl.devicePrint(…)",
  ),
  line("while (M > 3) f;", "", `\`>\` ${traced}; write tl.whileLoop(() => M.gt(3), () => …)`),
  // Shapes
  line("f.view(-1);", "", "view: a shape is a list; write [BLOCK]"),
  line("f.reshape(8, 8);", "", "reshape: a shape is a list; write [BLOCK]"),
  line("f.view([-1]);", "", "view: -1 is not a dimension; write its number, or a constexpr"),
  // Stores
  line("c.at(rm, rn).set(f);", "", "set: this view has none; write tl.store(x.at(i, j), value)"),
  line("c.at(rm, rn).value = f;", "", "value: this view has none; write tl.store(x.at(i, j), value)"),
  line("c.value = f;", "", "value: this tensor has none; write tl.store(x.at(i, j), value), one index for each axis"),
  line("p.value = f;", "", "value: this pointer has none; write tl.store(x.add(i), value)"),
  line("f.value;", "", "value: this tile has none; write it without .value"),
  // Texts for dtypes, and methods of lists
  line('f.to("float16");', "f.to(tl.float16);", "to: a dtype is not text; write tl.float16"),
  line(
    'tl.zeros([BLOCK_M], "float32");',
    "tl.zeros([BLOCK_M], tl.float32);",
    "zeros: a dtype is not text; write tl.float32",
  ),
  line(
    "f.forEach((v: any) => v);",
    "f.mul(2);",
    "forEach: this tile has none; write x.mul(2) and the like, which compute with every element",
  ),
  line(
    "f.map((v: any) => v);",
    "f.mul(2);",
    "map: this tile has none; write x.mul(2) and the like, which compute with every element",
  ),
  // CUDA's
  line(
    "threadIdx.x;",
    "",
    "threadIdx: CUDA's name, not JavaScript's; write tl.arange(0, BLOCK), which has all elements of the program's block",
  ),
];

const spec = `{ params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() }, config: { BLOCK: 8 }, grid: () => [1] }`;
const vmapped = `reference: ({ x }: any, torch: any) => torch.vmap((v: any) => v.mul(2))(x)`;

/** Kernels, what the build says and the line of theirs that it names. */
export const triedKernels: readonly (readonly [code: string, says: string, line?: number])[] = [
  [
    `kernel("one", ${spec}, ({ x, BLOCK }) => {\n  const i = tl.arange(0, BLOCK);\n  return tl.load(x.at(i));\n})`,
    "one: the kernel's function returns something; store it instead, tl.store(y.at(i), x), and return nothing",
    5,
  ],
  [
    `kernel("one", ${spec},\n async ({ x, y, BLOCK }) => {})`,
    "this is a promise, and a kernel does not wait; remove async and await",
    4,
  ],
  [
    `kernel("one", ${spec},\n function* ({ x, y, BLOCK }) {})`,
    "a generator's body runs only while something iterates over it, so the kernel has none of it; make it an ordinary function",
    4,
  ],
  [
    `kernel("one", ${spec},\n (x: any, y: any, BLOCK: any) => tl.store(y.at(0), 0))`,
    "one: the kernel's function takes one object; write ({ x, y, N, BLOCK }) => { … }",
    4,
  ],
  [
    `kernel("one", ${spec.replace("() => [1]", "({ N, BLOCK }: any) => (tl.cdiv(N, BLOCK), 1)")}, () => {})`,
    "`(a, b)` is Python's tuple, and JavaScript takes its last item alone; write [tl.cdiv(N, BLOCK), 1]",
  ],
  [
    `kernel("one", ${spec.replace("config:", "configs:")}, () => {})`,
    'one: configs is not a part of a spec; write autotune: { key: ["N"], configs: [{ BLOCK: 64 }] }, or config: { BLOCK: 64 } for one',
  ],
  [
    `kernel("one", ${spec.replace("grid:", `${vmapped}, grid:`)}, ({ y }) => tl.store(y.at(0), 0))`,
    "reference: a function of JavaScript's cannot be recorded, as torch.vmap takes one; write it with tensors of one more axis, or in Python, reference: python`…`",
  ],
  ...[
    ["warps: 4", "warps is not a constexpr of this kernel; write numWarps"],
    ["numWarp: 4", "numWarp is not a constexpr of this kernel; write numWarps"],
    ["stages: 3", "stages is not a constexpr of this kernel; write numStages"],
    [
      "kwargs: 1",
      "kwargs is not a constexpr of this kernel; write its constants beside numWarps, { BLOCK: 64, numWarps: 4 }",
    ],
  ].map(
    ([option, says]) =>
      [
        `kernel("one", ${spec.replace("{ BLOCK: 8 }", `{ BLOCK: 8, ${option} }`)}, ({ x, y, BLOCK }) => tl.store(y.at(tl.arange(0, BLOCK)), tl.load(x.at(tl.arange(0, BLOCK)))))`,
        `one: its config: ${says}`,
      ] as const,
  ),
  ...(
    [
      ['tensor("float32", ["N"])', "tensor: a dtype is not text; write tl.float32"],
      ['tensor("fp16", ["N"])', "tensor: a dtype is not text; write tl.float16"],
      ['scalar("torch.int")', "scalar: a dtype is not text; write tl.int32"],
      ['tensor(tl.float32, "N")', 'tensor: "N" is text, and the dims are a list; write ["N"]'],
      [
        "tensor(tl.float32, [])",
        'tensor: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)',
      ],
      [
        "Number",
        "one: w is JavaScript's Number, not a param; write w: scalar(tl.float32) for a number of the call, or constexpr() for one of the config",
      ],
      ["Boolean", "one: w is JavaScript's Boolean, not a param; write w: constexpr.bool()"],
    ] as const
  ).map(
    ([param, says]) =>
      [
        `kernel("one", ${spec.replace("params: {", `params: { w: ${param},`)}, ({ y }) => tl.store(y.at(0), 0))`,
        says,
      ] as const,
  ),
  [
    `kernel("add-relu", ${spec}, ({ y }) => tl.store(y.at(0), 0))`,
    'kernel: "add-relu" cannot be a Python name; write "add_relu"',
  ],
];
