// Sorts and filters the sentences of a comparison.
const list = document.getElementById("sentences");
const order = document.getElementById("order");
const filter = document.getElementById("filter");
const differing = document.getElementById("differing");
const count = document.getElementById("count");
const articles = Array.from(list.children);
const texts = new Map(articles.map((each) => [each, textOf(each)]));

/** Return the source, the references and the outputs, without their labels. */
function textOf(article) {
  const parts = Array.from(article.querySelectorAll("[lang]"), (each) => each.textContent);
  return parts.join("\n").toLowerCase();
}

const value = (each, key) => Number(each.dataset[key]);
const orders = {
  number: (a, b) => value(a, "number") - value(b, "number"),
  gain: (a, b) => value(b, "gain") - value(a, "gain"),
  loss: (a, b) => value(a, "loss") - value(b, "loss"),
};

function sort() {
  articles.sort(orders[order.value]);
  list.append(...articles);
}

function show() {
  const wanted = filter.value.trim().toLowerCase();
  let shown = 0;
  for (const each of articles) {
    const isLeftOut = differing.checked && !("differs" in each.dataset);
    each.hidden = isLeftOut || !texts.get(each).includes(wanted);
    shown += each.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${articles.length} sentences`;
}

order.addEventListener("change", sort);
filter.addEventListener("input", show);
differing.addEventListener("change", show);
sort(); // Firefox keeps the chosen order when the page is loaded again
show();
