import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const example = fileURLToPath(new URL('../../examples/cluster.ts', import.meta.url));

test('cluster.ts: four workers share a directory; two are killed, and nothing is lost', () => {
  const env = { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' };
  // A worker may log that another one, which has just been killed, does not answer.
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', example], {
    env,
    encoding: 'utf8',
  });
  expect(stdout, stderr).toMatch(/^4 workers on one port and one directory, which worker \d holds$/m);
  expect(stdout).toMatch(/^order 25: killed worker \d, another worker$/m);
  expect(stdout).toMatch(/^order 50: killed worker \d, the holder of the directory$/m);
  expect(stdout).toMatch(/^100 orders were taken, by [2-6] workers$/m);
  for (const what of ['message', 'job', 'workflow']) expect(stdout, stderr).toContain(`100 of 100 ${what}s are done, `);
  expect(status).toBe(0);
}, 180_000);
