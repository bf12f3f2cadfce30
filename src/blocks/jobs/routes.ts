import { readContent } from '../../http/content.ts';
import { NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { isKeptFailure } from '../../timed/planning/transition.ts';
import type { Wire } from '../../wire.ts';
import type { JobService } from './job-service.ts';
import { renderJob } from './render-job.ts';

/** The dependencies of {@link jobRoutes}. */
export interface JobRoutesDeps {
  readonly jobs: JobService;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

/** The routes of jobs. */
export function jobRoutes(deps: JobRoutesDeps): Route[] {
  const { wire } = deps;
  type ByName = (request: SidecarRequest, params: { readonly name: string }) => Promise<SidecarResponse>;
  const schedule: ByName = (request, { name }) => scheduleJob(deps, request, name);
  const get: ByName = (_request, { name }) => getJob(deps, name);
  const remove: ByName = (_request, { name }) => deleteJob(deps, name);
  return ['v1.0-alpha1', ...wire.aliases.jobs].flatMap((version) => {
    const all = `/${version}/jobs`;
    const one = `${all}/:name` as '/:name';
    return [
      route('jobs', ['POST'], one, schedule),
      route('jobs', ['GET'], one, get),
      route('jobs', ['DELETE'], one, remove),
      // An empty name has an error of its own.
      route('jobs', ['POST'], all, (request) => schedule(request, { name: '' })),
      route('jobs', ['GET'], all, (request) => get(request, { name: '' })),
      route('jobs', ['DELETE'], all, (request) => remove(request, { name: '' })),
    ];
  });
}

async function scheduleJob(
  { jobs, bodyLimitBytes }: JobRoutesDeps,
  request: SidecarRequest,
  name: string,
): Promise<SidecarResponse> {
  const body = await readContent(request, bodyLimitBytes);
  await jobs.schedule(name, jobs.parser.parseBody(body));
  return NO_CONTENT;
}

async function getJob({ jobs, wire }: JobRoutesDeps, name: string): Promise<SidecarResponse> {
  const found = await jobs.find(name);
  // Over HTTP a job that has failed for good is gone, as with Dapr.
  if (found === undefined || isKeptFailure(found.job)) throw jobs.errors.notFound(name);
  const body = Buffer.from(renderJob(found, wire.jobs));
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

async function deleteJob({ jobs }: JobRoutesDeps, name: string): Promise<SidecarResponse> {
  await jobs.delete(name);
  return NO_CONTENT;
}
