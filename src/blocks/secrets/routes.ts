import { SidecarError } from '../../errors.ts';
import { jsonResponse, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Wire } from '../../wire.ts';
import { knownMetadata, metadataOfQuery } from '../request-metadata.ts';
import { secretMissing } from './errors.ts';
import type { RequestMetadata, SecretsService } from './secrets-service.ts';

/** The stores of this package use no metadata. */
const KNOWN = knownMetadata([]);

/** The routes of secrets. */
export function secretRoutes(secrets: SecretsService, wire: Wire): Route[] {
  const metadataOf = (request: SidecarRequest): RequestMetadata =>
    metadataOfQuery(request.search, () => request.query, { wire, known: KNOWN });
  const get = async (
    request: SidecarRequest,
    { store, name }: { readonly store: string; readonly name: string },
  ): Promise<SidecarResponse> => {
    if (name === '') throw new SidecarError('ERR_NOT_FOUND', `${request.path} names no secret: expected its name`);
    const values = await secrets.get(store, name, metadataOf(request));
    if (values === undefined) throw secretMissing(store, name);
    return jsonResponse(200, values);
  };
  return [
    route('secrets', ['GET'], '/v1.0/secrets/:store/bulk', async (request, { store }) =>
      jsonResponse(200, await secrets.all(store, metadataOf(request))),
    ),
    route('secrets', ['GET'], '/v1.0/secrets/:store/*name', get),
  ];
}
