/** A small kernel for each op: from the samples that run on Triton, or written here for ops of other kinds. */
import { definitionOf } from "../src/dsl/definition.js";
import { trace } from "../src/dsl/trace.js";
import { isHandle, valueOf } from "../src/ir/handle.js";
import { kernel, tensor, TileScriptError, tl } from "../src/index.js";
import type { DTypeName } from "../src/types/dtype.js";
import { type Operand, operandsOf, type Sample, samples } from "../tests/triton/ops/samples.js";

interface TypeText {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** Types that a call accepts, with the types of its results. */
export interface TypedCall {
  readonly operands: readonly Operand[];
  readonly results: readonly TypeText[];
}

const dimsOf = ({ shape }: TypeText): readonly number[] => (shape.length === 0 ? [1] : shape);

/** The types of a sample's results, or the message of the build that rejects these operands. */
export function resultsOf(sample: Sample, operands: readonly Operand[]): readonly TypeText[] | string {
  let results: readonly TypeText[] = [];
  const params = operands.map((operand, i) => {
    const make: any = sample.whole ? tensor.inout : tensor;
    return [`x${i}`, make(tl[operand.dtype], dimsOf(operand))] as const;
  });
  const body = (args: any): void => {
    const values = operands.map((operand, i) => {
      const x = args[`x${i}`];
      return sample.whole
        ? x
        : tl.load(x.at(...indices(operand).map((length) => (length === 0 ? 0 : tl.arange(0, length)))));
    });
    const given = sample.apply(...values);
    results = (Array.isArray(given) ? given : [given]).flatMap((value): TypeText[] => {
      const type = isHandle(value) ? valueOf(value).type : undefined;
      return type?.kind === "tile" ? [{ dtype: String(type.dtype), shape: type.shape as readonly number[] }] : [];
    });
  };
  try {
    const spec: any = { params: Object.fromEntries(params), grid: () => [1], config: {} };
    trace(definitionOf(kernel("sample", spec, body)));
    return results;
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics[0]?.message ?? error.message;
    throw error;
  }
}

/** The length of each index; 0 for the index of a tensor with one element, which is loaded as a scalar. */
const indices = ({ shape }: TypeText): readonly number[] => (shape.length === 0 ? [0] : shape);

const NAMES = ["x", "y", "z", "w", "v"];

/** The call of a sample as a text of `names`; undefined if it uses values around it. */
function callText({ op, apply }: Sample, names: readonly string[]): string | undefined {
  // What runs the sources may have shortened imports.
  const text = String(apply).replaceAll(/\bimport_\w+\./g, "");
  const [, parameters = "", call = ""] = /^\(?([\w, ]*)\)?\s*=>\s*([^]*)$/.exec(text) ?? [];
  const renames = new Map(parameters.split(",").map((name, i) => [name.trim(), names[i]] as const));
  const renamed = call
    .trim()
    .replaceAll(/\bt\[op\]\(|\bt\.(\w+)\(/g, (_, name: string | undefined) => `tl.${name ?? op}(`)
    .replaceAll(/(?<![\w.])\w+\b(?!:)/g, (name) => renames.get(name) ?? name);
  const known = new Set([...names, "tl", "libdevice", "undefined", "true", "false", "null"]);
  const strings = /"[^"]*"/g;
  const free = renamed.replaceAll(strings, "").match(/(?<![\w.$])[A-Za-z_$]\w*\b(?!\s*:)/g) ?? [];
  return call !== "" && free.every((name) => known.has(name)) ? renamed : undefined;
}

const atText = (operand: TypeText): string =>
  `at(${indices(operand)
    .map((length) => (length === 0 ? "0" : `tl.arange(0, ${length})`))
    .join(", ")})`;

/** The range of a param excludes its end for integers; that of a sample includes it. */
const rangeText = ({ dtype, range }: Operand): string =>
  range ? `, { range: [${range[0]}, ${dtype.includes("float") ? range[1] : range[1] + 1}] }` : "";

const PREFERRED = ["float32", "float16", "int32", "int1"];

/** The kernel file of a sample. */
function sampleText(sample: Sample): string | undefined {
  const alternatives = sample.operands.split(" | ").map(operandsOf);
  const rank = ([first]: readonly Operand[]): number => (first ? (PREFERRED.indexOf(first.dtype) + 9) % 9 : 0);
  const [operands = []] = alternatives.toSorted((a, b) => rank(a) - rank(b));
  const names = NAMES.slice(0, operands.length);
  const call = callText(sample, names);
  const results = resultsOf(sample, operands);
  if (call === undefined || typeof results === "string" || results.length === 0) return undefined;
  const outputs = results.map((result, i) => ({ ...result, name: results.length > 1 ? `out${i}` : "out" }));
  const dims = (type: TypeText): string => `[${dimsOf(type).join(", ")}]`;
  const params = [
    ...operands.map(
      (operand, i) => `${names[i]}Tensor: tensor(tl.${operand.dtype}, ${dims(operand)}${rangeText(operand)}),`,
    ),
    ...outputs.map((output) => `${output.name}: tensor.out(tl.${output.dtype}, ${dims(output)}),`),
  ];
  const loads = operands.map((operand, i) => `const ${names[i]} = tl.load(${names[i]}Tensor.${atText(operand)});`);
  const result = outputs.length > 1 ? `const [${outputs.map((_, i) => `result${i}`).join(", ")}]` : "const result";
  const stores = outputs.map((output, i) => {
    const value = outputs.length > 1 ? `result${i}` : "result";
    return `tl.store(${output.name}.${atText(output)}, ${value});`;
  });
  const given = [...names.map((name) => `${name}Tensor`), ...outputs.map(({ name }) => name)];
  return kernelText(sample.op, params, given, [...loads, `${result} = ${call};`, ...stores]);
}

function kernelText(
  op: string,
  params: readonly string[],
  given: readonly string[],
  body: readonly string[],
  spec: readonly string[] = ["grid: () => [1],", "config: {},"],
): string {
  const text = [...params, ...spec, ...body].join("\n");
  const imports = ["constexpr", "kernel", "main", "pointer", "scalar", "tensor", "tl"].filter(
    (name) => name === "kernel" || name === "main" || new RegExp(`(?<![\\w.])${name}\\b`).test(text),
  );
  const indent = (lines: readonly string[], width: number): string =>
    lines.map((line) => `${" ".repeat(width)}${line}\n`).join("");
  return `import { ${imports.join(", ")} } from "tilescript";

export const example = kernel(
  "${op.replace(".", "_").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_example",
  {
    params: {
${indent(params, 6)}    },
${indent(spec, 4)}  },
  ({ ${given.join(", ")} }) => {
${indent(body, 4)}  },
);

main(import.meta, example);
`;
}

/** Params and a body that names them. */
type Written = readonly [params: readonly string[], body: readonly string[], spec?: readonly string[]];

const X = "x: tensor(tl.float32, [8]),";
const OUT = "out: tensor.out(tl.float32, [8]),";
const VALUES = "const values = tl.load(x.at(tl.arange(0, 8)));";
const STORE = "tl.store(out.at(tl.arange(0, 8)), result);";
const elementwise = (...result: readonly string[]): Written => [
  [X, OUT],
  [VALUES, ...result, STORE],
];
const atomic = (op: string, dtype = "int32"): Written => [
  [`x: tensor(tl.${dtype}, ["N"]),`, `total: tensor.inout(tl.${dtype}, [1]),`],
  ["const i = tl.inBounds(tl.programId(0));", `tl.${op}(total.at(0), tl.load(x.at(i)));`],
  ["grid: ({ N }) => [N],", "config: {},"],
];
const BLOCKS = ["x: tensor(tl.float32, [32, 32]),", "out: tensor.out(tl.float32, [8, 16]),"];
const DESCRIPTOR = "const blocks = tl.makeTensorDescriptor(x, [8, 16]);";
const STORE_BLOCK = "tl.store(out.at(tl.arange(0, 8), tl.arange(0, 16)), result);";
const reduceBlocks = (method: string, dtype = "int32"): Written => [
  [`x: tensor(tl.${dtype}, [8, 16]),`, `total: tensor.inout(tl.${dtype}, [32, 32]),`],
  [
    "const values = tl.load(x.at(tl.arange(0, 8), tl.arange(0, 16)));",
    "const blocks = tl.makeTensorDescriptor(total, [8, 16]);",
    `blocks.${method}([16, 16], values);`,
  ],
];
const query = (op: string, dtype: string): Written => [
  [`out: tensor.out(tl.${dtype}, [1]),`],
  [`tl.store(out.at(0), tl.${op}());`],
];
const target = (call: string): Written =>
  elementwise(`const result = tl.when(${call}, () => values.mul(2)).otherwise(() => values);`);
const constant = (op: string): Written =>
  elementwise(`tl.staticPrint("${op}", tl.${op}());`, "const result = values.mul(2);");

const written: Readonly<Record<string, Written>> = {
  atomicAdd: atomic("atomicAdd", "float32"),
  atomicMax: atomic("atomicMax"),
  atomicMin: atomic("atomicMin"),
  atomicAnd: atomic("atomicAnd"),
  atomicOr: atomic("atomicOr"),
  atomicXor: atomic("atomicXor"),
  atomicXchg: atomic("atomicXchg"),
  atomicCas: [
    ["lock: tensor.inout(tl.int32, [1]),", "out: tensor.out(tl.int32, [1]),"],
    ["const old = tl.atomicCas(lock.at(0), 0, 1);", "tl.store(out.at(0), old);"],
  ],
  atomicLoad: [
    ["x: tensor(tl.int32, [8]),", "out: tensor.out(tl.int32, [8]),"],
    ['const result = tl.atomicLoad(x.at(tl.arange(0, 8)), { sem: "acquire" });', STORE],
  ],
  atomicStore: [
    ["x: tensor(tl.int32, [8]),", "out: tensor.out(tl.int32, [8]),"],
    ["const i = tl.arange(0, 8);", 'tl.atomicStore(out.at(i), tl.load(x.at(i)), { sem: "release" });'],
  ],
  atomicPoll: [
    ["flag: tensor.inout(tl.int32, [1]),", "out: tensor.out(tl.int32, [1]),"],
    [
      "tl.atomicXchg(flag.at(0), 1);",
      "const is1 = tl.atomicPoll(flag.at(0), 1);",
      "tl.store(out.at(0), is1.to(tl.int32));",
    ],
  ],
  descriptorAtomicAdd: reduceBlocks("atomicAdd", "float32"),
  descriptorAtomicMax: reduceBlocks("atomicMax"),
  descriptorAtomicMin: reduceBlocks("atomicMin"),
  descriptorAtomicAnd: reduceBlocks("atomicAnd"),
  descriptorAtomicOr: reduceBlocks("atomicOr"),
  descriptorAtomicXor: reduceBlocks("atomicXor"),
  makeTensorDescriptor: [BLOCKS, [DESCRIPTOR, "const result = blocks.load([16, 16]);", STORE_BLOCK]],
  loadTensorDescriptor: [
    BLOCKS,
    [DESCRIPTOR, "const result = tl.loadTensorDescriptor(blocks, [16, 16]);", STORE_BLOCK],
  ],
  storeTensorDescriptor: [
    ["x: tensor(tl.float32, [8, 16]),", "out: tensor.inout(tl.float32, [32, 32]),"],
    [
      "const values = tl.load(x.at(tl.arange(0, 8), tl.arange(0, 16)));",
      "tl.storeTensorDescriptor(tl.makeTensorDescriptor(out, [8, 16]), [16, 16], values);",
    ],
  ],
  descriptorGather: [
    BLOCKS,
    [
      "const rows = tl.makeTensorDescriptor(x, [1, 16]);",
      "const result = rows.gather(tl.arange(0, 8).mul(3), 16);",
      STORE_BLOCK,
    ],
  ],
  descriptorScatter: [
    ["x: tensor(tl.float32, [8, 16]),", "out: tensor.inout(tl.float32, [32, 32]),"],
    [
      "const values = tl.load(x.at(tl.arange(0, 8), tl.arange(0, 16)));",
      "tl.makeTensorDescriptor(out, [1, 16]).scatter(values, tl.arange(0, 8).mul(3), 16);",
    ],
  ],
  choose: elementwise("const result = values.mul(tl.choose(FLAG, 2, 3));"),
  reduce: [
    [X, "out: tensor.out(tl.float32, [1]),"],
    [VALUES, "const result = tl.reduce(values, 0, (a, b) => tl.maximum(a, b));", "tl.store(out.at(0), result);"],
  ],
  associativeScan: elementwise("const result = tl.associativeScan(values, 0, (a, b) => tl.maximum(a, b));"),
  mapElementwise: elementwise(
    "const result = tl.mapElementwise((a) => tl.when(a.gt(0), () => tl.sqrt(a)).otherwise(() => a.mul(2)), values);",
  ),
  raw: elementwise('const result = tl.raw("tl.math.erf({0})", [values], { dtype: tl.float32, shape: [8] });'),
  inlineAsmElementwise: elementwise(
    'const result = tl.inlineAsmElementwise("abs.f32 $0, $1;", "=f,f", [values], tl.float32);',
  ),
  inBounds: [
    ['x: tensor(tl.float32, ["N"]),', 'out: tensor.out(tl.float32, ["N"]),'],
    ["const i = tl.inBounds(tl.programId(0));", "tl.store(out.at(i), tl.load(x.at(i)));"],
    ["grid: ({ N }) => [N],", "config: {},"],
  ],
  toPointer: [
    ["address: tensor(tl.int64, [1]),", "out: tensor.out(tl.int64, [1]),"],
    ["const pointer = tl.toPointer(tl.load(address.at(0)), tl.float32);", "tl.store(out.at(0), pointer.to(tl.int64));"],
  ],
  gdcWait: [
    [X, OUT],
    ["tl.gdcWait();", VALUES, "const result = values.mul(2);", STORE],
  ],
  gdcLaunchDependents: [
    [X, OUT],
    [VALUES, "tl.gdcLaunchDependents();", "const result = values.mul(2);", STORE],
  ],
  ...Object.fromEntries(
    ["isCuda", "isHip", "isHipCdna3", "isHipCdna4", "isHipGfx1250"].map((name) => [
      name,
      target(`tl.targetInfo.${name}()`),
    ]),
  ),
  cudaCapabilityGeq: target("tl.targetInfo.cudaCapabilityGeq(9, 0)"),
  ...Object.fromEntries(
    ["numWarps", "numThreads", "hipNumWarps", "hipNumThreads"].map((name) => [name, constant(name)]),
  ),
  smid: query("smid", "int32"),
  hipSmid: query("hipSmid", "int32"),
  globaltimer: query("globaltimer", "int64"),
  memrealtime: query("memrealtime", "int64"),
  deviceAssert: elementwise('tl.deviceAssert(values.eq(values), "NaN");', "const result = values.mul(2);"),
  devicePrint: elementwise('tl.devicePrint("values", values);', "const result = values.mul(2);"),
  staticPrint: elementwise('tl.staticPrint("FLAG", FLAG);', "const result = values.mul(2);"),
  debugBarrier: elementwise("tl.debugBarrier();", "const result = values.mul(2);"),
  assume: elementwise("tl.assume(tl.programId(0).ge(0));", "const result = values.mul(2);"),
  softmax: elementwise("const result = tl.softmax(values);"),
  xorSum: [
    ["x: tensor(tl.int32, [8]),", "out: tensor.out(tl.int32, [1]),"],
    [VALUES, "tl.store(out.at(0), tl.xorSum(values, 0));"],
  ],
  nextPowerOf2: [
    [
      'x: tensor(tl.float32, ["N"]),',
      "out: tensor.out(tl.float32, [1]),",
      "BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),",
    ],
    ["const values = tl.load(x.at(tl.arange(0, BLOCK)), { other: 0 });", "tl.store(out.at(0), tl.sum(values, 0));"],
    ["grid: () => [1],", "requires: ({ N, BLOCK }) => [N.gt(0), BLOCK.ge(N)],", "config: {},"],
  ],
  bitLength: [
    [
      'x: tensor(tl.float32, ["N"]),',
      "out: tensor.out(tl.int32, [1]),",
      "BITS: constexpr.launch(({ N }) => tl.bitLength(N)),",
    ],
    ["tl.store(out.at(0), BITS);"],
  ],
  "x.gather": [
    ['x: tensor(tl.float32, ["N"]),', 'index: tensor(tl.int32, [8], { range: [0, "N"] }),', OUT],
    ["const rows = tl.load(index.at(tl.arange(0, 8)));", "const result = tl.load(x.gather(rows));", STORE],
    ["grid: () => [1],", "requires: ({ N }) => [N.gt(0)],", "config: {},"],
  ],
};

/** Ops that read or write blocks: each has `x`, `out` and a size that no block divides. */
const blockwise = (...body: readonly string[]): Written => [
  ['x: tensor(tl.float32, ["N"]),', 'out: tensor.out(tl.float32, ["N"]),', "BLOCK: constexpr(),"],
  ["const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));", ...body],
  ["grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],", "config: { BLOCK: 8 },"],
];
const rows = (...body: readonly string[]): Written => [
  ['x: tensor(tl.float32, ["M", 8]),', "out: tensor.out(tl.float32, [8]),"],
  body,
];
const STORE_SUM = "tl.store(out.at(tl.arange(0, 8)), sum.value);";
const ADD_ROW = "  sum.value = sum.value.add(tl.load(x.at(tl.inBounds(row), tl.arange(0, 8))));";
const control: Readonly<Record<string, Written>> = {
  load: blockwise("const values = tl.load(x.at(i), { other: 0 });", "tl.store(out.at(i), values);"),
  store: blockwise("tl.store(out.at(i), tl.load(x.at(i)).mul(2));"),
  at: blockwise("tl.store(out.at(i), tl.load(x.at(i)));"),
  staticAssert: blockwise('tl.staticAssert(BLOCK.ge(4), "too small");', "tl.store(out.at(i), tl.load(x.at(i)));"),
  when: blockwise(
    "const values = tl.load(x.at(i));",
    "const result = tl.when(tl.programId(0).eq(0), () => values.mul(2)).otherwise(() => values.add(1));",
    "tl.store(out.at(i), result);",
  ),
  exit: [
    ['x: tensor(tl.float32, ["M"]),', 'out: tensor.out(tl.float32, ["M"]),', "BLOCK: constexpr(),"],
    [
      "const start = tl.programId(0).mul(BLOCK);",
      "tl.when(start.ge(M), () => tl.exit());",
      "const i = start.add(tl.arange(0, BLOCK));",
      "tl.store(out.at(i), tl.load(x.at(i)));",
    ],
    ["grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK).add(1)],", "config: { BLOCK: 8 },"],
  ],
  mut: rows(
    "const sum = tl.mut(tl.zeros([8], tl.float32));",
    "for (const row of tl.range(0, M)) {",
    ADD_ROW,
    "}",
    STORE_SUM,
  ),
  range: rows(
    "const sum = tl.mut(tl.zeros([8], tl.float32));",
    "for (const row of tl.range(0, M)) {",
    ADD_ROW,
    "}",
    STORE_SUM,
  ),
  staticRange: elementwise(
    "const power = tl.mut(values);",
    "for (const _ of tl.staticRange(0, 3)) {",
    "  power.value = power.value.mul(values);",
    "}",
    "const result = power.value;",
  ),
  whileLoop: [
    ["n: scalar(tl.int32, { range: [1, 100] }),", "out: tensor.out(tl.int32, [1]),"],
    [
      "const steps = tl.mut(0);",
      "const left = tl.mut(n);",
      "tl.whileLoop(() => left.value.gt(1), () => {",
      "  left.value = left.value.floorDiv(2);",
      "  steps.value = steps.value.add(1);",
      "});",
      "tl.store(out.at(0), steps.value);",
    ],
  ],
};

/** The kernel file that shows an op. Undefined if a page without a kernel has to do. */
export function exampleOf(op: string): string | undefined {
  const own = written[op] ?? control[op];
  if (!own) {
    for (const sample of samplesOf(op)) {
      const text = sampleText(sample);
      if (text !== undefined) return text;
    }
    return undefined;
  }
  const [params, body, spec] = own;
  const flag = body.some((line) => /\bFLAG\b/.test(line)) ? ["FLAG: constexpr.bool(),"] : [];
  const all = [...params, ...flag];
  const sizes = body.some((line) => /\bM\b/.test(line)) ? ["M"] : [];
  const given = [...all.map((param) => param.split(":")[0]!), ...sizes];
  return kernelText(op, all, given, body, spec ?? (flag.length > 0 ? ["grid: () => [1],", "config: {},"] : undefined));
}

const samplesOf = (op: string): readonly Sample[] => samples.filter((sample) => sample.op === op);

/** Type combinations that Triton accepts, one for each combination of dtypes, and the messages on others. */
export function typesOf(op: string): { readonly calls: readonly TypedCall[]; readonly messages: readonly string[] } {
  const calls = new Map<string, TypedCall>();
  const messages = new Set<string>();
  for (const sample of samplesOf(op)) {
    for (const operands of sample.operands.split(" | ").map(operandsOf)) {
      const results = resultsOf(sample, operands);
      const key = operands.map(({ dtype, shape }) => `${dtype} ${shape.length}`).join();
      if (typeof results !== "string" && !calls.has(key)) calls.set(key, { operands, results });
    }
    if (messages.size < MAX_MESSAGES && !sample.whole)
      for (const operands of mistaken(operandsOf(sample.operands.split(" | ")[0]!))) {
        const results = resultsOf(sample, operands);
        if (typeof results === "string") messages.add(results);
      }
  }
  return { calls: [...calls.values()], messages: [...messages].slice(0, MAX_MESSAGES) };
}

const MAX_MESSAGES = 4;

/** The operands with another dtype or shape in one of them. */
function* mistaken(operands: readonly Operand[]): Iterable<readonly Operand[]> {
  for (const [i, operand] of operands.entries()) {
    const other = (change: Partial<Operand>): readonly Operand[] => operands.with(i, { ...operand, ...change });
    if (operands.length > 1) yield other({ shape: operand.shape.map((length) => 2 * length) });
    for (const dtype of ["int1", "float16", "float8e5", "int32", "float64"] satisfies DTypeName[])
      yield other({ dtype });
  }
}
