// One life of an application with actors on disk: counts as fast as it can, and says what it was told.
//   F <id> <count>   what the store has at the beginning of a life
//   A <id> <count>   a turn was acknowledged
import { Actor, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, logger, path, say } from './life.mjs';

class Counter extends Actor {
  async add() {
    const { count = 0, sum = 0 } = this.state;
    this.state.count = count + 1;
    // A kill may come between the two.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    this.state.sum = sum + count + 1;
    return this.state.count;
  }

  start() {
    this.reminders.set('tick', { period: TICK_MS, ifExists: 'keep', retry: { maxRetries: 1_000, delay: 5 } });
  }

  async onReminder(_name, _data, { dueAt }) {
    const { ticks = [] } = this.state;
    this.state.ticks = [...ticks, dueAt];
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
  }

  look() {
    const { count = 0, sum = 0, ticks = [] } = this.state;
    for (const [index, tick] of ticks.entries())
      if (index > 0 && tick !== ticks[index - 1] + TICK_MS)
        throw new Error(`a tick was lost or stored twice: ${ticks[index - 1]} ${tick}`);
    if (sum !== (count * (count + 1)) / 2) throw new Error(`half a turn was stored: ${count} ${sum}`);
    return count;
  }
}

const TICK_MS = 20;
const jobs = { missedTicks: 'all', maxCrashes: 0 };
const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), jobs, logger });
sidecar.actors.register(Counter);
await sidecar.start();
const ids = Array.from({ length: 8 }, (_, index) => `counter-${index}`);
for (const id of ids) {
  say(`F ${id} ${await sidecar.actors.get(Counter, id).look()}`);
  await sidecar.actors.get(Counter, id).start();
}
say('ready');

if (last) await sidecar.stop();
else
  await Promise.all(
    ids.map(async (id) => {
      for (;;) say(`A ${id} ${await sidecar.actors.get(Counter, id).add()}`);
    }),
  );
