/** The pages of the site, in the order of its menu. The texts are in `docs`; this list only assigns them to pages. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

export interface Page {
  /** The path below the site, without `.html`. */
  readonly path: string;
  readonly title: string;
  /** The Markdown file, from the root of the repository. */
  readonly source: string;
}

export interface Group {
  readonly title: string;
  readonly pages: readonly Page[];
}

const page = (path: string, title: string, source = `docs/${path}.md`): Page => ({ path, title, source });

const plannedGroups: readonly Group[] = [
  {
    title: "Start",
    pages: [
      page("overview", "Overview", "README.md"),
      page("install", "Install"),
      page("first-kernel", "First kernel in 15 minutes"),
      page("fused-op", "First fused op in a model"),
      page("port-a-kernel", "Port a Triton kernel"),
      page("make-it-fast", "Make it fast"),
      page("prove-it", "Prove it"),
      page("from-triton", "From Triton"),
      page("import", "Import Triton's Python"),
      page("when-not-to-write-a-kernel", "When not to write a kernel"),
    ],
  },
  {
    title: "Guides",
    pages: [
      page("types-and-masks", "Types and masks"),
      page("editors", "Editors"),
      page("debugging", "Debugging"),
      page("testing", "Testing and running"),
      page("performance", "Performance, tuning, profiling"),
      page("warp-specialization", "Warp specialization on Hopper"),
      page("operators", "Shipping: operators and packages"),
      page("devices", "Several GPUs, other machines"),
      page("proofs", "Proofs"),
      page("tilescript-for-agents", "For coding agents"),
    ],
  },
  {
    title: "Reference",
    pages: [
      page("spec", "Params and spec"),
      page("language", "Language"),
      page("cli", "Command line"),
      page("diagnostics", "Diagnostics"),
      page("browser", "In a browser"),
      page("architecture", "Architecture"),
    ],
  },
];

const root = resolve(import.meta.dirname, "..");

/** Pages without a text are omitted. */
export const groups: readonly Group[] = plannedGroups.map((group) => ({
  ...group,
  pages: group.pages.filter(({ source }) => existsSync(resolve(root, source))),
}));
