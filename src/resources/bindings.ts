import type { BindingDirection } from '../components/binding.ts';
import { isBindingRoute, ROUTE_FORM } from '../components/binding-options.ts';
import { cronBinding, scheduleProblem } from '../components/cron/cron-binding.ts';
import { present } from '../util/defined-only.ts';
import { MetadataReader } from './metadata-reader.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of every binding. */
export const BINDING_NAMES: readonly string[] = ['direction', 'route'];

/** What all bindings have. */
interface CommonMetadata {
  readonly direction?: readonly BindingDirection[];
  readonly route?: string;
}

/** Reads what every binding has. */
export function commonMetadata(reader: MetadataReader): CommonMetadata {
  const route = reader.text('route');
  // As Dapr does.
  const path = route === undefined || route.startsWith('/') ? route : `/${route}`;
  if (path !== undefined && !isBindingRoute(path)) reader.problem(`metadata route must be ${ROUTE_FORM}`);
  return present({ direction: directionOf(reader), route: path });
}

function directionOf(reader: MetadataReader): readonly BindingDirection[] | undefined {
  const text = reader.text('direction');
  if (text === undefined) return undefined;
  const words = text.split(',').map((word) => word.trim().toLowerCase());
  const directions = words.filter((word): word is BindingDirection => word === 'input' || word === 'output');
  if (directions.length < words.length)
    reader.problem('metadata direction must be "input", "output" or "input, output"');
  return directions;
}

/** The metadata of a `bindings.cron`. */
export const cronMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BINDING_NAMES, 'schedule'],
  ignores: [],
};

/** Makes a `bindings.cron`. */
export const makeCronBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const schedule = reader.text('schedule');
  if (schedule === undefined) reader.problem('bindings.cron needs metadata schedule');
  const problem = schedule === undefined ? undefined : scheduleProblem(schedule);
  if (problem !== undefined) reader.problem(`metadata schedule: ${problem}`);
  if (reader.hasProblem || schedule === undefined) return undefined;
  return { ...cronBinding(source.name, { schedule, ...common }), type: source.type };
};
