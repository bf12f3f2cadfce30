/** What holds for the bindings to every broker. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Binding, BindingDefinition } from '../../src/kit/index.ts';
import { bindingConforms, conformingBinding } from './binding-conformance.ts';
import {
  type AppAnswer,
  type AppRequest,
  type BindingsWorld,
  bindingsWorld,
  createBindingsWorld,
} from './bindings-world.ts';
import { freePort } from './http.ts';
import { until, WIRES } from './stores-world.ts';

/** How a technology makes its binding. */
export interface BrokerBindingCases {
  /** A binding that reads what it publishes, on a topic or queue of this name. */
  readonly define: (name: string, place: string, options?: object) => BindingDefinition;
  /** The same to a port where nothing is, with a password. */
  readonly unreachable: (port: number) => BindingDefinition;
  /** Whether metadata of a call come back with the event. */
  readonly carriesMetadata: boolean;
}

/** Both directions, without a question to the application. */
const BOTH = { direction: ['input', 'output'] } as const;

const post = ({ method }: AppRequest, answer: AppAnswer): AppAnswer | undefined =>
  method === 'POST' ? answer : undefined;

export function brokerBindingTests({ define, unreachable, carriesMetadata }: BrokerBindingCases): void {
  const place = (): string => `insidecar-binding-${randomUUID()}`;
  const create = (world: BindingsWorld, data: unknown, metadata: object = {}) =>
    world.invoke('events', { operation: 'create', data, metadata });
  const delivered = (world: BindingsWorld, count: number): Promise<void> =>
    until(
      () => world.delivered.length >= count,
      () => `${world.delivered.length} events: expected ${count}`,
    );

  describe('conformance', () => {
    bindingConforms(() => {
      const definition = define('events', place(), BOTH);
      const under = conformingBinding({ definition, call: { operation: 'create', data: 1 } });
      let opened: Binding | undefined;
      const open = async (): Promise<Binding> => {
        opened = await under.open();
        return opened;
      };
      const emit = async (mark: string): Promise<void> => {
        const call = { operation: 'create', data: Buffer.from(JSON.stringify(mark)), metadata: {}, traceHeaders: {} };
        await opened?.invoke?.({ ...call, signal: new AbortController().signal });
      };
      return { ...under, open, emit };
    }, 'refusal');
  });

  test.each(WIRES)('wire %s: what is created comes in, in order, with its metadata', async (wire) => {
    await using world = await bindingsWorld({ wire, components: [define('events', place(), BOTH)] });
    expect(await ready(world)).toBe(204);
    const before = world.delivered.length;
    for (let n = 1; n <= 5; n++)
      expect((await create(world, { n }, { colour: 'green', 'no header': 'x' })).status).toBe(204);
    await delivered(world, before + 5);
    const got = world.delivered.slice(before);
    expect(got.map(({ body }) => body)).toEqual([1, 2, 3, 4, 5].map((n) => `{"n":${n}}`));
    for (const { path, headers } of got) {
      expect([path, headers['content-type']]).toEqual(['/events', 'application/json']);
      expect(headers['colour']).toBe(carriesMetadata ? 'green' : undefined);
      expect(Object.keys(headers).filter((name) => name.startsWith('insidecar'))).toEqual([]);
    }
  });

  test('an event that is not accepted comes again, later and later; others go on', async () => {
    const answer = (request: AppRequest): AppAnswer | undefined =>
      post(request, { status: request.body.includes('bad') ? 500 : 200 });
    await using world = await bindingsWorld({ answer, components: [define('events', place(), BOTH)] });
    await ready(world);
    await create(world, 'bad');
    await create(world, 'good');
    const bad = (): number => world.delivered.filter(({ body }) => body === '"bad"').length;
    await until(
      async () => {
        await world.pass('100ms');
        return bad() >= 4 && world.delivered.some(({ body }) => body === '"good"');
      },
      () => JSON.stringify(world.delivered.map(({ body }) => body)),
    );
    // The next one is due 0.64 s after the fourth at the earliest.
    const count = bad();
    await world.pass('100ms');
    expect(bad()).toBeLessThanOrEqual(count + 1);
  });

  test('maxRetries: it is dropped with an error', async () => {
    const answer = (request: AppRequest): AppAnswer | undefined =>
      post(request, { status: request.body === '"bad"' ? 500 : 200 });
    const options = { ...BOTH, maxRetries: 1 };
    await using world = await bindingsWorld({ answer, components: [define('events', place(), options)] });
    await ready(world);
    await create(world, 'bad');
    await until(
      async () => {
        await world.pass('100ms');
        return world.logger.at('error').length > 0;
      },
      () => 'an error',
    );
    expect(world.delivered.filter(({ body }) => body === '"bad"')).toHaveLength(2);
    expect(world.logger.at('error').map(({ message }) => message)).toEqual([
      'an event of a binding is dropped: its retries are over',
    ]);
  });

  test('a stop waits for the delivery under way; what was not accepted is for the next start', async () => {
    const at = place();
    let release: (() => void) | undefined;
    const answer = (request: AppRequest): undefined | Promise<AppAnswer> =>
      request.method === 'POST' && request.body === '"slow"'
        ? new Promise((resolve) => {
            release = () => resolve({ status: 500 });
          })
        : undefined;
    await using world = await createBindingsWorld({ answer, components: [define('events', at, BOTH)] });
    await world.start();
    await ready(world);
    await create(world, 'slow');
    await until(
      () => release !== undefined,
      () => 'the delivery',
    );
    const stopped = world.sidecar.stop();
    release?.();
    await stopped;
    await using next = await bindingsWorld({ components: [define('events', at, BOTH)] });
    await until(
      () => next.delivered.some(({ body }) => body === '"slow"'),
      () => JSON.stringify(next.delivered),
    );
  });

  test('an output only is not read, an input only cannot be called', async () => {
    const at = place();
    await using world = await bindingsWorld({
      components: [
        define('in', at, { direction: ['input'] }),
        { ...define('events', at, { direction: ['output'] }), name: 'events' },
      ],
    });
    expect((await world.metadata()).map(({ name, capabilities }) => [name, capabilities])).toEqual([
      ['in', ['INPUT_BINDING']],
      ['events', ['OUTPUT_BINDING']],
    ]);
    expect((await world.invoke('in', { operation: 'create' })).status).toBe(500);
  });

  test('a broker that is down: the start succeeds, calls fail without its address', async () => {
    await using world = await bindingsWorld({ components: [unreachable(await freePort())], hasApp: false });
    const { status, text } = await create(world, 1);
    expect([status, (JSON.parse(text) as { readonly message: string }).message]).toEqual([
      500,
      'error invoking output binding events: the broker did not confirm the message: it cannot be reached, did not answer in time, or refuses it',
    ]);
    expect(text).not.toMatch(/hidden|127/);
  });
}

/** Publishes until the first event comes in: a new group may begin behind what was published before it. */
async function ready(world: BindingsWorld): Promise<number> {
  let status = 0;
  await until(
    async () => {
      ({ status } = await world.invoke('events', { operation: 'create', data: 'ready' }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      return world.delivered.length > 0;
    },
    () => `no event; the last call was answered ${status}`,
  );
  // Those that are still on their way.
  await until(
    async () => {
      const before = world.delivered.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return world.delivered.length === before;
    },
    () => 'no end of events',
  );
  return status;
}
