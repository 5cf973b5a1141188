/** Properties that a run on each device cannot verify. */
export const evalUnchecked = ["the emitted Python was not run; the evaluator ran the kernel in-process"];
export const interpreterUnchecked = [
  "nothing was compiled for a GPU",
  "Triton's interpreter runs programs one after another, so races between programs do not show",
];
