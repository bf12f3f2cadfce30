import { expect, test } from 'vitest';
import { InstanceLine } from '../../../src/blocks/workflow/forwarding/instance-line.ts';

test('work that has failed on its way goes through the store in its order, whichever fails first', async () => {
  const line = new InstanceLine(async () => undefined);
  const done: string[] = [];
  const fails: (() => void)[] = [];
  const send = async (name: string): Promise<void> => {
    const { earlier } = line;
    await new Promise<void>((resolve) => fails.push(resolve));
    await line.redo(async () => void done.push(name), earlier);
  };
  const all = ['one', 'two', 'three'].map((name) => line.direct(send(name)));
  for (const fail of fails.toReversed()) fail();
  await Promise.all(all);
  expect(done).toEqual(['one', 'two', 'three']);
});
