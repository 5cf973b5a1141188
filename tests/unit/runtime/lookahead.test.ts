/** Work for several workers: what is begun early, and that results do not depend on it. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Worker, WorkerPool } from "../../../src/runtime/worker/worker.js";
import { Lookahead } from "../../../src/runtime/verify/runner.js";

/** Counts what is in progress. Later items are done sooner. */
function counting(delays: readonly number[]) {
  const seen = { begun: [] as number[], now: 0, most: 0 };
  const begin = async (item: number, place: number): Promise<string> => {
    seen.begun.push(item);
    seen.most = Math.max(seen.most, ++seen.now);
    await sleep(delays[place] ?? 1);
    seen.now--;
    return `${item} at ${place}`;
  };
  return { seen, begin };
}

const items = [10, 11, 12, 13, 14, 15, 16, 17];

describe("work begun early", () => {
  it.each([1, 2, 3, 8])("gives the same in the same order on %i workers", async (lanes) => {
    const { seen, begin } = counting([20, 1, 15, 1, 10, 1, 5, 1]);
    const ahead = new Lookahead(lanes, begin);
    ahead.expect(items);
    const results: string[] = [];
    for (const [place, item] of items.entries()) results.push(await ahead.take(item, place));
    expect(results).toEqual(items.map((item, place) => `${item} at ${place}`));
    expect(seen.begun).toEqual(items);
    expect(seen.most).toBe(lanes);
  });

  it("is asked for anew where something else is taken", async () => {
    const { seen, begin } = counting([]);
    const ahead = new Lookahead(2, begin);
    ahead.expect(items);
    expect(await ahead.take(99, 0)).toBe("99 at 0");
    expect(seen.begun).toContain(99);
  });

  it("is bounded by how far the results were taken", async () => {
    const { seen, begin } = counting([]);
    new Lookahead(2, begin).expect(items);
    await sleep(50);
    expect(seen.begun).toEqual(items.slice(0, 4));
  });

  it("is ended where nobody asks for it and it takes long", async () => {
    const ahead = new Lookahead(2, () => sleep(60_000, "late", { ref: false }));
    ahead.expect(items);
    let ended = false;
    await ahead.drop(async () => void (ended = true));
    expect(ended).toBe(true);
  });
});

describe("a pool of workers", () => {
  const pool = (size: number) =>
    new WorkerPool(
      Array.from({ length: size }, (_, i) => ({
        worker: new Worker({ python: "python3", device: "interpreter" }),
        deviceName: `cpu:${i}`,
      })),
    );

  it("gives each worker to one at a time, and whoever asked first is served first", async () => {
    const busy = new Set<string>();
    const served: number[] = [];
    const places = await pool(3).map([0, 1, 2, 3, 4, 5, 6], async (item, { deviceName: place = "" }) => {
      expect(busy.has(place)).toBe(false);
      busy.add(place);
      served.push(item);
      await sleep(item === 0 ? 30 : 3);
      busy.delete(place);
      return place;
    });
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(places.slice(0, 3)).toEqual(["cpu:0", "cpu:1", "cpu:2"]);
    expect(places.filter((place) => place === "cpu:0")).toHaveLength(1);
  });

  it("gives a worker the next request while it works on another, and no more", async () => {
    const [now, most] = [new Map<string, number>(), new Map<string, number>()];
    const shared = pool(2);
    await Promise.all(
      [0, 1, 2, 3, 4, 5, 6].map(() =>
        shared.share(async ({ deviceName: place = "" }) => {
          now.set(place, (now.get(place) ?? 0) + 1);
          most.set(place, Math.max(most.get(place) ?? 0, now.get(place)!));
          await sleep(3);
          now.set(place, now.get(place)! - 1);
        }),
      ),
    );
    expect([...most]).toEqual([
      ["cpu:0", 2],
      ["cpu:1", 2],
    ]);
  });

  it("has a worker again after its work has failed", async () => {
    const one = pool(1);
    await expect(one.lease(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await one.lease(async ({ deviceName: place }) => place)).toBe("cpu:0");
  });
});
