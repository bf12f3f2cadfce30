import { expect, test } from 'vitest';
import { OutageLog } from '../../src/components/outage-log.ts';
import { RecordingLogger } from '../support/logger.ts';

const AGAIN = 'connected to the server again';
const TRYING = 'no connection to the server: trying again';

function outages() {
  const logger = new RecordingLogger();
  const lines = (): readonly string[] =>
    (['warn', 'info'] as const).flatMap((level) => logger.at(level).map(({ message }) => message));
  return { log: new OutageLog(logger, 'the server'), lines, warnings: () => logger.at('warn') };
}

test('one line says that connections are lost for one reason, and one that all of them are back', () => {
  const { log, lines } = outages();
  const [one, other] = [{}, {}];
  log.onLost(one, 'it is gone');
  log.onLost(other, 'it is gone');
  expect(lines()).toEqual([TRYING]);
  log.onConnected(one);
  expect(lines()).toEqual([TRYING]);
  log.onConnected(other);
  expect(lines()).toEqual([TRYING, AGAIN]);
});

test('a server that is handed over is no outage, unless that takes longer than a second', async () => {
  const [quick, slow, closed] = [outages(), outages(), outages()];
  const [one, other] = [{}, {}];
  for (const { log } of [quick, slow, closed]) {
    log.onHandOver(one, 'it was handed over');
    log.onHandOver(other, 'it was handed over');
  }
  quick.log.onConnected(one);
  quick.log.onConnected(other);
  closed.log.onClosed(one);
  closed.log.onClosed(other);
  expect(slow.lines()).toEqual([]);
  await expect
    .poll(slow.warnings, { timeout: 10_000 })
    .toMatchObject([{ message: TRYING, details: { error: 'it was handed over' } }]);
  // Begun in the same moment as that of the slow one, and before it.
  expect([quick.lines(), closed.lines()]).toEqual([[], []]);
  slow.log.onConnected(one);
  slow.log.onConnected(other);
  expect(slow.lines()).toEqual([TRYING, AGAIN]);
});

test('an attempt that fails during a hand-over begins an outage at once', () => {
  const { log, lines } = outages();
  log.onHandOver(log, 'it was handed over');
  log.onLost(log, 'it refuses');
  expect(lines()).toEqual([TRYING]);
});
