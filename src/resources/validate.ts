import { createRequire } from 'node:module';
import type { ErrorObject, Schema, ValidateFunction } from 'ajv';
import { type Fit, fastValidator } from '../util/fast-validate.ts';
import { didYouMean } from '../util/suggest.ts';
import { unextended } from '../util/unextended.ts';
import type { Report, SourceLocation } from './report.ts';
import { OWN_WORDS } from './schema/envelope.ts';
import type { YamlDocument, YamlPath } from './yaml-document.ts';

const require = createRequire(import.meta.url);

/** Checks one document and reports all problems; returns their paths, none if the document is valid. */
export type DocumentCheck = (document: YamlDocument, report: Report) => readonly YamlPath[];

export interface DocumentCheckOptions {
  /** Fields of Dapr's without effect here: noted, not rejected. */
  readonly unused?: ReadonlySet<string>;
}

/**
 * Makes a check that compiles the schema for the first document that does not plainly fit: with Ajv, a start takes half
 * as long again. Beside JSON Schema's keywords it supports `isSecret`, for values that messages must not repeat, and
 * `expects`, a description of a pattern.
 */
export function documentCheck(schema: Schema, { unused }: DocumentCheckOptions = {}): DocumentCheck {
  let fits: Fit | undefined;
  let validate: ValidateFunction | undefined;
  return (document, report) => {
    fits ??= fastValidator(schema);
    if (fits(document.value)) return [];
    validate ??= unextended(() => compile(schema));
    if (validate(document.value)) return [];
    const wrong: YamlPath[] = [];
    for (const error of validate.errors ?? []) {
      // The errors inside a condition already say which branch failed.
      if (error.keyword === 'if') continue;
      if (error.keyword === 'additionalProperties' && unused?.has(error.params['additionalProperty']) === true) {
        const { location, field } = unknownField(document, error);
        report.note(location, `${field} has no use here`);
        continue;
      }
      wrong.push(wrongPath(error));
      tell(document, error, report);
    }
    return wrong;
  };
}

function compile(schema: Schema): ValidateFunction {
  const { Ajv } = require('ajv') as typeof import('ajv');
  // A test checks the schemas themselves; doing it here would slow down every start.
  const fast = { meta: false, validateSchema: false, code: { optimize: false } } as const;
  const ajv = new Ajv({
    allErrors: true,
    ownProperties: true,
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    ...fast,
  });
  for (const [keyword, schemaType] of Object.entries(OWN_WORDS)) ajv.addKeyword({ keyword, schemaType });
  return ajv.compile(schema);
}

function tell(document: YamlDocument, error: ErrorObject, report: Report): void {
  const path = pathOf(error);
  const field = fieldName(path);
  switch (error.keyword) {
    case 'additionalProperties': {
      const unknown = unknownField(document, error);
      return report.problem(unknown.location, `unknown field ${unknown.field}${unknown.hint}`);
    }
    case 'required':
      return report.problem(document.location(path), `${joined(field, error.params['missingProperty'])} is missing`);
    case 'enum': {
      const values = error.params['allowedValues'] as readonly unknown[];
      const allowed = values.map(String);
      const expected = `expected ${allowed.join(', ')}`;
      const isQuoted = values.some((value) => value !== error.data && String(value) === error.data);
      const meant = typeof error.data === 'string' ? didYouMean(error.data, allowed) : '';
      const hint = isQuoted ? ', without quotes' : meant;
      return report.problem(document.location(path), `${field} is ${shown(document, error)}: ${expected}${hint}`);
    }
    case 'pattern': {
      const expected = error.parentSchema?.['expects'] ?? `something that matches ${error.params['pattern']}`;
      return report.problem(document.location(path), `${field} is ${shown(document, error)}: expected ${expected}`);
    }
    default:
      return report.problem(document.location(path), `${field} ${error.message}: actual is ${shown(document, error)}`);
  }
}

function unknownField(
  document: YamlDocument,
  error: ErrorObject,
): { location: SourceLocation; field: string; hint: string } {
  const path = pathOf(error);
  const name = String(error.params['additionalProperty']);
  const known = Object.keys(error.parentSchema?.['properties'] ?? {});
  return {
    location: document.keyLocation(path, name),
    field: joined(fieldName(path), name),
    hint: didYouMean(name, known),
  };
}

/** For an unknown field the path is that of the field, not of its parent. */
function wrongPath(error: ErrorObject): YamlPath {
  const path = pathOf(error);
  return error.keyword === 'additionalProperties' ? [...path, String(error.params['additionalProperty'])] : path;
}

/** RFC 6901, section 4. */
function pathOf(error: ErrorObject): YamlPath {
  const steps = error.instancePath.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Such as `spec.metadata[0].name`; `the document` for the whole document. */
export function fieldName(path: YamlPath): string {
  return path.reduce<string>((field, step) => joined(field, step), '') || 'the document';
}

function joined(field: string, step: string | number): string {
  if (/^\d+$/.test(String(step))) return `${field}[${step}]`;
  return field === '' || field === 'the document' ? String(step) : `${field}.${step}`;
}

/** The scalar as written in the file, so that the value of an expanded variable is not shown. */
function shown(document: YamlDocument, error: ErrorObject): string {
  const { data } = error;
  if (data === null) return 'null';
  if (Array.isArray(data)) return 'a sequence';
  if (typeof data === 'object') return 'a mapping';
  if (error.parentSchema?.['isSecret'] === true) return `a ${typeof data}`;
  const written = document.text(pathOf(error)) ?? '';
  const text = typeof data === 'string' ? JSON.stringify(written) : written;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
