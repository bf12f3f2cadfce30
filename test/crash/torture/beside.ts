import { embeddedState } from '../../../src/components/embedded/index.ts';
import { postgresqlState } from '../../../src/components/postgresql/index.ts';
import { redisState } from '../../../src/components/redis/index.ts';
import { namePart, rangeOf } from '../../../src/state/keys.ts';
import type { StateDefinition, StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import type { Torture } from './torture.ts';

/** Opens the store of the hosts: beside them and without a proxy, an embedded one after them. */
export function openBeside(torture: Torture): Promise<StateStore> {
  return stateOf(torture).open({ clock: systemClock, logger: new RecordingLogger() });
}

function stateOf({ engine, url, place }: Torture): StateDefinition {
  if (engine === 'embedded' || engine === 'directory') return embeddedState({ path: url });
  return engine === 'redis' ? redisState({ url, prefix: place }) : postgresqlState({ url, schema: place });
}

/** The messages, one-shot jobs and reminders in the store. */
export async function workIn(store: StateStore): Promise<readonly string[]> {
  const [ready, delayed, due, reminders] = await Promise.all([
    store.scan(rangeOf('pubsub', namePart('pubsub'), 'ready')),
    store.scan(rangeOf('pubsub', namePart('pubsub'), 'delayed')),
    store.scan(rangeOf('jobs', namePart('torture'), 'due')),
    store.scan(rangeOf('actors', namePart('torture'), 'reminders', 'due')),
  ]);
  return [...ready, ...delayed, ...due.filter(({ key }) => key.includes('!j-')), ...reminders].map(({ key }) => key);
}
