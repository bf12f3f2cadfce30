import { describe, expect, test } from 'vitest';
import { randomOf } from '../crash/torture/random.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const MESSAGES = 20_000;
const PORTION = 500;

describe.each([2, 3])('20,000 messages of a topic over %d hosts', (count) => {
  test.each([
    ['with random keys', true],
    ['without keys', false],
  ])(
    'come to each host as often as to the others, within 20 %%: %s',
    async (_, hasKeys) => {
      const random = randomOf(count);
      await using fleet = new Fleet();
      const members: Member[] = [];
      for (let index = 0; index < count; index++) members.push(await fleet.join({ isApart: true }));
      await fleet.pass(2);
      const got = new Map<Member, number>();
      const options = { concurrency: 200 };
      for (const member of members) {
        const take = (): void => void got.set(member, (got.get(member) ?? 0) + 1);
        await member.sidecar.pubsub.subscribe('pubsub', 'orders', take, options);
      }
      await fleet.pass(3);
      for (let sent = 0; sent < MESSAGES; sent += PORTION) {
        const entries = Array.from({ length: PORTION }, (_entry, index) => ({
          ...{ entryId: `${index}`, event: sent + index },
          ...(hasKeys ? { key: `customer ${Math.floor(random() * 5_000)}` } : {}),
        }));
        await members[(sent / PORTION) % count]?.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
        await fleet.pass(1);
      }
      await fleet.pass(3);
      const counts = members.map((member) => got.get(member) ?? 0);
      expect(counts.reduce((sum, one) => sum + one)).toBe(MESSAGES);
      console.log(
        `${MESSAGES} messages over ${count} hosts ${hasKeys ? 'with' : 'without'} keys: ${counts.join(', ')}`,
      );
      expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.2);
    },
    300_000,
  );
});
