/** Compiles the kernels of cases while other cases run. */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase } from "../../compiled/compiled-kernel.js";
import type { PythonDevice } from "../devices/device.js";
import { type Precompilation, startPrecompile } from "../target-compile/precompile.js";
import type { RunRequest } from "../worker/protocol.js";

/** Counts of compiled kernels. */
export interface CompileCounts {
  /** Kernels compiled before the cases ran, with the number of processes and seconds. */
  readonly ahead: number;
  readonly processes: number;
  readonly seconds: number;
  /** The number of kernels found in Triton's cache. */
  readonly known: number;
  /** Kernels compiled while the cases ran. */
  readonly late: number;
}

export class CaseCompiler {
  readonly #device: PythonDevice;
  readonly #indices = new Map<string, number>();
  #compilation: Precompilation | undefined;
  #counts: CompileCounts = { ahead: 0, processes: 0, seconds: 0, known: 0, late: 0 };

  constructor(device: PythonDevice) {
    this.#device = device;
  }

  get counts(): CompileCounts {
    return this.#counts;
  }

  /** Resolves when all kernels are compiled. */
  async compile(
    cases: readonly TestCase[],
    requestOf: (testCase: TestCase) => RunRequest,
    onDone?: (done: number, planned: number) => void,
  ): Promise<void> {
    for (const [i, testCase] of cases.entries()) this.#indices.set(cacheKey(testCase), i);
    this.#compilation = startPrecompile(this.#device, cases.map(requestOf), onDone);
    const { compiled, cachedCount, processes, seconds } = await this.#compilation.finished;
    const { ahead, seconds: earlier, known, late } = this.#counts;
    this.#counts = {
      ahead: ahead + compiled.reduce((sum, count) => sum + count, 0),
      processes,
      seconds: earlier + seconds,
      known: known + cachedCount,
      late,
    };
  }

  /** Resolves when the kernels of a case are compiled, as far as they are known. */
  async ready(testCase: TestCase): Promise<void> {
    const index = this.#indices.get(cacheKey(testCase));
    if (index !== undefined) await this.#compilation?.ready(index);
  }

  async allReady(): Promise<void> {
    await this.#compilation?.finished;
  }

  countLate(kernels: number): void {
    this.#counts = { ...this.#counts, late: this.#counts.late + kernels };
  }

  stop(): void {
    this.#compilation?.stop();
  }
}
