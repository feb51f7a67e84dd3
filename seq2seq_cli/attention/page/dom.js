// Elements from names, properties and children. A string becomes a text, never markup.

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return a word for a sentence of another direction: isolated, so that it changes no order. */
export function isolated(text) {
  return `\u2068${text}\u2069`;
}

export function perCent(share) {
  if (share > 0 && share < 0.01) return "<1\u202f%";
  return `${Math.round(100 * share)}\u202f%`;
}

/**
 * Let the arrow keys move the focus within a group, of which only one member is in the tab order.
 * @param group the element that holds the members
 * @param selector of the members
 */
export function roving(group, selector) {
  group.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // a shortcut of the browser
    const right = getComputedStyle(group).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: right, ArrowDown: 1, ArrowLeft: -right, ArrowUp: -1 };
    const members = [...group.querySelectorAll(selector)].filter((member) => !member.hidden);
    const now = members.indexOf(event.target);
    let next = now + (steps[event.key] ?? 0);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = members.length - 1;
    if (now < 0 || next === now || next < 0 || next >= members.length) return;
    event.preventDefault();
    focusMember(members, next);
  });
}

/** Focus one member of a group, and put only that one into the tab order. */
export function focusMember(members, index) {
  for (const member of members) member.tabIndex = -1;
  members[index].tabIndex = 0;
  members[index].focus();
}
