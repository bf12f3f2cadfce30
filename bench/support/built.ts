/** The library as it is published: its types from the source, its code from `dist`. */
export type Insidecar = typeof import('../../src/index.ts');

/** Loads `dist`. Benchmarks measure what users run, not what a loader makes of the source. */
export async function loadBuilt(): Promise<Insidecar> {
  const entry = new URL('../../dist/index.mjs', import.meta.url).href;
  try {
    return (await import(entry)) as Insidecar;
  } catch (cause) {
    throw new Error('dist cannot be loaded: run `npm run build` first', { cause });
  }
}

/** The embedded store as it is published. */
export type Embedded = typeof import('../../src/components/embedded/index.ts');

/** Loads the embedded store from `dist`. */
export async function loadEmbedded(): Promise<Embedded> {
  return (await import(new URL('../../dist/embedded.mjs', import.meta.url).href)) as Embedded;
}

/** Telemetry as it is published. */
export type Otel = typeof import('../../src/otel/index.ts');

/** Loads telemetry from `dist`. */
export async function loadOtel(): Promise<Otel> {
  return (await import(new URL('../../dist/otel.mjs', import.meta.url).href)) as Otel;
}

/** The inspector as it is published. */
export type BuiltInspector = typeof import('../../src/inspector/index.ts');

/** Loads the inspector from `dist`. */
export async function loadInspector(): Promise<BuiltInspector> {
  return (await import(new URL('../../dist/inspector.mjs', import.meta.url).href)) as BuiltInspector;
}
