/** Runs the code of the documentation as it stands there. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { codeOf, RUNNER, start, startIn } from './code-of-docs.ts';

const PATIENCE = { timeout: 15_000 };
const README = readFileSync('README.md', 'utf8');

function codeWith(text: string, document = 'README.md'): string {
  const code = codeOf(document).find((block) => block.includes(text));
  if (code === undefined) throw new Error(`${document} has no code with ${text}`);
  return code;
}

test('the example that README.md opens with does what it says', async () => {
  const output = start('readme-example', codeWith('express.json').replace('3500', '0'));
  await expect.poll(output, PATIENCE).toContain('order 1, attempt 3');
  expect(output()).toContain('order 1, attempt 1\n');
  expect(output()).not.toContain('attempt 4');
});

test.each(['commonjs', 'module', undefined])(
  'the example that README.md opens with runs when pasted into a new folder, with "type": %j',
  async (type) => {
    const folder = await mkdtemp(join(tmpdir(), 'insidecar-readme-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'orders', version: '1.0.0', type }));
    await mkdir(join(folder, 'node_modules'));
    const installed = /^npm install (.+)$/m.exec(README)?.[1]?.split(' ') ?? [];
    expect(installed).toContain('insidecar');
    for (const name of installed) {
      const from = name === 'insidecar' ? '.' : join('node_modules', name);
      await symlink(resolve(from), join(folder, 'node_modules', name));
    }
    await writeFile(join(folder, 'orders.ts'), codeWith('express.json').replace('3500', '0'));
    const output = startIn(folder, ['--import', 'tsx', 'orders.ts']);
    await expect.poll(output, PATIENCE).toContain('order 1, attempt 3');
  },
);

test('the example of docs/pubsub.md that keeps messages on disk runs', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-readme-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const output = start(
    'readme-durable',
    codeWith('import { durablePubSub', 'docs/pubsub.md').replace('./.insidecar', path),
  );
  await expect.poll(output, PATIENCE).toContain('exit code');
  expect(output()).toBe('order 1\n\nexit code 0');
});

test('the example of docs/jobs.md that defines a job runs it, every second instead of every night', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-readme-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const code = codeWith('defineJob(', 'docs/jobs.md')
    .replace('./.insidecar', path)
    .replace('0 30 2 * * *', '* * * * * *');
  const output = start('readme-jobs', code);
  await expect.poll(output, PATIENCE).toContain('report to accounts\nreport to accounts\n');
});

test('the blocks of README.md run', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-readme-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const names =
    'Actor, defineActivity, defineJob, defineWorkflow, durableLocks, durablePubSub, environmentSecrets, keyValueStore, memoryConfiguration, Sidecar';
  const imports = `import { ${names} } from 'insidecar';\nimport { embeddedState } from 'insidecar/embedded';\n`;
  const blocks = codeOf('README.md', '## The blocks').join('').replace('./.insidecar', path);
  const [cart = ''] = /^class Cart.*?register\(Cart\);/ms.exec(blocks) ?? [];
  const started = blocks
    .replace(cart, '')
    .replace('await sidecar.pubsub.subscribe', `${cart}\nawait sidecar.start();\nawait sidecar.pubsub.subscribe`);
  const shown = `console.log(receipt);
console.log((await sidecar.state.get('store', 'count'))?.value, secret, level?.value, lock !== undefined);
console.log(await sidecar.actors.state('Cart', 'alice'));
`;
  const environment = { ORDERS_DB_PASSWORD: 'open sesame' };
  const output = start('readme-blocks', `${imports}${started}${shown}await sidecar.stop();\n`, environment);
  await expect.poll(output, PATIENCE).toContain('exit code');
  expect(output()).toContain(
    "1\nreceipt of order 1\n1 { DB_PASSWORD: 'open sesame' } info true\nMap(1) { 'state' => { items: [ 'book' ] } }\n",
  );
  expect(output()).toContain('exit code 0');
});

test('the test of two hours that docs/testing.md shows passes', async () => {
  const output = start('readme-test', RUNNER + codeWith("test('RETRY three times", 'docs/testing.md'));
  await expect.poll(output, PATIENCE).toContain('exit code');
  expect(output()).toContain('pass 1');
  expect(output()).toContain('exit code 0');
});

test('the recipes of docs/testing.md pass', async () => {
  const recipes = codeOf('docs/testing.md', '## Recipes');
  const imports = `import { defineActivity, defineJob, defineWorkflow, memoryPubSub, Sidecar } from 'insidecar';\nimport { virtualClock } from 'insidecar/testing';\n`;
  const output = start('recipes', RUNNER + imports + recipes.join('\n'));
  await expect.poll(output, PATIENCE).toContain('exit code');
  expect(recipes.length).toBe(6);
  expect(output()).toContain(`pass ${recipes.length}`);
  expect(output()).toContain('exit code 0');
});
