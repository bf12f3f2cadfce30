/** The custom status: any JSON value, in code and over HTTP. */
import { describe, expect, test } from 'vitest';
import { defineWorkflow } from '../../../src/index.ts';
import { testRequest } from '../../../src/testing/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const shows = defineWorkflow('shows', async (ctx, status: unknown) => {
  ctx.setCustomStatus(status);
  await ctx.waitForEvent('go');
});
const sets = defineWorkflow('sets', async (ctx, kind: 'function' | 'nothing' | 'long') => {
  const values = { function: { run: () => 1 }, nothing: undefined, long: 'x'.repeat(64 * 1024 + 1) };
  ctx.setCustomStatus(values[kind]);
});

function world(): Promise<WorkflowWorld> {
  return workflowWorld(({ workflows }) => workflows.register(shows, sets));
}

describe('the custom status of an instance', () => {
  test.each<[status: unknown, overHttp: string]>([
    ['half done', 'half done'],
    ['', ''],
    ['größe', 'größe'],
    [{ done: 3, of: [1, null] }, '{"done":3,"of":[1,null]}'],
    [null, 'null'],
    [0.5, '0.5'],
    [false, 'false'],
    ['5', '"5"'],
    ['{"a":1}', String.raw`"{\"a\":1}"`],
    ['"x"', String.raw`"\"x\""`],
  ])('%j is the same in code, and %j over HTTP, also after a restart', async (status, overHttp) => {
    await using shop = await world();
    await shop.run('shows', status);
    const seen = async (): Promise<unknown[]> => {
      const { body } = await shop.sidecar.handle(testRequest('GET', '/v1.0/workflows/sidecar/one'));
      const { properties } = JSON.parse(Buffer.from(body as Uint8Array).toString()) as { properties: object };
      const state = await shop.sidecar.workflows.run(shows, 'one').state();
      return [state.customStatus, Reflect.get(properties, 'sidecar.workflow.custom_status')];
    };
    expect(await seen()).toEqual([status, overHttp]);
    await shop.restart();
    expect(await seen()).toEqual([status, overHttp]);
  });

  test.each([
    ['function', 'the custom status has a function at run: JSON cannot hold it'],
    ['nothing', 'the custom status is undefined: expected JSON, such as null'],
    ['long', 'the custom status has 65537 characters: expected at most 65536'],
  ])('that cannot be one (%s) fails the workflow', async (kind, message) => {
    await using shop = await world();
    expect((await shop.run('sets', kind)).failure).toMatchObject({ message });
  });
});
