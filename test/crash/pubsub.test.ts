import { test } from 'vitest';
import { losesNothing } from './pubsub-lives.ts';

const KILLS = 12;

test(`durable pub/sub loses nothing over ${KILLS} kills`, () => losesNothing(KILLS), 180_000);
