// Runs in an empty directory with nothing but the packed package installed: start, publish, receive, stop.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { memoryPubSub, nodeHandler, Sidecar } from 'insidecar';
import { testRequest, virtualClock } from 'insidecar/testing';
import { smoke } from './smoke.cjs';

await smoke({ assert, createServer, memoryPubSub, nodeHandler, Sidecar, testRequest, virtualClock });
console.log(`import on Node ${process.version}: started, published, received, stopped`);
