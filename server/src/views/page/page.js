"use strict";
// Makes the document from the data: nodes and their text, never HTML from text.
(() => {
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

  // The source.
  const WORDS = new Set(("if else for while do switch case default break continue return struct class union enum template typename namespace using const constexpr static inline extern volatile register restrict " +
    "__restrict__ __restrict void bool char short int long float double unsigned signed half size_t auto true false sizeof operator public private __global__ __device__ __host__ __shared__ __constant__ __forceinline__ __launch_bounds__ " +
    "cbuffer groupshared numthreads in out inout uint float2 float3 float4 float3x3 float4x4 half2 half4 int2 int3 int4 uint2 uint3 uint4 discard Texture2D RWTexture2D SamplerState StructuredBuffer RWStructuredBuffer Buffer RWBuffer ConstantBuffer register typedef goto").split(" "));
  let open = false;
  const coloured = (row) => {
    const text = row.t;
    const kinds = new Array(text.length);
    const put = (from, to, kind) => kinds.fill(kind, from, to);
    const token = /\/\/.*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^\s*#\s*\w+|[A-Za-z_]\w*/g;
    let from = 0;
    if (open) {
      const end = text.indexOf("*/");
      from = end < 0 ? text.length : end + 2;
      open = end < 0;
      put(0, from, "comment");
    }
    token.lastIndex = from;
    for (let match; (match = token.exec(text)); ) {
      const [word] = match, end = match.index + word.length;
      if (word.startsWith("//")) put(match.index, end, "comment");
      else if (word.startsWith("/*")) { put(match.index, end, "comment"); open = !word.endsWith("*/") || word.length < 4; }
      else if (/^["']/.test(word)) put(match.index, end, "string");
      else if (/^\s*#/.test(word) || WORDS.has(word)) put(match.index, end, "keyword");
    }
    for (const [start, end, kind] of row.s ?? []) put(start, end, kind);
    const out = [];
    for (let start = 0; start < text.length; ) {
      let end = start + 1;
      while (end < text.length && kinds[end] === kinds[start]) end++;
      const part = text.slice(start, end), kind = kinds[start];
      out.push(kind ? h("span", { class: `c-${kind}`, title: /^(affine|divergent|unknown)$/.test(kind) ? kind : null }, part) : part);
      start = end;
    }
    return out;
  };
  const GLYPH = { uniform: "=", affine: "/", divergent: "~", unknown: "?" };
  const ICON = { error: "✖", warning: "▲", information: "●", hint: "○" };
  const explain = (code) => data.explained[code] ? h("a", { href: `#${id("explain", code)}`, class: "mono" }, code) : h("code", {}, code);
  const finding = (row, linked) => h("div", { class: `finding ${row.level}` },
    h("span", { class: `level ${row.level}` }, `${ICON[row.level] ?? "○"} ${row.level}`), " ", explain(row.code), linked ? [" · ", at(row.line, row.column)] : null,
    h("div", {}, inline(row.message)),
    row.fix ? h("div", { class: "small" }, "A code action mends it: ", inline(row.fix)) : null,
    row.related?.length ? h("details", {}, h("summary", {}, "why"), because(row.related)) : null);
  const byLine = new Map();
  for (const row of data.findings) byLine.set(row.line, [...(byLine.get(row.line) ?? []), row]);
  const facts = (row) => h("ul", { class: "facts" }, row.f.map((fact) => h("li", {}, GLYPH[fact.k] ? h("b", { class: `mono m-${fact.k}` }, `${GLYPH[fact.k]} `) : null, inline(fact.t), because(fact.b))));
  const lineOf = (n) => {
    const row = data.lines[n - 1];
    const text = coloured(row);
    const found = byLine.get(n) ?? [];
    let shown = null;
    const mark = row.m ? GLYPH[row.m] : row.f ? "·" : "";
    const toggle = row.f ? h("button", { class: `mk m-${row.m ?? "none"}`, type: "button", "aria-expanded": "false", "aria-label": `Facts of line ${n}${row.m ? `, ${row.m}` : ""}`, title: row.m ?? "facts", on: { click: () => {
      shown = shown ? (shown.remove(), null) : facts(row);
      if (shown) line.after(shown);
      toggle.setAttribute("aria-expanded", String(!!shown));
    } } }, mark) : h("span", { class: "mk" });
    const line = h("div", { class: "ln", id: `L${n}`, tabindex: "-1" }, h("a", { class: "no", href: `#L${n}`, "data-line": n, "data-column": 1, "aria-label": `Line ${n}` }, String(n)), toggle,
      h("span", { class: "heat", title: row.c ? `${percent(row.c)} of the function's cycles (estimate)` : null }, row.c ? h("i", { style: { opacity: String(Math.min(1, 0.15 + row.c / 60)) } }) : null),
      h("code", { class: "tx" }, text.length ? text : " ", row.h ? h("span", { class: "inlay" }, row.h) : null));
    return [line, found.length ? h("div", { class: "below" }, found.map((row) => finding(row, false))) : null];
  };
  const drawn = new Set();
  const source = (first, last) => {
    const lines = [];
    for (let n = Math.max(1, first); n <= Math.min(last, data.lines.length); n++) if (!drawn.has(n)) { drawn.add(n); lines.push(n); }
    return lines;
  };
  const legend = () => h("p", { class: "legend" }, Object.entries(GLYPH).map(([name, glyph]) => h("span", {}, h("b", { class: `m-${name}` }, glyph), " ", name === "uniform" ? name : h("span", { class: `c-${name}` }, name))),
    h("span", {}, h("b", {}, "▌"), " share of the function's cycles"), h("span", {}, "the mark of a line opens its facts"));

  // Pictures. All have the lanes from left to right.
  const WIDTH = 640;
  const sectors = (picture) => {
    const lanes = picture.lanes, step = WIDTH / lanes.length;
    const words = new Map();
    const SECTOR = 32, WORD = picture.bytes < 4 ? Math.max(1, picture.bytes) : 4;
    lanes.forEach((offset) => {
      if (offset === null) return;
      for (let byte = offset; byte < offset + picture.bytes; byte += WORD) {
        const sector = Math.floor(byte / SECTOR);
        if (!words.has(sector)) words.set(sector, new Set());
        words.get(sector).add(Math.floor((byte % SECTOR) / WORD));
      }
    });
    const order = [...words.keys()].sort((a, b) => a - b);
    const gaps = order.map((sector, i) => i > 0 && sector !== order[i - 1] + 1);
    const GAP = order.length > 40 ? 2 : 7;
    const size = Math.min(150, (WIDTH - GAP * gaps.filter(Boolean).length) / order.length);
    const all = size * order.length + GAP * gaps.filter(Boolean).length;
    const x = new Map();
    let left = (WIDTH - all) / 2;
    order.forEach((sector, i) => { if (gaps[i]) left += GAP; x.set(sector, left); left += size; });
    const each = SECTOR / WORD, cell = size / each;
    const out = [];
    lanes.forEach((offset, lane) => {
      out.push(s("rect", { class: offset === null ? "lane off" : "lane", x: lane * step + 1, y: 1, width: step - 2, height: 18, rx: 3 }));
      if (step >= 14) out.push(s("text", { x: lane * step + step / 2, y: 13.5, "font-size": 9.5, "text-anchor": "middle", class: offset === null ? null : "on" }, String(lane)));
      if (offset === null) return;
      const sector = Math.floor(offset / SECTOR);
      const to = x.get(sector) + ((offset % SECTOR) / SECTOR) * size + Math.min(cell, (picture.bytes / SECTOR) * size) / 2;
      const from = lane * step + step / 2;
      out.push(s("path", { class: "ray", d: `M${from.toFixed(1)} 19C${from.toFixed(1)} 46 ${to.toFixed(1)} 46 ${to.toFixed(1)} 73` }));
    });
    for (const sector of order) {
      const left = x.get(sector);
      for (let i = 0; i < each; i++) out.push(s("rect", { class: words.get(sector).has(i) ? "used" : "unused", x: (left + i * cell).toFixed(2), y: 74, width: Math.max(0.4, cell).toFixed(2), height: 18 }));
      out.push(s("rect", { class: "edge", x: (left + 0.5).toFixed(2), y: 74, width: Math.max(1, size - 1).toFixed(2), height: 18, rx: size > 12 ? 2 : 0 }));
      if (size >= 48) out.push(s("text", { x: left + size / 2, y: 105, "font-size": 10, "text-anchor": "middle" }, `+${sector * SECTOR} B`));
    }
    return s("svg", { viewBox: `0 0 ${WIDTH} ${size >= 48 ? 110 : 95}`, role: "img" }, out);
  };
  const banks = (picture) => {
    const step = WIDTH / 32;
    const cells = new Map(), rows = new Set();
    picture.lanes.forEach((offset, lane) => {
      if (offset === null) return;
      const first = Math.floor(offset / 4), count = Math.max(1, Math.ceil(picture.bytes / 4));
      for (let word = first; word < first + count; word++) {
        const row = Math.floor(word / 32), key = `${row} ${word % 32}`;
        rows.add(row);
        cells.set(key, [...(cells.get(key) ?? []), lane]);
      }
    });
    const MOST = 10;
    const all = [...rows].sort((a, b) => a - b), shown = all.slice(0, MOST);
    const load = new Array(32).fill(0);
    for (const key of cells.keys()) load[Number(key.split(" ")[1])]++;
    const out = [];
    for (let bank = 0; bank < 32; bank++) out.push(s("text", { x: bank * step + step / 2, y: 11, "font-size": 9.5, "text-anchor": "middle" }, String(bank)));
    shown.forEach((row, i) => {
      for (let bank = 0; bank < 32; bank++) {
        const lanes = cells.get(`${row} ${bank}`);
        const place = { x: bank * step + 1, y: 16 + i * 17, width: step - 2, height: 15, rx: 2 };
        out.push(s("rect", { class: !lanes ? "lane off" : picture.count > 1 && load[bank] > 1 ? "conflict" : "word", ...place }));
        if (lanes) out.push(s("text", { class: "on", x: bank * step + step / 2, y: 27 + i * 17, "font-size": 9.5, "text-anchor": "middle" }, lanes.length > 1 ? `${lanes[0]}+` : String(lanes[0])));
      }
    });
    let height = 18 + shown.length * 17;
    if (all.length > MOST) { out.push(s("text", { x: WIDTH / 2, y: height + 10, "font-size": 11, "text-anchor": "middle" }, `and ${all.length - MOST} more rows of 128 bytes`)); height += 16; }
    return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" }, out);
  };
  const described = (svg, text) => { svg.setAttribute("aria-label", text); svg.prepend(s("title", {}, text)); return svg; };
  const accessCard = (row) => {
    const picture = row.picture, shared = row.space === "shared";
    const name = row.name || "memory";
    const head = h("h4", {}, h("code", {}, name), ` ${row.kind} `, h("span", { class: "small" }, `${row.space} · ${row.class} · `, row.file ? `${row.file}, line ${row.line}` : at(row.line, row.column)));
    const said = row.text && row.text !== row.class ? h("p", { class: "small" }, row.text, " ", worth("bound")) : null;
    if (!picture) return h("article", { class: `card${row.wasteful ? " bad" : ""}` }, head, said, h("p", { class: "small" }, row.missing));
    const active = picture.lanes.filter((lane) => lane !== null).length;
    const count = shared ? `${counted(picture.count, "pass", "passes")} of the banks` : counted(picture.count, "sector");
    const used = shared ? "" : (() => {
      const bytes = new Set();
      for (const lane of picture.lanes) if (lane !== null) for (let byte = lane; byte < lane + picture.bytes; byte++) bytes.add(byte);
      return `, ${percent((100 * bytes.size) / (picture.count * 32))} of the bytes used`;
    })();
    const best = picture.count > picture.ideal ? `, ${picture.ideal} would do` : "";
    const text = `${active} lanes of ${name}: ${count}${best}`;
    const from = picture.from === "run"
      ? [worth("measured"), ` warp ${picture.warp}, of ${counted(picture.executions, "execution")}`, picture.executions > 1 ? `, on average ${number(picture.mean)}` : "", row.bound ? `; bound ${row.bound}` : ""]
      : [worth("bound"), " by the distance between lanes, not of a run"];
    const drawing = described(shared ? banks(picture) : sectors(picture), text);
    return h("article", { class: `card${row.wasteful ? " bad" : ""}` }, head,
      h("p", {}, h("span", { class: "count" }, count), best, used, ` · ${active} lanes × ${picture.bytes} B`),
      row.file ? h("div", { class: "pic" }, drawing) : h("a", { class: "pic", href: `#L${row.line}`, "data-line": row.line, "data-column": row.column, "aria-label": `${text}; go to line ${row.line}` }, drawing),
      h("p", { class: "small" }, from), row.wasteful ? said : null);
  };
  const activityCard = (row) => {
    const head = h("h4", {}, row.kind, " ", h("code", {}, row.code), " ", h("span", { class: "small" }, at(row.line, row.column)));
    if (row.missing) return h("article", { class: "card" }, head, h("p", { class: "small" }, inline(row.text)), h("p", { class: "small" }, row.missing));
    const lanes = row.rows[0]?.[0].length ?? 0;
    const LEFT = 62, RIGHT = 46, cell = (WIDTH - LEFT - RIGHT) / Math.max(1, lanes), HIGH = 15;
    let yes = "", no = "", idle = "";
    const out = [];
    const MOST = 40;
    let nth = 1;
    row.rows.slice(0, MOST).forEach(([ways, times], i) => {
      const y = 18 + i * HIGH;
      [...ways].forEach((way, lane) => {
        const x = LEFT + lane * cell;
        if (way === ".") idle += `M${(x + cell / 2 - 1).toFixed(1)} ${y + 5.5}h2v2h-2z`;
        else if (way === "0") no += `M${(x + 2).toFixed(1)} ${y + 2}h${(cell - 4).toFixed(1)}v${HIGH - 5}h${(4 - cell).toFixed(1)}z`;
        else {
          yes += `M${(x + 1.2).toFixed(1)} ${y + 1}h${(cell - 2.4).toFixed(1)}v${HIGH - 3}h${(2.4 - cell).toFixed(1)}z`;
          if (row.kind === "switch") out.push(s("text", { x: x + cell / 2, y: y + 10, "font-size": 9, "text-anchor": "middle", style: { fill: "var(--ground)" } }, way));
        }
      });
      const name = times > 1 ? `${nth}–${nth + times - 1}` : String(nth);
      nth += times;
      out.push(s("text", { x: LEFT - 6, y: y + 10, "font-size": 10.5, "text-anchor": "end" }, name));
      out.push(s("text", { x: WIDTH - RIGHT + 6, y: y + 10, "font-size": 10.5 }, `${[...ways].filter((way) => way !== ".").length}/${lanes}`));
    });
    const shown = Math.min(MOST, row.rows.length);
    for (let lane = 0; lane < lanes; lane += lanes > 32 ? 8 : 4) out.push(s("text", { x: LEFT + lane * cell + cell / 2, y: 11, "font-size": 9.5, "text-anchor": "middle" }, String(lane)));
    out.unshift(s("path", { class: "idle", d: idle }), s("path", { class: "no-way", d: no }), s("path", { class: "yes", d: yes }));
    const hidden = row.more + row.rows.slice(MOST).reduce((sum, [, times]) => sum + times, 0);
    const loop = row.kind === "loop";
    const text = `${row.kind} in line ${row.line}, warp ${row.warp}: lanes from left to right, executions from top to bottom; ${percent(row.active_percent)} of lanes active, lanes divided in ${row.divided} of ${row.executions}`;
    const mark = (kind) => s("svg", { width: 11, height: 11, viewBox: "0 0 11 11", style: { display: "inline", width: "11px" }, "aria-hidden": "true" },
      kind === "yes" ? s("rect", { class: "yes", width: 11, height: 11 }) : kind === "no" ? s("rect", { class: "no-way", x: 1, y: 1, width: 9, height: 9 }) : s("rect", { class: "idle", x: 4.5, y: 4.5, width: 2, height: 2 }));
    return h("article", { class: `card${row.divided ? " bad" : ""}` }, head,
      h("p", {}, h("span", { class: "count" }, percent(row.active_percent)), " of lanes active", row.divided ? `; lanes part in ${row.divided} of ${counted(row.executions, "execution")}` : `; no lanes part in ${counted(row.executions, "execution")}`),
      h("a", { class: "pic", href: `#L${row.line}`, "data-line": row.line, "data-column": row.column, "aria-label": `${text}; go to the line` },
        described(s("svg", { viewBox: `0 0 ${WIDTH} ${20 + shown * HIGH}`, role: "img" }, out), text)),
      h("p", { class: "legend" }, h("span", {}, mark("yes"), loop ? " goes on" : row.kind === "switch" ? " the way it takes" : " condition holds"), row.kind === "switch" ? null : h("span", {}, mark("no"), loop ? " leaves" : " does not hold"), h("span", {}, mark("idle"), " not active")),
      h("p", { class: "small" }, worth("measured"), ` warp ${row.warp}${hidden ? `, ${hidden} more executions not shown` : ""}. `, inline(row.text)));
  };

  // Bars.
  const bars = (rows) => {
    const most = Math.max(...rows.map((row) => row.value), 1e-9);
    return h("div", { class: "bars" }, rows.map((row) => [h("span", { class: "name", title: row.title ?? null }, row.name), h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: row.hot ? "hot" : null, style: { width: `${Math.max(0.5, (100 * row.value) / most)}%` } })), h("span", { class: "num" }, row.text)]));
  };
  const costs = (row) => {
    const all = row.costs;
    if (!all || !(all.cycles > 0)) return null;
    const units = Object.entries(all.busy).sort((a, b) => b[1] - a[1]).map(([name, busy]) => ({ name, value: busy, hot: name === all.limited_by, text: [h("b", {}, number(busy)), " cycles", name === all.limited_by ? ", limits" : ""] }));
    const lines = all.lines.filter((line) => line.cycles >= 0.5).sort((a, b) => b.cycles - a.cycles || a.line - b.line);
    const shown = lines.slice(0, 10).map((line) => ({ value: line.cycles, hot: line.cycles >= 0.3 * all.cycles, title: data.lines[line.line - 1]?.t.trim(),
      name: row.file ? `line ${line.line}` : at(line.line, 1, h("span", { class: "small" }, `${line.line} `), h("code", {}, data.lines[line.line - 1]?.t.trim() ?? "")), text: [h("b", {}, number(line.cycles)), `, ${percent((100 * line.cycles) / all.cycles)}`] }));
    const ORIGIN = { constant: "fact", bound: "bound", profile: "measured", heuristic: "estimate" };
    return [h("h3", { id: id("cost", row.name + row.line) }, "Cost", h("span", { class: "aside" }, "cycles a warp, one invocation ", worth("estimate", all.machine))),
      h("div", { class: "halves" }, h("div", {}, h("h4", {}, "By line", lines.length > 10 ? h("span", { class: "small" }, `, the first 10 of ${lines.length}`) : null), bars(shown)), h("div", {}, h("h4", {}, "By unit"), bars(units))),
      all.loops.length ? h("div", { style: { "margin-top": "1rem" } }, h("h4", {}, "Loops"), h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["loop", "cycles", "iterations", "limited by"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, all.loops.map((loop, i) => h("tr", {},
        h("td", {}, row.file ? `line ${loop.line}` : at(loop.line, loop.column)), h("td", {}, row.products?.[i] ?? number(loop.cycles)), h("td", {}, `${number(loop.iterations)} `, worth(ORIGIN[loop.iterations_from] ?? "estimate")), h("td", {}, loop.limited_by)))))) : null];
  };
  const values = (row) => {
    const all = row.values;
    if (!all) return null;
    if (!all.rows.length) return [h("h3", {}, "Values"), h("p", { class: "small" }, `No value of a name was often zero or often the same (${all.from}).`)];
    return [h("h3", { id: id("values", row.name + row.line) }, "Values", h("span", { class: "aside" }, `${all.from}, ${counted(all.warps, "warp")} `, worth("measured"))),
      all.stale ? h("p", { class: "small" }, "The code has changed since the profile was made: values were found again by name and operation.") : null,
      h("div", { class: "scroll" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["value", "all lanes zero", "", "most frequent values of lanes"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, all.rows.map((value) => h("tr", {}, h("td", {}, h("code", {}, value.name), " ", value.line ? h("span", { class: "small" }, at(value.line, 1)) : null),
          h("td", {}, h("div", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${100 * value.zeros}%` } }))), h("td", { style: { "white-space": "nowrap" } }, h("b", {}, percent(100 * value.zeros)), h("span", { class: "small" }, ` of ${value.executions}`)),
          h("td", {}, value.top.length ? [h("div", { class: "tops", "aria-hidden": "true" }, value.top.map(([text, share]) => h("span", { style: { width: `${100 * share}%` }, title: `${text}: ${percent(100 * share)}` }, share > 0.12 ? text : ""))),
            h("span", { class: "small" }, value.top.map(([text, share]) => `${text} ${percent(100 * share)}`).join(" · "))] : h("span", { class: "small" }, "not counted"))))))),
      all.more ? h("p", { class: "small" }, `${all.more} more values`) : null];
  };

  // Loops of C.
  const schedule = (loop) => {
    const plan = loop.schedule;
    if (!plan) return null;
    const head = plan.slots.flatMap(([kind, count]) => Array.from({ length: count }, (_, i) => ({ kind, name: count > 1 ? `${kind}${i}` : kind })));
    const rows = [];
    for (let cycle = 0; cycle < plan.interval; cycle++) {
      const left = plan.operations.filter((one) => one.cycle === cycle);
      rows.push(h("tr", {}, h("th", { scope: "row" }, String(cycle)), head.map(({ kind }) => {
        const at_ = left.findIndex((one) => one.slot === kind);
        if (at_ < 0) return h("td", { class: "none" });
        const [one] = left.splice(at_, 1);
        const name = one.line ? at(one.line, 1, one.mnemonic) : h("span", { class: "mono" }, one.mnemonic);
        return h("td", { class: `${one.stage === null ? "" : `s${one.stage % 6}`}${one.critical ? " critical" : ""}`, title: one.text }, one.stage === null ? null : h("span", { class: "stage" }, `s${one.stage}`), name);
      })));
    }
    const stages = Math.min(plan.stages, 12), iterations = Math.min(stages + 2, 8);
    const span = (stages + iterations - 1) * plan.interval, unit = Math.min(60, (WIDTH - 90) / (stages + iterations - 1));
    const picture = [];
    for (let i = 0; i < iterations; i++) {
      picture.push(s("text", { x: 78, y: 31 + i * 19, "font-size": 10.5, "text-anchor": "end" }, `iteration ${i}`));
      for (let stage = 0; stage < stages; stage++) {
        const x = 86 + (i + stage) * unit;
        picture.push(s("rect", { class: `s${stage % 6}`, x: x + 0.5, y: 19 + i * 19, width: unit - 1, height: 16, rx: 2 }), s("text", { class: "on", x: x + unit / 2, y: 31 + i * 19, "font-size": 10, "text-anchor": "middle" }, `s${stage}`));
      }
    }
    for (let i = 0; i < stages + iterations; i++) picture.push(s("text", { x: 86 + i * unit, y: 11, "font-size": 9.5, "text-anchor": "middle" }, String(i * plan.interval)));
    const text = `An iteration of ${plan.stages} stages begins every ${plan.interval} cycles; ${iterations} iterations, ${span} cycles`;
    return [h("div", { class: "halves" }, h("div", {}, h("h4", {}, "Kernel", h("span", { class: "small" }, " cycle by slot, coloured by stage")), h("div", { class: "scroll" }, h("table", { class: "kernel" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "cycle"), head.map(({ name }) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)))),
      h("div", {}, h("h4", {}, "Overlap", h("span", { class: "small" }, " cycles from left to right")), h("div", {}, described(s("svg", { viewBox: `0 0 ${WIDTH} ${22 + iterations * 19}`, role: "img", style: { width: "100%", height: "auto" } }, picture), text)))),
      plan.operations.some((one) => one.critical) ? h("p", { class: "small" }, h("b", { class: "m-divergent" }, "↻"), " on the recurrence that limits the interval") : null];
  };
  const loopCard = (loop) => {
    const recurrence = loop.critical.map(([name]) => name).join(" → ");
    const rows = [{ name: "recurrence", value: loop.rec_mii, hot: loop.ii === loop.rec_mii, text: [h("b", {}, String(loop.rec_mii)), recurrence ? ` ${recurrence}` : ""] },
      ...loop.units.map(([unit, wanted, units, cycles]) => ({ name: unit === "slots" ? "issue slots" : /^[A-Z]( and [A-Z])*$/.test(unit) ? `${unit} units` : unit, value: cycles, hot: loop.ii === cycles, text: [h("b", {}, String(cycles)), ` ${counted(wanted, "operation")}, ${units} a cycle`] }))];
    const times = loop.unrolled > 1 ? ` for ${loop.unrolled} iterations` : "";
    return h("article", { class: "card", style: { "margin-bottom": "0.9rem" } }, h("h4", {}, "Loop ", h("span", { class: "small" }, at(loop.line, loop.column))),
      h("p", {}, h("span", { class: "count" }, loop.pipelined ? `II ${loop.ii}${times}` : "not pipelined"), " ", worth("estimate", loop.processor)),
      h("p", { class: "small", style: { "margin-bottom": "0.7rem" } }, loop.title),
      schedule(loop),
      h("h4", { style: { "margin-top": "0.9rem" } }, "Bounds of the interval", h("span", { class: "small" }, " in cycles"), " ", worth("bound", loop.processor)), bars(rows),
      loop.reasons.length ? [h("h4", { style: { "margin-top": "0.9rem" } }, "Why not more"), h("ul", { class: "list small" }, loop.reasons.map(([text, lines]) => h("li", {}, inline(text), lines.length ? [" (", [...new Set(lines)].map((line, i) => [i ? ", " : "", at(line, 1)]), ")"] : null)))] : null);
  };
  const machineCode = (code) => {
    if (!code) return null;
    const from = new Map(code.lines.map(([text, line]) => [text, line]));
    return h("details", {}, h("summary", {}, `Code with its bundles (${code.target})`), h("pre", { class: "code" }, code.text.replace(/\n$/, "").split("\n").map((text, i) => {
      const line = from.get(i + 1);
      return h("span", { class: "row" }, line && here(line) ? at(line, 1, String(line).padStart(4)) : "    ", `  ${text}\n`);
    })));
  };
  // For an analysis of registers: live registers by line.
  const pressure = (row) => row.pressure ? [h("h3", {}, "Register pressure", h("span", { class: "aside" }, `${row.pressure.limit} registers `, worth("estimate", row.pressure.target))),
    bars(row.pressure.lines.map(([line, live]) => ({ name: at(line, 1), value: live, hot: live > row.pressure.limit, text: h("b", {}, String(live)) })))] : null;

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
      bad.length ? h("div", { class: "cards", style: { "margin-top": "0.7rem" } }, bad.map(accessCard)) : h("p", {}, "No access wastes sectors or banks."),
      good.length ? h("details", { style: { "margin-top": "0.5rem" }, open: !bad.length && good.length <= 2 }, h("summary", {}, `${counted(good.length, "access", "accesses")} that waste${good.length === 1 ? "s" : ""} nothing`), h("div", { class: "cards", style: { "margin-top": "0.5rem" } }, good.map(accessCard))) : null);
    if (row.activity.length) {
      const parted = row.activity.filter((one) => one.divided), rest = row.activity.filter((one) => !one.divided);
      out.push(h("h3", { id: id("lanes", row.name + row.line) }, "Lanes at branches and loops", h("span", { class: "aside" }, "one warp: lanes from left to right, executions from top to bottom")), row.accesses.length ? null : runOf(row.run),
        parted.length ? h("div", { class: "cards" }, parted.map(activityCard)) : null,
        rest.length ? h("details", { open: !parted.length, style: { "margin-top": "0.5rem" } }, h("summary", {}, `${rest.length} where no lanes part in this run`), h("div", { class: "cards", style: { "margin-top": "0.5rem" } }, rest.map(activityCard))) : null);
    }
    return out;
  };
  const within = (row) => row.file ? [] : data.findings.filter((one) => one.line >= row.first_line && one.line <= row.last_line);
  const section = (row, index) => {
    const name = id("function", index);
    const lines = row.file ? [] : source(row.first_line, row.last_line);
    const notes = row.problems.filter((one) => one.kind === "note"), problems = row.problems.filter((one) => one.kind !== "note");
    return h("section", { id: name, tabindex: "-1", "aria-labelledby": `${name}-head` },
      h("h2", { id: `${name}-head` }, h("span", { class: "kind" }, kind(row)), h("code", {}, row.name), h("span", { class: "at" }, row.file ? `${row.file}, line ${row.line}` : at(row.line, row.column))),
      row.summary ? h("p", { class: "summary" }, row.summary) : null,
      row.figures.length ? h("dl", { class: "figures" }, row.figures.map((one) => h("div", { class: (one.note ?? "").length > 34 ? "wide" : null }, h("dt", {}, one.label), h("dd", {}, h("div", { class: "value" }, one.value), worth(one.worth, one.target), one.note ? h("div", { class: "more" }, one.note) : null)))) : null,
      row.assumptions.length || notes.length ? h("ul", { class: "assumes" }, row.assumptions.map((text) => h("li", {}, "Assumes ", inline(text))), notes.map((one) => h("li", {}, inline(one.message), one.line ? [" (", at(one.line, one.column), ")"] : null))) : null,
      problems.length ? h("details", {}, h("summary", {}, `${counted(problems.length, "place")} that the analysis does not understand`), h("ul", { class: "list small" }, problems.map((one) => h("li", {}, at(one.line, one.column), ": ", inline(one.message))))) : null,
      row.refused?.length ? h("p", { class: "small" }, "No machine code: ", row.refused.join("; ")) : null,
      lines.length ? [h("h3", {}, "Source"), h("div", { class: "src" }, lines.map(lineOf)), data.language === "C" ? null : legend()] : null,
      pictures(row), costs(row), values(row), pressure(row),
      row.loops?.length ? [h("h3", { id: id("loops", row.name + row.line) }, "Innermost loops"), row.loops.map(loopCard)] : null,
      machineCode(row.code));
  };
  const order = data.functions.map((row, index) => ({ row, index })).sort((a, b) => Number(b.row.entry) - Number(a.row.entry));
  const sections = order.map(({ row, index }) => section(row, index));
  open = false;
  const rest = source(1, data.lines.length);
  const other = rest.length ? h("section", { id: "rest", tabindex: "-1" }, h("h2", {}, sections.length ? "Other lines of the file" : "Source"),
    sections.length ? h("details", { open: rest.some((n) => byLine.has(n)) && rest.length < 400 }, h("summary", {}, counted(rest.length, "line")), h("div", { class: "src" }, rest.map(lineOf))) : h("div", { class: "src" }, rest.map(lineOf))) : null;
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
    h("div", { class: "frame" }, nav, h("main", { id: "main", tabindex: "-1" }, data.nothing ? h("p", { class: "note" }, inline(data.nothing)) : null, data.notes.length ? h("p", { class: "note small" }, data.notes.join(" ")) : null,
      sections, findings, other, explained,
      h("footer", {}, "Made by Lockstep. ", worth("fact"), " holds for every execution, ", worth("bound"), " is not exceeded, ", worth("estimate"), " is of a table of the machine, ", worth("measured"), " was counted in a run."))));
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  follow();
})();
