/** A picture as data. A page draws it with its own elements, so that no text of a kernel becomes HTML. */

export type Shape =
  | {
      readonly kind: "rect";
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
      readonly className: string;
      readonly opacity?: number;
      readonly tooltip?: string;
    }
  | { readonly kind: "path"; readonly className: string; readonly commands: string }
  | {
      readonly kind: "text";
      readonly x: number;
      readonly y: number;
      readonly text: string;
      readonly className?: string;
    }
  | { readonly kind: "group"; readonly x: number; readonly y: number; readonly shapes: readonly Shape[] };

export interface Drawing {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

/**
 * The palette of Okabe and Ito, which is distinguishable with color blindness. Text follows the reader's color scheme.
 */
export const DRAWING_STYLE = [
  ".tilescript-picture{color:#1f2328;font:11px ui-monospace,Menlo,Consolas,monospace}",
  "@media (prefers-color-scheme:dark){.tilescript-picture{color:#d5dae0}}",
  ".tilescript-picture text{fill:currentColor}.tilescript-picture .title{font-weight:bold;font-size:13px}",
  ".tilescript-picture .grid{stroke:currentColor;stroke-opacity:.16;stroke-width:.5;fill:none}",
  ".tilescript-picture .edge{stroke:currentColor;stroke-width:1;fill:none}",
  ".tilescript-picture .loaded{fill:#2f7fc1}.tilescript-picture .stored{fill:#e69f00}",
  ".tilescript-picture .both{fill:#b05fa3}.tilescript-picture .masked{fill:#8b929b;fill-opacity:.45}",
  ".tilescript-picture .refused{fill:#d4351c;stroke:currentColor;stroke-width:.8}",
  ...["#2f7fc1", "#e69f00", "#009e73", "#b05fa3", "#56b4e9", "#a6761d", "#66a61e", "#7570b3"].map(
    (color, i) => `.tilescript-picture .program${i}{fill:${color}}`,
  ),
  ".tilescript-picture .shared{fill:#6b7280}",
].join("");

/** The drawing as SVG text. */
export function svgOf({ title, width, height, shapes }: Drawing): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="tilescript-picture" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${DRAWING_STYLE}</style>`,
    ...shapes.map(elementText),
    "</svg>\n",
  ].join("\n");
}

function elementText(shape: Shape): string {
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height, className, opacity, tooltip } = shape;
      const tag = `<rect x="${x}" y="${y}" width="${width}" height="${height}" class="${className}"${opacity === undefined ? "" : ` opacity="${opacity}"`}`;
      return tooltip === undefined ? `${tag}/>` : `${tag}><title>${escape(tooltip)}</title></rect>`;
    }
    case "path":
      return `<path class="${shape.className}" d="${shape.commands}"/>`;
    case "text": {
      const { x, y, text, className } = shape;
      return `<text x="${x}" y="${y}"${className ? ` class="${className}"` : ""}>${escape(text)}</text>`;
    }
    case "group":
      return `<g transform="translate(${shape.x} ${shape.y})">${shape.shapes.map(elementText).join("")}</g>`;
    default:
      return shape satisfies never;
  }
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
