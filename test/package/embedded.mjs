// Runs where nothing but the packed package is installed, with or without the SQLite of Node 20.
import { durablePubSub, isStateError, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { embeddedSmoke } from './embedded.cjs';

const what = await embeddedSmoke({ durablePubSub, embeddedState, isStateError, Sidecar });
console.log(`import on Node ${process.version}: ${what}`);
