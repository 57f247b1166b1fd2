// Drives a real VS Code workbench: inlay hint, hover with the cause chain, diagnostic, code action applied, in the dark
// and the light theme. Screenshots go to e2e/shots. Ends with "N passed, N failed".
import fs from "node:fs";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { sets } from "./sets.mjs";

const here = import.meta.dirname;
const { chromium } = createRequire(path.join(here, "tools/driver/"))("playwright-core");
const port = process.env.PORT ?? "18080";
const workspace = path.join(here, "run/workspace");
const shots = path.join(here, "shots");

const CUDA = `// Mirrors each block of a vector through shared memory, and sums it up.
__global__ void mirror(float* out, const float* in, int n, int pitch) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * pitch;
  float scale = 1.0f;
  if (i < n) {
    tile[threadIdx.x] = in[row + i] * scale;
    __syncthreads();
    out[row + i] = tile[255 - threadIdx.x];
  }
  float column = in[i * 16];
  out[i] += column;
}
`;
const HLSL = `Texture2D textures[] : register(t0, space1);
SamplerState linearSampler : register(s0);

struct Input {
  float4 position : SV_Position;
  float2 uv : TEXCOORD0;
  nointerpolation uint material : MATERIAL;
};

float4 main(Input input) : SV_Target {
  float4 colour = textures[input.material].Sample(linearSampler, input.uv);
  return colour * 0.5;
}
`;
// Light behind a shadow mask that is black in large patches; the description is what the profile is made on.
const LIT = `cbuffer Frame : register(b0) {
  float3 LightDirection;
  float Shininess;
};
Texture2D Albedo : register(t0);
Texture2D Shadow : register(t1);
SamplerState Linear : register(s0);

float4 LitPS(float4 position : SV_Position, float3 normal : NORMAL, float2 uv : TEXCOORD0) : SV_Target {
  float3 color = Albedo.SampleLevel(Linear, uv, 0).rgb * 0.1;
  float shadow = Shadow.SampleLevel(Linear, uv, 0).r;
  float diffuse = saturate(dot(normalize(normal), LightDirection));
  float specular = pow(saturate(dot(reflect(-LightDirection, normal), float3(0, 0, 1))), Shininess);
  color += (diffuse + specular) * sqrt(color) * shadow;
  return float4(color, 1);
}
`;
const INPUTS = `[launch]
pixels = [128, 64]
[values]
LightDirection = [0.6, 0.8, 0.0]
Shininess = 8.0
[textures.Shadow]
fill = "noise"
cells = 4
cut = 0.5
[inputs.NORMAL]
fill = "sphere"
`;
// A recurrence, a store that may meet a load, and a search whose exits are early.
const LOOPS = `double dot(long n, const double *restrict a, const double *restrict b) {
  double sum = 0;
  for (long i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

void scale(long n, float a, const float *x, float *y) {
  for (long i = 0; i < n; ++i)
    y[i] = a * x[i];
}

long find(const unsigned char *text, unsigned char wanted) {
  const unsigned char *at = text;
  while (*at != wanted && *at)
    ++at;
  return at - text;
}
`;
// A quotient that only the last round needs, and a run of it.
const LAST = `int last(const int *a, const int *b, int n) {
  int x, i = 0;
  do {
    if (a[i] & 1)
      x = a[i] / b[i];
    else
      x = 0;
    i++;
  } while (i < n && b[i] != 7);
  return x;
}
`;
const LAST_INPUTS = `item = "last"
[values]
n = 400
[buffers.a]
type = "i32"
count = 400
fill = "uniform"
low = 1
high = 1000
[buffers.b]
type = "i32"
count = 400
fill = "uniform"
low = 8
high = 100
`;
// A block with a needless stop, a wait for a load, and nops that better templates save.
const ASSEMBLY = `\t.text
\t.global distance
\t.proc distance
distance:
\talloc r2 = ar.pfs, 3, 0, 0, 0 ;;
\tshladd r14 = r33, 3, r32 ;;
\tshladd r15 = r34, 3, r32 ;;
\tldfd f6 = [r14] ;;
\tldfd f7 = [r15] ;;
\tfsub.d f8 = f6, f7 ;;
\tfmpy.d f8 = f8, f8 ;;
\tadds r8 = 1, r33
\tcmp.lt p6, p7 = r33, r34 ;;
(p7)\tmov r8 = r34
\tbr.ret.sptk.many b0 ;;
\t.endp distance
`;
// A search over bytes up to a zero, which counts those below a limit apart.
const COUNT = `\t.text
\t.global count
\t.proc count
count:
\talloc r2 = ar.pfs, 2, 0, 0, 0
\tmov r8 = 0
\tmov r9 = 0 ;;
.Lnext:
\tld1 r14 = [r32], 1 ;;
\tcmp.eq p6, p7 = 0, r14
\tcmp.ltu p8, p9 = r14, r33
(p6)\tbr.cond.spnt .Ldone ;;
(p9)\tbr.cond.dptk .Lsmall ;;
\tadds r8 = 1, r8
\tbr.cond.sptk .Lnext ;;
.Lsmall:
\tadds r9 = 1, r9
\tbr.cond.sptk .Lnext ;;
.Ldone:
\tshladd r8 = r9, 4, r8 ;;
\tbr.ret.sptk.many b0 ;;
\t.endp count
`;
// A walk whose lanes end in different iterations: an estimate, which is information.
const WALK = `__global__ void walk(const int* next, int* to) {
  int at = threadIdx.x;
  while (next[at] > 0) {
    at = next[at];
    to[at] += at * at;
  }
}
`;
const HEADER = `#pragma once
template <int N>
__global__ void gather(float* out, const float* in, const int* index) {
  int i = blockIdx.x * N + threadIdx.x;
  out[i] = in[8 * i] + in[index[i]];
}
inline void launch(float* out, const float* in, const int* index) { gather<256><<<4, 256>>>(out, in, index); }
`;
fs.mkdirSync(path.join(workspace, "settings"), { recursive: true });
fs.writeFileSync(path.join(workspace, "settings/lockstep.toml"), "warp_sise = 32\n");
fs.writeFileSync(path.join(workspace, "walk.cu"), WALK);
fs.writeFileSync(path.join(workspace, "gather.h"), HEADER);
fs.writeFileSync(path.join(workspace, "loops.c"), LOOPS);
fs.writeFileSync(path.join(workspace, "last.c"), LAST);
fs.writeFileSync(path.join(workspace, "last.inputs.toml"), LAST_INPUTS);
fs.writeFileSync(path.join(workspace, "distance.ia64.s"), ASSEMBLY);
fs.writeFileSync(path.join(workspace, "count.ia64.s"), COUNT);
fs.writeFileSync(path.join(workspace, "lit.hlsl"), LIT);
fs.writeFileSync(path.join(workspace, "lit.inputs.toml"), INPUTS);
fs.writeFileSync(path.join(workspace, "mirror.cu"), CUDA);
fs.writeFileSync(path.join(workspace, "bindless.hlsl"), HLSL);

const started = Date.now();
const log = (...words) => console.log(`${((Date.now() - started) / 1000).toFixed(2)} s`, ...words);
let passed = 0;
const must = (ok, what) => {
  if (!ok) throw new Error(`FAILED: ${what}`);
  passed += 1;
  log("ok", what);
};

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  headless: true,
  args: ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await (await browser.newContext({ viewport: { width: 1500, height: 900 }, locale: "en-US", colorScheme: "dark" })).newPage();
// Nothing but our own server: every other request is refused.
await page.context().route((url) => url.hostname !== "127.0.0.1" && /^(https?|wss?):/.test(url.protocol), (route) => route.abort());

const editor = page.locator(".editor-instance .monaco-editor").first();
const line = (text) => editor.locator(".view-line").filter({ hasText: text }).first();
const shot = (name) => page.screenshot({ path: path.join(shots, `${name}.png`) });
const hover = page.locator(".monaco-hover:visible .hover-contents, .monaco-resizable-hover:visible");

/** The rectangle of a text inside a rendered line; it may span several tokens. */
const box = (locator, text) =>
  locator.evaluate((element, wanted) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let all = "";
    for (let node; (node = walker.nextNode()); ) {
      nodes.push([all.length, node]);
      all += node.data.replace(/\u00a0/g, " ");
    }
    const index = all.indexOf(wanted);
    if (index < 0) return null;
    const at = (offset) => {
      const [start, node] = nodes.filter(([s]) => s <= offset).pop();
      return [node, offset - start];
    };
    const range = document.createRange();
    range.setStart(...at(index));
    const [node, offset] = at(index + wanted.length - 1);
    range.setEnd(node, offset + 1);
    const { x, y, width, height } = range.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2, right: x + width };
  }, text);

/** A key press can be swallowed while the page is busy: press, look, Escape, press again. */
async function retry(act, seen, tries = 6) {
  for (let attempt = 1; ; attempt++) {
    try {
      await act();
      return await seen();
    } catch (error) {
      if (attempt === tries) throw error;
      await page.keyboard.press("Escape");
    }
  }
}

/** Runs a command of the extension. */
async function palette(title) {
  await page.keyboard.press("F1");
  await page.keyboard.type(`Lockstep: ${title}`, { delay: 5 });
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor({ timeout: 5000 });
  await page.keyboard.press("Enter");
}

async function open(file) {
  const target = `vscode-remote://127.0.0.1:${port}${workspace}/${file}`;
  const payload = encodeURIComponent(JSON.stringify([["openFile", target]]));
  await page.goto(`http://127.0.0.1:${port}/?folder=${workspace}&payload=${payload}`);
  await editor.locator(".view-line").first().waitFor({ timeout: 60000 });
}

/** The workbench follows the colour scheme of the browser (run.sh), so that no file has to be noticed in time. */
async function reopen(file, scheme, seen) {
  await page.emulateMedia({ colorScheme: scheme });
  await open(file);
  await page.locator(scheme === "light" ? ".monaco-workbench.vs" : ".monaco-workbench.vs-dark").waitFor({ timeout: 30000 });
  await seen().waitFor({ timeout: 30000 });
  await page.waitForTimeout(1500);
}

let failed = 0;
try {
  await open("mirror.cu");
  // Inlay hints are part of the rendered line.
  await line("blockDim.x").filter({ hasText: /affine|tid\.x|threadIdx/ }).waitFor({ timeout: 30000 });
  await editor.locator(".view-line").filter({ hasText: "sectors" }).first().waitFor({ timeout: 40000 });
  must(true, "inlay hints: the stride of the column access");
  await editor.locator(".squiggly-warning").first().waitFor({ timeout: 40000 });
  must(true, "diagnostics are drawn");
  await editor.locator(".codelens-decoration").first().waitFor({ timeout: 40000 });
  must(true, "a lens stands over the kernel");
  await shot("1-hints-dark");

  // A hint stands between the name and what follows it.
  const place = await box(line("blockDim.x + threadIdx.x"), "int i");
  await retry(
    () => page.mouse.move(place.right - 3, place.y, { steps: 4 }),
    () => hover.filter({ hasText: /affine/i }).first().waitFor({ timeout: 3000 }),
  );
  const text = await hover.first().innerText();
  must(/affine/i.test(text), "the hover says affine");
  must(/threadIdx\.x/.test(text), "the hover names the cause");
  await shot("2-hover-dark");
  await page.mouse.move(900, 880);
  await page.keyboard.press("Escape");

  const barrier = await box(line("__syncthreads"), "__syncthreads");
  await retry(
    () => page.mouse.move(barrier.x, barrier.y, { steps: 4 }),
    () => hover.filter({ hasText: "divergent-barrier" }).first().waitFor({ timeout: 3000 }),
  );
  must(true, "the barrier's diagnostic carries its code");
  await shot("3-diagnostic-dark");
  await page.mouse.move(900, 880);

  await reopen("mirror.cu", "light", () => editor.locator(".squiggly-warning").first());
  must(true, "the light theme");
  await shot("4-hints-light");

  await reopen("bindless.hlsl", "dark", () => editor.locator(".squiggly-warning").first());
  const action = page.locator(".action-widget .monaco-list-row", { hasText: "NonUniformResourceIndex" }).first();
  await retry(
    async () => {
      const index = await box(line("textures[input.material]"), "material");
      await page.mouse.click(index.x, index.y);
      await page.keyboard.press("Control+.");
    },
    () => action.waitFor({ timeout: 2500 }),
  );
  must(true, "the quick fix is offered");
  await shot("5-quick-fix");
  await action.click();
  await line("textures[NonUniformResourceIndex(input.material)]").waitFor({ timeout: 40000 });
  must(true, "the quick fix wraps the index");
  await page.locator("#status\\.problems[aria-label=\"No Problems\"]").waitFor({ timeout: 40000 });
  must(true, "the diagnostic is gone");
  await shot("6-fixed");
  await page.keyboard.press("Control+s");
  const wanted = HLSL.replace("[input.material]", "[NonUniformResourceIndex(input.material)]");
  for (let i = 0; i < 50 && fs.readFileSync(path.join(workspace, "bindless.hlsl"), "utf8") !== wanted; i++) await page.waitForTimeout(100);
  must(fs.readFileSync(path.join(workspace, "bindless.hlsl"), "utf8") === wanted, "the saved bytes are as expected");

  await open("mirror.cu");
  await line("blockDim.x").filter({ hasText: /affine|tid\.x|threadIdx/ }).waitFor({ timeout: 30000 });
  const index = await box(line("blockDim.x + threadIdx.x"), "int i");
  await page.mouse.click(index.right - 3, index.y);
  const entry = page.locator(".editor-instance .view-line").filter({ hasText: ".visible .entry" }).first();
  await retry(() => palette("Show GPU Code"), () => entry.waitFor({ timeout: 5000 }));
  must(true, "the GPU code stands beside the source");
  await page.locator(".editor-instance .view-line").filter({ hasText: /\/\/\s\d+:\s.*threadIdx/ }).first().waitFor({ timeout: 40000 });
  must(true, "its lines name the source lines that they come from");
  await page.waitForTimeout(500);
  await shot("7-gpu-code");

  await open("mirror.cu");
  const registers = page.locator(".editor-instance .view-line").filter({ hasText: /live\sat\sthe\speak/ }).first();
  await retry(() => palette("Show Registers"), () => registers.waitFor({ timeout: 5000 }));
  must(true, "the registers of the kernels stand beside the source");
  const linked = page.locator(".editor-instance .detected-link, .editor-instance .detected-link-active").first();
  await linked.waitFor({ timeout: 40000 });
  must(true, "their rows are links");
  await shot("7-registers");

  await open("lit.hlsl");
  const shadow = async () => {
    const at = await box(line("float shadow"), "shadow").catch(() => null);
    if (at !== null) await page.mouse.click(at.x, at.y);
  };
  const command = async (title, seen) =>
    retry(
      async () => {
        await shadow();
        await palette(title);
      },
      seen,
    );
  await editor.locator(".codelens-decoration").first().waitFor({ timeout: 40000 });
  await command("Profile Function in the Interpreter", () => line("float shadow").filter({ hasText: /0\sin\s\d+\s%\sof\swaves/ }).waitFor({ timeout: 8000 }));
  must(true, "a profile made in the editor shows how often a value is zero");
  await shot("8-zeros");
  await page.locator(".notifications-toasts .codicon-notifications-clear").first().click({ timeout: 3000 }).catch(() => {});
  const diff = page.locator(".monaco-diff-editor .view-line").filter({ hasText: /\.reg\s\.pred/ }).first();
  // Where several actions are offered, one is picked.
  const picked = page.locator(".quick-input-list .monaco-list-row", { hasText: "Version on zero" }).first();
  await command("Compare Code Before and After an Action", async () => {
    await picked.click({ timeout: 3000 }).catch(() => {});
    await diff.waitFor({ timeout: 8000 });
  });
  must(true, "the GPU code before and after a version on zero");
  await page.waitForTimeout(500);
  await shot("9-code-before-and-after");
  await open("lit.hlsl");
  await line("float shadow").filter({ hasText: /0\sin\s\d+/ }).waitFor({ timeout: 40000 });

  const rewrite = page.locator(".action-widget .monaco-list-row", { hasText: "Version on zero of `shadow` (saves" }).first();
  await retry(
    async () => {
      await shadow();
      await page.keyboard.press("Control+.");
    },
    () => rewrite.waitFor({ timeout: 3000 }),
  );
  must(true, "the action carries its predicted saving");
  await shot("10-action-with-saving");
  // A click is lost where the list is made anew under it.
  const version = page.locator(".monaco-diff-editor .view-line").filter({ hasText: "WaveActiveAllTrue" }).first();
  await retry(
    async () => {
      if (!(await rewrite.isVisible())) {
        await shadow();
        await page.keyboard.press("Control+.");
      }
      await rewrite.click({ timeout: 4000 });
    },
    () => version.waitFor({ timeout: 20000 }),
  );
  const accept = page.locator(".notifications-toasts .monaco-button", { hasText: "Apply" }).first();
  await accept.waitFor({ timeout: 40000 });
  await page.waitForTimeout(500);
  await shot("11-preview");
  must(!fs.readFileSync(path.join(workspace, "lit.hlsl"), "utf8").includes("WaveActive"), "the edit is shown before it is made");
  await accept.click();
  await line("WaveActiveAllTrue").waitFor({ timeout: 40000 });
  must(true, "the version is applied");
  await shot("12-version");

  await open("loops.c");
  const lens = (words) => editor.locator(".codelens-decoration").filter({ hasText: words }).first();
  // Nothing is configured: C is left alone, and a command says what it takes.
  const use = page.locator(".notifications-toasts .monaco-button", { hasText: "Use itanium2" }).first();
  await retry(() => palette("Show Machine Code"), () => use.waitFor({ timeout: 8000 }));
  must((await lens(/II\s\d+/).count()) === 0, "without a processor C is left alone");
  await shot("13-c-unconfigured");
  await use.click();
  await lens(/II\s\d+/).waitFor({ timeout: 30000 });
  must(true, "a loop of C says its interval");
  await page.waitForTimeout(1500);
  await shot("13-loops-dark");
  await reopen("loops.c", "light", () => lens(/II\s\d+/));
  await shot("14-loops-light");
  await reopen("loops.c", "dark", () => lens(/II\s\d+/));
  // Code beside the source opens where the cursor's line is computed, wherever in the window that comes to stand.
  const multiply = page.locator(".editor-instance .view-line").filter({ hasText: /fma\.d.*stage\s\d/ }).first();
  const press = async (words, part) => {
    const at = await box(line(words), part).catch(() => null);
    if (at !== null) await page.mouse.click(at.x, at.y);
  };
  await retry(
    async () => {
      await press("sum += a", "sum");
      await palette("Show Machine Code");
    },
    () => multiply.waitFor({ timeout: 8000 }),
  );
  must(true, "the IA-64 code stands beside the source");
  await press("sum += a", "sum");
  await page.waitForTimeout(1200);
  await shot("15-loops-and-code");
  const methods = page.locator(".action-widget .monaco-list-row", { hasText: "Software-pipeline by" });
  await retry(
    async () => {
      await press("while (", "while");
      await page.keyboard.press("Control+.");
    },
    () => methods.first().waitFor({ timeout: 4000 }),
  );
  must((await methods.count()) >= 3, "early exits have a choice of methods");
  await shot("16-methods");
  await page.locator(".action-widget .monaco-list-row", { hasText: "by exit variable" }).first().click();
  await accept.waitFor({ timeout: 40000 });
  await accept.click();
  await line("#pragma lockstep pipeline(exit_variable)").waitFor({ timeout: 40000 });
  must(true, "the choice stands in the source");
  await page.locator(".monaco-diff-editor .modified .view-line").filter({ hasText: "cmp" }).first().waitFor({ timeout: 40000 });
  must(true, "the code before and after it stands beside");
  await page.waitForTimeout(800);
  await shot("17-before-and-after");

  // The profile is one of the command line.
  const binary = process.env.LOCKSTEP_BINARY ?? path.join(here, "../../../target/release/lockstep");
  execFileSync(binary, ["profile", path.join(workspace, "last.c"), "--no-config"], { stdio: "ignore" });
  await open("last.c");
  const compare = page.locator(".action-widget .monaco-list-row", { hasText: "Compare code before and after its profile" }).first();
  await retry(
    async () => {
      await press("int last(", "last");
      await page.keyboard.press("Control+.");
      await compare.click({ timeout: 4000 });
    },
    () => page.locator(".tab").filter({ hasText: /last: code as it is/ }).first().waitFor({ timeout: 40000 }),
  );
  await page.locator(".monaco-diff-editor .view-line").filter({ hasText: "clrrrb" }).first().waitFor({ timeout: 40000 });
  must(true, "the code before and after a profile stands side by side");
  await page.waitForTimeout(1200);
  await shot("17-profiled-code");

  await open("distance.ia64.s");
  await editor.locator(".view-line").filter({ hasText: /block:\s\d+\scycles/ }).first().waitFor({ timeout: 30000 });
  must(true, "a block of assembly says what it takes");
  await page.waitForTimeout(1500);
  await shot("18-assembly-dark");
  const load = await box(line("ldfd"), "ldfd");
  await retry(
    () => page.mouse.move(load.x, load.y, { steps: 4 }),
    () => hover.filter({ hasText: "Waiting for it" }).first().waitFor({ timeout: 3000 }),
  );
  must(true, "an instruction says who waits for it");
  await shot("19-assembly-hover");
  await page.mouse.move(900, 880);
  await page.keyboard.press("Escape");
  await reopen("distance.ia64.s", "light", () => editor.locator(".view-line").filter({ hasText: /block:\s\d+\scycles/ }).first());
  await shot("20-assembly-light");

  // Counts of a run of the copy with probes.
  const counted_file = path.join(workspace, "count.ia64.s");
  const copy = path.join(workspace, "count.counted.ia64.s");
  const raw = path.join(workspace, "count.raw");
  const bytes = Array.from({ length: 200 }, (_, at) => (at % 7) + 1).join(",");
  execFileSync(binary, ["instrument", counted_file, "--probe", "branch", "--write", copy], { stdio: "ignore" });
  execFileSync(binary, ["sim", copy, "--item", "count", "--arg", `i8:${bytes},0`, "--arg", "4", "--counters", raw], { stdio: "ignore" });
  execFileSync(binary, ["profile", "import", "--counters", raw, "--map", copy.replace(/\.s$/, ".map.json"), "-o", `${counted_file}.lockstep-profile.json`], { stdio: "ignore" });
  await open("count.ia64.s");
  await editor.locator(".view-line").filter({ hasText: /taken\s56\s%/ }).first().waitFor({ timeout: 30000 });
  must(true, "a branch of assembly says how often it is taken");
  const counted_branch = await box(line(".Lsmall"), "br.cond");
  await retry(
    () => page.mouse.move(counted_branch.x, counted_branch.y, { steps: 4 }),
    () => hover.filter({ hasText: "Taken 56 %" }).first().waitFor({ timeout: 3000 }),
  );
  await shot("20-assembly-counts");
  await page.mouse.move(900, 880);
  await page.keyboard.press("Escape");

  await open("walk.cu");
  await line("while").filter({ hasText: /divergent\strip/ }).waitFor({ timeout: 30000 });
  const problem = page.locator(".markers-panel .monaco-list-row", { hasText: "slowest lane" }).first();
  await retry(
    () => page.keyboard.press("Control+Shift+M"),
    () => problem.waitFor({ timeout: 4000 }),
  );
  must((await problem.locator(".codicon-info").count()) > 0, "a finding that is an estimate stands among the problems as information");
  await shot("21-problems");
  // A panel that stays would hide the lower half of every file that follows.
  await retry(
    () => page.keyboard.press("Control+J"),
    () => page.locator(".markers-panel").first().waitFor({ state: "hidden", timeout: 4000 }),
  );

  const counted = editor.locator(".codelens-decoration a").first();
  const report = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  await retry(
    () => counted.click({ timeout: 5000 }),
    () => report.locator("body").filter({ hasText: "walk" }).waitFor({ timeout: 40000 }),
    3,
  );
  must(true, "the lens opens the report of its kernel");
  await page.waitForTimeout(800);
  await shot("22-report");

  await open("bindless.hlsl");
  await line("colour").first().waitFor({ timeout: 40000 });
  await page.waitForTimeout(500);
  const offered = page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "WaveActiveSum" }).first();
  await editor.locator(".codelens-decoration").first().waitFor({ timeout: 40000 });
  await retry(
    async () => {
      const tail = await box(line("float4 colour"), ");");
      await page.mouse.click(tail.right + 2, tail.y);
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      await page.keyboard.type("colour.x += WaveActiveS", { delay: 20 });
    },
    () => line("colour.x += WaveActiveS").waitFor({ timeout: 8000 }),
    3,
  );
  await retry(
    () => page.keyboard.press("Control+Space"),
    () => offered.waitFor({ timeout: 5000 }),
  );
  must(true, "completion offers what the language provides");
  await shot("23-completion");
  await page.keyboard.press("Escape");
  await page.keyboard.type("um(colour.y);", { delay: 5 });
  await line("WaveActiveSum(colour.y)").waitFor({ timeout: 40000 });
  const input = page.locator(".rename-box input").first();
  await retry(
    async () => {
      const name = await box(line("float4 colour"), "colour");
      await page.mouse.click(name.x, name.y);
      await page.keyboard.press("F2");
    },
    () => input.waitFor({ timeout: 4000 }),
  );
  await input.fill("tint");
  await input.press("Enter");
  await line("return tint * 0.5").waitFor({ timeout: 40000 });
  await line("WaveActiveSum(tint.y)").waitFor({ timeout: 40000 });
  must(true, "a local name is renamed where it stands");
  await shot("24-renamed");

  await open("mirror.cu");
  await line("in[i * 16]").filter({ hasText: "sectors" }).waitFor({ timeout: 30000 });
  // The lens moves the lines below it once it is there.
  await editor.locator(".codelens-decoration").first().waitFor({ timeout: 40000 });
  await retry(
    async () => {
      const broken = await box(line("float scale"), "1.0f;");
      await page.mouse.click(broken.right + 2, broken.y);
      await page.keyboard.press("End");
      await page.keyboard.type(" float = (", { delay: 10 });
    },
    () => editor.locator(".squiggly-error").first().waitFor({ timeout: 8000 }),
    3,
  );
  must((await line("in[i * 16]").count()) > 0, "broken text is shown as broken");
  // One step of undo takes back a word or a letter, as it comes; there is nothing else to take back.
  for (let i = 0; i < 60; i++) await page.keyboard.press("Control+Z");
  await editor.locator(".squiggly-error").first().waitFor({ state: "detached", timeout: 40000 });
  await line("in[i * 16]").filter({ hasText: "sectors" }).waitFor({ timeout: 40000 });
  must(true, "mended text has its hints again");

  await open("settings/lockstep.toml");
  await editor.locator(".squiggly-warning").first().waitFor({ timeout: 30000 });
  must(true, "a mistake in lockstep.toml is shown where only that file is open");
  await shot("25-configuration");

  await open("gather.h");
  await line("in[8 * i]").filter({ hasText: /32\ssectors/ }).waitFor({ timeout: 30000 });
  must(true, "kernels of a header have their hints");
  await shot("26-header");

  await sets({ page, workspace, open, reopen, line, editor, box, retry, palette, shot, must, hover });
} catch (error) {
  failed = 1;
  console.log(String(error));
  // Where there is only this output, the lines that are on the screen tell what stood in the way.
  const lines = await page.locator(".editor-instance .view-line, .markers-panel .monaco-list-row").allInnerTexts().catch(() => []);
  console.log(lines.map((text) => `| ${text}`).join("\n"));
  await shot("failed");
  process.exitCode = 1;
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
