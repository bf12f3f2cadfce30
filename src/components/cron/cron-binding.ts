import { messageOf } from '../../errors.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { parseSchedule, type Schedule } from '../../timed/planning/schedule.ts';
import { localZoneName, Zones } from '../../timed/planning/zone.ts';
import { Alarm } from '../../util/alarm.ts';
import type { Clock } from '../../util/clock.ts';
import { formatInstant } from '../../util/duration.ts';
import {
  BOOLEAN,
  checkOptions,
  invalidConfiguration,
  type OptionFields,
  required,
  TEXT,
} from '../../util/option-fields.ts';
import type { Binding, BindingDefinition, BindingEvent, BindingOptions, DeliverBindingEvent } from '../binding.ts';
import { BINDING_FIELDS, commonParts } from '../binding-options.ts';
import type { ComponentContext } from '../component.ts';

/** Options of {@link cronBinding}. @public */
export interface CronBindingOptions extends BindingOptions {
  /**
   * When it ticks: five cron fields (from the minute on) or six (from the second on), `@every 90s`, or `@daily` and the
   * like. The zone is that of the process, or stands in front: `TZ=Europe/Rome 0 6 * * *`.
   */
  readonly schedule: string;
  /** Whether a tick comes while the one before it is still being handled. Default `false`: it is left out. */
  readonly overlaps?: boolean | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<CronBindingOptions> = {
  ...BINDING_FIELDS,
  schedule: required(TEXT),
  overlaps: BOOLEAN,
};

const NO_DATA: Uint8Array = new Uint8Array(0);

/**
 * An input binding that ticks by a schedule. Of all hosts of an app ID that share a state store, one gets a tick. Ticks
 * are not stored: one that falls into a time without a running host is left out, as is one whose delivery fails. For
 * work that must not be missed use a job.
 *
 * @param name - the name, and the application's route without `route`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options, and for a schedule that has no tick.
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'shop', components: [cronBinding('tick', { schedule: '@every 10s' })] });
 * sidecar.bindings.on('tick', () => console.log('ten seconds later'));
 * ```
 * @public
 */
export function cronBinding(name: string, options: CronBindingOptions): BindingDefinition {
  const what = `cronBinding ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { schedule: text, overlaps = false } = options;
  const problem = scheduleProblem(text);
  if (problem !== undefined) throw invalidConfiguration(`schedule of ${what}: ${problem}`);
  return {
    ...commonParts(options),
    name,
    type: 'bindings.cron',
    directions: ['input'],
    operations: [],
    open: async (context) =>
      new CronBinding(name, { schedule: readSchedule(text), zone: zoneOf(text), overlaps }, context),
  };
}

/** What is wrong with a schedule; `undefined` if it ticks. */
export function scheduleProblem(text: string): string | undefined {
  try {
    // Leap days are the rarest: eight years apart around 2100.
    const now = Date.now();
    return readSchedule(text).next(now, now) === undefined ? 'it has no tick: expected one that comes' : undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const ZONE = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/s;
const FIVE_FIELDS = /^[^@\s]\S*(?:\s+\S+){4}$/;

/** Five fields are those of crontab: the second is 0. */
function readSchedule(text: string): Schedule {
  const trimmed = text.trim();
  const [, zone, rest = trimmed] = ZONE.exec(trimmed) ?? [];
  const fields = FIVE_FIELDS.test(rest) ? `0 ${rest}` : rest;
  return parseSchedule(zone === undefined ? fields : `TZ=${zone} ${fields}`, localZoneName(), new Zones());
}

function zoneOf(text: string): string {
  return ZONE.exec(text.trim())?.[1] ?? localZoneName();
}

interface CronSettings {
  readonly schedule: Schedule;
  /** For the header. */
  readonly zone: string;
  readonly overlaps: boolean;
}

class CronBinding implements Binding {
  readonly #name: string;
  readonly #settings: CronSettings;
  readonly #clock: Clock;
  readonly #shards: OwnedShards;

  constructor(name: string, settings: CronSettings, { clock, shards }: ComponentContext) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#shards = new OwnedShards(shards);
    // A shard is handed over once its tick has been handled.
    this.#shards.onChange(() => undefined);
  }

  async read(deliver: DeliverBindingEvent, signal: AbortSignal): Promise<void> {
    const { schedule, overlaps } = this.#settings;
    const anchor = this.#clock.now();
    const underWay = new Set<Promise<void>>();
    for (let at = schedule.next(anchor, anchor); at !== undefined; at = schedule.next(this.#clock.now(), anchor)) {
      await reached(this.#clock, at, signal);
      if (signal.aborted) break;
      const tick = this.#tick(deliver).finally(() => underWay.delete(tick));
      underWay.add(tick);
      // The ticks of the meantime are left out.
      if (!overlaps) await tick;
    }
    await Promise.all(underWay);
    await aborted(signal);
  }

  /** Never rejects: the next tick comes all the same. */
  async #tick(deliver: DeliverBindingEvent): Promise<void> {
    const shard = this.#shards.of(`bindings/${this.#name}`);
    if (!shard.isOwned) return;
    shard.begin();
    try {
      await deliver(this.#event());
    } catch {
      // The block has logged it.
    } finally {
      shard.end();
    }
  }

  #event(): BindingEvent {
    const metadata = { readTimeUTC: formatInstant(this.#clock.now()), timeZone: this.#settings.zone };
    return { data: NO_DATA, metadata };
  }

  async close(): Promise<void> {
    this.#shards.stop();
  }
}

/** Resolves at an instant, or when the signal is aborted. */
function reached(clock: Clock, at: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      alarm.off();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const alarm = new Alarm(clock, done);
    signal.addEventListener('abort', done, { once: true });
    alarm.set(at);
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
