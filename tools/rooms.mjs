// Which room of `src` may import which. `node tools/rooms.mjs` checks every import, and that the table in
// docs/architecture.md is the one below; `--update` writes that table. An import that no line allows is an error, so a
// new room needs one line here and is closed until it has one.
//
// Not dependency-cruiser, which has such rules: its releases need Node 22, and this runs where the tests run.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('..', import.meta.url));
const GUIDE = join(repository, 'docs/architecture.md');
const [BEGIN, END] = ['<!-- rooms: node tools/rooms.mjs --update -->\n', '<!-- /rooms -->\n'];

/** Every room may import these, and itself, unless it is `closed`. */
const BASE = ['util', 'errors.ts'];
const FOUNDATION = ['state', 'cluster', 'kernel'];
const TECHNOLOGY = ['components/*.ts', ...FOUNDATION];
const BLOCK = [
  ...['app', 'http', 'security', 'resiliency', 'timed', ...FOUNDATION],
  ...['components/*.ts', 'blocks/*.ts', 'probe.ts', 'events.ts', 'wire.ts'],
];
const ANYTHING = ['*'];

const broker = (contents) => ({ contents, imports: [...TECHNOLOGY, 'components/broker'] });
const block = (contents, more = []) => ({ contents, imports: [...BLOCK, ...more] });

/**
 * The rooms by path: a folder, the files of a folder (`components/*.ts`), or one file. The longest path that fits counts.
 * `imports` has paths of the same forms; `*` is everything.
 */
export const ROOMS = {
  util: { contents: 'Clock, durations, checks, data structures.', imports: ['version.ts'] },
  http: { contents: 'Request and response as plain data, router, guard, HTTP client.', imports: ['probe.ts'] },
  adapters: {
    contents: 'The sidecar on a framework: node, Express, Koa, Fastify, fetch.',
    imports: ['http/message.ts'],
    closed: true,
  },
  app: {
    contents: 'The channel to the application: port, gRPC, listener, fetch function; its monitor and health checks.',
    imports: ['http', 'resiliency', 'probe.ts', 'events.ts'],
  },
  state: { contents: 'The interface `StateStore`, keys, versions, errors.', imports: [] },
  cluster: { contents: 'The hosts of a store, and the shards that each of them owns.', imports: ['state'] },
  kernel: {
    contents:
      'Mechanisms that durable blocks share: batched commits, due entries, owned shards, values that end, read retries.',
    imports: ['cluster', 'state'],
  },
  timed: {
    contents: 'Work that is due at times: schedules, what follows a run, its store and its scheduler.',
    imports: [...FOUNDATION, 'components/*.ts'],
  },
  'components/*.ts': { contents: 'The interfaces of components, and what all of them share.', imports: FOUNDATION },
  'components/local': {
    contents: 'Secrets and configuration in files and the environment, files of applications.',
    imports: TECHNOLOGY,
  },
  'components/cron': { contents: 'Ticks by a schedule.', imports: [...TECHNOLOGY, 'timed'] },
  'components/http': { contents: 'Calls of URLs.', imports: [...TECHNOLOGY, 'http'] },
  'components/memory': { contents: 'Store and pub/sub in memory.', imports: TECHNOLOGY },
  'components/embedded': {
    contents: 'The store in a directory (SQLite).',
    imports: [...TECHNOLOGY, 'components/sqlite-file', 'components/remote', 'version.ts'],
  },
  'components/sqlite-file': {
    contents: "Values of applications in a file of SQLite, in Dapr's format.",
    imports: [...TECHNOLOGY, 'components/embedded'],
  },
  'components/durable': { contents: 'Pub/sub on any store.', imports: TECHNOLOGY },
  'components/key-value': {
    contents: 'Key-value stores and locks for applications on any store.',
    imports: [...TECHNOLOGY, 'components/memory'],
  },
  'components/remote': { contents: 'What stores on a server share.', imports: TECHNOLOGY },
  'components/postgresql': {
    contents: "The store on PostgreSQL, and values of applications in Dapr's format.",
    imports: [...TECHNOLOGY, 'components/remote'],
  },
  'components/broker': { contents: 'What pub/sub components on brokers share.', imports: TECHNOLOGY },
  'components/redis': {
    contents: "Store and pub/sub on Redis, and values of applications in Dapr's format.",
    imports: [...TECHNOLOGY, 'components/remote', 'components/broker'],
  },
  'components/rabbitmq': broker('Pub/sub on RabbitMQ.'),
  'components/jetstream': broker('Pub/sub on NATS JetStream.'),
  'components/mqtt': broker('Pub/sub on MQTT.'),
  'components/kafka': broker('Pub/sub on Kafka.'),
  'components/smtp': { contents: 'Mails.', imports: TECHNOLOGY },
  security: { contents: 'Identity, access control, CORS.', imports: ['http'] },
  resiliency: { contents: 'Time-outs, retries, circuit breakers.', imports: ['http', 'probe.ts'] },
  'blocks/*.ts': block('What blocks share.'),
  'blocks/dapr-only': block('Answers for APIs of Dapr that are not here.'),
  'blocks/health': block('Health of the sidecar.'),
  'blocks/invocation': block('Calls to applications, endpoints and URLs.'),
  'blocks/actors': block('Virtual actors.'),
  'blocks/jobs': block('Jobs.'),
  'blocks/metadata': block('Metadata.'),
  'blocks/placement': block('The table of hosts.'),
  'blocks/pubsub': block('Publish and subscribe.'),
  'blocks/workflow': block('Workflows.'),
  'blocks/state': block('The state API: values of applications by key.'),
  'blocks/secrets': block('The secrets API.'),
  'blocks/configuration': block('The configuration API.'),
  'blocks/bindings': block('The API of bindings: calls of outside systems, and events of them.'),
  'blocks/locks': block('The API of distributed locks.'),
  otel: {
    contents: 'Turns what the probe (`probe.ts`) sees into spans and metrics of OpenTelemetry.',
    imports: ['http', 'components/*.ts', 'probe.ts', 'version.ts'],
  },
  dapr: { contents: "The classes of Dapr's JavaScript SDK for workflows.", imports: ['blocks/workflow'] },
  'inspector/page': {
    contents: 'The page of the inspector, for the browser.',
    imports: ['inspector/api', 'index.ts'],
    closed: true,
  },
  inspector: {
    contents: 'To look and to operate: handler, access, management API (`routes/`, its JSON in `api/`), recorder.',
    imports: ['sidecar', 'http', 'cluster/shards.ts', 'index.ts', 'probe.ts', 'version.ts'],
  },
  resources: {
    contents: 'Translates YAML files into options.',
    imports: ['blocks', 'components', 'security', 'resiliency', 'state', 'wire.ts'],
  },
  sidecar: { contents: 'The options of a sidecar; builds it from its parts, starts and stops it.', imports: ANYTHING },
  kit: {
    contents: 'For those who write components and adapters: the types, and conformance suites.',
    imports: ['adapters', 'cluster/shards.ts', 'components/*.ts', 'components/memory', 'http', 'sidecar', 'state'],
  },
  testing: {
    contents: 'Virtual clock and replaced activities, also for users.',
    imports: ['blocks/workflow/model', 'http'],
  },
  cli: {
    contents: 'The command `insidecar`.',
    imports: [
      ...['adapters', 'app', 'components', 'http', 'inspector', 'otel', 'resources', 'security', 'sidecar', 'state'],
      ...[
        'cluster/shared-state.ts',
        'cluster/move-state.ts',
        'cluster/other-hosts.ts',
        'index.ts',
        'probe.ts',
        'version.ts',
        'wire.ts',
      ],
    ],
  },
};

/**
 * Rooms within a room, the lowest first: none imports one behind it. Those of one text may import each other. `apart`
 * has what a room does not import although it stands above.
 */
export const LEVELS = {
  'blocks/actors': { order: ['model', 'turns', 'storage', 'reminders', 'hosting', 'forwarding'] },
  'blocks/pubsub': { order: ['publishing', 'delivery', 'operating'] },
  'blocks/jobs': { order: ['model', 'running'] },
  timed: { order: ['job.ts', 'planning', 'running'] },
  'blocks/workflow': {
    order: ['model', 'storage', 'replay', 'authoring', 'engine', 'forwarding operations'],
    apart: { replay: ['storage'], authoring: ['storage'] },
  },
};

const isIn = (file, path) =>
  path === '*' ||
  (path.endsWith('*.ts') ? dirname(file) === dirname(path) : file === path || file.startsWith(`${path}/`));

const longest = (paths) => paths.toSorted((one, other) => other.length - one.length)[0];

/** The relative imports of a file: static and dynamic ones, exports, and `require()`. */
function importsOf(text) {
  return [...text.matchAll(/(?:\bfrom|\bimport|\brequire\()\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(([, path]) => path);
}

function levelProblem(file, target) {
  const block = Object.keys(LEVELS).find((one) => isIn(file, one) && isIn(target, one));
  if (block === undefined) return undefined;
  const { order, apart = {} } = LEVELS[block];
  const [room, wanted] = [file, target].map((path) => path.slice(block.length + 1).split('/')[0]);
  const [from, to] = [room, wanted].map((name) => order.findIndex((level) => level.split(' ').includes(name)));
  if (from < 0 || to < 0 || (to <= from && !apart[room]?.includes(wanted))) return undefined;
  return `${room} stands below ${wanted}, or apart from it`;
}

function roomProblem(file, target) {
  const room = longest(Object.keys(ROOMS).filter((path) => isIn(file, path)));
  if (room === undefined) return dirname(file) === '.' ? undefined : `${dirname(file)} has no line in tools/rooms.mjs`;
  const { imports, closed = false } = ROOMS[room];
  const allowed = [...(closed ? [] : BASE), ...imports];
  if (longest(Object.keys(ROOMS).filter((path) => isIn(target, path))) === room) return undefined;
  return allowed.some((path) => isIn(target, path))
    ? undefined
    : `${room} may import ${allowed.join(', ') || 'nothing'}`;
}

/** The imports that are not allowed. `files` has the texts by path below `src`. */
export function problemsOf(files) {
  return [...files].flatMap(([file, text]) =>
    importsOf(text).flatMap((path) => {
      const target = join(dirname(file), path);
      const problem = roomProblem(file, target) ?? levelProblem(file, target);
      return problem === undefined ? [] : [`src/${file} imports src/${target}: ${problem}`];
    }),
  );
}

function sources() {
  const root = join(repository, 'src');
  const paths = readdirSync(root, { recursive: true }).filter((path) => /(?<!\.d)\.tsx?$/.test(path));
  return new Map(paths.map((path) => [relative('.', path), readFileSync(join(root, path), 'utf8')]));
}

function tableOfGuide() {
  const code = (path) => (path === '*' ? 'everything' : `\`${path}\``);
  const rows = Object.entries(ROOMS).map(([path, { contents, imports, closed }]) => {
    const names = imports.map(code).join(', ') || 'nothing';
    return `| \`${path}${path.endsWith('.ts') ? '' : '/'}\` | ${contents} | ${names}${closed ? '; nothing else, not even `util`' : ''} |\n`;
  });
  return `| Room | Contents | May import, besides itself, \`util\` and \`errors.ts\` |\n|---|---|---|\n${rows.join('')}`;
}

function main() {
  const guide = readFileSync(GUIDE, 'utf8');
  const [before, rest] = guide.split(BEGIN);
  const [table, after] = rest.split(END);
  if (process.argv.includes('--update')) writeFileSync(GUIDE, `${before}${BEGIN}${tableOfGuide()}${END}${after}`);
  else if (table !== tableOfGuide()) {
    console.error('docs/architecture.md has another table of rooms: node tools/rooms.mjs --update');
    process.exitCode = 1;
  }
  const files = sources();
  const problems = problemsOf(files);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  console.log(`Rooms: ${files.size} files, ${problems.length} imports that are not allowed.`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
