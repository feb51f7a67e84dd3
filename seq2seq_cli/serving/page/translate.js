// Translates while the user types, shows attention, and continues from alternatives.

import { Client } from "./client.js";
import { readColours } from "./colours.js";
import { element, focusMember, perCent, roving } from "./dom.js";
import { Matrix } from "./matrix.js";
import { described, Words } from "./words.js";

const PAUSE = 200; // milliseconds after the last key until the text is translated

const client = new Client();
const at = (id) => document.getElementById(id);
let directions = [];
let lines = []; // the shown translations
let shownText = ""; // the text that they translate
let shownDirection = ""; // the value of its control
let timer = null;
let seed = 0;

/** A sentence and its translation. Pointing at a word highlights the words of the other one. */
class Line {
  constructor(source, found) {
    this.source = source;
    this.text = found.text;
    const { attention } = found;
    this.attention = attention;
    this.box = element("div", { class: "line" });
    const note = found.cut ? [element("p", { class: "note" }, "The sentence was cut.")] : [];
    if (!attention) {
      this.box.append(element("p", { dir: "auto" }, found.text || "\u00a0"), ...note);
      return;
    }
    this.view = {
      keys: attention.source_words,
      queries: attention.target_words,
      weights: Float64Array.from(attention.weights.flat()),
      probabilities: attention.probabilities,
    };
    const point = (word, isClick) => this.point(word, isClick);
    this.queries = new Words("query", point, { "aria-haspopup": "dialog" });
    this.keys = new Words("key", point, {});
    this.queries.show(this.view, "Translation");
    this.keys.show(this.view, "Source");
    this.detail = element("p", { class: "detail idle", role: "status" });
    this.box.append(this.queries.box, this.keys.box, this.detail, ...note);
  }

  point(word, isClick) {
    this.queries.light(word);
    this.keys.light(word);
    this.detail.textContent = described(this.view, word);
    showMap(this, word);
    if (isClick && word && "query" in word) offer(this, word.query);
  }
}

let map = null;

function showMap(line, word) {
  at("map").hidden = false;
  map ??= new Matrix(at("map").querySelector(".graphic"), () => {});
  if (map.view !== line.view) map.show(line.view);
  map.light(word, word ?? {});
}

/** Offer alternatives to a word of a translation. */
function offer(line, index) {
  if (isOld()) return; // a newer text is being translated
  const box = at("alternatives");
  const button = line.queries.buttons[index];
  const { target_words: words, alternatives } = line.attention;
  const choices = alternatives[index].map(({ text, probability }) =>
    element(
      "button",
      {
        type: "button",
        tabindex: "-1",
        onclick: () => {
          closeAlternatives();
          translate({ line, index, prefix: [...words.slice(0, index), text].join(" ") });
        },
      },
      element("bdi", {}, `${text}…`),
      element("span", { class: "muted" }, perCent(probability)),
    ),
  );
  box.replaceChildren(...choices);
  if (!choices.length) box.append(element("p", { class: "muted" }, "No other word is likely."));
  box.hidden = false;
  const place = button.getBoundingClientRect();
  const most = document.documentElement.clientWidth - box.offsetWidth - 16;
  box.style.left = `${Math.max(8, Math.min(place.left, most)) + window.scrollX}px`;
  box.style.top = `${place.bottom + 4 + window.scrollY}px`;
  box.word = button;
  if (choices.length) focusMember(choices, 0);
  else box.focus();
}

/** Return whether the shown translations are about to be replaced. */
function isOld() {
  return at("results").classList.contains("old");
}

function closeAlternatives() {
  if (at("alternatives").hidden) return;
  at("alternatives").hidden = true;
  at("alternatives").word?.focus();
}

/** Return the keys of a request that the controls set. */
function options() {
  const { model, source, target } = directions[at("direction").value] ?? {};
  const chosen = { model, source, target, attention: true, n_best: 1 };
  if (!at("sample").checked) return { ...chosen, sample: false, beam: Number(at("beam").value) };
  const [temperature, topP] = ["temperature", "top-p"].map((id) => at(id).valueAsNumber);
  return { ...chosen, sample: true, beam: 1, seed, temperature, top_p: topP };
}

/** Translate the whole text, or only one line again, from the word `index` on, with a prefix. */
async function translate(continued = null) {
  const text = at("text").value;
  const direction = at("direction").value;
  const sources = continued ? [continued.line.source] : text.split("\n");
  if (!sources.some((text) => text.trim())) {
    client.running?.abort();
    show([]);
    return;
  }
  at("results").classList.add("old");
  if (!continued) at("alternatives").hidden = true;
  try {
    const prefix = continued?.prefix ?? "";
    const answer = await client.translate({ ...options(), text: sources, prefix });
    if (!answer) return;
    const made = answer.translations.map((found, i) => new Line(sources[i], found));
    if (continued) replace(continued, made[0]);
    else {
      show(made);
      [shownText, shownDirection] = [text, direction];
    }
  } catch (error) {
    const isCurrent = text === shownText && direction === shownDirection;
    if (continued || isCurrent) at("results").classList.remove("old");
    else show([]);
    at("key-label").hidden = at("key-label").hidden && error.status !== 401;
    say(error.message);
  }
}

/** Show the continued line instead of the earlier one, which may have the focus. */
function replace({ line, index }, made) {
  const hasFocus = line.box.contains(document.activeElement);
  show(
    lines.map((each) => (each === line ? made : each)),
    [made],
  );
  const buttons = made.queries?.buttons ?? [];
  if (hasFocus && buttons.length) focusMember(buttons, Math.min(index, buttons.length - 1));
}

/**
 * Show translations.
 * @param made all of them
 * @param changed those that screen readers announce
 */
function show(made, changed = made) {
  lines = made;
  at("results").classList.remove("old");
  at("results").replaceChildren(...lines.map((line) => line.box));
  at("alternatives").hidden = true;
  at("map").hidden = true;
  const first = lines.find((line) => line.view);
  if (first) showMap(first, null);
  say("");
  at("announced").textContent = changed.map((line) => line.text).join("\n");
  document.body.dataset.shown = Number(document.body.dataset.shown ?? 0) + 1;
}

function say(text) {
  at("said").textContent = text;
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(() => translate(), PAUSE);
}

/** Return the index of the opposite direction, of the same model if possible; -1 if none has it. */
function reversed() {
  const { model, source, target } = directions[at("direction").value] ?? {};
  const opposite = directions.filter((each) => each.source === target && each.target === source);
  return directions.indexOf(opposite.find((each) => each.model === model) ?? opposite[0]);
}

/** Show the controls that the chosen direction and search allow. */
function adapt() {
  at("swap").hidden = reversed() < 0;
  const samples = at("sample").checked;
  for (const each of document.querySelectorAll(".sampling")) each.hidden = !samples;
  at("beam").disabled = samples;
}

function swap() {
  at("direction").value = reversed();
  useDefaults();
  const isCurrent = at("text").value === shownText; // otherwise the new text would be lost
  if (lines.length && isCurrent) at("text").value = lines.map((line) => line.text).join("\n");
  adapt();
  translate();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(lines.map((line) => line.text).join("\n"));
    say("Copied.");
  } catch {
    say("The browser does not allow copying.");
  }
}

/** Set the controls to the run's config. A beam is at most the largest that the server allows. */
function useDefaults() {
  const { decoding } = directions[at("direction").value || 0];
  const allowed = Array.from(at("beam").options).filter((option) => !option.disabled);
  const beams = allowed.map((option) => Number(option.value));
  const known = beams.includes(decoding.beam);
  at("beam").value = String(known ? decoding.beam : Math.max(...beams));
  at("sample").checked = decoding.sample;
  if (decoding.sample) {
    at("temperature").value = decoding.temperature;
    at("top-p").value = decoding.top_p;
  }
}

async function readModels() {
  try {
    const { models, limits } = await client.models();
    const several = models.length > 1;
    directions = models.flatMap(({ name, directions: found, decoding }) =>
      found.map((each) => ({ ...each, model: name, decoding })),
    );
    const labels = directions.map(
      ({ source, target, model }) => `${source} → ${target}${several ? ` (${model})` : ""}`,
    );
    at("direction").replaceChildren(
      ...labels.map((label, i) => element("option", { value: String(i) }, label)),
    );
    for (const beam of new Set(directions.map(({ decoding }) => String(decoding.beam)))) {
      const known = Array.from(at("beam").options, ({ value }) => value);
      if (!known.includes(beam)) at("beam").append(element("option", { value: beam }, beam));
    }
    for (const option of at("beam").options) option.disabled = option.value > limits.hypotheses;
    useDefaults();
    adapt();
    say("");
  } catch (error) {
    at("key-label").hidden = error.status !== 401;
    say(error.message);
  }
}

/** Return the text after # in the address. */
function textOfAddress() {
  const written = location.hash.slice(1);
  try {
    return decodeURIComponent(written);
  } catch {
    return written; // it contains a % that does not begin an escape sequence
  }
}

function theme() {
  const root = document.documentElement;
  const isDark = root.style.colorScheme
    ? root.style.colorScheme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = isDark ? "light" : "dark";
  paint();
}

function paint() {
  readColours();
  if (map && !at("map").hidden) map.show(map.view);
}

at("text").addEventListener("input", later);
for (const id of ["direction", "beam", "sample", "temperature", "top-p"]) {
  at(id).addEventListener("change", () => {
    if (id === "direction") useDefaults();
    adapt();
    translate();
  });
}
at("swap").addEventListener("click", swap);
at("copy").addEventListener("click", copy);
at("theme").addEventListener("click", theme);
at("again").addEventListener("click", () => {
  seed += 1;
  translate();
});
at("key").addEventListener("change", async () => {
  client.key = at("key").value;
  await readModels();
  translate();
});
roving(at("alternatives"), "button");
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeAlternatives();
});
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("#alternatives, .strip.query")) at("alternatives").hidden = true;
});
window.addEventListener("resize", paint);
window.addEventListener("hashchange", () => {
  at("text").value = textOfAddress();
  translate();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
readColours();
at("text").value = textOfAddress();
readModels().then(() => {
  document.body.dataset.shown ??= "0";
  document.body.dataset.loaded = "yes";
  if (at("text").value) translate();
});
