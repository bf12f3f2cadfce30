// Every entry point with import and require, and the command, on every Node version that must work, with and without
// what Node 20 needs for state on disk.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { availableNodes, check, directory, npmInstall, packed, repository, run, runOn, SQLITE } from './harness.mjs';

const PROGRAMS = ['smoke.mjs', 'smoke.cjs', 'entries.mjs', 'entries.cjs'];
const COMMAND = 'node_modules/insidecar/dist/cli.cjs';
const RUN = ['run', '--app-id', 'smoke', '--state-path', './state'];
const KEPT = /: kept order 1 over a restart$/;
const MISSING =
  /: driver-missing: .*npm install @photostructure\/sqlite@1\.2\.1"\. Node 22\.13 and later have SQLite\.$/;
/** Their `engines` leave out Node versions that they run on; docs/dependencies.md says so. */
const WARNED_OF = new Set(['cloudevents']);

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs a program with a version of Node; it must say which Node it ran on, and at its end what is expected. */
function checkOn(version, cwd, program, expected, args = [program]) {
  const node = runOn(version, cwd, 'node', ...args);
  const isComplete = node.said.includes(` on Node v${version}`) && expected.test(node.said);
  check(`node@${version} ${program}`, { ...node, ok: node.ok && isComplete });
}

/** Says nothing of engines except what is explained. */
function checkEngines(version) {
  const where = directory(`engines-${version}`, []);
  const { ok, output } = runOn(version, where, 'npm', 'install', '--no-audit', '--no-fund', packed());
  const unsupported = [...output.matchAll(/package: '((?:@[^/']+\/)?[^@']+)@/g)].map(([, name]) => name);
  const isExplained = unsupported.every((name) => WARNED_OF.has(name));
  const said = unsupported.length === 0 ? 'no warning' : `a warning of ${unsupported.join()}, which is explained`;
  check(`node@${version} npm install`, { ok: ok && isExplained, said, output });
}

async function checkCommand(cwd) {
  const { version: packedVersion } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const told = run(cwd, 'npx', 'insidecar', '--version');
  check('npx insidecar --version', { ...told, ok: told.ok && told.said === packedVersion });
  const help = run(cwd, 'npx', 'insidecar', 'run', '--help');
  check('npx insidecar run --help', { ...help, said: '', ok: help.ok && help.said.includes('--app-port') });
  const args = ['insidecar', ...RUN, '--app-port', String(await freePort()), '--', 'node', 'cli-app.mjs'];
  const byNpx = run(cwd, 'npx', ...args);
  check('npx insidecar run', { ...byNpx, ok: byNpx.ok && /received$/.test(byNpx.said) });
}

/** Stack traces lead to the sources when Node reads source maps, as it does under tsx and in Jest. */
function checkTraces(cwd) {
  const program = "try { new (require('insidecar').Sidecar)({ appId: 5 }) } catch (error) { console.log(error.stack) }";
  const traced = run(cwd, process.execPath, '--enable-source-maps', '-e', program);
  const ok =
    traced.ok &&
    /githubusercontent\.com\/insidecar\/insidecar\/v\d[\w.-]*\/src\/sidecar\/options\.ts:\d+/.test(traced.said);
  check('stack traces lead to the sources', { ...traced, said: '', ok });
}

export async function runtime() {
  const cwd = directory('runtime', [...PROGRAMS, 'embedded.mjs', 'embedded.cjs', 'cli-app.mjs']);
  // An entry that is for its users only needs it.
  npmInstall(cwd, packed(), '@opentelemetry/api@1.9', SQLITE);
  const withoutSqlite = directory('without-sqlite', ['embedded.mjs', 'embedded.cjs']);
  npmInstall(withoutSqlite, packed());

  const uninvited = ['@grpc/grpc-js', '@dapr/dapr', '@photostructure/sqlite', 'express'];
  const brought = uninvited.filter((name) => existsSync(join(withoutSqlite, 'node_modules', name)));
  const nothing = brought.length === 0;
  check('no framework, SDK or driver comes along', { ok: nothing, said: '', output: `${brought}` });
  for (const version of availableNodes()) {
    for (const program of ['smoke.mjs', 'smoke.cjs']) checkOn(version, cwd, program, /stopped$/);
    for (const program of ['entries.mjs', 'entries.cjs']) checkOn(version, cwd, program, /loaded \. \d+, /);
    const command = [...RUN, '--app-port', String(await freePort()), '--', 'node', 'cli-app.mjs'];
    checkOn(version, cwd, 'insidecar run', /received$/, [COMMAND, ...command]);
    const bringsSqlite = Number.parseInt(version, 10) >= 22;
    for (const program of ['embedded.mjs', 'embedded.cjs']) {
      checkOn(version, cwd, program, KEPT);
      const expected = bringsSqlite ? KEPT : MISSING;
      checkOn(version, withoutSqlite, `${program} without ${SQLITE}`, expected, [program]);
    }
    checkEngines(version);
  }
  checkTraces(cwd);
  await checkCommand(cwd);
}
