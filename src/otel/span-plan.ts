import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import type {
  ActivityOperation,
  ActorOperation,
  BindingEventOperation,
  InvokeOperation,
  JobOperation,
  Operation,
  ProcessOperation,
  PublishOperation,
  StartOperation,
  StoreOperation,
  WorkflowOperation,
} from '../probe.ts';
import type { AttributeCache } from './attribute-cache.ts';
import { ATTRIBUTE, HTTP_METHODS, MESSAGING_SYSTEM, OTHER_ERROR } from './conventions.ts';
import { spanContextOf } from './trace-context.ts';

/** The span of an operation. */
export interface SpanPlan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent: Context;
  readonly links?: Link[];
  readonly startTime?: number;
}

/** Settings of plans. */
export interface SpanRules {
  /** Attributes of all spans. */
  readonly common: Attributes;
  /** Sets of attributes that recur. */
  readonly cache: AttributeCache;
  /** Whether the span that published a message is the parent of those that process it. */
  readonly messageParent: boolean;
}

/** Plans the span of an operation; that of a request is planned elsewhere. */
export function planSpan(operation: Exclude<Operation, { type: 'serve' }>, rules: SpanRules): SpanPlan {
  switch (operation.type) {
    case 'publish':
      return publishPlan(operation, rules);
    case 'process':
      return operation.isBulk ? bulkPlan(operation, rules) : processPlan(operation, rules);
    case 'job':
      return withCommon(jobPlan(operation), rules);
    case 'bindingEvent':
      return withCommon(bindingPlan(operation), rules);
    case 'actor':
      return withCommon(actorPlan(operation), rules);
    case 'start':
      return withCommon(startPlan(operation), rules);
    case 'activity':
      return withCommon(activityPlan(operation), rules);
    case 'workflow':
      return withCommon(workflowPlan(operation), rules);
    case 'invoke':
      return withCommon(invokePlan(operation), rules);
    case 'store':
      return storePlan(operation, rules);
  }
}

function withCommon(plan: SpanPlan, { common }: SpanRules): SpanPlan {
  return { ...plan, attributes: { ...common, ...plan.attributes } };
}

/** The parent is what runs now, else the trace that the publisher has given. A given trace of elsewhere is linked. */
function publishPlan({ pubsubName, topic, trace: given }: PublishOperation, { common, cache }: SpanRules): SpanPlan {
  const active = context.active();
  const current = trace.getSpanContext(active);
  const other = spanContextOf(given);
  const parent = current === undefined && other !== undefined ? trace.setSpanContext(active, other) : active;
  return {
    name: `publish ${topic}`,
    kind: SpanKind.PRODUCER,
    attributes: cache.of(`publish ${pubsubName} ${topic}`, () => ({
      ...common,
      ...messagingAttributes('publish', 'send', { pubsubName, topic }),
    })),
    parent,
    links: current !== undefined && other?.traceId !== current.traceId ? linksTo([other]) : NONE,
  };
}

function messagingAttributes(
  name: string,
  type: string,
  { pubsubName, topic }: { readonly pubsubName: string; readonly topic: string },
): Attributes {
  return {
    [ATTRIBUTE.messagingSystem]: MESSAGING_SYSTEM,
    [ATTRIBUTE.messagingOperation]: name,
    [ATTRIBUTE.messagingType]: type,
    [ATTRIBUTE.topic]: topic,
    [ATTRIBUTE.pubsubName]: pubsubName,
  };
}

function processPlan(operation: ProcessOperation, rules: SpanRules): SpanPlan {
  const [message] = operation.messages;
  const creation = spanContextOf(message?.trace);
  return {
    name: `process ${operation.topic}`,
    kind: SpanKind.CONSUMER,
    attributes: processAttributes(operation, rules),
    parent: rules.messageParent ? childOf(creation) : ROOT_CONTEXT,
    links: linksTo([creation]),
  };
}

/** Messages of one request come from many traces: the span belongs to none of them. */
function bulkPlan(operation: ProcessOperation, rules: SpanRules): SpanPlan {
  const { messages, topic } = operation;
  return {
    name: `process ${topic}`,
    kind: SpanKind.CONSUMER,
    attributes: processAttributes(operation, rules),
    parent: ROOT_CONTEXT,
    links: linksTo(messages.map((message) => spanContextOf(message.trace))),
  };
}

function processAttributes(operation: ProcessOperation, { common, cache }: SpanRules): Attributes {
  const { pubsubName, topic, group } = operation;
  return cache.of(`process ${pubsubName} ${group} ${topic}`, () => ({
    ...common,
    ...messagingAttributes('process', 'process', operation),
    [ATTRIBUTE.group]: group,
  }));
}

/** Attributes that differ from message to message: only for spans that are recorded. */
export function detailsOf(operation: Operation): Attributes | undefined {
  if (operation.type !== 'process') return undefined;
  const { messages, isBulk, attempt } = operation;
  if (isBulk) return { [ATTRIBUTE.batchCount]: messages.length };
  const [message] = messages;
  return {
    [ATTRIBUTE.messageId]: message?.id ?? '',
    [ATTRIBUTE.messageBytes]: message?.data.length ?? 0,
    [ATTRIBUTE.attempt]: attempt,
  };
}

const NONE: Link[] = [];

function jobPlan({ jobName, handler, attempt, dueAt, trace: scheduled }: JobOperation): SpanPlan {
  return {
    name: `job ${jobName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTRIBUTE.jobName]: jobName,
      [ATTRIBUTE.jobHandler]: handler,
      [ATTRIBUTE.attempt]: attempt,
      [ATTRIBUTE.jobDueAt]: new Date(dueAt).toISOString(),
    },
    parent: ROOT_CONTEXT,
    links: linksTo([spanContextOf(scheduled)]),
  };
}

function bindingPlan({ bindingName, trace: brought }: BindingEventOperation): SpanPlan {
  const origin = spanContextOf(brought);
  return {
    name: `binding ${bindingName}`,
    kind: SpanKind.CONSUMER,
    attributes: { [ATTRIBUTE.bindingName]: bindingName },
    parent: childOf(origin),
    links: linksTo([origin]),
  };
}

function actorPlan({ kind, actorType, actorId, name }: ActorOperation): SpanPlan {
  return {
    name: kind === 'method' ? `${actorType}/${name}` : `${kind} ${actorType}/${name}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTRIBUTE.actorType]: actorType,
      [ATTRIBUTE.actorId]: actorId,
      [ATTRIBUTE.actorMethod]: name,
    },
    parent: kind === 'method' ? context.active() : ROOT_CONTEXT,
  };
}

/** A run that follows another one begins a trace: else workflows that never end would be one trace without end. */
function startPlan({ workflowName, instanceId, by, trace: from }: StartOperation): SpanPlan {
  const origin = spanContextOf(from);
  const parents = { caller: context.active(), parent: childOf(origin), previousRun: ROOT_CONTEXT };
  return {
    name: `start ${workflowName}`,
    kind: SpanKind.PRODUCER,
    attributes: workflowAttributes(workflowName, instanceId),
    parent: parents[by],
    links: by === 'previousRun' ? linksTo([origin]) : [],
  };
}

function workflowAttributes(workflowName: string, instanceId: string): Attributes {
  return { [ATTRIBUTE.workflowName]: workflowName, [ATTRIBUTE.workflowId]: instanceId };
}

function activityPlan({ instanceId, activityName, activityId, attempt, trace: started }: ActivityOperation): SpanPlan {
  return {
    name: `activity ${activityName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTRIBUTE.workflowId]: instanceId,
      [ATTRIBUTE.activityName]: activityName,
      [ATTRIBUTE.activityId]: activityId,
      [ATTRIBUTE.attempt]: attempt,
    },
    parent: childOf(spanContextOf(started)),
  };
}

function workflowPlan({ workflowName, instanceId, startedAt, trace: started }: WorkflowOperation): SpanPlan {
  return {
    name: `workflow ${workflowName}`,
    kind: SpanKind.INTERNAL,
    attributes: workflowAttributes(workflowName, instanceId),
    parent: childOf(spanContextOf(started)),
    startTime: startedAt,
  };
}

function invokePlan({ target, method, resends }: InvokeOperation): SpanPlan {
  const peer = peerOf(target);
  const known = methodOf(method);
  return {
    name: `${known === OTHER_ERROR ? 'HTTP' : known} ${peer}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTRIBUTE.httpMethod]: known,
      [ATTRIBUTE.peer]: peer,
      [ATTRIBUTE.serverAddress]: peer,
      ...(resends === 0 ? {} : { [ATTRIBUTE.httpResends]: resends }),
    },
    parent: context.active(),
  };
}

function storePlan({ block, action, storeName }: StoreOperation, { common, cache }: SpanRules): SpanPlan {
  return {
    name: `${block} ${action}`,
    kind: SpanKind.CLIENT,
    attributes: cache.of(`store ${block} ${action} ${storeName}`, () => ({
      ...common,
      [ATTRIBUTE.storeBlock]: block,
      [ATTRIBUTE.storeAction]: action,
      [ATTRIBUTE.storeName]: storeName,
    })),
    parent: context.active(),
  };
}

/** The name of a target; of a URL only the host: a path may hold anything. */
export function peerOf(target: string): string {
  const [, host] = /^https?:\/\/(?:[^/@]*@)?([^/?#]+)/i.exec(target) ?? [];
  return host ?? target;
}

/** A method by which spans and metrics are told apart. */
export function methodOf(method: string): string {
  return HTTP_METHODS.has(method) ? method : OTHER_ERROR;
}

/** A context with a parent from elsewhere; without one, a new trace begins. */
function childOf(parent: SpanContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function linksTo(contexts: readonly (SpanContext | undefined)[]): Link[] {
  const links: Link[] = [];
  for (const one of contexts) if (one !== undefined) links.push({ context: one });
  return links;
}
