"""How bench/gallery.py goes on: parts are kept only of equal device, versions and kernels."""


def begin(kept, facts, kernels):
    """What was measured before of the kernels as they are. Raises where it is of another device or other versions."""
    if kept is None:
        return facts | {"parts": {}, "rows": [], "ratios": []}
    for key, value in facts.items():
        if kept.get(key) != value:
            before = f"what was measured before is of {key} {kept.get(key)}"
            raise ValueError(f"{before}, and this is {value}: write another file")
    parts = {part: found for part, found in kept["parts"].items() if kernels.get(part) == found["kernels"]}
    figures = {key: [row for row in kept[key] if row["part"] in parts] for key in ("rows", "ratios")}
    return facts | {"parts": parts} | figures


def left(result, kernels):
    """The parts that are still to measure."""
    return [part for part in kernels if part not in result["parts"]]


def replace(result, part, about, measured):
    """Puts the figures of a part, which was measured to its end, in the place of earlier ones."""
    result["parts"][part] = about
    for key in ("rows", "ratios"):
        others = [row for row in result[key] if row["part"] != part]
        result[key] = others + [row for row in measured if ("ratio" in row) == (key == "ratios")]
