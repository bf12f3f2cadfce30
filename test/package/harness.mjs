// What the parts of the package test share: the packed tarball, directories with it installed, and a count of checks.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Every Node version that must work: the oldest, each line that is maintained, and the newest. */
export const NODES = ['20.19.0', '20', '22', '24', '26'];

/** For one command. */
const MAX_SECONDS = '180';
const here = fileURLToPath(new URL('.', import.meta.url));
export const repository = join(here, '../..');
const place = mkdtempSync(join(tmpdir(), 'insidecar-package-'));
process.on('exit', () => rmSync(place, { recursive: true, force: true }));

export const results = { passed: 0, failed: 0, untested: [] };

/** Runs a program and answers with how it ended and what it said. */
export function run(cwd, command, ...args) {
  const env = { ...process.env, NODE_ENV: '', NODE_OPTIONS: '', FORCE_COLOR: '0', NO_COLOR: '1' };
  const within = [join(here, 'within.mjs'), MAX_SECONDS, command, ...args];
  const { status, error, stdout, stderr } = spawnSync(process.execPath, within, { cwd, env, encoding: 'utf8' });
  const said = (stdout ?? '').trim();
  return { ok: status === 0, said, output: `${said}\n${stderr ?? ''}${error ?? ''}`.trim() };
}

/** The same for what the registry is needed for: a download may stand still, of which npm never tires. */
function fetched(cwd, command, ...args) {
  const first = run(cwd, command, ...args);
  return first.ok ? first : run(cwd, command, ...args);
}

const on = (version) => ['--yes', '--package', `node@${version}`];
const fetches = new Map();

/** Whether the registry gives this version of Node. If it does not, that says nothing of the package. */
function hasNode(version) {
  if (!fetches.has(version)) {
    const { ok, output } = fetched(place, 'npx', ...on(version), 'node', '--version');
    fetches.set(version, ok);
    if (!ok) results.untested.push(version);
    if (!ok) console.log(`!!   NOT TESTED on node@${version}, which npm could not fetch:\n${output}`);
  }
  return fetches.get(version);
}

/** Those of `NODES` that can be had, or of `versions`. */
export function availableNodes(versions = NODES) {
  return versions.filter(hasNode);
}

/** The same on a version of Node, `npm` and `npx` included. */
export function runOn(version, cwd, command, ...args) {
  return run(cwd, 'npx', ...on(version), command, ...args);
}

export function must(what, { ok, output }) {
  if (!ok) throw new Error(`${what} failed:\n${output}`);
  return output;
}

export function check(what, { ok, said, output }) {
  results[ok ? 'passed' : 'failed']++;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}${ok && said !== '' ? `: ${said}` : ''}`);
  if (!ok) console.log(output.replaceAll(/^/gm, '     '));
}

/** A directory outside the repository, with files of this folder and others. */
export function directory(name, files, written = {}) {
  const path = join(place, name);
  mkdirSync(path);
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, private: true }));
  for (const file of files) copyFileSync(join(here, file), join(path, basename(file)));
  for (const [file, text] of Object.entries(written)) writeFileSync(join(path, file), text);
  return path;
}

/** An optional peer: state on disk on Node 20. */
export const SQLITE = '@photostructure/sqlite@1.2.1';

export function npmInstall(cwd, ...packages) {
  const args = ['install', '--no-audit', '--no-fund', '--silent', ...packages];
  must(`npm ${args.join(' ')}`, fetched(cwd, 'npm', ...args));
}

/** Packs the repository, once. */
export function packed() {
  const file = readdirSync(place).find((name) => name.endsWith('.tgz'));
  if (file !== undefined) return join(place, file);
  console.log(`packing ${repository}`);
  must('npm pack', run(repository, 'npm', 'pack', '--silent', '--pack-destination', place));
  return packed();
}
