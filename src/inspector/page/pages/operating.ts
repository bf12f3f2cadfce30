// What is for operators, loaded together: whoever opens one of these pages opens the others, too.
export { DeadLetters } from './dead-letters/dead-letters.tsx';
export { Jobs } from './jobs/jobs.tsx';
export { Queues } from './queues/queues.tsx';
export { Subscriptions } from './subscriptions.tsx';
