import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  liveRuns,
  type RunInfo,
  removeRunFile,
  runDirectories,
  runDirectory,
  writeRunFile as writeIn,
} from '../../src/cli/runs/run-files.ts';
import { temporaryDirectory } from './cli.ts';

/** Directories that no other run uses. */
async function environment(): Promise<{ env: NodeJS.ProcessEnv; runtime: string; fallback: string }> {
  const runtime = await temporaryDirectory();
  const temporary = await temporaryDirectory();
  vi.stubEnv('TMPDIR', temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [directory = '', fallback = ''] = runDirectories({ XDG_RUNTIME_DIR: runtime });
  expect(directory).toBe(join(runtime, 'insidecar'));
  return { env: { XDG_RUNTIME_DIR: runtime }, runtime, fallback };
}

function writeRunFile(run: RunInfo, env: NodeJS.ProcessEnv): void {
  writeIn(run, runDirectory(env) ?? '');
}

/** A run of this process, which listens. */
async function runHere(): Promise<RunInfo> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const apps = [{ appId: 'orders', httpPort: port, url: `http://127.0.0.1:${port}` }];
  const inspector = { url: 'http://127.0.0.1:4600/', token: 'secret' };
  return { pid: process.pid, directory: '/srv/shop', startedAt: '2026-08-04T10:00:00.000Z', inspector, apps };
}

const isWindows = process.platform === 'win32';

test('a run is found as long as its file is there, which nobody else can read', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  writeRunFile(run, env);
  expect(liveRuns(env)).toEqual([run]);
  const directory = join(runtime, 'insidecar');
  const [name = ''] = await readdir(directory);
  expect((await lstat(join(directory, name))).mode & 0o777).toBe(0o600);
  expect((await lstat(directory)).mode & 0o777).toBe(0o700);
  removeRunFile(run, directory);
  expect(await readdir(directory)).toEqual([]);
  expect(liveRuns(env)).toEqual([]);
});

test('the file of a process that is gone, or has not the port, is removed', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  writeRunFile(run, env);
  // No process has this number: it is above the limit of Linux.
  writeRunFile({ ...run, pid: 4_194_305 }, env);
  const apps = [{ appId: 'orders', httpPort: 1, url: 'http://127.0.0.1:1' }];
  writeRunFile({ ...run, pid: process.ppid, apps }, env);
  expect(liveRuns(env).filter(({ pid }) => pid !== process.ppid)).toEqual([run]);
  const names = await readdir(join(runtime, 'insidecar'));
  expect(names).toContain(`${process.pid}.json`);
  expect(names).not.toContain('4194305.json');
  if (process.platform === 'linux') expect(names).toEqual([`${process.pid}.json`]);
});

test('a file that is no run is passed over', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  writeRunFile(run, env);
  const { inspector } = run;
  const broken = [
    ...['', '{', 'null', '1', { ...run, apps: [null] }, { ...run, apps: [] }, { ...run, startedAt: 1 }],
    ...[
      { ...run, inspector: { ...inspector, url: 'none' } },
      { ...run, inspector: { ...inspector, token: 1 } },
    ],
    { ...run, apps: [{ appId: 'orders', httpPort: 3500, url: 'none' }] },
    // A signal to one of these would end more than a run.
    ...[0, -1, -run.pid].map((pid) => ({ ...run, pid })),
    { ...run, startedAt: 'never' },
  ];
  for (const [at, one] of broken.entries()) {
    const text = typeof one === 'string' ? one : JSON.stringify(one);
    await writeFile(join(runtime, 'insidecar', `${at + 1}.json`), text, { mode: 0o600 });
  }
  expect(liveRuns(env)).toEqual([run]);
});

test.skipIf(isWindows)('a directory that others may use is not used', async () => {
  const { env, runtime, fallback } = await environment();
  const run = await runHere();
  await mkdir(join(runtime, 'insidecar'));
  await chmod(runtime, 0o755);
  writeRunFile(run, env);
  expect(await readdir(fallback)).toEqual([`${process.pid}.json`]);
  expect(liveRuns(env)).toEqual([run]);
});

test.skipIf(isWindows)('a link in place of a directory, and files that others may read, are not used', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  const elsewhere = await temporaryDirectory();
  await symlink(elsewhere, join(runtime, 'insidecar'));
  writeRunFile(run, env);
  expect(await readdir(elsewhere)).toEqual([]);
  expect(liveRuns(env)).toEqual([run]);

  const [, fallback = ''] = runDirectories(env);
  removeRunFile(run, fallback);
  await writeFile(join(fallback, '1.json'), JSON.stringify(run), { mode: 0o644 });
  await writeFile(join(elsewhere, '2.json'), JSON.stringify(run), { mode: 0o600 });
  await symlink(join(elsewhere, '2.json'), join(fallback, '2.json'));
  expect(liveRuns(env)).toEqual([]);
  expect(JSON.parse(await readFile(join(fallback, '1.json'), 'utf8'))).toEqual(run);
});
