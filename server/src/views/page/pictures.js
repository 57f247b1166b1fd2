// Lanes against sectors and banks, and lanes by execution of a branch. All have the lanes from left to right.
// Pictures. All have the lanes from left to right.
const WIDTH = 470;
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
    if (step >= 14) out.push(s("text", { x: lane * step + step / 2, y: 13.5, "font-size": 8, "text-anchor": "middle", class: offset === null ? null : "on" }, String(lane)));
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
  const picture = row.picture && { ...row.picture, lanes: row.picture.lanes ?? Array.from({ length: row.picture.even[2] }, (_, lane) => row.picture.even[0] + lane * row.picture.even[1]) };
  const shared = row.space === "shared";
  const name = row.name || "memory";
  const head = h("h4", {}, h("code", {}, name), ` ${row.kind} `, h("span", { class: "small" }, `${row.space} · ${row.class} · `, row.file ? `${row.file}, line ${row.line}` : at(row.line, row.column)));
  const said = row.text && row.text !== row.class ? h("p", { class: "small" }, row.text, " ", worth("bound")) : null;
  if (!picture) return h("article", { class: `card${row.wasteful ? " bad" : ""}` }, head, said, h("p", { class: "small" }, row.missing));
  const active = picture.lanes.filter((lane) => lane !== null).length;
  const count = shared ? `${counted(picture.count, "pass", "passes")} of the banks` : counted(picture.count, "sector");
  const used = shared ? "" : (() => {
    const bytes = new Set();
    for (const lane of picture.lanes) if (lane !== null) for (let byte = lane; byte < lane + picture.bytes; byte++) bytes.add(byte);
    return `, ${percent(Math.floor((100 * bytes.size) / (picture.count * 32)))} of the bytes used`;
  })();
  const best = picture.count > picture.ideal ? `, ${picture.ideal} would do` : "";
  const text = `${active} lanes of ${name}: ${count}${best}`;
  const from = picture.from === "run"
    ? [worth("measured"), ` warp ${picture.warp}, of ${counted(picture.executions, "execution")}`, picture.executions > 1 ? `, on average ${number(picture.mean)}` : "", row.bound ? `; bound ${row.bound}` : ""]
    : [worth("bound"), " by the distance between lanes, not of a run"];
  const drawing = described(shared ? banks(picture) : sectors(picture), text);
  return h("article", { class: `card${row.wasteful && picture.count > picture.ideal ? " bad" : ""}` }, head,
    h("p", {}, h("span", { class: "count" }, count), best, used, ` · ${active} lanes × ${picture.bytes} B`),
    row.file ? h("div", { class: "pic" }, drawing) : h("a", { class: "pic", href: `#L${row.line}`, "data-line": row.line, "data-column": row.column, "aria-label": `${text}; go to line ${row.line}` }, drawing),
    h("p", { class: "small" }, from), row.wasteful ? said : null);
};
const activityCard = (row) => {
  // The head of a `for` without its word ends with a parenthesis of its own.
  const code = row.code.split(")").length > row.code.split("(").length ? row.code.replace(/\)$/, "") : row.code;
  const head = h("h4", {}, row.kind, " ", h("code", {}, code), " ", h("span", { class: "small" }, at(row.line, row.column)));
  if (row.missing) return h("article", { class: "card" }, head, h("p", { class: "small" }, inline(row.text)), h("p", { class: "small" }, row.missing));
  const lanes = row.rows[0]?.[0].length ?? 0;
  // What an outer loop repeats is shown once.
  const all = row.rows;
  const repeats = (period) => all.every(([ways, times], i) => i < period || (all[i - period][0] === ways && all[i - period][1] === times));
  let period = 1;
  while (period <= 24 && period * 2 <= all.length && !repeats(period)) period++;
  const again = period <= 24 && period * 2 <= all.length ? Math.floor(all.length / period) : 1;
  const rows = again > 1 ? all.slice(0, period) : all;
  const LEFT = 48, RIGHT = 42, cell = (WIDTH - LEFT - RIGHT) / Math.max(1, lanes), HIGH = 15;
  let yes = "", no = "", idle = "";
  const out = [];
  const MOST = 40;
  let nth = 1;
  rows.slice(0, MOST).forEach(([ways, times], i) => {
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
  const shown = Math.min(MOST, rows.length);
  for (let lane = 0; lane < lanes; lane += lanes > 32 ? 8 : 4) out.push(s("text", { x: LEFT + lane * cell + cell / 2, y: 11, "font-size": 9.5, "text-anchor": "middle" }, String(lane)));
  out.unshift(s("path", { class: "idle", d: idle }), s("path", { class: "no-way", d: no }), s("path", { class: "yes", d: yes }));
  const hidden = row.more + rows.slice(MOST).reduce((sum, [, times]) => sum + times, 0);
  const loop = row.kind === "loop";
  const text = `${row.kind} in line ${row.line}, warp ${row.warp}: lanes from left to right, executions from top to bottom; ${percent(row.active_percent)} of lanes active, lanes divided in ${row.divided} of ${row.executions}`;
  const mark = (kind) => s("svg", { width: 11, height: 11, viewBox: "0 0 11 11", style: { display: "inline", width: "11px" }, "aria-hidden": "true" },
    kind === "yes" ? s("rect", { class: "yes", width: 11, height: 11 }) : kind === "no" ? s("rect", { class: "no-way", x: 1, y: 1, width: 9, height: 9 }) : s("rect", { class: "idle", x: 4.5, y: 4.5, width: 2, height: 2 }));
  return h("article", { class: `card${row.divided ? " bad" : ""}` }, head,
    h("p", {}, h("span", { class: "count" }, percent(row.active_percent)), " of lanes active", row.divided ? `; lanes part in ${row.divided} of ${counted(row.executions, "execution")}` : `; no lanes part in ${counted(row.executions, "execution")}`),
    h("a", { class: "pic", href: `#L${row.line}`, "data-line": row.line, "data-column": row.column, "aria-label": `${text}; go to the line` },
      described(s("svg", { viewBox: `0 0 ${WIDTH} ${20 + shown * HIGH}`, role: "img" }, out), text)),
    h("p", { class: "legend" }, h("span", {}, mark("yes"), loop ? " goes on" : row.kind === "switch" ? " the way it takes" : " condition holds"), row.kind === "switch" ? null : h("span", {}, mark("no"), loop ? " leaves" : " does not hold"), h("span", {}, mark("idle"), " not active")),
    h("p", { class: "small" }, worth("measured"), ` warp ${row.warp}${again > 1 ? `, the same ${again} times` : ""}${hidden ? `, ${hidden} more executions not shown` : ""}. `, inline(row.text)));
};
