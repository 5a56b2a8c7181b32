// Makes elements. What anybody has written becomes text, never markup.

const BIDI = {
  0x061c: "ALM", 0x200e: "LRM", 0x200f: "RLM", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF",
  0x202d: "LRO", 0x202e: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
};
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e007f}]", "gu");

// What would steer, hide or turn other text is shown as a sign.
export function shown(text) {
  return String(text).replace(/\r\n/g, "\n").replace(UNSEEN, (sign) => {
    const code = sign.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `⟨${BIDI[code] || "U+" + code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

// h("a", {class: "x", href: "/"}, "text", element, [more]); `on` holds listeners.
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  set(element, props);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props || {})) element.setAttribute(name, value);
  append(element, children);
  return element;
}

export function set(element, props) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "href") {
      // only our own pages and what we made ourselves: no link comes from a run
      if (/^(\/(?!\/)|#|\?|blob:)/.test(value)) element.setAttribute("href", value);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (name === "css") {
      for (const [property, one] of Object.entries(value)) element.style.setProperty(property, one);
    } else if (name === "value" || name === "checked" || name === "selected") {
      element[name] = value;
    } else if (/^on/i.test(name) || name === "src" || name === "srcdoc") {
      throw new Error(`${name} is not for h()`);
    } else {
      element.setAttribute(name, value === true ? "" : shown(value));
    }
  }
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

let toastTimer = 0;
export function toast(text, kind = "") {
  let place = document.getElementById("toast");
  if (!place) {
    place = h("div", { id: "toast", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  fill(place, text);
  place.className = `on ${kind}`;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (place.className = ""), 4000);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch (error) {
    toast("the browser does not allow copying here", "bad");
  }
}
