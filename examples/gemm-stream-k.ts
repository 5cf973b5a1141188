/**
 * Stream-K matrix product. The blocks of a result rarely divide evenly among the multiprocessors: 144 blocks on 132 of
 * them take two rounds, and the second leaves 120 idle. So the work is divided by steps along K instead: all steps of
 * all blocks stand in one line, and each program takes an equal share of that line, which may begin and end inside a
 * block. A block that several programs share comes in pieces; a second kernel adds them in the order of K, so that the
 * result is the same in every run. Atomic additions would need no second kernel, but take any order, and float32.
 *
 * After Osama et al., Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU.
 */
import { kernel, main, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/** Both kernels divide the work by these blocks. */
const BLOCK_M = 128;
const BLOCK_N = 128;
const BLOCK_K = 64;
const GROUP_M = 8;
/** As many programs as an H200 has multiprocessors. */
const PROGRAMS = 132;
/** Rows of a block that one program of the second kernel adds up. */
const ROWS = 32;

/** Programs count the steps of all blocks in int32. As no tensor is longer than int32 reaches, there are fewer. */
const MAX_STEPS = 2 ** 30;
/** Rounded up to whole steps, it is an int32 too. */
const MAX_K = 2 ** 31 - BLOCK_K;

/** A program has two slots: for a block that another began, and for a block that another ends. */
const pieces = tensor.inout(tl.float32, ["PROGRAMS", 2, BLOCK_M, BLOCK_N]);
const [CONTINUED, BEGUN] = [0, 1];

const streamedProducts = kernel(
  "streamed_products",
  {
    doc: "Blocks of A @ B, each in as many pieces as there are programs that share it; whole ones go to c.",
    params: { a: tensor(T, ["M", "K"]), b: tensor(T, ["K", "N"]), c: tensor.inout(T, ["M", "N"]), pieces },
    grid: ({ PROGRAMS }) => [PROGRAMS],
    requires: ({ M, N, K, PROGRAMS }) => [
      K.ge(1),
      PROGRAMS.ge(1),
      tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N)).mul(tl.cdiv(K, BLOCK_K)).le(MAX_STEPS),
    ],
    autotune: {
      key: ["M", "N", "K"],
      restoreValue: ["c", "pieces"],
      configs: [
        { numWarps: 8, numStages: 3 },
        { numWarps: 8, numStages: 4 },
        { numWarps: 4, numStages: 4 },
      ],
    },
    shapes: [{ M: 1536, N: 1536, K: 8192, PROGRAMS }],
  },
  ({ a, b, c, pieces, M, N, K, PROGRAMS }) => {
    const program = tl.inBounds(tl.programId(0));
    const [rows, cols] = [tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)];
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const steps = tl.cdiv(K, BLOCK_K);
    const allSteps = numPidM.mul(numPidN).mul(steps);
    const share = tl.cdiv(allSteps, PROGRAMS);
    const first = program.mul(share);
    const last = tl.minimum(first.add(share), allSteps);
    for (const tile of tl.range(first.floorDiv(steps), tl.cdiv(last, steps))) {
      const begin = tl.maximum(first.sub(tile.mul(steps)), 0);
      const end = tl.minimum(last.sub(tile.mul(steps)), steps);
      // Grouped order: programs that run at one time share rows of A in L2.
      const [pidM, pidN] = tl.swizzle2d(tile.floorDiv(numPidN), tile.mod(numPidN), numPidM, numPidN, GROUP_M);
      const rm = pidM.mul(BLOCK_M).add(rows);
      const rn = pidN.mul(BLOCK_N).add(cols);
      // Rows and columns wrap instead of being masked inside the loop; what is stored to c is masked.
      const am = tl.inBounds(rm.mod(M));
      const bn = tl.inBounds(rn.mod(N));
      const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
      for (const k of tl.range(begin.mul(BLOCK_K), end.mul(BLOCK_K), BLOCK_K)) {
        // K's tail is masked and holds 0.
        const rk = k.add(tl.arange(0, BLOCK_K));
        acc.value = tl.dot(tl.load(a.at(am, rk)), tl.load(b.at(rk, bn)), acc.value);
      }
      tl.when(end.sub(begin).eq(steps), () => {
        tl.store(c.at(rm, rn), acc.value.to(T));
      }).otherwise(() => {
        const slot = tl.inBounds(tl.where(begin.eq(0), BEGUN, CONTINUED));
        tl.store(pieces.at(program, slot, rows, cols), acc.value);
      });
    }
  },
);

const sumOfPieces = kernel(
  "sum_of_pieces",
  {
    doc: "The sum of the pieces of each block that several programs share, from the first of K to the last.",
    params: { pieces, c: tensor.inout(T, ["M", "N"]), k: scalar(tl.int32, { range: [1, MAX_K] }) },
    grid: ({ M, N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N)), BLOCK_M / ROWS],
    requires: ({ M, N, k, PROGRAMS }) => [
      PROGRAMS.ge(1),
      tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N)).mul(tl.cdiv(k, BLOCK_K)).le(MAX_STEPS),
    ],
    config: { numWarps: 4 },
    shapes: [{ M: 1536, N: 1536, k: 8192, PROGRAMS }],
  },
  ({ pieces, c, k, M, N, PROGRAMS }) => {
    const tile = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const steps = tl.cdiv(k, BLOCK_K);
    const share = tl.cdiv(numPidM.mul(numPidN).mul(steps), PROGRAMS);
    // The programs that have the first and the last step of the block.
    const first = tile.mul(steps).floorDiv(share);
    const last = tile.add(1).mul(steps).sub(1).floorDiv(share);
    tl.when(first.lt(last), () => {
      const rows = tl.inBounds(tl.programId(1).mul(ROWS).add(tl.arange(0, ROWS)));
      const cols = tl.arange(0, BLOCK_N);
      const total = tl.mut(tl.zeros([ROWS, BLOCK_N], tl.float32));
      for (const p of tl.range(first, last.add(1))) {
        const slot = tl.inBounds(tl.where(p.eq(first), BEGUN, CONTINUED));
        total.value = total.value.add(tl.load(pieces.at(tl.inBounds(p), slot, rows, cols)));
      }
      const [pidM, pidN] = tl.swizzle2d(tile.floorDiv(numPidN), tile.mod(numPidN), numPidM, numPidN, GROUP_M);
      tl.store(c.at(pidM.mul(BLOCK_M).add(rows), pidN.mul(BLOCK_N).add(cols)), total.value.to(T));
    });
  },
);

export const gemmStreamK = op(
  "gemm_stream_k",
  {
    doc: "C = A @ B, accumulated in float32 in a fixed order, with the same work for each multiprocessor.",
    params: { a: tensor(T, ["M", "K"]), b: tensor(T, ["K", "N"]), c: tensor.out(T, ["M", "N"]) },
    reference: ({ a, b }, torch) => torch.matmul(a, b),
    shapes: [
      { M: 400, N: 300, K: 900 },
      { M: 1536, N: 1536, K: 8192 },
    ],
  },
  ({ a, b, M, N, K }, torch) => {
    const c = torch.empty([M, N], { dtype: T });
    const pieces = torch.empty([PROGRAMS, 2, BLOCK_M, BLOCK_N], { dtype: tl.float32 });
    streamedProducts.call({ a, b, c, pieces });
    sumOfPieces.call({ pieces, c, k: K });
    return { c };
  },
);

main(import.meta, gemmStreamK);
