import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A line to a database that can be cut without a word to either side; what is sent meanwhile arrives when it is mended. Ends with the test. */
export async function openLine(databaseUrl: string) {
  const { user, password, database, host, port } = new pg.Client({ connectionString: databaseUrl });
  const sockets: Socket[] = [];
  let isCut = false;
  const held: (() => void)[] = [];
  const pass = (deliver: () => void) => void (isCut ? held.push(deliver) : deliver());
  const server = createServer({ allowHalfOpen: true }, (near) => {
    sockets.push(near);
    near.on('error', () => {});
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    sockets.push(far);
    far.on('error', () => {});
    near.on('data', (bytes) => pass(() => far.write(bytes)));
    far.on('data', (bytes) => pass(() => near.write(bytes)));
    near.on('end', () => pass(() => far.end()));
    near.on('close', () => pass(() => far.destroy()));
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL('postgres://127.0.0.1');
  Object.assign(url, { port: (server.address() as AddressInfo).port, pathname: `/${database}` });
  Object.assign(url, { username: user ?? '', password: password ?? '' });
  return {
    url: url.href,
    sockets,
    cut() {
      isCut = true;
    },
    mend() {
      isCut = false;
      for (const deliver of held.splice(0)) deliver();
    },
  };
}
