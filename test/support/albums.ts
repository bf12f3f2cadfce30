import { defineActivity, defineWorkflow, type WorkflowState } from '../../src/index.ts';
import type { Fleet, Member } from './fleet.ts';

/** IDs of workflows. */
export const IDS: readonly string[] = Array.from({ length: 24 }, (_, index) => `flow-${index}`);
export const OUTPUTS: readonly string[] = IDS.map((id) => `picture of ${id}`);

export const states = ({ sidecar }: Member): Promise<readonly (WorkflowState | undefined)[]> =>
  Promise.all(IDS.map((id) => sidecar.workflows.get(id)));
export const outputs = async (member: Member): Promise<readonly unknown[]> =>
  (await states(member)).map((state) => state?.output);
const keys = async ({ memory }: Fleet): Promise<readonly string[]> =>
  (await memory.scan({ from: 'workflows!', to: 'workflows"' })).map(({ key }) => key);
export const warnings = ({ logger }: Member): readonly string[] => logger.at('warn').map(({ message }) => message);

/** What is left of offers. */
export async function left(fleet: Fleet): Promise<readonly string[]> {
  return (await keys(fleet)).filter((key) => !/!(instance|history|receipt)!/.test(key));
}

export async function leave(fleet: Fleet, member: Member): Promise<void> {
  fleet.members.splice(fleet.members.indexOf(member), 1);
  await member.stop();
}

/** Workflow `album`, which calls the activity by its name. */
export async function web(fleet: Fleet, options: object = {}): Promise<Member> {
  const member = await fleet.join(options);
  member.sidecar.workflows.register(
    defineWorkflow('album', (ctx) => ctx.callActivity('resize', ctx.instanceId, { retry: { maxRetries: 2 } })),
  );
  return member;
}

/** The activity, whose runs it notes. */
export async function worker(
  fleet: Fleet,
  run: (id: string) => unknown = () => undefined,
  options: object = {},
): Promise<{ readonly member: Member; readonly ran: readonly string[] }> {
  const member = await fleet.join(options);
  const ran: string[] = [];
  member.sidecar.workflows.register(
    defineActivity('resize', async (id: string) => {
      ran.push(id);
      await run(id);
      return `picture of ${id}`;
    }),
  );
  return { member, ran };
}

export async function startAll({ sidecar }: Member): Promise<void> {
  for (const instanceId of IDS) await sidecar.workflows.start('album', undefined, { instanceId });
}
