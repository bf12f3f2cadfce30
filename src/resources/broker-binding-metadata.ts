import type { BindingDirection } from '../components/binding.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BINDING_NAMES, commonMetadata } from './bindings.ts';
import type { MetadataReader } from './metadata-reader.ts';

/** The metadata of every binding to a broker. `concurrency` is ours. */
export const BROKER_BINDING_NAMES: readonly string[] = [...BINDING_NAMES, 'concurrency', 'maxRetries'];

/** What all bindings to brokers have. */
interface BrokerMetadata {
  readonly direction?: readonly BindingDirection[] | undefined;
  readonly route?: string | undefined;
  readonly concurrency?: number;
  readonly maxRetries?: number;
}

const MAX_CONCURRENCY = 1_000;

/** Reads what every binding to a broker has. */
export function brokerBindingMetadata(reader: MetadataReader): BrokerMetadata {
  const concurrency = reader.number('concurrency', { min: 1, max: MAX_CONCURRENCY });
  // 0 is none, and another thing than no limit.
  const hasRetries = reader.text('maxRetries') !== undefined;
  const maxRetries = hasRetries ? (reader.number('maxRetries') ?? 0) : undefined;
  // The cast is safe: what is not given is left out.
  return { ...commonMetadata(reader), ...definedOnly({ concurrency, maxRetries }) } as BrokerMetadata;
}
