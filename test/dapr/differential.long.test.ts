/** The two ways of writing a workflow mean the same: the same programs give the same histories and outputs in both. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Sidecar, WorkflowHistoryEvent } from '../../src/index.ts';
import type { TestSidecarOptions } from '../support/sidecar.ts';
import { workflowWorld } from '../support/workflow-world.ts';
import { registerAsync, registerDapr } from './interpreters.ts';
import { type Happening, happenings, type Program, programs, type Step } from './programs.ts';

/** Everything that can be seen of a run. */
interface Seen {
  readonly states: readonly object[];
  readonly histories: readonly (readonly object[])[];
}

const RUNS = Number(process.env['DIFFERENTIAL_RUNS'] ?? 60);

async function run(
  register: (sidecar: Sidecar) => void,
  program: Program,
  script: readonly Happening[],
  options: TestSidecarOptions = {},
): Promise<Seen> {
  await using world = await workflowWorld(register, options);
  await world.run('program', program);
  for (const { afterSeconds, what, event } of script) {
    await world.clock.advance(afterSeconds * 1000);
    if (what === 'raise') await world.sidecar.workflows.raiseEvent('one', event, event.length);
    else if (what === 'restart') await world.restart();
    else await world.sidecar.workflows[what]('one');
    await world.clock.settled();
  }
  await world.sidecar.workflows.resume('one');
  await world.pass('10m');
  const { instances } = await world.sidecar.workflows.listPage();
  const sorted = instances.toSorted((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
  const histories = await Promise.all(sorted.map(({ instanceId }) => world.history(instanceId)));
  return { states: sorted.map(withoutStacks), histories: histories.map((history) => history.map(withoutStacks)) };
}

/** Stacks show which of the two ran the code. */
function withoutStacks(value: object): object {
  return JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === 'stackTrace' ? undefined : part))) as object;
}

function withoutUpdate(state: object): object {
  return { ...state, lastUpdatedAt: undefined };
}

const WAYS: readonly (readonly [way: string, register: (sidecar: Sidecar) => void])[] = [
  ['function*', (sidecar) => registerDapr(sidecar, false)],
  ['async function*', (sidecar) => registerDapr(sidecar, true)],
];

const double = (value: number): Step & { kind: 'activity' } => ({ kind: 'activity', name: 'double', value });
const broken: Step & { kind: 'activity' } = { kind: 'activity', name: 'break', value: 1 };
const sleep = (seconds: number): Step & { kind: 'sleep' } => ({ kind: 'sleep', seconds });
const go: Step & { kind: 'event' } = { kind: 'event', name: 'go', timeoutSeconds: 3 };
const raise = (afterSeconds: number, event = 'go'): Happening => ({ afterSeconds, what: 'raise', event });

type Case = readonly [what: string, steps: readonly Step[], script?: readonly Happening[]];
const CASES: readonly Case[] = [
  ['a sequence', [double(1), double(2), { kind: 'look' }, double(3)]],
  ['fan-out and fan-in', [{ kind: 'all', leaves: Array.from({ length: 20 }, (_, value) => double(value)) }]],
  [
    'fan-out with a failure',
    [{ kind: 'attempt', steps: [{ kind: 'all', leaves: [double(1), broken, sleep(1)] }] }, double(2)],
  ],
  ['timers', [sleep(2), { kind: 'look' }, sleep(0), sleep(3)]],
  ['an event in time', [go, double(1)], [raise(2)]],
  ['an event that is late', [{ kind: 'attempt', steps: [go] }, double(1)], [raise(4)]],
  ['an event that was early', [sleep(2), go], [raise(1, 'GO')]],
  ['an event that never comes', [go]],
  ['a child', [{ kind: 'child', steps: [double(1), sleep(1), { kind: 'look' }] }]],
  [
    'children side by side',
    [
      {
        kind: 'all',
        leaves: [
          { kind: 'child', steps: [sleep(2)] },
          { kind: 'child', steps: [double(1)] },
        ],
      },
    ],
  ],
  ['a child that fails', [{ kind: 'attempt', steps: [{ kind: 'child', steps: [broken] }] }]],
  ['retries that help', [{ kind: 'activity', name: 'flaky', value: 3, retry: 2 }]],
  ['retries that do not', [{ kind: 'activity', name: 'break', value: 3, retry: 3 }]],
  ['a race of timers', [{ kind: 'any', leaves: [sleep(3), sleep(1), sleep(2)] }, sleep(5)]],
  ['a race of equals', [{ kind: 'any', leaves: [sleep(1), sleep(1), sleep(1)] }]],
  ['a race that a failure wins', [{ kind: 'any', leaves: [sleep(3), broken] }, double(1)]],
  ['a race between event and timer', [{ kind: 'any', leaves: [go, sleep(2)] }, double(1)], [raise(1)]],
  ['what nobody waits for', [{ kind: 'unawaited', leaf: broken }, { kind: 'unawaited', leaf: sleep(5) }, double(1)]],
  ['a failure', [double(1), broken, double(2)]],
  ['a custom status', [{ kind: 'status', text: 'ä' }, sleep(1)]],
  [
    'restarts on the way',
    [double(1), sleep(3), go, double(2)],
    [{ afterSeconds: 1, what: 'restart', event: '' }, raise(3)],
  ],
];

const PROGRAMS = CASES.map(([what, steps, script = []]) => ({ what, steps, script }));

describe.each(WAYS)('%s and async function', (_way, register) => {
  test.each(PROGRAMS)('$what', async ({ steps, script }) => {
    const program = { steps, rounds: 0 };
    const expected = await run(registerAsync, program, script);
    expect(await run(register, program, script)).toEqual(expected);
    expect(expected.states[0]).not.toMatchObject({ status: 'RUNNING' });
  });

  test('continue-as-new with events that go along', async () => {
    const program = { steps: [go, double(1)], rounds: 2 };
    const script = [raise(0), raise(0), raise(0)];
    const expected = await run(registerAsync, program, script);
    expect(await run(register, program, script)).toEqual(expected);
    expect(expected.states[0]).toMatchObject({ status: 'COMPLETED', output: [2, 2] });
  });

  test('random programs, with random events, pauses and restarts', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(programs, happenings, async (program, script) => {
        const expected = await run(registerAsync, program, script);
        expect(await run(register, program, script)).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  });
});

test('a restart after every event of the script changes nothing that can be seen', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(programs, happenings, async ({ steps, rounds }, script) => {
      const program = { steps: steps.map(oneAtATime), rounds };
      const calm = script.filter(({ what }) => what !== 'restart');
      const restless = calm.flatMap((one) => [one, { afterSeconds: 0, what: 'restart', event: '' } as const]);
      const expected = await run(registerAsync, program, calm);
      const { states } = await run(registerAsync, program, restless);
      // What came while it was paused may be written down earlier by a process that begins anew.
      expect(states.map(withoutUpdate)).toEqual(expected.states.map(withoutUpdate));
    }),
    { numRuns: RUNS },
  );
});

describe.each([...WAYS, ['async function', registerAsync] as const])(
  '%s, never in memory for long',
  (_way, register) => {
    const always = { workflows: { maxIdleInstances: 0 } };

    test('one thing at a time: the same is seen', { timeout: 120_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(programs, happenings, async ({ steps, rounds }, script) => {
          const program = { steps: steps.map(oneAtATime), rounds };
          const expected = await run(register, program, script);
          expect(await run(register, program, script, always)).toEqual(expected);
        }),
        { numRuns: RUNS },
      );
    });

    test('several at once: everything ends once', { timeout: 120_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(programs, happenings, async (program, script) => {
          const { states, histories } = await run(register, program, script, always);
          for (const state of states)
            expect(state).toMatchObject({ status: expect.stringMatching(/COMPLETED|FAILED/) });
          for (const history of histories) expect(endsOf(history)).toEqual([...new Set(endsOf(history))]);
        }),
        { numRuns: RUNS },
      );
    });
  },
);

/** Which of several things that end in one instant is first is for the engine to say. */
function oneAtATime(step: Step): Step {
  if (step.kind === 'all' || step.kind === 'any') return { kind: 'attempt', steps: step.leaves.map(oneAtATime) };
  if (step.kind === 'unawaited') return oneAtATime(step.leaf);
  return 'steps' in step ? { ...step, steps: step.steps.map(oneAtATime) } : step;
}

function endsOf(history: readonly object[]): readonly string[] {
  return (history as readonly WorkflowHistoryEvent[])
    .filter(({ type }) => /Completed|Failed|Fired/.test(type))
    .map((event) => `${event.type.replace(/Completed|Failed|Fired/, '')} ${Reflect.get(event, 'sequence')}`);
}
