import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/embedded-store.ts';

const run = promisify(execFile);
const CLI = new URL('../../dist/cli.cjs', import.meta.url).pathname;

async function completionOf(shell: string): Promise<string> {
  return (await run(process.execPath, [CLI, 'completion', shell])).stdout;
}

/** What a real bash offers after some words. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const path = join(temporaryDirectory(), 'completion.bash');
  const line = words.map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(insidecar ${line}); COMP_CWORD=${words.length}; _insidecar; printf '%s\\n' "\${COMPREPLY[@]}"`;
  await writeFile(path, `set -eu\n${await completionOf('bash')}\n${ask}\n`);
  const { stdout } = await run('bash', ['--norc', path]);
  return stdout.split('\n').filter((text) => text !== '');
}

describe('the completion of bash', () => {
  test.each<[words: string[], expected: string[]]>([
    [['r'], ['run']],
    [['migrate'], ['migrate-state']],
    [['run', '--app-po'], ['--app-port']],
    [['run', '--app-port', '3000', '--enable-app-h'], ['--enable-app-health-check']],
    [['jobs', 'sch'], ['schedule']],
    [['jobs', 'list', '--cur'], ['--cursor']],
    [['dead-letters', 'redeliver', '--al'], ['--all']],
    [['help', 'queu'], ['queues']],
    [['pub'], ['publish']],
    [['stop', '--run'], ['--run-file']],
    [
      ['invoke', '--da'],
      ['--data', '--data-file'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [['run', '--', 'r'], []],
    [['nonsense', 'li'], []],
  ])('after %j offers %j', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  test('has every command of the general help', async () => {
    const { stdout } = await run(process.execPath, [CLI, '--help']);
    const commands = new Set([...stdout.matchAll(/^ {2}insidecar ([a-z][a-z-]*)/gm)].map(([, name]) => name));
    expect(await offered('')).toEqual(expect.arrayContaining([...commands]));
  });

  test('does not offer flags of Dapr that do nothing here', async () => {
    expect(await offered('run', '--placement')).toEqual([]);
  });
});

describe('the completion of other shells', () => {
  test('of zsh is that of bash', async () => {
    const zsh = await completionOf('zsh');
    expect(zsh).toBe(`autoload -Uz bashcompinit && bashcompinit\n${await completionOf('bash')}`);
  });

  test('of fish has commands, actions and flags', async () => {
    const lines = (await completionOf('fish')).trim().split('\n');
    expect(lines.every((line) => line.startsWith("complete -c insidecar -n '"))).toBe(true);
    expect(lines).toContain("complete -c insidecar -n '__fish_use_subcommand' -f -a run");
    expect(lines).toContain("complete -c insidecar -n '__fish_seen_subcommand_from run' -l app-port");
  });

  test.each([[[]], [['tcsh']], [['bash', 'zsh']]])('of %j is refused, with those that there are', async (shells) => {
    await expect(run(process.execPath, [CLI, 'completion', ...shells])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected bash, zsh, fish'),
    });
  });
});
