// Small pictures of all layers and heads of a kind, of which one is chosen.

import { weightColour } from "./colours.js";
import { element } from "./dom.js";

const LARGEST = 72;

/**
 * Fill a box with a button for each layer and head of the kind that is shown, all loaded. A button
 * that has the focus is replaced by one that has it.
 */
export function showHeads(box, maps, state, choose) {
  const shown = maps.view(state);
  const [layers, heads] = maps.shape(shown.kind);
  const rows = [];
  for (let layer = 1; layer <= layers; layer++) {
    const row = element("div", { class: "heads-row" }, element("span", {}, `layer ${layer}`));
    for (let head = 1; head <= heads; head++) {
      const view = maps.view({ ...state, kind: shown.kind, layer, head });
      const isChosen = shown.layer === layer && shown.head === head;
      row.append(
        element(
          "button",
          {
            type: "button",
            "aria-label": `layer ${layer}, head ${head}`,
            "aria-pressed": String(isChosen),
            onclick: () => choose(layer, isChosen ? "mean" : head),
          },
          picture(view),
        ),
      );
    }
    rows.push(row);
  }
  const focused = box.contains(document.activeElement)
    ? document.activeElement.getAttribute("aria-label")
    : null;
  box.replaceChildren(...rows);
  if (focused) box.querySelector(`[aria-label="${focused}"]`)?.focus({ preventScroll: true });
}

function picture(view) {
  const rows = view.queries.length;
  const columns = view.keys.length;
  const canvas = element("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  view.weights.forEach((weight, i) => {
    image.data.set(weightColour(weight).rgba, 4 * i);
  });
  context.putImageData(image, 0, 0);
  const scale = LARGEST / Math.max(rows, columns);
  canvas.style.width = `${Math.max(8, columns * scale)}px`;
  canvas.style.height = `${Math.max(8, rows * scale)}px`;
  return canvas;
}
