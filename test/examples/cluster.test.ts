import { expect, test } from 'vitest';
import { outputOf } from './output-of.ts';

test('cluster.ts: four workers share a directory; two are killed, and nothing is lost', () => {
  const output = outputOf('cluster.ts');
  expect(output).toMatch(/^4 workers on one port and one directory, which worker \d holds$/m);
  expect(output).toMatch(/^order 25: killed worker \d, another worker$/m);
  expect(output).toMatch(/^order 50: killed worker \d, the holder of the directory$/m);
  expect(output).toMatch(/^100 orders were taken, by [3-6] workers$/m);
  for (const what of ['message', 'job', 'workflow']) expect(output).toContain(`100 of 100 ${what}s are done, `);
}, 180_000);
