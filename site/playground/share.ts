/** A text in a link: deflated, in URL-safe base64. */

const MARK = "#text=";

export async function linkTo(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return MARK + base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text of a link; undefined if the link has none or a broken one. */
export async function textOf(hash: string): Promise<string | undefined> {
  if (!hash.startsWith(MARK)) return undefined;
  try {
    const base64 = hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await new Response(stream).text();
  } catch {
    return undefined;
  }
}
