import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readArguments } from '../../src/cli/arguments.ts';
import { Output } from '../../src/cli/output.ts';
import { OrphanReaper } from '../../src/cli/process/orphan-reaper.ts';
import { RUN_FLAGS } from '../../src/cli/run-flags.ts';
import { Session, StopRequests } from '../../src/cli/session.ts';
import { appSettings, runSettings } from '../../src/cli/settings.ts';
import { SharedComponents } from '../../src/cli/sidecar-options.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { PATIENCE } from './cli.ts';

test('a run whose start hangs ends when it is asked to, after the time that a stop may take', async () => {
  const clock = virtualClock();
  let isOpening = false;
  const state = {
    type: 'hanging',
    open: () => {
      isOpening = true;
      return new Promise<never>(() => undefined);
    },
  };
  const commandLine = readArguments(['--app-id', 'a', '--graceful-shutdown-seconds', '5'], RUN_FLAGS, 'run');
  const output = new Output(new PassThrough(), { isColoured: false, onBroken: () => undefined });
  const stops = new StopRequests();
  const session = new Session(
    {
      run: runSettings(commandLine.flags, { isTerminal: true, environment: {} }),
      state,
      components: new SharedComponents('memory'),
      resources: { byApp: new Map(), state: undefined, notes: [] },
      clock,
      environment: {},
      process: { stdout: output, stderr: output, guard: new OrphanReaper() },
      prefix: () => () => '',
      takesInput: false,
      identity: undefined,
      telemetry: undefined,
    },
    () => ({ debug() {}, info() {}, warn() {}, error() {} }),
    stops,
  );
  const { httpPort: _, ...settings } = appSettings(commandLine, { directory: '.' });
  let code: number | undefined;
  void session.run([settings]).then((ended) => {
    code = ended;
  });
  await expect.poll(() => isOpening, PATIENCE).toBe(true);
  stops.ask({ kind: 'signal', signal: 'SIGTERM' });
  await expect
    .poll(async () => {
      await clock.advance('1s');
      return code;
    }, PATIENCE)
    .toBe(0);
});

test.each([
  ['memory', 'pubsub.in-memory'],
  ['kept', 'pubsub.durable'],
  ['shared', 'pubsub.durable'],
] as const)('an application without files has the components that dapr init makes (state: %s)', (state, type) => {
  const components = new SharedComponents(state).standard();
  expect(components.map(({ name, type: of }) => [name, of])).toEqual([
    ['pubsub', type],
    ['statestore', 'state.durable'],
  ]);
});
