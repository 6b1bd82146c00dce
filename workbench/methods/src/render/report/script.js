// The drawing: the target is brought into view, a node lights up what it hangs together with, and a click tells about it beside the drawing.
const drawing = by("drawing");
if (drawing) {
  const area = drawing.parentElement;
  const nodes = [...drawing.querySelectorAll("[data-node]")];
  const edges = [...drawing.querySelectorAll("[data-from]")];
  // The target and what made it stale are to be seen. Where the way between them does not fit, the cause is, which stands at its left.
  const whole = drawing.getBoundingClientRect();
  const on = [...drawing.querySelectorAll(".middle .box, .on-way .box")].map((box) => box.getBoundingClientRect());
  const cause = on.reduce((a, b) => (b.left < a.left ? b : a));
  const middle = drawing.querySelector(".middle .box").getBoundingClientRect();
  const isFitting = middle.right - cause.left + 48 <= area.clientWidth;
  const centre = (a, b, from) => (a + b) / 2 - from;
  area.scrollLeft = isFitting ? centre(cause.left, middle.right, whole.left) - area.clientWidth / 2 : cause.left - whole.left - 24;
  area.scrollTop = centre(cause.top, isFitting ? middle.bottom : cause.bottom, whole.top) - area.clientHeight / 2;
  const light = (at) => {
    drawing.classList.toggle("near-on", at !== null);
    const lit = new Set([at]);
    for (const edge of edges) {
      const { from, to } = edge.dataset;
      const on = from === at || to === at;
      edge.classList.toggle("lit", on);
      if (on) lit.add(from).add(to);
    }
    for (const node of nodes) node.classList.toggle("lit", lit.has(node.dataset.node));
  };
  const picked = by("picked");
  for (const node of nodes) {
    const at = node.dataset.node;
    node.addEventListener("mouseenter", () => light(at));
    node.addEventListener("mouseleave", () => light(null));
    node.addEventListener("focus", () => light(at));
    node.addEventListener("blur", () => light(null));
    node.addEventListener("click", (event) => {
      event.preventDefault();
      for (const other of nodes) other.classList.toggle("chosen", other === node);
      picked.replaceChildren(...[...by("node-" + at).childNodes].map((child) => child.cloneNode(true)));
      picked.hidden = false;
      picked.parentElement.classList.add("two");
    });
  }
}

// The table: all nodes come as data, are searched as one types, and are shown a few hundred at a time.
const data = JSON.parse(by("targets-data").textContent);
const rows = [];
let before = "";
for (const [same, rest, state, producer, versions, took, size, reads, readers] of data.rows) {
  const label = before.slice(0, same) + rest;
  before = label;
  rows.push({ label, lower: label.toLowerCase(), state, producer, versions, took, size, reads, readers });
}
const STEP = 200;
const orders = [
  (row) => row.state, (row) => row.label, (row) => (row.producer === null ? "" : data.producers[row.producer]),
  (row) => row.versions, (row) => row.took ?? -1, (row) => row.size ?? -1, (row) => row.reads, (row) => row.readers,
];
const pressing = (a, b) => a.state - b.state || b.versions - a.versions || (b.took ?? -1) - (a.took ?? -1);
rows.sort(pressing);
let found = rows;
let shown = STEP;
let sorted = null;
const body = by("rows");
const search = by("search");
const chips = [...document.querySelectorAll("[data-state]")];
const drawn = (row) => {
  const line = made("tr");
  const cell = (className, text) => line.appendChild(made("td", className, text));
  const [word, state] = data.states[row.state];
  cell("").append(made("span", "state s-" + state, word));
  const label = made("code", "label");
  const colon = row.label.lastIndexOf(":");
  label.append(colon < 0 ? row.label : row.label.slice(0, colon), made("wbr"));
  if (colon >= 0) label.append(made("b", "", row.label.slice(colon)));
  cell("of").append(label);
  cell("by", row.producer === null ? "·" : data.producers[row.producer]);
  cell("number", row.versions ? number(row.versions) : "·");
  cell("number", row.took === null ? "·" : duration(row.took));
  cell("number size", row.size === null ? "·" : size(row.size));
  cell("number reads", number(row.reads));
  cell("number reads", number(row.readers));
  return line;
};
const draw = () => {
  body.replaceChildren(...found.slice(0, shown).map(drawn));
  by("more").hidden = found.length <= shown;
  const few = Math.min(shown, found.length);
  by("shown").textContent = few === found.length ? number(found.length) + " nodes" : number(few) + " of " + number(found.length) + " nodes";
};
const find = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const off = new Set(chips.filter((chip) => chip.ariaPressed === "false").map((chip) => chip.dataset.state));
  const hidden = data.states.map(([, state]) => off.has(state));
  found = rows.filter((row) => !hidden[row.state] && words.every((word) => row.lower.includes(word)));
  if (sorted) {
    const of = orders[sorted.column];
    found.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * sorted.sign);
  }
  shown = STEP;
  draw();
};
search.addEventListener("input", find);
for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.ariaPressed = String(chip.ariaPressed === "false");
    find();
  });
}
by("more").addEventListener("click", () => {
  shown += STEP;
  draw();
});
[...document.querySelectorAll(".targets thead th")].forEach((head, column, heads) => {
  const button = made("button", "", head.textContent);
  button.type = "button";
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const first = column < 3 ? 1 : -1;
    sorted = { column, sign: sorted && sorted.column === column ? -sorted.sign : first };
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sorted.sign > 0 ? "ascending" : "descending");
    find();
  });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
by("find").hidden = false;
draw();

// A link to a build, or to a node, opens what it is in.
const opened = () => {
  const target = location.hash.length > 1 && by(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
};
addEventListener("hashchange", opened);
opened();
