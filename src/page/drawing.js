// Drawings of graphs: nodes and what reads what. One scrolls to move about, and zooms by buttons, keys, or the wheel with Ctrl.
const ZOOMS = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.6, 2];

// As much of the end of a text as fits a node: ends tell most.
const ending = (text, columns) => {
  const all = [...shown(text)];
  return all.length > columns ? "…" + all.slice(-columns).join("") : all.join("");
};

// `drawn` is what `node near` answers. `link` gives the address of a node, `name` its two lines.
const drawing = (drawn, name, link, words) => {
  const [width, height] = drawn.nodeSize;
  const edges = [...drawn.edges].sort((a, b) => a.way - b.way).map((edge) => {
    const path = el(edge.way ? "path.edge.way" : "path.edge", { d: edge.path });
    return { ...edge, path };
  });
  const nodes = drawn.nodes.map((node, at) => {
    const [upper, lower] = name(node);
    const word = stateOf(node.state);
    const box = el("link." + (at === 0 ? "node.middle" : "node") + ".n-" + word[1], { href: link(node), "aria-label": node.label + ", " + word[0] },
      el("title", null, node.label + ", " + word[0]),
      el("rect.box", { x: node.x, y: node.y, width, height, rx: 6 }),
      el("rect.stripe", { x: node.x, y: node.y + 8, width: 3, height: height - 16, rx: 1.5 }),
      el("text.what", { x: node.x + 12, y: node.y + 16 }, ending(upper, 18)),
      el("text.of", { x: node.x + 12, y: node.y + 31 }, ending(lower, 22)),
      node.moreInputs > 0 && el("text.more", { x: node.x - 5, y: node.y + 36, "text-anchor": "end" }, "+" + count(node.moreInputs)),
      node.moreReaders > 0 && el("text.more", { x: node.x + width + 5, y: node.y + 36 }, "+" + count(node.moreReaders)));
    return box;
  });
  const svg = el("svg", { viewBox: `0 0 ${drawn.width} ${drawn.height}`, width: drawn.width, height: drawn.height, role: "group", "aria-label": words },
    edges.map((edge) => edge.path), nodes);
  const light = (at) => {
    svg.classList.toggle("near-on", at !== null);
    const lit = new Set([at]);
    for (const { from, to, path } of edges) {
      const on = from === at || to === at;
      path.classList.toggle("lit", on);
      if (on) lit.add(from).add(to);
    }
    nodes.forEach((node, other) => node.classList.toggle("lit", lit.has(other)));
  };
  nodes.forEach((node, at) => {
    for (const event of ["mouseenter", "focus"]) node.addEventListener(event, () => light(at));
    for (const event of ["mouseleave", "blur"]) node.addEventListener(event, () => light(null));
  });
  return zoomable(svg, drawn, words);
};

// What is looked at and the end of its way are to be seen at first, as large as they can be read.
const zoomable = (svg, drawn, words) => {
  const area = el("div.scroll.graph", { tabindex: 0, role: "group", "aria-label": words + "; arrows move, + and - zoom, 0 shows all" }, svg);
  let zoom = ZOOMS.indexOf(1);
  const show = (next, x = area.clientWidth / 2, y = area.clientHeight / 2) => {
    const factor = ZOOMS[next] / ZOOMS[zoom];
    const left = (area.scrollLeft + x) * factor - x;
    const top = (area.scrollTop + y) * factor - y;
    zoom = next;
    svg.setAttribute("width", drawn.width * ZOOMS[zoom]);
    svg.setAttribute("height", drawn.height * ZOOMS[zoom]);
    area.scrollTo(left, top);
  };
  const step = (by, x, y) => show(Math.min(Math.max(zoom + by, 0), ZOOMS.length - 1), x, y);
  const fit = () => {
    const most = Math.min((area.clientWidth - 4) / drawn.width, (area.clientHeight - 4) / drawn.height, 1);
    show(Math.max(ZOOMS.findLastIndex((one) => one <= most), 0));
  };
  const middle = () => {
    const [width, height] = drawn.nodeSize;
    const on = drawn.nodes.filter((node, at) => at === 0 || drawn.edges.some((edge) => edge.way && (edge.from === at || edge.to === at)));
    const left = Math.min(...on.map((node) => node.x)) - 24;
    const right = Math.max(...on.map((node) => node.x)) + width + 24;
    // Where the way does not fit, its cause is to be seen, which stands at its left.
    const x = right - left <= area.clientWidth ? (left + right - area.clientWidth) / 2 : left;
    const cause = on.reduce((a, b) => (b.x < a.x ? b : a));
    const y = (right - left <= area.clientWidth ? (drawn.nodes[0].y + cause.y) / 2 : cause.y) + height / 2 - area.clientHeight / 2;
    area.scrollTo(x, y);
  };
  area.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = area.getBoundingClientRect();
    step(event.deltaY < 0 ? 1 : -1, event.clientX - at.left, event.clientY - at.top);
  }, { passive: false });
  area.addEventListener("keydown", (event) => {
    const act = { "+": () => step(1), "=": () => step(1), "-": () => step(-1), 0: fit }[event.key];
    if (act && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      act();
    }
  });
  dragged(area);
  requestAnimationFrame(() => {
    area.classList.toggle("small", drawn.height < 420);
    middle();
  });
  return el("div.drawing", null, area,
    el("div.zoom", { role: "group", "aria-label": "Zoom" },
      button("−", () => step(-1), { "aria-label": "Zoom out" }), button("+", () => step(1), { "aria-label": "Zoom in" }), button("All", fit, { "aria-label": "Show all" })));
};

// A mouse takes hold of the drawing and moves it; fingers scroll it as they scroll everything.
const dragged = (area) => {
  let from = null;
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) from = { x: event.clientX, y: event.clientY, left: area.scrollLeft, top: area.scrollTop, moved: false };
  });
  area.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    from.moved = from.moved || Math.abs(x) + Math.abs(y) > 4;
    if (from.moved) area.scrollTo(from.left - x, from.top - y);
  });
  const end = () => {
    // The click that ends a drag follows no link.
    if (from?.moved) area.addEventListener("click", (event) => event.preventDefault(), { capture: true, once: true });
    from = null;
  };
  area.addEventListener("pointerup", end);
  area.addEventListener("pointerleave", () => (from = null));
  area.addEventListener("dragstart", (event) => event.preventDefault());
};

// Types around a type: what it depends on to the left, what depends on it to the right, the nearest ones and how many more there are.
const BESIDE = 18;
const around = (path, deps, rdeps) => {
  const [width, height, step, margin] = [172, 40, 46, 28];
  const columns = [deps.types.slice(0, BESIDE), [{ path }], rdeps.types.slice(0, BESIDE)];
  const tallest = Math.max(...columns.map((column) => column.length), 1);
  const x = (column) => margin + column * (width + 130);
  const places = columns.map((column, at) =>
    column.map((type, row) => ({ label: type.path, structure: type.structure, state: "current", x: x(at), y: margin + Math.round((row + (tallest - column.length) / 2) * step) })));
  const [left, [middle], right] = places;
  middle.moreInputs = deps.total - left.length;
  middle.moreReaders = rdeps.total - right.length;
  const nodes = [middle, ...left, ...right];
  const edge = (from, to) => {
    const [x1, y1, x2, y2] = [from.x + width, from.y + height / 2, to.x, to.y + height / 2];
    const half = (x1 + x2) / 2;
    return { from: nodes.indexOf(from), to: nodes.indexOf(to), way: false, path: `M${x1} ${y1}C${half} ${y1} ${half} ${y2} ${x2} ${y2}` };
  };
  const edges = [...left.map((type) => edge(type, middle)), ...right.map((type) => edge(middle, type))];
  return { nodes, edges, nodeSize: [width, height], width: x(2) + width + margin, height: margin * 2 + tallest * step - (step - height) };
};
