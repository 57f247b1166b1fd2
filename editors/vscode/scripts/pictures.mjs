// Cuts the pictures of the README out of the screenshots of the end-to-end test:
//
//     npm run e2e && npm run pictures
//
// A screenshot is a whole workbench; a picture is its editors, without the empty rows and columns behind the text.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { crop, decode, encode } from "./png.mjs";

const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const shots = path.join(extension, "e2e", "shots");
const images = path.join(extension, "images");

/** Parts of a workbench, in pixels: the text of an only editor; everything between the side bar and the status bar. */
const TEXT = { left: 360, top: 92, right: 1470, bottom: 860 };
const EDITORS = { left: 352, top: 37, right: 1500, bottom: 866 };
/** The screenshots by the ends of their names: the number in front changes with the test. */
const PICTURES = [
  { picture: "hints-dark.png", shot: "hints-dark", part: TEXT },
  { picture: "hover.png", shot: "hover-dark", part: TEXT },
  { picture: "report.png", shot: "report", part: EDITORS },
  { picture: "code.png", shot: "gpu-code", part: { ...EDITORS, bottom: 680 } },
];
/** Pixels left around what a picture shows. */
const MARGIN = 14;

/** The part of an image up to its last row and column that hold more than the background. */
function filled(image, part) {
  const right = Math.min(part.right, image.width);
  const bottom = Math.min(part.bottom, image.height);
  const background = image.pixel(right - 1, bottom - 1);
  let [lastRow, lastColumn] = [part.top, part.left];
  for (let y = part.top; y < bottom; y++) {
    for (let x = part.left; x < right; x++) {
      if (image.pixel(x, y) === background) continue;
      lastRow = y;
      lastColumn = Math.max(lastColumn, x);
    }
  }
  return { ...part, right: Math.min(lastColumn + MARGIN, right), bottom: Math.min(lastRow + MARGIN, bottom) };
}

const names = fs.existsSync(shots) ? fs.readdirSync(shots) : [];
const named = (shot) => names.find((name) => name.replace(/^\d+-/, "") === `${shot}.png`);
const missing = [];
fs.mkdirSync(images, { recursive: true });
for (const { picture, shot, part } of PICTURES) {
  const name = named(shot) ?? named(`${shot}-dark`) ?? names.find((name) => name.includes(shot));
  if (name === undefined) {
    missing.push(shot);
    continue;
  }
  const image = decode(fs.readFileSync(path.join(shots, name)));
  const cut = crop(image, filled(image, part));
  fs.writeFileSync(path.join(images, picture), encode(cut));
  console.log(`${picture}: ${cut.width} x ${cut.height} of ${name}`);
}
if (missing.length > 0) {
  console.error(`lockstep: no screenshot ${missing.join(", ")} in ${shots}; \`npm run e2e\` makes them.`);
  process.exit(1);
}
