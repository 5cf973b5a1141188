/** `--device ray:ADDRESS`, on a real cluster of two nodes on this machine. Its actors run Triton's interpreter. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import type { TestCase, CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import type { Outcome } from "../../src/runtime/cases/outcome.js";
import { closeDevice, openDevice, openDevices } from "../../src/runtime/devices/devices.js";
import { runRequest } from "../../src/runtime/devices/request.js";
import { search } from "../../src/runtime/measure/tuner.js";
import type { CompileReport, RunReport } from "../../src/runtime/report/reports.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import { verifyThoroughly } from "../../src/runtime/verify/thorough.js";
import { verify } from "../../src/runtime/verify/plan-cases.js";
import { cli } from "../support/cli.js";
import { sampledCostlyTests } from "../support/sampled-tests.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { hasExited } from "../support/processes.js";
import { LocalRayCluster, rayPython } from "../support/ray.js";
import { type PythonDevice, openWorkspace } from "../../src/runtime/devices/device.js";

sampledCostlyTests("work on a Ray cluster", "src/runtime/remote");

let python: string | undefined;
let cluster: LocalRayCluster;
let folder: string;

// In the tests that are drawn alone, because it takes as long as they do.
beforeEach(async ({ skip }) => {
  python ??= await rayPython();
  skip(python === undefined, "Ray can't be installed here");
  cluster ??= await LocalRayCluster.start(python!);
}, 400_000);
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "tilescript-ray-"))));
afterAll(async () => {
  await cluster?.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

// Five kernels of few lanes, so that a case takes a moment; one is wrong.
const increment = kernel(
  "increment",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { configs: [{ BLOCK: 256 }, { BLOCK: 1024 }], key: ["N"] },
    reference: ({ x }) => x.add(1),
    shapes: [{ N: 100 }],
  },
  ({ x, y, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(at), tl.load(x.at(at)).add(1));
  },
);
const product = kernel(
  "product",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      w: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x, w }) => x.mul(w),
    shapes: [{ N: 100 }],
  },
  ({ x, w, y, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(at), tl.load(x.at(at)).mul(tl.load(w.at(at))));
  },
);
const sigmoid = kernel(
  "sigmoid",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x }, torch) => torch.sigmoid(x),
    shapes: [{ N: 100 }],
  },
  ({ x, y, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(at), tl.sigmoid(tl.load(x.at(at))));
  },
);
const halfway = kernel(
  "halfway",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x }) => x.add(1),
    shapes: [{ N: 100 }],
  },
  ({ x, y, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.load(x.at(at));
    // Wrong from the 38th element on.
    tl.store(y.at(at), tl.where(at.lt(37), value.add(1), value));
  },
);
const rowSums = kernel(
  "rowSums",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    config: { BLOCK: 256 },
    reference: ({ x }, torch) => torch.sum(x, -1),
    shapes: [{ M: 5, N: 100 }],
  },
  ({ x, y, N, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const from of tl.range(0, N, BLOCK))
      sum.value = sum.value.add(tl.load(x.at(row, from.add(tl.arange(0, BLOCK)))));
    tl.store(y.at(row), tl.sum(sum.value, 0));
  },
);

const withoutTimes = (outcomes: readonly Outcome[]) => outcomes.map((outcome) => ({ ...outcome, ms: 0 }));

/** A kernel whose wrapper runs these lines of Python first, if the condition holds: for inputs of one element. */
const doing = (lines: readonly string[], condition = "x.shape[0] == 1"): CompiledKernel => {
  const first = "    (n,) = x.shape";
  const code = lines.map((line) => `        ${line}\n`).join("");
  return vectorAdd({ replace: { [first]: `    import os, time\n    if ${condition}:\n${code}${first}` } });
};

/** Lines that run once, whoever runs them first. */
const once = (marker: string, ...lines: readonly string[]): readonly string[] => [
  `if not os.path.exists(${JSON.stringify(marker)}):`,
  `    print(os.getpid(), file=open(${JSON.stringify(marker)}, "w"), flush=True)`,
  ...lines.map((line) => `    ${line}`),
];

/** The smallest case, in which `doing` does something. */
const smallest: TestCase = { sizes: { N: 1 }, dtypes: { T: "float32" }, config: 0, seed: 0 };

describe("a Ray cluster", { timeout: 120_000 }, () => {
  let there: PythonDevice;
  const opened = async (): Promise<PythonDevice> =>
    (there ??= (await openDevice({ device: `ray:${cluster.address}`, python })) as PythonDevice);
  afterAll(async () => void (there && (await closeDevice(there))));

  // The first ones: afterwards an open device has all CPUs of the cluster.
  it("runs commands", async () => {
    const device = `ray:${cluster.address}`;
    const ran = await cli(vectorAdd(), "--run", "--device", device, "--python", python!, "--json");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const report = JSON.parse(ran.out) as RunReport;
    expect(report).toMatchObject({ correct: true, device: "interpreter", host: device });
    expect(report.workers).toEqual([expect.stringMatching(/ cpu:0$/), expect.stringMatching(/ cpu:1$/)]);
    const refused = await cli(vectorAdd(), "--bench", "--device", `${device}#cuda`, "--python", python!);
    expect({ code: refused.code, out: refused.out }).toEqual({ code: 3, out: "" });
    expect(refused.err).toMatch(/the cluster has no GPU; with #cpu:4 at its end/);
  });

  it("serves a machine outside the cluster, and says when the connection to it broke", async () => {
    const { address, server } = cluster.clients;
    // Ray tries for 30 s otherwise.
    const env = { ...process.env, RAY_CLIENT_RECONNECT_GRACE_PERIOD: "2" };
    // Ray's server takes a port for each client, which another process may take before it: Ray says so, and serves the
    // next client.
    const portIsTaken = /Starting Ray client server failed/;
    const open = () => openDevice({ device: address, python, env });
    const outside = (await open().catch((error: unknown) => {
      if (!portIsTaken.test(String(error))) throw error;
      return open();
    })) as PythonDevice;
    try {
      expect(outside.workers.size).toBe(2);
      const { outcomes } = await verify(vectorAdd(), outside, { selection: { seed: 0 } });
      expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
      const marker = join(folder, "killed outside");
      const killing = doing(once(marker, "os.kill(os.getppid(), 9)", "time.sleep(60)"));
      expect((await verifyCase(killing, outside, smallest)).status).toBe("passed");
      expect(existsSync(marker)).toBe(true);
      const late = await verifyCase(doing(["time.sleep(60)"]), outside, smallest, { deadlineMs: 2_000 });
      expect(late.failure).toMatchObject({ kind: "timeout" });
      const begun = join(folder, "begun outside");
      const sleeping = doing(once(begun, "time.sleep(60)"));
      const broken = verifyCase(sleeping, outside, smallest);
      await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { timeout: 20_000 });
      await execa("pkill", ["-9", "-P", String(server)], { reject: false });
      process.kill(server, "SIGKILL");
      expect((await broken).failure).toMatchObject({
        kind: "connection",
        message: expect.stringContaining("reconnect"),
      });
      // What it ran there ends with it.
      expect(await hasExited(Number(await readFile(begun, "utf8")))).toBe(true);
    } finally {
      await closeDevice(outside);
    }
    const refused = await cli(vectorAdd(), "--run", "--device", address, "--python", python!);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining(`nothing answers at ${address}`) });
  });

  it("compiles on the cluster's CPUs what this machine compiles", async () => {
    const given = ["--compile", "cuda:90", "--json", "--python", python!];
    const [there, here] = await Promise.all([
      cli(vectorAdd(), ...given, "--device", `ray:${cluster.address}#cpu:2`),
      cli(vectorAdd(), ...given),
    ]);
    const [spread, alone] = [there, here].map(({ out }) => JSON.parse(out) as CompileReport);
    expect(spread).toMatchObject({ ok: true, python: expect.stringContaining(` on ray:${cluster.address}`) });
    const found = ({ kernels }: CompileReport) =>
      kernels.map((each) => ({
        ...each,
        compiled: each.compiled.map((one) => ({ ...one, cached: false, compile_seconds: 0 })),
      }));
    expect(found(spread!)).toEqual(found(alone!));
    const refused = await cli(vectorAdd(), "--compile", "cuda:90", "--device", "cuda");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("name a cluster whose CPUs compile") });
  });

  // Without a limit of time: on a busy machine, it would end the two at different cases.
  it("finds in 200 cases of five kernels what one worker finds, in the same order", { timeout: 900_000 }, async () => {
    const here = (await openDevice({ device: "interpreter", python })) as PythonDevice;
    try {
      expect((await opened()).workers.size).toBe(2);
      let cases = 0;
      for (const each of [increment, product, sigmoid, rowSums, halfway]) {
        const compiled = await build(each);
        const options = { selection: { seed: 5 }, runs: 50, timeLimitMs: 600_000 };
        const [spread, one] = await Promise.all([there, here].map((on) => verifyThoroughly(compiled, on, options)));
        expect(withoutTimes(spread!.outcomes)).toEqual(withoutTimes(one!.outcomes));
        expect(spread!.thorough).toEqual(one!.thorough);
        expect(spread!.outcomes.some(({ status }) => status === "failed")).toBe(each === halfway);
        cases += spread!.outcomes.length;
      }
      expect(cases).toBeGreaterThanOrEqual(200);
      const options = {
        cases: [{ sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 }],
        skip: new Set<number>(),
        declaredCount: 2,
        budget: { count: 2 },
        seed: 3,
        env: { XDG_CACHE_HOME: folder },
      };
      const tuned = await build(increment);
      const [spread, one] = await Promise.all([there, here].map((on) => search(tuned, on, options)));
      // Nothing is timed on the interpreter, which is what each trial says.
      expect(one!.trials[0]!.get(0)).toEqual({ failed: expect.stringContaining("a benchmark needs a GPU") });
      expect({ ...spread, seconds: 0 }).toEqual({ ...one, seconds: 0 });
    } finally {
      await closeDevice(here);
    }
  });

  it("reports a crash and a deadline as results, and works on", async () => {
    const on = await opened();
    const crashed = await verifyCase(doing(["os._exit(7)"]), on, smallest);
    expect(crashed.failure).toMatchObject({
      kind: "crash",
      message: expect.stringMatching(/^the Python worker ended with exit code 7/),
    });
    const late = await verifyCase(doing(["time.sleep(60)"]), on, smallest, { deadlineMs: 2_000 });
    expect(late.failure).toMatchObject({ kind: "timeout", message: expect.stringContaining("no answer within 2 s") });
    expect((await verifyCase(vectorAdd(), on, smallest)).status).toBe("passed");
  });

  it("loses nothing with an actor that is killed in the middle", async () => {
    const marker = join(folder, "killed");
    // The actor is the worker's parent.
    const killing = doing(once(marker, "os.kill(os.getppid(), 9)", "time.sleep(60)"));
    const { outcomes } = await verify(killing, await opened(), { selection: { seed: 0 } });
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
    // The worker goes with its actor.
    expect(await hasExited(Number(await readFile(marker, "utf8")))).toBe(true);
  });

  it("gives up a request that ends every actor", async () => {
    const killing = doing(["os.kill(os.getppid(), 9)", "time.sleep(60)"]);
    const { failure } = await verifyCase(killing, await opened(), smallest);
    expect(failure).toMatchObject({
      kind: "connection",
      message: expect.stringMatching(/^3 actors were lost while they ran it: /),
    });
  });

  // The last one: afterwards the cluster has one node.
  it("loses nothing with a node that is removed in the middle", async () => {
    const marker = join(folder, "removed");
    const lines = once(marker, `os.kill(${cluster.raylet}, 9)`, "time.sleep(60)");
    const removing = doing(lines, `int(os.environ["RAY_RAYLET_PID"]) == ${cluster.raylet}`);
    const removed = async () => (await verify(removing, await opened(), { selection: { seed: 0 } })).outcomes;
    let outcomes = await removed();
    // The actor on that node may still be on its way after the test before.
    const until = performance.now() + 60_000;
    while (!existsSync(marker) && performance.now() < until) outcomes = await removed();
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
    expect(existsSync(marker)).toBe(true);
    const again = await verify(vectorAdd(), there, { selection: { seed: 0 } });
    // How many extra cases there are depends on the time that a case takes.
    const both = Math.min(again.outcomes.length, outcomes.length);
    expect(both).toBeGreaterThan(5);
    expect(withoutTimes(again.outcomes.slice(0, both))).toEqual(withoutTimes(outcomes.slice(0, both)));
  });
});

describe("a Ray cluster whose nodes have GPUs", { timeout: 120_000 }, () => {
  let gpus: LocalRayCluster;
  beforeEach(async () => void (gpus ??= await LocalRayCluster.start(python!, 1)), 60_000);
  afterAll(async () => void (await gpus?.stop()), 60_000);

  it("compiles for a node's cache on the CPUs of that node", async () => {
    const options = { device: `ray:${gpus.address}`, python, byNode: true } as const;
    // Ray is told of GPUs that are not there, so the workers run Triton's interpreter.
    const devices = (await openDevices(options)) as readonly PythonDevice[];
    try {
      const worked = await Promise.all(devices.map(workedOn));
      // A worker and a compiler each, on one node, which is not the other's.
      expect(worked.map((nodes) => nodes.length)).toEqual([2, 2]);
      expect(worked.map((nodes) => new Set(nodes).size)).toEqual([1, 1]);
      expect(worked[0]![0]).not.toBe(worked[1]![0]);
    } finally {
      await closeDevice(devices[0]!);
    }
  });

  it("says where prewarming finds no GPU", async () => {
    const given = ["--device", `ray:${gpus.address}`, "--python", python!, "--shapes", "N=64"];
    expect(await cli(vectorAdd(), "--prewarm", ...given)).toMatchObject({
      code: 3,
      err: expect.stringContaining("prewarming needs a GPU: there is no GPU on ray:"),
    });
  });

  /** The nodes on which a device's worker and its compiler import a module. */
  async function workedOn(device: PythonDevice, number: number): Promise<readonly string[]> {
    const found = join(folder, `node-${number}-`);
    const file = `${JSON.stringify(found)} + os.environ["RAY_RAYLET_PID"] + os.environ.get("TRITON_INTERPRET", "0")`;
    const kernel = vectorAdd({
      replace: { "import torch\n": `import os\nimport torch\nopen(${file}, "w").close()\n` },
    });
    expect(await verifyCase(kernel, device, smallest)).toMatchObject({ status: "passed" });
    const { module } = await openWorkspace(kernel, device.host);
    const request = runRequest(kernel, module, smallest);
    expect(device.compilers?.startedCount).toBe(1);
    await device.compilers!.forEach([0], async (compiler) => {
      const made = await compiler.request({ ...request, type: "ahead", target: ["cuda", 90, 32] }, 60_000);
      expect(made).toMatchObject({ ok: true, result: { keys: [expect.any(String)] } });
    });
    const names = await readdir(folder);
    return names.filter((name) => name.startsWith(`node-${number}-`)).map((name) => /-(\d+)\d$/.exec(name)![1]!);
  }
});
