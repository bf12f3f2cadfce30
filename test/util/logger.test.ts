import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';

const logger = fileURLToPath(new URL('../../src/util/logger.ts', import.meta.url));

test('every line of the default logger is JSON', () => {
  const code = `
    import { standardErrorLogger } from ${JSON.stringify(logger)};
    const log = standardErrorLogger({ appId: 'shop', traceFields: () => ({ trace_id: 'abc' }) });
    log.warn({ topic: 'a\\nb', error: new Error('no', { cause: new TypeError('why') }) }, 'first');
    log.error({ id: 1n, name: 'report' }, 'second');
    log.error({ msg: 'mine', time: 'never', type: 'mine' }, 'third');
    log.info({}, 'not shown');
  `;
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const head = {
    type: 'log',
    scope: 'insidecar',
    app_id: 'shop',
    instance: hostname(),
    ver: VERSION,
    time: lines[0].time,
  };
  expect(lines).toMatchObject([
    { ...head, level: 'warn', msg: 'first', trace_id: 'abc', topic: 'a\nb', error: { message: 'no' } },
    { level: 'error', msg: 'second' },
    // Details do not replace what every line has.
    { level: 'error', msg: 'third', type: 'log', time: expect.stringMatching(/Z$/) },
  ]);
  expect(lines[0].time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('on a terminal, the default logger writes readable lines, with the stacks of errors below', () => {
  const code = `
    import { standardErrorLogger } from ${JSON.stringify(logger)};
    const log = standardErrorLogger({ appId: 'shop', traceFields: () => ({ trace_id: 'abc' }) });
    process.stderr.isTTY = true;
    log.warn({ topic: 'a\\u001b[31mb c', reason: undefined }, 'first');
    log.error({ error: new Error('no', { cause: new TypeError('why') }) }, 'second');
  `;
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  const [first, second, third, ...rest] = stderr.split('\n');
  expect(first).toMatch(/^insidecar \| \d\d:\d\d:\d\d warn {2}first trace_id=abc topic="a\\u001b\[31mb c"$/);
  expect(second).toMatch(/^insidecar \| \d\d:\d\d:\d\d error second trace_id=abc error=no$/);
  expect(third).toBe('    Error: no');
  expect(rest.join('\n')).toMatch(/ {4}caused by\n {4}TypeError: why\n {8}at /);
});
