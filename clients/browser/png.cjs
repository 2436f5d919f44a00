// Makes pictures of pages small: at most 256 colours, packed as tightly as zlib can.
"use strict";
const zlib = require("node:zlib");

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunks(png) {
  const all = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    all.push({ type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return all;
}

// The pixels of an 8-bit RGB or RGBA picture without interlacing, as Chromium makes them: 0xRRGGBB.
function decode(png) {
  const all = chunks(png);
  const head = all.find((c) => c.type === "IHDR").data;
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9]];
  const channels = { 2: 3, 6: 4 }[kind];
  if (depth !== 8 || !channels || head[12] !== 0) throw new Error(`a PNG of kind ${kind} and depth ${depth}`);
  const raw = zlib.inflateSync(Buffer.concat(all.filter((c) => c.type === "IDAT").map((c) => c.data)));
  const stride = width * channels;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    const row = raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1));
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? row[x - channels] : 0;
      const up = above[x];
      const corner = x >= channels ? above[x - channels] : 0;
      let guess = [0, left, up, (left + up) >> 1][filter];
      if (filter === 4) {
        const p = left + up - corner;
        const [a, b, c] = [Math.abs(p - left), Math.abs(p - up), Math.abs(p - corner)];
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      row[x] = (row[x] + guess) & 255;
    }
    for (let x = 0; x < width; x++) pixels[y * width + x] = row.readUIntBE(x * channels, 3);
    above = row;
  }
  return { width, height, pixels };
}

function distance(a, b) {
  const by = (shift) => ((a >> shift) & 255) - ((b >> shift) & 255);
  return by(16) ** 2 + by(8) ** 2 + by(0) ** 2;
}

// The 256 most frequent colours; others become the nearest of those.
function palette(pixels) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour);
  const kept = colours.slice(0, 256);
  const index = new Map(kept.map((colour, i) => [colour, i]));
  for (const colour of colours.slice(256)) {
    let best = 0;
    for (let i = 1; i < kept.length; i++) if (distance(colour, kept[i]) < distance(colour, kept[best])) best = i;
    index.set(colour, best);
  }
  return { kept, index };
}

const TABLE = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let sum = 0xffffffff;
  for (const byte of body) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((sum ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}

// The same picture with a palette.
function shrink(png) {
  const { width, height, pixels } = decode(png);
  const { kept, index } = palette(pixels);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.alloc(kept.length * 3);
  kept.forEach((colour, i) => colours.writeUIntBE(colour, i * 3, 3));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
  }
  const data = zlib.deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]);
}

module.exports = { shrink };
