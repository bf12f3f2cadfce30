import { route } from '../../core/router.ts';
import { WorkflowDetail } from './detail.tsx';
import { WorkflowList } from './list.tsx';

/** `#/workflows` and `#/workflows/<id>`. */
export function Workflows() {
  const instanceId = route.value.path[1];
  return instanceId === undefined ? <WorkflowList /> : <WorkflowDetail key={instanceId} instanceId={instanceId} />;
}
