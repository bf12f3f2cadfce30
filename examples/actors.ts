/**
 * Virtual actors as classes: a cart for each customer, one call at a time, whose state outlives its idle times and the
 * process, and which a reminder empties. Run it twice: `npx tsx examples/actors.ts`.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Actor, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

interface Item {
  readonly sku: string;
  readonly count: number;
}

class Stock extends Actor<{ left: number }> {
  take(count: number): number {
    const left = (this.state.left ?? 100) - count;
    if (left < 0) throw new Error(`only ${left + count} left`);
    this.state.left = left;
    return left;
  }
}

class Cart extends Actor<{ items: Item[] }> {
  async add(item: Item): Promise<number> {
    await this.actors.get(Stock, item.sku).take(item.count);
    this.state.items = [...(this.state.items ?? []), item];
    // In the same commit as the items; an earlier one of the name is replaced.
    this.reminders.set('expire', { dueTime: '30m' });
    return this.state.items.length;
  }

  items(): readonly Item[] {
    return this.state.items ?? [];
  }

  override onReminder(name: string): void {
    if (name === 'expire') this.state.items = [];
  }
}

const directory = join(tmpdir(), 'insidecar-example-actors');
mkdirSync(directory, { recursive: true });

async function main(): Promise<void> {
  await using sidecar = new Sidecar({ appId: 'shop', state: embeddedState(directory) });
  sidecar.actors.register(Stock);
  sidecar.actors.register(Cart, { idleTimeout: '10m' });
  await sidecar.start();

  const alice = sidecar.actors.get(Cart, 'alice');
  // At once: they come one after the other, and nothing is lost.
  await Promise.all([1, 2, 3].map((count) => alice.add({ sku: 'book', count })));
  console.log(`alice has ${(await alice.items()).length} entries`);
  await alice.add({ sku: 'pen', count: 1_000 }).catch((error: Error) => console.log(error.message));
  console.log(sidecar.actors.active());
  for await (const { actorId, name, nextRunAt } of sidecar.actors.reminders.list({ type: 'Cart' }))
    console.log(`${name} of ${actorId} is due at ${new Date(nextRunAt).toISOString()}`);
}
void main();
