/** A word of a command line that a user copies into a shell: as it is, or between quotes. */
export function shellWord(text: string): string {
  return /^(?!~)[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
