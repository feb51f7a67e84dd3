// The colours of weights, for the theme in use.

const STOPS = ["--scale-0", "--scale-1", "--scale-2", "--scale-3", "--scale-4"];
const STEPS = 256;

let table = [];
let named = {};

/** Read the theme's colours anew; to be called when the theme changes. */
export function readColours() {
  const probe = document.createElement("span");
  probe.style.forcedColorAdjust = "none"; // otherwise all colours are one in high contrast
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
    const whole = colour.map(Math.round);
    return { fill: css(whole), text: inkOn(whole), rgba: [...whole, 255] };
  });
}

/** Return black or white, which has the higher contrast with a colour: `ink_on` of themes.py. */
function inkOn(colour) {
  const [red, green, blue] = colour
    .map((part) => part / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff";
}

function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

/** Return the colour of a weight from 0 to 1, for CSS and as bytes, and that of text upon it. */
export function weightColour(weight) {
  return table[Math.max(0, Math.min(STEPS - 1, Math.round(weight * (STEPS - 1))))];
}

/** Return a colour of the theme, such as ink. */
export function themeColour(name) {
  return named[name];
}
