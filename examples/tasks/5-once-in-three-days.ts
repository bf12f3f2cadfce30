/** Once, three days from now, with data that have a type. Run with `npx tsx examples/tasks/5-once-in-three-days.ts`. */
import { defineJob, Sidecar } from 'insidecar';
import { virtualClock } from 'insidecar/testing';

const clock = virtualClock();
const reminder = defineJob('reminder', {}, (invoice: { number: number }) =>
  console.log(`invoice ${invoice.number} is due`),
);

const sidecar = new Sidecar({ appId: 'shop', clock });
sidecar.register(reminder);
await sidecar.start();
await sidecar.jobs.schedule(reminder, { dueTime: '3d', data: { number: 4711 } });
await clock.advance('3d');
await sidecar.stop();
