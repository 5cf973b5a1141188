/** The files outside `src` that name versions of Python, PyTorch and Triton, which `src/compiled/versions.ts` states. */
import { following, requirements, supportedVersions } from "../src/compiled/versions.js";

const { python, torch, triton } = supportedVersions;

/** A version in a pattern. */
const V = String.raw`\d+\.\d+`;

/** For each file, the texts with versions: a pattern that finds a text, and the text as it must be. */
const texts: Readonly<Record<string, readonly (readonly [pattern: string, text: string])[]>> = {
  "python/pyproject.toml": [
    [`requires-python = ".*"`, `requires-python = ">=${python.oldest}"`],
    [`dependencies = \\["numpy".*`, `dependencies = ["numpy", "${requirements.torch}", "${requirements.triton}"]`],
    [`pythonVersion = ".*"`, `pythonVersion = "${python.oldest}"`],
    [`target-version = ".*"`, `target-version = "py${python.oldest.replace(".", "")}"`],
  ],
  "README.md": [
    [
      `Python ${V} or newer, with torch ${V} or newer and Triton ${V} to ${V}`,
      `Python ${python.oldest} or newer, with torch ${torch.oldest} or newer and Triton ${triton.oldest} to ${triton.newest}`,
    ],
  ],
  "docs/install.md": [
    [`Python ${V}, torch, Triton, GPU`, `Python ${python.oldest}, torch, Triton, GPU`],
    [`Python ${V} to ${V}, Linux`, `Python ${python.oldest} to ${python.newest}, Linux`],
  ],
  "docs/performance.md": [
    [`Triton is not one of ${V} to ${V}`, `Triton is not one of ${triton.oldest} to ${triton.newest}`],
  ],
  "CONTRIBUTING.md": [
    [`Triton ${V}, the oldest supported version`, `Triton ${triton.oldest}, the oldest supported version`],
  ],
  ".ci/run": [[`"triton==${V}\\.0"`, `"triton==${triton.oldest}.0"`]],
  ".github/workflows/nightly.yml": [
    [`"triton==${V}\\.0"`, `"triton==${triton.oldest}.0"`],
    [`"triton>=${V},<${V}"`, `"triton>=${triton.newest},<${following(triton.newest)}"`],
  ],
};

/** For each file with versions, a function that writes them into its text. */
export const withVersions: Readonly<Record<string, (text: string) => string>> = Object.fromEntries(
  Object.entries(texts).map(([file, entries]) => [
    file,
    (before) =>
      entries.reduce((text, [pattern, replacement]) => {
        if (!new RegExp(pattern).test(text)) throw new Error(`${file} has no text like ${pattern}`);
        return text.replaceAll(new RegExp(pattern, "g"), () => replacement);
      }, before),
  ]),
);
