import type { NameResolutionOptions } from '../blocks/invocation/resolution/options.ts';
import { messageOf } from '../errors.ts';
import { makeAccessControl } from '../security/access-control.ts';
import { permittedRoutes } from '../security/api-list.ts';
import type { IdentityOptions } from '../security/identity-options.ts';
import { type IdentityOrigins, readIdentity, tryIdentity } from './identity.ts';
import { readNameResolution } from './name-resolution.ts';
import type { Place, Report } from './report.ts';
import type { Resource } from './resource.ts';
import { type ConfigurationSpec, UNUSED_SECTIONS } from './schema/configuration.ts';

/** What Configurations say to a sidecar. */
export interface ReadConfiguration extends Pick<ConfigurationSpec, 'accessControl' | 'api'> {
  readonly identity?: IdentityOptions;
  readonly nameResolution?: NameResolutionOptions;
  readonly features: readonly string[];
}

/** What Configurations say, sections of later files in place of those of earlier ones. */
export async function readConfiguration(
  resources: readonly Resource[],
  origins: IdentityOrigins,
  report: Report,
): Promise<ReadConfiguration> {
  const merged = new Map<string, { readonly content: unknown; readonly resource: Resource }>();
  for (const resource of resources) {
    const { document, spec } = resource;
    for (const [section, content] of Object.entries(spec ?? {})) {
      if (!UNUSED_SECTIONS.includes(section)) merged.set(section, { content, resource });
      else report.note(document.keyPlace(['spec'], section), `spec.${section} has no use here`);
    }
  }
  const sections = [...merged].map(([section, { content }]) => [section, content]);
  // The schema of the kind has been checked for each.
  const {
    accessControl,
    api,
    nameResolution,
    features = [],
    identity,
  } = Object.fromEntries(sections) as ConfigurationSpec;
  const resourceOf = (section: string): Resource | undefined => merged.get(section)?.resource;
  const place = (section: string): Place | undefined => resourceOf(section)?.document.place(['spec', section]);
  tryOut(place('accessControl'), report, (warn) => accessControl && makeAccessControl(accessControl, { warn }));
  tryOut(place('api'), report, () => api && permittedRoutes([], api));
  const named = resourceOf('nameResolution')?.document;
  const names = nameResolution && named && readNameResolution(nameResolution, named, report);
  const keyed = resourceOf('identity');
  const known = identity && keyed && (await readIdentity(identity, keyed, origins, report));
  tryOut(place('identity'), report, () => known && tryIdentity(known, origins));
  return {
    ...(accessControl === undefined ? {} : { accessControl }),
    ...(api === undefined ? {} : { api }),
    ...(names === undefined ? {} : { nameResolution: names }),
    ...(known === undefined ? {} : { identity: known }),
    features: features.filter(({ enabled }) => enabled).map(({ name }) => name),
  };
}

/** What a schema cannot say is looked at by what will use it. */
function tryOut(place: Place | undefined, report: Report, use: (warn: (message: string) => void) => unknown): void {
  if (place === undefined) return;
  try {
    use((message) => report.note(place, inSpec(message)));
  } catch (error) {
    report.problem(place, inSpec(messageOf(error)));
  }
}

/** A message about options, in words for who wrote the file. */
function inSpec(message: string): string {
  return message.replace(/^options\./, 'spec.');
}

/**
 * Those of the files that are named for it, else the one among the other resources: Dapr takes one, and which of
 * several was meant decides who may do what, so it is not guessed.
 */
export function chooseConfigurations(
  named: readonly Resource[] | undefined,
  resources: readonly Resource[],
  report: Report,
): readonly Resource[] {
  const found = resources.filter(({ kind }) => kind === 'Configuration');
  if (named !== undefined) {
    for (const { document } of found)
      report.note(document.place(), 'this Configuration is not used: another file is named for it');
    return named;
  }
  const [first, ...others] = found;
  for (const other of others) {
    const message = `Configuration ${JSON.stringify(other.name)} comes beside ${JSON.stringify(first?.name)}: name the file of the one to use (--config, option configPaths)`;
    report.problem(other.document.place(['metadata', 'name']), message);
  }
  return found;
}
