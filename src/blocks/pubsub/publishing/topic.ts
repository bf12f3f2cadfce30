import type { Jsonify } from '../../../util/jsonify.ts';
import { checkOptions, field, invalidArgument, type OptionFields, TEXT } from '../../../util/option-fields.ts';
import { shown } from '../../../util/shown.ts';
import { checkSchema, type StandardSchema } from '../../../util/standard-schema.ts';
import type { PublishDestination } from './envelope.ts';

/** A topic and the type of its data. Made by {@link defineTopic}. @public */
export interface TopicDefinition<Input = unknown, Output = Input> {
  /** `topic`. */
  readonly kind: 'topic';
  /** The name of the topic. */
  readonly name: string;
  /** The pub/sub component. `undefined`: the only one of the sidecar. */
  readonly pubsubName: string | undefined;
  /** Checks the data. */
  readonly schema: StandardSchema<Input, Output> | undefined;
}

/** Options of {@link defineTopic}. @public */
export interface TopicOptions<Input = unknown, Output = Input> {
  /**
   * Checks the data when they are published, as JSON carries them, and when they are delivered; the function of a
   * subscription gets what the schema makes of them. Default: nothing is checked.
   */
  readonly schema?: StandardSchema<Input, Output> | undefined;
  /** The name of the pub/sub component. Default: the only one of the sidecar. */
  readonly pubsub?: string | undefined;
}

const TOPIC_FIELDS: OptionFields<TopicOptions> = { schema: field(() => true, ''), pubsub: TEXT };

/**
 * Names a topic and gives its data a type, for publishers and subscribers alike: by a schema, or by a type alone.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is empty, and for unknown or wrong options.
 * @example
 * ```ts
 * const orders = defineTopic<{ id: number }>('orders');
 * await sidecar.pubsub.subscribe(orders, (order) => console.log(order.id));
 * await sidecar.pubsub.publish(orders, { id: 1 });
 * ```
 * @public
 */
export function defineTopic<Input = unknown, Output = Jsonify<Input>>(
  name: string,
  options: TopicOptions<Input, Output> = {},
): TopicDefinition<Input, Output> {
  if (typeof name !== 'string' || name === '')
    throw invalidArgument(`the name of a topic is ${shown(name)}: expected a text that is not empty`, 'name');
  const what = `options of topic ${JSON.stringify(name)}`;
  checkOptions(what, options, TOPIC_FIELDS, invalidArgument);
  const { schema, pubsub: pubsubName } = options;
  checkSchema(schema, 'schema', what);
  return { kind: 'topic', name, pubsubName, schema };
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT` for a value that {@link defineTopic} has not made. */
export function checkTopic(topic: TopicDefinition, what: string): void {
  if (Object(topic).kind === 'topic') return;
  throw invalidArgument(
    `${what} is ${shown(topic)}: expected what defineTopic returns, or the names of a component and a topic`,
    'topic',
  );
}

/** In JavaScript anything may come; what is no object is taken for the name of a component. */
export function isDefinition(to: TopicDefinition | string): to is TopicDefinition {
  return typeof to === 'object' && to !== null;
}

/** A component and a topic by their names, of which one may be missing or be the definition of a topic. */
export function named(method: string, pubsubName: string, topic: unknown): PublishDestination {
  const isOfMessages = method.startsWith('publish');
  if (typeof topic === 'string' || (isOfMessages && !isDefinition(topic as string)))
    return { pubsubName, topic: topic as string };
  const rest = isOfMessages ? 'data' : 'handler';
  throw invalidArgument(
    `the topic of ${method} is ${shown(topic)}: expected ${method}(pubsubName, topic, ${rest}), or ${method}(topic, ${rest}) with what defineTopic returns`,
    'topic',
  );
}
