// PNG images of eight bits a channel, RGB or RGBA, not interlaced: those that a browser makes.
import zlib from "node:zlib";

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const CHANNELS = { 2: 3, 6: 4 };

class Image {
  constructor(width, height, channels, bytes) {
    Object.assign(this, { width, height, channels, bytes });
  }

  /** The colour at a place as a number. */
  pixel(x, y) {
    const at = (y * this.width + x) * this.channels;
    return (this.bytes[at] << 16) | (this.bytes[at + 1] << 8) | this.bytes[at + 2];
  }
}

export function decode(file) {
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new Error("not a PNG image");
  let header;
  const parts = [];
  for (let at = 8; at + 12 <= file.length; ) {
    const length = file.readUInt32BE(at);
    const kind = file.toString("latin1", at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") header = data;
    if (kind === "IDAT") parts.push(data);
    at += 12 + length;
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = CHANNELS[header[9]];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new Error("a PNG image of another kind than a browser makes");
  return new Image(width, height, channels, unfilter(zlib.inflateSync(Buffer.concat(parts)), width * channels, height, channels));
}

/** Undoes the filters of the rows: each byte was stored less what its neighbours predict. */
function unfilter(stored, stride, height, channels) {
  const bytes = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = stored[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? bytes[y * stride + x - channels] : 0;
      const above = y > 0 ? bytes[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? bytes[(y - 1) * stride + x - channels] : 0;
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      bytes[y * stride + x] = stored[y * (stride + 1) + 1 + x] + predicted;
    }
  }
  return bytes;
}

function paeth(left, above, corner) {
  const [a, b, c] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? above : corner;
}

export function crop(image, { left, top, right, bottom }) {
  const [width, height] = [right - left, bottom - top];
  const rows = Array.from({ length: height }, (_, y) => {
    const start = ((top + y) * image.width + left) * image.channels;
    return image.bytes.subarray(start, start + width * image.channels);
  });
  return new Image(width, height, image.channels, Buffer.concat(rows));
}

/** Rows are stored less the row above, which suits text on a plain ground. */
export function encode({ width, height, channels, bytes }) {
  const stride = width * channels;
  const stored = Buffer.alloc((stride + 1) * height);
  for (let y = 0; y < height; y++) {
    stored[y * (stride + 1)] = 2;
    for (let x = 0; x < stride; x++) {
      stored[y * (stride + 1) + 1 + x] = bytes[y * stride + x] - (y > 0 ? bytes[(y - 1) * stride + x] : 0);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, channels === 3 ? 2 : 6, 0, 0, 0], 8);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", zlib.deflateSync(stored, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(kind, data) {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}

function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
