// Lines of the source with their marks, hints, findings and facts.
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
const explain = (code, text) => data.explained[code] ? h("a", { href: `#${id("explain", code)}`, class: text ? null : "mono" }, text ?? code) : text ?? h("code", {}, code);
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
  } } }, mark) : h("span", { class: `mk m-${row.m ?? "none"}`, title: row.m ?? null }, mark);
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
let told = false;
const legend = () => told || !(told = true) ? null : h("p", { class: "legend" }, Object.entries(GLYPH).map(([name, glyph]) => h("span", {}, h("b", { class: `m-${name}` }, glyph), " ", name === "uniform" ? name : h("span", { class: `c-${name}` }, name))),
  h("span", {}, h("b", {}, "▌"), " share of the function's cycles"), h("span", {}, "the mark of a line opens its facts"));
