import {
  NAME_RESOLUTION_SCHEMA,
  type NameResolutionOptions,
  readNames,
} from '../blocks/invocation/resolution/options.ts';
import { messageOf } from '../errors.ts';
import { validator } from '../util/schema.ts';
import type { Report } from './report.ts';
import { type NameResolutionSpec, UNNEEDED_RESOLVERS } from './schema/configuration.ts';
import type { YamlDocument } from './yaml-document.ts';

const problemOf = validator(NAME_RESOLUTION_SCHEMA, 'spec.nameResolution');

/** Reads `spec.nameResolution` of a Configuration: `static` and `dns` are ours, `nameformat` is Dapr's. */
export function readNameResolution(
  { component = '', configuration }: NameResolutionSpec,
  document: YamlDocument,
  report: Report,
): NameResolutionOptions | undefined {
  // As in Dapr, where it means the default of the platform.
  if (component === '') return undefined;
  const at = document.location(['spec', 'nameResolution', 'component']);
  if (UNNEEDED_RESOLVERS.includes(component)) {
    report.note(at, `name resolution ${component} has no use here: sidecars that share their state find each other`);
    return undefined;
  }
  // Its content is checked next.
  const options = (
    component === 'nameformat' ? { dns: ofFormat(configuration) } : { [component]: configuration ?? {} }
  ) as NameResolutionOptions;
  const problem = problemOf(options) ?? nameProblem(options);
  if (problem === undefined) return options;
  report.problem(document.location(['spec', 'nameResolution', 'configuration']), problem);
  return undefined;
}

function nameProblem(options: NameResolutionOptions): string | undefined {
  try {
    readNames(options, '');
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Converts a host name with `{appid}` and a port. */
function ofFormat(configuration: NameResolutionSpec['configuration']): object {
  const [template = '', port = ''] = String(configuration?.['format'] ?? '').split(':', 2);
  return { template: template.replaceAll('{appid}', '{appId}'), port: Number(port) };
}
