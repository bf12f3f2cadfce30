import type { InspectedQueue, QueuesReply } from '../../inspector/api/queues.ts';
import { didYouMean } from '../../util/suggest.ts';
import { CommandFailure } from '../failure.ts';
import type { Call } from './action.ts';
import { counted } from './text.ts';

type NamedQueue = Pick<InspectedQueue, 'pubsubName' | 'topic' | 'group'>;

/** The name of a queue on the command line. */
export function nameOf({ topic, group }: Pick<NamedQueue, 'topic' | 'group'>): string {
  return `${topic}/${group}`;
}

/** How many messages wait in queues, in words: a queue counts only so far. */
export function waitingIn(queues: readonly InspectedQueue[], what: string): string {
  const count = queues.reduce((sum, { ready, delayed }) => sum + ready + delayed, 0);
  return `${queues.some(({ isCapped }) => isCapped) ? 'more than ' : ''}${counted(count, what)}`;
}

/** Only the fields that name a queue. */
export function bare({ pubsubName, topic, group }: NamedQueue): NamedQueue {
  return { pubsubName, topic, group };
}

/** All queues, or those of the component that a flag names. */
export async function queuesOf(call: Call): Promise<QueuesReply> {
  const pubsubName = call.flags.text('pubsub');
  return call.api.get<QueuesReply>('queues', { pubsubName });
}

/** The queues that `TOPIC` or `TOPIC/GROUP` means. Topics and groups may contain slashes. @throws Failure for none. */
export async function queuesNamed(call: Call, name: string): Promise<readonly InspectedQueue[]> {
  const { queues } = await queuesOf(call);
  const exact = queues.filter((queue) => nameOf(queue) === name);
  const meant = exact.length > 0 ? exact : queues.filter(({ topic }) => topic === name);
  if (meant.length > 0) return meant;
  const known = queues.flatMap((queue) => [queue.topic, nameOf(queue)]);
  throw new CommandFailure(`there is no queue ${JSON.stringify(name)}${didYouMean(name, known)}`);
}

/** The one queue that a name means. @throws Failure for none, or several. */
export async function queueNamed(call: Call, name: string): Promise<InspectedQueue> {
  const [queue, ...others] = await queuesNamed(call, name);
  if (queue === undefined) throw new CommandFailure(`there is no queue ${JSON.stringify(name)}`);
  if (others.length === 0) return queue;
  const all = [queue, ...others];
  const isOne = all.every(({ pubsubName }) => pubsubName === queue.pubsubName);
  const choices = isOne ? all.map(nameOf) : all.map(({ pubsubName }) => `--pubsub ${pubsubName}`);
  throw call.misuse(`${JSON.stringify(name)} means several queues: say which, ${choices.join(' or ')}`);
}

/** Splits `TOPIC/GROUP` of a queue that may not exist: at the slash after a known topic, else at the first one. */
export function splitName(call: Call, name: string, topics: Iterable<string>): { topic: string; group: string } {
  const known = [...topics].filter((topic) => name.startsWith(`${topic}/`)).sort((a, b) => b.length - a.length);
  const end = known[0]?.length ?? name.indexOf('/');
  if (end <= 0 || end === name.length - 1)
    throw call.misuse(`expected TOPIC/GROUP, such as orders/shop: actual is ${JSON.stringify(name)}`);
  return { topic: name.slice(0, end), group: name.slice(end + 1) };
}
