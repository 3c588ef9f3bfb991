// Draws the landscape pictures of the journal: `npm run images`. Everything is computed, so a picture is a few numbers below.
import { writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

const width = 960;
const height = 540;

const scenes = {
  frost: { sky: ['#26344f', '#c9b7b0'], sun: [700, 150, 38, '#f5efe4'], hills: ['#8b98a8', '#6f8091', '#b8c4cb', '#e4eaec'], flakes: 260 },
  rain: { sky: ['#5d7683', '#c3cfcc'], sun: null, hills: ['#8aa39a', '#6d8c78', '#587a5b', '#46664a'], flakes: 0, drops: 420 },
  mulberry: { sky: ['#f6d58e', '#fbeed0'], sun: [240, 170, 54, '#fff4cf'], hills: ['#c3c884', '#9fb36a', '#7d9a55', '#5f7f45'], flakes: 0 },
  moths: { sky: ['#10172b', '#3d3558'], sun: [640, 130, 44, '#f3e9c6'], hills: ['#2d3250', '#242a41', '#1b2233', '#131a26'], flakes: 90 },
  hellebore: { sky: ['#dcb6a5', '#f2e2cf'], sun: [760, 300, 60, '#f7cfa4'], hills: ['#b79a9c', '#8f8289', '#6a6f68', '#4e5d4c'], flakes: 60 },
};

const hex = (color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
const mix = (a, b, t) => a.map((value, index) => Math.round(value + (b[index] - value) * t));

/** A small generator with a fixed seed: the same picture at every run. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function draw({ sky, sun, hills, flakes, drops = 0 }, seed) {
  const next = random(seed);
  const [top, bottom] = sky.map(hex);
  const waves = hills.map((color, layer) => ({ color: hex(color), base: 250 + layer * 75, phase: next() * 9, size: 46 - layer * 6 }));
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(width * 3);
    for (let x = 0; x < width; x++) {
      let color = mix(top, bottom, Math.min(1, y / 330));
      if (sun !== null) {
        const distance = Math.hypot(x - sun[0], y - sun[1]);
        const glow = Math.max(0, 1 - Math.max(0, distance - sun[2]) / (distance < sun[2] + 1.5 ? 1.5 : 190));
        color = mix(color, hex(sun[3]), distance < sun[2] + 1.5 ? glow : glow * 0.35);
      }
      for (const { color: hill, base, phase, size } of waves) {
        const ridge = base + size * Math.sin(x / 150 + phase) + (size / 3) * Math.sin(x / 47 + phase * 2);
        if (y > ridge) color = mix(hill, hex('#000000'), Math.min(0.18, (y - ridge) / 900));
      }
      row.set(color, x * 3);
    }
    return row;
  });
  const dot = (x, y, radius, color, strength) => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) {
        const [px, py] = [Math.round(x + dx), Math.round(y + dy)];
        if (Math.hypot(dx, dy) > radius || px < 0 || py < 0 || px >= width || py >= height) continue;
        const at = px * 3;
        rows[py].set(mix([...rows[py].subarray(at, at + 3)], color, strength), at);
      }
    }
  };
  for (let i = 0; i < flakes; i++) dot(next() * width, next() * height, 1 + Math.floor(next() * 3), [255, 250, 235], 0.75);
  for (let i = 0; i < drops; i++) {
    const [x, y, length] = [next() * width, next() * height, 8 + next() * 16];
    for (let step = 0; step < length; step++) dot(x - step * 0.3, y + step, 0, [235, 242, 244], 0.5);
  }
  return rows;
}

/** PNG (RFC 2083): 8-bit RGB, each row as the difference to the one above, which suits gradients. */
function png(rows) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const filtered = rows.map((row, y) => {
    const line = Buffer.alloc(row.length + 1);
    line[0] = 2;
    row.forEach((value, x) => (line[x + 1] = value - (y === 0 ? 0 : rows[y - 1][x])));
    return line;
  });
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const image = deflateSync(Buffer.concat(filtered), { level: 9 });
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', image), chunk('IEND', Buffer.alloc(0))]);
}

for (const [index, [name, scene]] of Object.entries(scenes).entries()) {
  writeFileSync(new URL(`../src/assets/covers/${name}.png`, import.meta.url), png(draw(scene, 11 + index)));
}
