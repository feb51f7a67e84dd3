// The words of a sentence as buttons, which light each other by their weights.

import { weightColour } from "./colours.js";
import { element, isolated, perCent, roving } from "./dom.js";

const FAINTEST = 0.01;
const UNSURE = 0.5; // the probability below which a word is marked
const SPECIAL = /^<(s|\/s|unk|2[^<>\s]+)>$/; // <2de> is a tag

/** A line of words: the queries or the keys of a map. */
export class Words {
  /**
   * @param side "query" or "key"
   * @param onPoint called with the word ({query: i} or {key: i}, or null) and whether it is clicked
   * @param attributes of each button. Words that can be held are toggle buttons
   */
  constructor(side, onPoint, attributes = { "aria-pressed": "false" }) {
    this.side = side;
    // Copied for each word, which is faster than making each anew.
    this.plain = element("button", {
      type: "button",
      class: "word",
      tabindex: "-1",
      ...attributes,
    });
    this.name = element("span", { class: "strip-name" });
    this.line = element("div", { class: "words", dir: "auto" });
    this.box = element("div", { class: `strip ${side}`, role: "group" }, this.name, this.line);
    roving(this.line, "button");
    const wordOf = (event) => {
      const button = event.target.closest("button");
      return button ? { [side]: button.index } : null;
    };
    this.line.addEventListener("pointerover", (event) => onPoint(wordOf(event), false));
    this.line.addEventListener("pointerleave", () => onPoint(null, false));
    this.line.addEventListener("focusin", (event) => onPoint(wordOf(event), false));
    this.line.addEventListener("focusout", () => onPoint(null, false));
    this.line.addEventListener("click", (event) => {
      const word = wordOf(event);
      if (word) onPoint(word, true);
    });
  }

  /**
   * Show the words of a map.
   *
   * @param view the map
   * @param label the text before the words
   */
  show(view, label) {
    const texts = this.side === "query" ? view.queries : view.keys;
    const probabilities = this.side === "query" ? view.probabilities : [];
    this.name.textContent = label;
    this.box.setAttribute("aria-label", label);
    this.view = view;
    if (this.texts === texts) return; // the same words, of another layer or head
    this.texts = texts;
    this.buttons = texts.map((text, index) => {
      const button = this.plain.cloneNode(false);
      button.index = index;
      button.append(...spaced(text));
      const probability = probabilities[index];
      if (typeof probability === "number" && probability < UNSURE) button.classList.add("unsure");
      if (SPECIAL.test(text)) {
        button.classList.add("special");
        button.dir = "ltr"; // so it does not decide about the direction of the line
      }
      if (index === 0) button.tabIndex = 0;
      return button;
    });
    this.isLit = false;
    this.line.replaceChildren(...this.buttons);
  }

  /**
   * Colour the words by their weights to the active word, and mark that word.
   *
   * @param active the word
   * @param held the word that is held, or null; undefined if words cannot be held
   */
  light(active, held) {
    if (!active && !this.isLit) return;
    this.isLit = Boolean(active);
    const { side, view } = this;
    const other = side === "query" ? "key" : "query";
    const columns = view.keys.length;
    let most = FAINTEST;
    let best = null;
    this.buttons.forEach((button, i) => {
      let weight = 0;
      if (active && other in active && !(side in active)) {
        const index = side === "key" ? active.query * columns + i : i * columns + active.key;
        weight = view.weights[index];
      }
      const isLit = weight >= FAINTEST;
      if (weight > most) [most, best] = [weight, button];
      const colour = isLit ? weightColour(weight) : null;
      button.style.backgroundColor = colour ? colour.fill : "";
      button.style.color = colour ? colour.text : "";
      button.dataset.weight = isLit ? perCent(weight) : "";
      const isActive = active?.[side] === i;
      button.classList.toggle("active", isActive);
      if (held !== undefined) button.setAttribute("aria-pressed", String(held?.[side] === i));
      if (isActive && !this.line.matches(":hover")) best = button;
    });
    if (best) reveal(this.line, best);
  }
}

/** Return a piece with its space, written as ▁, in a fainter colour. */
function spaced(text) {
  if (!text.startsWith("▁") || text === "▁") return [text];
  return [element("span", { class: "space" }, "▁"), text.slice(1)];
}

/** Scroll a long line of words so that one of them is seen. */
function reveal(line, button) {
  if (line.scrollHeight <= line.clientHeight) return;
  const [box, word] = [line.getBoundingClientRect(), button.getBoundingClientRect()];
  if (word.top < box.top || word.bottom > box.bottom) line.scrollTop += word.top - box.top - 40;
}

function quoted(word) {
  return `“${isolated(word)}”`;
}

/** Say in a sentence what a word attended to, or what attended to it. */
export function described(view, active) {
  if (!active) return "";
  const columns = view.keys.length;
  if ("query" in active && "key" in active) {
    const weight = view.weights[active.query * columns + active.key];
    const [query, key] = [view.queries[active.query], view.keys[active.key]].map(quoted);
    return `${query} gives ${perCent(weight)} of its attention to ${key}.`;
  }
  const isQuery = "query" in active;
  const others = isQuery ? view.keys : view.queries;
  const weights = others.map((_, i) =>
    isQuery ? view.weights[active.query * columns + i] : view.weights[i * columns + active.key],
  );
  const best = others
    .map((text, i) => ({ text, weight: weights[i] }))
    .filter(({ weight }) => weight >= FAINTEST)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, 4)
    .map(({ text, weight }) => `${quoted(text)} ${perCent(weight)}`);
  const list = best.join(", ") || "nothing in particular";
  if (!isQuery) return `${quoted(view.keys[active.key])} was looked at by ${list}.`;
  const probability = view.probabilities[active.query];
  const sure = typeof probability === "number" ? ` (probability ${perCent(probability)})` : "";
  return `${quoted(view.queries[active.query])}${sure} looked at ${list}.`;
}
