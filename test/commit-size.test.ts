import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { largeCommits } from '../tools/commit-size.mjs';

let repository: string;

beforeAll(async () => {
  repository = await mkdtemp(join(tmpdir(), 'insidecar-commits-'));
  git('init', '--quiet');
  await commit('marks generated files', { '.gitattributes': 'made/** linguist-generated\n' });
});

afterAll(() => rm(repository, { recursive: true }));

function git(...args: readonly string[]): void {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  execFileSync('git', [...who, ...args], { cwd: repository });
}

async function commit(title: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(join(repository, file)), { recursive: true });
    await writeFile(join(repository, file), content);
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', title);
}

const found = (): readonly unknown[] =>
  largeCommits(repository, ['-n', '1', 'HEAD'], 10).map(({ title, lines }) => [title.replace(/^\w+ /, ''), lines]);

const lines = (count: number): string => 'line\n'.repeat(count);

test('a commit of more lines than allowed is found, with their number', async () => {
  await commit('is large', { 'a file.ts': lines(6), 'b/"quoted".ts': lines(5) });
  expect(found()).toEqual([['is large', 11]]);
});

test('a commit of as many lines as allowed is not', async () => {
  await commit('is small', { 'c.ts': lines(10) });
  expect(found()).toEqual([]);
});

test('generated and binary files do not count', async () => {
  await commit('is generated', { 'made/list.json': lines(50), 'picture.png': new Uint8Array(4_000), 'd.ts': lines(3) });
  expect(found()).toEqual([]);
});

test('a renamed file counts with its changed lines only', async () => {
  await commit('adds', { 'e.ts': lines(40) });
  await rename(join(repository, 'e.ts'), join(repository, 'f.ts'));
  await commit('renames', { 'f.ts': `${lines(40)}more\n` });
  expect(found()).toEqual([]);
});
