/**
 * Activations as 8-bit floats with a scale for each group of a row's columns. A group need not have a power of two of
 * columns, so a block has lanes behind it.
 */
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const groupQuant = kernel(
  "group_quant",
  {
    doc: "Each group of columns divided by its own scale, so that its largest value is the largest float8e4nv.",
    params: {
      x: tensor(T, ["M", "N"]),
      q: tensor.out(tl.float8e4nv, ["M", "N"]),
      s: tensor.out(tl.float32, ["M", "G"]),
      eps: scalar(tl.float32),
      GROUP: constexpr.int(),
      BLOCK: constexpr.launch(({ GROUP }) => tl.nextPowerOf2(GROUP)),
    },
    dims: { G: ({ N, GROUP }) => N.floorDiv(GROUP) },
    grid: ({ M, G }) => [M.mul(G)],
    requires: ({ N, GROUP }) => [GROUP.ge(1), N.mod(GROUP).eq(0)],
    config: { numWarps: 1, numStages: 1 },
    reference: ({ x, eps, M, N, G, GROUP }) => {
      const groups = x.reshape(M, G, GROUP);
      const s = groups.abs().amax(2).clamp(eps).div(448);
      return [groups.div(s.unsqueeze(2)).reshape(M, N), s];
    },
    shapes: [{ M: 7, N: 384, GROUP: 128, eps: 1e-10 }],
  },
  ({ x, q, s, eps, G, GROUP, BLOCK }) => {
    const pid = tl.programId(0);
    const row = pid.floorDiv(G);
    const group = pid.mod(G);
    const lanes = tl.arange(0, BLOCK);
    const cols = group.mul(GROUP).add(lanes);
    const mask = lanes.lt(GROUP);
    const values = tl.load(x.at(row, cols), { mask, other: 0 }).to(tl.float32);
    const scale = tl.maximum(tl.max(tl.abs(values), 0), eps).div(448);
    const scaled = tl.clamp(values.div(scale), -448, 448);
    tl.store(q.at(row, cols), scaled.to(tl.float8e4nv), { mask });
    tl.store(s.at(row, group), scale);
  },
);
