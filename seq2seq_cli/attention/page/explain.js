// The explanation of a translation: alternatives of each word, the search, and training pairs.

import { element, perCent } from "./dom.js";

const UNSURE = 0.5; // the probability below which a word is marked

/** Return the explanation as elements. */
export function explained(explanation) {
  const { words, search, nearest, unseen, never_together: apart } = explanation;
  const { training_sources: sources } = explanation; // where words were searched, in words
  const parts = [section("Words", wordTable(words))];
  if (search.length) {
    parts.push(section("The search", element("p", { class: "muted" }, SEARCH_NOTE), tree(search)));
  }
  if (nearest.length) parts.push(section("Most similar training pairs", neighbours(nearest)));
  const news = [
    [`Not in ${sources}: `, unseen.map((word) => [word])],
    [`Not together in ${sources}: `, apart],
  ].filter(([, groups]) => groups.length);
  if (news.length) {
    const lines = news.map(([text, groups]) => element("p", {}, text, ...joined(groups), "."));
    parts.push(section("New to the model", ...lines));
  }
  return parts;
}

/** Return groups of words as elements: "a, b + c". */
function joined(groups) {
  return groups.flatMap((words, i) =>
    words.flatMap((word, j) => [j ? " + " : i ? ", " : "", element("bdi", {}, word)]),
  );
}

const SEARCH_NOTE =
  "Log-probabilities of hypotheses; for finished ones, the score that ranks them.";

function section(title, ...content) {
  return element("section", { class: "explained" }, element("h3", {}, title), ...content);
}

function share(value) {
  const shown = element("span", { class: "confidence" }, perCent(value));
  shown.style.setProperty("--share", value);
  return shown;
}

function wordTable(words) {
  const head = ["Word", "Probability", "Looked at", "Alternatives"];
  const rows = words.map((word) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row", class: word.probability < UNSURE ? "unsure" : "" },
        element("bdi", {}, word.word),
      ),
      element("td", {}, share(word.probability)),
      element("td", {}, ...listed(word.looked_at.map(({ word: key, weight }) => [key, weight]))),
      element("td", {}, ...word.pieces.map((piece) => alternatives(piece, word.pieces.length > 1))),
    ),
  );
  const names = head.map((name) => element("th", { scope: "col" }, name));
  return element(
    "div",
    { class: "wide", tabindex: "0", role: "group", "aria-label": "Words" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...names)),
      element("tbody", {}, ...rows),
    ),
  );
}

function listed(entries) {
  return entries.map(([text, value]) =>
    element("span", { class: "entry" }, element("bdi", {}, text), " ", share(value)),
  );
}

function alternatives(piece, isNamed) {
  const name = isNamed ? element("bdi", { class: "muted" }, `${piece.piece}: `) : null;
  const entries = piece.runners_up.map((other) => [other.piece, other.probability]);
  return element("div", { class: "alternatives" }, name, ...listed(entries));
}

/**
 * Return the hypotheses as nested lists of few long paths: that of the best finished one, and others
 * beside it. A path goes on with the child that most others continue, so that lists are never deep.
 * Before a branch stands its position.
 */
function tree(search) {
  const children = new Map();
  const sizes = search.map(() => 1);
  search.forEach(({ parent }, number) => {
    children.set(parent, [...(children.get(parent) ?? []), number]);
  });
  for (let number = search.length - 1; number >= 0; number--) {
    const { parent } = search[number]; // which stands before
    if (parent !== null) sizes[parent] += sizes[number];
  }
  let best = null;
  search.forEach(({ fate, score }, number) => {
    if (fate === "finished" && (best === null || score > search[best].score)) best = number;
  });
  for (; best !== null; best = search[best].parent) sizes[best] += search.length;
  const goesOn = (number) => search[number].fate !== "dropped";
  const root = element("ul", { class: "tree" });
  const waiting = [[root, children.get(null) ?? [], 1]];
  while (waiting.length) {
    const [list, numbers, begin] = waiting.pop();
    for (const first of [...numbers].sort((a, b) => search[b].total - search[a].total)) {
      const line = element("div", {}, element("small", {}, `${begin} `), hypothesis(search[first]));
      const inner = element("ul");
      list.append(element("li", {}, line, inner));
      const leaving = [];
      let number = first;
      for (let position = begin + 1; goesOn(number) && children.has(number); position++) {
        const all = children.get(number);
        const others = all.filter(goesOn).sort((a, b) => sizes[b] - sizes[a]);
        const [next] = others;
        leaving.push([inner, all.filter((each) => each !== next), position]);
        if (next === undefined) break;
        line.append(" ", hypothesis(search[next]));
        number = next;
      }
      waiting.push(...leaving.reverse());
    }
  }
  return element(
    "div",
    { class: "wide", tabindex: "0", role: "group", "aria-label": "The search" },
    root,
  );
}

function hypothesis({ text, total, score, fate }) {
  const number = fate === "finished" ? score : total;
  return element(
    "span",
    { class: `hypothesis ${fate}` },
    element("bdi", {}, text),
    " ",
    element("small", {}, number.toFixed(2)),
    fate === "kept" ? null : element("small", { class: "fate" }, ` ${fate}`),
  );
}

function neighbours(nearest) {
  const items = nearest.map(({ parts, target, similarity }) =>
    element(
      "li",
      {},
      share(similarity),
      element(
        "span",
        {},
        element(
          "bdi",
          {},
          ...parts.map(({ text, is_shared: isShared }) =>
            isShared ? element("mark", {}, text) : text,
          ),
        ),
        element("bdi", { class: "muted" }, target),
      ),
    ),
  );
  return element("ol", { class: "neighbours" }, ...items);
}
