// Draws the charts of a report, in the colours of the page.
const figures = JSON.parse(document.getElementById("data").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colours() {
  const style = getComputedStyle(document.documentElement);
  const [text, faint, line] = ["--text", "--faint", "--line"].map((name) =>
    style.getPropertyValue(name).trim(),
  );
  return {
    background: "transparent",
    view: { stroke: line },
    title: { color: text, fontSize: 13 },
    axis: {
      labelColor: faint,
      titleColor: faint,
      gridColor: line,
      domainColor: line,
      tickColor: line,
    },
    legend: { labelColor: text, titleColor: text },
  };
}

function draw(id, chart, datasets) {
  const options = { mode: "vega-lite", actions: false, renderer: "svg", config: colours() };
  return vegaEmbed(document.getElementById(id), { ...chart, datasets }, options);
}

async function drawAll() {
  delete document.body.dataset.drawn;
  await Promise.all([
    ...figures.curves.map((chart, k) => draw(`curve-${k}`, chart, figures.data)),
    ...figures.evolutions.map((chart, k) => draw(`evolution-${k}`, chart, {})),
    ...figures.maps.map((chart, k) => draw(`map-${k}`, chart, {})),
  ]);
  document.body.dataset.drawn = "yes";
}

dark.addEventListener("change", drawAll);
drawAll();
