/** The entry points of the package, by the name of their files in `dist`, and the source of each. */
export const ENTRIES = {
  index: 'src/index.ts',
  dapr: 'src/dapr/index.ts',
  embedded: 'src/components/embedded/index.ts',
  postgresql: 'src/components/postgresql/index.ts',
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
