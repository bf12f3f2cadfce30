/** 200 bytes of JSON, such as an order may be. */
export const PAYLOAD = order();

/** Where it is published. */
export const PUBLISH_PATH = '/v1.0/publish/pubsub/orders';

function order(): string {
  const value = { orderId: 100_017, customer: 'c-4711', total: 129.95, currency: 'EUR', express: true, note: '' };
  const missing = 200 - JSON.stringify(value).length;
  return JSON.stringify({ ...value, note: 'leave it at the back door, please; '.repeat(5).slice(0, missing) });
}
