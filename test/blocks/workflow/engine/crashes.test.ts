import { expect, test } from 'vitest';
import {
  type ActivityContext,
  defineActivity,
  defineWorkflow,
  type RetryOptions,
  type SidecarOptions,
  type WorkflowContext,
} from '../../../../src/index.ts';
import { forever, type LifeOfProcess, Lives, untilLength } from '../../../support/lives.ts';

type Run = (name: string, context: ActivityContext, life: number) => unknown;

/** What the workflow of {@link WorkflowLives} does: calls these activities at once, and answers their results. */
interface Plan {
  readonly names: readonly string[];
  readonly retry?: RetryOptions;
}

/** Processes that run workflows of one store. `seen` has `<life> <activity> <attempt>`. */
class WorkflowLives extends Lives {
  readonly seen: string[];
  readonly ended: string[];

  constructor(run: Run, options: Partial<SidecarOptions> = {}) {
    const [seen, ended]: [string[], string[]] = [[], []];
    const workflow = (number: number) =>
      defineWorkflow('work', (context: WorkflowContext, { names, retry }: Plan) =>
        context.all(
          names.map((name) => {
            const activity = defineActivity(name, (_input, own) => {
              seen.push(`${number} ${name} ${own.attempt}`);
              return run(name, own, number);
            });
            return context.callActivity(activity, undefined, retry === undefined ? {} : { retry });
          }),
        ),
      );
    super(({ sidecar, number }) => {
      sidecar.workflows.register(workflow(number));
      sidecar.events.on('activityCompleted', (event) => ended.push(`${number} ${event.activityName}`));
      sidecar.events.on('activityFailed', (event) => ended.push(`${number} ${event.activityName}: ${event.reason}`));
    }, options);
    this.seen = seen;
    this.ended = ended;
  }

  async begin(plan: Plan): Promise<LifeOfProcess> {
    const life = await this.next();
    await life.sidecar.workflows.start('work', plan, { instanceId: 'one' });
    return life;
  }

  async after(runs: number): Promise<LifeOfProcess> {
    await untilLength(this.seen, runs);
    return this.next();
  }
}

const REASON = 'the process ended 3 times in a row while it ran';

test('an activity that ends the process fails after 3 runs that are known to have done so; the workflow is told why', async () => {
  const lives = new WorkflowLives(forever);
  let life = await lives.begin({ names: ['poison'] });
  for (const runs of [1, 2, 3, 4]) life = await lives.after(runs);
  const { status, failure } = await life.sidecar.workflows.run('one').ended();
  expect({ status, failure }).toMatchObject({
    status: 'FAILED',
    failure: { message: expect.stringContaining(REASON), errorType: 'TaskFailedError' },
  });
  expect(lives.ended).toEqual([`5 poison: ${REASON}`]);
  expect(lives.seen).toEqual([1, 2, 3, 4].map((number) => `${number} poison 1`));
  expect(await lives.keys('!begun!')).toEqual([]);
});

test('the attempts that its retry policy grants may each end the process once more', async () => {
  const lives = new WorkflowLives(forever);
  let life = await lives.begin({ names: ['poison'], retry: { maxRetries: 2, delay: 1 } });
  for (const runs of [1, 2, 3, 4, 5, 6]) life = await lives.after(runs);
  expect((await life.sidecar.workflows.run('one').ended()).status).toBe('FAILED');
  expect(lives.seen.slice(3)).toEqual(['4 poison 1', '5 poison 2', '6 poison 3']);
  expect(await lives.keys('!begun!')).toEqual([]);
});

test('a later attempt that does not end the process completes the activity', async () => {
  const lives = new WorkflowLives((_name, { attempt }) => (attempt === 1 ? forever() : 'done'));
  let life = await lives.begin({ names: ['poison'], retry: { maxRetries: 2, delay: 1 } });
  for (const runs of [1, 2, 3, 4]) life = await lives.after(runs);
  expect(await life.sidecar.workflows.run('one').ended()).toMatchObject({
    status: 'COMPLETED',
    output: ['done'],
  });
});

test('of many attempts, those after twice as many crashes are not made', async () => {
  const lives = new WorkflowLives(forever, { workflows: { maxCrashes: 1 } });
  let life = await lives.begin({ names: ['poison'], retry: { maxRetries: 8, delay: 1 } });
  for (const runs of [1, 2, 3]) life = await lives.after(runs);
  expect((await life.sidecar.workflows.run('one').ended()).status).toBe('FAILED');
  expect(lives.seen).toEqual(['1 poison 1', '2 poison 1', '3 poison 2']);
});

test('activities that ran beside it go on, and are not taken for it', async () => {
  const lives = new WorkflowLives((name) =>
    name === 'poison' ? forever() : new Promise((resolve) => setTimeout(() => resolve(name), 100)),
  );
  await lives.begin({ names: ['a', 'poison', 'z'], retry: { maxRetries: 0 } });
  for (const runs of [3, 6, 9]) await lives.after(runs);
  await expect.poll(() => lives.seen.includes('4 poison 1')).toBe(true);
  expect(lives.seen.slice(9)).toEqual(['4 a 1', '4 poison 1']);
  await lives.next();
  await expect
    .poll(() => lives.ended.filter((line) => line.startsWith('5')).sort())
    .toEqual([`5 poison: ${REASON}`, '5 z']);
  expect(lives.ended.filter((line) => line.startsWith('4'))).toEqual(['4 a']);
});

test('a stop in order is no crash, however long the activity would take', async () => {
  const options = { stopTimeout: 20, workflows: { maxCrashes: 1 } };
  const lives = new WorkflowLives(forever, options);
  let life = await lives.begin({ names: ['long'] });
  for (const runs of [1, 2, 3, 4]) {
    await untilLength(lives.seen, runs);
    await life.sidecar.stop();
    life = await lives.next();
  }
  await untilLength(lives.seen, 5);
  expect(lives.ended).toEqual([]);
});

test('an activity costs a commit more only in a process that has found it under way', async () => {
  const lives = new WorkflowLives((_name, _context, life) => (life === 1 ? forever() : 1));
  const first = await lives.begin({ names: ['a'] });
  await untilLength(lives.seen, 1);
  expect(first.commits).toBe(1);
  const second = await lives.next();
  await second.sidecar.workflows.run('one').ended();
  expect(second.commits).toBe(2);
  await second.sidecar.workflows.start('work', { names: ['a'] }, { instanceId: 'two' });
  await second.sidecar.workflows.run('two').ended();
  expect(second.commits).toBe(4);
  expect(await lives.keys('!begun!')).toEqual([]);
});

test('maxCrashes 0 switches it off', async () => {
  const lives = new WorkflowLives(forever, { workflows: { maxCrashes: 0 } });
  await lives.begin({ names: ['poison'] });
  for (const runs of [1, 2, 3, 4, 5, 6]) await lives.after(runs);
  await untilLength(lives.seen, 7);
  expect(await lives.keys('!begun!')).toEqual([]);
});

test('an instance that is terminated or purged leaves no counts behind', async () => {
  const lives = new WorkflowLives(forever);
  await lives.begin({ names: ['poison'] });
  const { sidecar } = await lives.after(1);
  await untilLength(lives.seen, 2);
  expect(await lives.keys('!begun!')).toHaveLength(1);
  await sidecar.workflows.terminate('one');
  await sidecar.workflows.run('one').ended();
  await expect.poll(() => lives.keys('!begun!')).toEqual([]);
});
