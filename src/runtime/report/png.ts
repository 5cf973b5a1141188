/** Converts SVG to PNG with the installed renderer. */

/** PNG pixels per SVG pixel, for high-density screens. */
const ZOOM = 2;

/** Returns the PNG, or the reason why it cannot be created. */
export async function pngOf(svg: string): Promise<Uint8Array | string> {
  let resvg: typeof import("@resvg/resvg-js");
  try {
    resvg = await import("@resvg/resvg-js");
  } catch {
    return "it needs @resvg/resvg-js; `npm install @resvg/resvg-js` installs it";
  }
  const render = (text: string, zoom: number) =>
    new resvg.Resvg(text, { fitTo: { mode: "zoom", value: zoom }, font: { loadSystemFonts: true } });
  const sample =
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9" font-family="sans-serif">a</text></svg>';
  if (!render(sample, 1).innerBBox())
    return "this machine has no font; make it elsewhere, with `tilescript plot` of the JSON";
  return render(svg, ZOOM).render().asPng();
}
