import fc from 'fast-check';
import { JobErrors } from '../../../src/blocks/jobs/model/errors.ts';
import { isSidecarError } from '../../../src/errors.ts';
import type { JobFields, StoredJob } from '../../../src/timed/job.ts';
import { parsePointInTime } from '../../../src/timed/planning/instants.ts';
import { planJob } from '../../../src/timed/planning/plan.ts';
import { parseSchedule } from '../../../src/timed/planning/schedule.ts';
import { Schedules } from '../../../src/timed/planning/schedule-cache.ts';
import { afterAttempt } from '../../../src/timed/planning/transition.ts';
import { Zones } from '../../../src/timed/planning/zone.ts';
import { formatInstant } from '../../../src/util/duration.ts';
import { type WireName, wireNames } from '../../../src/wire.ts';
import { within } from '../cpu-limit.ts';
import { hostileText, mutated } from '../hostile.ts';
import { pureTarget } from './pure-target.ts';

const LIMIT_MS = 50;
const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

const number = fc.oneof(fc.nat({ max: 60 }).map(String), fc.constantFrom('59', '23', '31', '12', '6', '2', '29', '30'));
const range = fc.tuple(number, number).map((ends) => ends.join('-'));
const element = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  { weight: 4, arbitrary: number },
  { weight: 1, arbitrary: range },
  { weight: 1, arbitrary: fc.tuple(fc.oneof(fc.constant('*'), number, range), number).map((two) => two.join('/')) },
  { weight: 1, arbitrary: fc.constantFrom('jan', 'FEB', 'sun', 'mon-fri', '?', 'L', 'W', '1#2') },
);
const field = fc.array(element, { minLength: 1, maxLength: 3 }).map((elements) => elements.join(','));
const cron = fc.array(field, { minLength: 6, maxLength: 6 }).map((fields) => fields.join(' '));
const zone = fc.constantFrom(
  ...[
    'UTC',
    'Europe/Rome',
    'America/New_York',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Africa/Casablanca',
    'Asia/Kathmandu',
  ],
  ...[
    'America/St_Johns',
    'Pacific/Kiritimati',
    'Antarctica/Troll',
    'Etc/GMT+12',
    '+01:00',
    'No/Where',
    'GMT',
    'America/Sao_Paulo',
  ],
);
const prefixed = fc
  .tuple(fc.constantFrom('TZ=', 'CRON_TZ='), zone, cron)
  .map(([name, place, rest]) => `${name}${place} ${rest}`);
const unit = fc.constantFrom('ns', 'us', 'µs', 'ms', 's', 'm', 'h');
const amount = fc.oneof(
  fc.nat({ max: 100 }).map(String),
  fc.constantFrom('0.5', '.5', '1.', '9223372036854', '0.0000001', '1e3'),
);
const goDuration = fc
  .array(
    fc.tuple(amount, unit).map((two) => two.join('')),
    { minLength: 1, maxLength: 3 },
  )
  .map((parts) => parts.join(''));
const every = goDuration.map((duration) => `@every ${duration}`);
const period = fc.constantFrom(
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
  '@reboot',
);
const PIECES = ['*', '/', '-', ',', ' ', '@', 'TZ=', '0', '99999999999', '\u0000', '\n', '#', '+', 'é'];
const schedule = mutated(fc.oneof(cron, cron, prefixed, every, period), PIECES, 8);

const part = (letter: string): fc.Arbitrary<string> =>
  fc.option(fc.nat({ max: 3_000 }), { freq: 2, nil: null }).map((count) => (count === null ? '' : `${count}${letter}`));
const isoDuration = fc
  .tuple(
    fc.constantFrom('', '-'),
    part('Y'),
    part('M'),
    part('W'),
    part('D'),
    fc.constantFrom('', 'T'),
    part('H'),
    part('M'),
    part('S'),
  )
  .map(([sign, ...parts]) => `${sign}P${parts.join('')}`);
const rfc3339 = fc
  .date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((date) => date.toISOString());
const instant = mutated(
  fc.oneof(rfc3339, goDuration, isoDuration),
  ['T', 'Z', '+23:59', '-', ':60', '.', 'P', '٣', ' '],
  6,
);

const now = fc.oneof(
  fc.integer({ min: Date.UTC(2020), max: Date.UTC(2040) }),
  fc.constantFrom(0, -1, LAST_INSTANT, FIRST_INSTANT, Date.UTC(9999), 2 ** 31 * 1_000),
);

const job: fc.Arbitrary<JobFields> = fc.record(
  {
    schedule,
    dueTime: instant,
    ttl: instant,
    repeats: fc.constantFrom(1, 2, 3),
    failurePolicy: fc.oneof(
      fc.constant({ drop: {} }),
      fc.record({
        constant: fc.record(
          { maxRetries: fc.nat({ max: 3 }), interval: fc.oneof(goDuration, hostileText) },
          { requiredKeys: [] },
        ),
      }),
    ),
    data: fc.constant('1'),
    ifExists: fc.constant('fail' as const),
  },
  { requiredKeys: ['ifExists'] },
) as fc.Arbitrary<JobFields>;

const zones = new Zones();

/** Schedules, instants and the plans of jobs. */
export const schedules = pureTarget('schedules', 400, [
  { cases: fc.tuple(schedule, zone, now), check: ([text, place, at]) => checkSchedule(text, place, at) },
  { cases: fc.tuple(instant, now), check: ([text, at]) => checkInstant(text, at) },
  {
    cases: fc.tuple(job, now, fc.constantFrom<WireName>('sidecar', 'dapr')),
    check: ([fields, at, wire]) => checkPlan(fields, at, wire),
  },
]);

function checkSchedule(text: string, place: string, from: number): void {
  const read = ours(() =>
    within(LIMIT_MS, 'reading', () =>
      parseSchedule(text, /^[A-Z]/.test(place) && place !== 'No/Where' ? place : 'UTC', zones),
    ),
  );
  let after = from;
  for (let times = 0; times < 4 && read !== undefined; times++) {
    const at = within(LIMIT_MS, `the next instant after ${after}`, () => read.next(after, from));
    if (at === undefined) return;
    if (!(at > after) || !Number.isSafeInteger(at)) throw new Error(`${at} follows ${after}`);
    after = at;
  }
}

function checkInstant(text: string, base: number): void {
  const at = within(LIMIT_MS, 'reading', () => parsePointInTime(text, base));
  if (at === undefined) return;
  if (!Number.isSafeInteger(at)) throw new Error(`the instant is ${at}`);
  formatInstant(at);
  if (/^P/.test(text) && !text.includes('-') && at < base) throw new Error(`${text} after ${base} is ${at}`);
  if (/^-P/.test(text) && !text.slice(1).includes('-') && at > base) throw new Error(`${text} before ${base} is ${at}`);
}

/** A job that can be planned can be run, whatever becomes of its runs. */
function checkPlan(fields: JobFields, at: number, wire: WireName): void {
  const { jobs: rules, reasonPrefix } = wireNames(wire);
  const errors = new JobErrors({ reasonPrefix, appId: 'shop', namespace: 'default' });
  const known = new Schedules(() => 'UTC');
  const planned = refused(() =>
    within(LIMIT_MS, 'planning', () => planJob('job', fields, at, { schedules: known, times: rules, errors })),
  );
  if (planned === undefined) return;
  let present: StoredJob = planned;
  let startedAt = Math.max(at, present.tickAt);
  for (let times = 0; times < 5; times++) {
    const everyTick = rules.missedTicks === 'all';
    const read = present.schedule === undefined ? undefined : known.get(present.schedule);
    const end = {
      outcome: times % 2 === 0 ? ('done' as const) : ('failed' as const),
      startedAt,
      now: startedAt + 1,
      schedule: read,
      everyTick,
      maxCrashes: 3,
      keepFailedMs: 7 * 24 * 3_600_000,
      isFinal: false,
      random: () => 0.5,
    };
    const next = within(LIMIT_MS, 'what follows', () => afterAttempt(present, end));
    if (next.kind === 'gone') return;
    if (!Number.isSafeInteger(next.at)) throw new Error(`the next instant is ${next.at}`);
    present = next.job;
    startedAt = Math.max(next.at, startedAt + 1);
  }
}

/** The result; `undefined` when an error says what was expected. */
function ours<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && error.constructor === Error && !/ took \d+ ms/.test(error.message)) return undefined;
    throw error;
  }
}

function refused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isSidecarError(error) && error.status === 400) return undefined;
    throw error;
  }
}
