// What is shown, and the fragment of the address that says so.

export const DEFAULTS = {
  sentence: 0,
  kind: "cross",
  layer: 0, // the last one
  head: "mean",
  pieces: false,
  graphic: "matrix",
  tab: "attention",
  sort: "order",
  search: "",
  word: "", // the word that is held: run, q or k, and its number, such as 0q3
};

const CHOICES = {
  kind: ["cross", "encoder", "decoder", "stack"],
  graphic: ["matrix", "lines"],
  tab: ["attention", "explain"],
  sort: ["order", "least", "most", "longest", "apart"],
};

/** Return the fragment of a state: what differs from the defaults. */
export function toFragment(state) {
  const fields = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (state[name] === usual) continue;
    const value = name === "sentence" ? state[name] + 1 : state[name];
    fields.set(name, value === true ? "yes" : String(value));
  }
  return fields.toString();
}

/** Return the state of a fragment; what it has of unknown names and values is left out. */
export function fromFragment(fragment, sentences) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const [name, value] of fields) {
    if (CHOICES[name]?.includes(value)) state[name] = value;
    if (name === "search") state.search = value;
    if (name === "pieces") state.pieces = value === "yes";
    if (name === "word" && /^\d+[qk]\d+$/.test(value)) state.word = value;
    if (name === "head") state.head = value === "max" ? value : whole(value, "mean");
    if (name === "layer") state.layer = whole(value, 0);
    if (name === "sentence") state.sentence = Math.min(whole(value, 1), sentences) - 1;
  }
  return state;
}

function whole(text, otherwise) {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : otherwise;
}
