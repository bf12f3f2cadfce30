import { constants } from 'node:buffer';
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { SidecarError } from '../errors.ts';
import { shown } from '../util/shown.ts';
import { readBody, tooLarge } from './body.ts';
import { headerOf, type SidecarRequest } from './message.ts';

type Decoder = (bytes: Uint8Array, options: ZlibOptions, done: (error: Error | null, decoded: Buffer) => void) => void;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress],
]);

/**
 * Reads the whole content of a request that is for the sidecar: its body, decoded, up to `limitBytes` before and after
 * that.
 *
 * @throws SidecarError `ERR_BODY_TOO_LARGE`, `ERR_CONTENT_ENCODING` (415) for an encoding that is not known, or
 * `ERR_BAD_REQUEST` for a body that is not encoded so.
 */
export function readContent(request: SidecarRequest, limitBytes: number): Promise<Buffer> {
  const encoding = headerOf(request.headers, 'content-encoding');
  return encoding === undefined ? readBody(request, limitBytes) : readEncoded(request, encoding, limitBytes);
}

async function readEncoded(request: SidecarRequest, encoding: string, limitBytes: number): Promise<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return readBody(request, limitBytes);
  const decode = DECODERS.get(name);
  if (decode === undefined)
    throw new SidecarError(
      'ERR_CONTENT_ENCODING',
      `content-encoding is ${shown(encoding)}: expected one of gzip, deflate, br, identity`,
    );
  const body = await readBody(request, limitBytes);
  return body.length === 0 ? body : decoded(body, name, decode, limitBytes);
}

function decoded(body: Buffer, name: string, decode: Decoder, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    decode(body, { maxOutputLength: Math.min(limitBytes, constants.MAX_LENGTH) }, (error, content) => {
      if (error === null) resolve(content);
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') reject(tooLarge(limitBytes));
      else
        reject(new SidecarError('ERR_BAD_REQUEST', `the body is not ${name}, its content-encoding`, { cause: error }));
    });
  });
}
