/** An order as JSON of so many bytes, at least 100. */
export function orderOf(bytes: number): string {
  const value = { orderId: 100_017, customer: 'c-4711', total: 129.95, currency: 'EUR', express: true, note: '' };
  const missing = bytes - JSON.stringify(value).length;
  return JSON.stringify({
    ...value,
    note: 'leave it at the back door, please; '.repeat(bytes / 35 + 1).slice(0, missing),
  });
}

/** 200 bytes of JSON, such as an order may be. */
export const PAYLOAD = orderOf(200);

/** Where it is published. */
export const PUBLISH_PATH = '/v1.0/publish/pubsub/orders';
