import { jsonResponse, NO_CONTENT, type SidecarRequest } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Wire } from '../../wire.ts';
import { knownMetadata, metadataOfQuery } from '../request-metadata.ts';
import type { ConfigurationRequest, ConfigurationService } from './configuration-service.ts';
import { renderItems } from './render-item.ts';

const KNOWN = knownMetadata(['pgNotifyChannel']);

/** The routes of configuration. */
export function configurationRoutes(configuration: ConfigurationService, wire: Wire): Route[] {
  return ['v1.0', 'v1.0-alpha1'].flatMap((version) => {
    const store = `/${version}/configuration/:store` as '/:store';
    return [
      route('configuration', ['GET'], store, async (request, { store: name }) => {
        const items = await configuration.get(name, requestOf(request, wire));
        return items.size === 0 ? NO_CONTENT : jsonResponse(200, renderItems(items));
      }),
      route('configuration', ['GET'], `${store}/subscribe`, async (request, { store: name }) =>
        jsonResponse(200, { id: await configuration.subscribeApp(name, requestOf(request, wire)) }),
      ),
      route('configuration', ['GET'], `${store}/:id/unsubscribe`, async (_request, { store: name, id }) => {
        if (await configuration.unsubscribe(name, id)) return jsonResponse(200, { ok: true });
        return jsonResponse(500, { ok: false, message: `there is no subscription with the ID ${id}` });
      }),
    ];
  });
}

function requestOf(request: SidecarRequest, wire: Wire): ConfigurationRequest {
  const { search } = request;
  const keys = search === '' ? [] : request.query.getAll('key');
  const metadata = metadataOfQuery(search, () => request.query, { wire, known: KNOWN });
  return { keys: [...new Set(keys)], metadata };
}
