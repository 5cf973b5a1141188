/** Random kernels as the emulator runs them: small, at sizes, in configs and in orders that a seed draws. */
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { type Draw, drawFrom, type RandomKernel } from "../../kernels/random/random-numbers.js";
import { anyByte, anyWord, type Launch, type Trial } from "./emulated.js";

type Form = Trial["form"];

/** A trial of the kernel that `seed` draws. */
export function trialOf(form: Form, random: RandomKernel, kernel: CompiledKernel, seed: number): Trial {
  const draw = drawFrom(seed);
  const { pick, chance, whole } = draw;
  const sizes: Trial["sizes"] = form === "product" ? productSizes(random, draw) : attentionSizes(random, draw);
  const flags = kernel.signature.constexprs.filter(({ from, kind }) => from === "argument" && kind === "bool");
  const keys = sizes["N"] ?? sizes["S"] ?? 1;
  const launch: Launch = {
    config: whole(0, 99),
    multiprocessors: whole(1, 7),
    order: pick([`random ${seed}`, `rank ${seed}`]),
    version: pick(["3.6", "3.9"] as const),
  };
  return {
    name: `${random.name}: ${random.words}; ${JSON.stringify(sizes)}; ${JSON.stringify(launch)}`,
    form,
    kernel,
    dtype: random.dtype,
    sizes,
    constexprs: Object.fromEntries(flags.map(({ name }) => [name, chance(0.5)])),
    launches: [launch],
    isStrided: random.isStrided,
    inputs: {
      w: kernel.signature.tensors.some(({ name, dtype }) => name === "w" && dtype === "int8") ? anyByte : anyWord,
      // Each row sees the first key, or its own.
      shown: (place, uniform) => (place % keys === 0 || uniform() < 0.6 ? 1 : 0),
      lengths: (_, uniform) => Math.floor(uniform() * (keys + 20)),
    },
  };
}

/** Rows of a described tensor are whole 16 bytes apart. */
function productSizes({ sizes: [given] }: RandomKernel, { pick, whole }: Draw) {
  const isWhole = given!["M"]! % 8 === 0;
  const rows = pick([whole(1, 64), whole(65, 220)]);
  if (given!["GROUPS"] !== undefined) {
    // Rows of bytes are whole 16 bytes apart.
    const K = 8 * pick([whole(1, 4), whole(5, 24)]);
    const packing = given!["K"]! / (given!["K_WORDS"] ?? given!["K"]!);
    return {
      M: rows,
      N: 16 * whole(1, 17),
      K,
      GROUPS: Math.ceil(K / 64),
      ...(packing > 1 && { K_WORDS: K / packing }),
    };
  }
  return { M: isWhole ? 8 * Math.ceil(rows / 8) : rows, N: 8 * whole(1, 34), K: 8 * pick([whole(1, 4), whole(5, 24)]) };
}

function attentionSizes({ sizes: [given] }: RandomKernel, { pick, whole }: Draw) {
  const count = () => pick([1, whole(2, 63), 64, whole(65, 127), 128, whole(129, 200), whole(201, 270)]);
  return {
    ...given,
    S: count(),
    ...(given!["N"] !== undefined && { N: count() }),
    ...(given!["KH"] !== undefined && { KH: pick([1, 1, 2]) }),
    ...(given!["B"] !== undefined && { B: pick([1, 1, 2]) }),
  };
}
