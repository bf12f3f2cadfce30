import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStore, temporaryDirectory } from '../../support/embedded-store.ts';

const script = fileURLToPath(new URL('./store-child.mjs', import.meta.url));
const engineScript = fileURLToPath(new URL('./engine-child.ts', import.meta.url));

interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

function start(mode: string, path: string, nodeOptions: readonly string[] = []): Child {
  return startNode([...nodeOptions, script, mode, path]);
}

function startNode(args: readonly string[]): Child {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }) as Awaited<Child['ended']>);
  return { process: child, lines, ended };
}

test('a killed process loses nothing that was acknowledged and tears no batch; its lock is no obstacle', async () => {
  const path = temporaryDirectory();
  const acknowledged = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const child = start('write', path);
    await expect.poll(() => child.lines.length, { timeout: 10_000 }).toBeGreaterThan(100 * (round + 1));
    child.process.kill('SIGKILL');
    await child.ended;
    for (const line of child.lines.slice(1)) acknowledged.add(line);
    const store = await openStore(path);
    const keys = new Set((await store.scan({ from: '' })).map((entry) => entry.key));
    for (const key of acknowledged) expect(keys.has(`a!${key}`), `${key} is lost`).toBe(true);
    for (const key of keys)
      expect(keys.has(`${key.startsWith('a') ? 'b' : 'a'}${key.slice(1)}`), `${key} is torn`).toBe(true);
    await store.close();
  }
});

test('a second process is refused, and told which process has the directory for itself', async () => {
  const path = temporaryDirectory();
  const holder = startNode([script, 'hold', path, 'exclusive']);
  await expect.poll(() => holder.lines, { timeout: 10_000 }).toEqual(['open']);
  const second = start('hold', path);
  const third = startNode([script, 'hold', path, 'exclusive']);
  const refused = `in-use: The state directory ${JSON.stringify(path)} is in use by process ${holder.process.pid} since`;
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.lines.join()).toContain(refused);
  expect(second.lines.join()).toContain('It has it for itself (option "exclusive"');
  expect(await third.ended).toEqual({ code: 1, signal: null });
  expect(third.lines.join()).toContain(refused);
  expect(third.lines.join()).toContain('One process at a time can have it open');
  holder.process.kill('SIGKILL');
  await holder.ended;
  await openStore(path);
});

test('a process of another container is named with its host, although it has the ID of this one', async () => {
  const path = temporaryDirectory();
  const holder = startNode([script, 'hold', path, 'exclusive']);
  await expect.poll(() => holder.lines, { timeout: 10_000 }).toEqual(['open']);
  const written = { pid: process.pid, since: 'noon', isOpen: true, host: 'other' };
  writeFileSync(join(path, 'holder.json'), JSON.stringify(written));
  await expect(openStore(path)).rejects.toMatchObject({
    kind: 'in-use',
    message: expect.stringContaining(` is in use by process ${process.pid} on host other since noon. `),
  });
});

test('the same process is refused as well, and the first store keeps its lock', async () => {
  const path = temporaryDirectory();
  await openStore(path);
  await expect(openStore(path)).rejects.toMatchObject({
    kind: 'in-use',
    message: expect.stringMatching(/already open in this process/),
  });
  const other = start('hold', path);
  expect((await other.ended).code).toBe(1);
});

test('an open store does not keep a process alive, and one that just ends loses nothing', async () => {
  const path = temporaryDirectory();
  expect(await start('end', path).ended).toEqual({ code: 0, signal: null });
  const store = await openStore(path);
  expect(await store.get('a')).toBeDefined();
});

test('process.exit() while commits are being written is no crash', async () => {
  const path = temporaryDirectory();
  expect(await start('exit', path).ended).toEqual({ code: 7, signal: null });
  const store = await openStore(path);
  expect(await store.get('last')).toBeDefined();
});

test('process.exit() with many stores open closes each of them, without a warning', async () => {
  const path = temporaryDirectory();
  const child = start('exitWithMany', path);
  expect(await child.ended).toEqual({ code: 7, signal: null });
  expect(child.lines).toEqual(['open']);
  for (const name of ['.', ...Array.from({ length: 12 }, (_, number) => String(number))]) {
    const holder = JSON.parse(readFileSync(join(path, name, 'holder.json'), 'utf8')) as object;
    expect(holder).toMatchObject({ pid: child.process.pid, isOpen: false });
  }
});

const COLLECTING = ['--expose-gc', '--gc-interval=1000'];

test('garbage collection at any moment breaks nothing', async () => {
  expect(await start('gc', temporaryDirectory(), COLLECTING).ended).toEqual({ code: 0, signal: null });
});

test('garbage collection between any two calls of the engine breaks nothing', async () => {
  // Bundled, because a loader's own garbage would take most of the time.
  const file = join(temporaryDirectory(), 'engine.cjs');
  await build({ input: engineScript, platform: 'node', output: { file, format: 'cjs', dynamicImportInCjs: false } });
  vi.stubEnv('NODE_PATH', join(process.cwd(), 'node_modules'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const child = startNode([...COLLECTING, file, temporaryDirectory()]);
  expect(await child.ended).toEqual({ code: 0, signal: null });
});
