/**
 * A program of our own in the shape of Dapr's quickstart for bindings (JavaScript, HTTP): an application with Express,
 * started by `run -f` in its folder, resource files two folders up, a schedule that comes in, PostgreSQL that orders go
 * out to.
 */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freePort } from '../support/http.ts';
import { connectPg } from '../support/pg-client.ts';
import { hasPostgresql, startPostgresql } from '../support/servers.ts';
import { PATIENCE, startCli, temporaryDirectory, untilSaid } from './cli.ts';

const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

const BATCH = `
import { readFileSync } from 'node:fs';
import express from 'express';

const daprUrl = (process.env.DAPR_HOST || 'http://localhost') + ':' + (process.env.DAPR_HTTP_PORT || '3500');
const app = express();
app.use(express.json());

app.post('/cron', (_req, res) => {
  console.log('Processing batch..');
  const { orders } = JSON.parse(readFileSync('../../../orders.json', 'utf8'));
  orders.forEach(async ({ orderid, customer, price }) => {
    const sql = 'insert into orders (orderid, customer, price) values (' + orderid + ", '" + customer + "', " + price + ');';
    const body = '{ "operation": "exec", "metadata" : {"sql": "' + sql + '"}}';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status } = await fetch(daprUrl + '/v1.0/bindings/sqldb', { method: 'POST', headers, body });
    console.log('order', orderid, 'answered', status);
  });
  console.log('Finished processing batch');
  res.sendStatus(200);
});

app.listen(Number(process.env.APP_PORT || '5002'));
`;

const component = (
  name: string,
  type: string,
  metadata: Readonly<Record<string, string>>,
): string => `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: ${name}
  namespace: quickstarts
spec:
  type: ${type}
  version: v1
  metadata:
${Object.entries(metadata)
  .map(([key, value]) => `  - name: ${key}\n    value: "${value}"`)
  .join('\n')}
`;

/** Writes the folders of the quickstart, and gives that of its multi-app file. */
async function quickstart(database: string): Promise<string> {
  const root = await temporaryDirectory();
  const files: Readonly<Record<string, string>> = {
    'components/binding-cron.yaml': component('cron', 'bindings.cron', { schedule: '@every 2s', direction: 'input' }),
    'components/binding-postgresql.yaml': component('sqldb', 'bindings.postgresql', {
      url: database,
      direction: 'output',
    }),
    'orders.json': JSON.stringify({
      orders: [
        { orderid: 1, customer: 'John Smith', price: 100.32 },
        { orderid: 2, customer: 'Jane Bond', price: 15.4 },
        { orderid: 3, customer: 'Tony James', price: 35.56 },
      ],
    }),
    'javascript/http/batch/package.json': JSON.stringify({ type: 'module' }),
    'javascript/http/batch/index.js': BATCH,
    'javascript/http/dapr.yaml': `version: 1
common:
  resourcesPath: ../../components/
apps:
  - appID: batch-http
    appDirPath: ./batch/
    appPort: ${await freePort()}
    command: ["node", "index.js"]
`,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content);
  }
  await symlink(NODE_MODULES, join(root, 'node_modules'));
  return join(root, 'javascript/http');
}

test.runIf(hasPostgresql())(
  'each tick writes the orders of the batch into PostgreSQL, until the run is ended',
  async () => {
    await using server = await startPostgresql();
    await using database = await connectPg(`postgresql://postgres@localhost:${server.port}/postgres`);
    await database.query('create table orders (orderid int, customer text, price float)');
    const pairs = `user=postgres password=docker host=localhost port=${server.port} dbname=postgres`;
    const folder = await quickstart(`${pairs} pool_min_conns=1 pool_max_conns=10`);
    const run = startCli(['run', '-f', '.'], { cwd: folder });
    const count = async (): Promise<number> =>
      Number((await database.query('select count(*) from orders'))[0]?.[0] ?? 0);
    await expect.poll(count, { ...PATIENCE, timeout: 60_000 }).toBeGreaterThanOrEqual(6);
    await untilSaid(run.stdout, /order 3 answered 200/);
    expect(run.stdout()).not.toMatch(/answered [^2]/);
    run.child.kill('SIGINT');
    // The application has no handler for the signal.
    expect((await run.ended)[0], run.stderr()).toBe(130);
    expect(await database.query('select distinct orderid, customer, price from orders order by orderid')).toEqual([
      [1, 'John Smith', '100.32'],
      [2, 'Jane Bond', '15.4'],
      [3, 'Tony James', '35.56'],
    ]);
    // The password and the statements of the application are nobody's business.
    expect(run.stderr()).not.toMatch(/docker|insert into/);
  },
  120_000,
);
