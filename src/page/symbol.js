// The views of a symbol and of a target.
const TABS = [
  ["outline", "Outline"], ["source", "Source and usages"], ["graph", "Graph"], ["summary", "Summary"], ["why", "Why and history"],
];
const isMember = (path) => path.includes("#");
const typeOf = (path) => path.split("#")[0];

// A file or a folder is told from a type by its slash.
const isFile = (path) => path.includes("/");
const symbolView = (view, path, tab = "outline") => {
  const shownTabs = isFile(path) ? ["outline", "source"] : isMember(path) ? ["outline", "source", "graph"] : TABS.map(([name]) => name);
  const tabs = TABS.filter(([name]) => shownTabs.includes(name)).map(([name, words]) => [name, isFile(path) && name === "source" ? "Source" : words]);
  const dot = isFile(path) ? path.lastIndexOf("/") : lastDot(typeOf(path));
  const title = isFile(path) ? path.slice(dot + 1) : path.slice(dot + 1).replace("#", ".");
  view.title = title;
  const links = tabs.map(([name, words]) => el("a", { href: to("symbol", path, name), "aria-current": name === tab ? "page" : null }, words));
  const inside = isMember(path) ? ["a member of ", symbolLink(typeOf(path))] : dot > 0 ? ["in ", el("a.quiet", { href: to("symbol", path.slice(0, dot)) }, el("code", null, path.slice(0, dot)))] : [];
  const draw = own({ outline: outlineTab, source: isFile(path) ? sourcePart : sourceTab, graph: graphTab, summary: summaryTab, why: whyTab }, tab, outlineTab);
  return el("article", null,
    el("div.head", null, el("h1", null, title), el("p.note", null, inside)),
    el("nav.tabs", { "aria-label": "Of this symbol" }, links),
    draw(view, path));
};

const outlineTab = (view, path) =>
  view.slot(view.ask("outline", { symbols: [path], limit: 200 }), (answer) => [
    notes(answer.state),
    markdown(answer.outlineText),
    answer.entries?.length > 0 && el("ul.plain.entries", null, answer.entries.map((entry) => el("li", null, entryOf(entry)))),
  ]);
// A line of what is in a namespace, a folder or a project.
const entryOf = (entry) => {
  const path = entry.path ?? entry.name;
  return [symbolLink(path), el("span.note", null, " ", [entry.kind, entry.types && plural(entry.types, "type")].filter(Boolean).join(", "))];
};

const USAGES = 200;
const sourcePart = (view, path) =>
  view.slot(view.ask("source", { symbols: [path], lines: 1500 }), (answer) => [
    notes(answer.state),
    answer.sources.map((source) => [
      source.notes?.map((note) => el("p.note", null, note)),
      source.parts.map((part) => [
        el("p.place", null, fileLink(part.file), el("span.note", null, ` lines ${part.start} to ${part.end}`)),
        lines(part.text, part.start),
        part.leftOut && el("p.note", null, `Lines ${part.leftOut[0]} to ${part.leftOut[1]} are left out.`),
      ]),
    ]),
  ]);
const sourceTab = (view, path) => {
  const used = view.ask("usages", { symbol: path, limit: USAGES });
  return el("div.beside", null,
    el("section", { "aria-label": "Source" }, el("h2", null, "Source"), sourcePart(view, path)),
    el("section", { "aria-label": "Usages" }, el("h2", null, "Usages"),
      view.slot(used, (answer) => [
        notes(answer.state),
        answer.total === 0 && empty("Nothing in the workspace uses it."),
        places(answer.certain),
        answer.possible.length > 0 && el("h3", null, "Possible"),
        places(answer.possible),
      ])));
};
const fileLink = (file) => el("a.quiet", { href: to("symbol", file) }, el("code", null, file));
const places = (spots) => {
  const byFile = new Map();
  for (const spot of spots) byFile.set(spot.file, [...(byFile.get(spot.file) ?? []), spot]);
  return [...byFile].map(([file, found]) =>
    el("div.places", null, el("p.place", null, fileLink(file), el("span.note", null, " ", count(found.length))),
      el("ol.plain", null, found.map((spot) => el("li", null, el("span.at", null, spot.line), el("div", null, el("code", null, code(spot.text)), spot.why && el("p.note", null, spot.why)))))));
};

// An answer, or nothing where what is asked about is a namespace, which has none.
const ofSymbol = (asked) => asked.catch((error) => (error.data?.code === "SymbolNotFound" ? null : Promise.reject(error)));
// Of a type the types beside it, of a member the members that it uses and that use it.
const graphTab = (view, path) => {
  const of = (method, more) => view.ask(method, { symbol: path, ...more });
  const both = isMember(path)
    ? [of("callees").then((answer) => members(answer, "to")), of("callers").then((answer) => members(answer, "from"))]
    : ["deps", "rdeps"].map((method) => of(method, { limit: BESIDE }));
  const [one, many] = isMember(path) ? ["member", "members"] : ["type", "types"];
  return view.slot(ofSymbol(Promise.all(both)), (answers) => (answers ? besides(path, answers, one, many) : empty("Only types and members have a graph.")));
};
const besides = (path, [deps, rdeps], one, many) => [
  el("p.note", null, `It uses the ${many} to its left; the ${many} to its right use it.`),
  drawing(around(path, deps, rdeps), symbolLines, (node) => to("symbol", node.label, "graph"), `The ${many} around ${symbolText(path)}`),
  figures([
    ["Uses", plural(deps.total, one, many), declared(deps)],
    ["Is used by", plural(rdeps.total, one, many), declared(rdeps)],
    deps.external?.length > 0 && ["Not of this workspace", count(deps.external.length), deps.external.slice(0, 3).join(", ") + (deps.external.length > 3 ? " …" : "")],
  ]),
  // How many are left out stands beside the symbol.
  [deps, rdeps].map(({ state }) => notes({ notes: state.notes.filter((note) => !note.includes("are shown")) })),
];
const declared = (answer) => answer.structure > 0 && count(answer.structure) + " by declarations";
const members = ({ places, state }, end) => {
  const types = [...new Set(places.map((place) => place[end]))].map((path) => ({ path }));
  return { types, total: types.length, state };
};
const symbolText = (path) => path.slice(lastDot(typeOf(path)) + 1);
const symbolLines = ({ label }) => {
  const [type, ...member] = label.split("#");
  const [own, ...parameters] = member.join("#").split("(");
  return member.length ? [own + (parameters.length ? "(…)" : ""), symbolText(type)] : [symbolText(type), type.slice(0, Math.max(lastDot(type), 0))];
};

const summaryTab = (view, path) => {
  const history = view.ask("history", { label: path + ":semantic" }).catch(() => null);
  const cost = view.ask("cost", {}).catch(() => null);
  return el("div", null,
    view.slot(ofSymbol(view.ask("semantic", { symbol: path })), (answer) => !answer ? empty("Only types have a summary.") : [
      el("p.focus", null, state(answer.semanticState)),
      notes(answer.state),
      answer.semanticText ? markdown(answer.semanticText) : empty("There is no summary yet. ", el("code", null, "cortex semantic --refresh " + symbolText(path)), " makes one, which may cost money."),
    ]),
    section("What it cost", null, view.slot(Promise.all([history, cost]), ([found, all]) =>
      found ? costOf(found.versions, all?.currency) : empty("It was never built in this checkout."))));
};
const costOf = (versions, currency) =>
  table("What each version cost", [
    ["Version", "The newest first", (one) => count(one.version)],
    ["Made", "Universal time", (one) => (one.at ? when(one.at) : "unknown")],
    ["By", "The producer and its version", (one) => one.producer ?? "not recorded"],
    ["Cost", "What the model was paid", (one) => price(one.spent, currency), true],
    ["Asked", "Calls and tokens", (one) => spending(one.spent) ?? "·"],
    ["Took", "Time of the last run", (one) => (one.took_us === null ? "·" : duration(one.took_us)), true],
  ], [...versions].reverse());

const whyTab = (view, path) => {
  const targets = view.slot(view.ask("query", { expr: `${quotedType(path)}:*` }), (answer) =>
    el("ul.plain.columns-of-links", null, answer.nodes.map((node) => el("li", null, el("a", { href: to("target", node.label) }, node.label.split(":").pop())))));
  return el("div", null, targetParts(view, path + ":outline"), section("All targets of this type", null, targets));
};
const quotedType = (path) => "//types/" + path.replaceAll("%", "%25").replaceAll("*", "%2A").replaceAll("?", "%3F").replaceAll(":", "%3A");

// A target: why it stands as it does, the graph near it, its versions.
const targetView = (view, label) => {
  view.title = label;
  return el("article", null, el("div.head", null, el("h1.long", null, label)), targetParts(view, label));
};
const targetParts = (view, label) => {
  const near = view.ask("node.near", { label });
  return el("div", null,
    section("Why this state", null, view.slot(view.ask("explain", { label }), (answer) => why(answer))),
    section("Graph", "Its inputs are to its left, its readers to its right.",
      view.slot(near, (drawn) => [
        drawing(drawn, targetLines, (node) => to("target", node.label), "The graph near " + drawn.label),
        legend(drawn),
      ])),
    section("Versions", "The newest first. What an older one differs in from the one before it is shown when it is opened.",
      view.slot(view.ask("history", { label }).catch((error) => (error.data.code === "E_NO_VERSION" ? null : Promise.reject(error))), (found) =>
        found ? versions(view, label, found.versions) : empty("No version of it is kept: it is a source, or was never built in this checkout."))));
};
const targetLines = (node) => {
  const colon = node.label.lastIndexOf(":");
  return [node.label.slice(colon + 1), node.label.slice(0, colon)];
};
const legend = (drawn) => {
  const words = new Map(drawn.nodes.map((node) => [stateOf(node.state)[0], node.state]));
  return el("ul.legend", null, [...words.values()].map((word) => el("li", null, state(word))),
    drawn.edges.some((edge) => edge.way) && el("li", null, el("span.key.k-way", null, "the path to the change")));
};

const why = (answer) => {
  const chain = answer.chain ?? [];
  const made = answer.made;
  const last = answer.last_chain ?? [];
  return facts([
    ["It is", state(answer.state)],
    answer.failure && ["Failed", `${answer.failure.code}: ${answer.failure.message}`],
    // Of what may be stale the inputs are still to be made: the way tells more.
    answer.moved?.length > 0 && answer.state !== "maybe_stale" && ["Moved", el("ul.plain", null, answer.moved.slice(0, 12).map((one) => el("li", null, move(one))))],
    chain.length > 0 && ["Because", el("ol.chain", null, chain.slice(0, 12).map((step) =>
      el("li", null, labelLink(step.label), step.input && el("span.note", null, " ", step.input.role), step.text && el("p.reason", null, step.text),
        step.redefined?.map((one) => el("p.note", null, typeof one === "string" ? one : JSON.stringify(one))))))],
    answer.file && ["The edit", el("p.place", null, fileLink(answer.file.path)), difference(answer.file.diff)],
    made && ["Made", `${when(made.at)} by ${made.producer} in ${duration(made.took_us)}, ${size(made.bytes)}`],
    answer.last_moved?.length > 0 && ["Last ran", el("ul.plain", null, answer.last_moved.slice(0, 12).map((one) => el("li", null, move(one))))],
    last.length > 0 && ["Because", el("ol.chain", null, last.slice(0, 12).map((one) => el("li", null, move(one))))],
    answer.only_if?.length > 0 && ["Only if", gate(answer.only_if.at(-1))],
    ["Versions", count(answer.versions)],
  ]);
};
const GATE = 3;
const gate = ({ labels, same, remade }) => [
  labels.slice(0, GATE).map((label, at) => [at > 0 && " or ", labelLink(label)]),
  labels.length > GATE && " or " + plural(labels.length - GATE, "other"),
  el("span.note", null, " changes", remade > 0 && ` (${count(same)} of ${count(remade)} times it did not)`),
];
const move = (one) => [labelLink(one.label), el("span.note", null, " ", one.role ?? "")];

const versions = (view, label, all) =>
  el("ol.versions", null, [...all].reverse().map((one, at, reversed) => {
    const before = reversed[at + 1];
    const head = [el("b", null, "Version " + count(one.version)), one.present && el("span.tag", null, "present"), one.pinned && el("span.tag", null, "pinned")];
    const facts = [one.at && when(one.at), one.build && "build " + count(one.build), one.producer, one.took_us !== null && duration(one.took_us), one.spent && spending(one.spent)];
    return el("li", null, el("h3", null, head), el("p.note", null, facts.filter(Boolean).join(" · ")),
      before && opened("What changed since version " + count(before.version), () =>
        ask("diff", { label, from: before.version, to: one.version }, view.signal).then((answer) => [
          answer.diff ? difference(answer.diff) : el("p.note", null, answer.diff === "" ? "The outputs are the same." : "One of the outputs is no longer in the store, or is not text."),
          answer.inputs.map((input) => el("div.input", null, labelLink(input.label), el("span.note", null, " ", input.role), input.diff && difference(input.diff))),
        ])));
  }));

// Details that are asked for when they are opened.
const opened = (words, fill) => {
  const place = el("div");
  let asked = false;
  return heard(el("details", null, el("summary", null, words), place), "toggle", (event) => {
    if (!event.target.open || asked) return;
    asked = true;
    fill().then((parts) => place.replaceChildren(...parts.flat(Infinity).filter(Boolean)), (error) => place.replaceChildren(problem(error)));
  });
};
