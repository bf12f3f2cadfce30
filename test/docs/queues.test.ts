/** Runs the program of docs/migrating-from-queues.md, with a clock that it is given, for four days. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { codeOf, start } from './code-of-docs.ts';

const BEFORE = `
import { virtualClock } from 'insidecar/testing';
const clock = virtualClock({ startAt: '2026-11-21T00:00:00Z' });
let failures = 2;
async function send(mail: { to: string }, signal: AbortSignal): Promise<void> {
  if (signal.aborted || (mail.to.startsWith('bob') && failures-- > 0)) throw new Error('the mail server is busy');
  console.log('mail to ' + mail.to);
}
`;

const AFTER = `
await clock.advance('96h');
await sidecar.stop();
`;

test('the program of docs/migrating-from-queues.md does what the page says', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-queues-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const code = codeOf('docs/migrating-from-queues.md').join('\n').replace('./.insidecar', path);
  const output = start('queues', BEFORE + code.replace("appId: 'shop',", "appId: 'shop', clock,") + AFTER);
  await expect.poll(output, { timeout: 30_000 }).toContain('exit code');
  const lines = output().split('\n');
  expect(lines.filter((line) => line.startsWith('report'))).toHaveLength(4);
  expect(lines.filter((line) => line.startsWith('mail'))).toEqual([
    'mail to ada@example.com',
    'mail to bob@example.com',
  ]);
  for (const line of [
    'sent to bob@example.com with attempt 3',
    'no mail to nobody',
    'invoice 4711 is due',
    'page 1, page 2, page 3',
    'exit code 0',
  ])
    expect(lines).toContain(line);
  expect(lines).not.toContain('invoice 4712 is due');
});
