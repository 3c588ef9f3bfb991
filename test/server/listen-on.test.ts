import { expect, it, onTestFinished } from 'vitest';
import { createHttpServer, listenOn } from '../../src/server/http/http-server.ts';
import { StartError } from '../../src/server/start-error.ts';

const server = () => {
  const made = createHttpServer((_request, response) => response.end());
  onTestFinished(() => void made.close());
  return made;
};

it('names the setting of a port that is taken', async () => {
  const port = await listenOn(server(), 0, '127.0.0.1', 'PORTICO_PORT');
  const second = listenOn(server(), port, '127.0.0.1', 'PORTICO_PREVIEW_PORT');
  await expect(second).rejects.toThrow(StartError);
  await expect(second).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is in use; set PORTICO_PREVIEW_PORT to another one, or 0 for any`,
  );
});

it('names the setting of an address that cannot be listened on', async () => {
  const nowhere = listenOn(server(), 0, '203.0.113.1', 'PORTICO_PORT');
  await expect(nowhere).rejects.toThrow('Port 0 on 203.0.113.1 cannot be taken (EADDRNOTAVAIL); see PORTICO_PORT');
});
