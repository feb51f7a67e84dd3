// A map as a matrix: a row for each query, a column for each key. The labels stay in sight.

import { fitted, Graphic, widths } from "./canvas.js";
import { themeColour, weightColour } from "./colours.js";

const FONT = "14px system-ui, sans-serif";
const BOLD = "600 14px system-ui, sans-serif";
const NUMBERS = "11px system-ui, sans-serif";
const LARGEST_CELL = 58;
const SMALLEST_CELL = 24;
const CELL_WITH_NUMBER = 34;
const SLOPE = Math.PI / 4; // of the keys

export class Matrix extends Graphic {
  show(view) {
    this.view = view;
    const context = this.scrolled.canvas.getContext("2d");
    context.font = BOLD;
    const most = Math.min(180, this.box.clientWidth * 0.34);
    this.left = Math.max(...widths(context, view.queries, most)) + 12;
    const keyWidths = widths(context, view.keys, 150);
    const longest = Math.max(...keyWidths);
    this.top = Math.ceil(longest * Math.sin(SLOPE)) + 22;
    const lengths = keyWidths.map((width) => width * Math.cos(SLOPE));
    const overhang = lengths.at(-1);
    const free = this.box.clientWidth - this.left - overhang - 8;
    const fitting = Math.floor(free / view.keys.length);
    this.cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, fitting));
    this.height = Math.min(this.cell, 40);
    const ends = lengths.map((length, i) => (i + 0.5) * this.cell + length);
    const width = this.left + Math.max(...ends, this.cell * view.keys.length) + 8;
    this.scrolled.resize(width, this.top + this.height * view.queries.length + 4);
  }

  /** Light a row or a column (null for none), and scroll to it and to what is related to it. */
  light(active, related) {
    this.active = active;
    if (active && !this.box.matches(":hover")) this.reveal(related);
    this.scrolled.redraw();
  }

  /** Scroll so that the words are seen. */
  reveal({ query, key }) {
    const { box } = this;
    if (query !== undefined) {
      const y = query * this.height;
      const seen = box.clientHeight - this.top - this.height;
      if (y < box.scrollTop || y > box.scrollTop + seen) box.scrollTop = y - seen / 2;
    }
    if (key !== undefined) {
      const x = key * this.cell;
      const seen = box.clientWidth - this.left - this.cell;
      if (x < box.scrollLeft || x > box.scrollLeft + seen) box.scrollLeft = x - seen / 2;
    }
  }

  /** Return the words that an event points at: a query, a key, or both. */
  wordAt(event) {
    const [x, y] = this.scrolled.at(event);
    const column = Math.floor((x - this.left + this.box.scrollLeft) / this.cell);
    const row = Math.floor((y - this.top + this.box.scrollTop) / this.height);
    const found = {};
    if (y >= this.top && row >= 0 && row < this.view.queries.length) found.query = row;
    if (x >= this.left && column >= 0 && column < this.view.keys.length) found.key = column;
    return "query" in found || "key" in found ? found : null;
  }

  draw(context, { width, height, x: scrollX, y: scrollY }) {
    const { queries, keys } = this.view;
    const firstRow = Math.floor(scrollY / this.height);
    const lastRow = Math.min(
      queries.length - 1,
      Math.floor((scrollY + height - this.top) / this.height),
    );
    const firstColumn = Math.floor(scrollX / this.cell);
    const lastColumn = Math.min(
      keys.length - 1,
      Math.floor((scrollX + width - this.left) / this.cell),
    );
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, width, height);
    context.clip();
    for (let row = firstRow; row <= lastRow; row++) {
      for (let column = firstColumn; column <= lastColumn; column++) {
        this.drawCell(context, row, column, scrollX, scrollY);
      }
    }
    context.restore();
    this.drawQueries(context, firstRow, lastRow, scrollY, height);
    this.drawKeys(context, firstColumn, lastColumn, scrollX, width);
  }

  drawCell(context, row, column, scrollX, scrollY) {
    const weight = this.view.weights[row * this.view.keys.length + column];
    const { fill, text } = weightColour(weight);
    const x = this.left + column * this.cell - scrollX;
    const y = this.top + row * this.height - scrollY;
    const { active } = this;
    const isLit = !active || ("query" in active && active.query === row) || active.key === column;
    context.globalAlpha = isLit ? 1 : 0.28;
    context.fillStyle = fill;
    context.beginPath();
    context.roundRect(x + 1, y + 1, this.cell - 2, this.height - 2, 4);
    context.fill();
    if (this.cell >= CELL_WITH_NUMBER && weight >= 0.005) {
      context.fillStyle = text;
      context.font = NUMBERS;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText((100 * weight).toFixed(0), x + this.cell / 2, y + this.height / 2 + 0.5);
    }
    if (active && active.query === row && active.key === column) {
      context.strokeStyle = themeColour("accent");
      context.lineWidth = 2;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawQueries(context, first, last, scrollY, height) {
    context.save();
    context.beginPath();
    context.rect(0, this.top, this.left, height);
    context.clip();
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let row = first; row <= last; row++) {
      const y = this.top + (row + 0.5) * this.height - scrollY;
      this.drawLabel(context, this.view.queries[row], row === this.active?.query, this.left - 12, [
        this.left - 8,
        y,
      ]);
    }
    context.restore();
  }

  drawKeys(context, first, last, scrollX, width) {
    context.save();
    context.beginPath();
    context.rect(this.left - 6, 0, width, this.top);
    context.clip();
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (let column = first; column <= last; column++) {
      context.save();
      context.translate(this.left + (column + 0.5) * this.cell - scrollX - 2, this.top - 8);
      context.rotate(-SLOPE);
      this.drawLabel(context, this.view.keys[column], column === this.active?.key, 150, [0, 0]);
      context.restore();
    }
    context.restore();
  }

  drawLabel(context, text, isActive, width, [x, y]) {
    context.font = isActive ? BOLD : FONT;
    context.fillStyle = themeColour(isActive ? "accent" : "ink");
    context.fillText(fitted(context, text, width), x, y);
  }
}
