// The page: reads its data, shows what the state says, and writes the state into the address.

import { readColours } from "./colours.js";
import { element } from "./dom.js";
import { List } from "./list.js";
import { Maps } from "./maps.js";
import { Panel } from "./panel.js";
import { fromFragment, toFragment } from "./state.js";

const KEPT = 24; // sentences whose numbers stay unpacked

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const unpacked = new Map();
let state = fromFragment(location.hash, data.sentences.length);
let width = 0; // of the panels
let shown = null; // the index of the sentence in the panels
let ticket = 0; // of the last call of show
let rewriting = null; // the timer of an address that could not be written

/** Return the maps of a sentence by run (null where it is blank), of which a part is loaded. */
async function mapsOf(index, choice) {
  if (!unpacked.has(index)) {
    const all = data.sentences[index].runs.map((read, run) =>
      read ? new Maps(read, byId(`weights-${index}-${run}`).textContent) : null,
    );
    unpacked.set(index, all);
    if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
  }
  const maps = unpacked.get(index);
  await Promise.all(maps.map((each) => each?.load(choice)));
  return maps;
}

const list = new List(data.sentences, byId("list"), byId("count"), (index) =>
  change({ sentence: index, word: "" }),
);
const panels = data.runs.map(
  (run, number) =>
    new Panel(
      run,
      number,
      (word) => hold(number, word),
      (layer, head) => change({ layer, head }),
    ),
);
byId("panels").replaceChildren(...panels.map((panel) => panel.box));
byId("panels").classList.toggle("several", panels.length > 1);
document.body.classList.toggle("single", data.sentences.length === 1);

function hold(run, word) {
  let name = "";
  if (word) name = "query" in word ? `${run}q${word.query}` : `${run}k${word.key}`;
  state = { ...state, word: name };
  writeAddress();
  panels.forEach((panel, number) => {
    if (number !== run) panel.letGo();
  });
}

function heldIn(run) {
  const [, number, side, index] = /^(\d+)([qk])(\d+)$/.exec(state.word) ?? [];
  if (Number(number) !== run) return null;
  return side === "q" ? { query: Number(index) } : { key: Number(index) };
}

/** Write the state into the address. Browsers limit how often; then it is written later. */
function writeAddress() {
  clearTimeout(rewriting);
  const fragment = toFragment(state);
  const address = fragment ? `#${fragment}` : location.pathname + location.search;
  try {
    history.replaceState(null, "", address);
  } catch {
    rewriting = setTimeout(writeAddress, 1000);
  }
}

async function change(changes) {
  state = { ...state, ...changes };
  writeAddress();
  if ("sort" in changes || "search" in changes) {
    list.arrange(state);
    document.body.dataset.shown = toFragment(state) || "start";
  } else {
    await show();
  }
}

async function show() {
  const own = ++ticket;
  const maps = await mapsOf(state.sentence, state);
  if (own !== ticket) return; // another sentence or map has been chosen meanwhile
  if (shown !== state.sentence) {
    shown = state.sentence;
    list.choose(shown);
    byId("position").textContent = `${shown + 1} of ${data.sentences.length}`;
  }
  showControls(maps);
  panels.forEach((panel, run) => {
    panel.show(maps[run], { ...state, held: heldIn(run) });
  });
  document.body.dataset.shown = toFragment(state) || "start";
  performance.mark("shown");
}

function showControls(maps) {
  const there = maps.filter(Boolean);
  const kinds = ["cross", "encoder", "decoder", "stack"].filter((kind) =>
    there.some((each) => each.kinds.includes(kind)),
  );
  const shapes = there.map((each) =>
    each.shape(each.kinds.includes(state.kind) ? state.kind : "cross"),
  );
  const layers = Math.max(1, ...shapes.map((shape) => shape[0]));
  const heads = Math.max(1, ...shapes.map((shape) => shape[1]));
  for (const input of document.querySelectorAll("input[name=kind]")) {
    input.parentElement.hidden = !kinds.includes(input.value);
  }
  const isExplained = state.tab === "explain" && !byId("tabs").hidden;
  for (const id of ["units", "graphics", "legend"]) byId(id).hidden = isExplained;
  byId("kinds").hidden = kinds.length < 2 || isExplained;
  fill(byId("layer"), layers, [["0", "last"]], String(state.layer));
  fill(
    byId("head"),
    heads,
    [
      ["mean", "mean"],
      ["max", "maximum"],
    ],
    String(state.head),
  );
  byId("layers").hidden = layers < 2 || isExplained;
  byId("head-choice").hidden = heads < 2 || isExplained;
  for (const name of ["kind", "graphic", "tab"]) check(name, state[name]);
  check("unit", state.pieces ? "pieces" : "words");
  byId("sort").value = state.sort;
  if (byId("search").value !== state.search) byId("search").value = state.search;
}

function fill(select, count, first, value) {
  const numbers = Array.from({ length: count }, (_, i) => [String(i + 1), String(i + 1)]);
  const options = [...first, ...numbers];
  if (select.options.length !== options.length) {
    select.replaceChildren(
      ...options.map(([key, text]) => element("option", { value: key }, text)),
    );
  }
  select.value = value;
  if (select.selectedIndex < 0) select.selectedIndex = options.length - 1;
}

function check(name, value) {
  const input = document.querySelector(`input[name=${name}][value=${value}]`);
  if (input) input.checked = true;
}

function on(id, type, listener) {
  byId(id)?.addEventListener(type, listener);
}

for (const name of ["kind", "graphic", "tab"]) {
  for (const input of document.querySelectorAll(`input[name=${name}]`)) {
    input.addEventListener("change", () => change({ [name]: input.value, word: "" }));
  }
}
for (const input of document.querySelectorAll("input[name=unit]")) {
  input.addEventListener("change", () => change({ pieces: input.value === "pieces", word: "" }));
}
on("layer", "change", (event) => change({ layer: Number(event.target.value) }));
on("head", "change", ({ target }) =>
  change({ head: /^\d+$/.test(target.value) ? Number(target.value) : target.value }),
);
on("sort", "change", (event) => change({ sort: event.target.value }));
on("search", "input", (event) => change({ search: event.target.value }));
for (const [id, steps] of [
  ["before", -1],
  ["after", 1],
]) {
  on(id, "click", () => {
    const next = list.after(state.sentence, steps);
    if (next !== null) change({ sentence: next, word: "" });
  });
}
on("link", "click", async () => {
  const said = byId("link-said");
  try {
    await navigator.clipboard.writeText(location.href);
    said.textContent = "Copied.";
  } catch {
    said.textContent = "The address of this page is the link.";
  }
});
on("theme", "click", () => {
  const isDark =
    getComputedStyle(document.documentElement).colorScheme === "dark" ||
    (!document.documentElement.style.colorScheme &&
      matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.style.colorScheme = isDark ? "light" : "dark";
  redraw();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.word) change({ word: "" });
});
addEventListener("hashchange", () => {
  state = fromFragment(location.hash, data.sentences.length);
  list.arrange(state);
  show();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width === width) return;
  width = contentRect.width;
  requestAnimationFrame(redrawPanels);
}).observe(byId("panels"));

function redraw() {
  readColours();
  redrawPanels();
}

function redrawPanels() {
  for (const panel of panels) panel.redraw();
}

readColours();
list.arrange(state);
show();

// For the console: await attentionOf(0, { kind: "cross", layer: 1, head: "mean", pieces: false })
window.attentionOf = async (sentence, choice) => {
  const maps = await mapsOf(sentence, choice);
  return maps.map((each) => each?.view(choice));
};
