/**
 * `node:http`, loaded by the first call, and without `import`: an import reads every export of the module, which since
 * Node 22 loads a WebSocket client of about 12 MiB.
 */
export function nodeHttp(): typeof import('node:http') {
  loaded ??= process.getBuiltinModule('node:http');
  return loaded;
}

let loaded: typeof import('node:http') | undefined;
