/** Rotary position embedding of queries or keys, with its gradient: the rotation by the opposite angle. */
import { constexpr, kernel, main, op, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const heads = tensor(T, ["S", "H", "D"]);
const newHeads = tensor.out(T, ["S", "H", "D"]);
const angles = tensor(tl.float32, ["S", "HALF"]);

/** A program turns some heads of one token: they share its angles. */
const rotate = kernel(
  "rotate",
  {
    doc: "Turns each pair (x[i], x[i + D/2]) of a head by the angle of its token and of i, or back.",
    params: {
      x: heads,
      cos: angles,
      sin: angles,
      y: newHeads,
      BACK: constexpr.bool(),
      BLOCK_H: constexpr(),
      BLOCK_HALF: constexpr.launch(({ HALF }) => tl.nextPowerOf2(HALF)),
    },
    dims: { D: ({ HALF }) => HALF.mul(2) },
    grid: ({ S, H, BLOCK_H }) => [S, tl.cdiv(H, BLOCK_H)],
    requires: ({ HALF, BLOCK_HALF }) => [BLOCK_HALF.ge(HALF)],
    autotune: {
      key: ["H", "D"],
      configs: [
        { BLOCK_H: 4, numWarps: 2 },
        { BLOCK_H: 8, numWarps: 4 },
        { BLOCK_H: 16, numWarps: 4 },
        { BLOCK_H: 32, numWarps: 8 },
      ],
    },
    shapes: [{ S: 4096, H: 32, HALF: 64 }],
  },
  ({ x, cos, sin, y, HALF, BACK, BLOCK_H, BLOCK_HALF }) => {
    const token = tl.inBounds(tl.programId(0));
    const head = tl.programId(1).mul(BLOCK_H).add(tl.arange(0, BLOCK_H));
    const i = tl.arange(0, BLOCK_HALF);
    // Lanes past the first half of a head would reach into the second, and past its end.
    const mask = i.lt(HALF).row;
    const partner = tl.inBounds(i.add(HALF));
    const c = tl.load(cos.at(token, i)).row;
    const s = tl.load(sin.at(token, i)).row;
    const turned = BACK.choose(-1, 1);
    const left = tl.load(x.at(token, head, tl.inBounds(i)), { mask }).to(tl.float32);
    const right = tl.load(x.at(token, head, partner), { mask }).to(tl.float32);
    tl.store(y.at(token, head, tl.inBounds(i)), left.mul(c).sub(right.mul(s).mul(turned)).to(T), { mask });
    tl.store(y.at(token, head, partner), right.mul(c).add(left.mul(s).mul(turned)).to(T), { mask });
  },
);

export const rotary = op(
  "rotary",
  {
    doc: "Rotary position embedding: the pair (x[i], x[i + D/2]) of each head turns by the angle of its token and of i.",
    params: { x: heads, cos: angles, sin: angles, y: newHeads },
    dims: { D: ({ HALF }) => HALF.mul(2) },
    reference: ({ x, cos, sin, HALF }, torch) => {
      const [left, right] = [x.narrow(2, 0, HALF), x.narrow(2, HALF, HALF)];
      const [c, s] = [cos.unsqueeze(1), sin.unsqueeze(1)];
      return torch.cat([left.mul(c).sub(right.mul(s)), right.mul(c).add(left.mul(s))], -1).to(x.dtype);
    },
    shapes: [
      { S: 20, H: 6, HALF: 40 },
      { S: 4096, H: 32, HALF: 64 },
    ],
  },
  ({ x, cos, sin }) => rotate.call({ x, cos, sin, BACK: false }),
  ({ cos, sin }, { y: dy }) => {
    const { y: dx } = rotate.call({ x: dy, cos, sin, BACK: true });
    return { x: dx };
  },
);

main(import.meta, rotary);
