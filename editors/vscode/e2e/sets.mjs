// C on a processor that issues execution sets: lenses, spills, the table of a loop, the code beside the source, three machines, spills before and
// after they are reduced.
import fs from "node:fs";
import path from "node:path";

/** More values than both files of registers hold. */
const MANY = Array.from({ length: 26 }, (_, k) => `g${k}`);
/** Texts for each of them, four a line. */
const lines = (indent, text) => {
  const all = MANY.map(text);
  const rows = all.map((_, k) => (k % 4 === 0 ? indent + all.slice(k, k + 4).join(" ") : null));
  return rows.filter((row) => row !== null).join("\n");
};

const TAPS = `typedef short Word16;
typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);

Word32 dot(const Word16 *x, const Word16 *y, int n) {
  Word32 s = 0;
  for (int i = 0; i < n; i++)
    s = L_mac(s, x[i], y[i]);
  return s;
}

int blend(const int *restrict x, int *restrict y, int a, int b, int c, int d, int e, int f, int n) {
  int p = a * b, q = b * c, r = c * d, t = 0;
  int u = e * f, v = f * a, w = a ^ 5;
  int s = d * e;
${lines("  ", (name, k) => `int ${name} = ${"abcdef"[k % 6]} * ${k + 3} ^ ${"bcdefa"[k % 6]};`)}
  for (int i = 0; i < n; i++) {
    t += ((x[2 * i] ^ p) & q) + ((x[2 * i + 1] ^ r) & s) + (a ^ t) + (b & t) + (c | t) + (d ^ i) + (e & i);
    y[2 * i] = t ^ u;
    y[2 * i + 1] = (t ^ v) & w;
    t ^= (u & i) + (v & f) + (w ^ i);
${lines("    ", (name, k) => `y[32 * i + ${k + 2}] = x[32 * i + ${k + 2}] ^ ${name};`)}
  }
  return t + p + q + r + s + u + v + w;
}
`;

/** Drives the workbench through it; ends with the processor set. */
export async function sets({ page, workspace, open, reopen, line, editor, box, retry, palette, shot, must, hover }) {
  fs.mkdirSync(path.join(workspace, ".vscode"), { recursive: true });
  fs.writeFileSync(path.join(workspace, ".vscode/settings.json"), '{ "lockstep.processor": "sc140" }\n');
  fs.writeFileSync(path.join(workspace, "taps.c"), TAPS);
  await page.emulateMedia({ colorScheme: "dark" });
  await open("taps.c");
  const lens = (words) => editor.locator(".codelens-decoration").filter({ hasText: words }).first();
  await lens(/II\s1\s\(bound\s1,\saddress\sunits\)/).waitFor({ timeout: 40000 });
  must(true, "a loop says which unit of a set bounds it");
  await editor.locator(".view-line").filter({ hasText: /spills:\s\d+\scyc\/iter/ }).first().waitFor({ timeout: 40000 });
  must(true, "a variable says what its spill costs");
  await page.waitForTimeout(1200);
  await shot("27-sets-dark");
  const head = await box(line("for (int i = 0; i < n; i++) {"), "for");
  await retry(
    () => page.mouse.move(head.x, head.y, { steps: 4 }),
    () => hover.filter({ hasText: "data units" }).first().waitFor({ timeout: 3000 }),
  );
  must(true, "the head of a loop has the table of its bounds");
  await shot("28-sets-hover");
  await page.mouse.move(900, 880);
  await page.keyboard.press("Escape");
  const spill = editor.locator(".view-line").filter({ hasText: /\w+\sspills:\s\d+/ }).first();
  const spilled = /(\w+)\sspills:/.exec(await spill.innerText())[1];
  const definition = await box(spill, `${spilled} =`);
  await retry(
    () => page.mouse.move(definition.x - 6, definition.y, { steps: 4 }),
    () => hover.filter({ hasText: "The registers while it waits" }).first().waitFor({ timeout: 3000 }),
  );
  must(true, "a variable that spills says what is in the registers meanwhile");
  await shot("34-spill-hover");
  await page.mouse.move(900, 880);
  await page.keyboard.press("Escape");
  await reopen("taps.c", "light", () => lens(/address\sunits/));
  await shot("29-sets-light");
  await reopen("taps.c", "dark", () => lens(/address\sunits/));
  const press = async (words, part) => {
    const at = await box(line(words), part).catch(() => null);
    if (at !== null) await page.mouse.click(at.x, at.y);
  };
  const kernel = page.locator(".editor-instance .view-line").filter({ hasText: /move\.f\s+\(r0\)\+/ }).first();
  await retry(
    async () => {
      await press("s = L_mac(s", "L_mac");
      await palette("Show Machine Code");
    },
    () => kernel.waitFor({ timeout: 8000 }),
  );
  must(true, "the code in sets stands beside the source");
  await press("s = L_mac(s", "L_mac");
  await page.waitForTimeout(1200);
  await shot("30-sets-and-code");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForTimeout(1500);
  await shot("31-sets-and-code-light");
  await page.emulateMedia({ colorScheme: "dark" });
  const machines = page.locator(".action-widget .monaco-list-row", { hasText: "Show on three machines" }).first();
  const preview = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  await retry(
    async () => {
      await press("for (int i = 0; i < n; i++)", "for");
      await page.keyboard.press("Control+.");
      await machines.click({ timeout: 4000 });
    },
    () => preview.locator("table").filter({ hasText: "StarCore" }).first().waitFor({ timeout: 40000 }),
  );
  must(true, "a loop is shown on three machines");
  await page.waitForTimeout(800);
  await shot("32-three-machines");
  const report = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  await open("taps.c");
  await retry(
    () => lens(/II\s1/).locator("a").first().click({ timeout: 5000 }),
    () => report.locator("body").filter({ hasText: "Bounds of the interval" }).waitFor({ timeout: 40000 }),
    3,
  );
  must(true, "the report shows the schedule by unit");
  await report.locator("table.kernel").first().scrollIntoViewIfNeeded({ timeout: 5000 });
  await page.waitForTimeout(800);
  await shot("33-sets-report");
  const compare = page.locator(".action-widget .monaco-list-row", { hasText: "Compare spills before and after reduction" }).first();
  await open("taps.c");
  await retry(
    async () => {
      await press("int blend(", "blend");
      await page.keyboard.press("Control+.");
      await compare.click({ timeout: 4000 });
    },
    () => page.locator(".tab").filter({ hasText: /blend: spills as allocated/ }).first().waitFor({ timeout: 40000 }),
  );
  await page.locator(".monaco-diff-editor .view-line").filter({ hasText: /\(sp-\d+\)/ }).first().waitFor({ timeout: 40000 });
  must(true, "the code before and after its spills are reduced stands side by side");
  await page.waitForTimeout(1200);
  await shot("35-spills-reduced");
}
