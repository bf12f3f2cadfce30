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

test('on a terminal, the default logger writes readable lines, with the stacks of errors below', () => {
  const code = `
    import { standardErrorLogger as log } from ${JSON.stringify(logger)};
    process.stderr.isTTY = true;
    log.warn({ topic: 'a\\u001b[31mb c', reason: undefined }, 'first');
    log.error({ error: new Error('no', { cause: new TypeError('why') }) }, 'second');
  `;
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  const [first, second, third, ...rest] = stderr.split('\n');
  expect(first).toMatch(/^insidecar \| \d\d:\d\d:\d\d warn {2}first topic="a\\u001b\[31mb c"$/);
  expect(second).toMatch(/^insidecar \| \d\d:\d\d:\d\d error second error=no$/);
  expect(third).toBe('    Error: no');
  expect(rest.join('\n')).toMatch(/ {4}caused by\n {4}TypeError: why\n {8}at /);
});
