import { isUtf8 } from 'node:buffer';
import { SidecarError } from '../../errors.ts';
import { readContent } from '../../http/content.ts';
import { jsonResponse, NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { MAX_ATTRIBUTE_BYTES, type Metadata } from './metadata.ts';

export function metadataRoutes(metadata: Metadata, bodyLimitBytes: number): Route[] {
  const limitBytes = Math.min(MAX_ATTRIBUTE_BYTES, bodyLimitBytes);
  const put = (request: SidecarRequest, { attributeName }: { attributeName: string }): Promise<SidecarResponse> =>
    putAttribute(metadata, request, attributeName, limitBytes);
  return [
    route('metadata', ['GET'], '/v1.0/metadata', () => jsonResponse(200, metadata.get())),
    route('metadata', ['PUT'], '/v1.0/metadata', (request) => put(request, { attributeName: '' })),
    route('metadata', ['PUT'], '/v1.0/metadata/:attributeName', put),
  ];
}

async function putAttribute(
  metadata: Metadata,
  request: SidecarRequest,
  name: string,
  limitBytes: number,
): Promise<SidecarResponse> {
  if (name === '')
    throw new SidecarError('ERR_NOT_FOUND', 'attribute name is empty: expected /v1.0/metadata/<attributeName>');
  const body = await readContent(request, limitBytes);
  if (!isUtf8(body))
    throw new SidecarError('ERR_BAD_REQUEST', `value of attribute ${name} is not UTF-8: expected text`);
  metadata.set(name, body.toString());
  return NO_CONTENT;
}
