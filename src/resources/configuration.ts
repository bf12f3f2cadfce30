import type { NameResolutionOptions } from '../blocks/invocation/resolution/options.ts';
import { messageOf } from '../errors.ts';
import { makeAccessControl } from '../security/access-control.ts';
import { permittedRoutes } from '../security/api-list.ts';
import { readNameResolution } from './name-resolution.ts';
import type { Place, Report } from './report.ts';
import type { Resource } from './resource.ts';
import { type ConfigurationSpec, UNUSED_SECTIONS } from './schema/configuration.ts';
import type { YamlDocument } from './yaml-document.ts';

/** What Configurations say to a sidecar. */
export interface ReadConfiguration extends Pick<ConfigurationSpec, 'accessControl' | 'api'> {
  readonly nameResolution?: NameResolutionOptions;
  readonly features: readonly string[];
}

/** What Configurations say, sections of later files in place of those of earlier ones. */
export function readConfiguration(resources: readonly Resource[], report: Report): ReadConfiguration {
  const merged = new Map<string, { readonly content: unknown; readonly document: YamlDocument }>();
  for (const { document, spec } of resources) {
    for (const [section, content] of Object.entries(spec ?? {})) {
      if (!UNUSED_SECTIONS.includes(section)) merged.set(section, { content, document });
      else report.note(document.keyPlace(['spec'], section), `spec.${section} has no use here`);
    }
  }
  const sections = [...merged].map(([section, { content }]) => [section, content]);
  // The schema of the kind has been checked for each.
  const { accessControl, api, nameResolution, features = [] } = Object.fromEntries(sections) as ConfigurationSpec;
  const accessDocument = merged.get('accessControl')?.document;
  if (accessControl !== undefined && accessDocument !== undefined)
    tryOut(() => makeAccessControl(accessControl), accessDocument.place(['spec', 'accessControl']), report);
  const apiDocument = merged.get('api')?.document;
  if (api !== undefined && apiDocument !== undefined)
    tryOut(() => permittedRoutes([], api), apiDocument.place(['spec', 'api']), report);
  const nameDocument = merged.get('nameResolution')?.document;
  const names = nameResolution && nameDocument && readNameResolution(nameResolution, nameDocument, report);
  return {
    ...(accessControl === undefined ? {} : { accessControl }),
    ...(api === undefined ? {} : { api }),
    ...(names === undefined ? {} : { nameResolution: names }),
    features: features.filter(({ enabled }) => enabled).map(({ name }) => name),
  };
}

/** What a schema cannot say is looked at by what will use it. */
function tryOut(use: () => unknown, place: Place, report: Report): void {
  try {
    use();
  } catch (error) {
    report.problem(place, messageOf(error).replace(/^options\./, 'spec.'));
  }
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
