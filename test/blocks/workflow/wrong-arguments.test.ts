/** A wrong argument is an error that names the value and what is expected, in JavaScript too. */
import { describe, expect, test } from 'vitest';
import { SidecarError, type Workflows } from '../../../src/index.ts';
import { type Registering, workflowWorld } from '../../support/workflow-world.ts';

/** As JavaScript sees an API. */
type Loose = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const registering: Registering = ({ workflows }) => workflows.register('echo', async (_ctx, input) => input);

/** The error of a call. */
async function errorOf(call: (workflows: Loose) => unknown): Promise<unknown> {
  await using world = await workflowWorld(registering);
  await world.run('echo', 1);
  const workflows = world.sidecar.workflows as unknown as Loose;
  try {
    return await call(workflows);
  } catch (error) {
    return error;
  } finally {
    // Nothing was done.
    expect((await world.settle()).status).toBe('COMPLETED');
  }
}

const STATUSES = 'PENDING, RUNNING, SUSPENDED, COMPLETED, FAILED, TERMINATED, CANCELED';
const FILTERS: readonly (readonly [filter: object, message: string])[] = [
  [{ status: 'completed' }, `status in WHAT is "completed": expected ${STATUSES}; did you mean "COMPLETED"?`],
  [
    { status: ['COMPLETED', 'FAILD'] },
    `status in WHAT is ["COMPLETED","FAILD"]: expected ${STATUSES}; did you mean "FAILED"?`,
  ],
  [{ status: null }, `status in WHAT is null: expected ${STATUSES}`],
  [{ status: 5 }, `status in WHAT is 5: expected ${STATUSES}`],
  [
    { since: '12h' },
    'since in WHAT is "12h": expected an instant: a Date, a number of milliseconds since 1970, or a text such as 2026-05-01T12:00:00Z',
  ],
  [
    { since: new Date(Number.NaN) },
    'since in WHAT is an invalid Date: expected an instant: a Date, a number of milliseconds since 1970, or a text such as 2026-05-01T12:00:00Z',
  ],
];
const BULK: readonly (keyof Workflows)[] = ['terminateAll', 'purgeAll', 'rerunAll'];

describe('a filter', () => {
  test.each([
    ...FILTERS,
    [{ limit: '5' }, 'limit in WHAT is "5": expected a whole number from 1 to 1000'] as const,
    [{ cursor: 'no ID' }, 'cursor in WHAT is "no ID": expected that of a page'] as const,
    [{ cursor: 5 }, 'cursor in WHAT is 5: expected that of a page'] as const,
  ])('%j of listPage', async (options, message) => {
    const error = await errorOf((workflows) => workflows['listPage']?.(options));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: message.replace('WHAT', 'options of listPage'),
    });
  });

  test.each(BULK.flatMap((operation) => FILTERS.map(([filter, message]) => [filter, operation, message] as const)))(
    '%j of %s',
    async (filter, operation, message) => {
      const error = await errorOf((workflows) => workflows[operation]?.(filter));
      expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message: message.replace('WHAT', 'the filter') });
    },
  );
});

describe('an instance ID', () => {
  test.each(['get', 'run', 'pause', 'resume', 'terminate', 'purge', 'history', 'rerun'] as const)(
    'that is missing in %s',
    async (operation) => {
      const error = await errorOf((workflows) => workflows[operation]?.());
      const message = 'workflow instance ID is undefined: expected a string of letters, digits, _ and -';
      expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
    },
  );

  test('that is a number in a start', async () => {
    const error = await errorOf((workflows) => workflows['start']?.('echo', 1, { instanceId: 5 }));
    const message = 'workflow instance ID is 5: expected a string of letters, digits, _ and -';
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
  });
});

describe('a start', () => {
  test.each([
    ['tomorrow', '"tomorrow"'],
    [null, 'null'],
    [Number.NaN, 'NaN'],
  ])('at %s', async (startAt, shown) => {
    const error = await errorOf((workflows) => workflows['start']?.('echo', 1, { startAt }));
    const message = `startAt in options of start is ${shown}: expected an instant: a Date, a number of milliseconds since 1970, or a text such as 2026-05-01T12:00:00Z`;
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
  });

  test('of nothing', async () => {
    const error = await errorOf((workflows) => workflows['start']?.(undefined));
    const message = 'the workflow is undefined: expected its name, its function or its definition';
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
  });
});

test.each<[call: (ctx: Loose) => unknown, message: string]>([
  [(ctx) => ctx['waitForEvent']?.(), 'the name of an event is undefined: expected a string'],
  [(ctx) => ctx['callActivity']?.(), 'the activity is undefined: expected its name, its function or its definition'],
  [(ctx) => ctx['callChild']?.(null), 'the workflow is null: expected its name, its function or its definition'],
])('workflow code that calls %s', async (call, message) => {
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register('wrong', async (ctx) => call(ctx as unknown as Loose)),
  );
  expect((await world.run('wrong')).failure).toMatchObject({ errorType: SidecarError.name, message });
});
