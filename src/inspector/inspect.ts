import { SidecarError } from '../errors.ts';
import {
  EMPTY_BODY,
  type Handler,
  type RequestHandler,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import { leavingOwnCalls } from '../http/own-calls.ts';
import type { Sidecar } from '../sidecar/sidecar.ts';
import type { Logger } from '../util/logger.ts';
import { Access } from './access/access.ts';
import { ApiCalls } from './api-calls.ts';
import { Assets } from './assets.ts';
import { inspectedApps } from './inspected-app.ts';
import { type InspectOptions, resolveInspectOptions } from './options.ts';
import { errorResponse, guarded, knownError } from './reply.ts';

/** The inspector of one or more sidecars: what any adapter mounts. @public */
export interface Inspector extends RequestHandler, AsyncDisposable {
  /** Records no more, and ends the streams to viewers. The sidecars go on. A second call is harmless. */
  close(): Promise<void>;
}

/**
 * Makes a page to look at sidecars and to operate them, and the API behind it. Mount it by an adapter, under any prefix.
 * It records what happens while somebody looks; it ends with its sidecars.
 *
 * @example
 * ```ts
 * app.use('/inspector', expressHandler(inspect(sidecar, { token: process.env.INSPECTOR_TOKEN })));
 * ```
 * @throws SidecarError `ERR_CONFIGURATION` for options that cannot be understood.
 * @public
 */
export function inspect(sidecars: Sidecar | readonly Sidecar[], options: InspectOptions = {}): Inspector {
  const settings = resolveInspectOptions(options);
  const list = [sidecars].flat();
  const [first] = list;
  if (first === undefined || !list.every(isSidecar))
    throw new SidecarError('ERR_CONFIGURATION', 'inspect: expected a Sidecar, or a list of at least one');
  const { logger } = first;
  const apps = inspectedApps(list, settings);
  for (const { sidecar, close } of apps.values()) sidecar.events.once('sidecarStopping', close);
  const access = new Access(settings, logger);
  const close = async (): Promise<void> => {
    for (const app of apps.values()) {
      app.sidecar.events.off('sidecarStopping', app.close);
      app.close();
    }
  };
  return {
    handle: leavingOwnCalls(
      handler({ access, assets: new Assets(), calls: new ApiCalls(apps, access, settings), logger }),
    ),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isSidecar(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'pubsub' in given && 'handle' in given;
}

interface HandlerDeps {
  readonly access: Access;
  readonly assets: Assets;
  readonly calls: ApiCalls;
  readonly logger: Logger;
}

const API = '/api/v1/';

function handler(deps: HandlerDeps): Handler {
  return async (request) => {
    try {
      return guarded(await answer(request, deps));
    } catch (error) {
      return guarded(errorResponse(knownError(error, request, deps.logger)));
    }
  };
}

async function answer(request: SidecarRequest, { access, assets, calls }: HandlerDeps): Promise<SidecarResponse> {
  const { path } = request;
  if (path.startsWith(API)) {
    access.checkPlace(request);
    return calls.answer(path.slice(API.length), request);
  }
  if (path === '/') return answerPage(request, access, assets);
  const asset = path.startsWith('/') ? await assets.answer(path.slice(1), request) : undefined;
  if (asset === undefined) return notFound(request);
  access.checkPlace(request);
  checkReads(request);
  await access.checkPage(request);
  return asset;
}

async function answerPage(request: SidecarRequest, access: Access, assets: Assets): Promise<SidecarResponse> {
  access.checkPlace(request);
  checkReads(request);
  const { originalPath = '/', search, query } = request;
  // Relative URLs lead to the inspector only from below it. Relative as well, since a proxy may have changed the path.
  if (!originalPath.endsWith('/')) {
    const folder = originalPath.slice(originalPath.lastIndexOf('/') + 1);
    return redirect(`./${folder}/${search === '' ? '' : `?${search}`}`);
  }
  const token = query.get('token');
  const cookie = token === null ? undefined : access.cookieFor(token, request);
  if (cookie !== undefined) return redirect('./', cookie);
  await access.checkPage(request);
  return (await assets.answer('', request)) ?? notFound(request);
}

function redirect(location: string, cookie?: string): SidecarResponse {
  const headers = { location, ...(cookie === undefined ? undefined : { 'set-cookie': cookie }) };
  return { status: 303, headers, body: EMPTY_BODY };
}

function checkReads({ method, path }: SidecarRequest): void {
  if (method === 'GET' || method === 'HEAD') return;
  throw new SidecarError('ERR_METHOD_NOT_ALLOWED', `method ${method} is not allowed on ${path}: expected GET, HEAD`, {
    headers: { allow: 'GET, HEAD' },
  });
}

function notFound({ method, path }: SidecarRequest): SidecarResponse {
  const error = new SidecarError('ERR_NOT_FOUND', `the inspector has nothing for ${method} ${path}`);
  return { ...errorResponse(error), unrouted: true };
}
