/** Dropout without a stored mask: a seed determines the mask, so the gradient draws the same mask again. */
import { constexpr, kernel, main, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

export const dropout = kernel(
  "dropout",
  {
    doc: "x / (1 - p) where a random number of the element is at least p, else 0. Its gradient is itself, of dy.",
    params: {
      x: tensor(T, ["N"], { contiguous: true }),
      y: tensor.out(T, ["N"], { contiguous: true }),
      p: scalar(tl.float32, { default: 0.5 }),
      seed: scalar(tl.int32, { default: 0 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    // Each step has another seed: none is worth a binary of its own.
    doNotSpecialize: ["seed"],
    requires: ({ p }) => [p.ge(0), p.lt(1)],
    // Philox in ten rounds, as `tl.rand` has it: the counter is the element's place, the key is the seed.
    reference: {
      source: `
        low = 0xFFFFFFFF
        c0 = torch.arange(x.numel(), device=x.device)
        c1 = c2 = c3 = torch.zeros_like(c0)
        k0, k1 = seed & low, 0
        for _ in range(10):
            a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c2 = (b >> 32 & low) ^ c1 ^ k0, (a >> 32 & low) ^ c3 ^ k1
            c1, c3 = b & low, a & low
            k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
        random = torch.where(c0 < 1 << 31, c0, low - c0).float() * 4.6566127342e-10
        return torch.where(random >= p, x / (1 - p), 0)
      `,
    },
    shapes: [{ N: 100_003 }, { N: 1 << 26 }],
  },
  ({ x, y, p, seed, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets)).to(tl.float32);
    const stays = tl.rand(seed, offsets).ge(p);
    const scaled = values.div(tl.sub(1, p));
    tl.store(y.at(offsets), tl.where(stays, scaled, 0).to(T));
  },
);

main(import.meta, dropout);
