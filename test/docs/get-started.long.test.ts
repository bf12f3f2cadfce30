/** docs/get-started.md, followed by its words alone in an empty folder: each program prints what the page says. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startIn } from './code-of-docs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/get-started.md'), 'utf8');

interface Step {
  readonly title: string;
  readonly files: readonly { readonly name: string; readonly code: string }[];
  readonly commands: readonly string[];
  readonly printed: readonly string[];
}

function stepOf(section: string): Step {
  const [title = ''] = section.split('\n');
  const blocks = (language: string) =>
    [...section.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].flatMap(([, text = '']) =>
      text.trimEnd().split('\n'),
    );
  const files = [...section.matchAll(/`([\w.]+\.mts)`:\n\n```ts\n(.*?)```/gs)].map(([, name = '', code = '']) => ({
    name,
    code,
  }));
  return { title, files, commands: blocks('sh'), printed: blocks('text') };
}

const steps = page.split(/^## /m).slice(1).map(stepOf);

/** An empty folder in which `npm install insidecar tsx` has been run: the packages are those of this repository. */
function folder(): string {
  const cwd = mkdtempSync(join(tmpdir(), 'insidecar-start-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(cwd, 'package.json'), '{ "name": "shop", "version": "1.0.0" }');
  symlinkSync(root, join(cwd, 'node_modules/insidecar'));
  symlinkSync(join(root, 'node_modules/tsx'), join(cwd, 'node_modules/tsx'));
  symlinkSync('../tsx/dist/cli.mjs', join(cwd, 'node_modules/.bin/tsx'));
  return cwd;
}

const run = steps.filter(({ commands }) => commands.some((command) => command.startsWith('npx tsx')));

test('the page has steps that are run', () => {
  expect(run.map(({ title }) => title)).toEqual(['A message', 'A failure', 'A crash', 'A job', 'A workflow', 'A test']);
  expect(steps.filter(({ files }) => files.length > 0)).toHaveLength(run.length + 1);
});

test.each(run)('$title', { timeout: 60_000 }, ({ files, commands, printed }) => {
  const cwd = folder();
  for (const { name, code } of files) writeFileSync(join(cwd, name), code);
  const output = execFileSync('sh', ['-ec', commands.join('\n')], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '', NODE_TEST_CONTEXT: '' },
    timeout: 50_000,
  });
  expect(output.split('\n').filter((line) => printed.includes(line))).toEqual(printed);
});

test('Over HTTP', async () => {
  const cwd = folder();
  const { files, commands } = steps.find(({ title }) => title === 'Over HTTP')!;
  // A port of its own, which it prints.
  const listening = "server.once('listening', () => console.log('port', (server.address() as any).port));";
  for (const { name, code } of files)
    writeFileSync(
      join(cwd, name),
      code.replace('3500', '0').replace('await runUntilSignal', `${listening}\nawait runUntilSignal`),
    );
  const output = startIn(cwd, ['--import', 'tsx', 'serve.mts']);
  await expect.poll(output).toMatch(/port \d+/);
  const [, port = ''] = /port (\d+)/.exec(output()) ?? [];
  execFileSync('sh', ['-ec', commands.join('\n').replace('3500', port)], { stdio: 'ignore' });
  await expect.poll(output).toContain('order 2 arrived');
});
