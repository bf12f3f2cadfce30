/** Checks the types of the code in the guides of workflows and runs it as it stands there. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { codeOf, RUNNER, start, WORKFLOW_GUIDES } from './code-of-docs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const IMPORTS = `import { CanceledError, defineEvent, EventTimeoutError, TaskFailedError, WorkflowFailedError } from 'insidecar';
import { replaceActivities, virtualClock } from 'insidecar/testing';
`;

/** Runs every workflow of the guide once, with all the time that they want. */
const ALL = `
void [receiptOf, checkOut, again];
const clock = virtualClock();
const everything = new Sidecar({ appId: 'guide', clock });
const { workflows } = everything;
workflows.register(sendMail, price, fetchRates, reserve, release, ship);
await everything.start();
const at = new Date(clock.now() + 7_200_000).toISOString();
await workflows.start(welcome, 'a@b.c', { instanceId: 'welcome' });
await workflows.start(reminder, { at, with: 'a@b.c' }, { instanceId: 'reminder' });
await workflows.start(approval, 5, { instanceId: 'approval' });
await workflows.raiseEvent('approval', 'APPROVED', { by: 'Ada' });
await workflows.start(cheapest, ['abc', 'ab'], { instanceId: 'cheapest' });
await workflows.start(quick, 'abcd', { instanceId: 'quick' });
await workflows.start(district, ['a', 'abc'], { instanceId: 'district' });
await workflows.start(convert, 'EUR', { instanceId: 'convert' });
await workflows.start(readPage, 'data:text/plain,Hello', { instanceId: 'page' });
await workflows.start(order, 'piano', { instanceId: 'order' });
await workflows.start(poll, 1, { instanceId: 'poll' });
await workflows.start(invoice, 'a@b.c', { instanceId: 'invoice' });
const held = await workflows.start(hold, 'piano', { instanceId: 'hold' });
await clock.settled();
await held.cancel();
await clock.advance('100h');
for (const { instanceId, status, output } of (await workflows.listPage({ limit: 100 })).instances)
  console.log(instanceId, status, JSON.stringify(output));
await everything.stop();
`;

test('the code of the guides of workflows has the right types, and does what the guide says', {
  timeout: 60_000,
}, async () => {
  // The first block of all has this import, too.
  const blocks = WORKFLOW_GUIDES.flatMap((guide) => codeOf(guide)).map((code) =>
    code.replace(/^import \{ Sidecar \} from 'insidecar';\n/, ''),
  );
  const output = start('workflows-guide', RUNNER + IMPORTS + blocks.join('\n') + ALL);
  writeFileSync(
    `${root}temp/tsconfig.workflows-guide.json`,
    JSON.stringify({ extends: '../tsconfig.json', include: [], files: ['workflows-guide.ts'] }),
  );
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  const checked = spawnSync(process.execPath, [tsc, '-p', `${root}temp/tsconfig.workflows-guide.json`], {
    encoding: 'utf8',
  });
  expect(checked.stdout).toBe('');
  await expect.poll(output, { timeout: 30_000 }).toContain('exit code');
  for (const line of [
    "{ order: 'o-1', receipt: 'receipt of o-1' }",
    '["Hello Ada!","Hello Bob!"]',
    'pass 2',
    'approval COMPLETED "5 approved by Ada"',
    'hold CANCELED undefined',
    'cheapest COMPLETED 2',
    'convert COMPLETED {"currency":"EUR","rate":1.1}',
    'district COMPLETED [1,3]',
    'district-report COMPLETED',
    'invoice COMPLETED "mail invoice/2 to a@b.c, attempt 1"',
    'order COMPLETED "too heavy"',
    'page COMPLETED "Hello"',
    'poll COMPLETED "enough"',
    'quick COMPLETED 4',
    'reminder COMPLETED',
    'welcome COMPLETED "mail welcome/1 to a@b.c, attempt 1"',
    'exit code 0',
  ])
    expect(output()).toContain(line);
});
