/** How the actors of a cluster become devices. */
import { expect, it } from "vitest";
import { kindsOf, problemOf } from "../../../src/runtime/devices/ray-devices.js";
import type { RayActor } from "../../../src/runtime/remote/ray-cluster.js";

const seat = (deviceName: string, place: string, triton = "3.9.0"): RayActor => ({
  place,
  node: place.split(" ")[0]!,
  python: "/usr/bin/python3",
  hello: {
    device: "cuda",
    deviceName,
    capability: [9, 0],
    target: ["cuda", 90, 32],
    memoryGbps: null,
    gpus: [deviceName],
    gpuCount: 1,
    versions: { python: "3.11.7", torch: "2.15.0", triton, numpy: "2.4.6" },
  },
});
const seats = [seat("NVIDIA H200", "a gpu:0"), seat("NVIDIA A100", "b gpu:0"), seat("NVIDIA H200", "a gpu:1")];

it("each kind of GPU is a device of its own, and part of a name chooses some", () => {
  expect(kindsOf(seats)).toEqual([[0, 2], [1]]);
  expect(kindsOf(seats, { model: "a100" })).toEqual([[1]]);
  expect(kindsOf(seats, { model: "B200" })).toEqual([]);
});

it("each node is a device of its own where caches are filled, and what compiles on it is none", () => {
  const { hello, ...other } = seat("Triton's compiler on the CPU", "a cpu:3");
  const all: readonly RayActor[] = [
    ...seats,
    seat("NVIDIA H200", "c gpu:0"),
    { ...other, hello: { ...hello, device: "compiler" } },
  ];
  expect(kindsOf(all, { byNode: true })).toEqual([[0, 2], [1], [3]]);
  expect(kindsOf(all)).toEqual([[0, 2, 3], [1]]);
});

it("nodes with other versions are refused by name", () => {
  expect(problemOf(seats)).toBeUndefined();
  expect(problemOf([...seats, seat("NVIDIA H200", "c gpu:0", "3.8.0")])).toBe(
    "a gpu:0 has torch 2.15.0 and triton 3.9.0, c gpu:0 torch 2.15.0 and triton 3.8.0; install the same on all nodes",
  );
  expect(problemOf([seat("NVIDIA H200", "c gpu:0", "3.2.0")])).toMatch(
    /^\/usr\/bin\/python3 on c gpu:0: it has triton 3.2/,
  );
});
