import { test } from 'vitest';
import { losesNothing } from '../crash/pubsub-lives.ts';

// The one crash among the quick tests; test/crash has the others.
test('a process that is killed twice loses no message that it acknowledged', () => losesNothing(2, [150, 300]), 60_000);
