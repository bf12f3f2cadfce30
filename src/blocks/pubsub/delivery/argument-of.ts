/**
 * The path of the argument in code that a problem of a subscription is about: the problem begins with the path of the
 * field, such as `subscription.concurrency`.
 */
export function argumentOf(problem: string): string {
  const [, field = '', rest = ''] = /^(?:subscription\.)?(\w+)((?:\.\w+)*)/.exec(problem) ?? [];
  if (field === 'pubsubName' || field === 'topic') return field;
  // Options of batches stand beside the others.
  return field === 'bulkSubscribe' ? `options${rest}` : `options.${field}${rest}`;
}
