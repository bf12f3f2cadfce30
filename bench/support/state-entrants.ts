/** Those that bench/state-api.ts compares on one store: over HTTP, in code, daprd, and the least that it can cost. */
import { type Contender, startContender } from './contender.ts';
import { ExchangeLoad, type ExchangeRequest, requestBytes } from './exchange-load.ts';
import { orderOf } from './payload.ts';
import { type Kind, SidecarCommand } from './sidecar-command.ts';
import type { Place, Store } from './state-places.ts';
import { fillOverHttp, loadOf, type StateTask } from './state-work.ts';
import type { Entrant } from './turns.ts';

/** Who is compared, in the order of the columns. */
export const WHO = ['http', 'code', 'daprd', 'floor'] as const;
export type Who = (typeof WHO)[number];

/** How they are started. */
export interface StartSettings {
  /** The path of daprd. Without it, it is left out. */
  readonly daprd: string | undefined;
  readonly directory: string;
  readonly profile: string | undefined;
}

/** An entrant for one row. */
export interface OpenEntrant extends Entrant {
  readonly close: () => void | Promise<void>;
}

/** Starts the command of either. */
export function startCommand(
  kind: Kind,
  { component }: Pick<Place, 'component'>,
  { daprd = '', directory }: StartSettings,
): Promise<SidecarCommand> {
  const components = { insidecar: [component('insidecar')], daprd: [component('daprd')] };
  return SidecarCommand.start(kind, { daprd, scheduler: undefined, directory }, { components });
}

interface Processes {
  readonly commands: Partial<Readonly<Record<Who, SidecarCommand>>>;
  readonly inCode: Partial<Readonly<Record<Who, Contender>>>;
}

/** The processes of a store. */
export class StoreEntrants implements AsyncDisposable {
  readonly #place: Place;
  readonly #commands: Processes['commands'];
  readonly #inCode: Processes['inCode'];
  readonly #hasDriver: boolean;

  private constructor(place: Place, processes: Processes, hasDriver: boolean) {
    this.#place = place;
    this.#commands = processes.commands;
    this.#inCode = processes.inCode;
    this.#hasDriver = hasDriver;
  }

  static async start(store: Store, place: Place, settings: StartSettings): Promise<StoreEntrants> {
    const argument = JSON.stringify({ store, url: place.url });
    const hasDriver = store === 'redis' || store === 'postgresql';
    const worker = (name: string): Promise<Contender> =>
      startContender('./state-worker.ts', name, { argument, profile: settings.profile });
    const daprd = settings.daprd === undefined ? {} : { daprd: await startCommand('daprd', place, settings) };
    const commands = { http: await startCommand('insidecar', place, settings), ...daprd };
    const inCode = { code: await worker('insidecar'), ...(hasDriver ? { floor: await worker('by hand') } : {}) };
    return new StoreEntrants(place, { commands, inCode }, hasDriver);
  }

  /** Opens an entrant for a task; `undefined` for one that is not there. */
  async open(who: Who, task: StateTask): Promise<OpenEntrant | undefined> {
    const { [who]: command } = this.#commands;
    if (command !== undefined) return this.#overHttp(command, task);
    const { [who]: contender } = this.#inCode;
    if (contender !== undefined) return this.#inProcess(contender, task);
    return who === 'floor' && !this.#hasDriver ? emptyServer(task) : undefined;
  }

  async #overHttp(command: SidecarCommand, task: StateTask): Promise<OpenEntrant> {
    await fillOverHttp(command.port, task.callers, task.valueBytes);
    const load = await loadOf(command.port, task);
    return {
      work: (seconds) => load.run(seconds),
      cpuMicros: () => command.cpuMicros + this.#place.serverMicros(),
      close: () => load.close(),
    };
  }

  #inProcess(contender: Contender, task: StateTask): OpenEntrant {
    return {
      work: async (seconds) => {
        const startedAt = performance.now();
        const requests = await contender.run(seconds, JSON.stringify(task));
        return { requests, seconds: (performance.now() - startedAt) / 1_000 };
      },
      cpuMicros: async () => (await contender.usage()).cpuMicros + this.#place.serverMicros(),
      close: () => undefined,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const command of Object.values(this.#commands)) await command[Symbol.asyncDispose]();
    for (const contender of Object.values(this.#inCode)) await contender.stop();
  }
}

/** A server that answers at once: no sidecar on node:http can be faster. */
async function emptyServer(task: StateTask): Promise<OpenEntrant> {
  const server = await startContender('./empty-server.ts', 'floor', { argument: orderOf(task.valueBytes) });
  const load = await loadOf(server.port, task);
  return {
    work: (seconds) => load.run(seconds),
    cpuMicros: async () => (await server.usage()).cpuMicros,
    close: async () => {
      load.close();
      await server.stop();
    },
  };
}

/** Requests of each caller to a command, one after the other. */
export async function requestsTo(
  command: SidecarCommand,
  connections: number,
  requestsOf: (caller: number) => readonly Omit<ExchangeRequest, 'port'>[],
): Promise<OpenEntrant> {
  const { port } = command;
  const bytesOf = (caller: number): Buffer[] => requestsOf(caller).map((request) => requestBytes({ port, ...request }));
  const load = await ExchangeLoad.open({ port, connections, requestsOf: bytesOf });
  return { work: (seconds) => load.run(seconds), cpuMicros: () => command.cpuMicros, close: () => load.close() };
}
