/**
 * The demo of Dapr's quickstart for actors, in HTTP: smoke detectors, and a controller that has all of them sound the
 * alarm and a reminder end it. The application knows Dapr's routes only, so it is one for daprd as well. Run with
 * `npx tsx examples/actors-http.ts`.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { nodeHandler, Sidecar } from 'insidecar';

interface Device {
  readonly location: string;
  readonly status: string;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

let daprPort = 0;

/** A call of Dapr's API; answers its body. */
async function dapr(method: string, path: string, body?: unknown): Promise<unknown> {
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`http://127.0.0.1:${daprPort}/v1.0/actors/${path}`, { method, ...json });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`);
  return answer === '' ? undefined : JSON.parse(answer);
}

const get = (actor: string, key: string) => dapr('GET', `${actor}/state/${key}`);
const set = (actor: string, key: string, value: unknown) =>
  dapr('PUT', `${actor}/state`, [{ operation: 'upsert', request: { key, value } }]);
const call = (actor: string, method: string, body?: unknown) => dapr('PUT', `${actor}/method/${method}`, body);

/** What an actor answers to a call, by its type and the method. */
const methods: Record<string, (actor: string, body: unknown) => Promise<unknown>> = {
  'SmokeDetector/setData': (actor, device) => set(actor, 'device', device),
  'SmokeDetector/getData': (actor) => get(actor, 'device'),
  'SmokeDetector/detectSmoke': () => call('Controller/hub', 'triggerAlarm'),
  'SmokeDetector/soundAlarm': async (actor) => {
    await set(actor, 'device', { ...((await get(actor, 'device')) as Device), status: 'Alarm' });
  },
  'SmokeDetector/clearAlarm': async (actor) => {
    await set(actor, 'device', { ...((await get(actor, 'device')) as Device), status: 'Ready' });
  },
  'Controller/registerDevices': (actor, ids) => set(actor, 'ids', ids),
  'Controller/triggerAlarm': async (actor) => {
    await dapr('PUT', `${actor}/reminders/clearAlarm`, { dueTime: '1s', data: 'all' });
    // One that calls waits for its turn to end: it sounds by itself.
    for (const id of (await get(actor, 'ids')) as string[])
      call(`SmokeDetector/${id}`, 'soundAlarm').catch(console.error);
  },
  'Controller/remind/clearAlarm': async (actor) => {
    console.log('the alarm ends');
    for (const id of (await get(actor, 'ids')) as string[]) await call(`SmokeDetector/${id}`, 'clearAlarm');
  },
};

const app = createServer(async (req, res) => {
  const [, , type = '', id = '', , ...method] = (req.url ?? '').split('/').map(decodeURIComponent);
  const body = await text(req);
  res.setHeader('content-type', 'application/json');
  if (req.url === '/dapr/config') return void res.end(JSON.stringify({ entities: ['SmokeDetector', 'Controller'] }));
  // The actor is idle: there is nothing in memory to be put away.
  if (req.method === 'DELETE') return void res.end();
  const run = methods[`${type}/${method.join('/')}`];
  if (run === undefined) return void res.writeHead(404).end();
  const answer = await run(`${type}/${encodeURIComponent(id)}`, body === '' ? undefined : JSON.parse(body));
  res.end(answer === undefined ? '' : JSON.stringify(answer));
});

const sidecar = new Sidecar({ appId: 'smart-devices', wire: 'dapr', app: { port: await listen(app) } });
const api = createServer(nodeHandler(sidecar));
daprPort = await listen(api);
await sidecar.start();

await call('SmokeDetector/1', 'setData', { location: 'First Floor', status: 'Ready' });
await call('SmokeDetector/2', 'setData', { location: 'Second Floor', status: 'Ready' });
await call('Controller/hub', 'registerDevices', ['1', '2']);

async function statuses(): Promise<string> {
  const devices = (await Promise.all(['1', '2'].map((id) => call(`SmokeDetector/${id}`, 'getData')))) as Device[];
  return devices.map(({ location, status }) => `${location}: ${status}`).join(', ');
}

async function until(expected: string): Promise<void> {
  while ((await statuses()) !== expected) await new Promise((resolve) => setTimeout(resolve, 20));
  console.log(expected);
}

await until('First Floor: Ready, Second Floor: Ready');
await call('SmokeDetector/1', 'detectSmoke');
await until('First Floor: Alarm, Second Floor: Alarm');
await until('First Floor: Ready, Second Floor: Ready');

await sidecar.stop();
for (const server of [api, app]) {
  server.close();
  server.closeAllConnections();
}
