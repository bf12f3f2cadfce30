import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** Runs an example to its end, which must be a good one, and returns what it prints. */
export function outputOf(name: string): string {
  const program = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
  const env = { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', program], {
    env,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}
