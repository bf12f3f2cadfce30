// What has happened, and how all is set: loaded together.
export { Calls } from './calls.tsx';
export { Hosts } from './hosts.tsx';
export { Messages } from './messages.tsx';
export { Search } from './search.tsx';
export { Settings } from './settings.tsx';
