// The sentences: searched, sorted, chosen.

import { element, perCent, roving } from "./dom.js";

const CHUNK = 50; // items that are put into the list at a time

const BY = {
  order: () => 0,
  least: (a, b) => a.isBlank - b.isBlank || a.confidence - b.confidence,
  most: (a, b) => a.isBlank - b.isBlank || b.confidence - a.confidence,
  longest: (a, b) => b.source.length - a.source.length,
  apart: (a, b) => b.apart - a.apart,
};

export class List {
  /**
   * @param sentences the records of all sentences
   * @param box the element for the list
   * @param count the element that says how many are shown
   * @param onChoose called with the index of a sentence
   */
  constructor(sentences, box, count, onChoose) {
    this.box = box;
    this.count = count;
    this.entries = sentences.map((sentence, index) => {
      const reads = sentence.runs.filter(Boolean);
      const confidences = reads.map((read) => read.confidence);
      const translations = reads.map((read) => read.translation);
      const confidence = reads.length ? Math.min(...confidences) : 0;
      const leastSure = confidences.indexOf(confidence); // the run that the item shows
      const button = element(
        "button",
        { type: "button", tabindex: "-1", onclick: () => onChoose(index) },
        element("bdi", { class: "one-line" }, sentence.source || "(blank)"),
        element("bdi", { class: "one-line muted" }, translations[leastSure] ?? ""),
        element("span", { class: "confidence" }, reads.length ? perCent(confidence) : ""),
      );
      button.lastChild.style.setProperty("--share", confidence);
      return {
        index,
        source: sentence.source,
        text: [sentence.source, ...translations].join("\n").toLowerCase(),
        confidence,
        isBlank: !reads.length,
        apart: confidences.length > 1 ? Math.max(...confidences) - confidence : 0,
        button,
        item: element("li", {}, button),
      };
    });
    this.shown = this.entries;
    roving(box, "button");
    box.addEventListener("focusin", (event) => {
      const entry = this.entries.find(({ button }) => button === event.target);
      if (entry && event.target.matches(":focus-visible")) onChoose(entry.index);
    });
  }

  /** Sort and filter the list, unless neither has changed. */
  arrange({ sort, search }) {
    const wanted = search.trim().toLowerCase();
    if (this.sort === sort && this.wanted === wanted) return;
    Object.assign(this, { sort, wanted });
    const sorted = [...this.entries].sort((a, b) => BY[sort](a, b) || a.index - b.index);
    this.shown = sorted.filter((entry) => entry.text.includes(wanted));
    this.fill();
    this.setTabStop();
    const { length } = this.entries;
    this.count.textContent =
      this.shown.length === length ? `${length} sentences` : `${this.shown.length} of ${length}`;
  }

  /** Put the items into the list: those that can be seen at once, the others frame by frame. */
  fill() {
    const { shown } = this;
    const items = shown.map((entry) => entry.item);
    this.box.replaceChildren(...items.slice(0, CHUNK));
    const append = (begin) => {
      if (items.length <= begin || shown !== this.shown) return; // another order was chosen
      this.box.append(...items.slice(begin, begin + CHUNK));
      if (this.unseen?.isConnected) this.reveal(this.unseen);
      requestAnimationFrame(() => append(begin + CHUNK));
    };
    requestAnimationFrame(() => append(CHUNK));
  }

  choose(index) {
    const chosen = this.entries[index].button;
    this.chosen?.removeAttribute("aria-current");
    this.chosen = chosen;
    chosen.setAttribute("aria-current", "true");
    this.setTabStop();
    if (chosen.isConnected) this.reveal(chosen);
    else this.unseen = chosen; // until it is put into the list
  }

  /** Put one item into the tab order: the chosen one, or the first if that is not shown. */
  setTabStop() {
    const stop = this.shown.find(({ button }) => button === this.chosen) ?? this.shown[0];
    for (const { button } of this.entries) button.tabIndex = button === stop?.button ? 0 : -1;
  }

  reveal(chosen) {
    this.unseen = null;
    const { top, bottom } = this.box.getBoundingClientRect();
    const seen = chosen.getBoundingClientRect();
    if (seen.top < top) this.box.scrollTop -= top - seen.top + 4;
    if (seen.bottom > bottom) this.box.scrollTop += seen.bottom - bottom + 4;
  }

  /** Return the index of the sentence so many after another among those shown, or null. */
  after(index, steps) {
    const position = this.shown.findIndex((entry) => entry.index === index);
    if (position < 0) return this.shown[0]?.index ?? null;
    return this.shown[position + steps]?.index ?? null;
  }
}
