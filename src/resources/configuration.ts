import type { NameResolutionOptions } from '../blocks/invocation/resolution/options.ts';
import { SecretScopes } from '../blocks/secrets/secret-scopes.ts';
import { messageOf } from '../errors.ts';
import { makeAccessControl } from '../security/access-control.ts';
import { type ApiOptions, permittedRoutes } from '../security/api-list.ts';
import type { IdentityOptions } from '../security/identity-options.ts';
import { type IdentityOrigins, readIdentity, tryIdentity } from './identity.ts';
import { readNameResolution } from './name-resolution.ts';
import type { Report, SourceLocation } from './report.ts';
import type { Resource } from './resource.ts';
import { type ConfigurationSpec, UNUSED_SECTIONS } from './schema/configuration.ts';
import { readTelemetry, type TelemetrySection } from './telemetry.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';

/** The content of Configurations. */
export interface ReadConfiguration extends Pick<ConfigurationSpec, 'accessControl' | 'api' | 'secrets'> {
  readonly identity?: IdentityOptions;
  readonly nameResolution?: NameResolutionOptions;
  readonly features: readonly string[];
  readonly telemetry?: TelemetrySettings;
}

/** Merges Configurations: sections of later files replace those of earlier ones. */
export async function readConfiguration(
  resources: readonly Resource[],
  { appliesTelemetry, ...origins }: IdentityOrigins & { readonly appliesTelemetry: boolean },
  report: Report,
): Promise<ReadConfiguration> {
  const merged = new Map<string, { readonly content: unknown; readonly resource: Resource }>();
  for (const resource of resources) {
    const { document, spec } = resource;
    for (const [section, content] of Object.entries(Object(spec))) {
      if (!UNUSED_SECTIONS.includes(section)) merged.set(section, { content, resource });
      else report.note(document.keyLocation(['spec'], section), `spec.${section} has no use here`);
    }
  }
  const sections = [...merged].map(([section, { content }]) => [section, content]);
  // The cast is safe: the schema of the kind was checked for each.
  const {
    accessControl,
    api,
    secrets,
    nameResolution,
    features = [],
    identity,
    tracing,
    metrics,
    metric,
  } = Object.fromEntries(sections) as ConfigurationSpec;
  const resourceOf = (section: string): Resource | undefined => merged.get(section)?.resource;
  const location = (section: string): SourceLocation | undefined =>
    resourceOf(section)?.document.location(['spec', section]);
  tryOut(location('accessControl'), report, (warn) => accessControl && makeAccessControl(accessControl, { warn }));
  tryOut(location('api'), report, () => api && permittedRoutes([], api));
  tryOut(location('secrets'), report, () => secrets && new SecretScopes(secrets));
  const named = resourceOf('nameResolution')?.document;
  const names = nameResolution && named && readNameResolution(nameResolution, named, report);
  const keyed = resourceOf('identity');
  const known = identity && keyed && (await readIdentity(identity, keyed, origins, report));
  tryOut(location('identity'), report, () => known && tryIdentity(known, origins));
  const sectionOf = <Spec>(name: string, spec: Spec): TelemetrySection<NonNullable<Spec>> | undefined => {
    const resource = resourceOf(name);
    return spec && resource ? { name, spec, resource } : undefined;
  };
  const telemetry = readTelemetry(
    { tracing: sectionOf('tracing', tracing), metrics: sectionOf('metrics', metrics) ?? sectionOf('metric', metric) },
    appliesTelemetry,
    report,
  );
  return {
    ...(telemetry === undefined ? {} : { telemetry }),
    ...(accessControl === undefined ? {} : { accessControl }),
    ...(api === undefined ? {} : { api: withoutEmptyList(api) }),
    ...(secrets === undefined ? {} : { secrets }),
    ...(names === undefined ? {} : { nameResolution: names }),
    ...(known === undefined ? {} : { identity: known }),
    features: features.filter(({ enabled = false }) => enabled).map(({ name }) => name),
  };
}

/** An empty list of what is allowed stands for none in a file; in code it is an error. */
function withoutEmptyList({ allowed = [], ...others }: ApiOptions): ApiOptions {
  return allowed.length === 0 ? others : { allowed, ...others };
}

/** Has the user of a section check what its schema cannot express. */
function tryOut(
  location: SourceLocation | undefined,
  report: Report,
  use: (warn: (message: string) => void) => unknown,
): void {
  if (location === undefined) return;
  try {
    use((message) => report.note(location, inSpec(message)));
  } catch (error) {
    report.problem(location, inSpec(messageOf(error)));
  }
}

/** Adapts a message about options to the author of the file. */
function inSpec(message: string): string {
  return message.replace(/^options\./, 'spec.');
}

/**
 * The Configurations of explicitly named files, else the only one among the other resources. Dapr uses one; choosing
 * among several would decide who may do what, so it is an error.
 */
export function chooseConfigurations(
  named: readonly Resource[] | undefined,
  resources: readonly Resource[],
  report: Report,
): readonly Resource[] {
  const found = resources.filter(({ kind }) => kind === 'Configuration');
  if (named !== undefined) {
    for (const { document } of found)
      report.note(document.location(), 'this Configuration is not used: another file is named for it');
    return named;
  }
  const [first, ...others] = found;
  for (const other of others) {
    const message = `Configuration ${JSON.stringify(other.name)} comes beside ${JSON.stringify(first?.name)}: name the file of the one to use (--config, option configPaths)`;
    report.problem(other.document.location(['metadata', 'name']), message);
  }
  return found;
}
