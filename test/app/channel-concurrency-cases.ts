import assert from 'node:assert/strict';
import type { AppReply } from '../../src/app/channel.ts';
import { request, type SidecarResponse } from '../../src/http/message.ts';
import { bytesOf, gate, type PlainAnswer } from '../../src/kit/adapter-case.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { app, CHUNK, type ChannelCase, failingAfter, soon, textOf } from './channel-case.ts';

/** An application that tells of each call, and answers it when told to. */
function manual() {
  const arrived: string[] = [];
  const answers = new Map<string, (answer: PlainAnswer | Promise<PlainAnswer>) => void>();
  let changed = gate();
  const handler = app(({ path }) => {
    arrived.push(path);
    const answer = new Promise<PlainAnswer>((resolve) => answers.set(path, resolve));
    changed.open();
    changed = gate();
    return answer;
  });
  return {
    handler,
    arrived,
    answer: (path: string, answer: PlainAnswer = {}) => answers.get(path)?.(answer),
    async until(count: number): Promise<void> {
      while (arrived.length < count) await changed.opened;
    },
  };
}

export const concurrency: readonly ChannelCase[] = [
  {
    name: 'has no more calls under way than are allowed, and takes them in their order',
    async run(open) {
      const { handler, arrived, answer, until } = manual();
      await using opened = await open(handler, { maxConcurrency: 2 });
      const replies = [1, 2, 3, 4].map((number) => opened.channel.handle(request('GET', `/${number}`)));
      await until(2);
      answer('/2');
      await until(3);
      assert.deepEqual(arrived.slice(2), ['/3']);
      for (const path of ['/1', '/3']) answer(path);
      await until(4);
      answer('/4');
      assert.deepEqual(
        (await Promise.all(replies)).map(({ status }) => status),
        [200, 200, 200, 200],
      );
    },
  },
  ...Object.entries(endings()).map(
    ([name, end]): ChannelCase => ({
      name: `gives a place back when an answer ${name}`,
      async run(open) {
        const { handler, arrived, answer, until } = manual();
        await using opened = await open(handler, { maxConcurrency: 1 });
        const caller = new AbortController();
        const first = opened.channel.handle(request('GET', '/1', { signal: caller.signal }));
        const second = opened.channel.handle(request('GET', '/2'));
        await until(1);
        await end({
          first,
          caller,
          answer: (with_) => answer('/1', with_),
          isHeld: () => assert.deepEqual(arrived, ['/1']),
        });
        await until(2);
        answer('/2');
        assert.equal((await second).status, 200);
      },
    }),
  ),
  {
    name: 'lets a caller who waits for a place go',
    async run(open) {
      const { handler, arrived, answer, until } = manual();
      await using opened = await open(handler, { maxConcurrency: 1 });
      const first = opened.channel.handle(request('GET', '/1'));
      const caller = new AbortController();
      const second = opened.channel.handle(request('GET', '/2', { signal: caller.signal }));
      const third = opened.channel.handle(request('GET', '/3'));
      await until(1);
      const rejected = assert.rejects(second, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
      answer('/1');
      await until(2);
      answer('/3');
      await Promise.all([first, third]);
      assert.deepEqual(arrived, ['/1', '/3']);
    },
  },
  {
    name: 'does not count the time for which a call waits for its turn; a call that waits ends with the channel',
    async run(open) {
      const clock = virtualClock();
      const { handler, answer, until } = manual();
      await using opened = await open(handler, { maxConcurrency: 1, clock });
      const call = (url: string): Promise<AppReply> =>
        opened.channel.call({ method: 'GET', url, headers: {}, body: new Uint8Array(0), timeLimitMs: 60_000 });
      const replies = ['/1', '/2'].map(call);
      const stopped = [call('/3'), call('/4')].map((reply) => assert.rejects(reply, /the sidecar has stopped/));
      for (const number of [1, 2]) {
        await until(number);
        await clock.advance('59s');
        answer(`/${number}`);
      }
      assert.deepEqual(
        (await Promise.all(replies)).map(({ status }) => status),
        [200, 200],
      );
      await until(3);
      await opened.channel.close();
      await Promise.all(stopped);
    },
  },
];

interface Ending {
  readonly first: Promise<SidecarResponse>;
  readonly caller: AbortController;
  readonly answer: (answer: PlainAnswer) => void;
  readonly isHeld: () => void;
}

function endings(): Readonly<Record<string, (ending: Ending) => Promise<void>>> {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await soon(CHUNK);
  }
  async function* two(): AsyncGenerator<Uint8Array> {
    yield CHUNK;
    yield CHUNK;
  }
  return {
    'is read whole, and not before': async ({ first, answer, isHeld }) => {
      answer({ body: two() });
      const { body } = await first;
      isHeld();
      await bytesOf(body);
    },
    'is left': async ({ first, answer }) => {
      answer({ body: endless() });
      const { body } = await first;
      await (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.();
    },
    'breaks off': async ({ first, answer }) => {
      answer({ body: failingAfter('begun') });
      await assert.rejects(first.then(textOf));
    },
    'is not read by a caller who goes': async ({ first, caller, answer }) => {
      answer({ body: endless() });
      await first;
      caller.abort(new Error('enough'));
    },
    'does not come before the caller goes': async ({ first, caller }) => {
      const rejected = assert.rejects(first, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
    },
  };
}
