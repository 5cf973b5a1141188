/** Examples of `finding-codes.ts` and `command-codes.ts`. */
import type { Explanation } from "./explanation.js";

const run = { sizes: { N: 40 } };
const CONTIGUOUS = `x: tensor(tl.float32, ["N"], { contiguous: true }), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`;
const INTEGERS = `x: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr()`;
const PLACES = `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.int32, [1]), BLOCK: constexpr()`;
const ROUNDED = `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.int8, ["N"]), BLOCK: constexpr()`;
const SUM = `x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, [1]), BLOCK: constexpr()`;

export const findings = {
  "clamp-bounds": {
    meaning: "The result of `tl.clamp` is undefined if its minimum is greater than its maximum.",
    message:
      "tl.clamp has the bounds 1 and -1: the result differs from device to device; the first must not be above the second; line 12 uses it (and 39 more like it)",
    failing: { body: "tl.store(y.at(i), tl.clamp(tl.load(x.at(i)), 1, -1));" },
    passing: { body: "tl.store(y.at(i), tl.clamp(tl.load(x.at(i)), -1, 1));" },
    run,
  },
  division: {
    meaning:
      "An integer is divided by 0, or an address, a mask or a bound depends on a quotient whose divisor is not positive.",
    message: "the divisor is 0 (and 47 more like it)",
    failing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).floorDiv(i.sub(i)));" },
    passing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).floorDiv(tl.maximum(i, 1)));" },
    run,
  },
  "failed-assert": {
    meaning: "An assertion of the kernel is false.",
    message: "the assertion fails: inside (and 7 more like it)",
    failing: { body: 'tl.deviceAssert(i.lt(N), "inside");\ntl.store(y.at(i), tl.load(x.at(i)));' },
    passing: { body: 'tl.deviceAssert(i.ge(0), "inside");\ntl.store(y.at(i), tl.load(x.at(i)));' },
    run,
  },
  "false-assume": {
    meaning: "The condition of a `tl.assume` is false, although the compiler relies on it.",
    message: "the assumption is false (and 2 more like it)",
    failing: { body: "tl.assume(N.gt(100));\ntl.store(y.at(i), tl.load(x.at(i)));" },
    passing: { body: "tl.assume(N.gt(0));\ntl.store(y.at(i), tl.load(x.at(i)));" },
    run,
  },
  "false-hint": {
    meaning:
      "A hint about values is false, so the compiled kernel may access the wrong elements. A loop may also have more iterations than its `most`, so its cost estimate is too low.",
    message: "multipleOf claims that it is a multiple of 16, which is false (and 2 more like it)",
    failing: { body: "const j = tl.multipleOf(i.add(1), [16]);\ntl.store(y.at(i), tl.load(x.at(j)));" },
    passing: { body: "const j = tl.multipleOf(i, [16]);\ntl.store(y.at(i), tl.load(x.at(j)));" },
    run,
  },
  "false-in-bounds": {
    meaning: "A `tl.inBounds` index is out of bounds, and the view does not mask it.",
    message:
      "tl.inBounds is false: index 40 on axis 0 of x, whose size there is 40; leave tl.inBounds out, so that the view masks it (and 7 more like it)",
    failing: { body: "tl.store(y.at(i), tl.load(x.at(tl.inBounds(i))));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
    run,
  },
  "gather-index": {
    meaning: "The index of a `tl.gather` is outside its tile.",
    message: "the index is outside the axis, which has 16 elements (and 32 more like it)",
    failing: { body: "tl.store(y.at(i), tl.gather(tl.load(x.at(i)), i.add(1), 0));" },
    passing: { body: "tl.store(y.at(i), tl.gather(tl.load(x.at(i)), i.mod(BLOCK), 0));" },
    run,
  },
  "index-beside-nan": {
    meaning:
      "A NaN is neither greater nor less than a number. If a NaN is among the elements, the result of `tl.argmax` and similar ops depends on the order of comparisons, and therefore on the device.",
    message:
      "tl.argmax compares a NaN, so its result depends on the order of the comparisons and differs from device to device; replace NaN first: tl.where(x.eq(x), x, -Infinity); line 14 uses it",
    failing: {
      params: PLACES,
      grid: "() => [1]",
      spec: "requires: ({ N, BLOCK }) => [N.ge(BLOCK)],",
      body: "const v = tl.load(x.at(i));\ntl.store(y.at(tl.programId(0)), tl.argmax(tl.sqrt(v), 0));",
    },
    passing: {
      params: PLACES,
      grid: "() => [1]",
      spec: "requires: ({ N, BLOCK }) => [N.ge(BLOCK)],",
      body: "const v = tl.sqrt(tl.load(x.at(i)));\ntl.store(y.at(tl.programId(0)), tl.argmax(tl.where(v.eq(v), v, -Infinity), 0));",
    },
    run,
  },
  "lane-conflict": {
    meaning: "Two lanes of one store write different values to the same element.",
    message:
      "y[0] gets -1.9425969123840332 from this lane and -1.2546682357788086 from lane (15) of the same store, and which of them remains is undefined; mask all lanes but one, reduce them first, or use an atomic",
    failing: {
      grid: "() => [1]",
      params: SUM,
      body: "tl.store(y.at(i.mul(0)), tl.load(x.at(i)));",
    },
    passing: { params: SUM, body: "tl.atomicAdd(y.ptr, tl.sum(tl.load(x.at(i)), 0));" },
    run,
  },
  lowering: {
    meaning:
      "The emitted form of the kernel computes another result than the author's form. This is a bug in TileScript.",
    message:
      "y[0] is 1 in the author's form and 2 in the emitted form; TileScript lowers this kernel wrongly: please report it",
    command: "npx tilescript run kernel.ts --device eval",
    remedy: "npx tilescript emit kernel.ts",
  },
  misaligned: {
    meaning: "The hardware loads and stores blocks of a descriptor in units of 16 bytes.",
    message:
      "the last offset is 1, which is 4 bytes; in x a block starts at a multiple of 16 bytes (and 2 more like it)",
    failing: {
      params: `x: descriptor(tl.float32, ["N"], ["BLOCK"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK).add(1)]));",
    },
    passing: {
      params: `x: descriptor(tl.float32, ["N"], ["BLOCK"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK)]));",
    },
    run,
  },
  "narrow-rounding": {
    meaning:
      "A statement rounds to a less precise dtype than the inputs, the outputs and the reference, or accumulates in less than float32, and the author did not declare it. Such a rounding does not widen the tolerance. The case fails even if its numbers are close.",
    message:
      ".to rounds to tl.bfloat16, a dtype of no input or output and of no cast in the reference; compute in tl.float32, let the reference cast to tl.bfloat16 too, or declare it: tolerance: { y: { rtol: …, rms: … } }",
    failing: {
      spec: "reference: ({ x }) => x.mul(2),",
      body: "const v = tl.load(x.at(i)).to(tl.bfloat16);\ntl.store(y.at(i), v.to(tl.float32).mul(2));",
    },
    passing: {
      spec: "reference: ({ x }) => x.to(tl.bfloat16).mul(2),",
      body: "const v = tl.load(x.at(i)).to(tl.bfloat16);\ntl.store(y.at(i), v.to(tl.float32).mul(2));",
    },
    run,
  },
  "negative-division": {
    meaning:
      "Integer division of a negative number truncates in Triton and rounds down in Python, and an address depends on it.",
    message:
      "-39 % 40 is -39 in Triton, which truncates toward zero as C does, and 1 in Python; an address or a mask depends on it: keep the dividend from being negative, by adding a multiple of the divisor first (and 2 more like it)",
    failing: {
      spec: "requires: ({ N }) => [N.le(2 ** 28)],",
      body: "tl.store(y.at(i), tl.load(x.at(i.sub(N).mod(N))));",
    },
    passing: {
      spec: "requires: ({ N }) => [N.le(2 ** 28)],",
      body: "tl.store(y.at(i), tl.load(x.at(i.add(N).mod(N))));",
    },
    run,
  },
  "never-written": {
    meaning: "No program writes some elements of an output.",
    message:
      "24 of 40 elements of y are never written, the first is y[16] (the grid is [1]); let the grid and the blocks cover it, or let the mask keep its lane",
    failing: { grid: "() => [1]" },
    passing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
    run,
  },
  "non-finite": {
    meaning: "An op produces a NaN or an infinity from finite numbers. `--non-finite` enables this check.",
    message:
      "tl.log makes a negative infinity where x = 0; keep its operands from it, or mask the lane (and 2 more like it)",
    failing: { body: "tl.store(y.at(i), tl.log(tl.load(x.at(i)).mul(0)));" },
    passing: { body: "tl.store(y.at(i), tl.log(tl.load(x.at(i)).mul(0).add(1)));" },
    run: { ...run, nonFinite: true },
  },
  "out-of-bounds": {
    meaning: "A lane accesses an element outside the tensor. Pointers are not masked automatically.",
    message:
      "element 40 of x is read, but shape [40] and strides [1] have no such element; mask this lane (and 7 more like it)",
    failing: { params: CONTIGUOUS, body: "tl.store(y.at(i), tl.load(x.ptr.add(i)));" },
    passing: { params: CONTIGUOUS, body: "tl.store(y.at(i), tl.load(x.ptr.add(i), { mask: i.lt(N), other: 0 }));" },
    run,
  },
  overflow: {
    meaning: "An integer that affects an address or a mask overflows its dtype.",
    message:
      "3 * 1000000000 is 3000000000, which wraps to -1294967296 in int32, and an address or a mask depends on it; cast an operand to tl.int64 first, or let a view of a tensor declared { offsets: tl.int64 } compute the address (and 2 more like it)",
    failing: { body: "tl.store(y.at(i), tl.load(x.at(i.mul(1000000000))));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i.to(tl.int64).mul(1000000000))));" },
    run,
  },
  race: {
    meaning:
      "Two programs access one element, at least one of them writes it, and no synchronization orders the accesses.",
    message: "y[0] is read here and written by program (0); nothing orders the two (and 1 more like it)",
    failing: { params: SUM, body: "tl.store(y.at(0), tl.load(y.at(0)).add(tl.sum(tl.load(x.at(i)), 0)));" },
    passing: { params: SUM, body: "tl.atomicAdd(y.ptr, tl.sum(tl.load(x.at(i)), 0));" },
    run,
  },
  "shift-amount": {
    meaning: "A shift by a negative number, or by at least as many bits as the dtype has, is undefined.",
    message: "shifts int32 by 32; it has 32 bits (and 47 more like it)",
    failing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).shl(i.add(32)));" },
    passing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).shl(i.mod(32)));" },
    run,
  },
  "undefined-cast": {
    meaning:
      "A float is cast to an integer or an 8-bit float that cannot represent it. For integers, NVIDIA returns the nearest bound, and 0 for NaN; other devices differ. For 8-bit floats, NVIDIA GPUs since sm_89 return the largest number; others return infinity or NaN.",
    message:
      "-1942596864 is cast to int8, which cannot represent it: the result differs from device to device; clamp it first: tl.clamp(x, -128, 127); line 12 uses it (and 39 more like it)",
    failing: { params: ROUNDED, body: "tl.store(y.at(i), tl.load(x.at(i)).mul(1e9).to(tl.int8));" },
    passing: {
      params: ROUNDED,
      body: "tl.store(y.at(i), tl.clamp(tl.load(x.at(i)).mul(1e9), -128, 127).to(tl.int8));",
    },
    run,
  },
  uninitialized: {
    meaning:
      "A result or an address depends on an undefined value: a masked load without `other`, or memory that no program has written.",
    message:
      "y[20] gets the value of a lane without a defined value; load it with other, or mask this store; the load in line 13 left it unset (and 19 more like it)",
    failing: {
      params: CONTIGUOUS,
      spec: "requires: ({ N }) => [N.ge(20)],",
      body: "tl.store(y.at(i), tl.load(x.ptr.add(i), { mask: i.lt(20) }));",
    },
    passing: {
      params: CONTIGUOUS,
      spec: "requires: ({ N }) => [N.ge(20)],",
      body: "tl.store(y.at(i), tl.load(x.ptr.add(i), { mask: i.lt(20), other: 0 }));",
    },
    run,
  },
  "unordered-lanes": {
    meaning:
      "A lane loads or overwrites an element that another lane of the same program accessed before. Triton distributes lanes among threads, and only a barrier synchronizes them.",
    message:
      "y[15] is read here and was written before by lane (15) of a [16] tile of the same program: put tl.debugBarrier() between the two; on a GPU nothing else makes their threads wait for each other (and 39 more like it)",
    failing: {
      body: "const j = tl.programId(0).mul(BLOCK).add(BLOCK.sub(1)).sub(tl.arange(0, BLOCK));\ntl.store(y.at(i), tl.load(x.at(i)));\nconst other = tl.load(y.at(j));\ntl.store(y.at(i), other);",
    },
    passing: {
      body: "const j = tl.programId(0).mul(BLOCK).add(BLOCK.sub(1)).sub(tl.arange(0, BLOCK));\ntl.store(y.at(i), tl.load(x.at(i)));\ntl.debugBarrier();\nconst other = tl.load(y.at(j));\ntl.debugBarrier();\ntl.store(y.at(i), other);",
    },
    run,
  },
  "waits-forever": {
    meaning:
      "A program waits for memory that no earlier program changes. A GPU may run programs one after another, and the wait then never ends.",
    message:
      "this waits for ready[0] to be 7, and no program before this one writes that; programs may run one after another (and 2 more like it)",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), ready: tensor.inout(tl.int32, [1], { range: [0, 1] }), BLOCK: constexpr()`,
      names: "x, y, ready, BLOCK",
      spec: 'triton: "3.9",',
      body: "tl.atomicPoll(ready.ptr, 7);\ntl.store(y.at(i), tl.load(x.at(i)));",
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), ready: tensor.inout(tl.int32, [1], { range: [0, 1] }), BLOCK: constexpr()`,
      names: "x, y, ready, BLOCK",
      spec: 'triton: "3.9",',
      body: "tl.atomicXchg(ready.ptr, 7);\ntl.atomicPoll(ready.ptr, 7);\ntl.store(y.at(i), tl.load(x.at(i)));",
    },
    run,
  },
  "write-to-input": {
    meaning: "The kernel writes an input through a computed pointer, which the types cannot detect.",
    message: "x is an input and is written; declare it tensor.out(…) or tensor.inout(…)",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), BLOCK: constexpr()`,
      grid: "() => [1]",
      names: "x",
      body: "const address = x.ptr.to(tl.int64);\ntl.store(address.toPointer(tl.float32), 1);",
    },
    passing: {
      params: `x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()`,
      grid: "() => [1]",
      names: "x",
      body: "tl.store(x.at(0), 1);",
    },
    run,
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const proofs = {
  "no-launch": {
    meaning:
      "No sizes satisfy all requirements of the kernel, or of one of its configs. A proof about no launches would be vacuous. This is a warning if other configs have launches. A declared shape that no config accepts is an error, because nothing would be verified there.",
    message:
      "no launch of example satisfies the requirements of line 9, so nothing about it is proved; change a requirement or the config",
    failing: {
      spec: "requires: ({ N, BLOCK }) => [N.gt(100), N.lt(BLOCK)],",
    },
    passing: {
      spec: "requires: ({ N }) => [N.gt(100)],",
    },
    run: { proof: true },
  },
  "unreached-access": {
    meaning:
      "The conditions around an access, or its mask, are false in every launch of every config. A proof about an access that never runs would be vacuous.",
    message: "no launch reaches the store to y; change the condition or the mask that excludes it, or leave it out",
    failing: { body: "tl.when(N.lt(0), () => tl.store(y.at(i), 0));\ntl.store(y.at(i), tl.load(x.at(i)));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
    run: { proof: true },
  },
  "not-invariant": {
    meaning:
      "`invariant` lists sizes on which the bits of an element must not depend. A dependence has one of three causes. The autotuner's key contains the size, so another config may sum in another order. A value, a number of iterations or the size of a tile is computed from the size. An element reads other rows. `tilescript check --invariance` reports the dependences on all sizes.",
    message:
      "invariant names N, but the bits of y depend on it: the number of iterations of a loop depends on N; compute it from constexprs of the config in place of N",
    failing: {
      params: `x: tensor(tl.float32, ["K"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, y, N, K, BLOCK",
      spec: 'invariant: ["N"],',
      body: "const total = tl.mut(tl.zeros([BLOCK], tl.float32));\nfor (const k of tl.range(0, tl.minimum(N, K))) total.value = total.value.add(tl.load(x.at(k)));\ntl.store(y.at(i), total.value);",
    },
    passing: {
      params: `x: tensor(tl.float32, ["K"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, y, N, K, BLOCK",
      spec: 'invariant: ["N"],',
      body: "const total = tl.mut(tl.zeros([BLOCK], tl.float32));\nfor (const k of tl.range(0, K)) total.value = total.value.add(tl.load(x.at(k)));\ntl.store(y.at(i), total.value);",
    },
    run: { proof: true },
  },
  "wrong-output": {
    meaning:
      "`tilescript check --computes` compares each output with its reference, and `--against` compares it with another kernel's. It found a test case in which they differ although every float has 64 bits, so rounding is not the reason. The evaluator generates the inputs from the case's seed.",
    message:
      "y[0] is 0.0574030876159668 where the reference gives -3.8851938247680664, with every float in float64; a case: N=1, config 0; correct the kernel or the reference",
    failing: {
      spec: "reference: ({ x }) => x.mul(2),",
      body: "tl.store(y.at(i), tl.load(x.at(i)).add(2));",
    },
    passing: {
      spec: "reference: ({ x }) => x.mul(2),",
      body: "tl.store(y.at(i), tl.load(x.at(i)).mul(2));",
    },
    run: { proof: true },
  },
  "unproved-barriers": {
    meaning:
      "No proof shows that the partitions of the warp-specialized kernel use their shared memory in order, so TileScript does not emit the kernel. This is a bug in TileScript.",
    message:
      'the barriers of the warp-specialized gemm are not proved: deadlock: the producer waits forever for emptied; report this mistake of TileScript, and write warpSpecialize: "never" until it is corrected',
    command: "npx tilescript check kernel.ts",
    remedy: "npx tilescript emit kernel.ts --warp-specialize never",
  },
  "not-proved": {
    meaning:
      "`tilescript check` found neither a proof that the access is correct for all shapes and configs, nor a counterexample. The evaluator still checks every test case that runs.",
    message:
      'the load from x is not proved for all shapes: tl.inBounds says that the index on axis 0 of x is not negative; it depends on what ids holds; with `range: [0, "N"]` as an option of ids it is proved',
    failing: {
      params: `x: tensor(tl.float32, ["N"]), ids: tensor(tl.int32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, ids, y, BLOCK",
      body: "const id = tl.load(ids.at(i));\ntl.store(y.at(i), tl.load(x.at(tl.inBounds(id))));",
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), ids: tensor(tl.int32, ["N"], { range: [0, "N"] }), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, ids, y, BLOCK",
      body: "const id = tl.load(ids.at(i));\ntl.store(y.at(i), tl.load(x.at(tl.inBounds(id))));",
    },
    run: { proof: true },
  },
} as const satisfies Record<string, Explanation>;

export const commands = {
  "compile-error": {
    meaning: "Triton does not compile the kernel for a target. The message is Triton's, at your line.",
    message: "example: it does not compile: … (cuda:90, config 0)",
    command: "npx tilescript compile kernel.ts --targets cuda:90",
    remedy: "npx tilescript emit kernel.ts",
  },
  "compile-miscompiled": {
    meaning:
      "The machine code reads a register that no instruction has written. This is a fault of ptxas, which other configs may avoid.",
    message: "example: … (cuda:90, config 0); use another config",
    command: "npx tilescript compile kernel.ts --targets cuda:90",
    remedy: "config: { BLOCK: 32 }",
  },
  "compile-resources": {
    meaning:
      "A program of this config needs more shared memory, tensor memory or registers than the target has. This is a warning if another config fits the target, because Triton's autotuner uses that one.",
    message:
      "example: it takes 262144 bytes of shared memory, and a program may have 232448 (cuda:90, config 0); make the blocks smaller or lower numStages",
    command: "npx tilescript compile kernel.ts --targets cuda:90",
    remedy: 'autotune: { key: ["N"], configs: [{ BLOCK: 64, numStages: 2 }] }',
  },
  "other-target": {
    meaning:
      "The kernel's spec lists targets, and this GPU is not among them. Nothing was compiled for it. This is a warning if the kernel supports another of the given targets.",
    message:
      "example: not run for cuda:80, as the kernel is for sm_90 and later: it waits for the kernel before it; compile it for those, or change targets in its spec",
    command: "npx tilescript compile kernel.ts --targets cuda:80",
    remedy: "npx tilescript compile kernel.ts --targets cuda:90",
  },
  "compile-spill": {
    meaning: "A config needs more registers than a thread has. Values spill to memory, and the kernel is slower.",
    message:
      "example: registers do not suffice: a thread keeps 128 bytes in memory (cuda:90, config 0); make the blocks smaller, raise numWarps or lower numStages",
    command: "npx tilescript compile kernel.ts --targets cuda:90",
    remedy: 'autotune: { key: ["N"], configs: [{ BLOCK: 64, numWarps: 8 }] }',
  },
  environment: {
    meaning:
      "The machine lacks a requirement: a Python with torch and triton, a GPU, or disk space. The exit code is 3.",
    message:
      "no usable Python (/missing/python (--python): there is no such file); name another, or none to let it be found",
    command: "npx tilescript run kernel.ts --python /missing/python",
    remedy: "npx tilescript doctor",
  },
  exception: {
    meaning: "The kernel file threw an exception while it was loaded.",
    message: "Error: not yet",
    file: 'throw new Error("not yet");\n',
    command: "npx tilescript check kernel.ts",
    remedy:
      "The message starts with the line that threw, such as `kernel.ts:1:7`, and shows it: correct that line. `--verbose` prints the stack, too.",
  },
  import: {
    meaning: "The kernel file imports a module or a name that does not exist.",
    message: "there is no missing.js; check the path",
    file: 'import "./missing.js";\n',
    command: "npx tilescript check kernel.ts",
    remedy: "Correct the path, or install the package.",
  },
  "kernel-file": {
    meaning: "A kernel file ended the process, or awaits a promise that never settles.",
    message: "a kernel file ended the process; leave process.exit to other files",
    file: "process.exit();\n",
    command: "npx tilescript check kernel.ts",
    remedy: "Export kernels, and do other work in other files.",
  },
  syntax: {
    meaning: "The kernel file is not valid TypeScript.",
    message: 'Expected ")" but found ";"',
    file: "export const x = (1;\n",
    command: "npx tilescript check kernel.ts",
    remedy: "Correct the line that the message names.",
  },
  usage: {
    meaning: "The command line has an unknown command, option or value. The exit code is 2.",
    message: "unknown option '--devise'; did you mean --device?",
    command: "npx tilescript run kernel.ts --devise cuda",
    remedy: "npx tilescript run --help",
  },
} as const satisfies Readonly<Record<string, Explanation>>;
