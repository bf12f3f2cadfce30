/**
 * What a sidecar costs before it does anything: size, time to start, memory when idle. See README.md.
 *
 * Usage: `npx tsx bench/start.ts [--quick] [--rounds n] [--node 20 --node 22 …] [--install]`; `--node` measures on other
 * lines of Node, which npm brings; `--install` also measures an installation.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeComponentFile } from './support/component-file.ts';
import { residentMebibytes } from './support/resident.ts';
import { median, printTable, spread } from './support/stats.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    install: { type: 'boolean', default: false },
    node: { type: 'string', multiple: true },
  },
});
const ROUNDS = Number(values.rounds ?? (values.quick ? 5 : 15));
const AIM = { cpuMs: 80, mebibytes: 50, commandMs: 120, commandMebibytes: 55 };
const IDLE_MS = 500;
const MEBIBYTE = 1024 * 1024;

const root = fileURLToPath(new URL('../', import.meta.url));
const moduleOf = (path: string): string => JSON.stringify(new URL(`../dist/${path}`, import.meta.url).href);

/** Without the certificates of the machine that Node 20 reads at each start (40 ms for Debian's), and without options. */
const ENVIRONMENT: NodeJS.ProcessEnv = { ...process.env, NODE_EXTRA_CA_CERTS: undefined, NODE_OPTIONS: undefined };

interface Measured {
  readonly importMs: number;
  readonly startMs: number;
  readonly cpuMs: number;
  readonly rssMebibytes: number;
}

/** A program without a loader in front: what users run. */
function programOf(make: string): string {
  return `
    const before = process.cpuUsage();
    const begun = performance.now();
    ${make === '' ? '' : `const { Sidecar, memoryPubSub, nodeHandler } = await import(${moduleOf('index.mjs')});`}
    ${make.includes('embeddedState(') ? `const { embeddedState } = await import(${moduleOf('embedded.mjs')});` : ''}
    const imported = performance.now();
    ${make}
    const started = performance.now();
    const { user, system } = process.cpuUsage(before);
    setTimeout(() => {
      const rssMebibytes = process.memoryUsage.rss() / ${MEBIBYTE};
      console.log(JSON.stringify({ importMs: imported - begun, startMs: started - imported, cpuMs: (user + system) / 1000, rssMebibytes }));
      process.exit();
    }, ${IDLE_MS});`;
}

function sidecarWith(more: string): string {
  return `const sidecar = new Sidecar({ appId: 'bench', components: [memoryPubSub('pubsub')]${more} }); await sidecar.start();`;
}

/** The program of a line of Node, such as `22`. */
function nodeOf(line: string): string {
  const args = ['--yes', '--package', `node@${line}`, 'node', '-p', 'process.execPath'];
  return execFileSync('npx', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function measure(node: string, make: string): Measured {
  const { stdout, stderr } = spawnSync(node, ['--input-type=module', '-e', programOf(make)], {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, NODE_ENV: 'production' },
  });
  if (stdout === '') throw new Error(`nothing was measured: was it built? ${stderr}`);
  return JSON.parse(stdout) as Measured;
}

interface MeasuredCommand {
  readonly upMs: number;
  readonly cpuMs: number;
  readonly rssMebibytes: number;
}

/** A program until it says something on its standard error output, then idle. */
async function measureCommand(node: string, args: readonly string[], expected: string): Promise<MeasuredCommand> {
  const begun = performance.now();
  const child = spawn(node, args, { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  for await (const chunk of child.stderr) {
    said += chunk;
    if (said.includes(expected)) break;
  }
  const upMs = performance.now() - begun;
  const cpuMs = cpuMsOf(child.pid ?? 0);
  await new Promise((go) => setTimeout(go, IDLE_MS));
  const rssMebibytes = residentMebibytes(child.pid ?? 0);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { upMs, cpuMs, rssMebibytes };
}

/** The CPU time of all threads of a process. */
function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1_000_000;
}

const COMMAND = [join(root, 'dist/cli.cjs'), 'run', '--app-id', 'bench', '--http-port', '3599'];
const ALONE = ['-e', "console.error('up'); setTimeout(() => undefined, 60_000)"];

function sizeOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function printSizes(place: string): void {
  const packed = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', place], {
    cwd: root,
    encoding: 'utf8',
  });
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(packed) as [
    { filename: string; size: number; unpackedSize: number; entryCount: number },
  ];
  const mebibytes = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(2)} MiB`;
  console.log(`package: ${mebibytes(size)} packed, ${mebibytes(unpackedSize)} unpacked, ${entryCount} files`);
  if (!values.install) return;
  writeFileSync(join(place, 'package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', '--no-package-lock', join(place, filename)], {
    cwd: place,
  });
  const modules = join(place, 'node_modules');
  const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
  const sizes = names.map((name) => [name, sizeOf(join(modules, name))] as const).sort((a, b) => b[1] - a[1]);
  const largest = sizes.slice(0, 6).map(([name, bytes]) => `${name} ${mebibytes(bytes)}`);
  console.log(`installed: ${mebibytes(sizeOf(modules))} with everything that it needs\n  ${largest.join(', ')}`);
}

async function main(place: string): Promise<void> {
  // In a process of its own, so that it answers while this one waits for the measured one.
  const helper = spawn(process.execPath, [
    '-e',
    `require('http').createServer((q, s) => s.writeHead(404).end()).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`,
  ]);
  const [line] = (await once(helper.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const entrants = [
    { label: 'Node alone', make: '' },
    { label: 'sidecar, nothing called yet', make: sidecarWith('') },
    {
      label: 'and its HTTP API on a port',
      make: `${sidecarWith('')} const { createServer } = process.getBuiltinModule('node:http'); createServer(nodeHandler(sidecar)).listen(0, '127.0.0.1');`,
    },
    { label: 'and an application on a port', make: sidecarWith(`, app: { port: ${port} }`) },
    {
      label: 'and state on disk',
      make: sidecarWith(`, state: embeddedState({ path: ${JSON.stringify(join(place, 'state'))} })`),
    },
  ];
  printSizes(place);
  const resources = mkdtempSync(join(place, 'resources-'));
  writeComponentFile(resources, { name: 'pubsub', type: 'pubsub.in-memory' });
  for (const node of values.node?.map(nodeOf) ?? [process.execPath]) await measureOn(node, resources, entrants);
  helper.kill();
}

async function measureOn(
  node: string,
  place: string,
  kinds: readonly { readonly label: string; readonly make: string }[],
): Promise<void> {
  const entrants = kinds.map((kind) => ({ ...kind, results: [] as Measured[] }));
  const alone: MeasuredCommand[] = [];
  const command: MeasuredCommand[] = [];
  const withFile: MeasuredCommand[] = [];
  const shared: MeasuredCommand[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const { make, results } of entrants) results.push(measure(node, make));
    if (process.platform !== 'linux') continue;
    alone.push(await measureCommand(node, ALONE, 'up'));
    const isolated = [...COMMAND, '--isolated'];
    command.push(await measureCommand(node, [...isolated, '--log-json=false'], 'sidecar at'));
    withFile.push(await measureCommand(node, [...isolated, '--log-json', '--resources-path', place], 'sidecar at'));
    shared.push(await measureCommand(node, [...COMMAND, '--log-json=false'], 'sidecar at'));
  }
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  console.log(`\nNode ${version}, ${ROUNDS} processes each: median [least..most]\n`);
  const cell = <T>(results: readonly T[], value: (one: T) => number, digits = 0): string =>
    spread(results.map(value), digits);
  printTable(
    ['', 'import ms', 'start() ms', 'both ms', 'both, CPU ms', 'idle, MiB resident'],
    entrants.map(({ label, results }) => [
      label,
      cell(results, ({ importMs }) => importMs),
      cell(results, ({ startMs }) => startMs),
      cell(results, ({ importMs, startMs }) => importMs + startMs),
      cell(results, ({ cpuMs }) => cpuMs),
      cell(results, ({ rssMebibytes }) => rssMebibytes, 1),
    ]),
  );
  const middle = <T>(results: readonly T[], value: (one: T) => number): number => median(results.map(value));
  const measured = entrants[1]?.results ?? [];
  console.log(
    `\nAim: import and start() under ${AIM.cpuMs} ms CPU: ${middle(measured, (one) => one.cpuMs).toFixed(0)}; ` +
      `idle under ${AIM.mebibytes} MiB: ${middle(measured, (one) => one.rssMebibytes).toFixed(1)}.`,
  );
  if (command.length === 0) return;
  console.log();
  printTable(
    ['from the start of the process', 'ready ms', 'CPU ms', 'idle, MiB resident'],
    [
      { label: 'Node alone', results: alone },
      { label: 'insidecar run --isolated', results: command },
      { label: '… with a component file, and its log in JSON', results: withFile },
      { label: 'insidecar run, which shares its state', results: shared },
    ].map(({ label, results }) => [
      label,
      cell(results, ({ upMs }) => upMs),
      cell(results, ({ cpuMs }) => cpuMs),
      cell(results, ({ rssMebibytes }) => rssMebibytes, 1),
    ]),
  );
  console.log(
    `\nAim: ready in under ${AIM.commandMs} ms: ${middle(command, (one) => one.upMs).toFixed(0)}; ` +
      `idle under ${AIM.commandMebibytes} MiB: ${middle(command, (one) => one.rssMebibytes).toFixed(1)}.`,
  );
}

const place = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
// Other commands of this user share nothing with those that are measured.
ENVIRONMENT['XDG_RUNTIME_DIR'] = place;
try {
  await main(place);
} finally {
  rmSync(place, { recursive: true });
}
