// Protocol 1 of dpwitness in JavaScript (Node 14 or later): a sum with Laplace noise of scale 1.
//
//   dpwitness audit --command 'node laplace.js' --epsilon 1 --pair '[0]' '[0, 1]'
//
// Replace draw; the rest is the protocol (docs/protocol.md).
"use strict";
const fs = require("fs");

// SplitMix64 (Steele, Lea and Flood, 2014) in two halves of 32 bits, which are much faster here
// than BigInt. All randomness follows from the seed of the request.
let high = 0, low = 0;

function multiply(a, b, c, d) { // (a, b) * (c, d) modulo 2^64; b * d by halves of 16 bits
  const b0 = b & 0xffff, b1 = b >>> 16, d0 = d & 0xffff, d1 = d >>> 16;
  const middle = b1 * d0 + ((b0 * d0) >>> 16), other = b0 * d1 + (middle & 0xffff);
  const carry = b1 * d1 + Math.floor(middle / 65536) + Math.floor(other / 65536);
  high = (Math.imul(a, d) + Math.imul(b, c) + carry) >>> 0;
  low = Math.imul(b, d) >>> 0;
}

function uniform(rng) {
  const sum = rng.low + 0x7f4a7c15;
  rng.low = sum >>> 0;
  rng.high = (rng.high + 0x9e3779b9 + (sum > 0xffffffff ? 1 : 0)) >>> 0;
  let a = (rng.high ^ (rng.high >>> 30)) >>> 0;
  let b = (rng.low ^ ((rng.low >>> 30) | (rng.high << 2))) >>> 0;
  multiply(a, b, 0xbf58476d, 0x1ce4e5b9);
  [a, b] = [(high ^ (high >>> 27)) >>> 0, (low ^ ((low >>> 27) | (high << 5))) >>> 0];
  multiply(a, b, 0x94d049bb, 0x133111eb);
  [a, b] = [(high ^ (high >>> 31)) >>> 0, (low ^ ((low >>> 31) | (high << 1))) >>> 0];
  return (a * 2 ** 21 + (b >>> 11) + 0.5) / 2 ** 53; // in (0, 1)
}

function draw(database, rng) {
  const u = uniform(rng);
  const noise = u < 0.5 ? Math.log(2 * u) : -Math.log(2 - 2 * u);
  return database.reduce((sum, value) => sum + value, 0) + noise;
}

function write(data) {
  for (let done = 0; done < data.length;) {
    try {
      done += fs.writeSync(1, data, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function answer(line) {
  const asked = JSON.parse(line);
  if (asked.dpwitness) return write(Buffer.from('{"dpwitness": 1, "name": "laplace in JS"}\n'));
  const rng = { high: Math.floor(asked.seed / 2 ** 32), low: asked.seed >>> 0 };
  const outputs = Buffer.alloc(8 * asked.size);
  for (let i = 0; i < asked.size; i++) outputs.writeDoubleLE(draw(asked.database, rng), 8 * i);
  const header = { id: asked.id, dtype: "<f8", shape: [asked.size] };
  write(Buffer.concat([Buffer.from(JSON.stringify(header) + "\n"), outputs]));
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  lines.forEach(answer);
});
