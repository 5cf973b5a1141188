/** Draws a picture with elements of the page. Whatever the data contains, it becomes attributes and text. */
import { DRAWING_STYLE, type Drawing, type Shape } from "../../src/visualize/panels.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

function svgElement(name: string, attributes: Readonly<Record<string, unknown>>, text?: string): SVGElement {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [attribute, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(attribute, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

export function elementOf({ title, width, height, shapes }: Drawing): SVGElement {
  const box = { viewBox: `0 0 ${Number(width)} ${Number(height)}`, width, height };
  const svg = svgElement("svg", { class: "tilescript-picture", role: "img", "aria-label": title, ...box });
  svg.append(svgElement("style", {}, DRAWING_STYLE), ...shapes.map(shapeElement));
  return svg;
}

function shapeElement(shape: Shape): SVGElement {
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height, className, opacity, tooltip } = shape;
      const rect = svgElement("rect", { x, y, width, height, class: className, opacity });
      if (tooltip !== undefined) rect.append(svgElement("title", {}, tooltip));
      return rect;
    }
    case "path":
      return svgElement("path", { class: shape.className, d: shape.commands });
    case "text":
      return svgElement("text", { x: shape.x, y: shape.y, class: shape.className }, shape.text);
    case "group": {
      const group = svgElement("g", { transform: `translate(${Number(shape.x)} ${Number(shape.y)})` });
      group.append(...shape.shapes.map(shapeElement));
      return group;
    }
    default:
      return shape satisfies never;
  }
}
