/** Every night in a time zone, over restarts and deploys. Run with `npx tsx examples/tasks/4-nightly.ts`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineJob, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { virtualClock } from 'insidecar/testing';

const path = await mkdtemp(join(tmpdir(), 'insidecar-')); // './.insidecar' in a service
const clock = virtualClock({ startAt: '2026-01-01T00:00:00Z' });

const nightly = { schedule: 'TZ=Europe/Rome 0 30 2 * * *', data: { to: 'accounts' } };
const report = defineJob('report', nightly, ({ to }) => console.log(`${new Date(clock.now()).toISOString()} to ${to}`));

// Each turn is a deploy: the job stays as it was planned.
for (let deploy = 1; deploy <= 2; deploy++) {
  const sidecar = new Sidecar({ appId: 'shop', state: embeddedState(path), clock });
  sidecar.register(report);
  await sidecar.start();
  await clock.advance('1d');
  await sidecar.stop();
}
await rm(path, { recursive: true });
