// A process that uses the built package's embedded store, for the tests to kill, race with and look at from outside.
import { writeSync } from 'node:fs';
import { loadSqlite } from '../../dist/components/embedded/driver.js';
import { Engine } from '../../dist/components/embedded/engine.js';
import { embedded } from '../../dist/components/embedded/index.js';
import { openDatabase } from '../../dist/components/embedded/schema.js';
import { systemClock } from '../../dist/util/clock.js';

const [mode, path] = process.argv.slice(2);
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const say = (line) => writeSync(1, `${line}\n`);
const value = Buffer.alloc(300, 'x');

/** Commits for ever, two entries at a time, and says which are durable as soon as they are. */
async function writeForever(store, writer) {
  for (let number = 0; ; number++) {
    const key = `${writer}-${String(number).padStart(6, '0')}`;
    await store.commit({
      put: [
        { key: `a!${key}`, value },
        { key: `b!${key}`, value },
      ],
    });
    say(key);
  }
}

/** Thousands of calls of each sort through the thread, which collects garbage all the time by a flag of V8's. */
async function stress(store) {
  for (let round = 0; round < 60; round++) {
    const keys = Array.from({ length: 100 }, (_, index) => `k${round % 7}-${index}`);
    await Promise.all(keys.map((key) => store.commit({ put: [{ key, value }] })));
    const entries = await Promise.all(keys.map((key) => store.get(key)));
    if (entries.some((entry) => !value.equals(entry.value))) throw new Error('a value is not what was put');
    await store.scan({ from: '', maxBytes: 5000, reverse: round % 2 === 0 });
    await store.commit({ delete: keys.slice(50) });
  }
}

/** The same on the engine itself, with all garbage collected between any two calls; then it is let go. */
async function stressEngine() {
  const engine = new Engine(openDatabase(await loadSqlite(), `${path}/engine`), { path });
  for (let round = 0; round < 250; round++) {
    const key = Buffer.from(`k${round % 97}`);
    const [{ version }] = engine.commit([{ require: [], put: [{ key, value }], delete: [] }]);
    globalThis.gc();
    engine.commit([{ require: [{ key, version }], put: [], delete: round % 3 === 0 ? [key] : [] }]);
    globalThis.gc();
    engine.read({ get: key });
    engine.read({ scan: { from: key, to: undefined, limit: 10, maxBytes: 900, reverse: round % 2 === 0 } });
    globalThis.gc();
    if (round % 50 === 0) engine.checkpoint();
  }
  engine.close();
}

const modes = {
  async write(store) {
    say('open');
    await Promise.all(Array.from({ length: 8 }, (_, writer) => writeForever(store, writer)));
  },
  async hold() {
    say('open');
    setInterval(() => undefined, 1000);
  },
  /** Ends by itself, without a close: what resolved must be there. */
  async end(store) {
    await store.commit({ put: [{ key: 'a', value }] });
  },
  /** Exits in the middle of the work, without a close. */
  async exit(store) {
    for (let number = 0; number < 2000; number++) void store.commit({ put: [{ key: `k${number}`, value }] });
    await store.commit({ put: [{ key: 'last', value }] });
    for (let number = 0; number < 2000; number++) void store.commit({ put: [{ key: `l${number}`, value }] });
    setTimeout(() => process.exit(7), 3);
  },
  async gc(store) {
    await stress(store);
    await store.close();
    await stressEngine();
    globalThis.gc();
    await new Promise(setImmediate);
    globalThis.gc();
  },
};

try {
  const store = await embedded({ path }).open({ clock: systemClock, logger });
  await modes[mode](store);
} catch (error) {
  say(`${error.kind}: ${error.message}`);
  process.exitCode = 1;
}
