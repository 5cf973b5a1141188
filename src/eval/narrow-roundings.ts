/** Roundings that a kernel's author did not declare: lower than the inputs, the outputs and the reference. */
import type {
  CompiledKernel,
  Evaluation,
  Finding,
  GivenTolerance,
  RoundingProfile,
  TestCase,
} from "../compiled/compiled-kernel.js";
import { isDeclaredRounding, roundoffOf, widestDeclared, declaredToleranceFor } from "../compiled/tolerance.js";
import { narrowRounding, type RoundedOutputs } from "../diagnostics/catalog/finding-codes.js";
import { formatLocation } from "../diagnostics/diagnostic.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { bitsOf, isFloat } from "../numerics/numeric.js";
import { isExactlyRepresentable } from "../numerics/numeric-float.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import type { RoundingSite } from "../analysis/rounding-sites.js";
import { Bindings, launchOf } from "./bindings.js";
import { constantsAt } from "./refusal.js";
import { reachedStatements } from "../analysis/compiled-ops.js";

/**
 * The findings of a case, which its dtypes, its constexprs and the declared tolerances determine. Without a reference
 * there are none, because nothing claims that the outputs are right.
 */
export function narrowRoundingsOf(
  face: KernelIR,
  profile: RoundingProfile,
  listSites: () => readonly RoundingSite[],
): CompiledKernel["narrowRoundings"] {
  let sites: readonly RoundingSite[] | undefined;
  return (testCase, override = {}) => {
    if (!face.reference) return [];
    sites ??= listSites();
    const { dtypes } = testCase;
    const tolerances = { ...face.tolerance, ...override };
    const bind = (elem: Elem): DTypeName =>
      typeof elem === "string" ? elem : ((dtypes[elem.name] ?? elem.members[0]) as DTypeName);
    const all = tensorsOf(face, "out", "inout").map(({ name, dtype }) => ({ name, dtype: bind(dtype) }));
    const floats = all.filter(({ dtype }) => isFloat(dtype));
    // Integers are compared exactly, so that they show by themselves what rounding does to them.
    const judged = floats.length > 0 ? floats : all;
    const outputs = judged.filter(({ name }) => !isToleranceDeclared(tolerances, name));
    const limits = floats.length > 0 ? "{ rtol: …, rms: … }" : "{ atol: 1 }";
    const found = sites.flatMap((site) => {
      const [dtype, { kind, from }] = [bind(site.elem), site];
      const source = typeof from === "object" || typeof from === "string" ? bind(from) : from;
      if (!isFloat(dtype) || (source !== undefined && isExactIn(source, dtype))) return [];
      const sort = kind === "sum" || kind === "carried" ? "sum" : "value";
      const affected = outputs.filter((output) => !isDeclaredRounding(sort, dtype, output.dtype, profile, dtypes));
      return affected.length === 0 ? [] : [{ site, dtype, names: affected.map(({ name }) => name) }];
    });
    if (found.length === 0) return [];
    const isReached = reachedBy(face, testCase);
    const findings = new Map<string, Finding>();
    for (const { site, dtype, names } of found) {
      const key = site.at ? formatLocation(site.at) : `${site.kind} ${site.subject}`;
      if (isReached(site) && !findings.has(key))
        findings.set(key, findingOf(site, dtype, widestDeclared(profile, dtypes), { names, limits }));
    }
    return [...findings.values()];
  };
}

/**
 * Triton compiles only the branch of a constexpr that the case takes. Which ones the kernels of an operator take, whose
 * own body is empty, is not known here.
 */
function reachedBy(face: KernelIR, testCase: TestCase): (site: RoundingSite) => boolean {
  if (face.body.statements.length === 0) return () => true;
  const bindings = new Bindings(face, launchOf(face, testCase));
  const constants = constantsAt({ ir: face, testCase, bindings }, (elem) => bindings.dtype(elem));
  const reached = new Set(reachedStatements(face, constants));
  return ({ statement }) => statement === undefined || reached.has(statement);
}

/** Findings of a comparison. Without one, the case says what is missing. */
export function withFindings(evaluation: Evaluation, findings: readonly Finding[]): Evaluation {
  if (findings.length === 0 || !evaluation.comparison) return evaluation;
  return { ...evaluation, findings: [...evaluation.findings, ...findings] };
}

function findingOf({ kind, subject, at }: RoundingSite, dtype: string, wide: string, outputs: RoundedOutputs): Finding {
  const [narrow, wanted] = [`tl.${dtype}`, `tl.${wide}`];
  const message =
    kind === "carried"
      ? narrowRounding.carried(narrow, wanted, outputs)
      : narrowRounding[kind](subject, narrow, wanted, outputs);
  return { code: message.code, message: message.text, remedy: message.remedy, at, program: [], lane: [] };
}

/** True if the author or the caller states how far this output may be off. */
function isToleranceDeclared(tolerances: GivenTolerance, output: string): boolean {
  const { rtol, atol, rms } = declaredToleranceFor(tolerances, output);
  return [rtol, atol, rms].some((limit) => limit !== undefined);
}

/** True if every number of a dtype, or this number, is one of `dtype` too. */
function isExactIn(from: DTypeName | number, dtype: DTypeName): boolean {
  if (typeof from === "number") return isExactlyRepresentable(dtype, from);
  if (from === dtype) return true;
  if (!isFloat(from)) return bitsOf(from) <= 8 && bitsOf(dtype) >= 16;
  if (bitsOf(from) === 8) return bitsOf(dtype) >= 16;
  return bitsOf(dtype) > bitsOf(from) && roundoffOf(dtype) <= roundoffOf(from);
}
