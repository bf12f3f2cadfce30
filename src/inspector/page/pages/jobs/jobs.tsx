import { route } from '../../core/router.ts';
import { JobDetail } from './detail.tsx';
import { JobList } from './list.tsx';

/** `#/jobs` and `#/jobs/<name>`. */
export function Jobs() {
  const name = route.value.path[1];
  return name === undefined ? <JobList /> : <JobDetail key={name} name={name} />;
}
