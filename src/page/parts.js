// Parts of which views are made. Whatever text they are given is shown, never obeyed; characters that cannot be seen, or that turn the order of
// others around, are written out.
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u3164\uffa0\ufff0-\uffff]/gu;
const shown = (text) => String(text).replace(UNSEEN, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");

// An element: `p.note` is a paragraph of a class. Children are elements or texts; what is null is left out.
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
// A link within a drawing is `link`: it has the name of the other kind.
const SVG = ["svg", "link", "g", "path", "rect", "text", "title", "line"];
const el = (name, attributes, ...children) => {
  const [tag, ...classes] = name.split(".");
  const element = SVG.includes(tag) ? document.createElementNS(SVG_NAMESPACE, tag === "link" ? "a" : tag) : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : shown(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : shown(child));
  }
  return element;
};
const heard = (element, event, listener) => {
  element.addEventListener(event, listener);
  return element;
};
const button = (words, listener, attributes) => heard(el("button.plain-button", { type: "button", ...attributes }, words), "click", listener);

// Addresses within the page.
const to = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");
const symbolLink = (path, words) => el("a", { href: to("symbol", path) }, words ?? symbolName(path));
const symbolName = (path) => {
  const [type, ...member] = path.split("#");
  const dot = lastDot(type);
  const own = el("b", null, type.slice(dot + 1), member.length ? "." + member.join("#") : "");
  return el("code.label", null, type.slice(0, dot + 1), el("wbr"), own);
};
// The last dot of a name that is not within brackets.
const lastDot = (name) => name.split(/[<(`]/)[0].lastIndexOf(".");
const labelLink = (label) => {
  const colon = label.lastIndexOf(":");
  const name = el("code.label", null, label.slice(0, colon), el("wbr"), el("b", null, label.slice(colon)));
  return el("a.quiet", { href: to("target", label) }, name);
};

// Words for numbers.
const count = (value) => number(value ?? 0);
const plural = (value, one, many) => count(value) + " " + (value === 1 ? one : (many ?? one + "s"));
const when = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
const millionths = (micros) => (micros / 1e6).toFixed(4).replace(/(\.\d\d\d*?)0+$/, "$1");
const price = (spent, currency) => {
  if (!spent) return "free";
  if (spent.agent) return "no money";
  return spent.micros === null || spent.micros === undefined ? "no price known" : millionths(spent.micros) + " " + (currency ?? "");
};
const spending = (spent) =>
  spent && [plural(spent.calls, "call"), count(spent.input_tokens) + " tokens in", count(spent.output_tokens) + " out"].join(", ");

// How a node stands, in the words and colours of the report.
const STATES = {
  current: ["current", "current"], cached: ["current", "current"], stale: ["stale", "stale"], maybe_stale: ["maybe stale", "open"],
  maybeStale: ["maybe stale", "open"], pending: ["failed", "failed"], generating: ["being made", "open"], none: ["not made", "none"],
  source: ["source", "source"], moved: ["changed source", "moved"],
};
const stateOf = (word) => STATES[word] ?? [word, "none"];
const state = (word) => el("span.state.s-" + stateOf(word)[1], null, stateOf(word)[0]);

// A heading with what stands below it.
const section = (title, note, ...children) =>
  el("section", { "aria-label": title }, el("div.title", null, el("h2", null, title), note && el("p.note", null, note)), ...children);
const facts = (rows) =>
  el("dl.facts", null, rows.filter(Boolean).map(([name, ...value]) => el("div", null, el("dt", null, name), el("dd", null, ...value))));
const empty = (...words) => el("p.empty", null, ...words);
const figures = (rows) =>
  el("dl.figures", null, rows.filter(Boolean).map(([name, value, note]) => el("div", null, el("dt", null, name), el("dd", null, value), note && el("dd.note", null, note))));

// A table; a column is [head, its hint, how a row is shown, whether it holds numbers].
const table = (name, columns, rows) =>
  el("div.scroll", { tabindex: 0, role: "group", "aria-label": name },
    el("table", null,
      el("thead", null, el("tr", null, columns.map(([head, hint, , isNumber]) => el(isNumber ? "th.number" : "th", { scope: "col", title: hint }, head)))),
      el("tbody", null, rows.map((row) => el("tr", null, columns.map(([, , draw, isNumber], at) =>
        el(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: isNumber ? "number" : null }, draw(row))))))));

// A bar: parts of a whole, each [class, value, its name]; the whole is named, so that the bar has a scale.
const bar = (parts, whole, words) => {
  // A few among many are to be seen too.
  const there = parts.filter(([, value]) => value > 0).map(([name, value, title]) => [name, Math.max((value * 1000) / whole, 4), title]);
  const factor = Math.min(1, 1000 / there.reduce((sum, [, width]) => sum + width, 0));
  let x = 0;
  const rects = there.map(([name, width, title]) => {
    const rect = el("rect", { class: name, x: x.toFixed(1), y: 0, width: (width * factor).toFixed(1), height: 10 }, el("title", null, title));
    x += width * factor;
    return rect;
  });
  return el("svg.standing", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": words },
    el("rect.track", { x: 0, y: 0, width: 1000, height: 10 }), rects);
};

// What is wrong, as the service tells it.
const problem = (error) => {
  const data = error.data ?? {};
  const others = (data.suggestions ?? data.candidates ?? []).map((one) => one.path ?? one.symbol ?? one).filter((one) => typeof one === "string");
  return el("div.problem", { role: "alert" },
    el("p", null, data.code ? el("b", null, data.code + ": ") : null, error.message),
    data.found && el("pre", null, data.found),
    data.hint && el("p.note", null, data.hint),
    others.length > 0 && el("ul.plain", null, others.slice(0, 12).map((path) => el("li", null, symbolLink(path)))));
};
const notes = (state) => (state?.notes?.length ? el("ul.notes", null, state.notes.map((note) => el("li", null, note))) : null);

// Markdown as far as outlines and summaries have it: headings, lists, fenced code, code and bold within lines. What is offered (`+ signature — words`)
// is set as code.
const markdown = (text) => {
  const all = el("div.markdown");
  let fence = null;
  let list = null;
  for (const line of text.split("\n")) {
    const ticks = /^\s*(```+)/.exec(line);
    const item = /^(\s*)([-*+]) (.*)$/.exec(line);
    const heading = /^(#+) (.*)$/.exec(line) ?? /^()([A-Z][A-Z_]+):$/.exec(line);
    if (ticks) fence = fence ? null : all.appendChild(el("pre"));
    else if (fence) fence.append(shown(line) + "\n");
    else if (item) {
      list = list ?? all.appendChild(el("ul"));
      const depth = "li.depth-" + Math.min(item[1].length >> 1, 3);
      list.append(item[2] === "+" ? el(depth + ".offered", null, offered(item[3])) : el(depth, null, inline(item[3])));
    } else {
      list = null;
      if (heading) all.append(el("h" + Math.min((heading[1].length || 2) + 2, 5), null, inline(heading[2])));
      else if (line.trim()) all.append(el("p", null, inline(line)));
    }
  }
  return all;
};
const offered = (line) => {
  const [signature, ...words] = line.split(" — ");
  return [el("code", null, code(signature)), words.length > 0 && el("span.note", null, " ", words.join(" — "))];
};
// A backtick behind a name counts type parameters.
const inline = (text) =>
  text.split(/((?<![\w`])`[^`]+`(?!\w)|\*\*[^*]+\*\*)/).map((part, at) =>
    at % 2 === 0 ? part : part[0] === "`" ? el("code", null, part.slice(1, -1)) : el("b", null, part.slice(2, -2)));

// A unified difference.
const difference = (text) =>
  el("pre.diff", { tabindex: 0, role: "group", "aria-label": "Difference" }, text.replace(/\n$/, "").split("\n").map((line) =>
    el("span" + ({ "+": ".add", "-": ".del", "@": ".hunk" }[line[0]] ?? ""), null, line || " ")));

// Lines of C# with their numbers; `marked` are lines to point out.
const WORDS = /(\/\/.*$|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+'|\b(?:abstract|as|async|await|base|bool|break|byte|case|catch|char|class|const|continue|decimal|default|delegate|do|double|else|enum|event|explicit|extern|false|finally|float|for|foreach|get|if|implicit|in|init|int|interface|internal|is|lock|long|namespace|new|null|object|operator|out|override|params|private|protected|public|readonly|record|ref|return|sealed|set|short|static|string|struct|switch|this|throw|true|try|typeof|uint|ulong|using|var|virtual|void|when|where|while|with|yield)\b)/;
const code = (line) =>
  line.split(WORDS).map((part, at) => {
    if (at % 2 === 0) return part;
    const kind = part.startsWith("//") ? ".c-comment" : /^["']/.test(part) ? ".c-text" : ".c-word";
    return el("span" + kind, null, part);
  });
const lines = (text, first, marked) =>
  el("pre.source", { tabindex: 0, role: "group", "aria-label": "Source" }, text.replace(/^\ufeff/, "").replace(/\r?\n$/, "").split(/\r?\n/).map((line, at) =>
    el(marked?.has(first + at) ? "span.line.marked" : "span.line", null, el("span.at", null, first + at), code(line), "\n")));
