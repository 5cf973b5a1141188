/** Knows the running program and reports its mistakes. */
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { AccessKind } from "../compiled/access.js";
import type { Addresses } from "../values/runtime-values.js";
import type { AccessRecord } from "./access-record.js";
import { coordinates, Findings } from "./findings.js";
import type { AccessLanes } from "./lanes.js";
import { Order } from "./happens-before.js";

/** Describes the mistake of one lane. */
export type Describe = (lane: number) => Message<FindingCode>;

export class Sanitizer {
  readonly findings = new Findings();
  readonly order = new Order();
  /** Where lanes were left without a defined value: by loads, and by ops whose result is undefined there, with why. */
  readonly unset = new Map<Location, Message<FindingCode> | undefined>();
  /** Accesses that some lane performed, and other ops that proofs speak of where a program ran them. */
  readonly reached = new Set<Location>();
  /** Number of calls of `undefine`. */
  poisonCount = 0;
  /** The running program, counted from 1 in the order of the grid, its first axis fastest. */
  number = 0;

  constructor(
    readonly grid: readonly number[],
    readonly record?: AccessRecord,
  ) {}

  /** How often something was told of an op, in a finding or of its undefined lanes. */
  get reportCount(): number {
    return this.findings.count + this.poisonCount;
  }

  /** Starts a program. */
  enterProgram(number: number): void {
    this.number = number;
    this.order.begin(number);
  }

  /** The coordinates of a program. */
  program(number: number): readonly number[] {
    let rest = number - 1;
    return this.grid.map((size) => {
      const id = rest % size;
      rest = Math.floor(rest / size);
      return id;
    });
  }

  /** Notes that an access was reached, and keeps it where that is asked for. */
  recordAccess(kind: AccessKind, address: Addresses, lanes: AccessLanes, at: Location | undefined): void {
    if (at && !this.reached.has(at) && lanes.performed.includes(1)) this.reached.add(at);
    this.record?.note(kind, address, lanes, at, this.program(this.number));
  }

  /** Notes why an op left lanes without a defined value. */
  recordPoison(said: Message<FindingCode>, at: Location | undefined): void {
    this.poisonCount++;
    if (at && !this.unset.has(at)) this.unset.set(at, said);
  }

  /** Reports the marked lanes of a tile, if there are any. */
  lanes(
    code: FindingCode,
    marked: Uint8Array,
    shape: readonly number[],
    at: Location | undefined,
    describe: Describe,
  ): void {
    const first = marked.indexOf(1);
    if (first < 0) return;
    const times = marked.reduce((sum, lane) => sum + lane, 0);
    this.findings.add(code, at, times, () => ({
      said: describe(first),
      program: this.program(this.number),
      lane: coordinates(shape, first),
    }));
  }

  /** Reports something about the whole program. */
  scalar(said: Message<FindingCode>, at: Location | undefined): void {
    this.findings.add(said.code, at, 1, () => ({ said, program: this.program(this.number), lane: [] }));
  }
}
