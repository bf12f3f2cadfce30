import type { Flag } from '../arguments.ts';

/** Which application: flags of all actions. */
export const TARGET_FLAGS: readonly Flag[] = [
  { name: 'app-id', short: 'a', value: 'ID', help: 'the application, if there are several' },
  { name: 'http-port', short: 'H', value: 'PORT', aliases: ['dapr-http-port'], help: "that of the run's HTTP API" },
  { name: 'state-path', value: 'PLACE', aliases: ['state'], help: 'of a stopped application: its state' },
  { name: 'url', value: 'URL', help: 'an inspector that an application mounts' },
  { name: 'token', value: 'TOKEN', help: 'its token (or INSIDECAR_INSPECT_TOKEN)' },
  { name: 'json', help: 'print JSON' },
  { name: 'help', short: 'h', help: 'this text' },
];

export const PAGE_FLAGS: readonly Flag[] = [
  { name: 'limit', short: 'n', value: 'N', help: 'the most rows' },
  { name: 'cursor', value: 'CURSOR', help: 'where the last page ended' },
];

export const YES: Flag = { name: 'yes', short: 'y', help: 'do not ask' };
export const ALL: Flag = { name: 'all', help: 'all that the filters mean' };
export const PUBSUB: Flag = { name: 'pubsub', value: 'NAME', help: 'the component, if there are several' };
