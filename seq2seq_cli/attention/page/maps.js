// The numbers of a sentence's maps: unpacked, reduced over heads, merged to words.
// The same is done in Python by attention/maps.py; the tests compare both.

export const KIND_NAMES = {
  cross: "cross-attention",
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  stack: "self-attention of the stack",
};

/** Return the weights (float32) of a layer that Python packed: see page.py. */
export async function unpack(text) {
  const stream = new Blob([fromBase64(text)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const bits = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    bits[i] =
      planes[i] |
      (planes[count + i] << 8) |
      (planes[2 * count + i] << 16) |
      (planes[3 * count + i] << 24);
  }
  return new Float32Array(bits.buffer);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

function join(first, second) {
  const shifted = second.word_of.map((word) => word + first.words.length);
  return {
    pieces: [...first.pieces, ...second.pieces],
    words: [...first.words, ...second.words],
    word_of: [...first.word_of, ...shifted],
  };
}

/** Merge a map of pieces to one of words: keys are summed, queries averaged. */
export function merge(weights, queries, keys) {
  const rows = queries.words.length;
  const columns = keys.words.length;
  const merged = new Float64Array(rows * columns);
  const counts = new Float64Array(rows);
  const width = keys.pieces.length;
  for (let q = 0; q < queries.pieces.length; q++) {
    const row = queries.word_of[q];
    counts[row] += 1;
    for (let k = 0; k < width; k++) {
      merged[row * columns + keys.word_of[k]] += weights[q * width + k];
    }
  }
  for (let i = 0; i < merged.length; i++) merged[i] /= counts[Math.floor(i / columns)];
  return merged;
}

/** Return one map of several, combined element by element. */
function combine(maps, operation) {
  const [first, ...others] = maps;
  const combined = first.slice();
  for (const map of others) {
    for (let i = 0; i < combined.length; i++) combined[i] = operation(combined[i], map[i]);
  }
  return combined;
}

function scaleRowsToOne(weights, columns) {
  for (let begin = 0; begin < weights.length; begin += columns) {
    let total = 0;
    for (let k = 0; k < columns; k++) total += weights[begin + k];
    for (let k = 0; k < columns && total > 0; k++) weights[begin + k] /= total;
  }
}

/** What one run's model attended to in one sentence. */
export class Maps {
  /**
   * @param read the record of the sentence: its sides, and the shape of each kind of map
   * @param packed the packed weights of each layer of each kind, separated by spaces
   */
  constructor(read, packed) {
    this.read = read;
    this.layers = new Map(); // the weights of all heads, by kind and layer
    this.packed = new Map();
    const texts = packed.split(" ");
    for (const [kind, [layers]] of Object.entries(read.maps)) {
      for (let layer = 1; layer <= layers; layer++) {
        this.packed.set(`${kind} ${layer}`, texts.shift());
      }
    }
  }

  /** Unpack what `view` needs of a layer; without one, of all layers of the kind. */
  async load({ kind, layer }) {
    const shown = this.kinds.includes(kind) ? kind : "cross";
    const whole = shown in this.read.maps ? shown : "stack";
    const [layers] = this.shape(shown);
    const numbers = Array.from({ length: layers }, (_, i) => i + 1);
    const wanted = layer === undefined ? numbers : [Math.min(layer || layers, layers)];
    await Promise.all(
      wanted.map(async (number) => {
        const name = `${whole} ${number}`;
        if (!this.layers.has(name)) this.layers.set(name, await unpack(this.packed.get(name)));
      }),
    );
    return this;
  }

  get kinds() {
    return ["cross", ...Object.keys(this.read.maps).filter((kind) => kind !== "cross")];
  }

  /** Return the numbers of layers and heads of a kind. */
  shape(kind) {
    return this.read.maps[kind] ?? this.read.maps.stack;
  }

  /** Return the tokens that attend and those that are attended to; the same objects each time. */
  sides(kind) {
    this.known ??= {};
    this.known[kind] ??= this.makeSides(kind);
    return this.known[kind];
  }

  makeSides(kind) {
    const { source, target, input } = this.read;
    if (kind === "encoder") return { queries: source, keys: source };
    if (kind === "decoder") return { queries: target, keys: input };
    if (kind === "stack") return { queries: join(source, target), keys: join(source, input) };
    return { queries: target, keys: source };
  }

  /** Return the map of one head between pieces. */
  head(kind, layer, head) {
    const isPart = !(kind in this.read.maps); // the cross-attention of a stack
    const whole = isPart ? "stack" : kind;
    const { queries, keys } = this.sides(whole);
    const width = keys.pieces.length;
    const size = queries.pieces.length * width;
    const all = this.layers.get(`${whole} ${layer}`);
    const weights = Float64Array.from(all.subarray((head - 1) * size, head * size));
    if (!isPart) return weights;
    const sources = this.read.source.pieces.length;
    const targets = this.read.target.pieces.length;
    const part = new Float64Array(targets * sources);
    for (let q = 0; q < targets; q++) {
      const row = (sources + q) * width;
      part.set(weights.subarray(row, row + sources), q * sources);
    }
    return part;
  }

  /**
   * Return one map, as `Attention.view` does in Python. It must have been loaded.
   * What the model does not have is replaced: the kind by cross, the layer and the head by the last.
   */
  view({ kind, layer, head, pieces }) {
    const shown = this.kinds.includes(kind) ? kind : "cross";
    const [layers, heads] = this.shape(shown);
    const layerShown = Math.min(layer || layers, layers);
    const headShown = typeof head === "number" ? Math.min(head, heads) : head;
    const { queries, keys } = this.sides(shown);
    const width = keys.pieces.length;
    const unmerged = typeof headShown === "number";
    const all = unmerged ? [headShown] : Array.from({ length: heads }, (_, i) => i + 1);
    const byHead = all.map((number) => this.head(shown, layerShown, number));
    let weights;
    if (headShown === "max") {
      const maps = pieces ? byHead : byHead.map((map) => merge(map, queries, keys));
      weights = combine(maps, Math.max);
    } else {
      weights = combine(byHead, (a, b) => a + b);
      for (let i = 0; i < weights.length; i++) weights[i] /= all.length;
      if (!(shown in this.read.maps)) scaleRowsToOne(weights, width);
      if (!pieces) weights = merge(weights, queries, keys);
    }
    const unit = pieces ? "pieces" : "words";
    return {
      kind: shown,
      layer: layerShown,
      head: headShown,
      queries: queries[unit],
      keys: keys[unit],
      weights,
      title: title(shown, layerShown, layers, headShown, heads),
      probabilities: this.probabilities(shown, unit),
    };
  }

  /** Return the probability of each query that was predicted, and null for the others. */
  probabilities(kind, unit) {
    if (kind === "encoder") return [];
    const { source, target, log_probabilities: logs } = this.read;
    let found = logs;
    if (unit === "words") {
      found = new Array(target.words.length).fill(0);
      logs.forEach((log, i) => {
        found[target.word_of[i]] += log;
      });
    }
    const before = kind === "stack" ? new Array(source[unit].length).fill(null) : [];
    return [...before, ...found.map(Math.exp)];
  }
}

function title(kind, layer, layers, head, heads) {
  const parts = [KIND_NAMES[kind]];
  if (layers > 1) parts.push(`layer ${layer} of ${layers}`);
  if (heads > 1) {
    const names = { mean: `mean of ${heads} heads`, max: `maximum of ${heads} heads` };
    parts.push(names[head] ?? `head ${head} of ${heads}`);
  }
  return parts.join(", ");
}
