import { parseGoDuration } from '../../../util/duration.ts';
import { isJsonObject, type JsonObject, kindOfJson } from '../../../util/json-text.ts';
import type { JsonSchema } from '../../../util/options-schema.ts';
import { inSchemaCase } from '../../../util/schema-case.ts';
import { shown } from '../../../util/shown.ts';

/** How the actors of a type are kept. */
export interface ActorSettings {
  /** After how long without a call, reminder or timer an actor is deactivated, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** How long the call in flight of a moving actor may still take, in milliseconds; 0: it is not waited for. */
  readonly drainTimeoutMs: number;
  /** How many calls of one chain may be in an actor; `undefined` without reentrancy. */
  readonly maxStackDepth: number | undefined;
}

export const DEFAULT_SETTINGS: ActorSettings = {
  idleTimeoutMs: 3_600_000,
  drainTimeoutMs: 15_000,
  maxStackDepth: undefined,
};

export const DEFAULT_STACK_DEPTH = 32;

/** The fields of one level, before their defaults. */
interface Fields {
  readonly idleTimeoutMs?: number;
  readonly drainTimeoutMs?: number;
  readonly isDrained?: boolean;
  readonly isReentrant?: boolean;
  readonly maxStackDepth?: number;
}

const NAMES: readonly string[] = [
  ...['entities', 'actorIdleTimeout', 'actorScanInterval', 'drainOngoingCallTimeout', 'drainRebalancedActors'],
  ...['reentrancy', 'entitiesConfig', 'remindersStoragePartitions'],
];
const NAME_SCHEMA: JsonSchema = {
  properties: {
    ...Object.fromEntries(NAMES.map((name) => [name, {}])),
    reentrancy: { properties: { enabled: {}, maxStackDepth: {} } },
  },
};
const IN_ANY_CASE: JsonSchema = {
  properties: { ...(NAME_SCHEMA['properties'] as object), entitiesConfig: { items: NAME_SCHEMA } },
};

/**
 * Reads what an application has answered for its actors: the settings of each type. What cannot be read is told to
 * `warn`, and its default is used.
 *
 * @throws Error if the answer as a whole cannot be read.
 */
export function parseConfiguration(
  answer: unknown,
  keysInAnyCase: boolean,
  warn: (problem: string) => void,
): ReadonlyMap<string, ActorSettings> {
  if (!isJsonObject(answer)) throw new Error(`the answer is ${kindOfJson(answer)}: expected an object`);
  const root = keysInAnyCase ? (inSchemaCase(answer, IN_ANY_CASE) as JsonObject) : answer;
  const types = listOfTexts(root['entities'], 'entities', warn);
  const ofRoot = readFields(root, '', warn);
  const settings = new Map(types.map((type) => [type, settingsOf(ofRoot)]));
  const { entitiesConfig = [] } = root;
  if (!Array.isArray(entitiesConfig)) {
    warn(`entitiesConfig is ${kindOfJson(entitiesConfig)}: expected an array`);
    return settings;
  }
  for (const [index, entry] of (entitiesConfig as readonly unknown[]).entries()) {
    const at = `entitiesConfig[${index}]`;
    if (!isJsonObject(entry)) {
      warn(`${at} is ${kindOfJson(entry)}: expected an object`);
      continue;
    }
    const own = readFields(entry, `${at}.`, warn);
    for (const type of listOfTexts(entry['entities'], `${at}.entities`, warn)) {
      if (settings.has(type)) settings.set(type, settingsOf({ ...ofRoot, ...own }));
      else warn(`${at} names the type ${shown(type)}, which is not in entities: it is left out`);
    }
  }
  return settings;
}

function settingsOf({ isDrained = true, isReentrant = false, ...fields }: Fields): ActorSettings {
  const { idleTimeoutMs, drainTimeoutMs } = DEFAULT_SETTINGS;
  return {
    idleTimeoutMs: fields.idleTimeoutMs ?? idleTimeoutMs,
    drainTimeoutMs: isDrained ? (fields.drainTimeoutMs ?? drainTimeoutMs) : 0,
    maxStackDepth: isReentrant ? (fields.maxStackDepth ?? DEFAULT_STACK_DEPTH) : undefined,
  };
}

function readFields(given: JsonObject, at: string, warn: (problem: string) => void): Fields {
  const fields: { -readonly [Name in keyof Fields]: Fields[Name] } = {};
  const read = <T>(
    from: JsonObject,
    name: string,
    as: (value: unknown) => T | undefined,
    expected: string,
  ): T | undefined => {
    const value = Object.hasOwn(from, name) ? from[name] : undefined;
    if (value === undefined || value === null) return undefined;
    const result = as(value);
    if (result === undefined) warn(`${at}${name} is ${shown(value)}: expected ${expected}, and its default is used`);
    return result;
  };
  const idleTimeoutMs = read(given, 'actorIdleTimeout', durationOf, 'a duration such as 60m');
  const drainTimeoutMs = read(given, 'drainOngoingCallTimeout', durationOrZero, 'a duration such as 15s');
  const isDrained = read(given, 'drainRebalancedActors', booleanOf, 'true or false');
  if (idleTimeoutMs !== undefined) fields.idleTimeoutMs = idleTimeoutMs;
  if (drainTimeoutMs !== undefined) fields.drainTimeoutMs = drainTimeoutMs;
  if (isDrained !== undefined) fields.isDrained = isDrained;
  const reentrancy = read(given, 'reentrancy', (value) => (isJsonObject(value) ? value : undefined), 'an object');
  if (reentrancy === undefined) return fields;
  const isReentrant = read(reentrancy, 'enabled', booleanOf, 'true or false');
  const maxStackDepth = read(reentrancy, 'maxStackDepth', depthOf, 'an integer of 1 or more');
  if (isReentrant !== undefined) fields.isReentrant = isReentrant;
  if (maxStackDepth !== undefined) fields.maxStackDepth = maxStackDepth;
  return fields;
}

function durationOf(value: unknown): number | undefined {
  return durationOrZero(value) || undefined;
}

function durationOrZero(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? parseGoDuration(value) : undefined;
  return ms === undefined || ms < 0 || !Number.isFinite(ms) ? undefined : ms;
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function depthOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined;
}

function listOfTexts(value: unknown, at: string, warn: (problem: string) => void): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    warn(`${at} is ${kindOfJson(value)}: expected an array of names`);
    return [];
  }
  const texts = (value as readonly unknown[]).filter((one): one is string => typeof one === 'string' && one !== '');
  if (texts.length < value.length) warn(`${at} has elements that are not names: they are left out`);
  return [...new Set(texts)];
}
