/**
 * Jobs: a report every night, a reminder, and webhooks that are tried again. A virtual clock lets a month pass at once;
 * with `systemClock` in its place the same would take a month. Run with `npx tsx examples/jobs.ts`.
 */
import { virtualClock } from 'insidecar/testing';
import { openShop } from './jobs/shop.ts';

const clock = virtualClock({ startAt: '2026-03-01T00:00:00Z' });
const sidecar = await openShop(clock, console.log);
await clock.advance('744h');

console.log(
  `${new Date(clock.now()).toISOString().slice(0, 10)}: the next report is`,
  await sidecar.jobs.get('report'),
);
await sidecar.stop();
