import { expect, test } from 'vitest';
import { problemsOf } from '../tools/rooms.mjs';

const importing = (file: string, code: string): readonly string[] => problemsOf(new Map([[file, code]]));

test.each([
  ['util/deque.ts', "import '../otel/index.ts';", 'util may import'],
  ['util/deque.ts', "export { x } from '../http/body.ts';", 'util may import'],
  ['adapters/koa.ts', "import { SidecarError } from '../errors.ts';", 'adapters may import http/message.ts'],
  ['blocks/jobs/jobs.ts', "import type { Message } from '../pubsub/message.ts';", 'blocks/jobs may import'],
  ['blocks/jobs/model/job.ts', "import {\n  run,\n} from '../running/run.ts';", 'model stands below running'],
  ['blocks/workflow/replay/core.ts', "await import('../storage/record.ts');", 'replay stands below storage, or apart'],
  ['components/kafka/index.ts', "const m = require('../mqtt/index.ts');", 'components/kafka may import'],
  ['inspector/page/main.tsx', "import { list } from '../../util/list.ts';", 'inspector/page may import'],
  ['blocks/new/index.ts', "import '../../http/body.ts';", 'blocks/new has no line'],
])('%s with %j is not allowed', (file, code, problem) => {
  expect(importing(file, code)).toEqual([expect.stringContaining(problem)]);
});

test.each([
  ['util/deque.ts', "import { SidecarError } from '../errors.ts';"],
  ['blocks/jobs/running/run.ts', "import type { Job } from '../model/job.ts';"],
  ['blocks/workflow/authoring/ctx.ts', "import { Core } from '../replay/core.ts';"],
  ['components/redis/index.ts', "import { brokerDefinition } from '../broker/broker-pubsub.ts';"],
  ['sidecar/sidecar.ts', "import { Jobs } from '../blocks/jobs/jobs.ts';"],
])('%s with %j is allowed', (file, code) => {
  expect(importing(file, code)).toEqual([]);
});
