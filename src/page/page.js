// The page: which view an address means, the search, the news, the keys.
const main = by("main");
const live = by("live");

const VIEWS = {
  "": overviewView, symbol: symbolView, target: targetView, queue: queueView, packs: (view, name) => (name ? packView(view, name) : packsView(view)),
  contexts: contextsView, cost: costView, search: searchView,
};
// A changed file does not request the cost of a context again.
const STILL = ["contexts"];

// A view under way: what it asked, and the places that wait for answers.
const begin = (address) => {
  const [name, ...parts] = address.split("/").map(decoded);
  const ended = new AbortController();
  const view = { address, title: "", signal: ended.signal, filled: [], end: () => ended.abort() };
  view.ask = (method, params) => ask(method, params, ended.signal);
  view.slot = (asked, draw) => {
    const place = el("div.slot", { "aria-busy": "true" });
    const fill = (...parts) => {
      place.replaceChildren(...parts.flat(Infinity).filter(Boolean));
      place.removeAttribute("aria-busy");
    };
    const filled = Promise.resolve(asked).then((answer) => fill(draw(answer)), (error) => ended.signal.aborted || fill(problem(error)));
    view.filled.push(filled.catch((error) => fill(problem(error))));
    return place;
  };
  view.element = own(VIEWS, name, nowhere)(view, ...parts);
  view.isStill = STILL.includes(name);
  return view;
};
// What an object itself has under a name of an address: `constructor` is none of these.
const own = (all, name, otherwise) => (Object.hasOwn(all, name) ? all[name] : otherwise);
const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};
const nowhere = (view) => {
  view.title = "Nowhere";
  return empty("There is nothing at this address.");
};

let current = null;
let pristine = null;
const addressNow = () => location.hash.replace(/^#\/?/, "");
const go = () => {
  if (location.hash === "#main") return main.focus();
  if (keepToken()) restart();
  current?.end();
  current = begin(addressNow());
  pristine = null;
  main.replaceChildren(current.element);
  main.dataset.view = current.address;
  document.title = shown(current.title) + " – cortex";
  scrollTo(0, 0);
  for (const link of document.querySelectorAll("nav[aria-label=Views] a")) {
    const is = link.hash === "#/" ? addressNow() === "" : addressNow().startsWith(link.hash.slice(2));
    link.toggleAttribute("aria-current", is);
    if (is) link.setAttribute("aria-current", "page");
  }
  remember(current);
};
const remember = async (view) => {
  await Promise.allSettled(view.filled);
  if (view === current) pristine = view.element.cloneNode(true);
};

// The same view asked again, one time after the other. What is shown is replaced when it came out different, and stays where it is.
let isRenewing = false;
let isDue = false;
const refresh = async () => {
  isDue = true;
  if (isRenewing) return;
  isRenewing = true;
  while (isDue) {
    isDue = false;
    await renew();
  }
  isRenewing = false;
};
const renew = async () => {
  const before = current;
  if (!before || before.isStill) return;
  await Promise.allSettled(before.filled);
  const view = begin(before.address);
  await Promise.allSettled(view.filled);
  if (current !== before || !pristine || view.element.isEqualNode(pristine)) return view.end();
  const open = [...main.querySelectorAll("details")].map((one) => one.open);
  const places = [...main.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = document.activeElement?.getAttribute("href");
  const y = scrollY;
  before.end();
  current = view;
  pristine = view.element.cloneNode(true);
  main.replaceChildren(view.element);
  main.querySelectorAll("details").forEach((one, at) => (one.open = open[at] ?? false));
  main.querySelectorAll(".scroll").forEach((one, at) => requestAnimationFrame(() => one.scrollTo(...(places[at] ?? [0, 0]))));
  if (focused) [...main.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
  scrollTo(0, y);
  view.element.classList.add("renewed");
};

// News: how far a build is, and that there is something new to ask.
let known = null;
const news = (now) => {
  const words = now.percent !== null ? `building, ${now.percent} %` : now.elsewhere ? "another process builds" : "connected";
  tell(now.percent !== null || now.elsewhere ? "building" : "live", words);
  const isNew = known && (now.moves !== known.moves || now.build !== known.build);
  known = now;
  if (isNew) refresh();
};
const tell = (name, words) => {
  if (live.textContent === words) return;
  live.className = name;
  live.textContent = words;
};

// The search: hits below the field as one types.
const search = by("search");
const found = by("found");
let picked = -1;
let typed = null;
const options = () => [...found.children];
const pick = (at) => {
  picked = at;
  options().forEach((option, other) => option.setAttribute("aria-selected", String(other === at)));
  if (at < 0) search.removeAttribute("aria-activedescendant");
  else search.setAttribute("aria-activedescendant", options()[at].id);
  options()[at]?.scrollIntoView({ block: "nearest" });
};
const fold = () => {
  found.hidden = true;
  search.setAttribute("aria-expanded", "false");
  pick(-1);
};
const leave = (address) => {
  fold();
  search.value = "";
  search.blur();
  location.hash = address;
};
const hitOption = (hit, at) => {
  const option = el("li", { id: "hit-" + at, role: "option", "aria-selected": "false" }, symbolName(hit.path), el("span.note", null, " ", hit.kind, " ", hit.former ? `was ${hit.former}` : hit.files[0] ?? ""));
  option.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    leave(to("symbol", hit.path));
  });
  option.dataset.path = hit.path;
  return option;
};
const look = async () => {
  typed?.abort();
  typed = new AbortController();
  const query = search.value.trim();
  if (!query) return fold();
  try {
    const { hits } = await ask("search", { query, limit: 12 }, typed.signal);
    found.replaceChildren(...(hits.length ? hits.map(hitOption) : [el("li.note", { role: "option", "aria-disabled": "true", id: "hit-none" }, "Nothing has such a name.")]));
    found.hidden = false;
    search.setAttribute("aria-expanded", "true");
    pick(-1);
  } catch (error) {
    if (error.name !== "AbortError") found.replaceChildren(el("li.note", { role: "option", "aria-disabled": "true" }, error.message));
  }
};
let pause = null;
search.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(look, 60);
});
search.addEventListener("blur", fold);
search.addEventListener("keydown", (event) => {
  const last = options().filter((option) => option.dataset.path).length - 1;
  const step = { ArrowDown: picked < last ? picked + 1 : 0, ArrowUp: picked > 0 ? picked - 1 : last }[event.key];
  if (step !== undefined && !found.hidden && last >= 0) {
    event.preventDefault();
    pick(step);
  } else if (event.key === "Escape") {
    search.value = "";
    fold();
  }
});
by("finder").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = search.value.trim();
  if (picked >= 0) leave(to("symbol", options()[picked].dataset.path));
  else if (query) leave(to("search", query));
});
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  }
});

// Without the token nothing is shown; it is asked for.
const askForToken = () => {
  current?.end();
  current = null;
  tell("lost", "not let in");
  const field = el("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = heard(el("form.ask", null, el("label", { for: "token" }, "Token"), field, el("button.main-button", { type: "submit" }, "Show the page")), "submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", field.value.trim());
    restart();
    go();
  });
  main.replaceChildren(el("article", null, el("h1", null, "The token, please"),
    el("p", null, "This page shows the workspace to those who have the token of its service. ", el("code", null, "cortex serve --http"), " prints the file that contains it."), form));
};
let isFollowing = false;
const restart = () => {
  if (isFollowing) return;
  isFollowing = true;
  known = null;
  follow(news, () => tell("lost", "the service is not there")).then(() => (isFollowing = false));
};

addEventListener("hashchange", go);
keepToken();
if (sessionStorage.getItem("token")) {
  restart();
  go();
} else askForToken();
