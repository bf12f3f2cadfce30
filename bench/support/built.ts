/** The library as it is published: its types from the source, its code from `dist`. */
export type Insidecar = typeof import('../../src/index.ts');

/** This directory's root, where `dist` is. */
const HERE = new URL('../../', import.meta.url).href;

/**
 * Loads `dist`. Benchmarks measure what users run, not what a loader makes of the source.
 * @param root The URL of another directory with a build, ending in a slash. Default: this one.
 */
export async function loadBuilt(root: string = HERE): Promise<Insidecar> {
  const entry = new URL('dist/index.mjs', root).href;
  try {
    return (await import(entry)) as Insidecar;
  } catch (cause) {
    throw new Error('dist cannot be loaded: run `npm run build` first', { cause });
  }
}

/** The embedded store as it is published. */
export type Embedded = typeof import('../../src/components/embedded/index.ts');

/** Loads the embedded store from `dist`, of this directory or of another. */
export async function loadEmbedded(root: string = HERE): Promise<Embedded> {
  return (await import(new URL('dist/embedded.mjs', root).href)) as Embedded;
}

/** Telemetry as it is published. */
export type Otel = typeof import('../../src/otel/index.ts');

/** Loads telemetry from `dist`. */
export async function loadOtel(): Promise<Otel> {
  return (await import(new URL('dist/otel.mjs', HERE).href)) as Otel;
}

/** The inspector as it is published. */
export type BuiltInspector = typeof import('../../src/inspector/index.ts');

/** Loads the inspector from `dist`. */
export async function loadInspector(): Promise<BuiltInspector> {
  return (await import(new URL('dist/inspector.mjs', HERE).href)) as BuiltInspector;
}
