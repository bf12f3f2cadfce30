import { describe, expect, test } from 'vitest';
import { type ActorAnswer, type ActorsWorld, actorsWorld } from '../support/actors-world.ts';
import { WIRES } from '../support/stores-world.ts';

async function types(world: ActorsWorld): Promise<unknown> {
  return (await world.send('GET', '/v1.0/metadata')).json['actors'];
}

/** Has an actor of each type made active, and moves time on; the types of those that are put away by then. */
async function putAway(world: ActorsWorld, actorTypes: readonly string[], after: string): Promise<readonly string[]> {
  for (const type of actorTypes) await world.call(`${type}/a/method/m`);
  await world.pass(after as '1m');
  return world.app
    .of('DELETE')
    .map(({ path }) => path.split('/')[2] ?? '')
    .toSorted();
}

function problems(world: ActorsWorld): readonly string[] {
  return world.logger.at('warn').map(({ details }) => String(details['problem']));
}

describe.each(WIRES)('the configuration of the application, wire %s', (wire) => {
  test('every field may be missing, and those without effect or meaning are accepted', async () => {
    const unused = {
      actorScanInterval: '1s',
      remindersStoragePartitions: 7,
      unknown: [1],
      drainRebalancedActors: true,
    };
    await using world = await actorsWorld({ wire, configuration: { entities: ['Cart'], ...unused } });
    expect(await types(world)).toEqual([{ type: 'Cart', count: 0 }]);
    expect(problems(world)).toEqual([]);
    await using empty = await actorsWorld({ wire, configuration: {} });
    expect(await types(empty)).toEqual([]);
  });

  test('an actor is put away after 60 minutes without a call, and within a second of that', async () => {
    await using world = await actorsWorld({ wire });
    expect(await putAway(world, ['Cart'], '59m')).toEqual([]);
    await world.pass('61s');
    expect(world.app.of('DELETE')).toHaveLength(1);
  });

  test.each([
    ['1h30m', '89m', '91m'],
    ['500ms', '100ms', '1500ms'],
    ['1.5s', '1s', '2500ms'],
  ])('an idle time of %s', async (actorIdleTimeout, before, after) => {
    await using world = await actorsWorld({ wire, configuration: { entities: ['Cart'], actorIdleTimeout } });
    expect(await putAway(world, ['Cart'], before)).toEqual([]);
    await world.pass(after as '1m');
    expect(world.app.of('DELETE')).toHaveLength(1);
  });

  test.each([
    ['actorIdleTimeout', 'soon'],
    ['actorIdleTimeout', 5],
    ['actorIdleTimeout', '-1s'],
    ['drainOngoingCallTimeout', 'PT'],
    ['drainOngoingCallTimeout', '-1s'],
    ['drainRebalancedActors', 'yes'],
    ['reentrancy', true],
    ['entitiesConfig', {}],
  ])('%s as %j cannot be read: it is logged, and its default holds', async (name, value) => {
    await using world = await actorsWorld({ wire, configuration: { entities: ['Cart'], [name]: value } });
    expect(problems(world)).toEqual([expect.stringContaining(name)]);
    expect(await putAway(world, ['Cart'], '59m')).toEqual([]);
    await world.pass('2m');
    expect(world.app.of('DELETE')).toHaveLength(1);
  });

  test('an entry of entitiesConfig replaces fields of the root for its types, one by one', async () => {
    const configuration = {
      entities: ['Both', 'Own', 'Root'],
      actorIdleTimeout: '10m',
      reentrancy: { enabled: true, maxStackDepth: 2 },
      entitiesConfig: [
        { entities: ['Own'], actorIdleTimeout: '1m' },
        { entities: ['Both'], reentrancy: { enabled: false } },
        { entities: ['Unknown'], actorIdleTimeout: '1s' },
      ],
    };
    await using world = await actorsWorld({ wire, configuration });
    const hosted = ['Both', 'Own', 'Root'];
    expect(await types(world)).toEqual(hosted.map((type) => ({ type, count: 0 })));
    expect(problems(world)).toEqual([expect.stringContaining('Unknown')]);
    expect(await putAway(world, hosted, '2m')).toEqual(['Own']);
    const chained = world.app.of('PUT').filter(({ headers }) => headers[`${wire}-reentrancy-id`] !== undefined);
    expect(chained.map(({ path }) => path.split('/')[2])).toEqual(['Own', 'Root']);
    await world.pass('10m');
    expect(world.app.of('DELETE')).toHaveLength(3);
  });

  test.each([404, 204])('%i: the application has no actors, and is not asked again', async (status) => {
    await using world = await actorsWorld({ wire, configurationAnswer: { status } });
    await world.pass('10m');
    expect(world.app.questions).toHaveLength(1);
    expect(await types(world)).toEqual([]);
    expect(problems(world)).toEqual([]);
  });

  test.each<[string, ActorAnswer]>([
    ['a status of 500', { status: 500, body: { entities: ['Cart'] } }],
    ['a status of 302', { status: 302, headers: { location: '/elsewhere' } }],
    ['no JSON', { body: '{"entities":["Cart"]' }],
    ['an array', { body: ['Cart'] }],
    ['a text', { body: '"Cart"' }],
  ])('%s: no actors for now, and it is asked again', async (_what, configurationAnswer) => {
    await using world = await actorsWorld({ wire, configurationAnswer });
    expect(await types(world)).toEqual([]);
    expect(world.logger.at('warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('could not be asked for its actors'),
    ]);
    world.app.configuration = { body: { entities: ['Cart'] } };
    await world.pass('1m');
    expect(await types(world)).toEqual([{ type: 'Cart', count: 0 }]);
  });

  test('keys are matched without regard to case on the names of Dapr only', async () => {
    const configuration = { Entities: ['Cart'], ENTITIESCONFIG: [{ ENTITIES: ['Cart'], ActorIdleTimeout: '1m' }] };
    await using world = await actorsWorld({ wire, configuration });
    expect(await types(world)).toEqual(wire === 'dapr' ? [{ type: 'Cart', count: 0 }] : []);
    if (wire === 'dapr') expect(await putAway(world, ['Cart'], '2m')).toEqual(['Cart']);
  });

  test('a call that comes before the application has said what it hosts waits for that', async () => {
    await using world = await actorsWorld({ wire, configuration: 'not yet' });
    const call = world.call('Cart/a/method/m');
    const reminder = world.call('Cart/a/reminders/r', { body: '{"dueTime":"1h"}' });
    world.app.configuration = { body: { entities: ['Cart'] } };
    await world.clock.advance('4s');
    expect((await call).status).toBe(200);
    expect((await reminder).status).toBe(204);
  });

  test('types may have any name that fits into a path', async () => {
    const entities = ['__proto__', 'constructor', 'a||b', '€ x', 'A', 'a', 'x'.repeat(256)];
    await using world = await actorsWorld({ wire, configuration: { entities } });
    for (const type of entities) {
      expect((await world.call(`${encodeURIComponent(type)}/a/method/m`)).status).toBe(200);
      const { path } = world.app.requests.at(-1) ?? { path: '' };
      expect(decodeURIComponent(path.split('/')[2] ?? '')).toBe(type);
    }
    expect(world.sidecar.actors.active()).toHaveLength(entities.length);
  });
});
