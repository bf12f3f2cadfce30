import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type HeaderMap, headerOf, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import { textResponse } from './reply.ts';

const require = createRequire(import.meta.url);
/** `require` under another name: bundlers do not look for the file that it loads. */
const requireUnseen = createRequire(import.meta.url);

/** A file of the page, as its build writes them. */
interface Asset {
  /** Below the inspector; empty for the page itself. The others have the hash of their content in their names. */
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** A file, ready to be sent. */
interface Loaded {
  readonly headers: HeaderMap;
  readonly body: Buffer;
  /** Made by the first request that accepts it. */
  zipped: Promise<Buffer> | undefined;
}

const zip = promisify(gzip);
const NOT_BUILT = 'the page is not built: npm run build makes it';

/** The files of the page. They are loaded by the first request for one. */
export class Assets {
  #loaded: ReadonlyMap<string, Loaded> | undefined;

  /** Answers a request for a file; `undefined` if there is none of this path. */
  async answer(path: string, request: SidecarRequest): Promise<SidecarResponse | undefined> {
    this.#loaded ??= loadAssets();
    if (this.#loaded === undefined) return path === '' ? textResponse(503, NOT_BUILT) : undefined;
    const asset = this.#loaded.get(path);
    if (asset === undefined) return undefined;
    const { headers, body } = asset;
    if (!acceptsGzip(request)) return { status: 200, headers, body };
    asset.zipped ??= zip(body);
    return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: await asset.zipped };
  }
}

function loadAssets(): ReadonlyMap<string, Loaded> | undefined {
  const found = requireAssets();
  if (found === undefined) return undefined;
  return new Map(
    found.map(({ path, contentType, body }) => {
      const cacheControl = path === '' ? 'no-cache' : 'public, max-age=31536000, immutable';
      const headers = { 'content-type': contentType, 'cache-control': cacheControl, vary: 'accept-encoding' };
      return [path, { headers, body: Buffer.from(body), zipped: undefined }];
    }),
  );
}

/** They lie beside the built code. Where this runs from source, in the tests, those of the last build are taken. */
function requireAssets(): readonly Asset[] | undefined {
  try {
    const fromSource = import.meta.url.endsWith('.ts');
    const module: unknown = fromSource
      ? requireUnseen('../../dist/inspector-assets.cjs')
      : require('./inspector-assets.cjs');
    return (module as { readonly ASSETS: readonly Asset[] }).ASSETS;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

function acceptsGzip({ headers }: SidecarRequest): boolean {
  return /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(headers, 'accept-encoding') ?? '');
}
