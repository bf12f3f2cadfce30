import type { Flag } from '../arguments.ts';
import { HELP } from '../run-flags.ts';

const KUBERNETES: Flag = { name: 'kubernetes', short: 'k', refused: 'it runs on this machine only' };
const SOCKET: Flag = {
  name: 'unix-domain-socket',
  short: 'u',
  value: 'DIR',
  refused: 'the HTTP API listens on a port',
};
const RUNTIME_PATH: Flag = { name: 'runtime-path', value: 'DIR', ignored: 'there is no runtime to install' };

const DATA: readonly Flag[] = [
  { name: 'data', short: 'd', value: 'TEXT', help: 'the body, such as JSON' },
  { name: 'data-file', short: 'f', value: 'FILE', help: 'a file with it' },
];

/** The flags of these commands, named after those of Dapr's. */
export const LIST_FLAGS: readonly Flag[] = [
  { name: 'output', short: 'o', value: 'FORMAT', help: 'table (default) or json' },
  ...[KUBERNETES, RUNTIME_PATH, HELP],
];

export const STOP_FLAGS: readonly Flag[] = [
  { name: 'app-id', short: 'a', value: 'ID', help: 'the application; may be repeated' },
  { name: 'run-file', short: 'f', value: 'FILE', help: 'all applications of a multi-app file' },
  ...[KUBERNETES, RUNTIME_PATH, HELP],
];

export const PUBLISH_FLAGS: readonly Flag[] = [
  { name: 'publish-app-id', short: 'i', value: 'ID', help: 'who publishes; default: the only one' },
  { name: 'pubsub', short: 'p', value: 'NAME', help: 'the pub/sub component' },
  { name: 'topic', short: 't', value: 'TOPIC', help: 'the topic' },
  ...DATA,
  { name: 'metadata', short: 'm', value: 'JSON', help: 'such as {"ttlInSeconds":"60"}' },
  ...[SOCKET, RUNTIME_PATH, HELP],
];

export const INVOKE_FLAGS: readonly Flag[] = [
  { name: 'app-id', short: 'a', value: 'ID', help: 'the application; default: the only one' },
  { name: 'method', short: 'm', value: 'PATH', help: 'what to call, such as orders/1?full=true' },
  { name: 'verb', short: 'v', value: 'VERB', help: 'the HTTP method (POST)' },
  ...DATA,
  ...[SOCKET, RUNTIME_PATH, HELP],
];
