/** The table of `docs/browser.md`: the size and speed of the site, from the results of `npm run bench -- site`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { captioned, loadSentence, tableLines } from "./markdown-table.js";
import type { SiteReport } from "../bench/site.js";

export function siteTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/site.json");
  const { date, machine, chromium, loadBefore, build, site, playground } = JSON.parse(
    readFileSync(file, "utf8"),
  ) as SiteReport;
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const size = (bytes: number): string =>
    bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e3)} kB`;
  const range = ({ median, least, most }: SiteReport["playground"]["firstPython"]): string =>
    `${seconds(median)} (${seconds(least)} to ${seconds(most)})`;
  const rows = [
    ["`npm run site`", seconds(build.milliseconds)],
    [`all ${site.files} files`, `${size(site.bytes)}, gzipped ${size(site.gzipped)}`],
    ["playground download, gzipped", size(playground.gzipped)],
    ["time until the playground shows Python", range(playground.firstPython)],
    ["time until it shows a type under the pointer", range(playground.firstHover)],
  ];
  const caption = `Medians of ${playground.rounds} visits with an empty cache, on ${machine.cores} cores (${machine.processor}), ${chromium}, ${date}. ${loadSentence(loadBefore)}`;
  return captioned(caption, tableLines(["measure", "value"], rows));
}
