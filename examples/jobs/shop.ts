import { defineJob, Sidecar } from 'insidecar';
import type { Clock } from 'insidecar/kit';

/** A shop with a nightly report, reminders and webhooks; `say` gets a line for everything that happens. */
export async function openShop(clock: Clock, say: (line: string) => void): Promise<Sidecar> {
  const stamp = (): string => new Date(clock.now()).toISOString().slice(0, 16).replace('T', ' ');

  // The partner's endpoint is down for the first three calls. Jobs come as POST /job/<name>.
  let calls = 0;
  const app = {
    fetch: async (request: Request): Promise<Response> => {
      const { pathname } = new URL(request.url);
      if (!pathname.startsWith('/job/webhook-')) return new Response(null, { status: 404 });
      const status = ++calls > 3 ? 204 : 503;
      say(`${stamp()} ${pathname} with ${await request.text()}: answering ${status}`);
      return new Response(null, { status });
    },
  };

  // Without `state` jobs live in memory; `state: embeddedState(path)` keeps them on disk.
  const sidecar = new Sidecar({
    appId: 'shop',
    app,
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const report = { schedule: 'TZ=Europe/Rome 0 30 2 * * *', data: { to: 'accounts' } };
  const reminder = defineJob('reminder-*', (text: string, { name }) => say(`${stamp()} ${name}: ${text}`));
  sidecar.register(
    defineJob('report', report, ({ to }) => say(`${stamp()} report to ${to}`)),
    reminder,
  );
  sidecar.events.on('jobFailed', ({ jobName, attempt }) =>
    say(`${stamp()} ${jobName} given up after ${attempt} attempts`),
  );
  await sidecar.start();

  await sidecar.jobs.schedule(reminder, {
    id: '4711',
    dueTime: '72h',
    data: 'invoice 4711 is due',
    ifExists: 'update',
  });
  await sidecar.jobs.schedule('webhook-paid', {
    dueTime: '1h',
    data: { order: 4711 },
    retry: { maxRetries: 1, delay: '10m', factor: 1 },
    ifExists: 'update',
  });
  await sidecar.jobs.schedule('webhook-shipped', {
    dueTime: '2h',
    data: { order: 4711 },
    retry: { maxRetries: 5, delay: '10m', factor: 1 },
    ifExists: 'update',
  });
  return sidecar;
}
