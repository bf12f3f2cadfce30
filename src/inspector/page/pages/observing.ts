// The pages about events and settings: loaded together.
export { Calls } from './calls.tsx';
export { Hosts } from './hosts.tsx';
export { Messages } from './messages.tsx';
export { Search } from './search.tsx';
export { Settings } from './settings.tsx';
