import { describe, expect, test } from 'vitest';
import { AppMonitor, type AppState } from '../../src/app/app-monitor.ts';
import type { HealthSettings } from '../../src/app/health.ts';
import type { AppAddress } from '../../src/app/transport.ts';
import { SidecarEventEmitter } from '../../src/events.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import type { Clock } from '../../src/util/clock.ts';
import { Work } from '../../src/util/work.ts';
import { patientClock } from '../support/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import { SteppedClock } from '../support/stepped-clock.ts';

const HEALTH: HealthSettings = { path: '/healthz', intervalMs: 1_000, timeoutMs: 500, threshold: 1 };

/** An application that takes connections, and is well, when it is told to. */
class FakeApp {
  isUp = true;
  problem: string | undefined;
  looks = 0;
  address: AppAddress = { host: '127.0.0.1', port: 3998, protocol: 'http' };

  async isReachable(): Promise<boolean> {
    this.looks++;
    return this.isUp;
  }

  async probe(): Promise<string | undefined> {
    return this.problem;
  }
}

interface Watched {
  readonly app: FakeApp;
  readonly clock: VirtualClock;
  readonly monitor: AppMonitor;
  readonly states: AppState[];
  readonly events: string[];
  readonly logger: RecordingLogger;
}

function watch(health?: HealthSettings, time: VirtualClock = patientClock(), clock: Clock = time): Watched {
  const [app, logger] = [new FakeApp(), new RecordingLogger()];
  const emitter = new SidecarEventEmitter(logger);
  const events: string[] = [];
  for (const name of ['appReady', 'appHealthy', 'appUnhealthy'] as const) emitter.on(name, () => events.push(name));
  const work = new Work();
  time.watch(work);
  const deps = { app, health, events: emitter, work, clock, logger, random: () => 0.5 };
  const monitor = new AppMonitor({ ...deps, startTimeoutMs: undefined });
  const states: AppState[] = [];
  monitor.onChange((state) => states.push(state));
  return { app, clock: time, monitor, states, events, logger };
}

describe('the application', () => {
  test('is greeted, then ready, when it takes connections', async () => {
    const { monitor, states, events } = watch();
    expect([monitor.state, monitor.isPresent, monitor.isReady]).toEqual(['absent', false, false]);
    await monitor.start();
    expect(states).toEqual(['greeting', 'ready']);
    expect([monitor.isPresent, monitor.isKnown, monitor.isReady]).toEqual([true, true, true]);
    expect(events).toEqual(['appReady']);
  });

  test('is looked for until it takes connections', async () => {
    const { app, clock, monitor, states } = watch();
    app.isUp = false;
    await monitor.start();
    await clock.advance('3s');
    expect(states).toEqual([]);
    app.isUp = true;
    await clock.advance('100ms');
    await monitor.known;
    expect(states).toEqual(['greeting', 'ready']);
  });

  test('is looked for no more when the stop comes during the first look', async () => {
    const { app, clock, monitor, states } = watch();
    app.isUp = false;
    const started = monitor.start();
    monitor.stop();
    app.isUp = true;
    await started;
    await clock.settled();
    expect([app.looks, states]).toEqual([1, []]);
  });

  test('is greeted as long as listeners take; it is present, and not known before that', async () => {
    const { monitor, states } = watch();
    let end = (): void => undefined;
    monitor.onChange((state) =>
      state === 'greeting'
        ? new Promise<void>((resolve) => {
            end = resolve;
          })
        : undefined,
    );
    const started = monitor.start();
    await expect.poll(() => states).toEqual(['greeting']);
    expect([monitor.isPresent, monitor.isKnown]).toEqual([true, false]);
    end();
    await started;
    expect(monitor.state).toBe('ready');
  });

  test('that a call could not reach is looked for by one loop, and not greeted again', async () => {
    const { app, clock, monitor, states } = watch();
    await monitor.start();
    const { epoch } = monitor;
    app.isUp = false;
    app.looks = 0;
    monitor.reportUnreachable('ECONNREFUSED');
    monitor.reportUnreachable('ECONNREFUSED');
    expect([monitor.isPresent, monitor.isKnown, monitor.isHealthy]).toEqual([false, true, true]);
    await clock.advance('300ms');
    expect(app.looks).toBe(2);
    app.isUp = true;
    await clock.advance('1s');
    expect(states).toEqual(['greeting', 'ready', 'unreachable', 'ready']);
    expect(monitor.epoch).toBe(epoch);
  });
});

describe('with health checks, the application', () => {
  test('is not healthy before its first answer, and greeted whenever it has become well', async () => {
    const { app, clock, monitor, states, events } = watch(HEALTH);
    app.problem = 'GET /healthz answered 503';
    expect(monitor.isHealthy).toBe(false);
    await monitor.start();
    expect([monitor.isHealthy, monitor.isReady]).toEqual([false, true]);
    for (const problem of [undefined, 'GET /healthz answered 503', undefined]) {
      app.problem = problem;
      await clock.advance('1s');
    }
    expect(states).toEqual(['unhealthy', 'greeting', 'ready', 'unhealthy', 'greeting', 'ready']);
    expect(events).toEqual(['appHealthy', 'appReady', 'appUnhealthy', 'appHealthy', 'appReady']);
    monitor.stop();
  });

  test('is checked again in time when the clock is set back during a check', async () => {
    const stepped = new SteppedClock();
    const { app, clock, monitor } = watch(HEALTH, stepped.time, stepped);
    let checks = 0;
    app.probe = async () => {
      if (checks++ > 0) return undefined;
      stepped.step(-3_600_000);
      return 'GET /healthz answered 503';
    };
    await monitor.start();
    await clock.advance('2s');
    expect(monitor.state).toBe('ready');
    monitor.stop();
  });

  test('that goes while it is greeted is not ready for that greeting', async () => {
    const { app, clock, monitor, states } = watch(HEALTH);
    const greetings: (() => void)[] = [];
    const epochs: number[] = [];
    monitor.onChange((state) => {
      epochs.push(monitor.epoch);
      return state === 'greeting' ? new Promise<void>((resolve) => greetings.push(resolve)) : undefined;
    });
    const started = monitor.start();
    await expect.poll(() => greetings).toHaveLength(1);
    app.problem = 'gone';
    await tick(clock, () => states.at(-1) === 'unhealthy');
    app.problem = undefined;
    await tick(clock, () => states.at(-1) === 'greeting');
    greetings[0]?.();
    await started;
    expect(monitor.state).toBe('greeting');
    greetings[1]?.();
    await expect.poll(() => monitor.state).toBe('ready');
    expect(states).toEqual(['unhealthy', 'greeting', 'unhealthy', 'greeting', 'ready']);
    expect(epochs).toEqual([0, 1, 2, 3, 3]);
    monitor.stop();
  });

  test('is looked for no longer when its health checks find out meanwhile', async () => {
    const { app, clock, monitor, states } = watch(HEALTH);
    await monitor.start();
    app.isUp = false;
    app.problem = 'connect ECONNREFUSED';
    monitor.reportUnreachable('ECONNREFUSED');
    await clock.advance('10s');
    const { looks } = app;
    await clock.advance('10s');
    expect([app.looks, states.at(-1)]).toEqual([looks, 'unhealthy']);
    app.problem = undefined;
    await clock.advance('1s');
    expect(states.slice(4)).toEqual(['unhealthy', 'greeting', 'ready']);
    monitor.stop();
  });
});

describe('an application that takes no requests', () => {
  const LATE =
    'the application takes no requests at 127.0.0.1:3998 after 10 s: does it listen on that port, and is it healthy?';
  const warnings = ({ logger }: Watched): string[] => logger.at('warn').map(({ message }) => message);

  test.each([undefined, HEALTH])(
    'is warned about once, after ten seconds, with its address: health %j',
    async (health) => {
      const watched = watch(health);
      watched.app.isUp = false;
      await watched.monitor.start();
      await watched.clock.advance('9.9s');
      expect(warnings(watched)).toEqual([]);
      await watched.clock.advance('1h');
      expect(warnings(watched)).toEqual([LATE]);
      watched.monitor.stop();
    },
  );

  test('is not warned about when it does in time', async () => {
    const watched = watch();
    watched.app.isUp = false;
    await watched.monitor.start();
    await watched.clock.advance('9s');
    watched.app.isUp = true;
    await watched.clock.advance('1h');
    expect([watched.monitor.state, warnings(watched)]).toEqual(['ready', []]);
  });

  test.each<[what: string, change: (watched: Watched) => void]>([
    ['after a stop', ({ monitor }) => monitor.stop()],
    ['in this process, where it needs no port', () => undefined],
  ])('is not warned about %s', async (what, change) => {
    const watched = watch();
    watched.app.isUp = false;
    if (what.startsWith('in this')) watched.app.address = { host: '', protocol: 'http' };
    await watched.monitor.start();
    change(watched);
    await watched.clock.advance('1h');
    expect(warnings(watched)).toEqual([]);
    watched.monitor.stop();
  });
});

test.each(['absent', 'unreachable'])('a stop ends the search for an application that is %s', async (state) => {
  const { app, clock, monitor, states } = watch();
  app.isUp = state !== 'absent';
  await monitor.start();
  app.isUp = false;
  monitor.reportUnreachable('ECONNREFUSED');
  expect(monitor.state).toBe(state);
  const { length } = states;
  monitor.stop();
  await monitor.known;
  app.isUp = true;
  await clock.advance('1m');
  expect(states).toHaveLength(length);
});

/** Lets time pass while a greeting runs: `advance` would wait for its end. */
async function tick(clock: VirtualClock, isDone: () => boolean): Promise<void> {
  void clock.advance('1s').catch(() => undefined);
  await expect.poll(isDone).toBe(true);
}
