import { route } from '../../core/router.ts';
import { QueueDetail } from './detail.tsx';
import { QueueList } from './list.tsx';

/** `#/queues` and `#/queues/<component>/<topic>/<group>`. */
export function Queues() {
  const [, pubsubName, topic, group] = route.value.path;
  if (pubsubName === undefined || topic === undefined || group === undefined) return <QueueList />;
  return <QueueDetail key={`${pubsubName} ${topic} ${group}`} queue={{ pubsubName, topic, group }} />;
}
