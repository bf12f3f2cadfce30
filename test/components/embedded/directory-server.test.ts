import { expect, test } from 'vitest';
import { DirectoryServer } from '../../../src/components/embedded/directory-server.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import type { ThreadLink } from '../../../src/components/embedded/thread-link.ts';
import { StateError } from '../../../src/state/errors.ts';
import { context, temporaryDirectory } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';

test('when the holder has ended, those that joined first are the first to try to hold the directory', async () => {
  const path = temporaryDirectory();
  const holder = await embeddedState({ path }).open(context);
  const tries: string[] = [];
  const abort = new AbortController();
  const listener = { onLost: () => undefined, onMessage: () => undefined };
  const joining = (name: string): DirectoryServer =>
    new DirectoryServer({
      path,
      logger: new RecordingLogger(),
      takeOver: async (): Promise<ThreadLink> => {
        tries.push(name);
        throw new StateError('in-use', 'another process was faster');
      },
    });
  const [first, second] = [joining('first'), joining('second')];
  // Each process has a connection for reads and one for commits.
  for (const server of [first, first, second, second]) await server.connect(listener, false, abort.signal);
  tries.length = 0;
  await holder.close();
  const again = [second, first].map((server) => server.connect(listener, false, abort.signal));
  await expect.poll(() => new Set(tries), { timeout: 20_000 }).toEqual(new Set(['first', 'second']));
  expect(tries[0]).toBe('first');
  abort.abort();
  await Promise.all(again.map((connecting) => expect(connecting).rejects.toThrow('it does not answer')));
});
