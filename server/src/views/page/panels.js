// Bars and tables: costs, values, loops and their schedules.
// Bars.
const bars = (rows, wide) => {
  const most = Math.max(...rows.map((row) => row.value), 1e-9);
  return h("div", { class: wide ? "bars wide" : "bars" }, rows.map((row) => [h("span", { class: "name", title: row.title ?? null }, row.name), h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: row.hot ? "hot" : null, style: { width: `${Math.max(0.5, (100 * row.value) / most)}%` } })), h("span", { class: "num" }, row.text)]));
};
const costs = (row) => {
  const all = row.costs;
  if (!all || !(all.cycles > 0)) return null;
  const units = [...all.busy].sort((a, b) => b[1] - a[1]).map(([name, busy]) => ({ name, value: busy, hot: name === all.limited_by, text: [h("b", {}, number(busy)), " cycles", name === all.limited_by ? ", limits" : ""] }));
  const lines = all.lines.filter(([, cycles]) => cycles >= 0.5).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const shown = lines.slice(0, 10).map(([line, cycles]) => {
    const text = row.file ? "" : data.lines[line - 1]?.t.trim() ?? "";
    return { value: cycles, hot: cycles >= 0.3 * all.cycles, title: text, text: [h("b", {}, number(cycles)), `, ${percent((100 * cycles) / all.cycles)}`],
      name: row.file ? `line ${line}` : at(line, 1, h("span", { class: "small" }, `${line} `), h("code", {}, text)) };
  });
  return [h("h3", { id: id("cost", row.name + row.line) }, "Cost", h("span", { class: "aside" }, "cycles a warp, one invocation ", worth("estimate", all.machine))),
    h("div", { class: "halves" }, h("div", {}, h("h4", {}, "By line", lines.length > 10 ? h("span", { class: "small" }, `, the first 10 of ${lines.length}`) : null), bars(shown, true)), h("div", {}, h("h4", {}, "By unit"), bars(units))),
    all.loops.length ? h("div", { style: { "margin-top": "1rem" } }, h("h4", {}, "Loops"), h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["loop", "cycles", "iterations", "limited by"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, all.loops.map((loop) => h("tr", {}, h("td", {}, row.file ? `line ${loop.line}` : at(loop.line, loop.column)), h("td", {}, loop.product), h("td", {}, `${number(loop.iterations)} `, worth(loop.worth)), h("td", {}, loop.limited_by)))))) : null];
};
const values = (row) => {
  const all = row.values;
  if (!all) return null;
  if (!all.rows.length) return [h("h3", {}, "Values"), h("p", { class: "small" }, `No value of a name was often zero or often the same (${all.from}).`)];
  return [h("h3", { id: id("values", row.name + row.line) }, "Values", h("span", { class: "aside" }, inline(all.from), `, ${counted(all.warps, "warp")} `, worth("measured"))),
    all.stale ? h("p", { class: "small" }, "The code has changed since the profile was made: values were found again by name and operation.") : null,
    h("div", { class: "scroll" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["value", "all lanes zero", "", "most frequent values of lanes"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, all.rows.map((value) => h("tr", {}, h("td", {}, h("code", {}, value.name), " ", value.line ? h("span", { class: "small" }, at(value.line, 1)) : null),
        h("td", {}, h("div", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${100 * value.zeros}%` } }))), h("td", { style: { "white-space": "nowrap" } }, h("b", {}, percent(100 * value.zeros)), h("span", { class: "small" }, ` of ${value.executions}`)),
        h("td", {}, value.top.length ? [h("div", { class: "tops", "aria-hidden": "true" }, value.top.map(([text, share]) => h("span", { style: { width: `${100 * share}%` }, title: `${text}: ${percent(100 * share)}` }, share > 0.12 ? text : ""))),
          h("span", { class: "small" }, value.top.filter(([, share]) => share >= 0.005).map(([text, share]) => `${text}: ${percent(100 * share)}`).join(" · "))] : h("span", { class: "small" }, "not counted"))))))),
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
      return h("td", { class: `${one.stage === null ? "" : `s${one.stage % 6}`}${one.critical ? " critical" : ""}`, title: one.text }, h("div", { class: "op" }, name, one.stage === null ? null : h("span", { class: "stage" }, `s${one.stage}`)));
    })));
  }
  const stages = Math.min(plan.stages, 12), iterations = Math.min(stages + 2, 8);
  const span = (stages + iterations - 1) * plan.interval, unit = Math.min(60, (WIDTH - 100) / (stages + iterations - 1));
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
  return [h("div", { class: "halves plan" }, h("div", {}, h("h4", {}, "Kernel", h("span", { class: "small" }, " cycle by slot, coloured by stage")), h("div", { class: "scroll" }, h("table", { class: "kernel" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "cycle"), head.map(({ name }) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)))),
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
// Live registers by line, and what fills them at the peak.
const pressure = (row) => {
  const all = row.pressure;
  if (!all) return null;
  const lines = all.lines.map(([line, live]) => {
    const text = data.lines[line - 1]?.t.trim() ?? "";
    return { value: live, hot: 8 * live > 7 * all.live, title: text, text: h("b", {}, String(live)), name: at(line, 1, h("span", { class: "small" }, `${line} `), h("code", {}, text)) };
  });
  return [h("h3", { id: id("pressure", row.name + row.line) }, "Register pressure", h("span", { class: "aside" }, `${all.registers} registers `, worth(all.worth, all.target), all.budget ? ` ${all.budget}` : "")),
    h("div", { class: "halves" }, h("div", {}, h("h4", {}, "Live by line", all.more ? h("span", { class: "small" }, `, the ${all.lines.length} with most`) : null), bars(lines, true)),
      h("div", {}, h("h4", {}, "At the peak"), h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["variable", "registers", "class", "without it"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, all.variables.map(([name, registers, kind, remedy]) => h("tr", {}, h("td", {}, h("code", {}, name)), h("td", {}, String(registers)), h("td", { style: { "white-space": "nowrap" } }, kind), h("td", {}, remedy)))))))];
};
