/** Records of calls that were timed on a GPU. */
export interface GpuReport {
  readonly gpu: string;
  readonly torch: string;
  readonly triton: string;
  readonly date: string;
}

/** The caption of a table of times, or of rates that follow from them. */
export const timedCaption = ({ gpu, torch, triton, date }: GpuReport, rounds: number, unit: string): string =>
  `${gpu}, torch ${torch}, Triton ${triton}, ${date}: medians of ${rounds} alternating rounds, in ${unit}. Each call starts with an empty L2 cache and an idle GPU.`;
