import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import { isSidecarError } from '../errors.ts';
import type {
  Ending,
  InvokeOperation,
  JobOperation,
  Operation,
  OperationFailure,
  ProcessOperation,
  PublishOperation,
  ServeOperation,
  StoreOperation,
} from '../probe.ts';
import { AttributeCache } from './attribute-cache.ts';
import { ATTRIBUTE, DURATION_BOUNDS_S, MESSAGING_SYSTEM, OTHER_ERROR } from './conventions.ts';
import { methodOf, peerOf } from './span-plan.ts';

/** An operation that has ended. */
export interface Ended {
  readonly operation: Operation;
  readonly ending: Ending;
  readonly durationS: number;
  /** How many messages it has sent. */
  readonly sent: number;
  /** When it has ended, by the sidecar's clock. */
  readonly now: number;
}

/** The instruments that operations are counted and measured with. */
export class Instruments {
  readonly #common: Attributes;
  readonly #cache = new AttributeCache();
  readonly #sent: Counter;
  readonly #sending: Histogram;
  readonly #consumed: Counter;
  readonly #processing: Histogram;
  readonly #jobRun: Histogram;
  readonly #jobLag: Histogram;
  readonly #bindingEvent: Histogram;
  readonly #turn: Histogram;
  readonly #workflow: Histogram;
  readonly #activity: Histogram;
  readonly #client: Histogram;
  readonly #server: Histogram;
  readonly #retries: Counter;
  readonly #commit: Histogram;
  readonly #store: Histogram;

  constructor(meter: Meter, common: Attributes) {
    const duration = (name: string, description: string): Histogram =>
      meter.createHistogram(name, {
        description,
        unit: 's',
        advice: { explicitBucketBoundaries: DURATION_BOUNDS_S },
      });
    const count = (name: string, unit: string, description: string): Counter =>
      meter.createCounter(name, { unit, description });
    this.#common = common;
    this.#sent = count('messaging.client.sent.messages', '{message}', 'Messages that were published.');
    this.#sending = duration('messaging.client.operation.duration', 'Time that publishes took.');
    this.#consumed = count('messaging.client.consumed.messages', '{message}', 'Messages by the outcome of an attempt.');
    this.#processing = duration('messaging.process.duration', 'Time that attempts to process messages took.');
    this.#jobRun = duration('insidecar.job.run.duration', 'Time that attempts to run jobs took.');
    this.#jobLag = duration('insidecar.job.run.lag', 'How late first attempts to run jobs began.');
    this.#bindingEvent = duration(
      'insidecar.binding.delivery.duration',
      'Time that attempts to have events of bindings handled took.',
    );
    this.#turn = duration('insidecar.actor.turn.duration', 'Time that turns of actors took.');
    this.#workflow = duration('insidecar.workflow.duration', 'Time from the start to the end of runs of workflows.');
    this.#activity = duration('insidecar.workflow.activity.duration', 'Time that attempts to run activities took.');
    this.#client = duration('http.client.request.duration', 'Time until calls of other services were answered.');
    this.#server = duration('http.server.request.duration', 'Time until requests were answered.');
    this.#retries = count('insidecar.resiliency.retries', '{retry}', 'Retries by resiliency policies.');
    this.#store = duration('insidecar.store.operation.duration', 'Time that calls to stores of components took.');
    this.#commit = duration('insidecar.state.commit.duration', 'Time that commits of the state store took.');
  }

  ended(of: Ended): void {
    const { operation, durationS, ending } = of;
    switch (operation.type) {
      case 'publish':
        return this.#published(operation, of);
      case 'process':
        return this.#processed(operation, of);
      case 'job':
        return this.#jobDone(operation, of);
      case 'bindingEvent':
        return this.#bindingEvent.record(durationS, {
          ...this.#base(ending),
          [ATTRIBUTE.bindingName]: operation.bindingName,
        });
      case 'actor':
        return this.#turn.record(durationS, { ...this.#base(ending), [ATTRIBUTE.actorType]: operation.actorType });
      case 'activity':
        return this.#activity.record(durationS, {
          ...this.#base(ending),
          [ATTRIBUTE.activityName]: operation.activityName,
        });
      case 'workflow':
        return this.#workflow.record((of.now - operation.startedAt) / 1_000, {
          ...this.#base(ending),
          [ATTRIBUTE.workflowName]: operation.workflowName,
          [ATTRIBUTE.workflowStatus]: ending.outcome ?? '',
        });
      case 'invoke':
        return this.#invoked(operation, of);
      case 'serve':
        return this.#served(operation, of);
      case 'store':
        return this.#called(operation, of);
      case 'start':
        return undefined;
    }
  }

  #base(ending: Ending): Attributes {
    const type = errorTypeOf(ending);
    return type === undefined ? this.#common : { ...this.#common, [ATTRIBUTE.errorType]: type };
  }

  #published(operation: PublishOperation, { durationS, ending, sent }: Ended): void {
    const key = `publish ${errorTypeOf(ending) ?? ''} ${operation.pubsubName} ${operation.topic}`;
    const make = (): Attributes => ({ ...this.#base(ending), ...messaging('publish', operation) });
    this.#sending.record(durationS, this.#cache.of(key, make));
    if (sent > 0) this.#cache.count(this.#sent, key, make, sent);
  }

  #processed(operation: ProcessOperation, { durationS, ending }: Ended): void {
    const { pubsubName, topic, group } = operation;
    const key = `process ${errorTypeOf(ending) ?? ''} ${pubsubName} ${group} ${topic}`;
    const make = (): Attributes => ({
      ...this.#base(ending),
      ...messaging('process', operation),
      [ATTRIBUTE.group]: group,
    });
    this.#processing.record(durationS, this.#cache.of(key, make));
    for (const outcome of ending.settled ?? UNSETTLED)
      this.#cache.count(this.#consumed, `${outcome} ${key}`, () => ({ ...make(), [ATTRIBUTE.outcome]: outcome }));
  }

  #jobDone({ handler, attempt, dueAt }: JobOperation, { ending, durationS, now }: Ended): void {
    const attributes = { ...this.#base(ending), [ATTRIBUTE.jobHandler]: handler };
    this.#jobRun.record(durationS, { ...attributes, [ATTRIBUTE.outcome]: ending.outcome ?? '' });
    if (attempt === 1) this.#jobLag.record(Math.max(0, (now - dueAt) / 1_000 - durationS), attributes);
  }

  #invoked({ method, target }: InvokeOperation, { ending, durationS }: Ended): void {
    const peer = peerOf(target);
    const key = `invoke ${errorTypeOf(ending) ?? ''} ${ending.status} ${method} ${peer}`;
    const make = (): Attributes => ({
      ...this.#base(ending),
      ...http(method, ending),
      [ATTRIBUTE.serverAddress]: peer,
    });
    this.#client.record(durationS, this.#cache.of(key, make));
  }

  #served({ method, route }: ServeOperation, { ending, durationS }: Ended): void {
    const key = `serve ${errorTypeOf(ending) ?? ''} ${ending.status} ${method} ${route}`;
    const make = (): Attributes => ({
      ...this.#base(ending),
      ...http(method, ending),
      [ATTRIBUTE.httpRoute]: route,
      [ATTRIBUTE.urlScheme]: 'http',
    });
    this.#server.record(durationS, this.#cache.of(key, make));
  }

  #called({ block, action, storeName }: StoreOperation, { ending, durationS }: Ended): void {
    const key = `store ${errorTypeOf(ending) ?? ''} ${block} ${action} ${storeName}`;
    const make = (): Attributes => ({
      ...this.#base(ending),
      [ATTRIBUTE.storeBlock]: block,
      [ATTRIBUTE.storeAction]: action,
      [ATTRIBUTE.storeName]: storeName,
    });
    this.#store.record(durationS, this.#cache.of(key, make));
  }

  /** Tells the counters what was counted since the last time. */
  flush(): void {
    this.#cache.flush();
  }

  retried({ targetType, target }: { readonly targetType: string; readonly target: string }): void {
    this.#retries.add(1, {
      ...this.#common,
      [ATTRIBUTE.targetType]: targetType,
      [ATTRIBUTE.target]: peerOf(target),
    });
  }

  committed(durationMs: number, error: unknown): void {
    const failure = error === undefined ? {} : { [ATTRIBUTE.errorType]: errorTypeOfThrown(error) };
    this.#commit.record(durationMs / 1_000, { ...this.#common, ...failure });
  }
}

const UNSETTLED = ['unsettled'] as const;

function messaging(name: string, of: { readonly pubsubName: string; readonly topic: string }): Attributes {
  return {
    [ATTRIBUTE.messagingSystem]: MESSAGING_SYSTEM,
    [ATTRIBUTE.messagingOperation]: name,
    [ATTRIBUTE.topic]: of.topic,
    [ATTRIBUTE.pubsubName]: of.pubsubName,
  };
}

function http(method: string, { status }: Ending): Attributes {
  const known = { [ATTRIBUTE.httpMethod]: methodOf(method) };
  return status === undefined ? known : { ...known, [ATTRIBUTE.httpStatus]: status };
}

/** The kind of a failure, of which there are few; `undefined` without a failure. */
export function errorTypeOf({ failure, status }: Ending): string | undefined {
  if (status !== undefined && status >= 500) return String(status);
  return failure === undefined ? undefined : errorTypeOfFailure(failure);
}

function errorTypeOfFailure({ status, thrown }: OperationFailure): string {
  if (status !== undefined) return String(status);
  return thrown === undefined ? OTHER_ERROR : errorTypeOfThrown(thrown.value);
}

function errorTypeOfThrown(value: unknown): string {
  if (isSidecarError(value)) return value.code;
  if (value instanceof Error) return value.name;
  const { errorType } = (value ?? {}) as { readonly errorType?: unknown };
  return typeof errorType === 'string' ? errorType : OTHER_ERROR;
}
