/** Mistakes that users make, each with what they are told: what the tables of this folder hold. */

export interface Mistake {
  readonly title: string;
  /** What follows `tilescript`, separated by spaces; `FILE` is the kernel file. */
  readonly args: string;
  /** The kernel file; the sum of two vectors where it does not matter. */
  readonly file?: string;
  /** Other files by their path. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Told by a process of its own, since the mistake ends the process or is about its streams. The rest share a few. */
  readonly process?: true;
  readonly code: 0 | 1 | 2 | 3;
  /** A part of the message: what is wrong and what to do. */
  readonly says: string;
  /** The line of the kernel file that is named. */
  readonly line?: number;
}

/** Parts of a kernel file that a mistake replaces. */
interface Parts {
  readonly imports?: string;
  readonly name?: string;
  readonly params?: string;
  readonly spec?: string;
  readonly grid?: string;
  readonly config?: string;
  readonly reference?: string;
  readonly body?: string;
  readonly after?: string;
}

/** `z = x + y` with parts of it replaced. */
export function add({
  imports = `import { constexpr, kernel, tensor, tl } from "tilescript";`,
  name = "add",
  params = `x: tensor(tl.float32, ["N"]), y: tensor(tl.float32, ["N"]), z: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(),`,
  grid = "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
  config = "{ BLOCK: 64 }",
  spec = "",
  reference = "({ x, y }) => x.add(y)",
  body = "tl.store(z.at(i), tl.load(x.at(i)).add(tl.load(y.at(i))));",
  after = "",
}: Parts = {}): string {
  return `${imports}

export const add = kernel(
  ${JSON.stringify(name)},
  {
    params: { ${params} },
    grid: ${grid},
    config: ${config},
    reference: ${reference},
    ${spec}
  },
  ({ x, y, z, N, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    ${body}
  },
);
${after}
`;
}

export const evaluated = "run FILE --device eval";
