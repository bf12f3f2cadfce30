/** An error for a wrong value names it as it was written, and says in words what is expected. */
import { expect, onTestFinished, test } from 'vitest';
import { type Duration, memoryPubSub, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { DURATION_FORMS } from '../../src/util/duration.ts';
import { RecordingLogger } from '../support/logger.ts';

const NAME = '1 to 256 characters without dots, slashes and white space';
const URLS = 'a URL that begins with http:// or https://, or a list of 1 to 1,000 such URLs';

test.each<[options: object, problem: string]>([
  [{ appId: 'a.b' }, `options.appId must be ${NAME}: actual is "a.b"`],
  [{ appId: 5 }, `options.appId must be ${NAME}: actual is 5`],
  [{ namespace: 'a b' }, `options.namespace must be ${NAME}: actual is "a b"`],
  [{ nameResolution: { static: { b: 'nope' } } }, `options.nameResolution.static.b must be ${URLS}: actual is "nope"`],
  [{ nameResolution: { static: { b: [] } } }, `options.nameResolution.static.b must be ${URLS}: actual is []`],
  [{ address: 'here' }, 'options.address must be a URL that begins with http:// or https://: actual is "here"'],
  [{ bodyLimitBytes: Number.NaN }, 'options.bodyLimitBytes must be integer: actual is NaN'],
  [{ dapr: { features: new Date(Number.NaN) } }, 'options.dapr.features must be array: actual is an invalid Date'],
])('new Sidecar(%j)', (options, problem) => {
  const make = () => new Sidecar({ appId: 'shop', ...options } as SidecarOptions);
  expect(make).toThrow(expect.objectContaining({ code: 'ERR_CONFIGURATION', message: problem }));
});

const noop = (): void => undefined;
const INVALID = new Date(Number.NaN);
const TTL =
  'expected a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D, of more than 0';

test.each<[what: string, call: (sidecar: Sidecar, wrong: never) => unknown, wrong: unknown, problem: string]>([
  [
    'publish',
    ({ pubsub }, ttl) => pubsub.publish('pubsub', 'orders', 1, { ttl }),
    '1 s',
    `ttl in options of publish is "1 s": ${TTL}`,
  ],
  [
    'publish',
    ({ pubsub }, ttl) => pubsub.publish('pubsub', 'orders', 1, { ttl }),
    Number.NaN,
    `ttl in options of publish is NaN: ${TTL}`,
  ],
  [
    'publishBulk',
    ({ pubsub }, ttl) => pubsub.publishBulk('pubsub', 'orders', [], { ttl }),
    0,
    `ttl in options of publishBulk is 0: ${TTL}`,
  ],
  [
    'subscribe',
    ({ pubsub }, timeout) => pubsub.subscribe('pubsub', 'orders', noop, { timeout: timeout as Duration }),
    '5 s',
    `subscription.timeout must be ${DURATION_FORMS}: actual is "5 s"`,
  ],
  [
    'subscribe',
    ({ pubsub }, group) => pubsub.subscribe('pubsub', 'orders', noop, { group }),
    'a.b',
    `subscription.group must be ${NAME}: actual is "a.b"`,
  ],
  [
    'schedule',
    ({ jobs }, dueTime) => jobs.schedule('report', { dueTime }),
    INVALID,
    'dueTime in the job is an invalid Date: expected a duration from now on, such as 3d or a number of milliseconds; a valid Date; or a text such as 2026-05-01T12:00:00Z',
  ],
  [
    'schedule',
    ({ jobs }, ttl) => jobs.schedule('report', { dueTime: '1h', ttl }),
    INVALID,
    'ttl in the job is an invalid Date: expected a duration from now on, such as 3d or a number of milliseconds; a valid Date; or a text such as 2026-05-01T12:00:00Z',
  ],
])('%s', async (_what, call, wrong, problem) => {
  const components = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({ appId: 'shop', components, clock: virtualClock(), logger: new RecordingLogger() });
  onTestFinished(() => sidecar.stop());
  await sidecar.start();
  await expect(async () => call(sidecar, wrong as never)).rejects.toThrow(problem);
});

test.each<[logger: object, problem: string]>([
  [{ info: noop }, 'options.logger.debug is missing'],
  [{ debug: noop, info: noop, error: noop }, 'options.logger.warn is missing'],
  [{ debug: noop, info: noop, warn: noop, error: 'x' }, 'options.logger.error must be a function: actual is "x"'],
])('a logger that lacks a method is refused: %o', (logger, problem) => {
  const make = () => new Sidecar({ appId: 'shop', logger: logger as never });
  expect(make).toThrow(expect.objectContaining({ code: 'ERR_CONFIGURATION' }));
  expect(make).toThrow(problem);
});

test('a logger may inherit its methods', () => {
  class Mine {
    debug(): void {}
    info(): void {}
    warn(): void {}
    error(): void {}
  }
  // The second option takes the thorough way of validation.
  for (const nameResolution of [undefined, { static: { cart: 'http://cart:3500' } }])
    for (const logger of [console, new Mine()])
      expect(() => new Sidecar({ appId: 'shop', logger, ...(nameResolution && { nameResolution }) })).not.toThrow();
});
