// Imports every entry point of the installed package; what require() gives must be the same, not a second copy of it.
import { createRequire } from 'node:module';
import { loadEntries } from './entries.cjs';

const require = createRequire(import.meta.url);

async function load(entry) {
  const imported = await import(entry);
  const required = require(entry);
  const names = new Set([...Object.keys(imported), ...Object.keys(required)]);
  for (const name of names) if (imported[name] !== required[name]) throw new Error(`${entry}: two copies of ${name}`);
  return imported;
}

console.log(`import on Node ${process.version}: loaded ${await loadEntries(load)}`);
