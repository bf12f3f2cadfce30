import { SidecarError } from '../errors.ts';
import { readBody } from '../http/body.ts';
import { forbidden } from '../http/browser-guard.ts';
import { jsonResponse, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import { parseJsonBody } from '../util/json-text.ts';
import { didYouMean } from '../util/suggest.ts';
import { VERSION } from '../version.ts';
import type { Access, InspectorCaller } from './access/access.ts';
import { checkOrigin, checkWrite } from './access/same-site.ts';
import type { AppsReply } from './api/apps.ts';
import { appOf, type InspectedApp, infoOf } from './inspected-app.ts';
import { subjectOf } from './log-write.ts';
import type { InspectSettings } from './options.ts';
import { answerResponse, knownError } from './reply.ts';
import type { ApiCall, ApiRoute } from './route.ts';

/** The one call that is about no single application. */
const APPS = 'apps';

/** Answers the calls of the management API. */
export class ApiCalls {
  readonly #apps: ReadonlyMap<string, InspectedApp>;
  readonly #access: Access;
  readonly #settings: InspectSettings;

  constructor(apps: ReadonlyMap<string, InspectedApp>, access: Access, settings: InspectSettings) {
    this.#apps = apps;
    this.#access = access;
    this.#settings = settings;
  }

  /** @param path - below `api/v1/` */
  async answer(path: string, request: SidecarRequest): Promise<SidecarResponse> {
    checkOrigin(request);
    const caller = await this.#access.caller(request);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (path === APPS) return jsonResponse(200, this.#listApps(method, caller));
    const { query } = request;
    const app = appOf(this.#apps, query.get('app'));
    const route = routeOf(app, method, path);
    if (route.needs === 'write' && caller.role !== 'write')
      throw forbidden(`you may look, but not act: ${method} ${path} needs the role write`);
    if (method === 'POST') checkWrite(request);
    const body = method === 'POST' ? await this.#bodyOf(request) : undefined;
    const call: ApiCall = { sidecar: app.sidecar, query, body, request, ...caller };
    return route.needs === 'write' ? recorded(route, call) : answerResponse(await route.answer(call));
  }

  #listApps(method: string, { role, who }: InspectorCaller): AppsReply {
    if (method !== 'GET') throw notAllowed(method, APPS, ['GET']);
    const { traceUrl } = this.#settings;
    return {
      apps: [...this.#apps.values()].map(infoOf),
      role,
      ...(who === undefined ? undefined : { who }),
      ...(traceUrl === undefined ? undefined : { traceUrl }),
      version: VERSION,
    };
  }

  async #bodyOf(request: SidecarRequest): Promise<unknown> {
    const bytes = await readBody(request, this.#settings.bodyLimitBytes);
    return parseJsonBody(bytes, (problem, cause) => new SidecarError('ERR_BAD_REQUEST', problem, { cause })).value;
  }
}

function routeOf({ routes }: InspectedApp, method: string, path: string): ApiRoute {
  const ofPath = routes.get(path);
  if (ofPath === undefined) {
    const meant = didYouMean(path, [...routes.keys(), APPS]);
    throw new SidecarError('ERR_NOT_FOUND', `the inspector has no ${JSON.stringify(path)}${meant}`);
  }
  const route = ofPath.get(method);
  if (route === undefined) throw notAllowed(method, path, [...ofPath.keys()]);
  return route;
}

function notAllowed(method: string, path: string, allowed: readonly string[]): SidecarError {
  const allow = allowed.join(', ');
  return new SidecarError('ERR_METHOD_NOT_ALLOWED', `method ${method} is not allowed on ${path}: expected ${allow}`, {
    headers: { allow },
  });
}

/** Answers a call that may change something, and logs who has changed what, and what came of it. */
async function recorded(route: ApiRoute, call: ApiCall): Promise<SidecarResponse> {
  const { sidecar, request, body, who } = call;
  const { logger } = sidecar;
  const { remoteAddress } = request;
  const details = { action: route.path, ...subjectOf(body), who, remoteAddress };
  try {
    const answer = await route.answer(call);
    logger.info({ ...details, result: resultOf(answer) }, 'inspector: write');
    return answerResponse(answer);
  } catch (thrown) {
    const error = knownError(thrown, request, logger);
    // The problem of a request may show a part of its data.
    const reason = error.status === 400 ? undefined : error.message;
    logger.info({ ...details, result: error.code, reason }, 'inspector: write failed');
    throw error;
  }
}

/** The numbers and yes or no of an answer. */
function resultOf(answer: Awaited<ReturnType<ApiRoute['answer']>>): unknown {
  if (!('json' in answer) || typeof answer.json !== 'object' || answer.json === null) return 'done';
  const counts = Object.entries(answer.json).filter(
    ([, value]) => typeof value === 'number' || typeof value === 'boolean',
  );
  return counts.length === 0 ? 'done' : Object.fromEntries(counts);
}
