/**
 * The examples of actors of the package `@dapr/dapr`, unmodified as client and as server: a sensor with state, timers
 * whose callbacks get data, and a reminder. Durations are shorter than there.
 */
import { AbstractActor, ActorId, ActorProxyBuilder, type DaprServer, Temporal } from '@dapr/dapr';
import { expect, onTestFinished, test } from 'vitest';
import { memoryState } from '../../src/index.ts';
import { PATIENCE, type SdkWorld, sdkWorld } from './world.ts';

const TENTH = Temporal.Duration.from({ milliseconds: 100 });

interface Sensor {
  carEnters(): Promise<void>;
  carLeaves(): Promise<void>;
  cars(): Promise<number>;
}

class ParkingSensor extends AbstractActor implements Sensor {
  async carEnters(): Promise<void> {
    await this.getStateManager<number>().setState('cars', (await this.cars()) + 1);
  }

  async carLeaves(): Promise<void> {
    const before = await this.cars();
    if (before === 0) throw new Error('there is no car');
    await this.getStateManager<number>().setState('cars', before - 1);
  }

  async cars(): Promise<number> {
    const [has, count] = await this.getStateManager<number>().tryGetState('cars');
    return has ? Number(count) : 0;
  }
}

interface Demo {
  begin(): Promise<string>;
  end(): Promise<void>;
  get(): Promise<number>;
}

class DemoTimer extends AbstractActor implements Demo {
  #count = 0;

  async begin(): Promise<string> {
    await this.registerActorTimer('timer-id', 'countBy', TENTH, TENTH, undefined, 100);
    return 'begun';
  }

  async end(): Promise<void> {
    await this.unregisterActorTimer('timer-id');
  }

  async get(): Promise<number> {
    return this.#count;
  }

  async countBy(amount: string): Promise<void> {
    this.#count += Number(amount);
  }
}

class DemoReminder extends AbstractActor implements Demo {
  async begin(): Promise<string> {
    await this.registerActorReminder('reminder-id', TENTH, TENTH, undefined, 5);
    return 'begun';
  }

  async end(): Promise<void> {
    await this.unregisterActorReminder('reminder-id');
  }

  async get(): Promise<number> {
    const [has, count] = await this.getStateManager<number>().tryGetState('count');
    return has ? Number(count) : 0;
  }

  override async receiveReminder(data: string): Promise<void> {
    await this.getStateManager<number>().setState('count', (await this.get()) + Number(data));
    await this.getStateManager().saveState();
  }
}

async function start(): Promise<SdkWorld> {
  const listens = async ({ actor }: DaprServer): Promise<void> => {
    await actor.init();
    await actor.registerActor(ParkingSensor);
    await actor.registerActor(DemoTimer);
    await actor.registerActor(DemoReminder);
  };
  const world = await sdkWorld({ listens, state: memoryState() });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const types = ['DemoReminder', 'DemoTimer', 'ParkingSensor'];
  // The package keeps one list of types for the process: those of another file's tests may be in it.
  const hosted = expect.arrayContaining(types.map((type) => expect.objectContaining({ type })));
  await expect.poll(() => world.client.metadata.get(), PATIENCE).toMatchObject({ actors: hosted });
  return world;
}

function proxyOf<T>({ client }: SdkWorld, type: new (...args: never[]) => T, id: string): T {
  // The cast is safe: the proxy has the methods of the class.
  return new ActorProxyBuilder<T>(type as never, client).build(new ActorId(id)) as unknown as T;
}

test('a sensor, timers and reminders of the package, unmodified', async () => {
  const world = await start();
  const sensor = proxyOf(world, ParkingSensor, 'gate 1+2 50%');
  await sensor.carEnters();
  await sensor.carEnters();
  await sensor.carLeaves();
  expect(await sensor.cars()).toBe(1);
  await Promise.all(Array.from({ length: 10 }, () => sensor.carEnters()));
  expect(await sensor.cars()).toBe(11);

  for (const type of [DemoTimer, DemoReminder]) {
    const demo = proxyOf<Demo>(world, type, 'a');
    expect(await demo.begin()).toBe('begun');
    const step = type === DemoTimer ? 100 : 5;
    await expect.poll(() => demo.get(), PATIENCE).toBeGreaterThanOrEqual(2 * step);
    await demo.end();
    const count = await demo.get();
    expect(count % step).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await demo.get()).toBe(count);
  }
  expect(await world.sidecar.actors.reminders.get('DemoReminder', 'a', 'reminder-id')).toBeUndefined();
  expect(world.logger.at('error')).toEqual([]);
});
