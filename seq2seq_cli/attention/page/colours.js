// The colours of weights, for the theme in use.

const STOPS = ["--scale-0", "--scale-1", "--scale-2", "--scale-3", "--scale-4"];
const STEPS = 256;

let table = [];
let named = {};

/** Read the theme's colours anew; to be called when the theme changes. */
export function readColours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
  };
  const stops = STOPS.map(read);
  named = Object.fromEntries(
    ["ink", "muted", "surface", "accent", "edge"].map((name) => [name, css(read(`--${name}`))]),
  );
  probe.remove();
  table = Array.from({ length: STEPS }, (_, i) => {
    const position = (i / (STEPS - 1)) ** 0.75 * (stops.length - 1);
    const below = Math.min(Math.floor(position), stops.length - 2);
    const colour = stops[below].map(
      (part, c) => part + (stops[below + 1][c] - part) * (position - below),
    );
    const [red, green, blue] = colour;
    const isBright = 0.299 * red + 0.587 * green + 0.114 * blue > 140;
    return { fill: css(colour), text: isBright ? "#10151f" : "#ffffff" };
  });
}

function css([red, green, blue]) {
  return `rgb(${Math.round(red)}, ${Math.round(green)}, ${Math.round(blue)})`;
}

/** Return the colour of a weight from 0 to 1, and that of text upon it. */
export function weightColour(weight) {
  return table[Math.max(0, Math.min(STEPS - 1, Math.round(weight * (STEPS - 1))))];
}

/** Return a colour of the theme, such as ink. */
export function themeColour(name) {
  return named[name];
}
