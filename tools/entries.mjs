/** The entry points of the package, by the name of their files in `dist`, and the source of each. */
export const ENTRIES = {
  index: 'src/index.ts',
  dapr: 'src/dapr/index.ts',
  embedded: 'src/components/embedded/index.ts',
  inspector: 'src/inspector/index.ts',
  jetstream: 'src/components/jetstream/index.ts',
  kafka: 'src/components/kafka/index.ts',
  mqtt: 'src/components/mqtt/index.ts',
  otel: 'src/otel/index.ts',
  postgresql: 'src/components/postgresql/index.ts',
  rabbitmq: 'src/components/rabbitmq/index.ts',
  redis: 'src/components/redis/index.ts',
  resources: 'src/resources/index.ts',
  testing: 'src/testing/index.ts',
};

/** How an entry is imported. */
export function importOf(name) {
  return name === 'index' ? 'insidecar' : `insidecar/${name}`;
}

/** The declarations of an entry, relative to `dist`. */
export function declarationsOf(name) {
  return ENTRIES[name].replace(/^src/, 'types').replace(/\.ts$/, '.d.ts');
}
