/**
 * A monitor: looks at a machine again and again, for as long as it takes, and begins anew each time, so that its history
 * stays short. A virtual clock lets a day pass at once. Run with `npx tsx examples/workflow-monitor.ts`.
 */
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';
import { virtualClock } from 'insidecar/testing';

interface Watch {
  readonly machine: string;
  readonly failures: number;
}

const clock = virtualClock({ startAt: '2026-05-01T00:00:00Z' });
const stamp = (): string => new Date(clock.now()).toISOString().slice(0, 16).replace('T', ' ');

// The machine is out of order from 3:00 to 5:00, and taken away at 12:00.
const probe = defineActivity('probe', (_machine: string) => {
  const hour = new Date(clock.now()).getUTCHours();
  return hour >= 12 ? 'gone' : hour >= 3 && hour < 5 ? 'broken' : 'fine';
});
const alarm = defineActivity('alarm', (text: string) => console.log(`${stamp()} ${text}`));

const monitor = defineWorkflow('monitor', async (ctx, { machine, failures }: Watch) => {
  const found = await ctx.callActivity(probe, machine);
  if (found === 'gone') return `${machine} is gone`;
  const now = found === 'broken' ? failures + 1 : 0;
  if (now === 3) await ctx.callActivity(alarm, `${machine} is broken`);
  if (now === 0 && failures >= 3) await ctx.callActivity(alarm, `${machine} is fine again`);
  await ctx.sleep(found === 'broken' ? '5m' : '30m');
  return ctx.continueAsNew({ machine, failures: now });
});

const sidecar = new Sidecar({ appId: 'watchman', clock });
sidecar.workflows.register(monitor, probe, alarm);
await sidecar.start();
const run = await sidecar.workflows.start(monitor, { machine: 'press 4', failures: 0 }, { instanceId: 'press-4' });
await clock.advance('24h');

const { status, output } = await run.ended();
const history = await sidecar.workflows.history('press-4');
console.log(`${status}: ${output}; ${history.length} events in its history`);
await sidecar.stop();
