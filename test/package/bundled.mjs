// A program that a bundler has put into one file, with the package in it. State on disk needs a file beside it.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { check, directory, npmInstall, packed, repository, run, SQLITE } from './harness.mjs';

const WORKER = 'embedded-worker.cjs';

export async function bundled() {
  const cwd = directory('bundled', ['smoke.cjs', 'embedded.cjs']);
  npmInstall(cwd, packed(), SQLITE);
  for (const program of ['smoke', 'embedded']) {
    const output = { file: join(cwd, `out/${program}.cjs`), format: 'cjs', dynamicImportInCjs: false };
    const external = ['@photostructure/sqlite'];
    await build({ cwd, input: `${program}.cjs`, platform: 'node', external, logLevel: 'silent', output });
  }
  const smoke = run(cwd, process.execPath, 'out/smoke.cjs');
  check('a bundled program runs', { ...smoke, ok: smoke.ok && /stopped$/.test(smoke.said) });
  const without = run(cwd, process.execPath, 'out/embedded.cjs');
  const isTold = /out\/embedded-worker\.cjs", which its thread runs, is missing\. .*leave the package/.test(
    without.said,
  );
  check('a bundled program with state on disk says what is missing', { ...without, ok: without.ok && isTold });
  copyFileSync(join(repository, 'dist', WORKER), join(cwd, 'out', WORKER));
  const beside = run(cwd, process.execPath, 'out/embedded.cjs');
  check(`and runs with ${WORKER} beside it`, { ...beside, ok: beside.ok && /over a restart$/.test(beside.said) });
}
