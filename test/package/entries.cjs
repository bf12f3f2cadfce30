// Loads every entry point of the installed package; entries.mjs hands in import().
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

exports.loadEntries = async (load) => {
  const { exports: entries } = JSON.parse(readFileSync(join(__dirname, 'node_modules/insidecar/package.json'), 'utf8'));
  const names = Object.keys(entries).filter((entry) => !entry.endsWith('.json'));
  const loaded = [];
  for (const entry of names) {
    const count = Object.keys(await load(join('insidecar', entry))).length;
    if (count === 0) throw new Error(`${entry} exports nothing`);
    loaded.push(`${entry} ${count}`);
  }
  return loaded.join(', ');
};

if (require.main === module) {
  exports
    .loadEntries((entry) => require(entry))
    .then((what) => console.log(`require on Node ${process.version}: loaded ${what}`));
}
