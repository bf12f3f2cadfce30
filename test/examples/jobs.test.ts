import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { virtualClock } from 'insidecar/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openShop } from '../../examples/jobs/shop.ts';

test('a month of the shop: 31 reports by the clock of Rome, one reminder, webhooks that are tried again', async () => {
  const clock = virtualClock({ startAt: '2026-03-01T00:00:00Z' });
  const lines: string[] = [];
  const sidecar = await openShop(clock, (line) => lines.push(line));
  onTestFinished(() => sidecar.stop());
  await clock.advance('744h');
  const reports = lines.filter((line) => line.endsWith('report to accounts'));
  expect(reports.length).toBe(31);
  expect([reports[0], reports.at(-1)]).toEqual([
    '2026-03-01 01:30 report to accounts',
    '2026-03-31 00:30 report to accounts',
  ]);
  // In the night of the time change the clocks of Rome show no 2:30: the report comes as they show 3:00.
  expect(reports).toContain('2026-03-29 01:00 report to accounts');
  expect(lines.filter((line) => !reports.includes(line))).toEqual([
    '2026-03-01 01:00 /job/webhook-paid with {"order":4711}: answering 503',
    '2026-03-01 01:10 /job/webhook-paid with {"order":4711}: answering 503',
    '2026-03-01 01:10 webhook-paid given up after 2 attempts',
    '2026-03-01 02:00 /job/webhook-shipped with {"order":4711}: answering 503',
    '2026-03-01 02:10 /job/webhook-shipped with {"order":4711}: answering 204',
    '2026-03-04 00:00 reminder-4711: invoice 4711 is due',
  ]);
});

test('jobs.ts runs and ends by itself', () => {
  const program = fileURLToPath(new URL('../../examples/jobs.ts', import.meta.url));
  const env = { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' };
  const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', program], { env, encoding: 'utf8' });
  expect(stdout).toContain('2026-04-01: the next report is {');
  expect(status).toBe(0);
});
