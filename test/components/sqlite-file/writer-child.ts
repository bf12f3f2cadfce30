// Writes keys to a database file until it is killed, and prints those that are written.
import { sqliteStateStore } from '../../../src/components/embedded/index.ts';
import { storeContext } from '../../support/store-context.ts';

const [, , file = ''] = process.argv;
const store = await sqliteStateStore('store', { file }).open(storeContext());
for (let round = 0; ; round++) {
  const keys = Array.from({ length: 5 }, (_value, index) => `child-${round}-${index}`);
  await store.write(
    keys.map((key) => ({ kind: 'put', key, value: Buffer.from('1') })),
    { atomic: true },
  );
  process.stdout.write(`${keys.join('\n')}\n`);
}
