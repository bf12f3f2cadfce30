/**
 * `node:http`, for what is needed of it at run time. Not by `import`: that reads everything which the module exports,
 * and so, since Node 22, loads a WebSocket client that takes about 12 MiB.
 */
export const nodeHttp: typeof import('node:http') = process.getBuiltinModule('node:http');
