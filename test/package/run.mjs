// Packs the package, installs the tarball in an empty directory outside the repository, and uses it there: every entry
// point with import and require and the command on every Node version we support, with and without its optional
// dependency, and from TypeScript 5.9 and 7. Needs `npm run build` and the npm registry.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODES = ['20.19.0', '20', '22', '24'];
const here = fileURLToPath(new URL('.', import.meta.url));
const repository = join(here, '../..');
const place = mkdtempSync(join(tmpdir(), 'insidecar-package-'));
process.on('exit', () => rmSync(place, { recursive: true, force: true }));

const results = { passed: 0, failed: 0 };

function run(cwd, command, ...args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 240_000 });
  const said = (stdout ?? '').trim();
  return { ok: status === 0, said, output: `${said}\n${stderr ?? ''}${error ?? ''}`.trim() };
}

function must(what, { ok, output }) {
  if (!ok) throw new Error(`${what} failed:\n${output}`);
  return output;
}

function check(what, { ok, said, output }) {
  results[ok ? 'passed' : 'failed']++;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}${ok && said !== '' ? `: ${said}` : ''}`);
  if (!ok) console.log(output.replaceAll(/^/gm, '     '));
}

function directory(name, files) {
  const path = join(place, name);
  mkdirSync(path);
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, private: true }));
  for (const file of files) copyFileSync(join(here, file), join(path, file));
  return path;
}

function npmInstall(cwd, ...packages) {
  must(
    `npm install ${packages.join(' ')}`,
    run(cwd, 'npm', 'install', '--no-audit', '--no-fund', '--silent', ...packages),
  );
}

console.log(`packing ${repository}`);
must('npm pack', run(repository, 'npm', 'pack', '--silent', '--pack-destination', place));
const tarball = join(place, readdirSync(place).find((file) => file.endsWith('.tgz')) ?? 'no tarball');

console.log('installing the tarball in an empty directory');
const PROGRAMS = ['smoke.mjs', 'smoke.cjs', 'entries.mjs', 'entries.cjs'];
const runtime = directory('runtime', [...PROGRAMS, 'embedded.mjs', 'embedded.cjs', 'cli-app.mjs']);
npmInstall(runtime, tarball);
const withoutOptional = directory('without-optional', ['embedded.mjs', 'embedded.cjs']);
npmInstall(withoutOptional, '--omit=optional', tarball);

const notInstalled = ['@grpc/grpc-js', '@dapr/dapr', 'express'].filter((name) =>
  existsSync(join(runtime, 'node_modules', name)),
);
check('no framework, SDK or driver comes along', {
  ok: notInstalled.length === 0,
  said: '',
  output: `${notInstalled}`,
});

/** Runs a program with a version of Node; it must say which Node it ran on, and at its end what is expected. */
function runOn(version, cwd, program, expected, args = [program]) {
  const node = run(cwd, 'npx', '--yes', '--package', `node@${version}`, 'node', ...args);
  const isComplete = node.said.includes(` on Node v${version}`) && expected.test(node.said);
  const where = cwd === withoutOptional ? ', without optional dependencies' : '';
  check(`node@${version} ${program}${where}`, { ...node, ok: node.ok && isComplete });
}

const RUN = ['run', '--app-id', 'smoke', '--state-path', './state'];

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const KEPT = /: kept order 1 over a restart$/;
const MISSING = /: driver-missing: .*npm install @photostructure\/sqlite@1\.2\.1", or use Node 22\.13 or later\.$/;
for (const version of NODES) {
  for (const program of ['smoke.mjs', 'smoke.cjs']) runOn(version, runtime, program, /stopped$/);
  for (const program of ['entries.mjs', 'entries.cjs']) runOn(version, runtime, program, /loaded \. \d+, /);
  const command = [...RUN, '--app-port', String(await freePort()), '--', 'node', 'cli-app.mjs'];
  runOn(version, runtime, 'insidecar run', /received$/, ['node_modules/insidecar/dist/cli/main.js', ...command]);
  const bringsSqlite = Number.parseInt(version, 10) >= 22;
  for (const program of ['embedded.mjs', 'embedded.cjs']) {
    runOn(version, runtime, program, KEPT);
    runOn(version, withoutOptional, program, bringsSqlite ? KEPT : MISSING);
  }
}

const { version: packed } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
const told = run(runtime, 'npx', 'insidecar', '--version');
check('npx insidecar --version', { ...told, ok: told.ok && told.said === packed });
const help = run(runtime, 'npx', 'insidecar', 'run', '--help');
check('npx insidecar run --help', { ...help, said: '', ok: help.ok && help.said.includes('--app-port') });
const byNpx = run(
  runtime,
  'npx',
  ...['insidecar', ...RUN, '--app-port', String(await freePort()), '--', 'node', 'cli-app.mjs'],
);
check('npx insidecar run', { ...byNpx, ok: byNpx.ok && /received$/.test(byNpx.said) });

const consumer = directory('consumer', ['consumer.mts']);
npmInstall(consumer, tarball, '@types/node@20', 'typescript@5.9');
const compilers = [
  ['5.9', join(consumer, 'node_modules/typescript/bin/tsc')],
  ['7', join(repository, 'node_modules/typescript/bin/tsc')],
];
const common = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
for (const [module, resolution] of [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
]) {
  const flags = ['--module', module, '--moduleResolution', resolution];
  for (const [version, tsc] of compilers)
    check(
      `TypeScript ${version}, moduleResolution ${resolution}, declarations checked`,
      run(consumer, process.execPath, tsc, ...common, ...flags, 'consumer.mts'),
    );
}

console.log(`package: ${results.passed} passed, ${results.failed} failed`);
if (results.failed > 0) process.exitCode = 1;
