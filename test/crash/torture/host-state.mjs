// The state of the hosts: in a directory, on PostgreSQL or Redis; with fences that nobody checks, if the test wants that.
import { embeddedState } from 'insidecar/embedded';
import { postgresqlState } from 'insidecar/postgresql';
import { redisState } from 'insidecar/redis';

/** The state that a host uses. */
export function stateOf({ url, place, isUnfenced }) {
  if (url.startsWith('/')) return embeddedState({ path: url });
  const state = url.startsWith('redis') ? redisState({ url, prefix: place }) : postgresqlState({ url, schema: place });
  return isUnfenced ? unfenced(state) : state;
}

const isOfHosts = (key) => /^(shards|hosts)!|!stand-in!$/.test(key);

/** Leaves the fences out of what commits require; hosts and shards themselves are written as always. */
function unfenced(state) {
  return {
    type: state.type,
    async open(context) {
      const store = await state.open(context);
      const commit = store.commit.bind(store);
      store.commit = (batch) => {
        const keys = [...(batch.put ?? []).map(({ key }) => key), ...(batch.delete ?? [])];
        if (keys.some(isOfHosts)) return commit(batch);
        return commit({ ...batch, require: (batch.require ?? []).filter(({ key }) => !isOfHosts(key)) });
      };
      return store;
    },
  };
}
