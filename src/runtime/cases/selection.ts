/** What the user fixed on the command line. */
export interface Selection {
  readonly sizes?: Readonly<Record<string, number>>;
  /** Only with sizes. */
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly config?: number;
  readonly seed: number;
}
