/** A map that shares its entries with its copies until one of them changes. Most copies are only read. */
export class CopyOnWriteMap<Key, Value> {
  #entries: Map<Key, Value>;
  #isShared: boolean;

  constructor(source?: CopyOnWriteMap<Key, Value>) {
    this.#entries = source ? source.#entries : new Map();
    this.#isShared = source !== undefined;
    if (source) source.#isShared = true;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#isShared) [this.#entries, this.#isShared] = [new Map(this.#entries), false];
    this.#entries.set(key, value);
  }
}
