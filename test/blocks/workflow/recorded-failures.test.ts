/** What an activity or a child has thrown is in the failure of its workflow and in the log, with its stack. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, TaskFailedError, type WorkflowFunction } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

class CardError extends Error {}

function queryDatabase(): never {
  throw new RangeError('db down');
}

/** An activity `charge` that fails, with a cause, and workflows. */
function failingWorld(workflows: Readonly<Record<string, WorkflowFunction<unknown>>>): Promise<WorkflowWorld> {
  return workflowWorld((sidecar) => {
    for (const [name, code] of Object.entries(workflows)) sidecar.workflows.register(defineWorkflow(name, code));
    sidecar.workflows.register(
      defineActivity('charge', (message?: string) => {
        try {
          queryDatabase();
        } catch (cause) {
          throw new CardError(message ?? 'declined', { cause });
        }
      }),
    );
  });
}

/** The stack of what `charge` throws, after the line of the error that tells of it. */
const CHARGED = String.raw`\ncaused by: Error: declined\n +at .*recorded-failures\.test\.ts(?:.|\n)*\ncaused by: RangeError: db down\n +at queryDatabase .*recorded-failures\.test\.ts`;
const pattern = (first: string, rest: string = CHARGED): unknown =>
  expect.stringMatching(new RegExp(`^${first}${rest}`));

const TASK = 'TaskFailedError: activity "charge" failed: declined';

describe('a workflow that does not catch what its activity has thrown', () => {
  const plain: WorkflowFunction<unknown> = (ctx) => ctx.callActivity('charge');

  test('has the stack and the causes in its failure, one line of the log and the event', async () => {
    await using world = await failingWorld({ plain });
    const { failure } = await world.run('plain');
    expect(failure).toEqual({
      errorType: 'TaskFailedError',
      message: 'activity "charge" failed: declined',
      stackTrace: pattern(TASK),
    });
    expect(world.logger.at('warn')).toMatchObject([
      { message: 'a workflow failed', details: { stackTrace: failure?.stackTrace } },
    ]);
    expect(world.emitted('workflowFailed')).toMatchObject([{ error: failure }]);
  });

  test('fails alike when its history is replayed', async () => {
    const later: WorkflowFunction<unknown> = async (ctx) => {
      const failed = await ctx.callActivity('charge').catch((error: unknown) => error);
      await ctx.waitForEvent('go');
      throw failed;
    };
    await using first = await failingWorld({ later });
    await first.run('later');
    const { failure } = await first.raise('go');
    await using second = await failingWorld({ later });
    await second.run('later');
    await second.restart();
    expect((await second.raise('go')).failure).toEqual(failure);
    expect(failure?.stackTrace).toEqual(pattern(TASK));
  });

  test('is the cause in the failures of the workflows above it', async () => {
    await using world = await failingWorld({
      plain,
      middle: (ctx) => ctx.callChild('plain'),
      top: (ctx) => ctx.callChild('middle'),
    });
    const { failure } = await world.run('top');
    const above = ['child workflow "middle" failed: ', 'child workflow "plain" failed: '];
    const first = `TaskFailedError: ${above.join('')}.*\ncaused by: TaskFailedError: ${above[1]}.*\ncaused by: ${TASK}`;
    expect(failure?.stackTrace).toEqual(pattern(first));
  });

  test('has the first cause and its stack also behind long messages, within 16 Ki characters', async () => {
    await using world = await failingWorld({
      plain: (ctx) => ctx.callActivity('charge', 'x'.repeat(20_000)),
      top: (ctx) => ctx.callChild('plain'),
    });
    const { stackTrace = '' } = (await world.run('top')).failure ?? {};
    expect(stackTrace.length).toBeLessThanOrEqual(16 * 1024 + 3);
    expect(stackTrace).toEqual(
      pattern(
        'TaskFailedError: child workflow "plain" failed: .*x+…\n…x+\n +at .*recorded-failures',
        '(?:.|\n)*queryDatabase',
      ),
    );
  });
});

describe('a workflow that catches what its activity has thrown', () => {
  test('gets it as the cause, with its type and its stack', async () => {
    await using world = await failingWorld({
      caught: async (ctx) => {
        const error = await ctx.callActivity('charge').catch((thrown: unknown) => thrown);
        const cause = error instanceof TaskFailedError && error.cause instanceof Error ? error.cause : undefined;
        return [cause?.name, cause?.message, cause?.stack];
      },
    });
    const stack = expect.stringMatching(/^Error: declined\n +at .*recorded-failures(?:.|\n)*caused by: RangeError/);
    expect((await world.run('caught')).output).toEqual(['CardError', 'declined', stack]);
  });

  test('has it in the log', async () => {
    await using world = await failingWorld({ caught: (ctx) => ctx.callActivity('charge').catch(() => 'fine') });
    expect((await world.run('caught')).output).toBe('fine');
    const details = { instanceId: 'one', task: 'activity "charge"', attempt: 1, reason: 'declined' };
    expect(world.logger.at('warn')).toEqual([
      {
        level: 'warn',
        message: 'a task of a workflow failed',
        details: { ...details, stackTrace: pattern('Error: declined\n', '(?:.|\n)*\ncaused by: RangeError: db down') },
      },
    ]);
  });

  test('has its own error in the log too, when it throws another one', async () => {
    await using world = await failingWorld({
      other: (ctx) =>
        ctx.callActivity('charge').catch(() => {
          throw new TypeError('no refund');
        }),
    });
    await world.run('other');
    expect(world.logger.at('warn').map(({ message, details }) => [message, details['reason']])).toEqual([
      ['a task of a workflow failed', 'declined'],
      ['a workflow failed', 'no refund'],
    ]);
  });

  test('and throws its own error because of it, has both in its failure', async () => {
    await using world = await failingWorld({
      wrapped: (ctx) =>
        ctx.callActivity('charge').catch((cause: unknown) => {
          throw new TypeError('no order', { cause });
        }),
    });
    const { failure } = await world.run('wrapped');
    expect(failure?.stackTrace).toEqual(pattern('TypeError: no order\n', `(?:.|\n)*\ncaused by: ${TASK}${CHARGED}`));
    expect(world.logger.at('warn')).toHaveLength(1);
  });

  test('has nothing in the log that was there before a restart', async () => {
    await using world = await failingWorld({
      waits: async (ctx) => {
        await ctx.callActivity('charge').catch(() => undefined);
        await ctx.waitForEvent('go');
      },
    });
    await world.run('waits');
    await world.restart();
    expect((await world.raise('go')).status).toBe('COMPLETED');
    expect(world.logger.at('warn')).toHaveLength(1);
  });
});

test('an activity that fails after its workflow has ended is in the log', async () => {
  await using world = await failingWorld({ forgets: (ctx) => void ctx.callActivity('charge') });
  expect((await world.run('forgets')).status).toBe('COMPLETED');
  expect(world.logger.at('warn').map(({ message, details }) => [message, details['reason']])).toEqual([
    ['a task of a workflow failed', 'declined'],
  ]);
});

test('with a retry policy, the log has every attempt', async () => {
  await using world = await failingWorld({
    retried: (ctx) =>
      ctx.callActivity('charge', undefined, { retry: { maxRetries: 1, delay: 1_000 } }).catch(() => undefined),
  });
  await world.run('retried');
  await world.pass('1s');
  expect(world.logger.at('warn').map(({ message, details }) => [message, details['attempt']])).toEqual([
    ['a task of a workflow failed: will be tried again', 1],
    ['a task of a workflow failed', 2],
  ]);
});
