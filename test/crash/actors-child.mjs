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

  look() {
    const { count = 0, sum = 0 } = this.state;
    if (sum !== (count * (count + 1)) / 2) throw new Error(`half a turn was stored: ${count} ${sum}`);
    return count;
  }
}

const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), logger });
sidecar.actors.register(Counter);
await sidecar.start();
const ids = Array.from({ length: 8 }, (_, index) => `counter-${index}`);
for (const id of ids) say(`F ${id} ${await sidecar.actors.get(Counter, id).look()}`);
say('ready');

if (last) await sidecar.stop();
else
  await Promise.all(
    ids.map(async (id) => {
      for (;;) say(`A ${id} ${await sidecar.actors.get(Counter, id).add()}`);
    }),
  );
