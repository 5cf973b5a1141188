/** The forward pass of row-wise LayerNorm, as a separate kernel that can be tuned. */
import { constexpr, kernel, main, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const layerNormRows = kernel(
  "layer_norm_rows",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]),
      y: tensor.out(T, ["M", "N"]),
      eps: scalar(tl.float32, { default: 1e-5 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }] },
    reference: ({ x, weight, bias, eps, N }, torch) => torch.nn.functional.layer_norm(x, [N], weight, bias, eps),
    shapes: [{ M: 4096, N: 8192 }],
  },
  ({ x, weight, bias, y, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const values = tl.load(x.at(row, cols), { other: 0 }).to(tl.float32);
    const average = tl.sum(values, 0).div(N.to(tl.float32));
    const centered = tl.where(cols.lt(N), values.sub(average), 0);
    const variance = tl.sum(centered.mul(centered), 0).div(N.to(tl.float32));
    const scaled = centered.mul(tl.rsqrt(variance.add(eps)));
    const [w, b] = [tl.load(weight.at(cols)).to(tl.float32), tl.load(bias.at(cols)).to(tl.float32)];
    tl.store(y.at(row, cols), scaled.mul(w).add(b).to(T));
  },
);

main(import.meta, layerNormRows);
