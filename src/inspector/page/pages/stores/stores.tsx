import { route } from '../../core/router.ts';
import { StoreDetail } from './detail.tsx';
import { StoreList } from './list.tsx';

/** `#/stores` and `#/stores/<name>`. */
export function Stores() {
  const name = route.value.path[1];
  return name === undefined ? <StoreList /> : <StoreDetail key={name} name={name} />;
}
