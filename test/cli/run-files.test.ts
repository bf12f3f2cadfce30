import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { liveRuns, type RunInfo, runDirectories, writeRunFile } from '../../src/cli/inspector/run-files.ts';
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

/** A run of this process, which listens. */
async function runHere(): Promise<RunInfo> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const apps = [{ appId: 'orders', httpPort: 3500 }];
  return { pid: process.pid, directory: '/srv/shop', url: `http://127.0.0.1:${port}/`, token: 'secret', apps };
}

const isWindows = process.platform === 'win32';

test('a run is found as long as its file is there, which nobody else can read', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  const removeFile = writeRunFile(run, env);
  expect(liveRuns(env)).toEqual([run]);
  const directory = join(runtime, 'insidecar');
  const [name = ''] = await readdir(directory);
  expect((await lstat(join(directory, name))).mode & 0o777).toBe(0o600);
  expect((await lstat(directory)).mode & 0o777).toBe(0o700);
  removeFile?.();
  expect(await readdir(directory)).toEqual([]);
  expect(liveRuns(env)).toEqual([]);
});

test('the file of a process that is gone, or has not the port, is removed', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  writeRunFile(run, env);
  // No process has this number: it is above the limit of Linux.
  writeRunFile({ ...run, pid: 4_194_305 }, env);
  writeRunFile({ ...run, pid: process.ppid, url: 'http://127.0.0.1:1/' }, env);
  expect(liveRuns(env).filter(({ url }) => url !== 'http://127.0.0.1:1/')).toEqual([run]);
  const names = await readdir(join(runtime, 'insidecar'));
  expect(names).toContain(`${process.pid}.json`);
  expect(names).not.toContain('4194305.json');
  if (process.platform === 'linux') expect(names).toEqual([`${process.pid}.json`]);
});

test('a file that is no run is passed over', async () => {
  const { env, runtime } = await environment();
  const run = await runHere();
  writeRunFile(run, env);
  const broken = ['', '{', 'null', '1', { ...run, url: 'none' }, { ...run, apps: [null] }, { ...run, token: 1 }];
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
  const removeFile = writeRunFile(run, env);
  expect(await readdir(elsewhere)).toEqual([]);
  expect(liveRuns(env)).toEqual([run]);
  removeFile?.();

  const [, fallback = ''] = runDirectories(env);
  await writeFile(join(fallback, '1.json'), JSON.stringify(run), { mode: 0o644 });
  await writeFile(join(elsewhere, '2.json'), JSON.stringify(run), { mode: 0o600 });
  await symlink(join(elsewhere, '2.json'), join(fallback, '2.json'));
  expect(liveRuns(env)).toEqual([]);
  expect(JSON.parse(await readFile(join(fallback, '1.json'), 'utf8'))).toEqual(run);
});
