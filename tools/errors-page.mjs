// Makes docs/errors.md from the comments of the table of codes and of the kinds of errors of a store. It throws for one
// whose comment does not say what to do.
import { readFileSync } from 'node:fs';

const sources = new URL('../src/', import.meta.url);

const HEAD = `# Errors

Every code of an error, with its status over HTTP, its causes and what to do. Made from the comments of the sources by
\`npm run pages\`.

Over HTTP, an error is JSON with \`errorCode\`, \`message\` and, if there are any, \`details\` ([HTTP API](http-api.md#requests-and-errors)). In code, it is a
\`SidecarError\` with the same code as \`code\`. Recognise it with \`isSidecarError(error)\`; \`instanceof\` fails if two copies of the package are loaded. The code is stable, the message is for people.

\`\`\`ts
import { isSidecarError } from 'insidecar';

try {
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
} catch (error) {
  if (isSidecarError(error) && error.code === 'ERR_SHUTTING_DOWN') console.log('publish it again later');
  else throw error;
}
\`\`\`

Where the cause begins with a status, the error has that one instead of the usual one.
`;

const STORE = `
## Errors of a state store

\`start()\`, and stores used in code, reject with a \`StateError\`: a \`SidecarError\` whose code is its \`kind\`.
`;

function partsOf(what, comment) {
  const [cause, fix] = comment
    .replaceAll(/\s*\n\s*\* ?/g, ' ')
    .replaceAll('|', '\\|')
    .split(/\s*\bFix: /);
  if (fix === undefined) throw new Error(`the comment of ${what} does not say what to do: "… Fix: …"`);
  return `${cause.trim()} | ${fix.trim()}`;
}

/** The rows of the table of codes; those of the other wire share the comment of ours. */
function codeRows() {
  const text = readFileSync(new URL('errors.ts', sources), 'utf8');
  const [, table = ''] = /const STATUS_BY_CODE[^{]*\{\n(.*?)\n\};/s.exec(text) ?? [];
  const entries = [...table.matchAll(/(?: {2}\/\*\* (.*?) \*\/\n)? {2}(\w+): (\d+),/gs)];
  return entries.flatMap(([, comment, code, status]) => {
    const own = code.replace(/^DAPR_/, 'SIDECAR_');
    if (own !== code && entries.some(([, , other]) => other === own)) return [];
    if (comment === undefined) throw new Error(`${code} has no comment: its causes, "Fix:", and what to do`);
    const codes = own.startsWith('SIDECAR_') ? `\`${code}\`, \`DAPR_${code.slice(8)}\`` : `\`${code}\``;
    return [`| ${codes} | ${status} | ${partsOf(code, comment)} |`];
  });
}

function kindRows() {
  const text = readFileSync(new URL('state/errors.ts', sources), 'utf8');
  const [, list = ''] = /^ \*\n( \* - .*?)\n \*\n/ms.exec(text) ?? [];
  const kinds = [...list.matchAll(/^ \* - `([\w-]+)`: (.*?)(?=\n \* - |$(?![\s\S]))/gms)];
  return kinds.map(([, kind, comment]) => {
    const code = `ERR_STATE_${kind.toUpperCase().replace('-', '_')}`;
    return `| \`${code}\` | \`${kind}\` | ${partsOf(kind, comment)} |`;
  });
}

/** The text of docs/errors.md. */
export function errorsPage() {
  const codes = ['| Code | Status | Cause | What to do |', '|---|---|---|---|', ...codeRows()];
  const kinds = ['| Code | Kind | Cause | What to do |', '|---|---|---|---|', ...kindRows()];
  return [HEAD, ...codes, STORE, ...kinds, ''].join('\n');
}
