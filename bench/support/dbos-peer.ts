import { loadPeer } from './peers.ts';

/** What the benchmark needs of DBOS. */
interface DbosLike {
  setConfig(config: { readonly name: string; readonly systemDatabaseUrl: string; readonly logLevel: string }): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerWorkflow<A, R>(run: (input: A) => Promise<R>, options: { readonly name: string }): (input: A) => Promise<R>;
  runStep<R>(run: () => Promise<R>, options: { readonly name: string }): Promise<R>;
}

/** The same workflows on DBOS. */
export interface WorkflowPeer {
  readonly sequence: (input: unknown) => Promise<unknown>;
  readonly fanOut: (input: unknown) => Promise<unknown>;
  close(): Promise<void>;
}

const DATABASE = 'postgresql://postgres@127.0.0.1:5432/test';

/** Starts DBOS on PostgreSQL. */
export async function startDbos(): Promise<WorkflowPeer> {
  const { DBOS } = (await loadPeer('@dbos-inc/dbos-sdk')) as { readonly DBOS: DbosLike };
  const systemDatabaseUrl = process.env['DBOS_SYSTEM_DATABASE_URL'] ?? DATABASE;
  DBOS.setConfig({ name: 'insidecar-bench', systemDatabaseUrl, logLevel: 'error' });
  const step = async (order: { orderId: number }): Promise<{ orderId: number }> => ({
    ...order,
    orderId: order.orderId + 1,
  });
  const sequence = DBOS.registerWorkflow(
    async (order: { orderId: number }) => {
      const first = await DBOS.runStep(() => step(order), { name: 'step' });
      const second = await DBOS.runStep(() => step(first), { name: 'step' });
      return DBOS.runStep(() => step(second), { name: 'step' });
    },
    { name: 'sequence' },
  );
  const fanOut = DBOS.registerWorkflow(
    async (count: number) => {
      const all = await Promise.all(
        Array.from({ length: count }, (_, index) => DBOS.runStep(async () => index, { name: 'one' })),
      );
      return all.length;
    },
    { name: 'fan-out' },
  );
  await DBOS.launch();
  return {
    sequence: (input) => sequence(input as { orderId: number }),
    fanOut: (input) => fanOut(input as number),
    close: () => DBOS.shutdown(),
  };
}
