/** What a mistake of the catalog is: what an author wrote, and the nearest text that is right. */
export interface Mistake {
  readonly title: string;
  readonly wrong: string;
  readonly right: string;
}
export interface Chapter {
  readonly title: string;
  /** `lines` stand in the setting's body; `kernels` are programs of their own. */
  readonly of: "lines" | "kernels";
  readonly mistakes: readonly Mistake[];
}

export const mistake = (title: string, wrong: string, right: string): Mistake => ({ title, wrong, right });
