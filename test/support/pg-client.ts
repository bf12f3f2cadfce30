import { loadPg, makeClient, type PgRow } from '../../src/components/postgresql/driver.ts';

/** A connection to PostgreSQL as another program has it. */
export interface TestPg extends AsyncDisposable {
  query(text: string, values?: readonly unknown[]): Promise<readonly PgRow[]>;
}

export async function connectPg(connectionString: string): Promise<TestPg> {
  const client = makeClient(await loadPg(), { connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return {
    query: async (text, values = []) => (await client.query({ text, values, rowMode: 'array' })).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}
