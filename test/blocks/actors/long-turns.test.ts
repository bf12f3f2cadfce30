import { expect, onTestFinished, test } from 'vitest';
import { Actor } from '../../../src/index.ts';
import { TestSidecar, type TestSidecarOptions } from '../../support/sidecar.ts';

const LONG = 'a function has not returned for five minutes: it counts as running until it does';

class Press extends Actor<object> {
  static release: () => void = () => undefined;

  stamp(): Promise<void> {
    return new Promise((resolve) => {
      Press.release = resolve;
    });
  }

  async quick(): Promise<void> {}
}

async function world(options?: TestSidecarOptions): Promise<TestSidecar> {
  const made = new TestSidecar(options);
  made.sidecar.actors.register(Press);
  await made.start();
  onTestFinished(() => Press.release());
  return made;
}

test('a turn that lasts is told in the log once, after five minutes, with the calls that wait for it', async () => {
  await using own = await world();
  const press = own.sidecar.actors.get(Press, 'a');
  const stamped = press.stamp();
  const waiting = press.quick();
  await own.sidecar.actors.get(Press, 'b').quick();
  await own.clock.advance('299999ms');
  const told = (): readonly object[] => own.logger.at('warn').filter(({ message }) => message === LONG);
  expect(told()).toEqual([]);
  await own.clock.advance('1h');
  const details = { actorType: 'Press', actorId: 'a', method: 'stamp', waiting: 1, runningMs: 300_000 };
  expect(told()).toEqual([{ level: 'warn', message: LONG, details }]);
  Press.release();
  await Promise.all([stamped, waiting]);
});

test('a turn that lasts leaves no timer behind when the sidecar has stopped', async () => {
  const own = await world({ stopTimeout: '2s' });
  own.sidecar.actors
    .get(Press, 'a')
    .stamp()
    .catch(() => undefined);
  await own.clock.advance('1s');
  const stopped = own.sidecar.stop();
  await own.clock.advance('10s');
  await stopped;
  expect(own.clock.pendingTimers).toBe(0);
});
