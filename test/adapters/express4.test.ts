import express from 'express4';
import { expressHandler } from '../../src/adapters/express.ts';
import { expressParser } from './body-parsers.ts';
import { behind, conforms, serve } from './serve.ts';

conforms((handler, { bodyParser, mountPath, ...options } = {}) => {
  const app = express();
  if (bodyParser !== undefined) app.use(expressParser(bodyParser, express));
  app.use(mountPath ?? '/', expressHandler(handler, options));
  app.use(behind);
  return serve(app);
});
