import { isDurationWithin } from './duration.ts';

/** Whether a value is valid. `false` may also mean that this check cannot tell. */
export type Fit = (value: unknown) => boolean;

type Fields = Readonly<Record<string, unknown>>;

const UNKNOWN: Fit = () => false;
const ANY: Fit = () => true;

/** The check of a keyword with this value, in this schema. */
type Word = (rule: unknown, schema: Fields) => Fit;

/** The keywords of JSON Schema that are checked without Ajv. */
const WORDS: ReadonlyMap<string, Word> = new Map<string, Word>([
  ['type', (rule) => typeFit([rule].flat())],
  // For messages and documents; checks nothing.
  ['description', () => ANY],
  ['expects', () => ANY],
  ['isSecret', () => ANY],
  ['const', (rule) => (typeof rule === 'string' ? (value) => value === rule : UNKNOWN)],
  ['enum', (rule) => (Array.isArray(rule) ? (value) => rule.includes(value) : UNKNOWN)],
  ['isDuration', (bounds) => durationFit(bounds as readonly [number, number])],
  ['isFunction', () => (value) => typeof value === 'function'],
  ['minimum', (least) => whenNumber((value) => value >= Number(least))],
  ['maximum', (most) => whenNumber((value) => value <= Number(most))],
  // Count characters, not UTF-16 units.
  ['minLength', (least) => whenText((value) => [...value].length >= Number(least))],
  ['maxLength', (most) => whenText((value) => [...value].length <= Number(most))],
  ['pattern', (rule) => patternFit(String(rule))],
  ['minItems', (least) => whenList((value) => value.length >= Number(least))],
  ['maxItems', (most) => whenList((value) => value.length <= Number(most))],
  ['items', (rule) => itemsFit(fastValidator(rule))],
  ['required', (names) => requiredFit(names as readonly string[])],
  ['properties', (rule) => propertiesFit(rule as Fields)],
  ['additionalProperties', (rule, { properties }) => othersFit(rule, (properties ?? {}) as Fields)],
]);

const TYPES: ReadonlyMap<unknown, Fit> = new Map<unknown, Fit>([
  ['string', (value) => typeof value === 'string'],
  ['boolean', (value) => typeof value === 'boolean'],
  ['number', Number.isFinite],
  ['integer', Number.isInteger],
  ['null', (value) => value === null],
  ['array', Array.isArray],
  ['object', isFields],
]);

/**
 * A fast validator for schemas of a few simple keywords. Loading Ajv takes a third of a sidecar's start time; it is
 * then needed only for values that do not pass here and for other keywords.
 */
export function fastValidator(schema: unknown): Fit {
  if (!isFields(schema)) return UNKNOWN;
  const checks = Object.entries(schema).map(([word, rule]) => WORDS.get(word)?.(rule, schema) ?? UNKNOWN);
  return (value) => {
    for (const check of checks) if (!check(value)) return false;
    return true;
  };
}

function typeFit(names: readonly unknown[]): Fit {
  const checks = names.map((name) => TYPES.get(name) ?? UNKNOWN);
  return (value) => {
    for (const check of checks) if (check(value)) return true;
    return false;
  };
}

function durationFit([minMs, maxMs]: readonly [number, number]): Fit {
  return (value) => isDurationWithin(value, minMs, maxMs);
}

function patternFit(source: string): Fit {
  const pattern = new RegExp(source, 'u');
  return whenText((value) => pattern.test(value));
}

function itemsFit(item: Fit): Fit {
  return whenList((value) => {
    for (const one of value) if (!item(one)) return false;
    return true;
  });
}

function requiredFit(names: readonly string[]): Fit {
  return whenFields((value) => {
    for (const name of names) if (value[name] === undefined) return false;
    return true;
  });
}

function propertiesFit(schemas: Fields): Fit {
  const checks = Object.entries(schemas).map(([name, schema]) => ({ name, check: fastValidator(schema) }));
  return whenFields((value) => {
    for (const { name, check } of checks) if (value[name] !== undefined && !check(value[name])) return false;
    return true;
  });
}

/** Fields not named in `properties`. Inherited fields count, as in Ajv, unless all objects have them. */
function othersFit(rule: unknown, known: Fields): Fit {
  const check = fastValidator(rule);
  return whenFields((value) => {
    for (const name in value)
      if (!Object.hasOwn(known, name) && !check(value[name]) && !isOfAllObjects(name, value)) return false;
    return true;
  });
}

function isOfAllObjects(name: string, value: Fields): boolean {
  return name in Object.prototype && !Object.hasOwn(value, name);
}

function whenNumber(check: (value: number) => boolean): Fit {
  return (value) => typeof value !== 'number' || check(value);
}

function whenText(check: (value: string) => boolean): Fit {
  return (value) => typeof value !== 'string' || check(value);
}

function whenList(check: (value: readonly unknown[]) => boolean): Fit {
  return (value) => !Array.isArray(value) || check(value);
}

function whenFields(check: (value: Fields) => boolean): Fit {
  return (value) => !isFields(value) || check(value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
