// The pages for operators, loaded together: a user who opens one of them opens the others, too.
export { DeadLetters } from './dead-letters/dead-letters.tsx';
export { Jobs } from './jobs/jobs.tsx';
export { Queues } from './queues/queues.tsx';
export { Subscriptions } from './subscriptions.tsx';
