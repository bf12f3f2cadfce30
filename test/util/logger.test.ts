import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const logger = fileURLToPath(new URL('../../src/util/logger.ts', import.meta.url));

test('every line of the default logger is JSON', () => {
  const code = `
    import { standardErrorLogger as log } from ${JSON.stringify(logger)};
    log.warn({ topic: 'a\\nb', error: new Error('no', { cause: new TypeError('why') }) }, 'first');
    log.error({ id: 1n, name: 'report' }, 'second');
    log.info({}, 'not shown');
  `;
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { level: 'warn', logger: 'insidecar', message: 'first', topic: 'a\nb', error: { message: 'no' } },
    { level: 'error', logger: 'insidecar', message: 'second' },
  ]);
  expect(lines[0].time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});
