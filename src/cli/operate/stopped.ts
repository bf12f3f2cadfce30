import { isUint8Array } from 'node:util/types';
import { watchHosts } from '../../cluster/other-hosts.ts';
import { sharedState } from '../../cluster/shared-state.ts';
import { durablePubSub } from '../../components/durable/durable-pubsub.ts';
import type { PubSubDefinition } from '../../components/pubsub.ts';
import { request } from '../../http/message.ts';
import { inspect } from '../../inspector/index.ts';
import { Sidecar } from '../../sidecar/sidecar.ts';
import { isStateError } from '../../state/errors.ts';
import type { StateStore } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { openLog } from '../log.ts';
import { labels } from '../output.ts';
import { openState, stateAt } from '../state-place.ts';
import type { Answered, ApiRequest, InspectorClient } from './api-client.ts';
import { namesIn } from './stored-names.ts';

/** Which application of which state. */
export interface StoppedApp {
  /** A directory, the URL of a server, or a resource file. */
  readonly statePath: string;
  /** `undefined` for the only one. */
  readonly appId: string | undefined;
  /** The command, for its errors. */
  readonly about: string;
}

/** The inspector of a stopped application. */
export interface StoppedInspector extends InspectorClient {
  /** Where the application is, for people. */
  readonly where: string;
}

/**
 * The inspector of a stopped application, in this process: over a sidecar that reads and changes its state but runs
 * nothing.
 *
 * @throws Failure if there is no such state, or the application runs; StateError if another process has it open.
 */
export async function stoppedInspector(app: StoppedApp, context: CommandContext): Promise<StoppedInspector> {
  const { clock, stderr } = context;
  const flag = { name: 'state-path', appId: app.appId, command: app.about, isThere: true };
  const definition = await stateAt(app.statePath, flag, context);
  const loggers = openLog({ level: 'error', asJson: false, output: stderr, clock, label: labels(['insidecar']) });
  const logger = loggers('insidecar');
  const state = sharedState(definition);
  await using store = await openState(state, { clock, logger }).catch(refuseInUse);
  const place = definition.place ?? JSON.stringify(app.statePath);
  const { appIds, components } = await namesIn(store);
  const appId = appMeant(appIds, app.appId, place);
  await refuseRunning(appId, store, context);
  const definitions = components.map((name) => atRest(durablePubSub(name)));
  const sidecar = new Sidecar({ appId, state, components: definitions, logger });
  await sidecar.startAtRest();
  const inspector = inspect(sidecar, { access: 'open' });
  const where = `is stopped, state in ${place}`;
  return { where, send: (call) => send(inspector, call), [Symbol.asyncDispose]: () => sidecar.stop() };
}

/** A host beside those that run would take work from them, and does none. */
async function refuseRunning(appId: string, store: StateStore, { clock, stderr }: CommandContext): Promise<void> {
  let isTold = false;
  const onWaiting = (hosts: number): void => {
    if (!isTold)
      stderr.write(`waiting up to 20 s to see whether ${appId} runs: ${count(hosts, 'host')} left a record\n`);
    isTold = true;
  };
  const isMeant = (host: { readonly appId: string }): boolean => host.appId === appId;
  const { alive } = await watchHosts({ store, clock, isMeant, onWaiting });
  if (alive.length === 0) return;
  throw new CommandFailure(
    `${appId} runs with that state (${count(alive.length, 'host')}): ask it with --url of its inspector, or without --state-path if it runs with --inspect. Or stop it.`,
  );
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Advice for a command: what runs is asked, not opened. */
function refuseInUse(error: unknown): never {
  if (!isStateError(error) || error.kind !== 'in-use') throw error;
  const what = error.message.replace(/ One process at a time.*$/s, '');
  const advice =
    'Stop that process; or leave out --state-path if it runs with --inspect, or say --url of its inspector.';
  throw new CommandFailure(`${what} ${advice}`, EXIT.failed, error);
}

function appMeant(known: readonly string[], appId: string | undefined, place: string): string {
  const [only, ...others] = known;
  if (only === undefined) throw new CommandFailure(`there is nothing in ${place}`);
  const names = known.join(', ');
  if (appId !== undefined && !known.includes(appId))
    throw new CommandFailure(`there is nothing of ${JSON.stringify(appId)} in ${place}: expected one of ${names}`);
  if (appId === undefined && others.length > 0)
    throw new CommandFailure(`there are several applications in ${place}: say which with --app-id, one of ${names}`);
  return appId ?? only;
}

/** A component's own work after a while is not done here: messages are kept as they are. */
function atRest(definition: PubSubDefinition): PubSubDefinition {
  return { ...definition, open: (context) => definition.open({ ...context, clock: withoutTimers(context.clock) }) };
}

function withoutTimers(clock: Clock): Clock {
  return { now: () => clock.now(), setTimeout: () => ({ cancel: () => undefined }) };
}

async function send(inspector: Pick<Sidecar, 'handle'>, { method, path, body }: ApiRequest): Promise<Answered> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json', 'insidecar-inspector': '1' };
  const response = await inspector.handle(request(method, `/${path}`, { headers, body }));
  const chunks: Uint8Array[] = [];
  if (isUint8Array(response.body)) chunks.push(response.body);
  else for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, text: Buffer.concat(chunks).toString() };
}
