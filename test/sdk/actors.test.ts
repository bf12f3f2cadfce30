/** Actors of the package `@dapr/dapr`, unmodified: its server as the application, its client as the caller, over HTTP. */
import { AbstractActor, ActorId, ActorProxyBuilder, type DaprServer } from '@dapr/dapr';
import { expect, onTestFinished, test } from 'vitest';
import { PATIENCE, type SdkWorld, sdkWorld } from './world.ts';

interface Counting {
  add(amount: number, factor: number): Promise<number>;
  get(): Promise<number>;
  fail(): Promise<void>;
  add2(amount: number): Promise<unknown>;
}

const events: string[] = [];

class Counter extends AbstractActor implements Counting {
  async add(amount: number, factor: number): Promise<number> {
    const next = (await this.get()) + amount * factor;
    await this.getStateManager<number>().setState('count', next);
    await this.getStateManager().saveState();
    return next;
  }

  async add2(amount: number): Promise<unknown> {
    return { sum: (await this.add(amount, 1)) + amount };
  }

  async get(): Promise<number> {
    const [has, value] = await this.getStateManager<number>().tryGetState('count');
    return has ? Number(value) : 0;
  }

  async fail(): Promise<void> {
    throw new Error('on purpose');
  }

  override async onActivate(): Promise<void> {
    events.push(`active ${this.getActorId().getId()}`);
  }

  override async onDeactivate(): Promise<void> {
    events.push(`inactive ${this.getActorId().getId()}`);
  }
}

async function start(): Promise<SdkWorld> {
  const listens = async ({ actor }: DaprServer): Promise<void> => {
    await actor.init();
    await actor.registerActor(Counter);
  };
  const world = await sdkWorld({ listens });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return world;
}

function proxyOf({ client }: SdkWorld, id: string): Counting {
  return new ActorProxyBuilder<Counting>(Counter, client).build(new ActorId(id)) as unknown as Counting;
}

test('a client calls the actors of a server, which keep their state', async () => {
  const world = await start();
  await expect
    .poll(() => world.client.metadata.get(), PATIENCE)
    // The package keeps one list of types for the process: those of another file's tests may be in it.
    .toMatchObject({ actors: expect.arrayContaining([{ type: 'Counter', count: 0 }]) });
  const counter = proxyOf(world, 'a');
  expect(await counter.add(2, 3)).toBe(6);
  expect(await counter.add(1, 1)).toBe(7);
  expect(await counter.add2(1)).toEqual({ sum: 9 });
  expect(await proxyOf(world, 'b').get()).toBe(0);
  expect(await counter.get()).toBe(8);
  expect(events).toContain('active a');
  // An error comes to the client, and the actor goes on.
  await expect(proxyOf(world, 'failing').fail()).rejects.toThrow('ERR_ACTOR_INVOKE_METHOD');
  expect(await proxyOf(world, 'failing').add(1, 1)).toBe(1);
});
