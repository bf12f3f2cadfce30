import assert from 'node:assert/strict';
import type { AppChannel } from '../../src/app/channel.ts';
import { request } from '../../src/http/message.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';
import { app, CHUNK, type ChannelCase, soon } from './channel-case.ts';

export const goings: readonly ChannelCase[] = [
  {
    name: 'tells the application that the caller has gone, and the caller that there is no answer',
    async run(open) {
      const begun = gate();
      const gone = gate();
      await using opened = await open(
        app(async ({ signal }) => {
          signal.addEventListener('abort', () => gone.open());
          begun.open();
          await gone.opened;
          return {};
        }),
      );
      const caller = new AbortController();
      const reply = opened.channel.handle(request('GET', '/', { signal: caller.signal }));
      await begun.opened;
      const rejected = assert.rejects(reply, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
      await gone.opened;
    },
  },
  {
    name: 'does not call for a caller who has gone already',
    async run(open) {
      let calls = 0;
      await using opened = await open(
        app(() => {
          calls++;
          return {};
        }),
      );
      const signal = AbortSignal.abort(new Error('enough'));
      await assert.rejects(opened.channel.handle(request('GET', '/', { signal })), /enough/);
      await opened.channel.handle(request('GET', '/'));
      assert.equal(calls, 1);
    },
  },
  ...[true, false].map(
    (reads): ChannelCase => ({
      name: `leaves an answer whose reader leaves ${reads ? 'in the middle' : 'before the first chunk'}`,
      async run(open) {
        const left = gate();
        async function* chunks(): AsyncGenerator<Uint8Array> {
          try {
            for (;;) yield await soon(CHUNK);
          } finally {
            left.open();
          }
        }
        await using opened = await open(app(() => ({ body: chunks() })));
        const { body } = await opened.channel.handle(request('GET', '/'));
        const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
        if (reads) await iterator.next();
        await iterator.return?.();
        await left.opened;
      },
    }),
  ),
  {
    name: 'fails a call that is not answered in its time',
    async run(open) {
      const clock = virtualClock();
      const begun = gate();
      await using opened = await open(
        app(() => {
          begun.open();
          return new Promise(() => undefined);
        }),
        { clock },
      );
      await timeLimited(opened.channel, clock, begun.opened);
    },
  },
  {
    name: 'fails a call whose answer stops in the middle',
    async run(open) {
      const clock = virtualClock();
      const begun = gate();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('begun');
        begun.open();
        await new Promise(() => undefined);
      }
      await using opened = await open(
        app(() => ({ body: chunks() })),
        { clock },
      );
      await timeLimited(opened.channel, clock, begun.opened);
    },
  },
];

async function timeLimited(channel: AppChannel, clock: VirtualClock, begun: Promise<void>): Promise<void> {
  const call = { method: 'POST', url: '/', headers: {}, body: Buffer.from('x'), timeLimitMs: 60_000 };
  let settled = false;
  const reply = assert.rejects(channel.call(call), /no answer within 60000 ms/).finally(() => {
    settled = true;
  });
  await begun;
  await clock.advance('59s');
  assert.equal(settled, false);
  await clock.advance('1s');
  await reply;
  assert.equal(clock.pendingTimers, 0);
}
