import type { StateDefinition } from '../../src/kit/index.ts';
import { loadEmbedded } from './built.ts';

/** Where the processes of bench/fleet.ts have their state. */
export interface StatePlace {
  /** Of the server; empty for a directory. */
  readonly url: string;
  /** The directory, the schema or the prefix. */
  readonly place: string;
  /** Called for each call of the server. Default: not. */
  readonly onCall?: () => void;
}

/** State in a directory, in PostgreSQL or in Redis. */
export async function fleetState({ url, place, ...more }: StatePlace): Promise<StateDefinition> {
  if (url === '') return (await loadEmbedded()).embeddedState({ path: place });
  const load = (name: string): Promise<unknown> => import(new URL(`../../dist/${name}.mjs`, import.meta.url).href);
  if (url.startsWith('redis')) {
    const { redisState } = (await load('redis')) as typeof import('../../src/components/redis/index.ts');
    return redisState({ url, prefix: place, ...more });
  }
  const { postgresqlState } = (await load('postgresql')) as typeof import('../../src/components/postgresql/index.ts');
  return postgresqlState({ url, schema: place, ...more });
}
