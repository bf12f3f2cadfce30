/** Policies of resiliency for calls to a state store. */
import { describe, expect, test } from 'vitest';
import type { ResiliencySpec } from '../../../src/index.ts';
import type { KeyValueDefinition, KeyValueStore, WriteOutcome } from '../../../src/kit/index.ts';
import { type StateWorld, startStateWorld } from '../../support/state-world.ts';
import { WIRES } from '../../support/stores-world.ts';

const DONE: readonly WriteOutcome[] = [{ status: 'done', etag: '1' }];
const REFUSED: readonly WriteOutcome[] = [{ status: 'refused' }];
const AT = '/v1.0/state/flaky';

/** A store whose calls are answered by `write` and `read`. */
function flaky({ read, write }: Partial<Pick<KeyValueStore, 'read' | 'write'>>): KeyValueDefinition {
  const store: KeyValueStore = {
    read: read ?? (async (keys) => keys.map(() => undefined)),
    write: write ?? (async () => DONE),
    close: async () => undefined,
  };
  return { block: 'state', name: 'flaky', type: 'state.flaky', version: 'v1', options: {}, open: async () => store };
}

function resiliency(policies: ResiliencySpec['policies'], outbound: Readonly<Record<string, string>>): ResiliencySpec {
  return { policies, targets: { components: { flaky: { outbound } } } };
}

const OFTEN = resiliency(
  { retries: { often: { policy: 'constant', duration: '1s', maxRetries: 5 } } },
  { retry: 'often' },
);

describe.each(WIRES)('on the wire %s', (wire) => {
  async function answered(world: StateWorld, ...sent: Parameters<StateWorld['send']>): Promise<readonly unknown[]> {
    const answer = world.send(...sent);
    await world.pass('10s');
    const { status, json } = await answer;
    return [status, (json as { readonly message?: string } | undefined)?.message];
  }

  test('a save without a condition and a read are tried again', async () => {
    let calls = 0;
    const failing = async <T>(result: T): Promise<T> => {
      if (++calls < 3) throw new Error('not now');
      return result;
    };
    const store = flaky({ write: () => failing(DONE), read: () => failing([undefined]) });
    await using world = await startStateWorld({ wire, components: [store], resiliency: OFTEN });
    expect(await answered(world, 'POST', AT, [{ key: 'a' }])).toEqual([204, undefined]);
    expect(calls).toBe(3);
    calls = 0;
    expect(await answered(world, 'GET', `${AT}/a`)).toEqual([204, undefined]);
    expect(calls).toBe(3);
  });

  test('what the store refuses is not tried again, nor is a write with a condition that may have been done', async () => {
    let calls = 0;
    let outcome: () => Promise<readonly WriteOutcome[]> = async () => REFUSED;
    const write = (): Promise<readonly WriteOutcome[]> => {
      calls++;
      return outcome();
    };
    await using world = await startStateWorld({ wire, components: [flaky({ write })], resiliency: OFTEN });
    const item = { key: 'a', etag: '1' };
    expect((await answered(world, 'POST', AT, [item]))[0]).toBe(409);
    expect(calls).toBe(1);
    outcome = () => Promise.reject(new Error('the answer is lost'));
    for (const conditional of [item, { key: 'a', options: { concurrency: 'first-write' } }])
      expect((await answered(world, 'POST', AT, [conditional]))[0]).toBe(500);
    expect(calls).toBe(3);
  });

  test('the error says which limit has ended the call', async () => {
    const store = flaky({ read: () => new Promise(() => undefined) });
    const limited = resiliency({ timeouts: { short: '2s' } }, { timeout: 'short' });
    await using world = await startStateWorld({ wire, components: [store], resiliency: limited });
    const message = 'state store flaky failed, key "a": no result within 2000 ms';
    expect(await answered(world, 'GET', `${AT}/a`)).toEqual([500, message]);
  });

  test('the error says that the circuit breaker is open', async () => {
    const store = flaky({ read: () => Promise.reject(new Error('a script of the driver')) });
    const broken = resiliency(
      { circuitBreakers: { careful: { trip: 'totalFailures >= 1', timeout: '1m' } } },
      { circuitBreaker: 'careful' },
    );
    await using world = await startStateWorld({ wire, components: [store], resiliency: broken });
    expect(await answered(world, 'GET', `${AT}/a`)).toEqual([500, 'state store flaky failed, key "a"']);
    const message = 'state store flaky failed, key "a": circuit breaker is open';
    expect(await answered(world, 'GET', `${AT}/a`)).toEqual([500, message]);
  });
});
