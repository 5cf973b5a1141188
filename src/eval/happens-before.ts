/**
 * The happens-before order of programs, as vector clocks. Only atomics order accesses of different programs: a release
 * on an element orders the accesses before it with those after a later acquire on that element.
 */

/** Identifies a program between two of its releases or barriers. */
export type Stamp = number;
/** For each program, the latest stamp that is ordered before. */
type Clock = Map<number, Stamp>;

export class Order {
  /** The program of each stamp; stamps count from 1. */
  readonly #owners: number[] = [0];
  /** The clock that releases left at each element. */
  readonly #places = new Map<string, Clock>();
  #program = 0;
  #seen: Clock = new Map();
  /** The stamp for the running program's next accesses. */
  stamp: Stamp = 0;

  begin(program: number): void {
    this.#program = program;
    this.#seen = new Map();
    this.barrier();
  }

  /** Orders the lanes of the running program: those of its accesses before with those after. */
  barrier(): void {
    this.stamp = this.#owners.push(this.#program) - 1;
  }

  owner(stamp: Stamp): number {
    return this.#owners[stamp]!;
  }

  /** Whether the access with this stamp is ordered before the running program. */
  sees(stamp: Stamp): boolean {
    if (stamp === 0 || stamp === this.stamp) return true;
    const owner = this.#owners[stamp]!;
    return owner === this.#program || (this.#seen.get(owner) ?? 0) >= stamp;
  }

  /** Records an atomic of the running program on one element. */
  meet(place: string, order: string): void {
    if (order === "relaxed") return;
    const clock = this.#places.get(place);
    if (order !== "release" && clock) merge(this.#seen, clock);
    if (order === "acquire") return;
    const told: Clock = clock ?? new Map<number, Stamp>();
    merge(told, this.#seen);
    told.set(this.#program, this.stamp);
    this.#places.set(place, told);
    this.barrier();
  }
}

function merge(into: Clock, from: Clock): void {
  for (const [program, stamp] of from) if (stamp > (into.get(program) ?? 0)) into.set(program, stamp);
}
