// Opens pages of `lockstep report` in headless Chromium, in the light and the dark scheme and in two widths: a finding leads
// to its line, a picture to its line (and tells an editor so), nothing is loaded, nothing overflows, and text has the contrast
// of WCAG AA. Screenshots go to e2e/shots. Ends with "N passed, N failed".
//
//   LOCKSTEP_BINARY=target/release/lockstep node editors/vscode/e2e/report.mjs
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";

const here = import.meta.dirname;
const root = path.join(here, "../../..");
const { chromium } = createRequire(path.join(process.env.PLAYWRIGHT_FOLDER ?? path.join(here, "tools/driver"), "/"))("playwright-core");
const binary = process.env.LOCKSTEP_BINARY ?? path.join(root, "target/release/lockstep");
const shots = path.join(here, "shots");
const pages = fs.mkdtempSync(path.join(os.tmpdir(), "lockstep-report-"));
fs.mkdirSync(shots, { recursive: true });
process.on("exit", () => fs.rmSync(pages, { recursive: true, force: true }));

let passed = 0, failed = 0;
const must = (ok, what) => {
  if (ok) passed++;
  else { failed++; console.log(`FAILED: ${what}`); }
};
const made = (file, name) => {
  const out = path.join(pages, `${name}.html`);
  execFileSync(binary, ["report", file, "--no-config", "-o", out], { stdio: ["ignore", "ignore", "pipe"] });
  return pathToFileURL(out).href;
};
const fixture = (name) => path.join(root, "fixtures", name);
const hostile = path.join(pages, "hostile.cu");
fs.writeFileSync(hostile, `// </script><img src=x onerror="window.broken = 1"><script>window.broken = 2</script> <!--
__global__ void k(float* x) { x[threadIdx.x * 32] = 1.0f; } // <b onclick="window.broken = 3">bold</b>
`);
const profiled = path.join(pages, "lit_surface.hlsl");
for (const name of ["lit_surface.hlsl", "lit_surface.toml"]) fs.copyFileSync(fixture(`profiles/${name}`), path.join(pages, name));
execFileSync(binary, ["profile", profiled, "--no-config"], { stdio: "ignore" });
const subjects = [
  ["transpose", made(fixture("cuda/transpose.cu"), "transpose")],
  ["column_sums", made(fixture("cuda/column_sums.cu"), "column_sums")],
  ["tiled_light_culling", made(fixture("hlsl/tiled_light_culling.hlsl"), "tiled_light_culling")],
  ["strided_rows", made(fixture("ptx/strided_rows.ptx"), "strided_rows")],
  ["lit_surface", made(profiled, "lit_surface")],
  ["dot_product", made(fixture("c/dot_product.c"), "dot_product")],
  ["complex_multiply", made(fixture("c/loops/dsp_complex_multiply.c"), "complex_multiply")],
  ["hostile", made(hostile, "hostile")],
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
// The least contrast of what is written, by the colours that the browser computed; over 18.66 px bold or 24 px 3 is enough.
const contrast = () => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const bad = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, noscript, svg, [aria-hidden]") || !element.checkVisibility?.() || !element.getClientRects().length) continue;
    const layers = [];
    let opacity = 1;
    for (let up = element; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      opacity *= Number(style.opacity);
      layers.unshift(rgba(style.backgroundColor));
    }
    const ground = layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
    const style = getComputedStyle(element);
    const [r, g, b, a] = rgba(style.color);
    const ink = over([r, g, b, a * opacity], ground);
    const [high, low] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.set(`${element.tagName}.${element.className}`, `${ratio.toFixed(2)} "${node.data.trim().slice(0, 30)}"`);
  }
  return [...bad].map(([name, text]) => `${name}: ${text}`);
};
for (const scheme of ["light", "dark"]) {
  for (const width of [900, 1400]) {
    for (const [name, url] of subjects) {
      const what = `${name}, ${scheme}, ${width}`;
      const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme: scheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      const said = [], asked = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(error.message));
      page.on("request", (request) => { if (request.url() !== url) asked.push(request.url()); });
      // The webview of an editor.
      await page.addInitScript(() => {
        window.told = [];
        window.acquireVsCodeApi = () => ({ postMessage: (message) => window.told.push(message) });
      });
      await page.goto(url);
      await page.waitForSelector("main section");
      const overflow = await page.evaluate(() => {
        const wide = [...document.querySelectorAll("main *, nav *, header *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, pre, svg"));
        return [document.documentElement.scrollWidth - innerWidth, ...wide.slice(0, 3).map((one) => one.className || one.tagName)];
      });
      must(overflow[0] <= 0 && overflow.length === 1, `${what}: nothing overflows: ${overflow}`);
      must(await page.evaluate(() => window.broken === undefined && !document.querySelector("main img, main script, main b[onclick]")), `${what}: text stays text`);
      const low = await page.evaluate(contrast);
      must(low.length === 0, `${what}: contrast: ${low.slice(0, 4).join("; ")}`);
      await page.screenshot({ path: path.join(shots, `report-${name}-${scheme}-${width}.png`), fullPage: true });

      const finding = page.locator("#findings a[data-line]").first();
      if (await finding.count()) {
        const line = await finding.getAttribute("data-line");
        await finding.click();
        must(await page.locator(`#L${line}`).evaluate((row) => row.classList.contains("hit") && document.activeElement === row), `${what}: a finding leads to line ${line}`);
        const seen = await page.locator(`#L${line}`).evaluate((row) => { const box = row.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; });
        must(seen, `${what}: the line is in sight`);
      }
      const picture = page.locator("a.pic:visible").first();
      if (await picture.count()) {
        const line = await picture.getAttribute("data-line");
        await picture.click();
        const told = await page.evaluate(() => window.told.at(-1));
        must(told?.command === "reveal" && String(told.line) === line && told.column >= 1, `${what}: a picture leads to line ${line}: ${JSON.stringify(told)}`);
        must((await page.locator(".ln.hit").count()) === 1 && (await page.locator(".ln.hit").getAttribute("id")) === `L${line}`, `${what}: one line is highlighted`);
      }
      const facts = page.locator("button.mk").first();
      if (await facts.count()) {
        await facts.focus();
        await page.keyboard.press("Enter");
        must((await page.locator(".facts").count()) === 1, `${what}: the keyboard opens the facts of a line`);
        const inside = await page.evaluate(contrast);
        must(inside.length === 0, `${what}: contrast of facts: ${inside.slice(0, 4).join("; ")}`);
        await page.keyboard.press("Enter");
        must((await page.locator(".facts").count()) === 0, `${what}: and closes them`);
      }
      const explained = page.locator("#findings .finding a.mono").first();
      if (await explained.count()) {
        await explained.click();
        must(await page.locator("details.explain[open]").count() === 1, `${what}: a code leads to its explanation`);
      }
      if (scheme === "light" && width === 1400) {
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const before = await ground();
        await page.locator(".top button").click();
        await page.locator(".top button").click();
        must((await ground()) !== before, `${what}: the theme changes`);
      }
      must(said.length === 0, `${what}: no messages: ${said.slice(0, 2)}`);
      must(asked.length === 0, `${what}: nothing is loaded: ${asked.slice(0, 2)}`);
      await context.close();
    }
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed; screenshots in ${path.relative(process.cwd(), shots) || "."}`);
process.exit(failed ? 1 : 0);
