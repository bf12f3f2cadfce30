// A process that uses the built package's embedded store, for the tests to kill, race with and look at from outside.
import { writeSync } from 'node:fs';
import { embeddedState } from 'insidecar/embedded';
import { systemClock } from 'insidecar/kit';

const [mode, path, exclusive] = process.argv.slice(2);
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

const modes = {
  async write(store) {
    say('open');
    await Promise.all(Array.from({ length: 8 }, (_, writer) => writeForever(store, writer)));
  },
  async hold() {
    say('open');
    setInterval(() => undefined, 1000);
  },
  /** Is killed with the directory open. */
  async die(store) {
    await store.commit({ put: [{ key: 'a', value }] });
    say('open');
    process.kill(process.pid, 'SIGKILL');
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
  /** Exits with many more stores open. */
  async exitWithMany() {
    process.on('warning', ({ name }) => say(name));
    const open = (number) => embeddedState({ path: `${path}/${number}` }).open({ clock: systemClock, logger });
    const stores = await Promise.all(Array.from({ length: 12 }, (_, number) => open(number)));
    await Promise.all(stores.map((store) => store.commit({ put: [{ key: 'a', value }] })));
    say('open');
    setTimeout(() => process.exit(7), 3);
  },
  async gc(store) {
    await stress(store);
    await store.close();
    globalThis.gc();
    await new Promise(setImmediate);
    globalThis.gc();
  },
};

try {
  const store = await embeddedState({ path, exclusive: exclusive === 'exclusive' }).open({
    clock: systemClock,
    logger,
  });
  await modes[mode](store);
} catch (error) {
  say(`${error.kind}: ${error.message}`);
  process.exitCode = 1;
}
