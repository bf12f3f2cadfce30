import type { Attributes, BatchObservableResult, Meter, Observable, ObservableResult } from '@opentelemetry/api';
import type { BreakerGauge, ObservedSidecar } from '../probe.ts';
import { LruCache } from '../util/lru.ts';
import { ATTRIBUTE } from './conventions.ts';

/** A sidecar has at most 1,000 breakers for URLs, 100 for each application, and those of its components. */
const MAX_CHANGED_BREAKERS = 5_000;
const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** Gauges that are read whenever metrics are collected. Returns a function that ends that. */
export function observeGauges(
  meter: Meter,
  { gauges, events, clock }: ObservedSidecar,
  { common, flush }: { readonly common: Attributes; readonly flush: () => void },
): () => void {
  const ends: (() => void)[] = [flush];
  const gauge = (name: string, unit: string, description: string, read: () => number | undefined): void => {
    const observe = (result: ObservableResult): void => {
      // Counters that are updated now still belong to this collection.
      flush();
      const value = read();
      if (value !== undefined) result.observe(value, common);
    };
    ends.push(watch(meter.createObservableGauge(name, { unit, description }), observe));
  };
  gauge('insidecar.workflow.active', '{workflow}', 'Workflows in memory.', () => gauges()?.workflows());
  gauge('insidecar.workflow.activity.active', '{activity}', 'Activities that run or wait.', () =>
    gauges()?.activities(),
  );
  gauge('insidecar.shards.owned', '{shard}', 'Shards that this host owns.', () => gauges()?.shards());
  gauge('insidecar.app.healthy', '1', '1 if the application is healthy, else 0.', () => {
    const isHealthy = gauges()?.isAppHealthy();
    return isHealthy === undefined ? undefined : Number(isHealthy);
  });
  ends.push(observeBreakers(meter, { gauges, events }, common), observeQueues(meter, { gauges, clock }, common));
  return () => {
    for (const end of ends) end();
  };
}

/** Read from the components with each collection: those count a queue only up to a limit. */
function observeQueues(
  meter: Meter,
  { gauges, clock }: Pick<ObservedSidecar, 'gauges' | 'clock'>,
  common: Attributes,
): () => void {
  const messages = meter.createObservableGauge('insidecar.queue.messages', {
    unit: '{message}',
    description: 'Messages in queues.',
  });
  const age = meter.createObservableGauge('insidecar.queue.oldest_age', {
    unit: 's',
    description: 'Age of the first message of queues.',
  });
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const queues = await gauges()
      ?.queues()
      // While the store fails there are no figures.
      .catch(() => undefined);
    for (const { pubsubName, topic, group, ready, delayed, inFlight, oldestAt } of queues ?? []) {
      const queue = {
        ...common,
        [ATTRIBUTE.pubsubName]: pubsubName,
        [ATTRIBUTE.topic]: topic,
        [ATTRIBUTE.group]: group,
      };
      for (const [state, count] of Object.entries({ ready, delayed, in_flight: inFlight }))
        result.observe(messages, count, { ...queue, [ATTRIBUTE.queueState]: state });
      if (oldestAt !== undefined) result.observe(age, Math.max(0, clock.now() - oldestAt) / 1_000, queue);
    }
  };
  meter.addBatchObservableCallback(observe, [messages, age]);
  return () => meter.removeBatchObservableCallback(observe, [messages, age]);
}

type BreakerPlace = Pick<BreakerGauge, 'targetType' | 'target' | 'endpoint'>;

/** Breakers are known from their first change on; until then they are closed. Those that are dropped are forgotten. */
function observeBreakers(
  meter: Meter,
  { gauges, events }: Pick<ObservedSidecar, 'gauges' | 'events'>,
  common: Attributes,
): () => void {
  const nameOf = ({ targetType, target, endpoint }: BreakerPlace): string =>
    JSON.stringify([targetType, target, endpoint]);
  // Bounded, since metrics may never be collected.
  const changed = new LruCache<true>(MAX_CHANGED_BREAKERS);
  const note = (place: BreakerPlace): void => changed.set(nameOf(place), true);
  events.on('circuitBreakerChanged', note);
  const description = 'State of circuit breakers: 0 closed, 1 half-open, 2 open.';
  const unwatch = watch(
    meter.createObservableGauge('insidecar.resiliency.breaker.state', { unit: '1', description }),
    (result) => {
      for (const breaker of gauges()?.breakers() ?? []) {
        if (changed.get(nameOf(breaker)) === undefined) continue;
        result.observe(BREAKER_STATES[breaker.state], {
          ...common,
          [ATTRIBUTE.targetType]: breaker.targetType,
          [ATTRIBUTE.target]: breaker.target,
          [ATTRIBUTE.endpoint]: breaker.endpoint,
          [ATTRIBUTE.policy]: breaker.policy,
        });
      }
    },
  );
  return () => {
    events.off('circuitBreakerChanged', note);
    unwatch();
  };
}

function watch(instrument: Observable, read: (result: ObservableResult) => void): () => void {
  instrument.addCallback(read);
  return () => instrument.removeCallback(read);
}
