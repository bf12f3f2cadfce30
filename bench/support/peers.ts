/** Other packages that benchmarks compare with. They have a directory of their own: `npm ci --prefix bench/peers`. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../peers/package.json', import.meta.url));

/** Loads a package of `bench/peers`. */
export async function loadPeer(name: string): Promise<unknown> {
  return import(pathToFileURL(require.resolve(name)).href);
}

/** `undefined` when the package cannot be loaded; says so. */
export async function peerIfInstalled(name: string): Promise<unknown> {
  try {
    return await loadPeer(name);
  } catch (error) {
    console.log(`${name} does not run here: npm ci --prefix bench/peers (${(error as Error).message})`);
    return undefined;
  }
}
