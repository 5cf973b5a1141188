/** The script of each page: the theme, the menu of narrow windows, search, and the marks of corresponding lines. */
import MiniSearch from "minisearch";

const root = new URL(document.documentElement.dataset["root"] ?? "./", location.href);
const byId = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;

byId("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  dataset["theme"] = dataset["theme"] === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", dataset["theme"]);
  } catch {
    // Without storage, the choice is lost.
  }
  document.dispatchEvent(new Event("themechange"));
});

byId("menu-button").addEventListener("click", ({ currentTarget }) => {
  const isOpen = document.body.classList.toggle("menu-open");
  (currentTarget as HTMLElement).setAttribute("aria-expanded", String(isOpen));
});

interface SearchMatch {
  readonly title: string;
  readonly page: string;
  readonly path: string;
}

let index: Promise<MiniSearch> | undefined;
const input = byId<HTMLInputElement>("search");
const list = byId<HTMLUListElement>("found");

async function search(): Promise<void> {
  index ??= fetch(new URL("search.json", root)).then(async (answer) =>
    MiniSearch.loadJSON(await answer.text(), {
      fields: ["title", "text", "keywords"],
      storeFields: ["title", "page", "path"],
    }),
  );
  const matches = (await index).search(input.value, {
    prefix: true,
    fuzzy: 0.1,
    boost: { title: 3, keywords: 3 },
    // A page about the word comes before sections that mention it.
    boostDocument: (_, __, fields) => (fields?.["page"] === "Op" ? 3 : 1),
  }) as unknown as readonly SearchMatch[];
  const items = matches.slice(0, 12).map(({ title, page, path }) => {
    const link = document.createElement("a");
    link.href = new URL(path, root).href;
    const pageLabel = document.createElement("small");
    pageLabel.textContent = page;
    link.append(title, pageLabel);
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (items.length === 0) {
    const emptyItem = document.createElement("li");
    emptyItem.textContent = "Nothing found.";
    items.push(emptyItem);
  }
  list.replaceChildren(...items);
  list.hidden = input.value.trim() === "";
}

input.addEventListener("input", () => void search());
input.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") list.querySelector("a")?.click();
  if (key === "ArrowDown") list.querySelector("a")?.focus();
});
document.addEventListener("keydown", ({ key, target }) => {
  if (key === "Escape") list.hidden = true;
  const isWriting = (target as HTMLElement).closest("input, textarea, select, .monaco-editor");
  if (key === "/" && !isWriting) setTimeout(() => input.focus());
});
document.addEventListener("click", ({ target }) => {
  if (!(target as HTMLElement).closest(".search")) list.hidden = true;
});

/** A button on each block of code that copies it. */
for (const block of document.querySelectorAll<HTMLElement>("pre.shiki")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the code");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(textToCopy(block));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, button);
}

/** The code, or the commands of a console session without their output. */
function textToCopy(block: HTMLElement): string {
  const text = block.querySelector("code")!.textContent ?? "";
  const commands = text.split("\n").filter((line) => line.startsWith("$ "));
  return commands.length > 0 ? commands.map((line) => line.slice(2)).join("\n") : text;
}

/** Two languages side by side: scrolls to the kernel of the Python module, and marks lines with the same origin. */
for (const pair of document.querySelectorAll<HTMLElement>(".pair")) {
  const python = pair.querySelector<HTMLElement>("figure:last-child pre")!;
  const start = Array.from(python.querySelectorAll<HTMLElement>(".line")).find((line) =>
    /^@triton\.(jit|autotune)/.test(line.textContent ?? ""),
  );
  if (start) python.scrollTop = start.getBoundingClientRect().top - python.getBoundingClientRect().top - 8;
  pair.addEventListener("mouseover", ({ target }) => {
    const line = (target as HTMLElement).closest<HTMLElement>("[data-line]")?.dataset["line"];
    for (const lineElement of pair.querySelectorAll<HTMLElement>("[data-line]"))
      lineElement.classList.toggle("linked-line", line !== undefined && lineElement.dataset["line"] === line);
  });
}

/** The type of the name under the pointer. */
const hover = document.createElement("div");
hover.id = "hover";
hover.hidden = true;
document.body.append(hover);
document.addEventListener("mouseover", ({ target }) => {
  const name = (target as HTMLElement).closest<HTMLElement>("[data-words]");
  hover.hidden = !name;
  if (!name) return;
  hover.textContent = name.dataset["words"]!;
  const { left, bottom, top } = name.getBoundingClientRect();
  hover.style.left = `${Math.max(4, Math.min(left, innerWidth - hover.offsetWidth - 8))}px`;
  hover.style.top = `${bottom + hover.offsetHeight + 8 > innerHeight ? top - hover.offsetHeight - 4 : bottom + 4}px`;
});
