/**
 * Programmatic dependent launch: a kernel starts while its predecessor in the stream still runs, and waits only before
 * it reads the predecessor's output. Work before the wait, such as computing addresses, costs no time.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const dependentAdd = kernel(
  "dependent_add",
  {
    doc: "x + y, element by element, in a launch that overlaps with the one before it.",
    params: {
      x: tensor(tl.float32, ["N"], { contiguous: true }),
      y: tensor(tl.float32, ["N"], { contiguous: true }),
      z: tensor.out(tl.float32, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    launch: { launchPdl: true },
    targets: { cuda: 80, reason: "Triton has dependent launches for NVIDIA's GPUs only" },
    reference: ({ x, y }) => x.add(y),
    shapes: [{ N: 100_000 }, { N: 1 << 26 }],
  },
  ({ x, y, z, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    // Other GPUs start a kernel when the one before it has ended: there is nothing to wait for.
    tl.when(tl.targetInfo.cudaCapabilityGeq(9, 0), () => tl.gdcWait());
    const first = tl.load(x.at(offsets));
    const second = tl.load(y.at(offsets));
    // The next kernel may start, too: it waits in turn until this one has written.
    tl.when(tl.targetInfo.cudaCapabilityGeq(9, 0), () => tl.gdcLaunchDependents());
    tl.store(z.at(offsets), first.add(second));
  },
);

main(import.meta, dependentAdd);
