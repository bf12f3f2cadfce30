/**
 * `node:http` without `import`: an import reads every export of the module, which since Node 22 loads a WebSocket
 * client of about 12 MiB.
 */
export const nodeHttp: typeof import('node:http') = process.getBuiltinModule('node:http');
