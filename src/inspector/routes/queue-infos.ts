import { isApiError, SidecarError } from '../../errors.ts';
import type { HostInfo, QueueInfo, QueueRef } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type { InspectedQueue, QueuesReply } from '../api/queues.ts';
import { given } from './define.ts';

/** Which queues are asked for. */
interface QueueFilter {
  readonly pubsubName?: string | undefined;
  readonly topic?: string | undefined;
}

/** The queues of all components that give access to them. */
export async function queueInfos(sidecar: Sidecar, { pubsubName, topic }: QueueFilter): Promise<QueuesReply> {
  const names = pubsubName === undefined ? componentsOf(sidecar) : [pubsubName];
  const unsupported: string[] = [];
  const found = await Promise.all(
    names.map(async (name) => {
      try {
        return await sidecar.pubsub.queues.list(given({ pubsubName: name, topic }));
      } catch (error) {
        if (!isApiError(error) || error.code !== 'ERR_QUEUES_NOT_SUPPORTED') throw error;
        unsupported.push(name);
        return [];
      }
    }),
  );
  const about = knowledgeOf(sidecar);
  return { queues: found.flat().map((state) => ({ ...state, ...about(state) })), unsupported };
}

function componentsOf(sidecar: Sidecar): readonly string[] {
  return sidecar.metadata
    .get()
    .components.filter(({ type }) => type.startsWith('pubsub.'))
    .map(({ name }) => name);
}

/** The facts about a queue from subscriptions and metadata. */
function knowledgeOf({
  pubsub,
  metadata,
}: Sidecar): (state: QueueInfo) => Pick<InspectedQueue, 'isDeadLetter' | 'isAbandoned'> {
  const targets = new Set(pubsub.subscriptions().map((one) => idOf(one.pubsubName, one.deadLetterTopic ?? '')));
  const { groups = [] } = metadata.get().unhandled ?? {};
  const abandoned = new Set(groups.map(({ pubsubname, topic, group }) => idOf(pubsubname, topic, group)));
  return ({ pubsubName, topic, group, keepsDeadLetters }) => ({
    isDeadLetter: keepsDeadLetters || targets.has(idOf(pubsubName, topic)),
    isAbandoned: abandoned.has(idOf(pubsubName, topic, group)),
  });
}

function idOf(...names: readonly string[]): string {
  return JSON.stringify(names);
}

/** Changes a queue; an error says where the hosts are of which one hands its messages out. */
export async function changingQueue<T>(sidecar: Sidecar, queue: QueueRef, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!isApiError(error) || error.code !== 'ERR_QUEUE_BUSY') throw error;
    const hosts = await otherHosts(sidecar, queue).catch(() => []);
    if (hosts.length === 0) throw error;
    const where = hosts.map(
      ({ hostId, address }) => `host ${hostId} ${address ? `is at ${address}` : 'has no address'}`,
    );
    throw new SidecarError('ERR_QUEUE_BUSY', `${error.message}; ${where.join(', ')}`, { cause: error });
  }
}

/** The host that hands out the messages of a queue; if that is not known, the other ones of its app ID. */
async function otherHosts(sidecar: Sidecar, { pubsubName, topic, group }: QueueRef): Promise<readonly HostInfo[]> {
  const [states, hosts] = await Promise.all([
    sidecar.pubsub.queues.list({ pubsubName, topic }),
    sidecar.placement.hosts(),
  ]);
  const known = states.find((state) => state.group === group)?.hostId;
  const [appId] = group.split('/', 1);
  return hosts.filter((host) => !host.isSelf && (known === undefined ? host.appId === appId : host.hostId === known));
}
