import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CallGroups } from '../../../src/components/remote/call-groups.ts';

/** Groups that write down what is sent together; each is answered in the next turn of the loop. */
function recorded(): { readonly groups: CallGroups<string, string>; readonly sent: (readonly string[])[] } {
  const sent: (readonly string[])[] = [];
  const send = async (calls: readonly string[]): Promise<readonly string[]> => {
    sent.push(calls);
    await turn();
    return calls;
  };
  const groups = new CallGroups<string, string>({ send, sizeOf: () => 1, maxSize: 10, maxUnderWay: 2 });
  return { groups, sent };
}

/** As from the callbacks of several sockets: between them, all promises go on. */
async function inOneTurn(work: readonly (() => void)[]): Promise<void> {
  for (const one of work) setImmediate(one);
  await turn();
}

test('calls of one moment are one group, and a lone call does not wait for a turn of the loop', async () => {
  const { groups, sent } = recorded();
  const both = Promise.all([groups.add('a'), groups.add('b')]);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(sent).toEqual([['a', 'b']]);
  expect(await both).toEqual(['a', 'b']);
  // The group before had two calls, so this one waits for another.
  const alone = groups.add('c');
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(sent).toHaveLength(1);
  await alone;
  const next = groups.add('d');
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(sent).toEqual([['a', 'b'], ['c'], ['d']]);
  await next;
});

test('calls from several callbacks of one turn are one group but for the first', async () => {
  const { groups, sent } = recorded();
  const answers: Promise<string>[] = [];
  await inOneTurn(['a', 'b', 'c'].map((call) => () => void answers.push(groups.add(call))));
  expect(await Promise.all(answers)).toEqual(['a', 'b', 'c']);
  expect(sent).toEqual([['a'], ['b', 'c']]);
  await inOneTurn(['d', 'e', 'f'].map((call) => () => void answers.push(groups.add(call))));
  await groups.idle();
  expect(sent).toEqual([['a'], ['b', 'c'], ['d', 'e', 'f']]);
});
