/**
 * The folders of `src/components` that are an entry point each, since they load a package or a file of their own. What
 * they need behind their `index.ts` is a file of `dist`, which has this name, and loads with the first use of what
 * resource files name.
 */
export const TECHNOLOGIES = {
  embedded: 'embedded-store',
  jetstream: 'jetstream-pubsub',
  kafka: 'kafka-pubsub',
  mqtt: 'mqtt-pubsub',
  postgresql: 'postgresql-store',
  rabbitmq: 'rabbitmq-pubsub',
  redis: 'redis-store',
  smtp: 'smtp-binding',
};

/** Further folders of technologies, and what they share, by folder of `src/components`, and the file in `dist`. */
export const SHARED_BY_TECHNOLOGIES = { broker: 'broker', remote: 'remote-store', 'sqlite-file': 'embedded-store' };

/** The entry points of the package, by the name of their files in `dist`, and the source of each. */
export const ENTRIES = {
  index: 'src/index.ts',
  dapr: 'src/dapr/index.ts',
  inspector: 'src/inspector/index.ts',
  kit: 'src/kit/index.ts',
  otel: 'src/otel/index.ts',
  resources: 'src/resources/index.ts',
  testing: 'src/testing/index.ts',
  ...Object.fromEntries(Object.keys(TECHNOLOGIES).map((name) => [name, `src/components/${name}/index.ts`])),
};

/** How an entry is imported. */
export function importOf(name) {
  return name === 'index' ? 'insidecar' : `insidecar/${name}`;
}

/** The declarations of an entry, relative to `dist`. */
export function declarationsOf(name) {
  return ENTRIES[name].replace(/^src/, 'types').replace(/\.ts$/, '.d.ts');
}
