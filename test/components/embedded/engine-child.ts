// The engine of the embedded store without its thread, with all garbage collected between any two calls; then it is let
// go. A program of its own, run with `--expose-gc`.
import { loadSqlite } from '../../../src/components/embedded/driver.ts';
import { openDatabase } from '../../../src/components/embedded/schema.ts';
import { SqliteEngine } from '../../../src/components/embedded/sqlite-engine.ts';

const gc = globalThis.gc;
const [path] = process.argv.slice(2);
if (gc === undefined || path === undefined) throw new Error('--expose-gc and a path are needed');
const value = Buffer.alloc(300, 'x');

async function stress(path: string, gc: () => void): Promise<void> {
  const engine = new SqliteEngine(openDatabase(await loadSqlite(), path), { path });
  for (let round = 0; round < 100; round++) {
    const key = Buffer.from(`k${round % 97}`);
    const [outcome] = engine.commit([{ require: [], put: [{ key, value }], delete: [] }]);
    if (outcome === undefined || !('version' in outcome)) throw new Error('not committed');
    gc();
    const require = [{ key, version: outcome.version }];
    engine.commit([{ require, put: [], delete: round % 3 === 0 ? [key] : [] }]);
    gc();
    engine.read({ get: key });
    engine.read({ scan: { from: key, to: undefined, limit: 10, maxBytes: 900, reverse: round % 2 === 0 } });
    gc();
    if (round % 50 === 0) engine.checkpoint();
  }
  engine.close();
}

void stress(path, () => void gc()).then(() => {
  gc();
  setImmediate(() => void gc());
});
