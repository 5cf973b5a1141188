/** Parts of a text between `<!-- begin NAME -->` and `<!-- end -->`, which are filled in. */

/** The text with its marked parts filled in. An empty part leaves only its marks. */
export const fillMarkedParts = (text: string, parts: Readonly<Record<string, string>>): string =>
  text.replace(/<!-- begin (\S+) -->\n[^]*?<!-- end -->/g, (_, name: string) => {
    const part = parts[name]?.trim();
    if (part === undefined) throw new Error(`no part is called ${name}`);
    return `<!-- begin ${name} -->\n${part && `\n${part}\n\n`}<!-- end -->`;
  });
