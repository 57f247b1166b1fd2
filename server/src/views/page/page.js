// Functions as sections, and the frame of the page.
// A function.
const runOf = (run) => {
  if (!run) return null;
  if (run.refused) return h("p", { class: "small" }, `No run: ${run.refused}.`);
  return [h("p", { class: "small" }, worth("measured"), " in the interpreter: ", run.what, ". Inputs ", inline(run.inputs), `, seed ${run.seed}`, run.given.length ? [": ", h("code", {}, run.given.join(", "))] : null,
    run.random.length ? ["; random by the seed: ", h("code", {}, run.random.join(", "))] : null, ".", run.active_percent === undefined ? null : ` ${percent(run.active_percent)} of lanes are active in an instruction.`),
    run.ended ? h("p", { class: "small" }, "The run ended early: ", run.ended, run.ended_line ? [" (", at(run.ended_line, 1), ")"] : null, ". The pictures show it as far as it came.") : null];
};
const pictures = (row) => {
  const bad = row.accesses.filter((one) => one.wasteful), good = row.accesses.filter((one) => !one.wasteful);
  if (!row.accesses.length && !row.activity.length) return row.run ? [h("h3", {}, "Run"), runOf(row.run)] : null;
  const out = [];
  if (row.accesses.length) out.push(h("h3", { id: id("memory", row.name + row.line) }, "Memory accesses", h("span", { class: "aside" }, "lanes of a warp against 32-byte sectors, or the 32 banks of shared memory")), runOf(row.run),
    bad.length ? h("div", { class: "cards", style: { "margin-top": "0.7rem" } }, bad.map(accessCard)) : h("p", { style: { "margin-top": "0.5rem" } }, "No access wastes sectors or banks."),
    good.length ? h("details", { style: { "margin-top": "0.5rem" }, open: !bad.length && good.length <= 2 }, h("summary", {}, `${counted(good.length, "access", "accesses")} that waste${good.length === 1 ? "s" : ""} nothing`), h("div", { class: "cards", style: { "margin-top": "0.5rem" } }, good.map(accessCard))) : null);
  if (row.activity.length) {
    const parted = row.activity.filter((one) => one.divided), rest = row.activity.filter((one) => !one.divided);
    out.push(h("h3", { id: id("lanes", row.name + row.line) }, "Lanes at branches and loops", h("span", { class: "aside" }, "one warp: lanes from left to right, executions from top to bottom")), row.accesses.length ? null : runOf(row.run),
      parted.length ? h("div", { class: "cards" }, parted.map(activityCard)) : null,
      rest.length ? h("details", { open: !parted.length && rest.length <= 2, style: { "margin-top": "0.5rem" } }, h("summary", {}, `${rest.length} where no lanes part in this run`), h("div", { class: "cards", style: { "margin-top": "0.5rem" } }, rest.map(activityCard))) : null);
  }
  return out;
};
const within = (row) => row.file ? [] : data.findings.filter((one) => one.line >= row.first_line && one.line <= row.last_line);
// Of a large file what a reader comes near to is made then; of others all at once.
const large = data.lines.length > 3000 || data.functions.length > 100;
const makers = new Map();
const near = large && new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting) makers.get(one.target)?.(); }, { rootMargin: "1500px" });
const owners = new Map();
const later = (names, lines, make) => {
  if (!large) return make();
  const place = h("div", { style: { "min-height": `${lines.length * 20 + 300}px` } });
  const once = () => {
    if (!makers.delete(place)) return;
    near.unobserve(place);
    place.style.removeProperty("min-height");
    place.append(...[make()].flat(Infinity).filter(Boolean));
  };
  makers.set(place, once);
  near.observe(place);
  for (const line of lines) owners.set(`L${line}`, once);
  for (const name of names) for (const kind of ["memory", "lanes", "cost", "values", "loops"]) owners.set(id(kind, name), once);
  return place;
};
const section = (row, index) => {
  const name = id("function", index);
  const lines = row.file ? [] : source(row.first_line, row.last_line);
  const notes = row.problems.filter((one) => one.kind === "note"), problems = row.problems.filter((one) => one.kind !== "note");
  return h("section", { id: name, tabindex: "-1", "aria-labelledby": `${name}-head` },
    h("h2", { id: `${name}-head` }, h("span", { class: "kind" }, kind(row)), h("code", {}, row.name), h("span", { class: "at" }, row.file ? `${row.file}, line ${row.line}` : at(row.line, row.column))),
    row.summary ? h("p", { class: "summary" }, row.summary) : null,
    row.figures.length ? h("dl", { class: "figures" }, row.figures.map((one) => h("div", { class: one.label === "occupancy" ? "wide" : null }, h("dt", {}, one.label), h("dd", {}, h("div", { class: "value" }, one.value), worth(one.worth, one.target), one.note ? h("div", { class: "more" }, one.note) : null)))) : null,
    row.assumptions.length || notes.length ? h("ul", { class: "assumes" }, row.assumptions.map((text) => h("li", {}, explain("assumption", "Assumes"), " ", inline(text))), notes.map((one) => h("li", {}, inline(one.message), one.line ? [" (", at(one.line, one.column), ")"] : null))) : null,
    problems.length ? h("details", {}, h("summary", {}, `${counted(problems.length, "place")} that the analysis does not understand`), h("ul", { class: "list small" }, problems.map((one) => h("li", {}, at(one.line, one.column), ": ", inline(one.message))))) : null,
    row.refused?.length ? h("p", { class: "small" }, "No machine code: ", row.refused.join("; ")) : null,
    later([row.name + row.line], lines, () => [lines.length ? [h("h3", {}, "Source"), h("div", { class: "src" }, lines.map(lineOf)), data.language === "C" ? null : legend()] : null,
      pictures(row), costs(row), values(row), pressure(row),
      row.loops?.length ? [h("h3", { id: id("loops", row.name + row.line) }, "Innermost loops"), row.loops.map(loopCard)] : null,
      machineCode(row.code)]));
};
const order = data.functions.map((row, index) => ({ row, index })).sort((a, b) => Number(b.row.entry) - Number(a.row.entry));
const sections = order.map(({ row, index }) => section(row, index));
open = false;
const rest = source(1, data.lines.length);
const other = rest.length ? h("section", { id: "rest", tabindex: "-1" }, h("h2", {}, sections.length ? "Other lines of the file" : "Source"),
  sections.length ? h("details", { open: rest.some((n) => byLine.has(n)) && rest.length < 400 }, h("summary", {}, counted(rest.length, "line")), later([], rest, () => h("div", { class: "src" }, rest.map(lineOf)))) : later([], rest, () => [h("div", { class: "src" }, rest.map(lineOf)), legend()])) : null;
const findings = data.findings.length ? h("section", { id: "findings", tabindex: "-1" }, h("h2", {}, "Findings", h("span", { class: "at small" }, String(data.findings.length))), h("ul", { class: "list", style: { "margin-top": "0.7rem" } }, data.findings.map((row) => h("li", {}, finding(row, true))))) : null;
const codes = Object.keys(data.explained);
const explained = codes.length ? h("section", { id: "explained", tabindex: "-1" }, h("h2", {}, "What the findings mean"), h("div", { style: { "margin-top": "0.7rem" } }, codes.map((code) => h("details", { class: "explain", id: id("explain", code) }, h("summary", {}, h("code", {}, code)), markdown(data.explained[code].replace(/^# .*\n/, "")))))) : null;

// The frame.
const themes = ["auto", "light", "dark"];
const theme = h("button", { type: "button", on: { click: () => {
  const next = themes[(themes.indexOf(theme.dataset.now) + 1) % 3];
  theme.dataset.now = next;
  if (next === "auto") document.documentElement.removeAttribute("data-theme"); else document.documentElement.dataset.theme = next;
  theme.textContent = `Theme: ${next}`;
} }, "data-now": "auto" }, "Theme: auto");
const editor = () => {
  const kind = document.body.classList;
  if (kind.contains("vscode-dark") || kind.contains("vscode-high-contrast")) document.documentElement.dataset.theme = "dark";
  else if (kind.contains("vscode-light") || kind.contains("vscode-high-contrast-light")) document.documentElement.dataset.theme = "light";
};
if (host) { editor(); new MutationObserver(editor).observe(document.body, { attributes: true, attributeFilter: ["class"] }); }
const about = [data.language, data.method === "full" ? null : `method ${data.method}`, data.scope ? `scope ${data.scope}` : null, `costs of ${data.target}`].filter(Boolean).join(" · ");
const nav = h("nav", { class: "side", "aria-label": "Contents" },
  data.functions.length ? [h("h2", {}, "Functions"), h("ul", {}, order.map(({ row, index }) => h("li", {}, h("a", { href: `#${id("function", index)}` }, h("code", {}, row.name)), h("span", { class: "quiet" }, ` ${kind(row)}`),
    h("ul", { class: "sub" }, row.accesses.some((one) => one.wasteful) ? h("li", {}, h("a", { href: `#${id("memory", row.name + row.line)}` }, counted(row.accesses.filter((one) => one.wasteful).length, "wasteful access", "wasteful accesses"))) : null,
      row.activity.some((one) => one.divided) ? h("li", {}, h("a", { href: `#${id("lanes", row.name + row.line)}` }, counted(row.activity.filter((one) => one.divided).length, "place", "places"), " where lanes part")) : null,
      within(row).length ? h("li", {}, h("a", { href: `#L${within(row)[0].line}`, "data-line": within(row)[0].line, "data-column": within(row)[0].column }, counted(within(row).length, "finding"))) : null))))] : null,
  h("h2", {}, "File"), h("ul", {}, findings ? h("li", {}, h("a", { href: "#findings" }, counted(data.findings.length, "finding"))) : h("li", { class: "quiet" }, "no findings"), other ? h("li", {}, h("a", { href: "#rest" }, sections.length ? "other lines" : "source")) : null, explained ? h("li", {}, h("a", { href: "#explained" }, "what the findings mean")) : null));
document.body.append(h("a", { class: "skip", href: "#main" }, "To the content"), h("header", { class: "top" }, h("h1", {}, data.file), h("span", { class: "about" }, about), theme),
  h("div", { class: "frame" }, nav, h("main", { id: "main", tabindex: "-1" }, data.nothing ? h("p", { class: "note" }, inline(data.nothing)) : null, data.notes.length ? h("ul", { class: "note small list" }, data.notes.map((text) => h("li", {}, inline(text)))) : null,
    sections, findings, other, explained,
    h("footer", {}, "Made by Lockstep. ", worth("fact"), " holds for every execution, ", worth("bound"), " is not exceeded, ", worth("estimate"), " is of a table of the machine, ", worth("measured"), " was counted in a run."))));
addEventListener("beforeprint", () => { for (const make of [...makers.values()]) make(); for (const one of document.querySelectorAll("details")) one.open = true; });
addEventListener("hashchange", follow);
addEventListener("popstate", follow);
follow();
