/** The search for newer releases of PyTorch and Triton: real uv, with folders of wheels in the place of PyPI. */
import { delimiter } from "node:path";
import { expect, test } from "vitest";
import { newVersions } from "../../scripts/new-versions.js";
import { following, supportedVersions } from "../../src/compiled/versions.js";
import { inTemporaryFolder } from "../support/python.js";
import { toolFolder } from "../support/pip.js";
import { writeWheel } from "../support/wheels.js";

const { torch, triton } = supportedVersions;

const environment = async (): Promise<NodeJS.ProcessEnv> => ({
  PATH: [await toolFolder("uv"), process.env["PATH"]].join(delimiter),
  UV_NO_CONFIG: "1",
});

const newerThan = async (...releases: readonly (readonly [name: string, version: string])[]) =>
  inTemporaryFolder(async (folder) => {
    for (const [name, version] of releases) await writeWheel(folder, name, version);
    return newVersions({ ...(await environment()), UV_NO_INDEX: "1", UV_FIND_LINKS: folder });
  });

test("a newer minor version is named", async () => {
  const next = `${following(triton.newest)}.0`;
  expect(await newerThan(["torch", `${torch.newest}.0`], ["triton", `${triton.newest}.0`], ["triton", next])).toEqual([
    `triton ${next} is newer than ${triton.newest}, the newest tested; CONTRIBUTING.md says how to add a version`,
  ]);
});

test("a patch of a tested version and a candidate for a release are not new", async () => {
  expect(
    await newerThan(
      ["torch", `${torch.newest}.7`],
      ["torch", `${following(torch.newest)}.0rc1`],
      ["triton", `${triton.newest}.1`],
    ),
  ).toEqual([]);
});

test("an index that does not answer is an error, not an answer", async () => {
  const unreachable = { ...(await environment()), UV_INDEX_URL: "http://127.0.0.1:9/simple", UV_HTTP_RETRIES: "0" };
  await expect(newVersions(unreachable)).rejects.toThrow(/uv could not list the releases: .*127\.0\.0\.1:9/s);
});
