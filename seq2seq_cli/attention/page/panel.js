// What one run's model attended to in the chosen sentence.

import { element, perCent } from "./dom.js";
import { explained } from "./explain.js";
import { showHeads } from "./heads.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";
import { described, Words } from "./words.js";

const LABELS = {
  cross: ["Source", "Translation"],
  encoder: ["Source, looked at", "Source, looking"],
  decoder: ["Translation so far", "Translation"],
  stack: ["Source and translation so far", "Source and translation"],
};

export class Panel {
  /**
   * @param run the record of the run
   * @param number the number of the panel on the page, which makes its id unique
   * @param onHold called with the word that is held (null for none)
   * @param onChoose called with the layer and the head of a small picture
   */
  constructor(run, number, onHold, onChoose) {
    this.run = run;
    this.onHold = onHold;
    this.onChoose = onChoose;
    this.held = null;
    this.pointed = null;
    const point = (word, isClick) => this.point(word, isClick);
    this.keys = new Words("key", point);
    this.queries = new Words("query", point);
    this.confidence = element("span", { class: "confidence" });
    this.title = element("p", { class: "map-title" });
    this.note = element("p", { class: "note" });
    this.detail = element("p", { class: "detail", role: "status" });
    this.graphic = element("div", { class: "graphic", "aria-hidden": "true", tabindex: "-1" });
    this.headsBox = element("div", { class: "heads" });
    this.heads = element(
      "details",
      { class: "all-heads", ontoggle: () => this.showHeads() },
      element("summary", {}, "All layers and heads"),
      this.headsBox,
    );
    this.explanation = element("div", { hidden: true });
    this.body = element(
      "div",
      { class: "panel-body" },
      ...[this.keys.box, this.queries.box, this.detail, this.title, this.graphic, this.heads],
    );
    this.box = element(
      "section",
      { class: "panel", "aria-labelledby": `run-${number}` },
      element(
        "div",
        { class: "panel-head" },
        element("h2", { id: `run-${number}` }, element("bdi", {}, run.name)),
        element("p", { class: "muted" }, run.description),
        this.confidence,
      ),
      this.note,
      this.body,
      this.explanation,
    );
  }

  /** Show a sentence's maps; null where the source is blank. */
  show(maps, state) {
    this.maps = maps;
    this.state = state;
    const isExplained = Boolean(maps?.read.explanation) && state.tab === "explain";
    this.body.hidden = !maps || isExplained;
    this.explanation.hidden = !isExplained;
    this.note.hidden = Boolean(maps);
    this.note.textContent = maps ? "" : "The sentence is blank.";
    this.confidence.textContent = "";
    if (!maps) return;
    const { confidence, log_probability: log } = maps.read;
    this.confidence.textContent = `${perCent(confidence)} per token`;
    this.confidence.title = `log-probability ${log.toFixed(3)}`;
    this.confidence.style.setProperty("--share", confidence);
    if (isExplained) {
      this.explanation.replaceChildren(...explained(maps.read.explanation));
      return;
    }
    this.view = maps.view(state);
    if (this.view.kind !== state.kind) {
      this.note.hidden = false;
      this.note.textContent = "This model has no such attention. Its cross-attention is shown.";
    }
    const [keys, queries] = LABELS[this.view.kind];
    this.keys.show(this.view, keys);
    this.queries.show(this.view, queries);
    this.title.textContent = this.view.title;
    this.showGraphic();
    this.held = this.valid(state.held);
    this.light(null);
    const [layers, heads] = maps.shape(this.view.kind);
    this.heads.hidden = layers * heads < 2;
    this.showHeads();
  }

  showGraphic() {
    const Kind = this.state.graphic === "lines" ? Lines : Matrix;
    if (!(this.drawing instanceof Kind)) {
      this.drawing = new Kind(this.graphic, (word, isClick) => this.point(word, isClick));
    }
    this.drawing.show(this.view);
  }

  async showHeads() {
    if (!this.heads.open || this.heads.hidden || !this.maps) return;
    const { maps, state } = this;
    await maps.load({ kind: state.kind });
    if (state === this.state) showHeads(this.headsBox, maps, state, this.onChoose);
  }

  /** Draw anew for another width or another theme. */
  redraw() {
    if (!this.maps || this.body.hidden) return;
    this.drawing.show(this.view);
    this.light(this.pointed);
    this.showHeads();
  }

  /** Light a word that is pointed at; a click holds it, or lets it go. */
  point(word, isClick) {
    if (!isClick) {
      if (!isSame(word, this.pointed)) this.light(word);
      return;
    }
    const one = word && "query" in word ? { query: word.query } : word;
    this.held = isSame(one, this.held) ? null : one;
    this.onHold(this.held);
    this.light(this.held);
  }

  /** Hold no word, because one of another run is held. */
  letGo() {
    if (!this.held) return;
    this.held = null;
    this.light(this.pointed);
  }

  light(word) {
    this.pointed = word; // for the next drawing
    const active = word ?? this.held;
    this.keys.light(active, this.held);
    this.queries.light(active, this.held);
    this.drawing.light(active, active && this.withStrongest(active));
    this.detail.textContent =
      described(this.view, active) || "Point at a word to see what it looked at.";
    this.detail.classList.toggle("idle", !active);
  }

  /** Return a word with the one of the other line to which its weight is highest. */
  withStrongest({ query, key }) {
    const { keys, queries, weights } = this.view;
    const columns = keys.length;
    let best = 0;
    if (query !== undefined && key !== undefined) return { query, key };
    if (key === undefined) {
      const row = weights.subarray(query * columns, (query + 1) * columns);
      row.forEach((weight, i) => {
        if (weight > row[best]) best = i;
      });
      return { query, key: best };
    }
    for (let i = 0; i < queries.length; i++) {
      if (weights[i * columns + key] > weights[best * columns + key]) best = i;
    }
    return { query: best, key };
  }

  valid(word) {
    if (!word) return null;
    const { queries, keys } = this.view;
    const isThere = "query" in word ? word.query < queries.length : word.key < keys.length;
    return isThere ? word : null;
  }
}

function isSame(word, other) {
  return word?.query === other?.query && word?.key === other?.key;
}
