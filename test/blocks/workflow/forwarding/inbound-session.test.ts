import { expect, test } from 'vitest';
import type { Engine } from '../../../../src/blocks/workflow/engine/engine.ts';
import {
  type CallOutcome,
  DONE,
  type ForwardedCall,
  type ForwardedWait,
  UNSURE,
} from '../../../../src/blocks/workflow/forwarding/call.ts';
import { InboundCalls } from '../../../../src/blocks/workflow/forwarding/inbound-calls.ts';
import { InboundSession } from '../../../../src/blocks/workflow/forwarding/inbound-session.ts';
import type { Receipts } from '../../../../src/blocks/workflow/forwarding/receipts.ts';
import { WorkflowLayout } from '../../../../src/blocks/workflow/storage/layout.ts';

const NONE = { calls: [], answered: [], waits: [], left: [] };
const CALL: ForwardedCall = { key: 'k', instanceId: 'i', work: { type: 'resumed' } };
const waitFor = (id: number): ForwardedWait => ({ id, instanceId: `i${id}`, until: 'over' });

function openSession() {
  const said: unknown[] = [];
  const signals: AbortSignal[] = [];
  let finish: (outcome: CallOutcome) => void = () => undefined;
  const session = new InboundSession({
    do: () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
    wait: (_wait, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    },
    release: () => undefined,
    replies: {
      outcomes: (outcomes) => said.push({ outcomes }),
      answer: (answer) => said.push(answer),
      ended: () => said.push('ended'),
    },
    onClose: () => said.push('closed'),
  });
  return { session, said, signals, finish: (outcome: CallOutcome) => finish(outcome) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a host that stops leaves waits to the next owner, and ends with the outcomes of the calls under way', async () => {
  const { session, said, signals, finish } = openSession();
  session.send({ ...NONE, calls: [CALL], waits: [waitFor(1), waitFor(2)] });
  session.stop();
  expect(said).toEqual([{ id: 1 }, { id: 2 }]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  session.send({ ...NONE, waits: [waitFor(3)] });
  finish(DONE);
  await settled();
  expect(said.slice(2)).toEqual([{ id: 3 }, { outcomes: [DONE] }, 'closed', 'ended']);
});

test('a session that is closed drops its waits, and says nothing more', async () => {
  const { session, said, signals, finish } = openSession();
  session.send({ ...NONE, calls: [CALL], waits: [waitFor(1)] });
  session.close();
  session.close();
  finish(DONE);
  await settled();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(said).toEqual(['closed']);
});

test('a session keeps 10,000 waits, and a wait that is left makes room', () => {
  const { session, said, signals } = openSession();
  session.send({ ...NONE, waits: Array.from({ length: 10_001 }, (_, id) => waitFor(id)) });
  expect(signals).toHaveLength(10_000);
  expect(said).toEqual([{ id: 10_000 }]);
  session.send({ ...NONE, left: [0] });
  session.send({ ...NONE, waits: [waitFor(10_001)] });
  expect(signals).toHaveLength(10_001);
});

test('a call with a key that no store takes has an outcome, and the session can end', async () => {
  const said: unknown[] = [];
  const engine = { store: { layout: new WorkflowLayout('shop') } } as unknown as Engine;
  const receipts = { release: () => undefined } as unknown as Receipts;
  const waitHere = () => Promise.reject(new Error('not here'));
  const calls = new InboundCalls({ engine, receipts, admit: () => undefined, waitHere });
  const session = await calls.open({
    outcomes: (outcomes) => said.push(outcomes),
    answer: () => undefined,
    ended: () => said.push('ended'),
  });
  session.send({ ...NONE, calls: [{ ...CALL, key: 'k\ud800' }] });
  await settled();
  calls.stop();
  expect(said).toEqual([[UNSURE], 'ended']);
});
