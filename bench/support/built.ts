/** The library as it is published: its types from the source, its code from `dist`. */
export type Insidecar = typeof import('../../src/index.ts');

/** Loads `dist`. Benchmarks measure what users run, not what a loader makes of the source. */
export async function loadBuilt(): Promise<Insidecar> {
  const entry = new URL('../../dist/index.js', import.meta.url).href;
  try {
    return (await import(entry)) as Insidecar;
  } catch (cause) {
    throw new Error('dist cannot be loaded: run `npm run build` first', { cause });
  }
}

/** The embedded store as it is published, with the parts that only benchmarks and tests reach. */
export type Embedded = typeof import('../../src/components/embedded/index.ts') &
  Pick<typeof import('../../src/components/embedded/embedded-store.ts'), 'openEmbeddedStore'>;

/** Loads the embedded store from `dist`. */
export async function loadEmbedded(): Promise<Embedded> {
  const [entry, store] = await Promise.all(
    ['index.js', 'embedded-store.js'].map(
      (file) => import(new URL(`../../dist/components/embedded/${file}`, import.meta.url).href),
    ),
  );
  return { ...(entry as Embedded), ...(store as Embedded) };
}
