import { route } from '../../core/router.ts';
import { ActorDetail } from './detail.tsx';
import { ActorList } from './list.tsx';

/** `#/actors` and `#/actors/<type>/<ID>`. */
export function Actors() {
  const [, type, id] = route.value.path;
  if (type === undefined || id === undefined) return <ActorList />;
  return <ActorDetail key={`${type}/${id}`} type={type} id={id} />;
}
