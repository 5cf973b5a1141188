/** The program in which the mistakes stand. */
export const imports = `import { constexpr, kernel, libdevice, NDArray, op, pointer, scalar, tensor, tl, type Dim, type Tile } from "tilescript";`;

/** The kernel in whose body every line stands, up to that line. */
export const setting = `const T = tl.dtype("T", [tl.float16, tl.float32]);
const H = tl.dtype("H", [tl.float16, tl.bfloat16]);

kernel(
  "setting",
  {
    params: {
      a: tensor(tl.float16, ["M", "K"]),
      b: tensor(tl.float16, ["K", "N"]),
      c: tensor.out(tl.float16, ["M", "N"]),
      total: tensor.inout(tl.float32, ["M", "N"]),
      ids: tensor.inout(tl.int32, ["M"]),
      bytes: tensor(tl.uint8, ["M"]),
      t: tensor(T, ["M"]),
      h: tensor(H, ["M"]),
      p: pointer(tl.float32),
      scale: scalar(tl.float32),
      CAUSAL: constexpr.bool(),
      EPS: constexpr.float(),
      ACTIVATION: constexpr.string(["relu", "gelu"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    config: { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32 },
  },
  ({ a, b, c, total, ids, bytes, t, h, p, scale, M, K, CAUSAL, EPS, ACTIVATION, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const rm = tl.arange(0, BLOCK_M);
    const rn = tl.arange(0, BLOCK_N);
    const rk = tl.arange(0, BLOCK_K);
    const x = tl.load(a.at(rm, rk)); // float16
    const y = tl.load(b.at(rk, rn)); // float16
    const f = tl.dot(x, y); // float32
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    const inside = rm.lt(M); // int1
    const u = tl.load(bytes.at(rm)); // uint8
    const v = tl.load(t.at(rm)); // T
    const w = tl.load(h.at(rm)); // H`;

/** Closes the setting. */
export const settingEnd = `  },
);

const softmax = kernel(
  "softmax",
  {
    params: {
      x: tensor(tl.float16, ["M", "N"]),
      scales: tensor(tl.float32, ["M"]),
      y: tensor.out(tl.float16, ["M", "N"]),
      alpha: scalar(tl.float32),
      CAUSAL: constexpr.bool(),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 64 },
  },
  () => {},
);
const x = NDArray.randn([4, 8], tl.float16);
const scales = new Float32Array(4);`;
