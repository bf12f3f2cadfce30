import type { Jsonify } from '../../../util/jsonify.ts';
import { ANYTHING, checkOptions, invalidArgument, type OptionFields } from '../../../util/option-fields.ts';
import { checkSchema, invalidData, isPromise, parseWith, type StandardSchema } from '../../../util/standard-schema.ts';
import { checkName } from './definition.ts';
import { INVALID_DATA, TaskFailedError } from './failure.ts';
import { type Payload, textOfValue, valueOfText } from './payload.ts';

/** An event of workflows and the type of its data. Made by {@link defineEvent}. @public */
export interface EventDefinition<Input = unknown, Output = Input> {
  /** `event`. */
  readonly kind: 'event';
  /** The name of the event. */
  readonly name: string;
  /** Checks the data. */
  readonly schema: StandardSchema<Input, Output> | undefined;
}

/** Options of {@link defineEvent}. @public */
export interface EventOptions<Input = unknown, Output = Input> {
  /**
   * Checks the data when the event is raised in code, as JSON carries them, and when a workflow gets it: `waitForEvent`
   * answers what the schema makes of them. It is part of the code of the workflow: it must be deterministic, and must not
   * be asynchronous. Default: nothing is checked.
   */
  readonly schema?: StandardSchema<Input, Output> | undefined;
}

/** The data of an event; they may be left out if their type allows `undefined`. @public */
export type EventData<Data> = undefined extends Data ? [data?: Data] : [data: Data];

const FIELDS: OptionFields<EventOptions> = { schema: ANYTHING };

/**
 * Names an event of workflows and gives its data a type, for those who raise it and those who wait for it alike: by a
 * schema, or by a type alone.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is empty or longer than 256 characters, and for unknown or
 * wrong options.
 * @example
 * ```ts
 * const approved = defineEvent<{ by: string }>('approved');
 * const approval = defineWorkflow('approval', async (ctx) => (await ctx.waitForEvent(approved)).by);
 * const run = await sidecar.workflows.start(approval);
 * await run.raise(approved, { by: 'Ada' });
 * ```
 * @public
 */
export function defineEvent<Input = unknown, Output = Jsonify<Input>>(
  name: string,
  options: EventOptions<Input, Output> = {},
): EventDefinition<Input, Output> {
  checkName('event', name);
  const what = `options of event ${JSON.stringify(name)}`;
  checkOptions(what, options, FIELDS, invalidArgument);
  checkSchema(options.schema, 'schema', what);
  return { kind: 'event', name, schema: options.schema };
}

/** An event by its name, or its definition. */
export type EventOrName = EventDefinition | string;

/** The name of an event. In JavaScript it may be anything: where names are checked it is refused. */
export function nameOfEvent(event: EventOrName): string {
  return isDefinition(event) ? event.name : event;
}

/**
 * The data of an event as text. Checked as the workflow will get them.
 *
 * @throws SidecarError `ERR_INVALID_DATA` for data that do not fit the schema of the event.
 */
export async function textOfEvent(event: EventOrName, data: unknown): Promise<Payload> {
  const text = textOfValue(data, 'the event');
  if (isDefinition(event) && event.schema !== undefined)
    await parseWith(event.schema, valueOfText(text), (problem) =>
      invalidData(`the data of event ${JSON.stringify(event.name)} ${problem}`),
    );
  return text;
}

/**
 * The data of an event that workflow code gets. They may have come over HTTP, where no schema checks them.
 *
 * @throws TaskFailedError of type `InvalidDataError` for data that do not fit the schema of the event.
 */
export function dataOfEvent(event: EventOrName, text: Payload): unknown {
  const value = valueOfText(text);
  if (!isDefinition(event) || event.schema === undefined) return value;
  const refuse = (message: string): Error =>
    new TaskFailedError(`event ${JSON.stringify(event.name)}`, { errorType: INVALID_DATA, message });
  const data = parseWith(event.schema, value, (problem) => refuse(`the data ${problem}`));
  if (!isPromise(data)) return data;
  data.catch(() => undefined);
  throw refuse('its schema is asynchronous: workflow code cannot wait for it');
}

function isDefinition(event: EventOrName): event is EventDefinition {
  return Object(event).kind === 'event';
}
