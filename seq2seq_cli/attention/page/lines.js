// A map as lines between two columns of words: keys at the left, queries at the right.

import { fitted, Graphic } from "./canvas.js";
import { themeColour, weightColour } from "./colours.js";

const FONT = "15px system-ui, sans-serif";
const BOLD = "600 15px system-ui, sans-serif";
const ROW = 30;
const MOST_SPREAD = 2; // times ROW
const LEAST = 0.02; // the weight of the faintest line

export class Lines extends Graphic {
  show(view) {
    this.view = view;
    const rows = Math.max(view.queries.length, view.keys.length);
    this.width = Math.min(this.box.clientWidth, 760);
    this.column = Math.floor(this.width * 0.34);
    // The shorter side is spread, and stands in the middle of the longer one.
    const spread = (words) => Math.min((rows * ROW) / words.length, MOST_SPREAD * ROW);
    this.keyRow = spread(view.keys);
    this.queryRow = spread(view.queries);
    this.keysTop = 4 + (rows * ROW - view.keys.length * this.keyRow) / 2;
    this.queriesTop = 4 + (rows * ROW - view.queries.length * this.queryRow) / 2;
    this.scrolled.resize(this.width, rows * ROW + 8);
  }

  /** Light a word and its lines; null for none. */
  light(active) {
    this.active = active;
    if (active && !this.box.matches(":hover")) this.reveal(active);
    this.scrolled.redraw();
  }

  reveal({ query, key }) {
    const y =
      query === undefined
        ? this.keysTop + key * this.keyRow
        : this.queriesTop + query * this.queryRow;
    const { box } = this;
    const seen = box.clientHeight - ROW;
    if (y < box.scrollTop || y > box.scrollTop + seen) box.scrollTop = y - seen / 2;
  }

  wordAt(event) {
    const [x, y] = this.scrolled.at(event);
    const scrolled = y + this.box.scrollTop;
    const key = Math.floor((scrolled - this.keysTop) / this.keyRow);
    const query = Math.floor((scrolled - this.queriesTop) / this.queryRow);
    if (x <= this.column && key >= 0 && key < this.view.keys.length) return { key };
    const isRight = x >= this.width - this.column;
    return isRight && query >= 0 && query < this.view.queries.length ? { query } : null;
  }

  draw(context, { height, y: scrollY }) {
    const { queries, keys, weights } = this.view;
    const yOfKey = (k) => this.keysTop + (k + 0.5) * this.keyRow - scrollY;
    const yOfQuery = (q) => this.queriesTop + (q + 0.5) * this.queryRow - scrollY;
    const isSeen = (y) => y > -ROW && y < height + ROW;
    const { active } = this;
    const fromX = this.column + 4;
    const toX = this.width - this.column - 4;
    for (let q = 0; q < queries.length; q++) {
      for (let k = 0; k < keys.length; k++) {
        const weight = weights[q * keys.length + k];
        if (weight < LEAST || !(isSeen(yOfQuery(q)) || isSeen(yOfKey(k)))) continue;
        const isLit = active && (active.query === q || active.key === k);
        context.globalAlpha = isLit || !active ? Math.min(1, 0.12 + weight) : 0.05;
        context.strokeStyle = isLit
          ? themeColour("accent")
          : weightColour(0.35 + 0.65 * weight).fill;
        context.lineWidth = 1 + 5 * weight;
        context.beginPath();
        context.moveTo(fromX, yOfKey(k));
        const bend = (toX - fromX) * 0.45;
        context.bezierCurveTo(
          ...[fromX + bend, yOfKey(k), toX - bend, yOfQuery(q), toX, yOfQuery(q)],
        );
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    context.textBaseline = "middle";
    this.drawWords(context, keys, yOfKey, isSeen, "key", this.column - 6, "right");
    this.drawWords(context, queries, yOfQuery, isSeen, "query", toX + 10, "left");
  }

  drawWords(context, words, yOf, isSeen, side, x, align) {
    const other = side === "key" ? "query" : "key";
    words.forEach((word, i) => {
      if (!isSeen(yOf(i))) return;
      const isActive = this.active?.[side] === i;
      const weight = this.active && other in this.active ? this.weightOf(side, i) : 0;
      context.font = isActive ? BOLD : FONT;
      context.textAlign = align;
      const text = fitted(context, word, this.column - 14);
      if (weight >= LEAST) {
        const { width } = context.measureText(text);
        const { fill } = weightColour(weight);
        context.fillStyle = fill;
        context.beginPath();
        const left = align === "right" ? x - width - 6 : x - 6;
        context.roundRect(left, yOf(i) - 12, width + 12, 24, 6);
        context.fill();
      }
      const ink = weight >= LEAST ? weightColour(weight).text : themeColour("ink");
      context.fillStyle = isActive ? themeColour("accent") : ink;
      context.fillText(text, x, yOf(i));
    });
  }

  /** Return the weight between a word and the active word of the other side. */
  weightOf(side, i) {
    const columns = this.view.keys.length;
    const { query, key } = this.active;
    return this.view.weights[side === "key" ? query * columns + i : i * columns + key];
  }
}
