import { styled } from './terminal.ts';

/** A request, as a person would send it with curl. */
export interface Publish {
  readonly title: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const ORDERS = '/v1.0/publish/pubsub/orders';

/** What the quickstart publishes to the sidecar, one request for each way there is. */
export const publishes: readonly Publish[] = [
  { title: 'one message', path: ORDERS, headers: JSON_TYPE, body: '{"id":"first","amount":12.50}' },
  {
    title: 'three messages in one request',
    path: '/v1.0/publish/bulk/pubsub/orders',
    headers: JSON_TYPE,
    body: JSON.stringify(
      ['a', 'b', 'c'].map((id) => ({ entryId: id, event: { id }, contentType: 'application/json' })),
    ),
  },
  {
    title: 'CloudEvents binary mode: attributes in headers; a rule on the type chooses the route',
    path: ORDERS,
    headers: {
      ...JSON_TYPE,
      ce_specversion: '1.0',
      ce_type: 'order.cancelled',
      ce_source: 'quickstart',
      ce_id: 'cancel-1',
    },
    body: '{"id":"first"}',
  },
  {
    title: 'a CloudEvent of your own',
    path: ORDERS,
    headers: { 'content-type': 'application/cloudevents+json' },
    body: '{"specversion":"1.0","type":"order.placed","source":"quickstart","id":"own-1","data":{"id":"own"}}',
  },
  {
    title: 'a handler that fails twice and then recovers',
    path: ORDERS,
    headers: { ...JSON_TYPE },
    body: '{"id":"flaky"}',
  },
  {
    title: 'a handler that never succeeds: retried three times, then dead-lettered',
    path: ORDERS,
    headers: { ...JSON_TYPE },
    body: '{"id":"broken"}',
  },
];

/** Sends it; answers with the status. */
export async function send(sidecarUrl: string, { path, headers, body, title }: Publish): Promise<number> {
  console.log(`\n${styled('bold', title)}\n${styled('dim', `POST ${path}`)}`);
  const { status } = await fetch(sidecarUrl + path, { method: 'POST', headers: { ...headers }, body });
  return status;
}

/** The same request as a command line. */
export function asCurl(sidecarUrl: string, { path, headers, body }: Publish): string {
  const flags = Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`);
  return `curl -i ${flags.join(' ')} -d '${body}' ${sidecarUrl}${path}`;
}
