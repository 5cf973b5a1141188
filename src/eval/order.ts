/**
 * What orders accesses of different programs: only atomics do. A program that releases at a place, and one that later
 * acquires there, are ordered up to that release. Programs run one after another here, so this is all there is to know.
 */

/** Which program made which accesses: a stamp stands for a program between two of its releases. */
export type Stamp = number;
/** The latest stamp of each program that is known to be over. */
type Clock = Map<number, Stamp>;

export class Order {
  /** The program of each stamp; stamps count from 1. */
  readonly #owners: number[] = [0];
  /** What each place has been told by those who released there. */
  readonly #places = new Map<string, Clock>();
  #program = 0;
  #seen: Clock = new Map();
  /** For accesses of the running program from here on. */
  stamp: Stamp = 0;

  begin(program: number): void {
    this.#program = program;
    this.#seen = new Map();
    this.#next();
  }

  #next(): void {
    this.stamp = this.#owners.push(this.#program) - 1;
  }

  owner(stamp: Stamp): number {
    return this.#owners[stamp]!;
  }

  /** Whether the running program comes after an access. */
  sees(stamp: Stamp): boolean {
    if (stamp === 0 || stamp === this.stamp) return true;
    const owner = this.#owners[stamp]!;
    return owner === this.#program || (this.#seen.get(owner) ?? 0) >= stamp;
  }

  /** An atomic of the running program at one place. */
  meet(place: string, order: string): void {
    if (order === "relaxed") return;
    const clock = this.#places.get(place);
    if (order !== "release" && clock) merge(this.#seen, clock);
    if (order === "acquire") return;
    const told: Clock = clock ?? new Map<number, Stamp>();
    merge(told, this.#seen);
    told.set(this.#program, this.stamp);
    this.#places.set(place, told);
    this.#next();
  }
}

function merge(into: Clock, from: Clock): void {
  for (const [program, stamp] of from) if (stamp > (into.get(program) ?? 0)) into.set(program, stamp);
}
