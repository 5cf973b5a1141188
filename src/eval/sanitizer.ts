/** Records the accesses of the running program and reports its findings. */
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { AccessKind } from "../compiled/access.js";
import type { Addresses } from "../values/runtime-values.js";
import type { AccessRecord, AccessLanes } from "./access-record.js";
import { coordinates, Findings } from "./findings.js";
import { Order } from "./last-accesses.js";

export type Describe = (lane: number) => Message<FindingCode>;

export class Sanitizer {
  readonly findings = new Findings();
  readonly order = new Order();
  /** Locations of loads and ops that returned poison, with the message of an op. */
  readonly poisonSources = new Map<Location, Message<FindingCode> | undefined>();
  /** Locations of accesses performed by some lane, and of executed ops that proof obligations refer to. */
  readonly reached = new Set<Location>();
  /** Number of calls of {@link Sanitizer.recordPoison}. */
  poisonCount = 0;
  /** The running program, counted from 1 in the order of the grid, its first axis fastest. */
  programNumber = 0;

  constructor(
    readonly grid: readonly number[],
    readonly record?: AccessRecord,
  ) {}

  /** Number of reports so far, of findings and of poison. */
  get reportCount(): number {
    return this.findings.count + this.poisonCount;
  }

  enterProgram(number: number): void {
    this.programNumber = number;
    this.order.begin(number);
  }

  /** The ids of a program on the axes of the grid. */
  program(number: number): readonly number[] {
    return coordinates(this.grid.toReversed(), number - 1).toReversed();
  }

  /** Records that an access was reached, and its lanes if they are requested. */
  recordAccess(kind: AccessKind, address: Addresses, lanes: AccessLanes, location: Location | undefined): void {
    if (location && !this.reached.has(location) && lanes.performed.includes(1)) this.reached.add(location);
    this.record?.add(kind, address, lanes, location, this.program(this.programNumber));
  }

  /** Records the reason why an op returned poison. */
  recordPoison(message: Message<FindingCode>, location: Location | undefined): void {
    this.poisonCount++;
    if (location && !this.poisonSources.has(location)) this.poisonSources.set(location, message);
  }

  /** Reports the flagged lanes of a tile, if any. */
  reportLanes(
    code: FindingCode,
    flags: Uint8Array,
    shape: readonly number[],
    location: Location | undefined,
    describe: Describe,
  ): void {
    const first = flags.indexOf(1);
    if (first < 0) return;
    const laneCount = flags.reduce((sum, lane) => sum + lane, 0);
    this.findings.add(code, location, laneCount, () => ({
      message: describe(first),
      program: this.program(this.programNumber),
      lane: coordinates(shape, first),
    }));
  }

  /** Reports a finding about the whole program. */
  reportProgram(message: Message<FindingCode>, location: Location | undefined): void {
    this.findings.add(message.code, location, 1, () => ({
      message,
      program: this.program(this.programNumber),
      lane: [],
    }));
  }
}
