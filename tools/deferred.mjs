// Parts of the code that a start does not need: files of their own, which load with the first use of one of their
// exports. The sources import them as they import all else.
//
// In what is built, `const require_cel = require("./cel.cjs")` becomes an object whose getters require the file. So
// nothing but the time of loading differs, as long as the other files use these exports in functions only;
// checkLoading of build.mjs sees to it.
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { SHARED_BY_TECHNOLOGIES, TECHNOLOGIES } from './entries.mjs';

const WORKFLOW_RUNS = [
  'authoring/(durable-promise|async-program)',
  'engine/(emit-events|turn-commit|turn-intake|turn-result|live-instance|taken-attempts)',
  'forwarding/(line-stream|time-limit|open-waits|host-lane|inbound-session|refusal|instance-watch|instance-line)',
  'operations/(operations|parse-call|purge|rerun|send)',
  'replay/(?!microtask-drain)',
  'storage/(?!begun-attempts|instance-store|layout)',
].join('|');

const STORE_CALLS = [
  'blocks/configuration/(app-teller|change-queue|render-item|same-item|subscription)',
  'blocks/locks/(lock-key|parse-lock)',
  'blocks/state/(?!errors|outbox/outboxes|routes|state-service|state\\.)',
  'components/key-value/(?!index|locks)',
  'components/local/storage-root',
  'util/text-file',
].join('|');

/** The files, and what belongs into each. */
export const DEFERRED = [
  { name: 'cel', test: /\/@marcbachmann\/cel-js\/|\/src\/util\/(cel|cel-budget|re2)\.ts$/ },
  { name: 'durable', test: /\/src\/components\/durable\/(?!durable-pubsub)/ },
  {
    name: 'security',
    test: /\/src\/(app\/grpc-|security\/(?!api-list|cors|exposure|identity-options|make-security))/,
  },
  {
    name: 'job-plans',
    test: /\/src\/(timed\/(planning\/(?!schedule-cache)|running\/codec)|blocks\/jobs\/render-job)/,
  },
  { name: 'store-calls', test: new RegExp(`/src/(${STORE_CALLS})`) },
  { name: 'workflow-runs', test: new RegExp(`/src/blocks/workflow/(${WORKFLOW_RUNS})`) },
];

/** What resource files may name, and few of them do: the file that reads them loads each part with its first use. */
const BY_RESOURCE_FILES = Object.entries({ ...TECHNOLOGIES, ...SHARED_BY_TECHNOLOGIES }).flat();

/** The lines of a built file that load what can wait. */
function waitingIn(path) {
  const names = DEFERRED.map(({ name }) => name);
  if (basename(path) === 'resource-files.cjs') names.push(...BY_RESOURCE_FILES);
  return new RegExp(`^const (require_\\w+) = (require\\("\\./(?:${names.join('|')})\\.cjs"\\));$`, 'gm');
}

const BEYOND_ASCII = /[^\0-\x7f]/g;

export function isDeferred(fileName) {
  return DEFERRED.some(({ name }) => fileName === `${name}.cjs`);
}

const EXPORT =
  /^Object\.defineProperty\(exports, "([\w$]+)", \{\n\tenumerable: true,\n\tget: function\(\) \{\n\t\treturn (.+);\n\t\}\n\}\);\n/gm;

/**
 * Exports as properties instead of getters, which take a call each, and each a part of what V8 inlines into a function.
 * Rolldown's getters are for variables that change; here a variable that `let` declares keeps its own.
 */
function withPlainExports(code) {
  const found = [...code.matchAll(EXPORT)];
  if (found.length === 0) return code;
  const isChanging = (variable) => new RegExp(`^let ${variable.replaceAll('$', '\\$')}\\b`, 'm').test(code);
  const entries = found.map(([, name, value]) =>
    isChanging(value) ? `get ${name}() { return ${value}; }` : `${name}: ${value}`,
  );
  // One object literal: an object that more than 128 properties are added to becomes a slow one.
  const line = `module.exports = { ${entries.join(', ')} };\n`;
  const rest = code.replaceAll(EXPORT, '');
  const [left] = /^Object\.defineProperty\(exports, "(?!__esModule).*/m.exec(rest) ?? [];
  if (left !== undefined) throw new Error(`the object literal would replace this export: ${left}`);
  return rest.replace(/(\n\/\/# sourceMappingURL=.*)?$/, (map) => `${line}${map}`);
}

/** Rewrites a built file. Every line stays where it is, so its source map does too. */
export async function loadOnDemand(path) {
  const code = withPlainExports(await readFile(path, 'utf8'));
  const deferred = code.replaceAll(waitingIn(path), (_all, variable, load) => {
    const names = new Set([...code.matchAll(new RegExp(`\\b${variable}\\.([\\w$]+)`, 'g'))].map(([, name]) => name));
    const loaded = `${variable}_loaded`;
    const getters = [...names].map((name) => `get ${name}() { return (${loaded} ??= ${load}).${name}; }`);
    return `let ${loaded}; const ${variable} = { ${getters.join(', ')} };`;
  });
  await writeFile(path, escaped(deferred));
}

/** For one character beyond ASCII, V8 keeps two bytes for each of a file. */
export function escaped(code) {
  return code.replaceAll(BEYOND_ASCII, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
