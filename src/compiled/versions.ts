/**
 * The oldest and the newest PyTorch and Triton that were tested, and the versions of Python that have packages of both.
 * `npm run package -- lock` writes them into the files that name them.
 */

interface VersionRange {
  readonly oldest: string;
  readonly newest: string;
}

export const supportedVersions = {
  python: { oldest: "3.10", newest: "3.14" },
  torch: { oldest: "2.11", newest: "2.15" },
  triton: { oldest: "3.6", newest: "3.9" },
} as const satisfies Readonly<Record<string, VersionRange>>;

/** Orders versions by their first two numbers: 3.9 is before 3.10, and 3.9.1 equals 3.9. */
export function compareVersions(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = numbersOf(a);
  const [majorB = 0, minorB = 0] = numbersOf(b);
  return majorA - majorB || minorA - minorB;
}

/** The minor versions of a range, which has one major version: `3.6`, `3.7`, `3.8`, `3.9`. */
export function versionsIn({ oldest, newest }: VersionRange): readonly string[] {
  const [major = 0, first = 0] = numbersOf(oldest);
  const [, last = 0] = numbersOf(newest);
  return Array.from({ length: last - first + 1 }, (_, i) => `${major}.${first + i}`);
}

const numbersOf = (version: string): readonly number[] => version.split(".").map((part) => Number.parseInt(part, 10));

/** The requirements of a Python package, without versions that are not tested. */
export const requirements = { torch: requirementOf("torch"), triton: requirementOf("triton") };

function requirementOf(name: "torch" | "triton"): string {
  const { oldest, newest } = supportedVersions[name];
  return `${name}>=${oldest},<${following(newest)}`;
}

/** The next minor version. */
export function following(version: string): string {
  const [major = 0, minor = 0] = numbersOf(version);
  return `${major}.${minor + 1}`;
}

// Reserved namespaces of `torch.ops`.

/**
 * The namespaces of PyTorch's operators, other attributes of `torch.ops` (PyTorch 2.11 to 2.15), and `_`, which matches
 * all namespaces.
 */
const RESERVED: ReadonlySet<string> = new Set(
  (
    "_ _c10d_functional _c10d_functional_autograd _dir _dtensor _native _native_aot _quantized _test aten c10d coor cuda " +
    "debug_mode_ops debugprims export flex_gemm fsdp higher_order import_module inductor inductor_prims load_library " +
    "loaded_libraries mkl mkldnn mkldnn_prepacked onednn onnx prim prims profiler quantization quantized rngprims " +
    "sparse static static_runtime symm_mem"
  ).split(" "),
);

/** True if `torch.ops.NAME` belongs to PyTorch or to Python's module attributes, such as `__file__`. */
export const isTorchNamespace = (name: string): boolean => RESERVED.has(name) || /^__.*__$/.test(name);
