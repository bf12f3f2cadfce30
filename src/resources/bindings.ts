import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BindingDirection } from '../components/binding.ts';
import { isBindingRoute, ROUTE_FORM } from '../components/binding-options.ts';
import { cronBinding, scheduleProblem } from '../components/cron/cron-binding.ts';
import { httpBinding } from '../components/http/http-binding.ts';
import {
  HTTP_URL_FORM,
  type HttpBindingTls,
  type HttpBindingToken,
  isHttpUrl,
} from '../components/http/http-binding-options.ts';
import { type LocalStorageBindingOptions, localStorageBinding } from '../components/local/local-storage-binding.ts';
import { messageOf } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import type { MakeStore, StoreSource } from './store-source.ts';

/** The metadata of every binding. */
export const BINDING_NAMES: readonly string[] = ['direction', 'route'];

/** What all bindings have. */
interface CommonMetadata {
  readonly direction?: readonly BindingDirection[] | undefined;
  readonly route?: string | undefined;
}

/** Reads what every binding has. */
export function commonMetadata(reader: MetadataReader): CommonMetadata {
  const route = reader.text('route');
  // As Dapr does.
  const path = route === undefined || route.startsWith('/') ? route : `/${route}`;
  if (path !== undefined && !isBindingRoute(path)) reader.problem(`metadata route must be ${ROUTE_FORM}`);
  return definedOnly({ direction: directionOf(reader), route: path });
}

function directionOf(reader: MetadataReader): readonly BindingDirection[] | undefined {
  const text = reader.text('direction');
  if (text === undefined) return undefined;
  const words = text.split(',').map((word) => word.trim().toLowerCase());
  const directions = words.filter((word): word is BindingDirection => word === 'input' || word === 'output');
  if (directions.length < words.length)
    reader.problem('metadata direction must be "input", "output" or "input, output"');
  return directions;
}

/** The metadata of a `bindings.cron`. */
export const cronMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BINDING_NAMES, 'schedule'],
  ignores: [],
};

/** Makes a `bindings.cron`. */
export const makeCronBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const schedule = reader.text('schedule');
  if (schedule === undefined) reader.problem('bindings.cron needs metadata schedule');
  const problem = schedule === undefined ? undefined : scheduleProblem(schedule);
  if (problem !== undefined) reader.problem(`metadata schedule: ${problem}`);
  if (reader.hasProblem || schedule === undefined) return undefined;
  return { ...cronBinding(source.name, { schedule, ...common }), type: source.type };
};

/** The metadata of a `bindings.localstorage`. */
export const localStorageMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BINDING_NAMES, 'rootPath', 'maxFileBytes'],
  ignores: [],
};

/** Makes a `bindings.localstorage`. */
export const makeLocalStorageBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const rootPath = reader.text('rootPath');
  if (rootPath === undefined) reader.problem('bindings.localstorage needs metadata rootPath, a directory');
  const maxFileBytes = sizeOf(reader, 'maxFileBytes');
  if (reader.hasProblem || rootPath === undefined) return undefined;
  const options = definedOnly({ rootPath: resolve(source.workingDirectory, rootPath), maxFileBytes });
  // The cast is safe: the path is given.
  const made = localStorageBinding(source.name, { ...common, ...options } as LocalStorageBindingOptions);
  return { ...made, type: source.type };
};

const CERTIFICATES = ['MTLSRootCA', 'MTLSClientCert', 'MTLSClientKey'] as const;

/** The metadata of a `bindings.http`. */
export const httpMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...BINDING_NAMES,
    ...['url', 'errorIfNot2XX', 'responseTimeout', 'maxResponseBodySize', 'securityToken', 'securityTokenHeader'],
    ...CERTIFICATES,
  ],
  ignores: ['MTLSRenegotiation', 'method'],
};

/** Makes a `bindings.http`. */
export const makeHttpBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const url = reader.text('url');
  if (url === undefined) reader.problem('bindings.http needs metadata url');
  else if (!isHttpUrl(url)) reader.problem(`metadata url must be ${HTTP_URL_FORM}`);
  const given = {
    errorIfNot2XX: reader.flag('errorIfNot2XX'),
    timeout: reader.durationMs('responseTimeout', { maxMs: DAY_MS }) || undefined,
    maxAnswerBytes: sizeOf(reader, 'maxResponseBodySize'),
    token: tokenOf(reader),
    tls: tlsOf(reader, source),
  };
  if (reader.hasProblem || url === undefined) return undefined;
  return { ...httpBinding(source.name, { url, ...common, ...definedOnly(given) }), type: source.type };
};

function tokenOf(reader: MetadataReader): HttpBindingToken | undefined {
  const [value, header] = reader.pair('securityToken', 'securityTokenHeader') ?? [];
  if (value === undefined || header === undefined) return undefined;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header))
    reader.problem('metadata securityTokenHeader must be the name of a header');
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(value)) reader.problem('metadata securityToken must be visible ASCII characters');
  return { header, value };
}

/** Each is a text in PEM, or the path of a file with one. */
function tlsOf(reader: MetadataReader, { workingDirectory }: StoreSource): HttpBindingTls | undefined {
  reader.pair('MTLSClientCert', 'MTLSClientKey');
  const [rootCA, certificate, privateKey] = CERTIFICATES.map((name) => {
    const text = reader.text(name);
    if (text === undefined || text.includes('-----BEGIN ')) return text;
    try {
      const content = readFileSync(resolve(workingDirectory, text), 'utf8');
      if (content.includes('-----BEGIN ')) return content;
      reader.problem(`metadata ${name} names a file that is not in PEM`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      reader.problem(`metadata ${name} must be in PEM, or the path of such a file (${code ?? messageOf(error)})`);
    }
    return undefined;
  });
  const tls = definedOnly({ rootCA, certificate, privateKey });
  return Object.keys(tls).length === 0 ? undefined : tls;
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1_024,
  Mi: 1_024 ** 2,
  Gi: 1_024 ** 3,
};

/** A number of bytes, with a unit if need be: `100Mi`. */
function sizeOf(reader: MetadataReader, name: string): number | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  const [, amount = '', unit = ''] = /^(\d{1,12})([kMG]|[KMG]i)?B?$/.exec(text) ?? [];
  const bytes = Number(amount) * (UNITS[unit] ?? 1);
  if (amount === '' || bytes === 0 || !Number.isSafeInteger(bytes)) {
    reader.problem(`metadata ${name} must be a size of at least one byte, such as "100Mi"`);
    return undefined;
  }
  return bytes;
}
