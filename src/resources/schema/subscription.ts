import { flag, kindSchema, scopes, text } from './envelope.ts';

const common = {
  pubsubname: { type: 'string', minLength: 1, description: 'The pub/sub component.' },
  topic: { type: 'string', minLength: 1, description: 'The topic.' },
  metadata: { type: 'object', additionalProperties: text, description: 'Metadata for the component.' },
  deadLetterTopic: { ...text, description: 'The dead-letter topic for messages that cannot be processed.' },
  timeoutMs: {
    type: 'integer',
    minimum: 0,
    description: "The application's time limit for a message, in milliseconds; 0 for none. Not known to Dapr.",
  },
  bulkSubscribe: {
    type: 'object',
    additionalProperties: false,
    description: 'Deliver several messages in one request.',
    properties: {
      enabled: { ...flag, description: 'Required by Dapr and with wire "dapr".' },
      maxMessagesCount: { type: 'integer', description: 'The maximum number of messages in one request. Default 100.' },
      maxAwaitDurationMs: {
        type: 'integer',
        description: 'How long to wait for more messages, in milliseconds. Default 1000.',
      },
    },
  },
};

const routes = {
  type: 'object',
  additionalProperties: false,
  description: 'The routes of messages: the first rule that matches, else the default.',
  properties: {
    rules: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['path'],
        properties: {
          match: { ...text, description: 'A CEL expression over event, the CloudEvent. Empty: always.' },
          path: { ...text, description: "The application's route." },
        },
      },
    },
    default: { ...text, description: 'The route if no rule matches.' },
  },
};

/** `kind: Subscription`, `v1alpha1`: one route. */
export const SUBSCRIPTION_V1_SCHEMA: object = kindSchema({
  kind: 'Subscription',
  versions: ['v1alpha1'],
  description: 'A subscription that delivers to one route of the application.',
  spec: {
    type: 'object',
    additionalProperties: false,
    required: ['pubsubname', 'topic', 'route'],
    properties: { ...common, route: { type: 'string', minLength: 1, description: "The application's route." } },
  },
  beside: { scopes },
});

/** `kind: Subscription`, `v2alpha1`: rules. */
export const SUBSCRIPTION_V2_SCHEMA: object = kindSchema({
  kind: 'Subscription',
  versions: ['v2alpha1'],
  description: 'A subscription that delivers to routes of the application.',
  spec: {
    type: 'object',
    additionalProperties: false,
    required: ['pubsubname', 'topic', 'routes'],
    properties: { ...common, routes },
  },
  beside: { scopes },
});
