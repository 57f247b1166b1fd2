// The data, and what makes nodes of it: elements with attributes and text, never HTML from text. Links to places of the
// source tell an editor around the page, where there is one.
const data = JSON.parse(document.getElementById("data").textContent);
const host = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;
const SVG = "http://www.w3.org/2000/svg";
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, does] of Object.entries(value)) node.addEventListener(event, does);
    else if (name === "style") for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
};
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const number = (v) => v >= 1e7 ? `${(v / 1e6).toFixed(0)} M` : v >= 1e6 ? `${(v / 1e6).toFixed(1)} M` : v >= 1e4 ? `${(v / 1e3).toFixed(0)} k`
  : v >= 10 || Math.abs(v % 1) < 0.05 ? v.toFixed(0) : v.toFixed(1);
const percent = (v) => (v > 0 && v < 1 ? "< 1 %" : v > 99 && v < 100 ? "> 99 %" : `${v.toFixed(0)} %`);
const counted = (n, word, many) => `${n} ${n === 1 ? word : many ?? `${word}s`}`;
const kind = (row) => (data.language === "C" ? "function" : row.kind);
const here = (line) => line > 0 && line <= data.lines.length;
const ids = new Map();
// An id for each name, whatever it holds.
const id = (prefix, name) => {
  const key = `${prefix} ${name}`;
  if (!ids.has(key)) ids.set(key, `${prefix}-${ids.size}`);
  return ids.get(key);
};

// Places of the source.
const at = (line, column, ...children) => here(line)
  ? h("a", { href: `#L${line}`, "data-line": line, "data-column": column ?? 1 }, children.length ? children : `line ${line}`)
  : h("span", {}, children.length ? children : line ? `line ${line}` : "");
let hit = null;
const reveal = (line, column, tell) => {
  owners.get(`L${line}`)?.();
  const row = document.getElementById(`L${line}`);
  if (!row) return;
  for (let up = row.parentElement; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  hit?.classList.remove("hit");
  hit = row;
  row.classList.add("hit");
  row.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  row.focus({ preventScroll: true });
  if (tell) host?.postMessage({ command: "reveal", line: Number(line), column: Number(column) });
};
document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest?.("[data-line], a[href^='#']");
  if (!link) return;
  event.preventDefault();
  const target = link.getAttribute("href");
  if (target) try { history.pushState(null, "", target); } catch { /* A frame without an address. */ }
  if (link.dataset.line) return reveal(link.dataset.line, link.dataset.column, true);
  owners.get(target.slice(1))?.();
  const to = document.getElementById(target.slice(1));
  if (!to) return;
  for (let up = to; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  to.scrollIntoView({ block: "start" });
  (to.querySelector("summary") ?? to).focus?.({ preventScroll: true });
});
const follow = () => {
  const line = /^#L(\d+)$/.exec(location.hash);
  if (line) reveal(line[1], 1, false);
};

// The marks of Markdown in a line: `code`, **strong**, *emphasis*.
const inline = (text) => {
  const out = [];
  let rest = 0;
  for (const match of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g)) {
    out.push(text.slice(rest, match.index));
    out.push(match[1] !== undefined ? h("code", {}, match[1]) : match[2] !== undefined ? h("strong", {}, match[2]) : h("em", {}, match[3]));
    rest = match.index + match[0].length;
  }
  out.push(text.slice(rest));
  return out;
};
const markdown = (text) => {
  const out = [];
  for (const part of text.split(/(^```[\s\S]*?^```)/m)) {
    if (part.startsWith("```")) {
      out.push(h("pre", {}, h("code", {}, part.replace(/^```.*\n/, "").replace(/\n?```$/, ""))));
      continue;
    }
    for (const block of part.split(/\n{2,}/)) {
      const lines = block.split("\n").filter((line) => line.trim());
      if (!lines.length) continue;
      const head = /^#+ (.*)$/.exec(lines[0]);
      if (head) { out.push(h("h4", {}, inline(head[1]))); lines.shift(); }
      if (!lines.length) continue;
      const items = [];
      let plain = "";
      for (const line of lines) {
        if (/^[-*] /.test(line)) items.push(line.slice(2));
        else if (items.length) items[items.length - 1] += ` ${line.trim()}`;
        else plain += ` ${line}`;
      }
      if (plain) out.push(h("p", {}, inline(plain.trim())));
      if (items.length) out.push(h("ul", {}, items.map((item) => h("li", {}, inline(item)))));
    }
  }
  return out;
};
const because = (rows) => rows?.length ? h("ol", {}, rows.map((row) => h("li", {}, inline(row.text), row.line
  ? row.file ? ` (${row.file}, line ${row.line})` : [" (", at(row.line, row.column), ")"] : null))) : null;
const worth = (kind, target) => h("span", { class: `worth ${kind}` }, target ? `${kind} · ${target}` : kind);
