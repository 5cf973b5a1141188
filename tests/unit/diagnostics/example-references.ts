/**
 * What the mended examples of the catalog compute, in the words of PyTorch. Those that are not listed copy `x`.
 */
import type { DiagnosticCode } from "../../../src/diagnostics/catalog/index.js";

const INDEX = "torch.arange(N)";
const COPY = "({ x }) => x";
const DOUBLE = "({ x }) => x.mul(2)";
const LARGE = "({ x, N }, torch) => torch.where(torch.full([1], N).gt(100), x, 0)";
const UPDATED = "({ x, y }) => y.add(x.sum())";

const references: Readonly<Partial<Record<DiagnosticCode, string>>> = {
  "no-launch-cache": "({ N }, torch) => torch.ones([N])",
  "dtype-variable": "({ x, OUT }) => x.to(OUT)",
  "autotune-reset": "({ x, y }) => x.add(y)",
  "dot-size": "({ a, b }) => a.to(tl.float32).matmul(b.to(tl.float32))",
  "hidden-coercion": DOUBLE,
  "outer-assignment": "({ x }) => x.mul(4)",
  "branch-condition": "({ x }) => x.clamp({ min: 0 })",
  "branch-order": LARGE,
  "branch-values": LARGE,
  "changed-state": "({ x }) => x.mul(24)",
  "helper-argument": DOUBLE,
  "helper-capture": DOUBLE,
  "helper-result": DOUBLE,
  "operand-buffer": "({ a }) => ({ sums: a.to(tl.float32).sum(1), c: a.to(tl.float32).matmul(a.to(tl.float32).t()) })",
  recursion: "({ x }) => x.mul(0.25)",
  arguments: "({ x }) => x.clamp({ min: 0 })",
  "default-precision": "({ a, b }) => a.matmul(b)",
  "address-as-value": "({ x }) => x.exp()",
  "tensor-as-value": "({ x }) => x.exp()",
  "dot-operands": "({ x }) => x.mul(x)",
  "dtype-mismatch": "({ x, N }, torch) => x.to(tl.int32).add(torch.arange(N).to(tl.int32))",
  "dtype-unsupported": "({ x }) => x.to(tl.float32).exp()",
  "number-type": "({ x }) => x.to(tl.float32).mul(0.5).to(tl.int32)",
  "operand-kind": DOUBLE,
  "wrong-axis": "({ x }) => x.select(0, 0)",
  "extern-file": DOUBLE,
  "extern-meaning": DOUBLE,
  "extern-source": DOUBLE,
  "clamp-bounds": "({ x }) => x.clamp({ min: -1, max: 1 })",
  "lane-conflict": UPDATED,
  race: UPDATED,
  "non-finite": "({ x }) => x.mul(0)",
  "not-given": "({ x, z }) => z.add(x.otherwise(z.mul(0)))",
  "unknown-name": '({ x, N }, torch) => x.add(torch.arange(N).div(16, { rounding_mode: "floor" }))',
  division: '({ x, N }, torch) => x.div(torch.arange(N).clamp({ min: 1 }), { rounding_mode: "trunc" }).to(tl.int32)',
  overflow: `({ x, N }, torch) => torch.where(${INDEX}.eq(0), x, 0)`,
  uninitialized: `({ x, N }, torch) => torch.where(${INDEX}.lt(20), x, 0)`,
  "undefined-cast": "({ x }) => x.mul(1e9).clamp({ min: -128, max: 127 }).to(tl.int8)",
  "write-to-input": `({ x, N }, torch) => torch.where(${INDEX}.eq(0), 1, x)`,
  "waits-forever": "({ x, ready }) => ({ y: x, ready: ready.mul(0).add(7) })",
  "not-invariant": "({ x, N }, torch) => torch.zeros([N]).add(x.sum())",
  "not-proved": "({ x, ids }) => x.index_select(0, ids)",
};

/** Examples without a reference: no call of PyTorch computes what they show, or no kernel is shown alone. */
export const withoutReference: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  // The elements of one input at the places of another, of other sizes.
  "param-partition",
  "optional-dim",
  "coercion",
  // Blocks of a config, the last iteration of a loop, an earlier row.
  "state-type",
  "unordered-lanes",
  "index-beside-nan",
  "endless-loop",
  "pipelined-load",
  // Shifts that wrap.
  "shift-amount",
  // Nothing is evaluated.
  "unknown-effect",
  "operator-gradient",
  // Whole files: constants, and operators of a kernel.
  "missing-part",
  "python-name",
  "kernel-call",
  "operator-alias",
  "operator-kernels",
  "operator-params",
  "operator-result",
]);

/** The reference of a mended example. */
export const referenceOf = (code: DiagnosticCode): string | undefined =>
  withoutReference.has(code) ? undefined : (references[code] ?? COPY);
