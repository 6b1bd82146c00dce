// The views of the workspace: how it stands, its queue, packs, contexts, costs, and the hits of a search.
const overviewView = (view) => {
  view.title = "Overview";
  // The log of builds is there at once, however large the graph is; how everything stands takes a look at all of it, and comes after.
  const log = view.ask("log", { count: 40 });
  const paid = log.then((found) => (found.builds.some((build) => build.spent?.calls > 0) ? currencyOf(view) : ""));
  return el("article", null,
    el("h1.unseen", null, "Overview"),
    view.slot(log.catch(() => null).then(() => view.ask("status", {})), (status) => standing(status)),
    section("Builds", "Each build that ran a producer or used the cache, the newest first. Ran: outputs that producers computed. Cached: results stored under their keys. Unchanged: outputs whose keys are as before.",
      view.slot(Promise.all([log, paid]), ([found, currency]) => builds(found.builds, currency))));
};
let currency;
const currencyOf = (view) => (currency !== undefined ? currency : view.ask("cost", {}).then((answer) => (currency = answer.currency ?? ""), () => ""));

const ORDER = [["current", "f-current"], ["stale", "f-stale"], ["maybe_stale", "f-open"], ["pending", "f-failed"], ["generating", "f-open"], ["none", "f-none"]];
const standing = (status) => {
  by("workspace").textContent = shown(status.name);
  const sums = Object.fromEntries(ORDER.map(([word]) => [word, Object.values(status.targets).reduce((sum, counts) => sum + (counts[word] ?? 0), 0)]));
  const all = Object.values(sums).reduce((a, b) => a + b, 0);
  return [
    figures([
      ["Targets", count(all), "of " + plural(status.files, "source file")],
      status.service?.typesIndexed > 0 && ["Types", count(status.service.typesIndexed), "in " + plural(status.service.projects, "project")],
      status.store && ["Store", size(status.store.file_bytes), plural(status.store.actions, "result")],
      status.outlook.will_run.length > 0 && ["Would run", count(status.outlook.will_run.length), status.outlook.may_run > 0 ? `and up to ${count(status.outlook.may_run)} more` : "if all were built"],
    ]),
    all === 0 ? empty("Nothing was built in this checkout yet: ", el("code", null, "cortex build"), ".") : stateBar(sums, all, "targets"),
    status.health && el("p.note", null, status.health),
    status.redefined && el("p.note", null, "The manifest, a ruleset or a producer's version changed since the last build."),
    status.changed.length > 0 && el("p.changed", null, plural(status.changed.length, "source file") + " changed since the last build: ",
      status.changed.slice(0, 8).map((path, at) => [at > 0 && ", ", fileLink(path)]), status.changed.length > 8 && " …"),
    failures(status.failures),
  ];
};
const stateBar = (sums, all, what) => [
  bar(ORDER.map(([word, name]) => [name, sums[word] ?? 0, `${count(sums[word])} ${stateOf(word)[0]}`]), all, `How ${count(all)} ${what} stand`),
  el("p.scale-of", { "aria-hidden": "true" }, el("span", null, "0"), el("span", null, count(all) + " " + what)),
  el("ul.legend", null, ORDER.filter(([word]) => sums[word] > 0).map(([word]) => el("li", null, state(word), " ", el("b", null, count(sums[word])), " ", el("span.note", null, share(sums[word], all))))),
];
const share = (part, all) => {
  const tenths = Math.floor((part * 1000) / all);
  return part === all ? "" : tenths === 0 ? "< 0.1 %" : tenths / 10 + " %";
};
const failures = (all) =>
  all.length > 0 && el("div.failures", null, el("h3", null, plural(all.length, "target") + " failed"),
    el("ul", null, all.slice(0, 12).map((one) => el("li", null, one.label && labelLink(one.label), el("p", null, `${one.code}: ${one.message}`), one.found && el("pre", null, one.found)))),
    all.length > 12 && el("p.note", null, `${count(all.length - 12)} more`));

const dot = (value) => (value ? count(value) : "·");
const builds = (all, currency) => {
  if (all.length === 0) return empty("No build of this checkout has run or reused anything yet.");
  const most = Math.max(...all.map((build) => build.counts.ran + build.counts.cached + build.counts.verified), 1);
  const paid = all.some((build) => build.spent?.calls > 0);
  const share = (build) => {
    const { ran, cached, verified, failed } = build.counts;
    return bar([["k-ran", ran, count(ran) + " built"], ["k-hit", cached + verified, count(cached + verified) + " reused"], ["k-failed", failed, count(failed) + " failed"]], most,
      `${count(ran)} built, ${count(cached + verified)} reused`);
  };
  return [
    el("ul.legend", null, el("li", null, el("span.key.k-ran", null, "built")), el("li", null, el("span.key.k-hit", null, "reused")),
      el("li.note", null, "a full bar is " + plural(most, "target"))),
    table("Builds", [
      ["Build", "Its number in cortex log", (build) => count(build.number)],
      ["Began", "Universal time", (build) => el("span.when", null, when(build.at))],
      ["Command", "What was called", (build) => [build.outcome !== "ok" && el("span.state.s-failed", null, build.outcome), " ", el("code.command", { title: build.command }, build.command)]],
      ["", "What it did, on one scale for all builds", share],
      ["Ran", "Outputs that producers computed", (build) => dot(build.counts.ran), true],
      ["Cached", "Results stored under their keys", (build) => dot(build.counts.cached), true],
      ["Unchanged", "Outputs whose keys are as before", (build) => dot(build.counts.verified), true],
      ["Failed", "Without an output", (build) => dot(build.counts.failed), true],
      ["Took", "From its begin to its last commit", (build) => duration(build.took_us), true],
      paid && ["Cost", "What models were paid", (build) => (build.spent?.calls > 0 ? price(build.spent, currency) : "·"), true],
    ].filter(Boolean), [...all].reverse()),
  ];
};

const queueView = (view) => {
  view.title = "Queue";
  const status = view.ask("status", {});
  return el("article", null,
    el("h1", null, "Queue"),
    section("Summaries", "The states of the summaries of all types.", view.slot(status, ({ semantic }) => {
      const all = Object.values(semantic).reduce((a, b) => a + b, 0);
      return all === 0 ? empty("No rule makes summaries, or nothing was built yet.") : stateBar(semantic, all, "summaries");
    })),
    section("A build of everything would run", "These certainly run; their readers run only if an output changes.", view.slot(status, ({ outlook, targets }) =>
      outlook.will_run.length === 0 ? empty(...nothingRuns(targets)) : [
        el("ul.plain", null, outlook.will_run.slice(0, 60).map((label) => el("li", null, labelLink(label)))),
        outlook.will_run.length > 60 && el("p.note", null, `${count(outlook.will_run.length - 60)} more`),
        outlook.may_run > 0 && el("p.note", null, `Up to ${count(outlook.may_run)} more may run, depending on these.`),
      ])),
    section("For agents", "Questions that wait for an agent to answer them.", view.slot(
      view.ask("work.list", {}).catch((error) => error), (answer) => answer instanceof Error ? empty(answer.message) : work(answer))),
    section("Failed", "The last try at the present inputs failed.", view.slot(status, (answer) => failures(answer.failures) || empty("Nothing failed."))),
    section("The service", null, view.slot(status, ({ service }) => service && [
      figures([
        ["Up", duration(service.uptimeSec * 1e6)],
        ["Memory", count(service.memoryMb) + " MB"],
        ["Requests", count(service.requests), "being answered or waiting"],
        // Of a handful of requests no share is worth telling.
        Object.values(service.methods).reduce((sum, one) => sum + one.calls, 0) >= 20 && ["Known answers", share(Math.round(service.hitRatio * 1000), 1000) || "100 %", "of methods that look"],
      ]),
      service.alarms.length > 0 && el("ul.notes", null, service.alarms.map((alarm) => el("li", null, alarm))),
    ])));
};
const nothingRuns = (targets) => {
  const unmade = Object.values(targets).reduce((sum, counts) => sum + (counts.none ?? 0), 0);
  return unmade === 0 ? ["Nothing: every target is current, as far as is known."]
    : ["Nothing: every built target is current, as far as is known. ", plural(unmade, "target"), unmade === 1 ? " was" : " were", " never built, and ", unmade === 1 ? "is" : "are", " built on request."];
};
const work = (answer) =>
  answer.questions.length === 0 ? empty(`None waits; ${count(answer.done)} of ${plural(answer.targets, "target")} answered.`)
    : table("Questions", [
      ["Target", "What the answer becomes", (one) => labelLink(one.label)],
      ["Kind", "A new answer, or a patch of the last one", (one) => one.kind],
      ["With", "The agent that works at it", (one) => one.agent ?? "·"],
      ["Refused", "Answers that could not be taken", (one) => dot(one.refused), true],
    ], answer.questions);

const packsView = (view) => {
  view.title = "Packs";
  return el("article", null, el("h1", null, "Packs"),
    view.slot(view.ask("pack.list", {}), ({ packs, state }) => [
      notes(state),
      packs.length === 0 ? empty("There is no pack: ", el("code", null, "cortex pack build NAME --filter 'namespace:…'"), " makes one.") : el("ul.cards", null, packs.map((pack) =>
        el("li", null, el("h2", null, el("a", { href: to("packs", pack.name) }, pack.name)),
          el("p", null, el("code", null, pack.filter)), budget(pack.tokenEstimate, pack.budget),
          el("p.note", null, [pack.types !== undefined && plural(pack.types, "type"), pack.meant !== undefined && `${count(pack.meant)} meant`, pack.made ? "made by pack build" : "of cortex.toml"].filter(Boolean).join(", "))))),
    ]));
};
const budget = (tokens, most) => {
  if (tokens === undefined) return el("p.note", null, "Its text was not made yet.");
  if (!most) return el("p", null, plural(tokens, "token") + ", without a budget");
  return [
    bar([[tokens > most ? "k-failed" : "k-ran", Math.min(tokens, most), plural(tokens, "token")]], most, `${count(tokens)} of ${plural(most, "token")}`),
    el("p.scale-of", null, el("span", null, plural(tokens, "token")), el("span", null, `budget ${count(most)}`)),
  ];
};
const packView = (view, name) => {
  view.title = name;
  return el("article", null, el("div.head", null, el("h1", null, name), el("p.note", null, "a ", el("a", { href: "#/packs" }, "pack"))),
    view.slot(view.ask("pack.list", {}), ({ packs }) => packs.filter((pack) => pack.name === name).map((pack) => [el("p", null, el("code", null, pack.filter)), budget(pack.tokenEstimate, pack.budget)])),
    view.slot(view.ask("node.get", { label: `//packs/${encodeURIComponent(name)}:pack`, freshness: "any" }), (answer) => markdown(String(answer.output))));
};

const FACTORS = [
  ["bm25", "words", "Words of the query in names, code and documentation"], ["access", "use", "How often it was shown or looked at"],
  ["recency", "recent", "How lately that was"], ["dependency", "nearness", "Nearness to what is chosen, or to a package that the query names"],
  ["coverage", "coverage", "Words of the query that nothing else has"],
];
const contextsView = (view, query, tokens = "8000") => {
  view.title = "Contexts";
  const words = el("textarea", { id: "query", rows: 3, required: true, placeholder: "A task or a question, in words" }, query ?? "");
  const most = el("input", { id: "budget", type: "number", min: 200, max: 200000, step: 100, value: tokens });
  const form = heard(el("form.ask", null,
    el("label", { for: "query" }, "Query"), words,
    el("label", { for: "budget" }, "Tokens at most"), most,
    el("button.main-button", { type: "submit" }, "Build the context")), "submit", (event) => {
    event.preventDefault();
    if (words.value.trim()) location.hash = to("contexts", words.value.trim(), most.value);
  });
  return el("article", null, el("h1", null, "Contexts"), el("p.note", null, "The types that belong to a task, within a budget of tokens, and why each is among them."), form,
    query && view.slot(view.ask("context.build", { query, budget: Number(tokens) || 8000, why: true }), context));
};
const context = (answer) => [
  notes(answer.state),
  budget(answer.tokens, answer.budget),
  el("ul.legend", null, FACTORS.map(([name, words, title]) => el("li", { title }, el("span.key.factor-" + name, null, words), " ", el("span.note", null, "× " + answer.weights[name])))),
  table("What is in it", [
    ["Type or file", "The most important first", (item) => symbolLink(item.path)],
    ["Score", "What decided its place", (item) => item.score.toFixed(2), true],
    ["Factors", "What each factor gave, of 1", (item) => bar(FACTORS.map(([name, words]) => ["factor-" + name, item.gave[name], `${words} ${item.gave[name].toFixed(2)}`]), 1,
      FACTORS.map(([name, words]) => `${words} ${item.gave[name].toFixed(2)}`).join(", "))],
    ["Tokens", "What it takes of the budget", (item) => count(item.tokens), true],
    ["Why", "In words", (item) => item.why],
  ], answer.items),
  answer.leftOut.length > 0 && section("Left out", count(answer.leftOutTotal) + " more, which the query names or fits.",
    el("ul.plain", null, answer.leftOut.map((one) => el("li", null, symbolLink(one.path), el("span.note", null, " ", one.why))))),
  el("details", null, el("summary", null, "The text that a model is shown"), el("pre.source", { tabindex: 0 }, answer.contextText)),
];

const OUTCOMES = { full: "new answers", patch: "patches", unchanged: "answers confirmed", rejected: "unusable answers", saved: "stored answers used" };
const costView = (view) => {
  view.title = "Cost";
  return el("article", null, el("h1", null, "Cost"), el("p.note", null, "What models were paid for this checkout, and what stored answers saved."),
    view.slot(view.ask("cost", {}), (answer) => {
      if (answer.first === null) return empty("No model was asked, and no stored answer used.");
      const sum = (one) => Object.entries(one.money).map(([currency, micros]) => millionths(micros) + " " + currency).join(" and ") || (one.agents ? "no money" : "no price known");
      const columns = (head) => [
        [head, "", ([name]) => name], ["Times", "Answers", ([, one]) => count(one.times), true], ["Tokens in", "Sent", ([, one]) => count(one.spent.input_tokens), true],
        ["Tokens out", "Answered", ([, one]) => count(one.spent.output_tokens), true], ["Cost", "", ([, one]) => sum(one), true], ["Waited", "Time that models took", ([, one]) => duration(one.took_us), true],
      ];
      const saved = answer.by_outcome.saved;
      const named = Object.entries(answer.by_outcome).map(([name, one]) => [OUTCOMES[name] ?? name, one]);
      return [
        figures([["Spent", sum(answer.spent), plural(answer.spent.spent.calls, "call")], saved && ["Saved", sum(saved), plural(saved.times, "stored answer")]]),
        section("By outcome", null, table("By outcome", columns("Outcome"), named)),
        section("By model", null, table("By model", columns("Model"), Object.entries(answer.by_model))),
        section("Dearest targets", null, table("Dearest targets", [["Target", "", ([label]) => labelLink(label)], ...columns("").slice(1)], answer.targets.slice(0, 40))),
      ];
    }));
};

const searchView = (view, query) => {
  view.title = query;
  return el("article", null, el("h1", null, "Hits of ", el("code", null, query)),
    view.slot(view.ask("search", { query, limit: 100 }), (answer) => [
      notes(answer.state),
      answer.hits.length === 0 ? empty("Nothing has such a name.") : table("Hits", [
        ["Name", "", (hit) => symbolLink(hit.path)], ["Kind", "", (hit) => el("span.when", null, [hit.accessibility, hit.kind].filter(Boolean).join(" "))],
        ["File", "", (hit) => [fileLink(hit.files[0] ?? ""), hit.files.length > 1 && el("span.note", null, ` and ${count(hit.files.length - 1)} more`)]],
      ], answer.hits),
      answer.total > answer.hits.length && el("p.note", null, `${count(answer.hits.length)} of ${count(answer.total)} are shown.`),
    ]));
};
