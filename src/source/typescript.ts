/**
 * The TypeScript compiler that parses the author's files. On Node it is the one of ts-morph; the bundle of a page
 * takes its editor's in place of this file.
 */
export { ts } from "@ts-morph/common";
