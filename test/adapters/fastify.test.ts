import fastify from 'fastify';
import { fastifyPlugin } from '../../src/adapters/fastify.ts';
import { behind, conforms } from './serve.ts';

conforms(
  async (handler, { mountPath, ...options } = {}) => {
    const app = fastify();
    app.setNotFoundHandler((request, reply) => {
      reply.hijack();
      behind(request.raw, reply.raw);
    });
    await app.register(fastifyPlugin(handler, options), mountPath === undefined ? {} : { prefix: mountPath });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    return {
      url,
      close: async () => {
        app.server.closeAllConnections();
        await app.close();
      },
    };
  },
  ['body-parser'],
);
