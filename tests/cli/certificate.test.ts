/** `check --certificate`: whether a certificate in a file is about the kernel, and says what its proof says. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { cli, expectUsageError } from "../support/cli.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-certificate-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Version {
  readonly range?: readonly [number, number];
  readonly block?: number;
  readonly sizes?: number;
  readonly programs?: number;
  readonly offset?: number;
}

/** A gather in several versions, all of which build. */
async function gather({ range = [0, 9], block = 16, sizes = 9, programs = 16, offset = 0 }: Version = {}) {
  const { build } = await import("tilescript");
  return build(
    kernel(
      "gather",
      {
        doc: "Gathers elements.",
        params: {
          ids: tensor(tl.int32, ["M"], { range: [...range] }),
          x: tensor(tl.float32, ["N"]),
          y: tensor.out(tl.float32, ["M"]),
          BLOCK: constexpr(),
        },
        requires: ({ N }) => [N.ge(sizes)],
        grid: ({ M }) => [tl.cdiv(M, programs)],
        autotune: { key: ["M"], configs: [{ BLOCK: block }] },
      },
      ({ ids, x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const places = tl.load(ids.at(i), { other: 0 }).add(offset);
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(places))));
      },
    ),
  );
}

function fileOf(content: unknown): string {
  const file = join(folder, `${Math.random()}.json`);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

async function reportOf(version?: Version): Promise<any> {
  return JSON.parse((await cli(await gather(version), "--check", "--json")).out);
}

async function compare(file: string, version?: Version) {
  const { code, out } = await cli(await gather(version), "--check", "--certificate", file);
  return {
    code,
    line: out
      .trimEnd()
      .split("\n")
      .at(-1)
      ?.replace(file, "FILE")
      .replace(/; prove it anew: .*/, ""),
  };
}

const SAME = { code: 0, line: "gather: FILE has a certificate of this kernel, and the proof agrees" };

test("the report of a check, and the certificate alone, are about the kernel", async () => {
  const report = await reportOf();
  expect(await compare(fileOf(report))).toEqual(SAME);
  expect(await compare(fileOf(report.kernels[0].proof))).toEqual(SAME);
  const proof = (await gather()).proof();
  expect(await compare(fileOf(proof))).toEqual(SAME);
});

describe("each part that differs is named", () => {
  test.each<[keyof Version, Version, string]>([
    ["range", { range: [0, 8] }, "params"],
    ["sizes", { sizes: 10 }, "requirements"],
    ["programs", { programs: 8 }, "grid"],
    ["block", { block: 32 }, "configs"],
    ["offset", { offset: -1 }, "body"],
  ])("%s", async (_, version, part) => {
    const file = fileOf(await reportOf());
    expect(await compare(file, version)).toEqual({
      code: 1,
      line: `gather: FILE has a certificate of another version of this kernel, which differs in its ${part}`,
    });
    const { out } = await cli(await gather(version), "--check", "--json", "--certificate", file);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      kernels: [{ certificate: { kind: "other-kernel", differs: [part] } }],
    });
  });
});

test("a certificate that says more than the proof, or something else, is refused", async () => {
  const version = { offset: -1 };
  const { kernels, ...report } = await reportOf(version);
  const [{ proof }] = kernels;
  const withProof = (changed: object) => fileOf({ ...report, kernels: [{ proof: { ...proof, ...changed } }] });
  expect(proof.obligations.some(({ verdict }: any) => verdict.kind !== "proved")).toBe(true);
  const obligations = proof.obligations.map((each: object) => ({ ...each, verdict: { kind: "proved" } }));
  expect(await compare(withProof({ obligations }), version)).toEqual({
    code: 1,
    line: "gather: FILE has a certificate of this kernel, but it says bounds of the load from x is proved where the proof says bounds of the load from x is unknown",
  });
  expect((await compare(withProof({ obligations: proof.obligations.slice(1) }), version)).code).toBe(1);
  expect(await compare(withProof({ promises: [] }), version)).toEqual({
    code: 1,
    line: "gather: FILE has a certificate of this kernel, but its promises are not those of the proof",
  });
});

test("a certificate of another kernel, or by another version of TileScript, is named as such", async () => {
  const report = await reportOf();
  const renamed = JSON.parse(JSON.stringify(report).replaceAll('"kernel":"gather"', '"kernel":"scatter"'));
  expect(await compare(fileOf(renamed))).toEqual({
    code: 1,
    line: "gather: FILE has no certificate of this kernel",
  });
  const { line } = await compare(fileOf({ ...report, version: "0.0.1" }), { block: 32 });
  expect(line).toContain("has a certificate by tilescript 0.0.1 of another version");
});

describe("what outputs compute", () => {
  /** A kernel that doubles, and a reference. */
  const double = (factor: number) =>
    kernel(
      "double",
      {
        doc: "Doubles.",
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        reference: ({ x }) => x.mul(factor),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)).mul(2));
      },
    );
  const checked = async (factor: number, ...args: readonly string[]) => {
    const { build } = await import("tilescript");
    return cli(await build(double(factor)), "--check", ...args);
  };

  test("is compared if the file says it", async () => {
    const { out } = await checked(2, "--json", "--computes");
    const same = await checked(2, "--certificate", fileOf(out));
    expect(same.code).toBe(0);
    expect(same.out).toContain("computes y: equal to its reference");
    expect(same.out).toContain("and the proof agrees");
    const changed = out.replace(/("computes":.*"kind":\s*)"proved"/s, '$1"unstable"');
    const { code, out: other } = await checked(2, "--certificate", fileOf(changed));
    expect(code).toBe(1);
    expect(other).toContain("it says y is unstable where the proof says y is proved");
  });

  test("belongs to one reference", async () => {
    const { out } = await checked(2, "--json", "--computes");
    const { code, out: other } = await checked(3, "--certificate", fileOf(out));
    expect(code).toBe(1);
    expect(other).toContain("another version of this kernel, which differs in its reference");
  });

  test("is not compared if the file does not say it", async () => {
    const { out } = await checked(2, "--json");
    expect((await checked(3, "--certificate", fileOf(out))).code).toBe(0);
  });
});

test.each(["", "{", "null", "[1]", '{"kernels":[{}]}', '{"about":[],"obligations":[null]}'])(
  "what holds no certificate is refused: %s",
  async (content) => {
    const file = fileOf(content);
    expectUsageError(await cli(await gather(), "--check", "--certificate", file), /holds no certificate; write one/);
  },
);

test("a file that is not there is refused", async () => {
  const missing = await cli(await gather(), "--check", "--certificate", join(folder, "none.json"));
  expectUsageError(missing, /--certificate: there is no file/);
});
