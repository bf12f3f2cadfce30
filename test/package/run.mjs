// Packs the package, installs the tarball in empty directories outside the repository, and uses it there. Needs
// `npm run build` and the npm registry. `node test/package/run.mjs [part …]` runs some of the parts only.
import { bundled } from './bundled.mjs';
import { contents } from './contents.mjs';
import { results } from './harness.mjs';
import { runners } from './runners.mjs';
import { runtime } from './runtime.mjs';
import { types } from './types.mjs';

const parts = { contents, runtime, types, bundled, runners };
const wanted = process.argv.slice(2);
for (const name of wanted.length === 0 ? Object.keys(parts) : wanted) {
  console.log(`\n${name}`);
  await parts[name]();
}
console.log(`\npackage: ${results.passed} passed, ${results.failed} failed`);
for (const version of results.untested) console.log(`!! NOT TESTED on node@${version}, which npm could not fetch`);
if (results.failed > 0) process.exitCode = 1;
