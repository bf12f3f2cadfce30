import { isUtf8 } from 'node:buffer';
import { SidecarError } from '../../errors.ts';
import { readContent } from '../../http/content.ts';
import { EMPTY_BODY, jsonResponse, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Wire, WorkflowRules } from '../../wire.ts';
import type { InstanceView } from './model/instance.ts';
import type { Payload } from './model/payload.ts';
import type { WorkflowService } from './workflow-service.ts';

/** The dependencies of the routes. */
export interface WorkflowRoutesDeps {
  readonly workflows: WorkflowService;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

/** A workflow's name or an instance's ID, in the workflow component. */
interface RouteTarget {
  readonly component: string;
  readonly id: string;
}

type OnTarget = (request: SidecarRequest, target: RouteTarget) => Promise<SidecarResponse>;

/** Stored; there is nothing to answer. */
const ACCEPTED: SidecarResponse = Object.freeze({ status: 202, headers: Object.freeze({}), body: EMPTY_BODY });

/** Operations on an instance that take no arguments. */
const STEERING = ['terminate', 'pause', 'resume', 'purge'] as const;

/** The routes of workflows. */
export function workflowRoutes(deps: WorkflowRoutesDeps): Route[] {
  const { wire } = deps;
  const within =
    (handle: OnTarget): OnTarget =>
    async (request, target) => {
      checkComponent(target.component, wire);
      return handle(request, target);
    };
  const handlers = {
    start: within((request, { id }) => start(deps, request, id)),
    get: within((_request, { id }) => get(deps, id)),
    raise: (request: SidecarRequest, { event, ...target }: RouteTarget & { event: string }) =>
      within(() => raise(deps, request, target.id, event))(request, target),
    steer: (operation: (typeof STEERING)[number]) =>
      within(async (_request, { id }) => {
        await deps.workflows[operation](id);
        return ACCEPTED;
      }),
    noName: within(() => Promise.reject(missing('ERR_WORKFLOW_NAME_MISSING', 'workflow name'))),
    noId: within(() => Promise.reject(missing('ERR_INSTANCE_ID_PROVIDED_MISSING', 'instance ID'))),
    noEvent: within(() => Promise.reject(missing('ERR_WORKFLOW_EVENT_NAME_MISSING', 'event name'))),
  };
  return ['v1.0', ...wire.aliases.workflows].flatMap((version) => routesUnder(`/${version}/workflows`, handlers));
}

interface Handlers {
  readonly start: OnTarget;
  readonly get: OnTarget;
  readonly raise: (
    request: SidecarRequest,
    target: RouteTarget & { readonly event: string },
  ) => Promise<SidecarResponse>;
  readonly steer: (operation: (typeof STEERING)[number]) => OnTarget;
  readonly noName: OnTarget;
  readonly noId: OnTarget;
  readonly noEvent: OnTarget;
}

function routesUnder(base: string, { start, get, raise, steer, noName, noId, noEvent }: Handlers): Route[] {
  const all = `${base}/:component` as '/:component';
  const one = `${all}/:id` as '/:component/:id';
  const withoutId =
    (
      handle: OnTarget,
      id = '',
    ): ((request: SidecarRequest, component: { readonly component: string }) => Promise<SidecarResponse>) =>
    (request, { component }) =>
      handle(request, { component, id });
  // `…/sidecar//start` is `…/sidecar/start`; that is also the instance `start`, when it is read.
  const nameless = (operation: string, handle: OnTarget): Route[] => [
    route('workflows', ['POST'], `${all}/${operation}` as '/:component', withoutId(handle)),
    route('workflows', ['GET'], `${all}/${operation}` as '/:component', withoutId(get, operation)),
  ];
  return [
    route('workflows', ['GET'], all, withoutId(noId)),
    route('workflows', ['GET'], one, get),
    route('workflows', ['POST'], `${one}/start` as typeof one, start),
    route('workflows', ['POST'], `${one}/raiseEvent` as typeof one, noEvent),
    route('workflows', ['POST'], `${one}/raiseEvent/:event` as `${typeof one}/raiseEvent/:event`, raise),
    ...STEERING.map((operation) => route('workflows', ['POST'], `${one}/${operation}` as typeof one, steer(operation))),
    ...nameless('start', noName),
    ...['raiseEvent', ...STEERING].flatMap((operation) => nameless(operation, noId)),
  ];
}

async function start(deps: WorkflowRoutesDeps, request: SidecarRequest, name: string): Promise<SidecarResponse> {
  const instanceId = instanceIdOf(request, deps.wire.workflows);
  const input = await readText(request, deps.bodyLimitBytes, 'the input');
  // As in Dapr: an instance that has finished is replaced.
  const options = instanceId === undefined ? {} : { instanceId, ifExists: 'replace' as const };
  const started = await deps.workflows.startInstance(name, input, options);
  return jsonResponse(202, { instanceID: started });
}

async function raise(
  { workflows, bodyLimitBytes }: WorkflowRoutesDeps,
  request: SidecarRequest,
  id: string,
  event: string,
): Promise<SidecarResponse> {
  await workflows.raiseEvent(id, event, await readText(request, bodyLimitBytes, 'the event'));
  return ACCEPTED;
}

async function get({ workflows, wire }: WorkflowRoutesDeps, id: string): Promise<SidecarResponse> {
  return jsonResponse(200, renderInstance(await workflows.view(id), wire.workflows));
}

function renderInstance(view: InstanceView, { nameAnswer, propertyPrefix }: WorkflowRules): object {
  return {
    instanceID: view.instanceId,
    ...nameAnswer(view.name),
    createdAt: new Date(view.createdAt).toISOString(),
    lastUpdatedAt: new Date(view.lastUpdatedAt).toISOString(),
    runtimeStatus: view.status,
    properties: propertiesOf(view, propertyPrefix),
  };
}

function propertiesOf({ input, output, customStatus, missingCode, failure }: InstanceView, prefix: string): object {
  const properties = {
    custom_status: customStatus,
    missing_code: missingCode?.map(({ kind, name }) => `${kind} ${JSON.stringify(name)}`).join(', '),
    input,
    output: failure === undefined ? output : undefined,
    'failure.error_type': failure?.errorType,
    'failure.error_message': failure?.message,
    'failure.stack_trace': failure?.stackTrace,
  };
  const present = Object.entries(properties).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([key, value]) => [`${prefix}.${key}`, value]));
}

function instanceIdOf({ query }: SidecarRequest, { emptyIdIsNone }: WorkflowRules): string | undefined {
  const given = query.getAll('instanceID');
  const [id] = given;
  if (given.length <= 1) return id === '' && emptyIdIsNone ? undefined : id;
  throw new SidecarError('ERR_INSTANCE_ID_INVALID', `the query has instanceID ${given.length} times: expected once`);
}

/** The body as text; `undefined` if it is empty. */
async function readText(request: SidecarRequest, limitBytes: number, what: string): Promise<Payload> {
  const body = await readContent(request, limitBytes);
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new SidecarError('ERR_MALFORMED_REQUEST', `${what} is not UTF-8: expected text`);
  return body.toString();
}

function checkComponent(component: string, { workflows }: Wire): void {
  if (component === workflows.component) return;
  throw new SidecarError(
    'ERR_WORKFLOW_COMPONENT_NOT_FOUND',
    `workflow component ${JSON.stringify(component)} does not exist: expected ${workflows.component}`,
  );
}

function missing(
  code: 'ERR_WORKFLOW_NAME_MISSING' | 'ERR_INSTANCE_ID_PROVIDED_MISSING' | 'ERR_WORKFLOW_EVENT_NAME_MISSING',
  what: string,
): SidecarError {
  return new SidecarError(code, `the path has no ${what}`);
}
