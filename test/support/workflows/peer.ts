import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A peer that counts its calls by their key, and answers on request. */
export interface Peer {
  url: string;
  calls: { path: string; key: string }[];
  /** How often a path was called, by key. */
  counts(path: string): number[];
  /** @returns when it has been called so many times in all */
  reached(count: number): Promise<void>;
  /** Answers the call that has waited longest. */
  answer(): void;
  /** Answers what waits, and from now on at once. */
  open(): void;
  /** Lets calls wait again. */
  hold(): void;
  close(): Promise<void>;
}

/** @param isHeld whether a path waits for `open` */
export async function startPeer(isHeld: (path: string) => boolean = () => false): Promise<Peer> {
  const calls: Peer['calls'] = [];
  let isOpen = false;
  const held: (() => void)[] = [];
  let waiting: { count: number; resolve(): void }[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    calls.push({ path, key: String(request.headers['idempotency-key']) });
    for (const { count, resolve } of waiting) if (calls.length >= count) resolve();
    waiting = waiting.filter(({ count }) => calls.length < count);
    const answer = () => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ path }));
    if (isHeld(path) && !isOpen) held.push(answer);
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    counts(path) {
      const keys = calls.filter((call) => call.path === path).map(({ key }) => key);
      return [...new Set(keys)].map((key) => keys.filter((one) => one === key).length);
    },
    async reached(count) {
      if (calls.length < count) await new Promise<void>((resolve) => void waiting.push({ count, resolve }));
    },
    answer() {
      held.shift()?.();
    },
    open() {
      isOpen = true;
      for (const answer of held.splice(0)) answer();
    },
    hold() {
      isOpen = false;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
