import { asyncProgram } from '../../src/blocks/workflow/authoring/async-program.ts';
import { Registry } from '../../src/blocks/workflow/authoring/registry.ts';
import type { Turn } from '../../src/blocks/workflow/model/events.ts';
import { Core } from '../../src/blocks/workflow/replay/core.ts';
import { Drain } from '../../src/blocks/workflow/replay/microtask-drain.ts';
import type { WorkflowFunction } from '../../src/index.ts';
import { RecordingLogger } from './logger.ts';

/** Code, replayed with a history that it has not written itself, such as one of an earlier release. */
export async function replayed(run: WorkflowFunction<never>, ...turns: readonly Turn[]): Promise<Core> {
  const none = (): void => undefined;
  const core = new Core({
    instanceId: 'one',
    executionId: 'run',
    workflowName: 'entity',
    program: asyncProgram(run as WorkflowFunction<unknown>, new Registry(none, none)),
    logger: new RecordingLogger(),
    drain: new Drain(),
    isRerun: false,
    onStray: none,
  });
  for (const turn of turns) await core.replay(turn);
  core.endReplay(false);
  return core;
}
