// Protocol 1 of dpwitness in asynchronous JavaScript (Node 14 or later): a sum with Laplace noise
// of scale 1, for mechanisms that have to be awaited and outputs of any shape.
//
//   dpwitness audit --command 'node laplace_async.js' --epsilon 1 --pair '[0]' '[0, 1]'
//
// Replace draw, which may return numbers, texts, lists or plain objects; the rest is the protocol
// (docs/protocol.md). A library that draws randomness of its own says "seeded": false below.
"use strict";
const { createInterface } = require("readline");
const GREETING = { dpwitness: 1, name: "laplace in async JS", seeded: true };

// SplitMix64 (Steele, Lea and Flood, 2014). All randomness follows from the seed of the request.
function generator(seed) {
  let state = BigInt(seed);
  const cut = (value) => BigInt.asUintN(64, value);
  return () => {
    state = cut(state + 0x9e3779b97f4a7c15n);
    let z = cut((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = cut((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return (Number((z ^ (z >> 31n)) >> 11n) + 0.5) / 2 ** 53; // in (0, 1)
  };
}

async function draw(database, uniform) {
  const u = uniform();
  const noise = u < 0.5 ? Math.log(2 * u) : -Math.log(2 - 2 * u);
  return database.reduce((sum, value) => sum + value, 0) + noise;
}

// What JSON cannot say: NaN and the infinities.
function written(key, value) {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return { $float: String(value).replace("Infinity", "inf").replace("NaN", "nan") };
}

async function answer(asked) {
  const uniform = generator(asked.seed);
  const lines = [JSON.stringify({ id: asked.id, lines: asked.size })];
  try {
    for (let i = 0; i < asked.size; i++) {
      lines.push(JSON.stringify(await draw(asked.database, uniform), written));
    }
  } catch (error) {
    return JSON.stringify({ id: asked.id, type: error.name, error: error.message });
  }
  return lines.join("\n");
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    process.stdout.write((asked.dpwitness ? JSON.stringify(GREETING) : await answer(asked)) + "\n");
  }
})();
