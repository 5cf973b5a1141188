/** A map that copies share until one of them changes: most are asked and never changed. */
export class CopyOnWriteMap<Key, Value> {
  #entries: Map<Key, Value>;
  #isShared: boolean;

  constructor(from?: CopyOnWriteMap<Key, Value>) {
    this.#entries = from ? from.#entries : new Map();
    this.#isShared = from !== undefined;
    if (from) from.#isShared = true;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#isShared) [this.#entries, this.#isShared] = [new Map(this.#entries), false];
    this.#entries.set(key, value);
  }
}
