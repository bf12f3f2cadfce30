/**
 * What a sidecar costs before it does anything: size, time to start, memory when idle. See README.md.
 *
 * Usage: `npx tsx bench/start.ts [--quick] [--rounds n] [--install]`; `--install` also measures an installation.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, printTable, spread } from './support/stats.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    install: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(values.rounds ?? (values.quick ? 5 : 15));
const AIM_MS = 150;
const AIM_MEBIBYTES = 60;
const IDLE_MS = 500;
const MEBIBYTE = 1024 * 1024;

const root = fileURLToPath(new URL('../', import.meta.url));
const moduleOf = (path: string): string => JSON.stringify(new URL(`../dist/${path}`, import.meta.url).href);

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
    ${make === '' ? '' : `const { Sidecar, memoryPubSub, nodeListener } = await import(${moduleOf('index.mjs')});`}
    ${make.includes('embedded(') ? `const { embedded } = await import(${moduleOf('embedded.mjs')});` : ''}
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

function measure(make: string): Measured {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', programOf(make)], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' },
  });
  if (stdout === '') throw new Error(`nothing was measured: was it built? ${stderr}`);
  return JSON.parse(stdout) as Measured;
}

/** The command: until it says that its sidecar is up, then idle. */
async function measureCommand(): Promise<{ readonly upMs: number; readonly rssMebibytes: number }> {
  const main = join(root, 'dist/cli.cjs');
  const begun = performance.now();
  const child = spawn(process.execPath, [main, 'run', '--app-id', 'bench', '--http-port', '3599', '--log-json=false'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  for await (const chunk of child.stderr) {
    said += chunk;
    if (said.includes('sidecar at')) break;
  }
  const upMs = performance.now() - begun;
  await new Promise((go) => setTimeout(go, IDLE_MS));
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { upMs, rssMebibytes: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024 };
}

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
  for (const omit of ['', '--omit=optional']) {
    rmSync(join(place, 'node_modules'), { recursive: true, force: true });
    const args = ['install', '--no-audit', '--no-fund', '--silent', '--no-package-lock', ...(omit ? [omit] : [])];
    execFileSync('npm', [...args, join(place, filename)], { cwd: place });
    const modules = join(place, 'node_modules');
    const top = readdirSync(modules).filter((name) => !name.startsWith('.'));
    const what = omit === '' ? 'installed' : 'installed without optional dependencies';
    console.log(`${what}: ${mebibytes(sizeOf(modules))} with everything that it needs`);
    const sizes = top.map((name) => [name, sizeOf(join(modules, name))] as const).sort((a, b) => b[1] - a[1]);
    console.log(
      `  ${sizes
        .slice(0, 6)
        .map(([name, size]) => `${name} ${mebibytes(size)}`)
        .join(', ')}`,
    );
  }
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
      make: `${sidecarWith('')} const { createServer } = await import('node:http'); createServer(nodeListener(sidecar)).listen(0, '127.0.0.1');`,
    },
    { label: 'and an application on a port', make: sidecarWith(`, app: { port: ${port} }`) },
    {
      label: 'and state on disk',
      make: sidecarWith(`, state: embedded({ path: ${JSON.stringify(join(place, 'state'))} })`),
    },
  ].map((entrant) => ({ ...entrant, results: [] as Measured[] }));
  const command: Awaited<ReturnType<typeof measureCommand>>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const { make, results } of entrants) results.push(measure(make));
    if (process.platform === 'linux') command.push(await measureCommand());
  }
  helper.kill();

  printSizes(place);
  console.log(`\nNode ${process.version}, ${ROUNDS} processes each: median [least..most]\n`);
  printTable(
    ['', 'import ms', 'start() ms', 'both ms', 'both, CPU ms', 'idle, MiB resident'],
    entrants.map(({ label, results }) => [
      label,
      spread(
        results.map(({ importMs }) => importMs),
        0,
      ),
      spread(
        results.map(({ startMs }) => startMs),
        0,
      ),
      spread(
        results.map(({ importMs, startMs }) => importMs + startMs),
        0,
      ),
      spread(
        results.map(({ cpuMs }) => cpuMs),
        0,
      ),
      spread(
        results.map(({ rssMebibytes }) => rssMebibytes),
        1,
      ),
    ]),
  );
  if (command.length > 0)
    console.log(
      `\ninsidecar run, from its start to a sidecar that is up: ${spread(
        command.map(({ upMs }) => upMs),
        0,
      )} ms; idle ${spread(
        command.map(({ rssMebibytes }) => rssMebibytes),
        1,
      )} MiB`,
    );
  const measured = entrants[1]?.results ?? [];
  const both = median(measured.map(({ importMs, startMs }) => importMs + startMs));
  const rss = median(measured.map(({ rssMebibytes }) => rssMebibytes));
  console.log(
    `\nAim: less than ${AIM_MS} ms (${both.toFixed(0)}), less than ${AIM_MEBIBYTES} MiB (${rss.toFixed(1)}).`,
  );
}

const place = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
try {
  await main(place);
} finally {
  rmSync(place, { recursive: true });
}
