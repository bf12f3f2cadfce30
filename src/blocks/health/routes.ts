import { NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Health } from './health.ts';

/** The health probes; they need no API token. */
export function healthRoutes(health: Health): Route[] {
  const healthz = ({ query }: SidecarRequest): SidecarResponse => {
    health.check(query.get('appid') ?? undefined);
    return NO_CONTENT;
  };
  const outbound = (): SidecarResponse => {
    health.checkOutbound();
    return NO_CONTENT;
  };
  return [
    route('healthz', ['GET'], '/v1.0/healthz', healthz, { open: true }),
    route('healthz', ['GET'], '/v1.0/healthz/outbound', outbound, { open: true }),
  ];
}
