// A canvas that shows the visible part of a large drawing, so that its size has no limit.

/** A scrolled box, and what draws the part of it that is seen. */
export class Scrolled {
  /**
   * @param box the element that scrolls
   * @param draw called with the context, and with the size and the offsets of what is seen
   */
  constructor(box, draw) {
    this.box = box;
    this.draw = draw;
    this.canvas = document.createElement("canvas");
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.append(this.canvas);
    box.replaceChildren(this.space);
    box.onscroll = () => this.redraw(); // replaces that of an earlier drawing in the box
  }

  /** Set the size of the whole drawing, in CSS pixels. */
  resize(width, height) {
    this.space.style.width = `${width}px`;
    this.space.style.height = `${height}px`;
    const seen = [Math.min(width, this.box.clientWidth), Math.min(height, this.box.clientHeight)];
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.width = `${seen[0]}px`;
    this.canvas.style.height = `${seen[1]}px`;
    this.canvas.width = Math.round(seen[0] * ratio);
    this.canvas.height = Math.round(seen[1] * ratio);
    this.size = seen;
    this.redraw();
  }

  redraw() {
    if (!this.size) return;
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, ...this.size);
    const [width, height] = this.size;
    this.draw(context, { width, height, x: this.box.scrollLeft, y: this.box.scrollTop });
  }

  /** Return the position of an event in the visible part, in CSS pixels. */
  at(event) {
    const seen = this.canvas.getBoundingClientRect();
    return [event.clientX - seen.left, event.clientY - seen.top];
  }
}

/** Draws a view. Calls onPoint with the word under the pointer. Subclasses draw, and find a word. */
export class Graphic {
  constructor(box, onPoint) {
    this.scrolled = new Scrolled(box, (context, seen) => this.draw(context, seen));
    this.box = box;
    this.active = null;
    const canvas = this.scrolled.canvas;
    canvas.addEventListener("pointermove", (event) => onPoint(this.wordAt(event), false));
    canvas.addEventListener("pointerleave", () => onPoint(null, false));
    canvas.addEventListener("click", (event) => onPoint(this.wordAt(event), true));
  }
}

/** Return a text cut to a width, with … where something is missing. */
export function fitted(context, text, width) {
  if (text.length <= 200 && context.measureText(text).width <= width) return text;
  const characters = Array.from(text.slice(0, 200));
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const shown = `${characters.slice(0, middle).join("")}…`;
    if (context.measureText(shown).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}

const measured = new WeakMap(); // widths of lists of texts, which do not change

/** Return the width of each text in the context's font, up to a maximum. */
export function widths(context, texts, most) {
  if (!measured.has(texts)) {
    measured.set(
      texts,
      texts.map((text) => context.measureText(text.slice(0, 200)).width),
    );
  }
  return measured.get(texts).map((width) => Math.min(most, Math.ceil(width)));
}
