// The actors of the hosts: counters that every host calls, each with a reminder that comes again and again, and one for
// some of the calls. What a turn does is a commit: the state has what was counted, and which ticks there were.
import { setTimeout as sleep } from 'node:timers/promises';
import { Actor } from 'insidecar';

/** Kills and faults that hit a turn by chance must not end its tries. */
const retry = { maxRetries: 1_000, delay: '50ms', factor: 1 };
const numberOf = (token) => Number(token.split('-').at(-1));

/** The counters of a host: `say` writes a line, `call` makes a call and tells how it ended. */
export function countersOf({ sidecar, say, call, setup: { life, slot, hosts, counters, counterTickMs } }) {
  class Counter extends Actor {
    start(dueTime) {
      this.reminders.set('tick', { dueTime, period: counterTickMs, retry, ifExists: 'keep' });
    }

    async count(token) {
      return this.#turn(token, async () => {
        this.state.calls = [...(this.state.calls ?? []), token];
        if (numberOf(token) % 5 === 1)
          this.reminders.set(`once-${token}`, { dueTime: Math.floor(Math.random() * 1_500), retry });
        await sleep(numberOf(token) % 9 === 3 ? 250 : Math.random() * 3);
        // Neither counted nor called back.
        if (numberOf(token) % 13 === 5) throw new Error('not this one');
        return this.state.calls.length;
      });
    }

    async onReminder(name, _data, { dueAt, attempt }) {
      await this.#turn(`${name}@${dueAt}`, async () => {
        const [list, entry] = name === 'tick' ? ['ticks', dueAt] : ['fired', name.slice('once-'.length)];
        this.state[list] = [...(this.state[list] ?? []), entry];
        await sleep(Math.random() * 3);
        if (dueAt % 7 === 3 && attempt === 1) throw new Error('not yet');
      });
    }

    async #turn(token, work) {
      say('B', this.id, token);
      try {
        return await work();
      } finally {
        say('E', this.id, token);
      }
    }
  }
  sidecar.actors.register(Counter);
  const ids = Array.from({ length: counters }, (_, index) => `counter-${index}`);
  const counter = (id) => sidecar.actors.get(Counter, id);
  const started = [];
  const nextTickOf = async (id) => (await sidecar.actors.reminders.get('Counter', id, 'tick'))?.nextRunAt;

  /** How late the next tick of a counter is, if it does not come; 0 if it does, `undefined` if there is none. */
  async function latenessOf(id) {
    const nextAt = await nextTickOf(id);
    if (nextAt === undefined) return undefined;
    for (let waits = 0; waits < 60; waits++) {
      if (Date.now() < nextAt || (await nextTickOf(id)) !== nextAt) return 0;
      await sleep(500);
    }
    return Date.now() - nextAt;
  }

  return {
    /** Has the counters tick that do not, at different moments; each host has its part of them. */
    start(insist) {
      for (const [index, id] of ids.entries()) {
        const dueTime = Math.floor((index * counterTickMs) / counters);
        if (index % hosts === slot) started.push(insist('tick', id, () => counter(id).start(dueTime)));
      }
    },

    /** Calls a counter, and tells what it answered. */
    count(number) {
      const id = ids[number % counters];
      const token = `${life}-${number}`;
      return call('count', `${id}/${token}`, async () => say('G', id, token, await counter(id).count(token)));
    },

    /** Tells of the ticking counters that are this host's to end when they come next, and ends them. */
    async rest(insist) {
      await Promise.all(started);
      for (const id of ids.filter((_id, index) => index % hosts === slot)) {
        await insist('silence', id, async () => {
          const late = await latenessOf(id);
          if (late !== undefined) say('I', id, late);
          await sidecar.actors.reminders.delete('Counter', id, 'tick');
        });
      }
    },

    /** Tells what the store has of each. */
    async tell() {
      for (const id of ids) {
        const { calls = [], fired = [], ticks = [] } = (await sidecar.actors.state('Counter', id)).get('state') ?? {};
        say('K', id, ...[calls, fired, ticks].map((list) => list.join() || '-'));
      }
    },
  };
}
